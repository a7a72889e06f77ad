"""Complete binary trees in heap order, and the public box that each node stands for.

Callers: the growers in `dpforest._trees` fill the arrays level by level; the count kernels and the
predictor walk them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

# A threshold no cell can exceed: every row goes left. It marks a node with nothing left to split.
EVERYTHING_LEFT = np.int32(2**30)


@dataclass(frozen=True)
class FlatTrees:
    """A forest of complete binary trees, one row of each array per tree.

    Node ``i`` of level ``l`` sits at ``2**l - 1 + i``; its children are nodes ``2 i`` (left) and
    ``2 i + 1`` (right) of the next level. A complete tree keeps the number of nodes public and predicts
    faster than pointers do.

    Parameters
    ----------
    depth : int
        Levels of splits; every tree has ``2**depth`` leaves.
    feature : ndarray of shape (n_trees, 2**depth - 1), int32
        Column that the node looks at.
    threshold : ndarray of shape (n_trees, 2**depth - 1), int32
        ``t >= 0``: cells up to and including ``t`` go left. ``t < 0``: the cells marked in row ``-t - 1`` of
        `left_sets` go left.
    left_sets : ndarray of shape (n_sets, n_cells), uint8
        Public list of category subsets; at least one row, so that kernels always have an array to look at.

    Examples
    --------
    >>> from dpforest._structure import FlatTrees
    >>> trees = FlatTrees.unsplit(n_trees=2, depth=3)
    >>> trees.n_trees, trees.n_leaves
    (2, 8)
    """

    depth: int
    feature: NDArray[np.int32]
    threshold: NDArray[np.int32]
    left_sets: NDArray[np.uint8]

    @classmethod
    def unsplit(cls, n_trees: int, depth: int, left_sets: NDArray[np.uint8] | None = None) -> FlatTrees:
        """Trees in which every node sends every row to the left, for a grower to fill."""
        n_nodes = 2**depth - 1
        return cls(
            depth,
            np.zeros((n_trees, n_nodes), np.int32),
            np.full((n_trees, n_nodes), EVERYTHING_LEFT, np.int32),
            np.zeros((1, 1), np.uint8) if left_sets is None else left_sets,
        )

    @classmethod
    def of(cls, trees: Sequence[FlatTrees]) -> FlatTrees:
        """Put trees of one depth together."""
        feature = np.concatenate([each.feature for each in trees])
        threshold = np.concatenate([each.threshold for each in trees])
        return replace(trees[0], feature=feature, threshold=threshold)

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return int(self.feature.shape[0])

    @property
    def n_leaves(self) -> int:
        """Leaves of one tree."""
        return int(2**self.depth)

    def __getitem__(self, trees: slice) -> FlatTrees:
        """Return some of the trees."""
        return replace(self, feature=self.feature[trees], threshold=self.threshold[trees])

    def level(self, level: int) -> slice:
        """Columns of `feature` and `threshold` that hold the nodes of `level`."""
        return slice(2**level - 1, 2 ** (level + 1) - 1)

    def boxes(
        self, level: int, features: NDArray[np.int32], n_cells: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint8]]:
        """Which cells of some features can still occur in each node of a level.

        Parameters
        ----------
        level : int
            Level of the nodes.
        features : ndarray of shape (n_trees, 2**level, n_slots), int32
            The features asked about.
        n_cells : ndarray of shape (n_features,), int32
            Cells of every feature.

        Returns
        -------
        low, high : ndarray of shape (n_trees, 2**level, n_slots), int32
            First and last cell, for features split by thresholds.
        members : ndarray of shape (n_trees, 2**level, n_slots, n_set_cells), uint8
            Cells still possible, for features split by subsets.
        """
        from dpforest._structure import _kernels

        low = np.empty(features.shape, np.int32)
        high = np.empty(features.shape, np.int32)
        members = np.empty((*features.shape, self.left_sets.shape[1]), np.uint8)
        _kernels.boxes(
            self.feature, self.threshold, self.left_sets, level, features, n_cells, low, high, members
        )
        return low, high, members
