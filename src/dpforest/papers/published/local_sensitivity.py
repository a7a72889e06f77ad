"""Greedy forest with "local sensitivity" as published: Fletcher and Islam, 2015.

"A differentially private decision forest" (DP-DF). Its text is not public; the authors' program is
(repository Greedy_DP_Forest: `DP_SysFor.py`, `DP_Tree.py`, `simple_ml.py`, `node.py`), and is followed here
line by line. (Consul and Williamson speak of local sensitivity in the leaves; the program has it in the
choice of attributes, and plain Laplace noise in the leaves.) Five equal bins, as in the comparisons.

What is false, at budget 1:

* The Gini impurity of a split of n rows is said to move by 2n / (n+1)^2, and n is replaced by the noisy size
  of the node. Where noise made the size too large, the exponential mechanism is too sharp. One row of class
  0, and the same with a second row of class 1 that one of two attributes tells apart: if the counts 50 and 50
  were released, the other attribute is chosen with a log-ratio of 3.24 all in all, and without bound for
  larger counts. Such counts are rare; pure differential privacy has no exceptions for rare ones.
* Only classes and values that occur in a node get a noisy count and a child, and a node with one class is
  split no further: a row of another class, or with another value, always shows.
* The depth, where the user gives none, follows from the exact number of rows.

True: with the exact size in place of the noisy one the choice keeps its budget on all tables that were tried,
since the size cancels as in the mean squared error. Pruning and the weights of the votes follow from released
counts.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpforest._arrays import FloatArray, IntArray
from dpforest.papers.published.domain import Domain
from dpforest.papers.published.draws import exponential_choice
from dpforest.papers.published.multiway import (
    LEAF,
    BinnedRows,
    MultiwayForest,
    MultiwayTree,
    class_scores,
)

__all__ = ["local_sensitivity_forest"]

LARGEST_EXPONENT = 50.0  # at which the program cuts its exponents off


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
    as_called: bool = False,
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
        Number of trees. The root of each splits a feature that no earlier root has split, while there is one.
    max_depth : int, optional
        Features on a path; by default from the exact number of rows.
    pruning : bool, default=True
        Take back splits whose children are no purer, by their noisy counts, than the node.
    as_called : bool, default=False
        Do what the program does as Consul and Williamson (2021) call it in their notebook. Its counter of
        levels has to be started at 1 and is left at 0, where it stays: trees grow until features or classes
        run out, and roots need not differ. Values of nodes are kept as text and those of rows are numbers:
        no row finds a child, and all stop at the root.

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
        grown = _grow(rows, len(rows.n_values) if as_called else depth, part, roots, rng)
        if not as_called:
            roots.append(grown.feature[0])
        if pruning:
            prune(grown)
        trees.append(_with_votes(grown, rows.n_classes))
    return MultiwayForest(trees, domain, descends=not as_called)


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
    exponents = epsilon * decrease / (2 * local_sensitivity(max(noisy_rows, 1.0)))
    return np.asarray(np.minimum(exponents, LARGEST_EXPONENT))


@dataclass
class Grown:
    """A tree under construction, one entry per node; parents come before their children.

    Parameters
    ----------
    feature : list of int
        Feature of a split, -1 at a leaf.
    parent, children : list
        Places of the parent, -1 at the root, and of the children by value; -1 for a value that no row has.
    counts : list of ndarray
        Noisy class counts: whole, not negative, 0 for a class that no row has.
    """

    feature: list[int] = field(default_factory=list)
    parent: list[int] = field(default_factory=list)
    children: list[list[int]] = field(default_factory=list)
    counts: list[FloatArray] = field(default_factory=list)


def _grow(rows: BinnedRows, depth: int, part: float, roots: list[int], rng: np.random.Generator) -> Grown:
    tree = Grown()
    waiting = [(np.arange(len(rows.codes)), 0, np.arange(len(rows.n_values)), -1)]
    for here, at, unused, parent in waiting:  # grows while it is read: breadth first
        occurring = rows.class_counts(here)
        noisy = np.maximum(np.trunc(occurring + rng.laplace(0.0, 1 / part, rows.n_classes)), 0.0)
        counts = np.where(occurring > 0, noisy, 0.0)
        tree.parent.append(parent)
        tree.counts.append(counts)
        tree.feature.append(LEAF)
        tree.children.append([])
        if at >= depth or not len(unused) or (occurring > 0).sum() <= 1 or not counts.any():
            continue
        asked = np.setdiff1d(unused, roots) if at == 0 and len(set(roots)) < len(unused) else unused
        exponents = attribute_exponents(rows, here, float(counts.sum()), part)
        feature = int(asked[exponential_choice(exponents[asked], rng)])
        value, left, node = rows.codes[here, feature], unused[unused != feature], len(tree.feature) - 1
        tree.feature[node] = feature
        for v in range(rows.n_values[feature]):
            inside = here[value == v]
            tree.children[node].append(len(waiting) if len(inside) else -1)
            if len(inside):
                waiting.append((inside, at + 1, left, node))
    return tree


def prune(tree: Grown) -> None:
    """Take back splits whose children are on average no purer than the node.

    From the bottom up, nodes with leaves alone below them are looked at, from the third level on; where one
    becomes a leaf its parent is looked at next, whatever else is below it, but never the root.
    """
    counts = np.array(tree.counts)
    size = counts.sum(axis=1)
    impurity = 1 - (counts**2).sum(axis=1) / np.where(size > 0, size, 1.0) ** 2

    def look_at(node: int) -> None:
        children = [child for child in tree.children[node] if child >= 0]
        if tree.feature[node] == LEAF or tree.parent[node] < 0:
            return
        if (size[children] * impurity[children]).sum() >= size[node] * impurity[node]:
            tree.feature[node], tree.children[node] = LEAF, []
            look_at(tree.parent[node])

    for node in range(len(tree.feature) - 1, 0, -1):
        children = [child for child in tree.children[node] if child >= 0]
        if children and tree.parent[node] > 0 and all(tree.feature[child] == LEAF for child in children):
            look_at(node)


def _with_votes(tree: Grown, n_classes: int) -> MultiwayTree:
    """Lay a tree out; every leaf votes for its most common class, weighted with the share of that class.

    A leaf whose counts are all 0 votes for the class of its parent, with weight 1; a value without a child
    ends where it is missed.
    """
    votes: list[FloatArray] = []
    for parent, counts in zip(tree.parent, tree.counts, strict=True):
        if counts.any():
            votes.append(np.eye(n_classes)[counts.argmax()] * counts.max() / counts.sum())
        else:
            votes.append((votes[parent] > 0).astype(np.float64) if parent >= 0 else np.zeros(n_classes))
    feature, first_child, values, stands_in = [LEAF], [0], [votes[0]], [False]
    places = [0]
    for at, node in enumerate(places):  # grows while it is read
        if node < 0 or tree.feature[node] == LEAF:
            continue
        feature[at], first_child[at] = tree.feature[node], len(places)
        for child in tree.children[node]:
            places.append(child)
            feature.append(LEAF)
            first_child.append(0)
            values.append(votes[child] if child >= 0 else votes[node])
            stands_in.append(child < 0)
    missed: NDArray[np.bool_] = np.array(stands_in)
    return MultiwayTree(np.array(feature), np.array(first_child), np.array(values), missed)
