"""Rows in the partitions of a Spark data frame; see `partitions`.

`mapInArrow` takes every partition through the same door as any table, on its executor, and makes it blocks of
encoded rows, which Spark keeps. A block carries its identity, (partition, number), with it. For a question a
second `mapInArrow` adds the blocks of a partition to one table, and the tables, cut into chunks, are summed
up by chunk: by the executors if they are large, else here. No accumulators: a task that is retried would
count twice there, and here its output takes the place of what was lost.

What a block remembers (`Block.kept`) stays in the Python process of the executor that worked it out. Spark
may give the partition to another of its processes next time, which then goes on from what it knows of the
block, or begins anew.

Every table ends in one more entry, the number of rows that were added to it. Blocks that are not what they
were at first are left out, so the last entry tells whether the table holds all rows, each once.
"""

from __future__ import annotations

import uuid
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest._rows.partitions import ChangedRowsError, firsts_of, kind_of, on_cluster, seal_of
from dpforest._rows.rows import Block, Grid, TableSpec
from dpforest._rows.stored import even_blocks, remembered_bytes
from dpforest.schema import Schema
from dpforest.schema.arrow import ArrowColumn
from dpforest.schema.door import read_blocks
from dpforest.schema.streams import MEMORY_LIMIT, Piece

_BLOCKS = "part int, number int, n_rows long, seal binary, cells binary, target binary"
_CHUNKS = "chunk int, entries binary"
_CHUNK = 2**14  # entries
_SUMMED_HERE = 2**24  # bytes of partial tables that are not worth a shuffle


class SparkRows:
    """Rows of a Spark data frame.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        The columns that the schema declares, in its order, and then the target.
    schema : Schema
        What was declared.
    cache : bool
        Whether Spark keeps the encoded rows between passes, and its processes what they work out of them.
    memory_limit : int
        Bytes that each of the executors' Python processes may keep.

    Raises
    ------
    RuntimeError
        If the cluster fails, or a partition that is made again has other rows.
    """

    def __init__(
        self, frame: Any, schema: Schema, cache: bool = True, memory_limit: int = MEMORY_LIMIT
    ) -> None:
        self._fit, self._limit = uuid.uuid4().hex, memory_limit if cache else 0
        self._grid = Grid.of(schema.n_cells, schema.n_codes)
        self._cell_type = np.dtype(schema.cell_type).name
        self._blocks = on_cluster(frame.mapInArrow, _Encode(schema), _BLOCKS)
        if cache:
            self._blocks = on_cluster(self._blocks.persist)
            weakref.finalize(self, _let_go, self._blocks).atexit = False
        known = self._blocks.select("part", "number", "n_rows", "seal")
        marks = on_cluster(known.collect, files=frame.inputFiles)
        marks.sort(key=lambda mark: (mark.part, mark.number))
        firsts = firsts_of(mark.n_rows for mark in marks)
        self._n_rows, self._n_parts = firsts[-1], len({mark.part for mark in marks})
        self._places = {
            (mark.part, mark.number): (first, bytes(mark.seal))
            for mark, first in zip(marks, firsts[:-1], strict=True)
        }
        if len(self._places) != len(marks):
            raise RuntimeError("Spark handed out a partition twice; nothing was counted.")

    @property
    def grid(self) -> Grid:
        """The grid that every row was checked against."""
        return self._grid

    def fold(self, table: TableSpec) -> NDArray[Any]:
        """Count every partition on its executor, and add the tables up."""
        kind = np.dtype(kind_of(table, self._grid, self._n_rows))
        size = int(np.prod(table.shape)) + 1
        total: NDArray[Any] = on_cluster(self._total, table, size, kind)
        return total[:-1].reshape(table.shape)

    def _total(self, table: TableSpec, size: int, kind: np.dtype[Any]) -> NDArray[Any]:
        count = _Count(table, self._places, self._cell_type, size, kind.name, self._fit, self._limit)
        chunks = self._blocks.mapInArrow(count, _CHUNKS)
        if self._n_parts * size * kind.itemsize > _SUMMED_HERE:
            n_groups = min(self._n_parts, -(-size // _CHUNK))
            chunks = chunks.repartition(n_groups, "chunk").mapInArrow(_Add(kind.name), _CHUNKS)
        total: NDArray[Any] = np.zeros(size, kind)
        for number, entries in chunks.collect():
            total[number * _CHUNK : (number + 1) * _CHUNK] += np.frombuffer(entries, kind)
        if total[-1] != self._n_rows:
            raise ChangedRowsError
        return total


def _let_go(blocks: Any) -> None:
    with suppress(Exception):  # of a session that is over
        blocks.unpersist()


@dataclass(frozen=True)
class _Encode:
    """Make blocks of encoded rows out of the batches of a partition, on its executor."""

    schema: Schema

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        part = import_module("pyspark").TaskContext.get().partitionId()
        grid = Grid.of(self.schema.n_cells, self.schema.n_codes)
        for number, block in enumerate(even_blocks(self._pieces(batches), grid)):
            seal = seal_of((block.cells, block.target))
            row = part, number, len(block.cells), seal, block.cells.tobytes(), block.target.tobytes()
            yield _batch(_BLOCKS, row)

    def _pieces(self, batches: Iterable[Any]) -> Iterator[tuple[NDArray[Any], NDArray[np.int32]]]:
        names = list(self.schema.names)
        for batch in batches:
            piece = Piece([*names, ""], [ArrowColumn(column) for column in batch.columns])
            yield from read_blocks(piece.select(names), piece.column(""), self.schema)


@dataclass(frozen=True)
class _Count:
    """Add the blocks of a partition to one table, on its executor; yield it in chunks."""

    table: TableSpec
    places: dict[tuple[int, int], tuple[int, bytes]]
    cell_type: str
    size: int
    kind: str
    fit: str
    memory_limit: int

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        flat: NDArray[Any] = np.zeros(self.size, self.kind)
        out = flat[:-1].reshape(self.table.shape)
        for row in (row for batch in batches for row in batch.to_pylist()):
            block = self._block(row)
            if block is not None:
                self.table.add(block, out)
                flat[-1] += len(block.cells)
                _KEPT.put(block, self.memory_limit)
        for number in range(-(-self.size // _CHUNK)):
            yield _batch(_CHUNKS, (number, flat[number * _CHUNK : (number + 1) * _CHUNK].tobytes()))

    def _block(self, row: dict[str, Any]) -> Block | None:
        """Return the rows of a block, if they are what they were at first."""
        first, seal = self.places.get((row["part"], row["number"]), (0, None))
        if row["seal"] != seal:
            return None
        # copies: kernels are compiled for arrays that can be written to
        target = np.frombuffer(row["target"], np.int32).copy()
        cells = np.frombuffer(row["cells"], self.cell_type).reshape(len(target), -1).copy()
        return Block(cells, target, first, _KEPT.take(self.fit, first) if self.memory_limit else None)


class _Kept:
    """What this process remembers of blocks, by the number of their first row: of one fit at a time."""

    def __init__(self) -> None:
        self._fit = ""
        self._blocks: dict[int, dict[str, Any]] = {}
        self._sizes: dict[int, int] = {}

    def take(self, fit: str, first: int) -> dict[str, Any]:
        """Take away what is known of a block; it is put back when it is whole again."""
        if fit != self._fit:
            self._fit = fit
            self._blocks.clear()
            self._sizes.clear()
        self._sizes.pop(first, None)
        return self._blocks.pop(first, {})

    def put(self, block: Block, memory_limit: int) -> None:
        """Remember what a block knows, if there is room."""
        if block.kept is None:
            return
        size = remembered_bytes(block)
        if sum(self._sizes.values()) + size <= memory_limit:
            self._blocks[block.first], self._sizes[block.first] = block.kept, size


_KEPT = _Kept()


@dataclass(frozen=True)
class _Add:
    """Add up the chunks that came to an executor."""

    kind: str

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        sums: dict[int, NDArray[Any]] = {}
        for row in (row for batch in batches for row in batch.to_pylist()):
            entries = np.frombuffer(row["entries"], self.kind)
            if row["chunk"] in sums:
                sums[row["chunk"]] += entries
            else:
                sums[row["chunk"]] = entries.copy()
        for number, entries in sums.items():
            yield _batch(_CHUNKS, (number, entries.tobytes()))


def _batch(columns: str, row: Sequence[Any]) -> Any:
    """Return one row as an Arrow batch, which Spark takes as it is."""
    arrow = import_module("pyarrow")
    types = {"int": arrow.int32(), "long": arrow.int64(), "binary": arrow.binary()}
    fields = [column.split() for column in columns.split(", ")]
    arrays = [arrow.array([value], types[kind]) for value, (_, kind) in zip(row, fields, strict=True)]
    return arrow.RecordBatch.from_arrays(arrays, [name for name, _ in fields])
