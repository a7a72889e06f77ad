"""Take back splits that released counts do not bear out. Post-processing: costs nothing.

A pruned subtree keeps its place in the flat arrays, and all of its leaves say what the node above them says.
Counts of inner nodes are sums of the released leaves below; leaves that no row can reach, because a node
above sends everything left, hold nothing but noise and are left out. The baselines call these functions
before they turn counts into votes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from dpforest._arrays import FloatArray, IntArray
from dpforest._structure import FlatTrees
from dpforest._structure.flat import EVERYTHING_LEFT

_TOLERANCE = 0.1  # errors by which a leaf may be worse than the subtree that it replaces, as in C4.5


def reachable_leaves(trees: FlatTrees) -> NDArray[np.bool_]:
    """Mark the leaves that a row can fall in.

    Parameters
    ----------
    trees : FlatTrees
        Released splits.

    Returns
    -------
    ndarray of shape (n_trees, n_leaves)

    Examples
    --------
    >>> trees = FlatTrees.unsplit(n_trees=1, depth=2)
    >>> trees.threshold[0, 0] = 5
    >>> reachable_leaves(trees)
    array([[ True, False,  True, False]])
    """
    found = np.ones((trees.n_trees, 1), np.bool_)
    for level in range(trees.depth):
        splits = trees.threshold[:, trees.level(level)] != EVERYTHING_LEFT
        found = np.stack([found, found & splits], axis=-1).reshape(trees.n_trees, -1)
    return found


def prune_by_errors(counts: IntArray, reachable: NDArray[np.bool_], confidence: float = 0.25) -> IntArray:
    """Prune as C4.5 does: wherever a leaf would make no more errors than the subtree.

    The errors of a leaf with n rows, e of them not of its most common class, are estimated as n times the
    upper confidence limit of the error rate (Quinlan 1993). Noise in the counts is not allowed for.

    Parameters
    ----------
    counts : ndarray of shape (n_trees, n_leaves, n_classes)
        Released noisy class counts.
    reachable : ndarray of shape (n_trees, n_leaves)
        From `reachable_leaves`.
    confidence : float, default=0.25
        Probability of errors beyond the limit; smaller values prune more.

    Returns
    -------
    ndarray of shape (n_trees, n_leaves, n_classes)
        For every leaf the counts of the node that it now belongs to.

    Examples
    --------
    >>> counts = np.array([[[50, 10], [52, 9], [90, 2], [3, 80]]])
    >>> prune_by_errors(counts, np.ones((1, 4), bool))[0].tolist()
    [[102, 19], [102, 19], [90, 2], [3, 80]]
    """
    nodes = _in_reach(counts, reachable)
    pruned = nodes.copy()
    errors = _estimated_errors(nodes, confidence)
    while nodes.shape[1] > 1:
        nodes, errors = _pairs(nodes), _pairs(errors)
        as_leaf = _estimated_errors(nodes, confidence)
        is_leaf = as_leaf <= errors + _TOLERANCE
        _replace(pruned, nodes, is_leaf)
        errors = np.where(is_leaf, as_leaf, errors)
    return pruned.astype(np.int64)


def prune_by_gini(counts: IntArray, reachable: NDArray[np.bool_], noise_sd: float) -> IntArray:
    """Prune, from the bottom up, splits that lower the Gini impurity no more than noise alone would.

    Because inner counts are sums of leaves, any split lowers the impurity of noisy counts. It is compared
    with what is expected of a split into children with the same class shares: the noise of their counts and
    the chance in which rows they got. The root keeps its split.

    Parameters
    ----------
    counts, reachable
        As in `prune_by_errors`.
    noise_sd : float
        Standard deviation of the noise of one count.

    Returns
    -------
    ndarray of shape (n_trees, n_leaves, n_classes)
        For every leaf the counts of the node that it now belongs to.

    Examples
    --------
    >>> counts = np.array([[[500, 100], [505, 95], [900, 20], [30, 800]]])
    >>> prune_by_gini(counts, np.ones((1, 4), bool), noise_sd=10.0)[0].tolist()
    [[1005, 195], [1005, 195], [900, 20], [30, 800]]
    """
    nodes, leaves_below = _in_reach(counts, reachable), reachable.astype(np.float64)
    pruned, is_leaf = nodes.copy(), np.ones(reachable.shape, np.bool_)
    while nodes.shape[1] > 2:
        children, variance = nodes, leaves_below * noise_sd**2
        nodes, leaves_below = _pairs(nodes), _pairs(leaves_below)
        gain, expected = _impurity_gain(children, variance, nodes)
        is_leaf = is_leaf[:, ::2] & is_leaf[:, 1::2] & (gain <= expected)
        _replace(pruned, nodes, is_leaf)
    return pruned.astype(np.int64)


def _in_reach(counts: IntArray, reachable: NDArray[np.bool_]) -> FloatArray:
    return np.where(reachable[..., None], counts, 0).astype(np.float64)


def _pairs(children: FloatArray) -> FloatArray:
    """Add up what two children have."""
    return children[:, ::2] + children[:, 1::2]


def _replace(pruned: FloatArray, nodes: FloatArray, is_leaf: NDArray[np.bool_]) -> None:
    """Give all leaves below the nodes that became leaves the counts of the node."""
    below = pruned.reshape(*nodes.shape[:2], -1, nodes.shape[2])
    below[is_leaf] = nodes[is_leaf][:, None]


def _estimated_errors(nodes: FloatArray, confidence: float) -> FloatArray:
    rows = np.maximum(nodes, 0.0)
    n = rows.sum(axis=-1)
    wrong = n - rows.max(axis=-1)
    right = np.where(n > 0, n - wrong, 1.0)  # any number will do for an empty node, which makes no errors
    limit = betaincinv(wrong + 1, right, 1 - confidence)
    return np.asarray(n * limit, np.float64)


def _impurity_gain(
    children: FloatArray, variance: FloatArray, nodes: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """By how much each node's split lowers n Gini, and by how much noise and chance would."""
    n_classes = children.shape[-1]
    shares = np.maximum(nodes, 0.0)
    total = shares.sum(axis=-1, keepdims=True)
    shares = np.where(total > 0, shares / np.where(total > 0, total, 1.0), 1 / n_classes)
    parent = np.repeat(shares, 2, axis=1)
    rows = children.sum(axis=-1)
    heard = (rows > np.sqrt(n_classes * variance)) & (rows > 0)  # a child that is not is no reason to split
    n = np.where(heard, rows, 1.0)
    gain = n * ((children / n[..., None] - parent) ** 2).sum(axis=-1)
    squares = (parent**2).sum(axis=-1)
    expected = variance / n * (n_classes - 2 + n_classes * squares) + 1 - squares
    return _pairs(np.where(heard, gain, 0.0)), _pairs(np.where(heard, expected, 0.0))
