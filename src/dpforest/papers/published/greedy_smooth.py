"""Greedy forest with smooth sensitivity as published: Xin, Yang, Wang and Huang, 2019.

"Differentially private greedy decision forest", rebuilt from what Consul and Williamson (2020, Section 2;
2021, Section 3.3) and Huang, Lei and Kaban (2022, Sections 1 and 2) say of it: disjoint subsets of the rows,
the Gini impurity in the exponential mechanism, and smooth sensitivity for both the splits and the labels of
the leaves.

What is false, at budget 1, is what is false in `smooth_sensitivity`:

* Labels by the exponential mechanism with smooth sensitivity: a log-ratio of 6.32 when a lead of two rows
  becomes three, and without bound for larger leads.
* Equal disjoint parts: one record more changes two of them.

And the depth, where the user gives none, follows from the exact number of rows. The splits, as rebuilt here,
keep their budget on all small tables that were tried: the sensitivity falls like 2/n, so that n cancels.
"""

import numpy as np

from dpforest._arrays import FloatArray, IntArray
from dpforest.papers.published.domain import Domain
from dpforest.papers.published.draws import equal_parts, exponential_choice
from dpforest.papers.published.multiway import (
    BinnedRows,
    MultiwayForest,
    MultiwayTree,
    Node,
    class_scores,
    grow,
)
from dpforest.papers.published.smooth_sensitivity import draw_labels

__all__ = ["greedy_smooth_forest"]


def greedy_smooth_forest(
    X: FloatArray,
    y: IntArray,
    domain: Domain,
    rng: np.random.Generator,
    *,
    epsilon: float,
    n_trees: int = 10,
    max_depth: int | None = None,
) -> MultiwayForest:
    """Fit a greedy forest on disjoint rows as published. Not private.

    Parameters
    ----------
    X, y : ndarray
        Rows and class codes; rows without a known class are left out.
    domain : Domain
        Public facts, of a classification table.
    rng : Generator
        All draws.
    epsilon : float
        The budget that the paper claims to spend: in every tree, equal parts for the splits of a path and for
        its label.
    n_trees : int, default=10
        Number of trees and of equal parts of the rows.
    max_depth : int, optional
        Features on a path; by default from the exact number of rows of a tree.

    Returns
    -------
    MultiwayForest
        Its votes are the numbers of trees for each label.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> domain = Domain(np.zeros(2), np.ones(2), np.zeros(2, int), n_classes=2)
    >>> X = rng.random((4000, 2))
    >>> forest = greedy_smooth_forest(X, (X[:, 0] > 0.6).astype(int), domain, rng, epsilon=2.0)
    >>> forest.votes(np.array([[0.1, 0.5], [0.9, 0.5]])).argmax(axis=1)
    array([0, 1])
    """
    rows = BinnedRows.of(X, y, domain, classes_for="majority labels")
    depth = rows.depth(max_depth, n_trees)
    part = epsilon / (depth + 1)
    groups = equal_parts(len(rows.codes), n_trees, rng)
    return MultiwayForest([_tree(rows.take(group), depth, part, rng) for group in groups], domain)


def smooth_gini_sensitivity(n_rows: int, epsilon: float) -> float:
    """Return the largest `exp(-k epsilon)` times the local sensitivity of a table that has k rows less.

    Examples
    --------
    >>> smooth_gini_sensitivity(1, 1.0), round(smooth_gini_sensitivity(1000, 1.0), 5)
    (0.5, 0.002)
    """
    sizes = np.arange(1, max(n_rows, 1) + 1)
    return float((np.exp(-epsilon * (sizes[-1] - sizes)) * 2 * sizes / (sizes + 1) ** 2).max())


def attribute_exponents(rows: BinnedRows, here: IntArray, epsilon: float) -> FloatArray:
    """Return the exponents of the attributes: minus the Gini impurity at its smooth sensitivity."""
    n = max(len(here), 1)
    return epsilon * class_scores(rows, here, "gini") / n / (2 * smooth_gini_sensitivity(n, epsilon))


def _tree(rows: BinnedRows, depth: int, part: float, rng: np.random.Generator) -> MultiwayTree:
    def decide(here: IntArray, at: int, unused: IntArray) -> Node:
        if at >= depth or not len(unused):
            label = draw_labels(rows.class_counts(here)[None], part, rng)[0]
            return Node(np.eye(rows.n_classes)[label])
        exponents = attribute_exponents(rows, here, part)
        return Node(np.zeros(rows.n_classes), int(unused[exponential_choice(exponents[unused], rng)]))

    return grow(rows, decide)
