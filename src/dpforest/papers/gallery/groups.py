"""Rows shared out among trees: equal parts and contiguous chunks against independent draws.

Equal parts depend on the number of rows: a new row enters one part and pushes another row into the part that
grows. Repaired, every row draws its tree on its own, and the law of the whole forest is computed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy import signal, stats

from dpforest._arrays import FloatArray
from dpforest.mechanisms import (
    Rate,
    discrete_laplace_log_pmf,
    exponential_log_pmf,
    permute_and_flip_log_pmf,
)
from dpforest.papers.gallery.case import Case, Measured, make_case, worst
from dpforest.papers.published.draws import equal_parts

__all__ = ["CASES", "chunk_loss", "equal_histogram_loss", "equal_label_loss", "scattered_label_loss"]

ONE = Rate(1, 0)
N_TREES = 10
PART, LABEL_PART, CHUNK = 50, 5, 4


# --- published -----------------------------------------------------------------------------------------


def equal_histogram_loss(n_trees: int) -> float:
    """Return the loss of Laplace class counts in equal parts of equal rows, and one row of another class.

    The output: the part that grows holds more than it did, all others fewer, and all see the other class. It
    is a point at which the ratio is as large as anywhere beyond it, so it is that of the whole event.
    """
    n_rows, rng = PART * n_trees, np.random.default_rng(0)  # the sizes do not depend on the shuffle
    sizes, grown = (
        np.array([len(part) for part in equal_parts(n, n_trees, rng)]) for n in (n_rows, n_rows + 1)
    )
    seen = np.column_stack([np.where(grown > sizes, PART + 1, PART - 1), np.ones(n_trees)])

    def log_density(counts: FloatArray) -> float:
        return float(stats.laplace.logpdf(seen, counts).sum())

    before = log_density(np.column_stack([sizes, np.zeros(n_trees)]))
    home = np.eye(n_trees)
    after = [log_density(np.column_stack([grown - here, here])) for here in home]
    return float(np.logaddexp.reduce(np.log(grown / (n_rows + 1)) + np.array(after)) - before)


def equal_label_loss(n_trees: int) -> float:
    """Return the loss of labels by the exponential mechanism in equal parts of equal rows.

    One more row has another label. The output: all parts but the growing one name it.
    """
    small, mixed = exponential_log_pmf([[LABEL_PART, 0], [LABEL_PART - 1, 1]], [1, 1], ONE)[:, 1]
    n_rows = LABEL_PART * n_trees
    in_growing = (LABEL_PART + 1) / (n_rows + 1)
    before = (n_trees - 1) * small
    elsewhere = (n_trees - 2) * small + mixed
    after = np.logaddexp(math.log(in_growing) + before, math.log(1 - in_growing) + elsewhere)
    return float(after - before)


def chunk_loss(n_trees: int) -> float:
    """Return the loss of labels by permute-and-flip in contiguous chunks of an ordered table.

    The labels alternate chunk by chunk, and a row is put in front of the table: every chunk loses a row of
    its label and gets one of the other. The output: every tree names the label that its chunk did not have.
    """
    labels = [tree % 2 for tree in range(n_trees) for _ in range(CHUNK)]

    def log_chance(rows: Sequence[int]) -> float:
        size = len(rows) // n_trees  # what is left over at the end is dropped
        total = 0.0
        for tree in range(n_trees):
            counts = np.bincount(rows[tree * size : (tree + 1) * size], minlength=2)
            total += permute_and_flip_log_pmf([counts], ONE)[0, 1 - tree % 2]
        return total

    return abs(log_chance([1, *labels]) - log_chance(labels))


# --- repaired ------------------------------------------------------------------------------------------


def scattered_histogram_loss(n_trees: int) -> float:
    """Return the loss, over all outputs, of noisy class counts when rows draw their trees independently.

    The new row is alone in its class, so the counts of the other class have the same law in both tables and
    cancel. Given the count of the new class in its tree the ratio is one of two numbers, and the ratio of the
    whole forest is their mean over the trees that the row may have drawn.
    """
    outputs = np.array([0, 1])  # below 0 and above 1 the ratio stays the same
    ratios = np.exp(discrete_laplace_log_pmf(outputs - 1, ONE) - discrete_laplace_log_pmf(outputs, ONE))
    n_high = np.arange(n_trees + 1)  # trees whose noisy count is at least 1
    mean = (n_high * ratios[1] + (n_trees - n_high) * ratios[0]) / n_trees
    return float(np.abs(np.log(mean)).max())


def scattered_label_loss(rows: tuple[int, int], added: int, n_trees: int, epsilon: Fraction) -> float:
    """Return the loss, over all outputs, of leaf labels when rows draw their trees independently.

    The labels of the trees, given how the rows fell, are independent; the numbers of rows in the trees are
    multinomial, that is Poisson given their sums. So the probability of an output is a coefficient of a
    product of generating functions, one for each tree, and it depends on the number of trees that name the
    second label only.

    Parameters
    ----------
    rows : pair of int
        Rows of the two labels in the smaller table.
    added : {0, 1}
        Label of the row that is added.
    n_trees : int
        Number of trees.
    epsilon : Fraction
        Budget of every label.

    Examples
    --------
    >>> round(scattered_label_loss((0, 0), 1, 1, Fraction(1)), 9)  # one tree: 1/2 against 1/(2e)
    1.0
    """
    first, second = (np.arange(n + 1) for n in rows)
    counts = np.stack(np.meshgrid(first, second, indexing="ij"), axis=-1).reshape(-1, 2)
    weights = np.outer(
        *(stats.poisson.pmf(k, n / n_trees) for k, n in zip((first, second), rows, strict=True))
    )
    shape, rate = (*weights.shape, 2), Rate.floor(epsilon)

    def trees(counted: NDArray[np.int64]) -> list[FloatArray]:
        """Return the generating functions of a tree that names the first, and the second label."""
        chances = np.exp(permute_and_flip_log_pmf(counted, rate)).reshape(shape)
        return [weights * chances[..., label] for label in (0, 1)]

    def times(a: FloatArray, b: FloatArray) -> FloatArray:
        return np.asarray(signal.convolve2d(a, b)[: shape[0], : shape[1]])

    usual, with_row = trees(counts), trees(counts + np.eye(2, dtype=np.int64)[added])
    one = np.zeros(weights.shape)
    one[0, 0] = 1.0
    powers = [[one], [one]]
    for label in (0, 1):
        for _ in range(n_trees):
            powers[label].append(times(powers[label][-1], usual[label]))

    def chance(a: FloatArray, b: FloatArray) -> float:
        """Return the coefficient of a product at the true numbers of rows."""
        return float((a * b[::-1, ::-1]).sum())

    before, after = np.empty(n_trees + 1), np.zeros(n_trees + 1)
    for k in range(n_trees + 1):
        before[k] = chance(powers[0][n_trees - k], powers[1][k])
        if k < n_trees:  # the row is in a tree that names the first label
            with_first = times(with_row[0], powers[0][n_trees - k - 1])
            after[k] += (n_trees - k) / n_trees * chance(with_first, powers[1][k])
        if k > 0:
            with_second = times(with_row[1], powers[1][k - 1])
            after[k] += k / n_trees * chance(powers[0][n_trees - k], with_second)
    return worst(np.log(before), np.log(after))


def _repaired_labels(rows: tuple[int, int], added: int) -> Measured:
    loss = scattered_label_loss(rows, added, N_TREES, Fraction(1))
    return Measured(loss, event="the worst of all labels of ten trees")


CASES: tuple[Case, ...] = (
    make_case(
        "equal parts, class counts",
        paper="Consul and Williamson 2020 and 2021, Huang, Lei and Kaban 2022: disjoint parts, taken equal",
        claims="Trees on disjoint parts of the rows cost together what one tree costs.",
        claim=1.0,
        pair="500 rows of one class for ten trees, and one more row of another class",
        event="the first tree counts at least 51 of the class, the others at most 49, all a row of the other",
        published=lambda: Measured(
            equal_histogram_loss(N_TREES), note=f"{equal_histogram_loss(100):.2f} with 100 trees"
        ),
        repaired=lambda: Measured(
            scattered_histogram_loss(N_TREES), event="the worst of all noisy counts of ten trees"
        ),
    ),
    make_case(
        "equal parts, labels",
        paper="Fletcher and Islam 2017, addendum of 2021: labels by exp(epsilon count), equal parts",
        claims="Trees on disjoint parts of the rows cost together what one tree costs.",
        claim=1.0,
        pair="50 rows with label A for ten trees, and one more with label B",
        event="all parts but the growing one name B",
        published=lambda: Measured(equal_label_loss(N_TREES)),
        repaired=lambda: _repaired_labels((LABEL_PART * N_TREES, 0), added=1),
    ),
    make_case(
        "contiguous chunks",
        paper="diffprivlib, forest.py at commit 0cc2f48 (Holohan and others 2019): no shuffle, rest dropped",
        claims="A forest on disjoint chunks of the table costs epsilon.",
        claim=1.0,
        pair="40 rows sorted into blocks of four equal labels, A and B in turn, and one more row in front",
        event="every one of ten trees names the label that its chunk did not have",
        published=lambda: Measured(chunk_loss(N_TREES), note="twice epsilon for every tree"),
        repaired=lambda: _repaired_labels((CHUNK * N_TREES // 2, CHUNK * N_TREES // 2), added=1),
    ),
)
"""Cases of rows shared out among trees."""
