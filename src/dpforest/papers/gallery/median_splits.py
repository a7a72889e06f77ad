"""Splits near a median: Consul and Williamson, 2020 and 2021.

The published losses are those of `dpforest.papers.published.median_splits`, the repaired ones those of the
library's
private median and of its joint choice of feature and cut.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from dpforest._arrays import FloatArray
from dpforest._curator.utilities import Utility
from dpforest.mechanisms import (
    RandomWords,
    Rate,
    balanced_subset_log_pmf,
    permute_and_flip_log_pmf,
    subset_candidates,
)
from dpforest.papers.gallery import rigorous
from dpforest.papers.gallery.case import Case, Measured, log_ratio, make_case, worst
from dpforest.papers.published.draws import probabilities
from dpforest.papers.published.median_splits import (
    Candidates,
    all_subsets,
    attribute_exponents,
    category_exponents,
    index_exponents,
    interval_exponents,
    weighted_exponents,
)
from dpforest.papers.published.trees import Split
from dpforest.schema import Classes, Nominal, Numeric, Range, Schema

__all__ = ["CASES", "flip_loss", "hidden_medians_loss", "index_loss", "unweighted_error_loss"]

HALF_GAP = 1e-6
UNIT = Numeric(0, 1)
PAPER_2020 = "Consul and Williamson 2020"
PAPER_2021 = "Consul and Williamson 2021"


# --- thresholds between data points --------------------------------------------------------------------


def share_inside(edges: FloatArray, chances: FloatArray, low: float, high: float) -> float:
    """Return the probability of (low, high) for a draw that is uniform within intervals.

    Examples
    --------
    >>> share_inside(np.array([0.0, 0.5, 1.0]), np.array([0.8, 0.2]), 0.25, 0.75)
    0.5
    """
    overlap = np.minimum(edges[1:], high) - np.maximum(edges[:-1], low)
    return float(np.sum(chances * np.clip(overlap, 0, None) / np.diff(edges)))


def index_loss(half_gap: float, epsilon: float, last_index: bool = True) -> float:
    """Return the loss of the median by index on {0, 1/2 - h, 1} and the same with 1/2 + h.

    Parameters
    ----------
    half_gap : float
        h.
    epsilon : float
        Claimed loss.
    last_index : bool, default=True
        Whether the last index may be drawn; it has no next value, and Algorithm 3 then draws from the whole
        range. Without it the threshold always lies between two values.
    """
    event = (0.5 - half_gap, 0.5 + half_gap)

    def chance(*values: float) -> float:
        exponents = index_exponents(len(values), epsilon)
        if not last_index:
            return share_inside(np.array(values), probabilities(exponents[:-1]), *event)
        chances = probabilities(exponents)
        inner = share_inside(np.array(values), chances[:-1], *event)
        return inner + float(chances[-1]) * (event[1] - event[0])

    return log_ratio(chance(0, event[0], 1), chance(0, *event, 1))


def _published_index() -> Measured:
    other = index_loss(HALF_GAP, 1.0, last_index=False)
    note = f"{other:.2f} if the last index, which has no next value, is never drawn; unbounded as h falls"
    return Measured(index_loss(HALF_GAP, 1.0), note=note)


def _repaired_index() -> Measured:
    before = [0, 0.5 - HALF_GAP, 1]
    loss = rigorous.median_loss(UNIT, before, [*before, 0.5 + HALF_GAP], Fraction(1))
    return Measured(loss, event="the worst of all thresholds of the public grid")


def flip_loss(epsilon: float, with_lengths: bool) -> float:
    """Return the loss of permute-and-flip over data intervals on {0.2, 1/2 - h, 0.8} and one more at 1/2 + h.

    Parameters
    ----------
    epsilon : float
        Claimed loss.
    with_lengths : bool
        Whether twice the logarithm of an interval's length is added to its score, as in the authors' code.
    """
    event = (0.5 - HALF_GAP, 0.5 + HALF_GAP)

    def chance(*values: float) -> float:
        edges = np.array([0.0, *values, 1.0])
        exponents = interval_exponents(len(values), epsilon)
        if with_lengths:
            exponents = exponents + epsilon * np.log(np.diff(edges))
        # The library's law of permute-and-flip has whole numbers as scores; 2**-30 is fine enough for any.
        scores = np.rint(exponents * 2.0**30).astype(np.int64)
        return share_inside(edges, np.exp(permute_and_flip_log_pmf([scores], Rate(1, 30))[0]), *event)

    return log_ratio(chance(0.2, event[0], 0.8), chance(0.2, *event, 0.8))


def _repaired_flip(epsilon: Fraction) -> Measured:
    before = [0.2, 0.5 - HALF_GAP, 0.8]
    return Measured(
        rigorous.median_loss(UNIT, before, [*before, 0.5 + HALF_GAP], epsilon),
        event="the worst of all thresholds of the public grid",
        note="thresholds are drawn by the exponential mechanism; permute-and-flip is kept for public lists",
    )


# --- choosing among attributes -------------------------------------------------------------------------

MIDDLE, CLUSTER, N_COPIES = 0.9, 1500, 5


def hidden_medians_loss(n_candidates: int, epsilon_each: float = 0.5) -> float:
    """Return the loss of K hidden medians and a choice among them by squared error.

    K copies of one attribute; clusters of rows at 0 (one label), 0.9 and 1 (the other label), and one more
    row at 1. The event is that the chosen split does not separate the labels.

    Parameters
    ----------
    n_candidates : int
        K.
    epsilon_each : float, default=0.5
        Budget of one median, and of the choice.
    """

    def chance(*rows: int) -> float:
        X = np.repeat([0.0, MIDDLE, 1.0], rows)[:, None]
        labels = np.repeat([[1.0, 0], [0, 1], [0, 1]], rows, axis=0) * math.sqrt(2)
        intervals = probabilities(weighted_exponents(X[:, 0], 0.0, 1.0, epsilon_each))
        bad = float(intervals[rows[0] + rows[1]])  # a threshold between 0.9 and 1
        rng = np.random.default_rng(0)  # nothing is drawn from it
        node = Candidates(
            X, labels, 1.0, "exponential", "2021", n_candidates, epsilon_each, epsilon_each, rng
        )
        cuts = (MIDDLE / 2, (MIDDLE + 1) / 2)
        errors = np.array([node.squared_error(np.arange(len(X)), Split(0, cut)) for cut in cuts])
        good_weight, bad_weight = np.exp(attribute_exponents(errors, len(X), 1.0, epsilon_each, "2021"))
        n_bad = np.arange(1, n_candidates + 1)
        chosen = n_bad * bad_weight / (n_bad * bad_weight + (n_candidates - n_bad) * good_weight)
        return float(stats.binom.pmf(n_bad, n_candidates, bad) @ chosen)

    return log_ratio(chance(CLUSTER, CLUSTER, CLUSTER), chance(CLUSTER, CLUSTER, CLUSTER + 1))


def _cluster_table(extra: int) -> NDArray[np.int32]:
    """Rows by (copy of the feature, cell, class)."""
    one = np.zeros((UNIT.n_cells, 2), dtype=np.int32)
    for value, label, rows in ((0, 0, CLUSTER), (MIDDLE, 1, CLUSTER), (1, 1, CLUSTER + extra)):
        one[UNIT.cell_of(value), label] += rows
    return np.repeat(one[None], N_COPIES, axis=0)


def _published_hidden() -> Measured:
    return Measured(hidden_medians_loss(N_COPIES), note=f"{hidden_medians_loss(2 * N_COPIES):.2f} for K = 10")


def _repaired_hidden() -> Measured:
    schema = Schema({f"x{k}": UNIT for k in range(N_COPIES)}, target=Classes([0, 1]))
    tables = _cluster_table(0), _cluster_table(1)
    joint = rigorous.split_loss(schema, *tables, Utility.GINI, Fraction(1))
    flip = rigorous.feature_then_median_loss(*tables, Fraction(1))
    note = f"{flip:.2f} if the feature is chosen first, at its exact median, and one median is drawn"
    return Measured(joint, event="the worst of all pairs of feature and threshold", note=note)


N_ROWS = 100


def unweighted_error_loss(n_rows: int, epsilon: float) -> float:
    """Return the loss of a choice by the unweighted mean of the children's mean squared errors.

    Targets are -1. Attribute 1 splits off a single row, attribute 2 nothing; one more row with target +1
    joins the single row.

    Parameters
    ----------
    n_rows : int
        Rows of the smaller table.
    epsilon : float
        Claimed loss.
    """

    def chance(n: int, errors: FloatArray) -> float:
        # `attribute_exponents` takes sums of squared errors: n times what stands for the mean.
        return float(probabilities(attribute_exponents(n * errors, n, 1.0, epsilon, "2021"))[0])

    share = 2 / (n_rows + 1)  # twice the share of the new row: minus the mean target is 1 - share
    after = np.array([(1.0 + 0.0) / 2, (1 - (1 - share) ** 2) / 2])
    return log_ratio(chance(n_rows, np.zeros(2)), chance(n_rows + 1, after))


def _published_error() -> Measured:
    many = unweighted_error_loss(10 * N_ROWS, 1.0)
    note = f"{many:.1f} with 1000 rows; with errors weighted by rows the claim holds"
    return Measured(unweighted_error_loss(N_ROWS, 1.0), note=note)


def _repaired_error() -> Measured:
    halves = Numeric(0, 1, bins=2)
    schema = Schema({"x1": halves, "x2": halves}, target=Range(-1, 1, levels=2048))
    levels = schema.range.levels

    def table(with_new_row: bool) -> NDArray[np.int64]:
        cells = np.zeros((2, halves.n_cells, 3), dtype=np.int64)
        cells[0, halves.cell_of(0), 0] = 1  # target -1 is level 0: only the number of rows is not zero
        cells[0, halves.cell_of(1), 0] = N_ROWS - 1
        cells[1, halves.cell_of(1), 0] = N_ROWS
        if with_new_row:
            cells[[0, 1], [halves.cell_of(0), halves.cell_of(1)]] += [1, levels, levels**2]
        return cells

    loss = rigorous.split_loss(schema, table(False), table(True), Utility.SQUARED_ERROR, Fraction(1))
    return Measured(loss, event="the worst of all pairs of feature and threshold")


# --- categories ----------------------------------------------------------------------------------------


def _published_category() -> Measured:
    def apart(counts: list[float]) -> float:
        """Probability that the rare category is alone on its side, listed among those that occur."""
        sets = all_subsets(len(counts))
        exponents = category_exponents(sets, np.array(counts), int(sum(counts)), 1.0, "2020")
        return float(probabilities(exponents)[(sets == [True, True, False][: len(counts)]).all(axis=1)].sum())

    after = apart([3.0, 2.0, 1.0])
    note = (
        f"0 against {after:.3f}; 2021 has also lost the minus sign of the score, so that lopsided splits are "
        "preferred, which costs accuracy, not privacy"
    )
    return Measured(log_ratio(apart([3.0, 2.0]), after), note=note)


def _repaired_category() -> Measured:
    feature = Nominal(["a", "b", "c"])
    sets = subset_candidates(feature.n_cells, RandomWords.seeded(0))
    everything = np.ones((1, feature.n_cells), dtype=bool)
    laws = []
    for rows in ("aaabb", "aaabbc"):
        counts = np.bincount([feature.cell_of(value) for value in rows], minlength=feature.n_cells)
        laws.append(balanced_subset_log_pmf(counts[None], everything, sets, Fraction(1)))
    return Measured(
        worst(*laws),
        event="the worst of all sets of declared categories",
        note="categories are declared; an undeclared value goes to a cell of its own",
    )


CASES: tuple[Case, ...] = (
    make_case(
        "median by index",
        paper=f"{PAPER_2020}, Algorithm 3",
        claims="A rank drawn by the exponential mechanism, and a uniform point after it, cost epsilon.",
        claim=1.0,
        pair="{0, 1/2-h, 1}, and the same with 1/2+h, h = 1e-6",
        event="the threshold lies between 1/2-h and 1/2+h",
        published=_published_index,
        repaired=_repaired_index,
    ),
    make_case(
        "permute-and-flip between data points",
        paper=f"{PAPER_2021}, DiPriMeFlip",
        claims="Permute-and-flip chooses a median at cost epsilon.",
        claim=1.0,
        pair="{0.2, 1/2-h, 0.8}, and the same with 1/2+h, h = 1e-6",
        event="the threshold lies between 1/2-h and 1/2+h",
        published=lambda: Measured(flip_loss(1.0, with_lengths=False)),
        repaired=lambda: _repaired_flip(Fraction(1)),
    ),
    make_case(
        "permute-and-flip with lengths as scores",
        paper=f"{PAPER_2021}, the authors' code",
        claims="With twice the logarithm of an interval's length added to its score, it costs epsilon.",
        claim=0.1,
        pair="{0.2, 1/2-h, 0.8}, and the same with 1/2+h, h = 1e-6",
        event="the threshold lies between 1/2-h and 1/2+h",
        published=lambda: Measured(flip_loss(0.1, with_lengths=True)),
        repaired=lambda: _repaired_flip(Fraction(1, 10)),
    ),
    make_case(
        "K hidden medians",
        paper=f"{PAPER_2020} and 2021, candidate attributes of a node",
        claims="K medians, one per attribute, cost 1/2 in all, the choice among them another 1/2.",
        claim=1.0,
        pair="1500 rows each at 0 (label A), 0.9 and 1 (label B) in 5 copies of a feature, and one more at 1",
        event="the chosen split does not separate the labels",
        published=_published_hidden,
        repaired=_repaired_hidden,
    ),
    make_case(
        "unweighted child errors",
        paper=f"{PAPER_2021}, mean squared error read as the mean over children",
        claims="The mean squared error of a split has sensitivity 4B²/N.",
        claim=1.0,
        pair="100 rows with target -1, one of them alone in a child, and one more with target +1 beside it",
        event="the attribute that splits off the single row is chosen",
        published=_published_error,
        repaired=_repaired_error,
    ),
    make_case(
        "categories read off the rows",
        paper=f"{PAPER_2020} and 2021, categorical splits, if only categories that occur are listed",
        claims="A choice among all subsets of the categories costs epsilon.",
        claim=1.0,
        pair="rows with categories a, a, a, b, b, and one more with c",
        event="category c stands alone on its side of the split",
        published=_published_category,
        repaired=_repaired_category,
    ),
)
"""Cases of splits near a median."""
