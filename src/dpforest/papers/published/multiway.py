"""Trees with one child per value, on features in five bins: what the greedy forms have in common.

`bootstrap_forests`, `private_random_forest` and `greedy_smooth` grow such trees with `grow`,
`local_sensitivity` with a loop of its own, and score their splits with `class_scores` or `squared_errors`.
Numeric features are cut into five equal bins of their public range, as in the comparisons of Consul and
Williamson (2020, Section 4.2; 2021, Section 4); a nominal feature has one value per category and two more for
missing and other. A feature is used once per path.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpforest._arrays import FloatArray, IntArray
from dpforest.papers.published.domain import Domain, checked_rows, demand_classes, labelled_rows
from dpforest.papers.published.forest import PublishedForest

__all__ = [
    "LEAF",
    "BinnedRows",
    "Criterion",
    "MultiwayForest",
    "MultiwayTree",
    "Node",
    "class_scores",
    "grow",
    "impurity_scores",
    "score_sensitivity",
    "squared_errors",
]

Criterion = Literal["gini", "max_operator", "information_gain"]
LEAF = -1
BINS = 5
EXPECTED_LEAF = 25  # rows per leaf that Consul and Williamson aim at


@dataclass(frozen=True)
class BinnedRows:
    """Rows as values of features, and their targets.

    Parameters
    ----------
    codes : ndarray of int, shape (n, d)
        Value of every feature.
    target : ndarray of shape (n,)
        Class codes or numbers.
    n_values : ndarray of int, shape (d,)
        Values that every feature may have.
    n_classes : int
        Number of classes, 0 for regression.
    """

    codes: IntArray
    target: NDArray[np.int64] | FloatArray
    n_values: IntArray
    n_classes: int

    @classmethod
    def of(cls, X: FloatArray, y: NDArray[Any], domain: Domain, classes_for: str = "") -> "BinnedRows":
        """Bin the rows whose target is known; only classes will do where there is something for them."""
        if classes_for:
            demand_classes(domain, classes_for)
        X, target = labelled_rows(X, y, domain)
        n_values = np.where(domain.nominal, domain.n_categories + 2, BINS)
        return cls(bin_codes(X, domain), target, n_values, domain.n_classes)

    def depth(self, max_depth: int | None, n_parts: int = 1) -> int:
        """Features on a path; where the user does not say, from the exact number of rows of a part."""
        return depth_from_rows(len(self.codes) // n_parts) if max_depth is None else max_depth

    def take(self, rows: IntArray) -> "BinnedRows":
        """Return some rows, repeated ones as often as they are asked for."""
        return BinnedRows(self.codes[rows], self.target[rows], self.n_values, self.n_classes)

    def class_counts(self, rows: IntArray) -> FloatArray:
        """Return the rows of every class."""
        return np.bincount(self.target[rows].astype(np.int64), minlength=self.n_classes).astype(np.float64)

    def class_tables(self, rows: IntArray) -> FloatArray:
        """Return the rows of every class by value, the values of all features one after the other."""
        slots = (self._slots(rows) * self.n_classes + self.target[rows].astype(np.int64)[:, None]).ravel()
        total = int(self.n_values.sum())
        table = np.bincount(slots, minlength=total * self.n_classes)
        return table.reshape(total, self.n_classes).astype(np.float64)

    def moments(self, rows: IntArray) -> FloatArray:
        """Return number, sum and sum of squares of the targets by value, as in `class_tables`."""
        slots, total = self._slots(rows).ravel(), int(self.n_values.sum())
        y = np.repeat(self.target[rows].astype(np.float64), len(self.n_values))
        return np.stack([np.bincount(slots, weights=y**k, minlength=total) for k in range(3)], axis=1)

    def by_feature(self, of_values: FloatArray) -> FloatArray:
        """Add up what the values of each feature have."""
        return np.add.reduceat(of_values, self._first)

    @property
    def _first(self) -> IntArray:
        return np.cumsum(self.n_values) - self.n_values

    def _slots(self, rows: IntArray) -> IntArray:
        return np.asarray(self.codes[rows] + self._first)


def bin_codes(X: FloatArray, domain: Domain) -> IntArray:
    """Return the bin of every numeric value and the code of every category.

    Examples
    --------
    >>> domain = Domain(np.zeros(2), np.array([10.0, 3]), np.array([0, 2]))
    >>> bin_codes(np.array([[0.0, 1], [3.9, 0], [10.0, 3]]), domain)
    array([[0, 1],
           [1, 0],
           [4, 3]])
    """
    X = checked_rows(X, domain)
    place = (X - domain.low) / np.where(domain.high > domain.low, domain.high - domain.low, 1.0)
    bins = np.clip((BINS * place).astype(np.int64), 0, BINS - 1)
    return np.where(domain.nominal, X.astype(np.int64), bins)


class Node(NamedTuple):
    """What is decided about a node.

    Parameters
    ----------
    values : ndarray of float
        What a row that ends here adds to the votes, or what the form keeps to make that of.
    feature : int, default=LEAF
        The feature that is split.
    """

    values: FloatArray
    feature: int = LEAF


@dataclass(frozen=True)
class MultiwayTree:
    """A tree in flat arrays, one entry per node; node 0 is the root.

    Parameters
    ----------
    feature : ndarray of int
        Feature of a split, -1 at a leaf.
    first_child : ndarray of int
        The child for value 0; those for the other values come after it.
    values : ndarray of float, shape (n_nodes, n_outputs)
        As in `Node`.
    stands_in : ndarray of bool, optional
        Which places are no nodes, but stand for a value that its node has no child for.
    """

    feature: IntArray
    first_child: IntArray
    values: FloatArray
    stands_in: NDArray[np.bool_] | None = None

    @property
    def n_nodes(self) -> int:
        """Number of places, leaves included."""
        return len(self.feature)

    @property
    def is_node(self) -> NDArray[np.bool_]:
        """Whether each place is a node."""
        return np.ones(self.n_nodes, np.bool_) if self.stands_in is None else ~self.stands_in

    def leaf_of(self, codes: IntArray) -> IntArray:
        """Return the leaf of every row."""
        node = np.zeros(len(codes), dtype=np.int64)
        moving = np.flatnonzero(self.feature[node] != LEAF)
        while len(moving):
            at = node[moving]
            node[moving] = self.first_child[at] + codes[moving, self.feature[at]]
            moving = moving[self.feature[node[moving]] != LEAF]
        return node


def grow(rows: BinnedRows, decide: Callable[[IntArray, int, IntArray], Node]) -> MultiwayTree:
    """Grow a tree from the root.

    Parameters
    ----------
    rows : BinnedRows
        The rows of the tree.
    decide : callable
        From the rows of a node, its depth and the features that its path has not used to the node.

    Returns
    -------
    MultiwayTree
    """
    nodes: list[Node] = []
    first_child: list[int] = []
    waiting = [(np.arange(len(rows.codes)), 0, np.arange(len(rows.n_values)))]
    for here, depth, unused in waiting:  # grows while it is read: breadth first
        node = decide(here, depth, unused)
        nodes.append(node)
        first_child.append(len(waiting))
        if node.feature != LEAF:
            value, left = rows.codes[here, node.feature], unused[unused != node.feature]
            waiting += [(here[value == v], depth + 1, left) for v in range(rows.n_values[node.feature])]
    return MultiwayTree(
        np.array([node.feature for node in nodes], dtype=np.int64),
        np.array(first_child, dtype=np.int64),
        np.array([node.values for node in nodes], dtype=np.float64),
    )


@dataclass(frozen=True)
class MultiwayForest(PublishedForest):
    """Trees whose leaf values are added up or averaged.

    Parameters
    ----------
    trees : sequence of MultiwayTree
        The trees.
    domain : Domain
        Public facts.
    average : bool
        Whether votes are the mean over the trees instead of the sum.
    descends : bool, default=True
        Whether rows leave the root.
    """

    trees: Sequence[MultiwayTree]
    domain: Domain
    average: bool = False
    descends: bool = True

    def votes(self, X: FloatArray) -> FloatArray:
        """Return the paper's scores."""
        codes = bin_codes(X, self.domain)
        total = np.zeros((len(codes), self.domain.n_outputs))
        for tree in self.trees:
            total += tree.values[tree.leaf_of(codes)] if self.descends else tree.values[0]
        return total / len(self.trees) if self.average else total


def depth_from_rows(n_rows: int) -> int:
    """Return the largest depth, at least 1, at which 25 rows fall into each leaf on average, five to a split.

    The depths of Consul and Williamson (2021, Tables 1 and 2) are these; the number of rows is private.

    Examples
    --------
    >>> [depth_from_rows(n) for n in (3124, 3125, 4910, 90_000)]
    [2, 3, 3, 5]
    """
    depth = 1
    while EXPECTED_LEAF * BINS ** (depth + 1) <= n_rows:
        depth += 1
    return depth


def class_scores(rows: BinnedRows, here: IntArray, criterion: Criterion) -> FloatArray:
    """Score the split of a node by every feature, summed over the rows of the children.

    Examples
    --------
    >>> rows = BinnedRows(np.array([[0, 0], [0, 1], [1, 0]]), np.array([0, 0, 1]), np.array([2, 2]), 2)
    >>> class_scores(rows, np.arange(3), "gini"), class_scores(rows, np.arange(3), "max_operator")
    (array([ 0., -1.]), array([3., 2.]))
    """
    return rows.by_feature(impurity_scores(rows.class_tables(here), criterion))


def impurity_scores(table: FloatArray, criterion: Criterion) -> FloatArray:
    """Score children, given by their class counts, each by its rows times minus its impurity.

    Examples
    --------
    >>> impurity_scores(np.array([[2.0, 2.0], [4.0, 0.0]]), "gini")
    array([-2.,  0.])
    """
    if criterion == "max_operator":
        return np.asarray(table.max(axis=1))
    n = table.sum(axis=1)
    if criterion == "gini":
        return np.asarray((table**2).sum(axis=1) / np.maximum(n, 1.0) - n)
    return np.asarray(_times_log2(table).sum(axis=1) - _times_log2(n))


def _times_log2(n: FloatArray) -> FloatArray:
    return np.asarray(n * np.log2(np.maximum(n, 1.0)))


def score_sensitivity(criterion: Criterion, n_rows: int) -> float:
    """Return what the program of Friedman and Schuster (2010) takes for the sensitivity of a score.

    That of the information gain needs a bound on the number of rows, for which the program takes that number
    itself, rounded up to a power of two.

    Examples
    --------
    >>> [score_sensitivity(c, 1000) for c in ("gini", "max_operator", "information_gain")]
    [2.0, 1.0, 11.0]
    """
    if criterion == "information_gain":
        return math.ceil(math.log2(max(n_rows, 1))) + 1.0
    return 2.0 if criterion == "gini" else 1.0


def squared_errors(rows: BinnedRows, here: IntArray) -> FloatArray:
    """Return the sum over the children of the squared distances to the child's mean, for every feature.

    Examples
    --------
    >>> rows = BinnedRows(np.array([[0, 0], [0, 1], [1, 0]]), np.array([1.0, 1, 3]), np.array([2, 2]), 0)
    >>> squared_errors(rows, np.arange(3))
    array([0., 2.])
    """
    n, total, squares = rows.moments(here).T
    return rows.by_feature(squares - total**2 / np.maximum(n, 1.0))
