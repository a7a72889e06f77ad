"""Check public arrays before kernels, which do not check their indices, walk rows through them."""

from __future__ import annotations

import numpy as np

from dpforest._rows.limits import MAX_TREES
from dpforest._rows.rows import Assignment, Grid
from dpforest._structure import FlatTrees


def check_walk(trees: FlatTrees, level: int, grid: Grid, assignment: Assignment | None = None) -> None:
    """Refuse splits, which are public, that would lead a walk out of the arrays."""
    n_above, n_cells = 2**level - 1, np.array(grid.n_cells)
    feature, threshold = trees.feature[:, :n_above], trees.threshold[:, :n_above]
    n_sets, width = trees.left_sets.shape
    fits = assignment is None or assignment.n_trees == trees.n_trees <= MAX_TREES
    fits = fits and feature.shape == threshold.shape and feature.shape[1] == n_above
    if fits and feature.size:
        fits = feature.min() >= 0 and feature.max() < len(n_cells) and threshold.min() >= -n_sets
    if fits and n_sets and (by_set := threshold < 0).any():
        fits = n_cells[feature[by_set]].max() <= width
    if not fits:
        raise ValueError("The splits do not fit the table, or the trees that its rows are in.")
