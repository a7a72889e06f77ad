"""The way of rows to their nodes: checked before kernels, which do not check their indices, and cut short."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpforest._rows.limits import MAX_TREES
from dpforest._rows.rows import Assignment, Block, Grid
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


class Walk(NamedTuple):
    """What kernels need to bring the rows of a block to their nodes.

    Where a block remembers the nodes of an earlier level, these are the trees here, each with what is below
    it: the numbers of nodes through all trees are the same, and rows have fewer levels to go.
    """

    tree_of_row: NDArray[np.uint16]
    feature: NDArray[np.int32]
    threshold: NDArray[np.int32]
    left_sets: NDArray[np.uint8]
    level: int


class _Place(NamedTuple):
    """Where the rows of a block were, and the splits that brought them there, as they were."""

    assignment: Assignment | None
    splits: tuple[NDArray[Any], ...]
    level: int
    group_of_row: NDArray[np.uint16]


def walk_from_root(block: Block, trees: FlatTrees, level: int, assignment: Assignment | None) -> Walk:
    """Return the whole way."""
    return Walk(block.trees(assignment), trees.feature, trees.threshold, trees.left_sets, level)


def walk_on(block: Block, trees: FlatTrees, level: int, assignment: Assignment | None) -> Walk:
    """Return the way from the last level that the block remembers, which is this one if there is room.

    Only where a row is in one tree; and only levels that are asked about one after the other are worth it.
    """
    whole = walk_from_root(block, trees, level, assignment)
    if block.kept is None or (assignment is None and trees.n_trees > 1):
        return whole
    place = _Place(*block.kept["place"]) if "place" in block.kept else None
    if place is None or not _is_on_the_way(place, trees, level, assignment):
        if level > 1:
            return whole
        start = whole.tree_of_row if assignment is not None else np.zeros(len(block.cells), np.uint16)
        place = _Place(assignment, _splits_above(trees, 0), 0, start)
    while place.level < level and trees.n_trees * 2 ** (place.level + 1) <= MAX_TREES:
        place = _one_level_down(block, trees, place)
    block.kept["place"] = tuple(place)
    feature, threshold = (_below(splits, place.level, level) for splits in (trees.feature, trees.threshold))
    return Walk(place.group_of_row, feature, threshold, trees.left_sets, level - place.level)


def _is_on_the_way(place: _Place, trees: FlatTrees, level: int, assignment: Assignment | None) -> bool:
    same = place.assignment is assignment and place.level <= level
    return same and all(map(np.array_equal, place.splits, _splits_above(trees, place.level)))


def _splits_above(trees: FlatTrees, level: int) -> tuple[NDArray[Any], ...]:
    above = slice(0, 2**level - 1)
    return trees.feature[:, above], trees.threshold[:, above], trees.left_sets


def _one_level_down(block: Block, trees: FlatTrees, place: _Place) -> _Place:
    from dpforest._rows import _kernels

    here, groups = trees.level(place.level), np.empty_like(place.group_of_row)
    splits = trees.feature[:, here].ravel(), trees.threshold[:, here].ravel(), trees.left_sets
    _kernels.step_down(block.cells, place.group_of_row, *splits, groups)
    # copies: a grower fills the splits of later levels into the very arrays
    above = tuple(array.copy() for array in _splits_above(trees, place.level + 1))
    return _Place(place.assignment, above, place.level + 1, groups)


def _below(splits: NDArray[np.int32], start: int, level: int) -> NDArray[np.int32]:
    """Return the part of every tree below each node of level `start`, down to `level`, as trees.

    Examples
    --------
    >>> _below(np.array([[0, 10, 20, 11, 12, 21, 22]]), 1, 3).tolist()
    [[10, 11, 12], [20, 21, 22]]
    """
    n_groups = len(splits) * 2**start
    levels = [splits[:, 2**at - 1 : 2 ** (at + 1) - 1].reshape(n_groups, -1) for at in range(start, level)]
    return np.concatenate([np.empty((n_groups, 0), splits.dtype), *levels], axis=1)
