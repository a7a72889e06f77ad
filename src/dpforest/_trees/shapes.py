"""What a fitted model says along one feature, the others left open. Post-processing: costs nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest._structure.additive import UNIT
from dpforest._trees.explaining import (
    n_cells_of,
    nodes_of,
    outputs_of,
    sum_of_roots,
    usual_scores,
    votes_of,
)
from dpforest._trees.paths import all_left, left_shares

Floats = NDArray[np.float64]


def shape_of(model: Any, feature: int) -> Floats:
    """Return what each cell of a feature adds to a prediction, against nothing known.

    The part of the feature that is added by itself; and in every tree, nodes that ask for the feature send
    the cell where it belongs, while nodes that ask for something else, also for combinations with it, say the
    mean of both sides, weighted by released rows (or, where trees vote with counts, their sum).

    Parameters
    ----------
    model : fitted estimator
        Any forest of this library.
    feature : int
        Which feature.

    Returns
    -------
    ndarray of shape (n_cells, n_outputs)
        In the outputs of `explain`.
    """
    _, turn = outputs_of(model)
    levels = nodes_of(model)
    base = sum_of_roots(model, levels)
    n_cells = int(model.schema_.n_cells[feature])
    raw = np.repeat(base, n_cells, axis=0)
    if model.additive_ is not None:
        raw += model.additive_.table[feature, :n_cells] / UNIT - usual_scores(model)[feature]
    for tree in range(model.trees_.n_trees):
        raw += _along(model, tree, feature, n_cells) - levels[0][tree]
    return turn(raw) - turn(base)


def _along(model: Any, tree: int, feature: int, n_cells: int) -> Floats:
    """Return what a tree says of each cell of a feature."""
    trees, cells = model.trees_[tree : tree + 1], np.arange(n_cells)
    votes, rows = votes_of(model)
    says = np.repeat(votes[tree][:, None], n_cells, axis=1)  # leaf, cell, output
    weights = np.ones((1, trees.n_leaves)) if rows is None else rows[tree : tree + 1]
    for level in range(trees.depth - 1, -1, -1):
        at = trees.level(level)
        cut, column = trees.threshold[0, at][:, None], trees.feature[0, at]
        in_set = trees.left_sets[np.maximum(-cut - 1, 0), np.minimum(cells, trees.left_sets.shape[1] - 1)]
        goes_left = np.where(cut >= 0, cells <= cut, in_set > 0)[..., None]
        one_sided = all_left(trees, level, n_cells_of(model))
        left, right = says[::2], says[1::2]
        share = left_shares(weights)[0][:, None]
        both = left + right if rows is None else share * left + (1 - share) * right
        asked = (column == feature)[:, None, None]
        says = np.where(one_sided[0][:, None, None] | (asked & goes_left), left, np.where(asked, right, both))
        weights = np.where(one_sided, weights[:, ::2], weights[:, ::2] + weights[:, 1::2])
    found: Floats = says[0]
    return found
