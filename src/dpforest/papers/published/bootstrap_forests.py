"""Greedy forests on bootstrap samples as published: Rana et al. 2015, Liu et al. 2018.

"Differentially private random forest with high utility" (RGV) and "Differentially private classification with
decision tree ensemble" (MaxTree). Their texts are not public; what is known of them is what follows, and all
of it is done here.

* RGV: trees "built similarly to FS, with some modifications", each with the whole budget, 110 to 1385 of them
  (Fletcher and Islam 2017, Section 5.2); numeric features (Consul and Williamson 2021, Section 3.3).
* MaxTree: trees by the noisy maximal vote, "an effective privacy budget allocation", bootstrapped samples
  (the paper's abstract); more budget for deeper levels is not said of it (Huang, Lei and Kaban 2022, Section
  6.2).

All trees are those of Friedman and Schuster (2010): a node buys noisy class counts and an attribute by the
exponential mechanism, all questions on a path get equal parts of the tree's budget. Open, and read so:
numbers in five equal bins, Gini impurity for RGV, and when a node is split no further: if its noisy counts
name one class, in RGV if its rows would drown in noise (the rule of Friedman and Schuster).

What is false, at budget 1:

* A bootstrap sample is drawn with replacement. A row that comes up M times counts M times, and the noise is
  made for one. 99 rows of one class, and one row of the other: a noisy count of the other class beyond 100
  has the log-ratio of E exp(M), 1.70; with ten trees at a tenth of the budget each, 1.05.
* RGV gives every tree the whole budget, under a definition of privacy of its own, that of the variance of an
  estimate. A hundred trees reach 170 times the budget.
* The depth, where the user gives none, follows from the exact number of rows.

True: the scores and their sensitivities, for public bins.
"""

import math
from collections.abc import Callable

import numpy as np

from dpforest._arrays import FloatArray, IntArray
from dpforest.papers.published.domain import Domain
from dpforest.papers.published.draws import exponential_choice
from dpforest.papers.published.multiway import (
    LEAF,
    BinnedRows,
    Criterion,
    MultiwayForest,
    MultiwayTree,
    Node,
    class_scores,
    grow,
    score_sensitivity,
)

__all__ = ["maximal_vote_forest", "relaxed_forest"]


def maximal_vote_forest(
    X: FloatArray,
    y: IntArray,
    domain: Domain,
    rng: np.random.Generator,
    *,
    epsilon: float,
    n_trees: int = 10,
    max_depth: int | None = None,
) -> MultiwayForest:
    """Fit MaxTree of Liu and others: bootstrapped trees by the maximal vote. Not private.

    Parameters
    ----------
    X, y : ndarray
        Rows and class codes; rows without a known class are left out.
    domain : Domain
        Public facts, of a classification table.
    rng : Generator
        All draws.
    epsilon : float
        The budget that the paper claims to spend, an equal part in each tree.
    n_trees : int, default=10
        Number of trees.
    max_depth : int, optional
        Features on a path; by default from the exact number of rows.

    Returns
    -------
    MultiwayForest
        Its votes are the numbers of trees for each class.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> domain = Domain(np.zeros(2), np.ones(2), np.zeros(2, int), n_classes=2)
    >>> X = rng.random((4000, 2))
    >>> forest = maximal_vote_forest(X, (X[:, 0] > 0.6).astype(int), domain, rng, epsilon=10.0)
    >>> forest.votes(np.array([[0.1, 0.5], [0.9, 0.5]])).argmax(axis=1)
    array([0, 1])
    """
    rows = BinnedRows.of(X, y, domain, classes_for="maximal votes")
    depth = rows.depth(max_depth)
    trees = []
    for _ in range(n_trees):
        sample = bootstrap(rows, rng)
        tree = _class_tree(sample, depth, epsilon / n_trees, "max_operator", None, is_pure, rng)
        trees.append(_with_values(tree, np.eye(domain.n_classes)[tree.values.argmax(axis=1)]))
    return MultiwayForest(trees, domain)


def relaxed_forest(
    X: FloatArray,
    y: IntArray,
    domain: Domain,
    rng: np.random.Generator,
    *,
    epsilon: float,
    n_trees: int = 100,
    max_depth: int | None = 5,
    criterion: Criterion = "gini",
    max_features: int | None = None,
) -> MultiwayForest:
    """Fit RGV of Rana and others: every tree spends the whole budget. Not differentially private.

    Parameters
    ----------
    X, y, domain, rng
        As in `maximal_vote_forest`.
    epsilon : float
        The budget of every tree.
    n_trees : int, default=100
        Number of trees; the paper derives 110 to 1385 from its own definition of privacy.
    max_depth : int, optional
        Features on a path; five by default, None takes the exact number of rows.
    criterion : {"gini", "max_operator", "information_gain"}
        Score of a split.
    max_features : int, optional
        Features that a node compares; all by default.

    Returns
    -------
    MultiwayForest
        Its votes are class shares averaged over the trees.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> domain = Domain(np.zeros(2), np.ones(2), np.zeros(2, int), n_classes=2)
    >>> X = rng.random((4000, 2))
    >>> forest = relaxed_forest(X, (X[:, 0] > 0.6).astype(int), domain, rng, epsilon=1.0, n_trees=20)
    >>> forest.votes(np.array([[0.1, 0.5], [0.9, 0.5]])).argmax(axis=1)
    array([0, 1])
    """
    rows = BinnedRows.of(X, y, domain, classes_for="class counts")
    depth = rows.depth(max_depth)
    part = epsilon / (2 * depth + 1)
    most_values = int(rows.n_values.max())

    def is_small(counts: FloatArray) -> bool:
        return bool(counts.sum() / (most_values * domain.n_classes) <= math.sqrt(2) / part)

    trees = []
    for _ in range(n_trees):
        tree = _class_tree(bootstrap(rows, rng), depth, epsilon, criterion, max_features, is_small, rng)
        counts = np.maximum(tree.values, 0.0)
        total = counts.sum(axis=1, keepdims=True)
        uniform = np.full_like(counts, 1 / domain.n_classes)
        trees.append(_with_values(tree, np.divide(counts, total, out=uniform, where=total > 0)))
    return MultiwayForest(trees, domain, average=True)


def bootstrap(rows: BinnedRows, rng: np.random.Generator) -> BinnedRows:
    """Draw as many rows as there are, with replacement."""
    n = len(rows.codes)
    return rows.take(rng.integers(max(n, 1), size=n))


def is_pure(noisy_counts: FloatArray) -> bool:
    """Whether noisy counts leave at most one class."""
    return bool((noisy_counts > 0).sum() <= 1)


def _class_tree(
    rows: BinnedRows,
    depth: int,
    epsilon: float,
    criterion: Criterion,
    max_features: int | None,
    is_leaf: Callable[[FloatArray], bool],
    rng: np.random.Generator,
) -> MultiwayTree:
    """Grow a tree whose nodes keep their noisy class counts."""
    part = epsilon / (2 * depth + 1)
    sensitivity = score_sensitivity(criterion, len(rows.codes))

    def decide(here: IntArray, at: int, unused: IntArray) -> Node:
        counts = rows.class_counts(here) + rng.laplace(0.0, 1 / part, rows.n_classes)
        if at >= depth or not len(unused) or is_leaf(counts):
            return Node(counts)
        exponents = part * class_scores(rows, here, criterion) / (2 * sensitivity)
        return Node(counts, _choose(exponents, unused, max_features, rng))

    return grow(rows, decide)


def _choose(
    exponents: FloatArray, unused: IntArray, max_features: int | None, rng: np.random.Generator
) -> int:
    asked = unused
    if max_features is not None and max_features < len(unused):
        asked = rng.choice(unused, max_features, replace=False)
    return int(asked[exponential_choice(exponents[asked], rng)])


def _with_values(tree: MultiwayTree, values: FloatArray) -> MultiwayTree:
    return MultiwayTree(tree.feature, tree.first_child, np.where(tree.feature[:, None] == LEAF, values, 0.0))
