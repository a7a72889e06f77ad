"""What the nodes of finished trees say, and where rows pass. Post-processing: costs nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest._structure import FlatTrees

Floats = NDArray[np.float64]


def node_values(
    trees: FlatTrees, votes: Floats, rows: Floats | None, n_cells: NDArray[np.int64]
) -> list[Floats]:
    """Return what the nodes of each level say, from the root to the leaves.

    Parameters
    ----------
    trees : FlatTrees
        Released splits.
    votes : ndarray of shape (n_trees, n_leaves, n_outputs)
        What leaves say.
    rows : ndarray of shape (n_trees, n_leaves), or None
        A node says the mean of the leaves below it, weighted by these; None adds them up.
    n_cells : ndarray of shape (n_columns,)
        Cells of every column.

    Returns
    -------
    list of ndarray of shape (n_trees, 2**level, n_outputs)
        A node that sends all rows to the left says what its left child says.

    Examples
    --------
    >>> trees = FlatTrees.unsplit(n_trees=1, depth=1)
    >>> trees.threshold[0, 0] = 5
    >>> votes = np.array([[[1.0], [4.0]]])
    >>> node_values(trees, votes, np.array([[20.0, 10.0]]), np.array([9]))[0]
    array([[[2.]]])
    """
    found, weights = [votes], np.ones(votes.shape[:2]) if rows is None else rows
    for level in range(trees.depth - 1, -1, -1):
        left, right = found[0][:, ::2], found[0][:, 1::2]
        share = left_shares(weights)
        both = left + right if rows is None else share * left + (1 - share) * right
        one_sided = all_left(trees, level, n_cells)
        found.insert(0, np.where(one_sided[..., None], left, both))
        weights = np.where(one_sided, weights[:, ::2], weights[:, ::2] + weights[:, 1::2])
    return found


def left_shares(weights: Floats) -> Floats:
    """Part of each pair's weight that its left one has, one half if they have none."""
    left, right = weights[:, ::2], weights[:, 1::2]
    total = left + right
    shares: Floats = np.where(total > 0, left / np.where(total > 0, total, 1.0), 0.5)[..., None]
    return shares


def all_left(trees: FlatTrees, level: int, n_cells: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell which nodes of a level send all rows to the left."""
    at = trees.level(level)
    found: NDArray[np.bool_] = trees.threshold[:, at] >= n_cells[trees.feature[:, at]] - 1
    return found
