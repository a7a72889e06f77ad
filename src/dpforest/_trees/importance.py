"""How much each feature's splits explain, from released statistics only. Post-processing: costs nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpforest._structure import FlatTrees
from dpforest._structure.flat import EVERYTHING_LEFT

_LOUDEST = 2.0  # standard deviations of a node's noise below which its rows tell nothing
_SURE = 2.0  # standard deviations that the gains of a feature must stand out
_SPREAD_OF_NUMBERS = 0.25  # variance of targets, over that of the law of two ends with their mean

_NOTHING = 1e-12  # in all, below which importances are those of rounding

Floats = NDArray[np.float64]


def feature_importances(
    trees: FlatTrees,
    statistics: NDArray[np.int64],
    n_features: int,
    noise_sds: Sequence[float] = (),
    row: int = 1,
) -> NDArray[np.float64]:
    """Decrease of impurity by the splits of each feature, as scikit-learn defines it, less what noise adds.

    A node's statistics are the sums of the released leaves below it; its purity is ``sum(k**2) / n``, with n
    their total. Noise of variance v in each of K statistics makes that larger by v / 2 times the trace of its
    second derivatives, ``v / n * (K - 2 + K * sum(q**2))`` with q = k / n, and chance alone makes a split
    seem to explain one row's impurity. Both are taken off, node by node and without clamping, so that the
    gains of a column that says nothing cancel; what is left must be twice its standard deviation, by the law
    of squares of normal noise, or counts for nothing. So does a split one of whose children has no more rows
    than noise, where the formula does not hold.

    Parameters
    ----------
    trees : FlatTrees
        Released splits.
    statistics : ndarray of shape (n_trees, n_leaves, n_statistics)
        Released class counts, or pairs of target sums.
    n_features : int
        Number of features.
    noise_sds : sequence of float
        Standard deviation of the noise in the statistics of each tree; empty if there is none.
    row : int
        What one row adds to the statistics in all: 1 for counts, the levels of the target for sums.

    Returns
    -------
    ndarray of shape (n_features,)
        Sums to 1, or all 0 if nothing was split or no split says more than noise.

    Examples
    --------
    >>> import numpy as np
    >>> trees = FlatTrees.unsplit(n_trees=1, depth=1)
    >>> trees.feature[0, 0], trees.threshold[0, 0] = 1, 5
    >>> feature_importances(trees, np.array([[[9, 1], [2, 8]]]), n_features=3)
    array([0., 1., 0.])
    >>> feature_importances(trees, np.array([[[9, 1], [2, 8]]]), n_features=3, noise_sds=[9.0])
    array([0., 0., 0.])
    """
    found, spread = np.zeros((2, n_features))
    nodes = statistics.astype(np.float64)
    variance = np.square(noise_sds or [0.0] * len(nodes))[:, None]
    below = np.ones(nodes.shape[:2])  # leaves that hold rows
    for level in range(trees.depth - 1, -1, -1):
        columns = trees.feature[:, trees.level(level)]
        one_sided = trees.threshold[:, trees.level(level)] == EVERYTHING_LEFT
        children, leaves = (nodes[:, ::2], nodes[:, 1::2]), (below[:, ::2], below[:, 1::2])
        nodes = np.where(one_sided[..., None], children[0], children[0] + children[1])
        below = np.where(one_sided, leaves[0], leaves[0] + leaves[1])
        chance = _by_chance(nodes, row)
        gain, heard, squares = (
            -_purity(nodes) + _by_noise(nodes, variance * below) - chance,
            ~one_sided,
            chance**2,
        )
        for child, n_leaves in zip(children, leaves, strict=True):
            noise = _by_noise(child, variance * n_leaves)
            gain, squares = gain + _purity(child) - noise, squares + noise**2
            heard &= _is_heard(child, variance * n_leaves)
        np.add.at(found, columns, np.where(heard, gain, 0.0))
        np.add.at(spread, columns, np.where(heard, 2 * squares, 0.0))
    found = np.where(found > _SURE * np.sqrt(spread), found, 0.0)
    total = found.sum()
    shares: NDArray[np.float64] = found / total if total > 0 else found
    return shares


def _purity(nodes: Floats) -> Floats:
    """Sum of squares over sum."""
    found: Floats = (nodes**2).sum(axis=-1) / np.maximum(nodes.sum(axis=-1), 1e-9)
    return found


def _by_noise(nodes: Floats, variance: Floats) -> Floats:
    """Purity that noise seems to add."""
    n, n_classes = np.maximum(nodes.sum(axis=-1), 1e-9), nodes.shape[-1]
    found: Floats = variance / n * (n_classes - 2 + n_classes * _purity(nodes) / n)
    return found


def _by_chance(nodes: Floats, row: int) -> Floats:
    """Gain that a split of nothing has on average: impurity of one row, of a number that of a narrow law."""
    n = np.maximum(nodes.sum(axis=-1, keepdims=True), 1e-9)
    impurity = 1 - ((np.maximum(nodes, 0.0) / n) ** 2).sum(axis=-1)
    found: Floats = np.clip(impurity, 0.0, 1.0) * (row if row == 1 else row * _SPREAD_OF_NUMBERS)
    return found


def _is_heard(nodes: Floats, variance: Floats) -> NDArray[np.bool_]:
    """Tell which nodes have more rows than noise; those of no rows at all are not heard either."""
    n = nodes.sum(axis=-1)
    found: NDArray[np.bool_] = (n > 0) & (n**2 > _LOUDEST**2 * variance * nodes.shape[-1])
    return found


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


def as_shares(importances: Floats) -> Floats:
    """Divide importances by their sum; all 0 if they are next to nothing.

    Examples
    --------
    >>> as_shares(np.array([1.0, 3.0])), as_shares(np.array([0.0, 1e-14]))
    (array([0.25, 0.75]), array([0., 0.]))
    """
    total = float(importances.sum())
    return importances / total if total > _NOTHING else np.zeros_like(importances)
