"""Greedy forest with "local sensitivity" as published: Fletcher and Islam, 2015.

"A differentially private decision forest" (DP-DF), rebuilt from the authors' program and from what Consul and
Williamson (2020, Section 2; 2021, Section 3.3) say of it. (They speak of local sensitivity in the leaves; the
program has it in the choice of attributes, and plain Laplace noise in the leaves.)

What is false, at budget 1:

* The Gini impurity of a split of n rows is said to move by 2n / (n+1)^2, and n is replaced by the noisy size
  of the node. Where noise made the size too large, the exponential mechanism is too sharp. One row of class
  0, and the same with a second row of class 1 that one of two attributes tells apart: if the counts 50 and 50
  were released, the other attribute is chosen with a log-ratio of 3.24 all in all, and without bound for
  larger counts. Such counts are rare; pure differential privacy has no exceptions for rare ones.
* The depth, where the user gives none, follows from the exact number of rows.

True: with the exact size in place of the noisy one the choice keeps its budget on all tables that were tried,
since the size cancels as in the mean squared error. Pruning and the weights of the votes follow from released
counts. The program splits a node only into the values that occur in it, which would tell which values occur;
here all values have a child. Five equal bins, as in the comparisons.
"""

import numpy as np

from dpforest._arrays import FloatArray, IntArray
from dpforest.papers.published.bootstrap_forests import is_pure
from dpforest.papers.published.domain import Domain
from dpforest.papers.published.draws import exponential_choice
from dpforest.papers.published.multiway import (
    LEAF,
    BinnedRows,
    MultiwayForest,
    MultiwayTree,
    Node,
    class_scores,
    grow,
)

__all__ = ["local_sensitivity_forest"]


def local_sensitivity_forest(
    X: FloatArray,
    y: IntArray,
    domain: Domain,
    rng: np.random.Generator,
    *,
    epsilon: float,
    n_trees: int = 4,
    max_depth: int | None = None,
    pruning: bool = True,
) -> MultiwayForest:
    """Fit DP-DF as published. Not private.

    Parameters
    ----------
    X, y : ndarray
        Rows and class codes; rows without a known class are left out.
    domain : Domain
        Public facts, of a classification table.
    rng : Generator
        All draws.
    epsilon : float
        The budget that the paper claims to spend: equal parts for the two questions of each inner node of a
        path and for its leaf, in every tree.
    n_trees : int, default=4
        Number of trees. The root of each splits a feature that no earlier root has split.
    max_depth : int, optional
        Features on a path; by default from the exact number of rows.
    pruning : bool, default=True
        Take back splits whose children are no purer, by their noisy counts, than the node.

    Returns
    -------
    MultiwayForest
        Its votes are those of the trees, each weighted with the share of its class in the leaf.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> domain = Domain(np.zeros(2), np.ones(2), np.zeros(2, int), n_classes=2)
    >>> X = rng.random((4000, 2))
    >>> forest = local_sensitivity_forest(X, (X[:, 0] > 0.6).astype(int), domain, rng, epsilon=10.0)
    >>> forest.votes(np.array([[0.1, 0.5], [0.9, 0.5]])).argmax(axis=1)
    array([0, 1])
    """
    rows = BinnedRows.of(X, y, domain, classes_for="Gini impurities")
    depth = rows.depth(max_depth)
    part = epsilon / (n_trees * (2 * depth + 1))
    roots: list[int] = []
    trees = []
    for _ in range(n_trees):
        tree = _tree(rows, depth, part, roots, rng)
        roots.append(int(tree.feature[0]))
        trees.append(_with_votes(prune(tree, rows.n_values) if pruning else tree))
    return MultiwayForest(trees, domain)


def local_sensitivity(n_rows: float) -> float:
    """Return what the paper takes for the sensitivity of the Gini impurity of a split of `n_rows` rows.

    Examples
    --------
    >>> local_sensitivity(1), local_sensitivity(99)
    (0.5, 0.0198)
    """
    return 2 * n_rows / (n_rows + 1) ** 2


def attribute_exponents(rows: BinnedRows, here: IntArray, noisy_rows: float, epsilon: float) -> FloatArray:
    """Return the exponents of the attributes: decreases of impurity at the noisy local sensitivity."""
    table = rows.class_counts(here)
    n = max(len(here), 1)
    decrease = (len(here) - (table**2).sum() / n + class_scores(rows, here, "gini")) / n
    return np.asarray(epsilon * decrease / (2 * local_sensitivity(max(noisy_rows, 1.0))))


def _tree(
    rows: BinnedRows, depth: int, part: float, roots: list[int], rng: np.random.Generator
) -> MultiwayTree:
    """Grow a tree whose nodes keep their noisy class counts."""

    def decide(here: IntArray, at: int, unused: IntArray) -> Node:
        counts = rows.class_counts(here) + rng.laplace(0.0, 1 / part, rows.n_classes)
        asked = unused
        if at == 0 and len(set(roots)) < len(unused):
            asked = np.setdiff1d(unused, roots)
        if at >= depth or not len(asked) or is_pure(counts):
            return Node(counts)
        exponents = attribute_exponents(rows, here, float(np.maximum(counts, 0.0).sum()), part)
        return Node(counts, int(asked[exponential_choice(exponents[asked], rng)]))

    return grow(rows, decide)


def prune(tree: MultiwayTree, n_values: IntArray) -> MultiwayTree:
    """Take back, from the bottom up, splits into leaves no purer than their node; never the root's."""
    feature = tree.feature.copy()
    counts = np.maximum(tree.values, 0.0)
    size = counts.sum(axis=1)
    impurity = 1 - (counts**2).sum(axis=1) / np.where(size > 0, size, 1.0) ** 2
    for node in range(tree.n_nodes - 1, 0, -1):
        if feature[node] == LEAF:
            continue
        children = tree.first_child[node] + np.arange(n_values[feature[node]])
        if (feature[children] == LEAF).all() and (
            (size[children] * impurity[children]).sum() >= size[node] * impurity[node]
        ):
            feature[node] = LEAF
    return MultiwayTree(feature, tree.first_child, tree.values)


def _with_votes(tree: MultiwayTree) -> MultiwayTree:
    """Give every leaf a vote for its most common class, weighted with the share of that class."""
    counts = np.maximum(tree.values, 0.0)
    size = counts.sum(axis=1)
    weight = np.divide(counts.max(axis=1), size, out=np.zeros(tree.n_nodes), where=size > 0)
    votes = np.eye(counts.shape[1])[tree.values.argmax(axis=1)] * weight[:, None]
    return MultiwayTree(tree.feature, tree.first_child, votes)
