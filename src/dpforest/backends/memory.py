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

from dpforest.backends.limits import COARSE_LEVELS, ERROR_LEVELS, MAX_ROWS, MAX_TREES
from dpforest.structure import FlatTrees

# Tables of one pass stay below this many entries; wider levels take one pass per group of nodes.
MAX_TABLE_ENTRIES = 2**25
# Counts of so many rows fit in int32, which halves the memory of a pass; beyond, they are added in int64.
ROWS_IN_INT32 = 2**30
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
    n_cells : ndarray of shape (n_features,)
        Cells of every column of `cells`.
    n_codes : int
        How many codes the target may have.
    n_threads : int
        Threads for one pass.

    Raises
    ------
    ValueError
        If there are more than `MAX_ROWS` rows: then whole numbers might leave 64 bits.
    RuntimeError
        If a cell or a code is none of those declared. What encodes rows never makes one; kernels do not check
        their indices, so a table with one is refused as a whole.
    """

    def __init__(
        self,
        cells: NDArray[Any],
        target: NDArray[np.int32],
        n_cells: NDArray[Any],
        n_codes: int,
        n_threads: int = 1,
    ) -> None:
        if len(cells) > MAX_ROWS:
            raise ValueError("A table has at most 2**40 rows (dpforest.backends.MAX_ROWS).")
        if cells.shape != (len(target), len(n_cells)) or cells.dtype.kind != "u":
            raise RuntimeError("The encoded rows do not have the shape of the schema; nothing was counted.")
        unknown = target.min(initial=-1) < -1 or target.max(initial=-1) >= n_codes
        if unknown or (cells.max(axis=0, initial=0) >= n_cells).any():
            raise RuntimeError("The encoded rows do not fit the grid of the schema; nothing was counted.")
        self._cells = cells
        self._target = target.astype(np.int32, copy=False)
        self._n_cells = np.asarray(n_cells)
        self._n_codes = n_codes
        self._tree_of_row = _EVERY_TREE
        self._n_trees = 0  # that rows are scattered over; 0: every row is in every tree
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

    def assign(self, tree_of_row: NDArray[np.int64], n_trees: int) -> None:
        """Put each row in one of `n_trees` trees; without this every row is in every tree."""
        if not 1 <= n_trees <= MAX_TREES:
            raise ValueError(f"Rows can be scattered over 1 to {MAX_TREES} trees, got {n_trees}.")
        if len(tree_of_row) != self.n_rows or tree_of_row.max(initial=0) >= n_trees:
            raise RuntimeError("Every row needs one of the trees.")
        self._tree_of_row, self._n_trees = tree_of_row.astype(np.uint16), n_trees

    def class_counts(self) -> NDArray[np.int64]:
        """Rows of each class."""
        return np.bincount(self._target[self._target >= 0], minlength=self._n_codes).astype(np.int64)

    def label_sums(self, weights: NDArray[np.int32]) -> NDArray[np.int64]:
        """Add up the rows of `weights`, one for each labelled row, by class; none is beyond `MAX_PER_ROW`."""
        labels = self._target[self._target >= 0]
        if len(weights) != len(labels):
            raise ValueError("weights must have one row for every labelled row.")
        by_class = [weights[labels == code].sum(axis=0, dtype=np.int64) for code in range(self._n_codes)]
        return np.stack(by_class, axis=1)

    def lookup_products(
        self, features: NDArray[np.int64], values: Sequence[NDArray[np.int64]]
    ) -> NDArray[np.int64]:
        """Sum ``values[i][cell of features[i]] * values[j][cell of features[j]]`` over rows, for i <= j.

        No product is beyond `MAX_PER_ROW`.
        """
        from dpforest.backends import _kernels

        if any(len(value) < self._n_cells[at] for at, value in zip(features, values, strict=True)):
            raise ValueError("Every cell of a feature needs a value.")
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
            self._check_walk(tree, tree.depth)
            if leaves is None or len(leaves) != tree.n_leaves:
                raise ValueError("Every leaf needs a value.")
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

        n_tables, n_features, n_cells, n_classes = tables.shape
        shapes = (trees.n_trees, leaf_scores.shape, len(prior), len(table_of))
        if shapes != (1, (trees.n_leaves, n_classes), n_classes, len(weights)) or n_classes != self._n_codes:
            raise ValueError("The scores do not fit each other or the tree.")
        narrow = n_features > len(self._n_cells) or n_cells < self._n_cells[:n_features].max()
        if narrow or table_of.min() < 0 or table_of.max() >= n_tables:
            raise ValueError("The tables of scores do not fit the table of rows.")
        extra = (prior, leaf_scores, tables, weights, table_of)
        shape = (len(weights),)
        return self._pass(_kernels.number_correct, trees, trees.depth, self._target, extra, shape)

    def leaf_counts(self, trees: FlatTrees) -> NDArray[np.int64]:
        """Rows by (tree, leaf, class)."""
        from dpforest.backends import _kernels

        shape = (trees.n_trees, trees.n_leaves, self._n_codes)
        return self._pass(_kernels.leaf_counts, trees, trees.depth, self._target, (), shape)

    def leaf_sums(self, trees: FlatTrees) -> NDArray[np.int64]:
        """Rows and summed targets by (tree, leaf)."""
        from dpforest.backends import _kernels

        shape = (trees.n_trees, trees.n_leaves, 2)
        return self._pass(_kernels.leaf_sums, trees, trees.depth, self._target, (), shape)

    def cell_counts(
        self, trees: FlatTrees, level: int, asked: NDArray[np.int32], n_cells: int, by: str = "nothing"
    ) -> Iterator[tuple[slice, NDArray[Any]]]:
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
        table : ndarray of shape (nodes in group, n_slots, n_cells, codes)
            Whole numbers: int32 for up to `ROWS_IN_INT32` rows, else int64.
        """
        from dpforest.backends import _kernels

        codes, n_codes = self._codes(by)
        shape = (asked.shape[2], n_cells, n_codes)
        return self._groups(_kernels.cell_counts, trees, level, codes, asked, shape, np.int32)

    def cell_sums(
        self, trees: FlatTrees, level: int, asked: NDArray[np.int32], n_cells: int
    ) -> Iterator[tuple[slice, NDArray[np.int64]]]:
        """Rows and summed targets by (node, slot, cell), a group of nodes at a time."""
        from dpforest.backends import _kernels

        shape = (asked.shape[2], n_cells, 2)
        return self._groups(_kernels.cell_moments, trees, level, self._target, asked, shape)

    def cell_moments(
        self, trees: FlatTrees, level: int, asked: NDArray[np.int32], n_cells: int
    ) -> Iterator[tuple[slice, NDArray[np.int64]]]:
        """Rows, summed targets and summed squares by (node, slot, cell), a group of nodes at a time.

        Targets of more than `ERROR_LEVELS` levels are cut down to so many: finer squares could leave 64 bits.
        """
        from dpforest.backends import _kernels

        levels, target = self._n_codes - 1, self._target
        if levels > ERROR_LEVELS:
            target = target * ERROR_LEVELS // levels  # at most 2**27 on the way; -1 stays negative
        shape = (asked.shape[2], n_cells, 3)
        return self._groups(_kernels.cell_moments, trees, level, target, asked, shape)

    def _codes(self, by: str) -> tuple[NDArray[np.int32], int]:
        """Code of every row (negative: leave the row out), and how many codes there are."""
        if by == "nothing":
            return _NO_CODES, 1
        if by == "unlabelled":
            return np.where(self._target < 0, 0, -1).astype(np.int32), 1
        if by == "target":
            return self._target, self._n_codes
        return self._target * COARSE_LEVELS // self._n_codes, COARSE_LEVELS  # at most 2**21 on the way

    def _groups(
        self,
        kernel: Callable[..., None],
        trees: FlatTrees,
        level: int,
        codes: NDArray[np.int32],
        asked: NDArray[np.int32],
        shape: tuple[int, ...],
        dtype: type = np.int64,
    ) -> Iterator[tuple[slice, NDArray[Any]]]:
        n_nodes, flat = trees.n_trees * 2**level, asked.reshape(-1, asked.shape[2])
        if len(flat) != n_nodes or asked.min() < 0 or asked.max() >= len(self._n_cells):
            raise ValueError("Every node needs features of the table to ask about.")
        if shape[1] < self._n_cells[asked].max():
            raise ValueError("The table is narrower than a feature that is asked about.")
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
        dtype: type = np.int64,
    ) -> NDArray[Any]:
        """Run a kernel once over all rows."""
        self._check_walk(trees, level)

        def count(begin: int, end: int) -> NDArray[Any]:
            table: NDArray[Any] = np.zeros(shape, dtype)
            splits = (trees.feature, trees.threshold, trees.left_sets, level)
            kernel(self._cells, codes, self._tree_of_row, *splits, *extra, begin, end, table)
            return table

        return self._in_threads(count)

    def _check_walk(self, trees: FlatTrees, level: int) -> None:
        """Refuse splits, which are public, that would lead a walk out of the arrays."""
        n_above = 2**level - 1
        feature, threshold = trees.feature[:, :n_above], trees.threshold[:, :n_above]
        n_sets, width = trees.left_sets.shape
        fits = self._n_trees in (0, trees.n_trees) and feature.shape == threshold.shape
        fits = fits and feature.shape[1] == n_above
        if fits and feature.size:
            fits = feature.min() >= 0 and feature.max() < len(self._n_cells) and threshold.min() >= -n_sets
        if fits and n_sets and (by_set := threshold < 0).any():
            fits = self._n_cells[feature[by_set]].max() <= width
        if not fits:
            raise ValueError("The splits do not fit the table, or the trees that its rows are in.")

    def _in_threads(self, count: Callable[[int, int], NDArray[Any]]) -> NDArray[Any]:
        """Count blocks of rows, one per thread and none of more than `ROWS_IN_INT32`, and add the tables."""
        n_blocks = max(self._n_threads, -(-self.n_rows // ROWS_IN_INT32))
        if n_blocks == 1:
            return count(0, self.n_rows)
        borders = [self.n_rows * k // n_blocks for k in range(n_blocks + 1)]
        with ThreadPoolExecutor(self._n_threads) as pool:
            tables = pool.map(count, borders[:-1], borders[1:])
            total = next(tables)
            if self.n_rows > ROWS_IN_INT32:
                total = total.astype(np.int64)
            for table in tables:
                total += table
        return total
