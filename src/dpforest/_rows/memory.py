"""Rows held in memory as one matrix of small integers, cut into blocks that threads count."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest._rows.limits import MAX_ROWS
from dpforest._rows.rows import Block, Grid, TableSpec
from dpforest._threads import in_parts, zeros
from dpforest.schema.door import joined

BLOCK_ROWS = 2**17
# Counts of so many rows fit in int32, which halves the memory of a pass; beyond, they are added in int64.
ROWS_IN_INT32 = 2**30
ENTRIES_OF_A_THREAD = 2**18  # of tables that are added up: fewer are not worth starting one


class MemoryRows:
    """Tables of rows in memory; `dpforest._curator` owns the only instance.

    Parameters
    ----------
    cells : ndarray of shape (n_rows, n_columns), unsigned integers
        The encoded table.
    target : ndarray of shape (n_rows,), int32
        Class codes or fixed-point targets; -1 where unknown.
    grid : Grid
        What was declared.
    n_threads : int
        Threads for one pass.

    Raises
    ------
    ValueError
        If there are more than `MAX_ROWS` rows: then whole numbers might leave 64 bits.
    RuntimeError
        If a cell or a code is none of those declared.
    """

    def __init__(
        self, cells: NDArray[Any], target: NDArray[np.int32], grid: Grid, n_threads: int = 1
    ) -> None:
        if len(cells) > MAX_ROWS:
            raise ValueError("A table has at most 2**40 rows (dpforest._rows.MAX_ROWS).")
        if len(cells) != len(target):
            raise RuntimeError("The encoded rows do not have the shape of the schema; nothing was counted.")

        def check(begin: int, end: int) -> None:
            grid.check(cells[begin:end], target[begin:end])

        in_parts(check, len(cells), n_threads, BLOCK_ROWS)
        self._cells, self._target = cells, target.astype(np.int32, copy=False)
        self._grid = grid
        self._n_threads = n_threads
        # all of one size, and equally many for every thread: whoever is done first would wait for the others
        n_blocks = -(-len(cells) // BLOCK_ROWS)
        n_blocks += -n_blocks % n_threads if n_blocks > 1 else 0
        borders = [len(cells) * number // max(n_blocks, 1) for number in range(n_blocks + 1)]
        self._blocks = [
            Block(self._cells[first:end], self._target[first:end], first, {})
            for first, end in pairwise(borders)
        ]

    @classmethod
    def of_blocks(
        cls, blocks: Iterable[tuple[NDArray[Any], NDArray[np.int32]]], grid: Grid, n_threads: int = 1
    ) -> MemoryRows:
        """Collect rows that come a block of cells and targets at a time."""
        cells: list[NDArray[Any]] = []
        target = [np.empty(0, np.int32)]
        for some, codes in blocks:
            cells.append(some)
            target.append(codes)
        nothing = np.empty((0, len(grid.n_cells)), np.uint8)
        return cls(joined(cells or [nothing]), np.concatenate(target), grid, n_threads)

    @property
    def grid(self) -> Grid:
        """The grid that every row was checked against."""
        return self._grid

    def cells(self) -> NDArray[Any]:
        """Cells of all rows."""
        return self._cells

    def is_labelled(self) -> NDArray[np.bool_]:
        """Which rows have a known target."""
        return self._target >= 0

    def fold(self, table: TableSpec) -> NDArray[Any]:
        """Add the tables of all threads."""
        return fold_blocks(self._blocks, table, self._grid, self._n_threads)


def fold_blocks(
    blocks: Sequence[Block],
    table: TableSpec,
    grid: Grid,
    n_threads: int,
    done: Callable[[int], None] | None = None,
) -> NDArray[Any]:
    """Add a table up over blocks in this process.

    Parameters
    ----------
    blocks : sequence of Block
        All rows, in the order of their numbers.
    table : TableSpec
        What to add.
    grid : Grid
        What the rows were checked against.
    n_threads : int
        Threads; whichever is done with a block takes the next one.
    done : callable, optional
        Called, in the thread, with the place of every block that has been counted.
    """
    if table.grid != grid:
        raise ValueError("The table asks about rows of another grid.")
    n_rows = blocks[-1].first + len(blocks[-1].cells) if blocks else 0
    is_narrow = table.counts_rows and n_rows <= ROWS_IN_INT32

    left = deque(range(len(blocks)))

    def count(begin: int, end: int) -> NDArray[Any]:
        out = zeros(table.shape, np.int32 if is_narrow else np.int64)
        while True:
            try:
                place = left.popleft()
            except IndexError:  # not asked for before: another thread may take the last one
                return out
            table.add(blocks[place], out)
            if done is not None:
                done(place)

    total, *others = in_parts(count, len(blocks), n_threads)

    def add(begin: int, end: int) -> None:
        for part in others:  # of 32 bits only if all rows together fit
            total.reshape(-1)[begin:end] += part.reshape(-1)[begin:end]

    if others:
        in_parts(add, total.size, n_threads, ENTRIES_OF_A_THREAD)
    return total
