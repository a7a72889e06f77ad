"""Partitioning ensembles: Huang, Lei and Kaban, 2022.

Bounds and stops that follow from private rows, the whole budget at every level or in every tree, and a
changed label that moves two counts. The published parts are those of
`dpforest.papers.published.partitioning`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from scipy import stats

from dpforest._trees import geometric_shares
from dpforest.forests import (
    PartitioningEnsembleClassifier,
    SemiSupervisedPartitioningEnsembleClassifier,
    TransductivePartitioningEnsembleClassifier,
)
from dpforest.forests.partitioning import BUDGET_RATIO
from dpforest.mechanisms import Rate, quantile_log_pmf
from dpforest.papers.gallery import rigorous
from dpforest.papers.gallery.case import Case, Measured, log_ratio, make_case, worst
from dpforest.papers.published.domain import Domain
from dpforest.papers.published.draws import probabilities
from dpforest.papers.published.partitioning import build_tree, level_budgets, private_median, rank_exponents
from dpforest.schema import Numeric

__all__ = ["CASES", "label_change_loss", "level_loss", "outlier_chance", "path_loss", "scattered_median_loss"]

PAPER = "Huang, Lei and Kaban 2022"
UNIT = Numeric(0, 1)
FINE = Numeric(0, 1, bins=4096)  # ten thresholds must find room above 0.99
N_ZEROS, OUTER = 20, 0.99
DEPTH, N_TREES, N_SECOND = 10, 10, 5
UNIT_LINE = Domain(np.zeros(1), np.ones(1), np.zeros(1, int), n_classes=2)


# --- extremes and stops --------------------------------------------------------------------------------


def outlier_chance(epsilon: float) -> float:
    """Return the probability of a threshold above 1 for 20 values in [0, 1] and one at 100.

    Of a median between the data's extremes, with many candidates; without the last value it is 0.

    Examples
    --------
    >>> round(outlier_chance(0.05), 3)
    0.987
    """
    values = np.append(np.linspace(0, 1, 20), 100.0)
    ranks = np.arange(1, len(values))
    return float(probabilities(np.log(np.diff(values)) + rank_exponents(ranks, len(values), epsilon))[-1])


def _published_extremes() -> Measured:
    runs, rng = 200, np.random.default_rng(0)
    positive = [
        float(np.mean([private_median(np.array(values), 1.0, rng) > 0 for _ in range(runs)]))
        for values in ([0.0] * 11, [0.0] * 11 + [1.0])
    ]
    note = (
        "all candidates lie between the extremes: 0 against 1. Twenty values in [0, 1] and one more at 100, "
        f"claimed 0.05: a threshold above 1 has probability 0 against {outlier_chance(0.05):.3f}"
    )
    return Measured(log_ratio(*positive), note=note, runs=runs)


def _repaired_extremes() -> Measured:
    loss = rigorous.median_loss(UNIT, [0.0] * 11, [0.0] * 11 + [1.0], Fraction(1))
    return Measured(loss, event="the worst of all thresholds of the public grid")


def _tables_of_ten_and_eleven() -> tuple[list[float], list[float]]:
    values = [i / 11 for i in range(11)]
    return values[:-1], values


def _published_stop() -> Measured:
    rng, is_split = np.random.default_rng(0), []
    for values in _tables_of_ten_and_eleven():
        tree = build_tree(np.array(values)[:, None], UNIT_LINE, 1, level_budgets(1.0, 1), rng)
        is_split.append(float(tree.n_nodes > 1))
    return Measured(log_ratio(*is_split), note="impossible with ten rows, certain with eleven")


def _repaired_stop() -> Measured:
    forest = PartitioningEnsembleClassifier(1, epsilon=1.0, max_depth=1)
    before, after = _tables_of_ten_and_eleven()
    median = rigorous.median_loss(UNIT, before, after, rigorous.amount(forest, "splits"))
    # Whatever the threshold, the row is in one leaf, whose noise is independent of the threshold's.
    leaf = rigorous.count_loss([10, 0], [11, 0], Rate.floor(rigorous.amount(forest, "leaves")))
    return Measured(
        median + leaf,
        event="the worst of all thresholds and noisy counts of a tree of fixed depth",
        note="trees are complete and of public depth; empty nodes are split too",
    )


# --- the budget of the levels and of the trees ---------------------------------------------------------


def level_loss(epsilon: float, row_at_one: bool) -> float:
    """Return the loss of one median at 20 zeros and one more row at 0.99: the threshold exceeds 0.99.

    For many candidates all over [0, 1]. Without the row all of them have the same rank.

    Parameters
    ----------
    epsilon : float
        Budget of the median.
    row_at_one : bool
        Whether both tables have a row at 1, which makes [0, 1] the range between their extremes.

    Examples
    --------
    >>> round(10 * level_loss(1.0, row_at_one=False), 2), round(10 * level_loss(1.0, row_at_one=True), 2)
    (9.94, 9.94)
    """
    lengths, n_rows = np.log([OUTER, 1 - OUTER]), N_ZEROS + row_at_one
    before = probabilities(lengths + rank_exponents(np.array([N_ZEROS, N_ZEROS]), n_rows, epsilon))
    after = probabilities(lengths + rank_exponents(np.array([N_ZEROS, N_ZEROS + 1]), n_rows + 1, epsilon))
    return log_ratio(before[1], after[1])


def _published_levels() -> Measured:
    loss = DEPTH * level_loss(1.0, row_at_one=False)
    note = (
        "for many candidates all over [0, 1] in every node. The text of the paper divides the budget by level"
    )
    return Measured(loss, note=note)


def path_loss(level_epsilons: Sequence[Fraction]) -> float:
    """Return the loss of this library's medians down a path whose thresholds all exceed 0.99.

    The largest over all such paths, found backwards: below a node whose box ends at cell h, the best that the
    remaining levels can add depends on h alone.

    Parameters
    ----------
    level_epsilons : sequence of Fraction
        Budget of every level, from the root down.
    """
    record, top = FINE.cell_of(OUTER), FINE.n_cells - 1
    ends = np.arange(record + 1, top + 1)  # boxes 0..h that hold the record and a threshold behind it
    counts = np.zeros((2, FINE.n_cells), dtype=np.int64)
    counts[:, FINE.cell_of(0)], counts[1, record] = N_ZEROS, 1
    below = np.zeros(FINE.n_cells)
    for epsilon in reversed(level_epsilons):
        before, after = (
            quantile_log_pmf(np.tile(table, (len(ends), 1)), np.zeros(len(ends), int), ends, epsilon)
            for table in counts
        )
        here = np.full(FINE.n_cells, -np.inf)
        for row, end in enumerate(ends):
            cuts = slice(record, end)
            here[end] = np.max(np.abs(after[row, cuts] - before[row, cuts]) + below[cuts])
        below = here
    return float(below[top])


def _repaired_levels() -> Measured:
    forest = PartitioningEnsembleClassifier(N_TREES, epsilon=2.0, max_depth=DEPTH)  # half of it for splits
    splits = rigorous.amount(forest, "splits")
    loss = path_loss([splits * share for share in geometric_shares(DEPTH, BUDGET_RATIO)])
    return Measured(loss, event="the worst of all paths whose ten thresholds exceed 0.99")


def scattered_median_loss(n_trees: int, epsilon: Fraction) -> float:
    """Return the loss of one median in each of some trees, on 20 zeros and one more row at 0.99.

    All of them unlabelled, as only such rows shape these trees; every row draws its tree on its own. Zeros
    alone leave all thresholds equally likely, however many they are. So, given the tree of the new row, only
    that tree's threshold changes its law, by a ratio that is a mean over the number of zeros beside the row.
    The worst output has the same threshold in all trees.
    """
    zeros = np.arange(N_ZEROS + 1)
    beside = stats.binom.pmf(zeros, N_ZEROS, 1 / n_trees)
    ratio = 0.0
    for n, weight in zip(zeros, beside, strict=True):
        before = rigorous.median_log_pmf(UNIT, [0.0] * n, epsilon)
        ratio = ratio + weight * np.exp(rigorous.median_log_pmf(UNIT, [0.0] * n + [OUTER], epsilon) - before)
    return worst(np.log(ratio), np.zeros_like(ratio))


def _published_transductive() -> Measured:
    trees, leaves = 2 * N_SECOND, N_SECOND
    # An unlabelled row is also counted in a leaf of every tree of the second ensemble, with noise of scale 1.
    counted = stats.laplace.logsf(1, 1) - stats.laplace.logsf(1, 0)
    loss = float(trees * level_loss(1.0, row_at_one=True) + leaves * counted)
    return Measured(loss, note="every tree spends epsilon again; for many candidates per median")


def _repaired_transductive() -> Measured:
    setting_1 = SemiSupervisedPartitioningEnsembleClassifier(2 * N_SECOND, epsilon=1.0, max_depth=1)
    loss = scattered_median_loss(2 * N_SECOND, rigorous.amount(setting_1, "splits"))
    own = TransductivePartitioningEnsembleClassifier(N_SECOND, N_SECOND, epsilon=1.0)
    label = rigorous.count_loss([3], [4], Rate.floor(rigorous.amount(own, "leaves")))
    note = (
        "of the semi-supervised ensemble, in which an unlabelled row shapes one tree. Algorithm 4 itself is "
        f"offered for label privacy only, where a changed label costs {label:.2f}"
    )
    return Measured(loss, event="the worst of all thresholds of ten trees", note=note)


# --- label privacy -------------------------------------------------------------------------------------


def label_change_loss(epsilon: float) -> float:
    """Return the loss of one changed label for Laplace noise of scale 1 / epsilon on every class count.

    The event: one count falls to its new value or below, the other rises to its new value or above.

    Examples
    --------
    >>> round(label_change_loss(1.0), 9)
    2.0
    """
    falls = stats.laplace.logcdf(-1, -1, 1 / epsilon) - stats.laplace.logcdf(-1, 0, 1 / epsilon)
    rises = stats.laplace.logsf(1, 1, 1 / epsilon) - stats.laplace.logsf(1, 0, 1 / epsilon)
    return float(falls + rises)


def _repaired_label_change() -> Measured:
    forest = SemiSupervisedPartitioningEnsembleClassifier(epsilon=1.0, feature_privacy=False)
    epsilon = rigorous.amount(forest, "leaves")
    two = rigorous.count_loss([3], [4], Rate.floor(epsilon))  # the size of the leaf is public
    three = rigorous.count_loss([5, 3, 2], [4, 4, 2], Rate.floor(epsilon / 2))
    note = f"two classes share one noisy count; with three, all counts have half the rate: {three:.2f}"
    return Measured(max(two, three), event="the worst of all noisy counts of a leaf", note=note)


CASES: tuple[Case, ...] = (
    make_case(
        "median between the data's extremes",
        paper=f"{PAPER}, Algorithm 1 and PrivateMedian",
        claims="A median among candidates between the smallest and the largest value costs epsilon.",
        claim=1.0,
        pair="eleven rows at 0, and one more at 1",
        event="the threshold is positive",
        published=_published_extremes,
        repaired=_repaired_extremes,
    ),
    make_case(
        "stop at ten rows",
        paper=f"{PAPER}, Algorithm 1",
        claims="Leaving nodes of ten and fewer rows unsplit is free.",
        claim=1.0,
        pair="ten rows, and one more",
        event="the tree has a split",
        published=_published_stop,
        repaired=_repaired_stop,
    ),
    make_case(
        "whole budget at every level",
        paper=f"{PAPER}, Algorithm 1 as printed",
        claims="A tree of depth ten costs epsilon.",
        claim=1.0,
        pair="20 rows at 0, and one more at 0.99",
        event="all ten thresholds on the row's path exceed 0.99",
        published=_published_levels,
        repaired=_repaired_levels,
    ),
    make_case(
        "label privacy",
        paper=f"{PAPER}, Algorithm 3, setting II",
        claims="With public features, Laplace noise of scale 1/epsilon on class counts costs epsilon.",
        claim=1.0,
        pair="a leaf with class counts (5, 3), and with (4, 4): one label changed",
        event="the first noisy count is at most 4, the second at least 4",
        published=lambda: Measured(label_change_loss(1.0)),
        repaired=_repaired_label_change,
    ),
    make_case(
        "all rows in all trees",
        paper=f"{PAPER}, Algorithm 4 in setting I, as printed",
        claims="Five trees and five more, each with the whole budget on all rows, cost epsilon together.",
        claim=1.0,
        pair="a labelled row at 1 and 20 unlabelled ones at 0, and one more unlabelled at 0.99",
        event="all ten thresholds exceed 0.99, and five noisy counts reach the larger true count",
        published=_published_transductive,
        repaired=_repaired_transductive,
    ),
)
"""Cases of partitioning ensembles."""
