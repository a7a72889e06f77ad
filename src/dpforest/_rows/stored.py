"""Rows that are read piece by piece: kept in memory up to a limit and beyond it in a private file, or not.

Both backends cut what they read into blocks of one public size, so that it does not matter how the rows came,
and number the rows in the order in which they are read.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest._rows.limits import MAX_ROWS
from dpforest._rows.memory import BLOCK_ROWS, ROWS_IN_INT32, fold_blocks
from dpforest._rows.rows import Block, Grid, TableSpec
from dpforest._rows.scores import ScoredBlock
from dpforest._rows.spill import Slot, SpillFile
from dpforest.schema.streams import MEMORY_LIMIT

Pieces = Iterable[tuple[NDArray[Any], NDArray[np.int32]]]


class StoredRows:
    """Rows that were read once and encoded, in memory while there is room.

    Parameters
    ----------
    pieces : iterable of (cells, target)
        Rows in pieces of any size.
    grid : Grid
        What was declared.
    n_threads : int
        Threads for one pass.
    memory_limit : int
        Bytes to keep in memory between passes: cells, targets and what blocks remember.
    """

    def __init__(self, pieces: Pieces, grid: Grid, n_threads: int, memory_limit: int) -> None:
        self._grid, self._n_threads = grid, n_threads
        room = _Room(memory_limit)
        self._blocks: list[Block] = []
        self._homes: list[_Home] = []
        for block in even_blocks(pieces, grid):
            home = _Home(room)
            self._blocks.append(home.take_in(block))
            self._homes.append(home)

    @classmethod
    def of_blocks(
        cls, pieces: Pieces, grid: Grid, n_threads: int = 1, memory_limit: int = MEMORY_LIMIT
    ) -> StoredRows:
        """Collect rows; those that all fit in memory can also be had as a whole."""
        rows = StoredRows(pieces, grid, n_threads, memory_limit)
        if not any(home.is_full for home in rows._homes):
            rows.__class__ = _AllInMemory
        return rows

    @property
    def grid(self) -> Grid:
        """The grid that every row was checked against."""
        return self._grid

    def fold(self, table: TableSpec) -> NDArray[Any]:
        """Add the tables of all threads; each lets go of a block's pages when it has counted it."""
        return fold_blocks(self._blocks, table, self._grid, self._n_threads, self._settle)

    def _settle(self, place: int) -> None:
        self._homes[place].settle(self._blocks[place])


class _AllInMemory(StoredRows):
    """Stored rows all of which are in memory: `WholeRows`."""

    def cells(self) -> NDArray[Any]:
        """Cells of all rows."""
        nothing = np.empty((0, len(self._grid.n_cells)), np.uint8)
        return np.concatenate([block.cells for block in self._blocks] or [nothing])

    def is_labelled(self) -> NDArray[np.bool_]:
        """Which rows have a known target."""
        return np.concatenate([block.target >= 0 for block in self._blocks] or [np.empty(0, np.bool_)])


class RereadRows:
    """Rows of which nothing is kept: every pass reads and encodes them again.

    Parameters
    ----------
    read : callable
        Begins a pass; returns the rows in pieces of any size.
    grid : Grid
        What was declared.

    Raises
    ------
    RuntimeError
        In a later pass, if the rows are not those of the first one, in the same order.
    """

    def __init__(self, read: Callable[[], Pieces], grid: Grid) -> None:
        self._read, self._grid = read, grid
        seal = _Seal()
        for block in even_blocks(read(), grid):
            seal.add(block)
        self._seal = seal

    @property
    def grid(self) -> Grid:
        """The grid that every row is checked against."""
        return self._grid

    def fold(self, table: TableSpec) -> NDArray[Any]:
        """Read all rows and add them; nothing is returned if they have changed."""
        if table.grid != self._grid:
            raise ValueError("The table asks about rows of another grid.")
        is_narrow = table.counts_rows and self._seal.n_rows <= ROWS_IN_INT32
        out: NDArray[Any] = np.zeros(table.shape, np.int32 if is_narrow else np.int64)
        seal = _Seal()
        for block in even_blocks(self._read(), self._grid):
            seal.add(block)
            if seal.n_rows > self._seal.n_rows:
                break
            table.add(block, out)
        if not seal.is_same(self._seal):
            raise RuntimeError(
                "The rows changed between two passes, or came in another order; nothing is released. Give "
                "rows that stay as they are, or let them be kept (cache=True)."
            )
        return out


def even_blocks(pieces: Pieces, grid: Grid) -> Iterator[Block]:
    """Cut rows into blocks of `BLOCK_ROWS`, the last one shorter, each checked against the grid."""
    first = n_rows = 0
    cells: NDArray[Any] | None = None
    target = np.empty(0, np.int32)
    for some, codes in pieces:
        start = 0
        while start < len(some):
            if cells is None:
                cells = np.empty((BLOCK_ROWS, some.shape[1]), some.dtype)
                target = np.empty(BLOCK_ROWS, np.int32)
            stop = min(len(some), start + BLOCK_ROWS - n_rows)
            end = n_rows + stop - start
            cells[n_rows:end], target[n_rows:end] = some[start:stop], codes[start:stop]
            start, n_rows = stop, end
            if n_rows == BLOCK_ROWS:
                yield _checked(Block(cells, target, first), grid)
                first, n_rows, cells = first + BLOCK_ROWS, 0, None
    if cells is not None and n_rows:
        yield _checked(Block(cells[:n_rows].copy(), target[:n_rows].copy(), first), grid)


def _checked(block: Block, grid: Grid) -> Block:
    if block.first + len(block.cells) > MAX_ROWS:
        raise ValueError("A table has at most 2**40 rows (dpforest._rows.MAX_ROWS).")
    grid.check(block.cells, block.target)
    return block


class _Seal:
    """Tells whether two passes saw the same rows in the same order."""

    def __init__(self) -> None:
        self.n_rows, self._digest = 0, hashlib.blake2b()

    def add(self, block: Block) -> None:
        self.n_rows += len(block.cells)
        self._digest.update(block.cells.data)
        self._digest.update(block.target.data)

    def is_same(self, other: _Seal) -> bool:
        return self.n_rows == other.n_rows and self._digest.digest() == other._digest.digest()


class _Room:
    """Memory that is left for all blocks, and the file for what it has no room for."""

    def __init__(self, n_bytes: int) -> None:
        self._left, self._lock = n_bytes, threading.Lock()
        self.file = SpillFile()

    def take(self, n_bytes: int) -> bool:
        """Take some of it, or give back if negative; refuse more than is left."""
        with self._lock:
            if n_bytes > self._left:
                return False
            self._left -= n_bytes
            return True


class _Home:
    """Where the arrays of one block are.

    Parameters
    ----------
    room : _Room
        What all blocks share.
    """

    def __init__(self, room: _Room) -> None:
        self._room = room
        self._held = 0  # bytes that the block remembers in memory
        self._slots: dict[str, tuple[Slot, NDArray[Any]]] = {}
        self.is_full = False  # whether there was no memory for the rows themselves
        self._is_away = False  # nor for what is remembered of them

    def take_in(self, block: Block) -> Block:
        """Keep the rows of a block, and return it with them and room to remember."""
        if self._room.take(block.cells.nbytes + block.target.nbytes):
            return Block(block.cells, block.target, block.first, {})
        self.is_full = self._is_away = True
        cells, target = self._moved("cells", block.cells), self._moved("target", block.target)
        self._let_go()
        return Block(cells, target, block.first, {})

    def settle(self, block: Block) -> None:
        """Find a place for what the block remembers, and let go of all that is in the file."""
        if not self._is_away:
            size = remembered_bytes(block)
            if self._room.take(size - self._held):
                self._held = size
                return
            self._room.take(-self._held)
            self._is_away = True
        _for_remembered(block, self._moved)
        self._let_go()

    def _moved(self, name: str, array: NDArray[Any]) -> NDArray[Any]:
        slot, there = self._slots.get(name, (None, None))
        if array is there:
            return array
        if slot is None or slot.size < array.nbytes:
            slot = self._room.file.reserve(array.nbytes)
        self._slots[name] = slot, slot.put(array)
        return self._slots[name][1]

    def _let_go(self) -> None:
        for slot, _ in self._slots.values():
            slot.let_go()


def remembered_bytes(block: Block) -> int:
    """Return how much a block remembers besides its rows."""
    sizes: list[int] = []
    _for_remembered(block, lambda _, array: _note(array, sizes))
    return sum(sizes)


def _note(array: NDArray[Any], sizes: list[int]) -> NDArray[Any]:
    sizes.append(array.nbytes)
    return array


def _for_remembered(block: Block, change: Callable[[str, NDArray[Any]], NDArray[Any]]) -> None:
    """Put ``change(name, array)`` in the place of every array that a block remembers besides its rows."""
    kept = block.kept
    assert kept is not None

    def changed(name: str, value: Any) -> Any:
        is_own = value is block.cells or value is block.target
        return change(name, value) if isinstance(value, np.ndarray) and value.size and not is_own else value

    for name, entry in kept.items():
        for item in entry:
            if isinstance(item, ScoredBlock):
                for attribute, value in vars(item).items():
                    setattr(item, attribute, changed(f"{name}.{attribute}", value))
        kept[name] = tuple(changed(f"{name}.{place}", item) for place, item in enumerate(entry))
