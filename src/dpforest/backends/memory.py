"""Rows held in memory as one matrix of small integers, counted by compiled passes.

`dpforest.curator` owns the only instance. Every method returns exact integer tables that are private: they
go straight into a mechanism.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.structure import FlatTrees

# Tables of one pass stay below this many entries; wider levels take one pass per group of nodes.
MAX_TABLE_ENTRIES = 2**25
COARSE_LEVELS = 32  # levels of a numeric target where a table by target is asked for
_NO_CODES = np.empty(0, np.int32)
_EVERY_TREE = np.empty(0, np.uint16)


class MemoryBackend:
    """Count tables over rows in memory.

    Parameters
    ----------
    cells : ndarray of shape (n_rows, n_features), unsigned integers
        The encoded table.
    target : ndarray of shape (n_rows,), int32
        Class codes or fixed-point targets; negative where unknown.
    n_codes : int
        How many codes the target may have.
    n_threads : int
        Threads for one pass.
    """

    def __init__(
        self, cells: NDArray[Any], target: NDArray[np.int32], n_codes: int, n_threads: int = 1
    ) -> None:
        self._cells = cells
        self._target = target
        self._n_codes = n_codes
        self._tree_of_row = _EVERY_TREE
        self._n_threads = n_threads
        self._left: NDArray[np.float64] | None = None  # targets less the parts subtracted so far

    @property
    def n_rows(self) -> int:
        """Number of rows (private)."""
        return int(self._cells.shape[0])

    def cells(self) -> NDArray[Any]:
        """Cells of all rows."""
        return self._cells

    def is_labelled(self) -> NDArray[np.bool_]:
        """Which rows have a known target."""
        return self._target >= 0

    def assign(self, tree_of_row: NDArray[np.uint16]) -> None:
        """Put each row in one tree; without this every row is in every tree."""
        self._tree_of_row = tree_of_row

    def class_counts(self) -> NDArray[np.int64]:
        """Rows of each class."""
        return np.bincount(self._target[self._target >= 0], minlength=self._n_codes).astype(np.int64)

    def label_sums(self, weights: NDArray[np.int32]) -> NDArray[np.int64]:
        """Add up the rows of `weights`, one for each labelled row, by class."""
        labels = self._target[self._target >= 0]
        if len(weights) != len(labels):
            raise ValueError("weights must have one row for every labelled row.")
        by_class = [weights[labels == code].sum(axis=0, dtype=np.int64) for code in range(self._n_codes)]
        return np.stack(by_class, axis=1)

    def lookup_products(
        self, features: NDArray[np.int64], values: Sequence[NDArray[np.int64]]
    ) -> NDArray[np.int64]:
        """Sum ``values[i][cell of features[i]] * values[j][cell of features[j]]`` over rows, for i <= j."""
        from dpforest.backends import _kernels

        padded = np.zeros((len(values), max(map(len, values))), np.int64)
        for line, value in zip(padded, values, strict=True):
            line[: len(value)] = value

        def count(begin: int, end: int) -> NDArray[np.int64]:
            table = np.zeros((len(values), len(values)), np.int64)
            _kernels.lookup_products(self._cells, features, padded, begin, end, table)
            return table

        return self._in_threads(count)

    def subtract(
        self,
        levels: int,
        low: float,
        high: float,
        constant: float,
        tree: FlatTrees | None,
        leaves: NDArray[np.float64] | None,
    ) -> None:
        """Make new targets of what is left of the old ones; see `Curator.subtract`."""
        from dpforest.backends import _kernels

        if self._left is None:
            self._left = np.where(self._target < 0, np.nan, self._target)
        self._left -= constant
        if tree is not None:
            splits = (tree.feature, tree.threshold, tree.left_sets, tree.depth)
            _kernels.subtract_leaves(self._cells, *splits, leaves, self._left)
        scaled = np.clip(np.rint((self._left - low) * (levels / (high - low))), 0, levels)
        self._target = np.where(np.isnan(scaled), -1, scaled).astype(np.int32)

    def number_correct(
        self,
        trees: FlatTrees,
        prior: NDArray[np.float64],
        leaf_scores: NDArray[np.float64],
        tables: NDArray[np.float64],
        weights: NDArray[np.float64],
        table_of: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """Rows whose class has the highest score, for each line of weights; see `Curator.best_mixture`."""
        from dpforest.backends import _kernels

        extra = (prior, leaf_scores, tables, weights, table_of)
        shape = (len(weights),)
        return self._pass(_kernels.number_correct, trees, trees.depth, self._target, extra, shape, np.int64)

    def leaf_counts(self, trees: FlatTrees) -> NDArray[np.int64]:
        """Rows by (tree, leaf, class)."""
        from dpforest.backends import _kernels

        shape = (trees.n_trees, trees.n_leaves, self._n_codes)
        return self._pass(_kernels.leaf_counts, trees, trees.depth, self._target, (), shape, np.int64)

    def leaf_sums(self, trees: FlatTrees) -> NDArray[np.int64]:
        """Rows and summed targets by (tree, leaf)."""
        from dpforest.backends import _kernels

        shape = (trees.n_trees, trees.n_leaves, 2)
        return self._pass(_kernels.leaf_sums, trees, trees.depth, self._target, (), shape, np.int64)

    def cell_counts(
        self, trees: FlatTrees, level: int, asked: NDArray[np.int32], n_cells: int, by: str = "nothing"
    ) -> Iterator[tuple[slice, NDArray[np.int32]]]:
        """Rows by (node, slot, cell, code), a group of nodes at a time.

        Parameters
        ----------
        trees : FlatTrees
            The splits above `level`.
        level : int
            Level of the nodes.
        asked : ndarray of shape (n_trees, 2**level, n_slots), int32
            Features to tabulate in each node.
        n_cells : int
            Largest number of cells among them.
        by : {"nothing", "target", "unlabelled", "coarse target"}
            What the last axis tells apart: nothing (every row counts once), the target's codes, nothing among
            rows without a known target, or the target's codes cut down to `COARSE_LEVELS`.

        Yields
        ------
        group : slice
            Nodes covered by the table, numbered through all trees.
        table : ndarray of shape (nodes in group, n_slots, n_cells, codes), int32
        """
        from dpforest.backends import _kernels

        codes, n_codes = self._codes(by)
        shape = (asked.shape[2], n_cells, n_codes)
        return self._groups(_kernels.cell_counts, trees, level, codes, asked, shape, np.int32)

    def cell_moments(
        self, trees: FlatTrees, level: int, asked: NDArray[np.int32], n_cells: int
    ) -> Iterator[tuple[slice, NDArray[np.int64]]]:
        """Rows, summed targets and summed squares by (node, slot, cell), a group of nodes at a time."""
        from dpforest.backends import _kernels

        shape = (asked.shape[2], n_cells, 3)
        return self._groups(_kernels.cell_moments, trees, level, self._target, asked, shape, np.int64)

    def _codes(self, by: str) -> tuple[NDArray[np.int32], int]:
        """Code of every row (negative: leave the row out), and how many codes there are."""
        if by == "nothing":
            return _NO_CODES, 1
        if by == "unlabelled":
            return np.where(self._target < 0, 0, -1).astype(np.int32), 1
        if by == "target":
            return self._target, self._n_codes
        coarse = self._target.astype(np.int64) * COARSE_LEVELS // self._n_codes
        return coarse.astype(np.int32), COARSE_LEVELS

    def _groups(
        self,
        kernel: Callable[..., None],
        trees: FlatTrees,
        level: int,
        codes: NDArray[np.int32],
        asked: NDArray[np.int32],
        shape: tuple[int, ...],
        dtype: type,
    ) -> Iterator[tuple[slice, NDArray[Any]]]:
        n_nodes, flat = trees.n_trees * 2**level, asked.reshape(-1, asked.shape[2])
        size = max(1, MAX_TABLE_ENTRIES // int(np.prod(shape)))
        for first in range(0, n_nodes, size):
            group = slice(first, min(first + size, n_nodes))
            table_shape = (group.stop - group.start, *shape)
            yield group, self._pass(kernel, trees, level, codes, (flat, first), table_shape, dtype)

    def _pass(
        self,
        kernel: Callable[..., None],
        trees: FlatTrees,
        level: int,
        codes: NDArray[np.int32],
        extra: tuple[Any, ...],
        shape: tuple[int, ...],
        dtype: type,
    ) -> NDArray[Any]:
        """Run a kernel once over all rows."""

        def count(begin: int, end: int) -> NDArray[Any]:
            table: NDArray[Any] = np.zeros(shape, dtype)
            splits = (trees.feature, trees.threshold, trees.left_sets, level)
            kernel(self._cells, codes, self._tree_of_row, *splits, *extra, begin, end, table)
            return table

        return self._in_threads(count)

    def _in_threads(self, count: Callable[[int, int], NDArray[Any]]) -> NDArray[Any]:
        """Count one block of rows per thread, and add the tables."""
        if self._n_threads == 1:
            return count(0, self.n_rows)
        borders = np.linspace(0, self.n_rows, self._n_threads + 1).astype(int)
        with ThreadPoolExecutor(self._n_threads) as pool:
            tables = list(pool.map(count, borders[:-1], borders[1:]))
        total: NDArray[Any] = np.sum(tables, axis=0, dtype=tables[0].dtype)
        return total
