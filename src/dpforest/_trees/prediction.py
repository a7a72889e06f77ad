"""Send new rows through finished trees. Post-processing: costs nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest._structure import FlatTrees
from dpforest._threads import in_parts

LEAST_ROWS = 1024  # of a thread: starting one takes as long as walking hundreds of rows


def sum_leaf_values(
    trees: FlatTrees, values: NDArray[np.float64], cells: NDArray[Any], n_threads: int = 1
) -> NDArray[np.float64]:
    """Sum over trees of the values of the leaf that each row falls in.

    Parameters
    ----------
    trees : FlatTrees
        Finished trees.
    values : ndarray of shape (n_trees, n_leaves, n_outputs)
        Released or post-processed leaf values.
    cells : ndarray of shape (n_rows, n_features)
        Rows encoded by the schema.
    n_threads : int
        Threads to use.

    Returns
    -------
    ndarray of shape (n_rows, n_outputs)
    """
    from dpforest._trees import _kernels

    _check_columns(trees, cells)
    out = np.zeros((len(cells), values.shape[2]))
    splits = (trees.feature, trees.threshold, trees.left_sets, trees.depth)

    def run(begin: int, end: int) -> None:
        _kernels.sum_leaf_values(cells, *splits, values, begin, end, out)

    in_parts(run, len(cells), n_threads, LEAST_ROWS)
    return out


def find_leaves(trees: FlatTrees, cells: NDArray[Any]) -> NDArray[np.int64]:
    """Leaf that each row falls in, tree by tree.

    Parameters
    ----------
    trees : FlatTrees
        Finished trees.
    cells : ndarray of shape (n_rows, n_features)
        Rows encoded by the schema.

    Returns
    -------
    ndarray of shape (n_trees, n_rows)
    """
    from dpforest._trees import _kernels

    _check_columns(trees, cells)
    out = np.empty((trees.n_trees, len(cells)), np.int64)
    _kernels.find_leaves(cells, trees.feature, trees.threshold, trees.left_sets, trees.depth, out)
    return out


def cells_for(model: Any, X: Any) -> NDArray[Any]:
    """Encode rows as the trees of a fitted model look at them: features, then columns made of several.

    Parameters
    ----------
    model : fitted estimator
        Any forest of this library.
    X : data frame or array
        Rows.
    """
    cells: NDArray[Any] = model.schema_.encode_features(X)
    if model.additive_ is not None:
        cells = model.additive_.widen(cells)
    return cells


def _check_columns(trees: FlatTrees, cells: NDArray[Any]) -> None:
    """Kernels read cells without looking at the bounds of the array."""
    if trees.feature.max(initial=-1) >= cells.shape[1]:
        raise ValueError("the trees look at columns that the rows do not have.")
