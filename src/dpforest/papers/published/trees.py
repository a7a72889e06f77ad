"""Binary trees with thresholds or sets of categories, and the recursion that grows them.

`median_forest` and `partitioning` grow trees with `grow` and a rule that splits a node; `random_trees` fills
the arrays itself. A tree is grown first and gets its leaf values afterwards.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpforest._arrays import FloatArray, IntArray
from dpforest.papers.published.domain import Domain

__all__ = ["BinaryTree", "Ranges", "Split", "grow"]

LEAF = -1


class Split(NamedTuple):
    """A test of one feature.

    Parameters
    ----------
    feature : int
        The feature.
    threshold : float
        Where a numeric feature is cut.
    categories : ndarray of int or None
        The categories of a nominal feature that go left.
    """

    feature: int
    threshold: float = np.nan
    categories: IntArray | None = None


@dataclass(frozen=True)
class BinaryTree:
    """A tree in flat arrays, one entry per node; node 0 is the root.

    Parameters
    ----------
    feature : ndarray of int
        Feature of a split, -1 at a leaf.
    threshold : ndarray of float
        Cut of a numeric feature.
    left_set : ndarray of int
        Row of `sets` that tells which codes go left, -1 where a threshold decides.
    left, right : ndarray of int
        Children.
    sets : ndarray of bool, shape (n_sets, n_codes)
        Sets of codes.
    closed : bool
        Whether a value equal to the threshold goes left.
    values : ndarray of float, shape (n_nodes, n_outputs)
        What a row that ends in a node adds to the votes.
    """

    feature: IntArray
    threshold: FloatArray
    left_set: IntArray
    left: IntArray
    right: IntArray
    sets: NDArray[np.bool_]
    closed: bool
    values: FloatArray

    @property
    def n_nodes(self) -> int:
        """Number of nodes, leaves included."""
        return len(self.feature)

    @property
    def leaves(self) -> IntArray:
        """Nodes without children."""
        return np.flatnonzero(self.feature == LEAF)

    def leaf_of(self, X: FloatArray) -> IntArray:
        """Return the leaf of every row."""
        node = np.zeros(len(X), dtype=np.int64)
        moving = np.flatnonzero(self.feature[node] != LEAF)
        while len(moving):
            at = node[moving]
            value = X[moving, self.feature[at]]
            goes_left = value <= self.threshold[at] if self.closed else value < self.threshold[at]
            by_set = np.flatnonzero(self.left_set[at] >= 0)
            goes_left[by_set] = self.sets[self.left_set[at[by_set]], value[by_set].astype(np.int64)]
            node[moving] = np.where(goes_left, self.left[at], self.right[at])
            moving = moving[self.feature[node[moving]] != LEAF]
        return node

    def with_values(self, values: FloatArray) -> "BinaryTree":
        """Return the same splits with other leaf values, given in the order of `leaves`."""
        of_nodes = np.zeros((self.n_nodes, values.shape[1]))
        of_nodes[self.leaves] = values
        return replace(self, values=of_nodes)


@dataclass(frozen=True)
class Ranges:
    """What the splits above a node leave of every feature's domain.

    Parameters
    ----------
    low, high : ndarray of float
        Range of the numeric features.
    categories : dict from int to ndarray
        Categories of the nominal features.
    """

    low: FloatArray
    high: FloatArray
    categories: dict[int, IntArray]

    @classmethod
    def whole(cls, domain: Domain) -> "Ranges":
        """Return the ranges at the root."""
        nominal = np.flatnonzero(domain.nominal)
        return cls(domain.low, domain.high, {int(j): np.arange(domain.n_categories[j]) for j in nominal})

    def splittable(self) -> IntArray:
        """Return the features of which more than one value is left."""
        wide = self.high > self.low
        for feature, categories in self.categories.items():
            wide[feature] = len(categories) > 1
        return np.flatnonzero(wide)

    def divide(self, split: Split) -> tuple["Ranges", "Ranges"]:
        """Return the ranges of the two children."""
        if split.categories is not None:
            kept = self.categories[split.feature]
            rest = np.setdiff1d(kept, split.categories, assume_unique=True)
            inside = {**self.categories, split.feature: split.categories}
            return (
                replace(self, categories=inside),
                replace(self, categories={**self.categories, split.feature: rest}),
            )
        low, high = self.low.copy(), self.high.copy()
        low[split.feature] = high[split.feature] = split.threshold
        return replace(self, high=high), replace(self, low=low)


def grow(
    X: FloatArray, domain: Domain, choose: Callable[[IntArray, int, Ranges], Split | None], closed: bool
) -> BinaryTree:
    """Grow a tree from the root.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        The rows that decide about the splits.
    domain : Domain
        Public facts.
    choose : callable
        From the rows of a node, its depth and its ranges to its split, or to None if it becomes a leaf.
    closed : bool
        Whether a value equal to the threshold goes left.

    Returns
    -------
    BinaryTree
        The tree, all of its leaf values zero.
    """
    splits: list[Split | None] = []
    children: list[tuple[int, int]] = []
    waiting = [(np.arange(len(X)), 0, Ranges.whole(domain))]
    for rows, depth, ranges in waiting:  # grows while it is read: breadth first
        split = choose(rows, depth, ranges)
        splits.append(split)
        children.append((len(waiting), len(waiting) + 1) if split else (0, 0))
        if split:
            value = X[rows, split.feature]
            if split.categories is not None:
                goes_left = np.isin(value, split.categories)
            else:
                goes_left = value <= split.threshold if closed else value < split.threshold
            left, right = ranges.divide(split)
            waiting += [(rows[goes_left], depth + 1, left), (rows[~goes_left], depth + 1, right)]
    return _flatten(splits, np.array(children), domain, closed)


def _flatten(splits: list[Split | None], children: IntArray, domain: Domain, closed: bool) -> BinaryTree:
    by_set = [i for i, split in enumerate(splits) if split and split.categories is not None]
    sets = np.zeros((len(by_set), domain.n_codes), dtype=np.bool_)
    left_set = np.full(len(splits), -1)
    for k, i in enumerate(by_set):
        sets[k, splits[i].categories] = True  # type: ignore[union-attr]
        left_set[i] = k
    return BinaryTree(
        feature=np.array([split.feature if split else LEAF for split in splits], dtype=np.int64),
        threshold=np.array([split.threshold if split else np.nan for split in splits], dtype=np.float64),
        left_set=left_set,
        left=children[:, 0],
        right=children[:, 1],
        sets=sets,
        closed=closed,
        values=np.zeros((len(splits), domain.n_outputs)),
    )
