"""How evenly a forest cuts its rows (Consul and Williamson 2021, Sec. 4.3, Figures 3 and 4).

Private median splits exist for the sake of balance: full leaves drown less in noise than empty ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest._trees import cells_for, find_leaves


def leaf_occupancy(model: Any, X: Any = None) -> NDArray[np.float64]:
    """Fraction of the rows in each leaf of each tree.

    Parameters
    ----------
    model : fitted estimator
        Any forest of this library.
    X : data frame or array, optional
        Rows to count: test rows or other rows that are not private. Without them the released noisy leaf
        counts are used, clamped at zero; that is free.

    Returns
    -------
    ndarray of shape (n_trees, n_leaves)
        Each row sums to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from dpforest import DiPriMeForestClassifier
    >>> X = np.random.default_rng(0).random((4000, 2))
    >>> model = DiPriMeForestClassifier(epsilon=4.0, bounds=(0, 1), classes=[0, 1], max_depth=2)
    >>> bool(leaf_occupancy(model.fit(X, X[:, 0] > 0.5), X).max() < 0.5)
    True
    """
    trees = model.trees_
    if X is None:
        if model.leaf_statistics_.ndim != 3:
            raise ValueError("This model released labels, not counts; give rows X to count.")
        counts = np.maximum(model.leaf_statistics_.sum(axis=2, dtype=np.float64), 0.0)
    else:
        leaves = find_leaves(trees, cells_for(model, X))
        counts = np.stack([np.bincount(tree, minlength=trees.n_leaves) for tree in leaves]).astype(np.float64)
    return _normalised(counts)


def left_fractions(model: Any, X: Any = None) -> NDArray[np.float64]:
    """Fraction of a node's rows that go left, for every node that holds rows.

    Parameters
    ----------
    model : fitted estimator
        Any forest of this library.
    X : data frame or array, optional
        As in `leaf_occupancy`.

    Returns
    -------
    ndarray of shape (n_nodes_with_rows,)
        Near 1/2 where cuts are balanced.
    """
    counts = leaf_occupancy(model, X)
    found = []
    while counts.shape[1] > 1:
        left, right = counts[:, ::2], counts[:, 1::2]
        counts = left + right
        found.append((left / np.where(counts > 0, counts, 1.0))[counts > 0])
    return np.concatenate(found) if found else np.empty(0)


def plot_balance(models: Mapping[str, Any], X: Any = None) -> Any:
    """Draw leaf occupancy and left fractions of several forests side by side.

    Parameters
    ----------
    models : mapping of name to fitted estimator
        Forests to compare.
    X : data frame or array, optional
        As in `leaf_occupancy`.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    leaves, cuts = figure.subplots(1, 2)
    for name, model in models.items():
        filled = np.sort(leaf_occupancy(model, X).ravel())[::-1]
        leaves.plot(np.linspace(0, 1, len(filled)), filled * model.trees_.n_leaves, label=name)
        cuts.hist(left_fractions(model, X), bins=20, range=(0, 1), histtype="step", density=True, label=name)
    leaves.set(xlabel="leaves, fullest first", ylabel="rows in the leaf / rows if balanced", yscale="symlog")
    cuts.set(xlabel="part of a node's rows that goes left", ylabel="density of nodes")
    leaves.legend()
    return figure


def _normalised(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    total = counts.sum(axis=1, keepdims=True)
    shares: NDArray[np.float64] = counts / np.where(total > 0, total, 1.0)
    return shares
