"""The way of rows to their nodes: checked before kernels, which do not check their indices, and cut short."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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


class _Place(NamedTuple):
    """Where the rows of a block were, and the splits that brought them there, as they were."""

    assignment: Assignment | None
    splits: tuple[NDArray[Any], ...]
    level: int
    group_of_row: NDArray[np.uint16]  # node of that level, numbered through all trees


class Way:
    """The way of rows to the nodes of a level, which one table asks of many blocks.

    Parameters
    ----------
    trees : FlatTrees
        Released splits; they must not change while this is in use.
    level : int
        Where the way ends.
    assignment : Assignment or None
        The tree of every row; None if every row is in every tree.
    """

    def __init__(self, trees: FlatTrees, level: int, assignment: Assignment | None) -> None:
        self._trees, self._level, self._assignment = trees, level, assignment
        # Worked out for the first block and the same for all: splits above a level, as copies, because a
        # grower fills later levels into the very arrays; and which places, known by their splits, are on it.
        self._above: dict[int, tuple[NDArray[Any], ...]] = {}
        self._met: list[tuple[tuple[NDArray[Any], ...], bool]] = []

    def nodes(self, block: Block, of_trees: range) -> Iterator[NDArray[Any]]:
        """Yield the node of every row, numbered through all trees.

        Once if every row is in one tree; else for one tree after the other, of those that are asked for.
        """
        if self._assignment is not None or self._trees.n_trees == 1:
            yield self._in_its_tree(block)
            return
        root = np.zeros(len(block.cells), np.uint16)
        for tree in of_trees:
            splits = self._trees.feature[tree : tree + 1], self._trees.threshold[tree : tree + 1]
            yield self._walked(block, root, splits, self._level, tree << self._level)

    def _in_its_tree(self, block: Block) -> NDArray[Any]:
        """Go on from the last level that the block remembers, and remember this one if there is room.

        Only levels that are asked about one after the other are worth it.
        """
        level, kept = self._level, block.kept
        place = _Place(*kept["place"]) if kept is not None and "place" in kept else None
        if place is None or not self._is_met(place):
            is_one = self._assignment is None
            root = np.zeros(len(block.cells), np.uint16) if is_one else block.trees(self._assignment)
            place = _Place(self._assignment, self._splits_above(0), 0, root)
            if level > 1:
                kept = None
        if kept is not None:
            while place.level < level and self._trees.n_trees * 2 ** (place.level + 1) <= MAX_TREES:
                place = self._one_level_down(block, place)
            kept["place"] = tuple(place)
        if place.level == level:
            return place.group_of_row
        # The nodes of that level are trees here, each with what is below it.
        below = [
            _below(splits, place.level, level) for splits in (self._trees.feature, self._trees.threshold)
        ]
        return self._walked(block, place.group_of_row, below, level - place.level, 0)

    def _is_met(self, place: _Place) -> bool:
        """Tell whether a place is on this way."""
        if place.assignment is not self._assignment or place.level > self._level:
            return False
        for splits, is_met in self._met:
            if splits is place.splits:
                return is_met
        is_met = all(map(np.array_equal, place.splits, _splits_above(self._trees, place.level)))
        self._met.append((place.splits, is_met))
        return is_met

    def _splits_above(self, level: int) -> tuple[NDArray[Any], ...]:
        if level not in self._above:
            self._above[level] = tuple(array.copy() for array in _splits_above(self._trees, level))
        return self._above[level]

    def _one_level_down(self, block: Block, place: _Place) -> _Place:
        from dpforest._rows import _kernels

        trees, groups = self._trees, np.empty_like(place.group_of_row)
        here = trees.level(place.level)
        splits = trees.feature[:, here].ravel(), trees.threshold[:, here].ravel(), trees.left_sets
        _kernels.step_down(block.cells, place.group_of_row, *splits, groups)
        return _Place(place.assignment, self._splits_above(place.level + 1), place.level + 1, groups)

    def _walked(
        self,
        block: Block,
        start: NDArray[np.uint16],
        splits: Sequence[NDArray[np.int32]],
        n_steps: int,
        first: int,
    ) -> NDArray[np.int64]:
        from dpforest._rows import _kernels

        nodes = np.empty(len(block.cells), np.int64)
        _kernels.find_nodes(block.cells, start, *splits, self._trees.left_sets, n_steps, first, nodes)
        return nodes


def _splits_above(trees: FlatTrees, level: int) -> tuple[NDArray[Any], ...]:
    above = slice(0, 2**level - 1)
    return trees.feature[:, above], trees.threshold[:, above], trees.left_sets


def _below(splits: NDArray[np.int32], start: int, level: int) -> NDArray[np.int32]:
    """Return the part of every tree below each node of level `start`, down to `level`, as trees.

    Examples
    --------
    >>> _below(np.array([[0, 10, 20, 11, 12, 21, 22]]), 1, 3).tolist()
    [[10, 11, 12], [20, 21, 22]]
    """
    n_groups = len(splits) * 2**start
    levels = [splits[:, 2**at - 1 : 2 ** (at + 1) - 1].reshape(n_groups, -1) for at in range(start, level)]
    return np.concatenate(levels, axis=1)
