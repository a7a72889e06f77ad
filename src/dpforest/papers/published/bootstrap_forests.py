"""Greedy forests on bootstrap samples as published: Patil and Singh 2014, Rana et al. 2015, Liu et al. 2018.

"Differential private random forest" (DP-RF), "Differentially private random forest with high utility" (RGV)
and "Differentially private classification with decision tree ensemble" (MaxTree), rebuilt from their
abstracts and from what Consul and Williamson (2020, Section 2; 2021, Sections 3.3 and 4), Fletcher and Islam
(2017, Section 5.2) and Huang, Lei and Kaban (2022, Section 6.2) say of them. All trees are those of Friedman
and Schuster (2010): a node buys noisy class counts and an attribute by the exponential mechanism, all
questions on a path get equal parts of the tree's budget.

What is false, at budget 1 (the first does not hold of the program that Consul and Williamson compare with,
which draws without replacement):

* A bootstrap sample is drawn with replacement. A row that comes up M times counts M times, and the noise is
  made for one. 99 rows of one class, and one row of the other: a noisy count of the other class beyond 100
  has the log-ratio of E exp(M), 1.70; with ten trees at a tenth of the budget each, 1.05.
* RGV gives every tree the whole budget, under a definition of privacy of its own, that of the variance of an
  estimate. A hundred trees reach 170 times the budget.
* The depth, where the user gives none, follows from the exact number of rows.
* The regression form of Consul and Williamson adds noise to leaf means, whose scale tells the number of rows.

True: the scores and their sensitivities, for public bins. The mean squared error, with "sensitivity 4B^2/N",
is harmless, because the private N cancels. Where the sources are silent: five equal bins, Gini impurity for
RGV; a node whose noisy counts name one class is a leaf, in RGV one whose rows would drown in noise (the rule
of Friedman and Schuster).
"""

import math
from collections.abc import Callable

import numpy as np

from dpforest._arrays import FloatArray, IntArray
from dpforest.papers.published.domain import Domain, demand_classes
from dpforest.papers.published.draws import exponential_choice
from dpforest.papers.published.leaves import mean_noise_scale
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
    squared_errors,
)

__all__ = ["bootstrap_forest", "maximal_vote_forest", "relaxed_forest"]


def bootstrap_forest(
    X: FloatArray,
    y: IntArray | FloatArray,
    domain: Domain,
    rng: np.random.Generator,
    *,
    epsilon: float,
    n_trees: int = 10,
    max_depth: int | None = None,
    criterion: Criterion = "gini",
    max_features: int | None = None,
) -> MultiwayForest:
    """Fit DP-RF of Patil and Singh, or its regression form by Consul and Williamson. Not private.

    Parameters
    ----------
    X, y : ndarray
        Rows and class codes, or targets; rows without a known one are left out.
    domain : Domain
        Public facts.
    rng : Generator
        All draws.
    epsilon : float
        The budget that the paper claims to spend, an equal part in each tree.
    n_trees : int, default=10
        Number of trees.
    max_depth : int, optional
        Features on a path; by default from the exact number of rows.
    criterion : {"gini", "max_operator", "information_gain"}
        Score of a split; regression takes the squared error.
    max_features : int, optional
        Features that a node compares; all by default.

    Returns
    -------
    MultiwayForest
        Its votes are the numbers of trees for each class, or mean predictions.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> domain = Domain(np.zeros(2), np.ones(2), np.zeros(2, int), n_classes=2)
    >>> X = rng.random((4000, 2))
    >>> forest = bootstrap_forest(X, (X[:, 0] > 0.6).astype(int), domain, rng, epsilon=10.0)
    >>> forest.votes(np.array([[0.1, 0.5], [0.9, 0.5]])).argmax(axis=1)
    array([0, 1])
    """
    rows = BinnedRows.of(X, y, domain)
    depth = rows.depth(max_depth)
    trees = []
    for _ in range(n_trees):
        sample = bootstrap(rows, rng)
        if domain.n_classes:
            tree = _class_tree(sample, depth, epsilon / n_trees, criterion, max_features, is_pure, rng)
            tree = _with_values(tree, np.eye(domain.n_classes)[tree.values.argmax(axis=1)])
        else:
            tree = _mean_tree(sample, domain, depth, epsilon / n_trees, max_features, rng)
        trees.append(tree)
    return MultiwayForest(trees, domain, average=not domain.n_classes)


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
    X, y, domain, rng, epsilon, n_trees, max_depth
        As in `bootstrap_forest`, of a classification table.

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
    demand_classes(domain, "maximal votes")
    return bootstrap_forest(
        X, y, domain, rng, epsilon=epsilon, n_trees=n_trees, max_depth=max_depth, criterion="max_operator"
    )


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
    X, y, domain, rng, max_depth, criterion, max_features
        As in `bootstrap_forest`, of a classification table.
    epsilon : float
        The budget of every tree.
    n_trees : int, default=100
        Number of trees; the paper derives 110 to 1385 from its own definition of privacy.

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


def _mean_tree(
    rows: BinnedRows,
    domain: Domain,
    depth: int,
    epsilon: float,
    max_features: int | None,
    rng: np.random.Generator,
) -> MultiwayTree:
    """Grow a tree whose nodes keep a noisy mean, and split by the mean squared error."""
    part = epsilon / (2 * depth + 1)
    width = domain.target_high - domain.target_low
    bound = max(abs(domain.target_low), abs(domain.target_high))

    def decide(here: IntArray, at: int, unused: IntArray) -> Node:
        if len(here):
            scale = mean_noise_scale(np.array(float(len(here))), width, part)
            mean = float(rows.target[here].mean()) + float(rng.laplace(0.0, scale))
        else:  # no mean to add noise to, which is a release of its own
            mean = float(rng.uniform(domain.target_low, domain.target_high))
        if at >= depth or not len(unused):
            return Node(np.array([mean]))
        # -part * MSE / (2 * 4 B^2 / n): the private n cancels
        exponents = -part * squared_errors(rows, here) / (8 * bound**2)
        return Node(np.array([mean]), _choose(exponents, unused, max_features, rng))

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
