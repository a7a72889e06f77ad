"""How much each feature's splits explain, from released statistics only. Post-processing: costs nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest._structure import FlatTrees


def feature_importances(
    trees: FlatTrees, statistics: NDArray[np.int64], n_features: int
) -> NDArray[np.float64]:
    """Decrease of impurity by the splits of each feature, as scikit-learn defines it, on noisy statistics.

    A node's statistics are the sums of the released leaves below it, clamped at zero; its impurity is the sum
    of squares of its shares, times its rows. Noise adds some importance to every feature.

    Parameters
    ----------
    trees : FlatTrees
        Released splits.
    statistics : ndarray of shape (n_trees, n_leaves, n_statistics)
        Released class counts, or pairs of target sums.
    n_features : int
        Number of features.

    Returns
    -------
    ndarray of shape (n_features,)
        Sums to 1, or all 0 if nothing was split.

    Examples
    --------
    >>> import numpy as np
    >>> trees = FlatTrees.unsplit(n_trees=1, depth=1)
    >>> trees.feature[0, 0], trees.threshold[0, 0] = 1, 5
    >>> feature_importances(trees, np.array([[[9, 1], [2, 8]]]), n_features=3)
    array([0., 1., 0.])
    """
    found = np.zeros(n_features)
    nodes = statistics.astype(np.float64)
    for level in range(trees.depth - 1, -1, -1):
        parents = nodes[:, ::2] + nodes[:, 1::2]
        gain = (
            _squares_over_sum(nodes[:, ::2]) + _squares_over_sum(nodes[:, 1::2]) - _squares_over_sum(parents)
        )
        np.add.at(found, trees.feature[:, trees.level(level)], np.maximum(gain, 0.0))
        nodes = parents
    total = found.sum()
    shares: NDArray[np.float64] = found / total if total > 0 else found
    return shares


def _squares_over_sum(nodes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows minus n Gini: larger where one class, or one end of the target's range, prevails."""
    clamped = np.maximum(nodes, 0.0)
    total = clamped.sum(axis=-1)
    purity: NDArray[np.float64] = (clamped**2).sum(axis=-1) / np.where(total > 0, total, 1.0)
    return purity


def explained_squares(
    trees: FlatTrees, values: NDArray[np.float64], rows: NDArray[np.float64], n_features: int
) -> NDArray[np.float64]:
    """How much the splits of each feature make the predictions of several trees differ, per row.

    The values are what the trees predict, with noise already drawn out of them, so a split of nothing but
    noise, whose children say the same, explains nothing.

    Parameters
    ----------
    trees : FlatTrees
        Released splits.
    values, rows : ndarray of shape (n_trees, n_leaves)
        What every leaf predicts, and its released number of rows.
    n_features : int
        Number of features.

    Examples
    --------
    >>> import numpy as np
    >>> trees = FlatTrees.unsplit(n_trees=1, depth=1)
    >>> trees.feature[0, 0], trees.threshold[0, 0] = 1, 5
    >>> explained_squares(trees, np.array([[1.0, 3.0]]), np.array([[50.0, 50.0]]), n_features=3)
    array([0., 1., 0.])
    """
    found = np.zeros(n_features)
    n = np.maximum(rows, 0.0)
    total = np.maximum(n.sum(axis=1, keepdims=True), 1.0)
    for level in range(trees.depth - 1, -1, -1):
        left, right = n[:, ::2], n[:, 1::2]
        both = np.maximum(left + right, 1e-9)
        gain = left * right / both * (values[:, ::2] - values[:, 1::2]) ** 2
        np.add.at(found, trees.feature[:, trees.level(level)], gain / total)
        values, n = (left * values[:, ::2] + right * values[:, 1::2]) / both, left + right
    return found
