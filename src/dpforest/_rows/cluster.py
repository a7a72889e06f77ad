"""Rows on the workers of a dask cluster: each partition is counted where it lies.

A partition is encoded by the worker that has it, through the same door as any table, and stays there. For
every question the workers get the spec, count their partitions and add the partial tables up in a tree; the
driver gets one table, and draws the noise. All that workers do is a pure function of a partition, its place
and the spec, so a task that runs again after a failure gives the same table, and is added once.

The spec holds the key that gives rows to trees: it goes over the cluster's own channel, which must be one
that others cannot read (TLS), and into no log: it is part of no task's name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpforest._rows.limits import MAX_ROWS
from dpforest._rows.memory import BLOCK_ROWS, ROWS_IN_INT32
from dpforest._rows.rows import Block, Grid, TableSpec
from dpforest.schema import Schema, SchemaError
from dpforest.schema.door import joined, read_blocks

_AT_ONCE = 8  # partial tables that a worker adds up in one step


class Encoded(NamedTuple):
    """The rows of a partition, on its worker, and what they must be if they are made again."""

    cells: NDArray[Any]
    target: NDArray[np.int32]
    seal: bytes


class DaskRows:
    """Rows in the partitions of a dask collection.

    Parameters
    ----------
    parts : sequence of Delayed
        Data frames, in the order of their rows.
    target : str
        Name of the column to predict.
    schema : Schema
        What was declared.
    cache : bool
        Whether workers keep the encoded rows between passes.

    Raises
    ------
    SchemaError
        If a partition lacks a column.
    RuntimeError
        If the cluster fails, or a partition that is made again has other rows.
    """

    def __init__(self, parts: Sequence[Any], target: str, schema: Schema, cache: bool = True) -> None:
        dask = import_module("dask")
        self._grid = Grid.of(schema.n_cells, schema.n_codes)
        self._delayed: Callable[..., Any] = dask.delayed
        encode = self._task(_encode)
        self._parts = [encode(part, target, schema) for part in parts]
        if cache:
            self._parts = list(self._run(dask.persist, *self._parts))
        self._marks: list[tuple[int, bytes]] = []
        if self._parts:
            self._marks = list(self._run(dask.compute, *map(self._task(_mark), self._parts)))
        sizes = [size for size, _ in self._marks]
        if sum(sizes) > MAX_ROWS:
            raise ValueError("A table has at most 2**40 rows (dpforest._rows.MAX_ROWS).")
        self._firsts = np.cumsum([0, *sizes]).tolist()

    @property
    def grid(self) -> Grid:
        """The grid that every row was checked against."""
        return self._grid

    def fold(self, table: TableSpec) -> NDArray[Any]:
        """Count every partition on its worker, and add the tables up there."""
        if table.grid != self._grid:
            raise ValueError("The table asks about rows of another grid.")
        is_narrow = table.counts_rows and self._firsts[-1] <= ROWS_IN_INT32
        kind = np.dtype(np.int32 if is_narrow else np.int64).name
        if not self._parts:
            return np.zeros(table.shape, kind)
        count, add = self._task(_count), self._task(_add)
        spec = self._delayed(table, traverse=False, pure=False, name=f"spec-{_fresh_name()}")
        tables = [
            count(part, spec, first, seal, kind)
            for part, first, (_, seal) in zip(self._parts, self._firsts[:-1], self._marks, strict=True)
        ]
        while len(tables) > 1:
            tables = [add(tables[at : at + _AT_ONCE]) for at in range(0, len(tables), _AT_ONCE)]
        total: NDArray[Any]
        (total,) = self._run(import_module("dask").compute, tables[0])
        return total

    def _task(self, function: Callable[..., Any]) -> Callable[..., Any]:
        # Not `pure`: its name would be a digest of the rows or of the key.
        task: Callable[..., Any] = self._delayed(function, pure=False, traverse=False)
        return task

    def _run(self, step: Callable[..., Any], *tasks: Any) -> Any:
        try:
            return step(*tasks)
        except SchemaError:
            raise
        except ChangedRowsError:
            raise RuntimeError(
                "A partition that was made again has other rows, or another order; nothing is released. Give "
                "partitions that stay as they are."
            ) from None
        except Exception as error:
            # What workers say may quote rows.
            raise RuntimeError(
                f"The cluster could not count the rows ({type(error).__name__}); nothing is released."
            ) from None


class ChangedRowsError(Exception):
    """A partition was made again, and is not what it was."""


def _fresh_name() -> str:
    import uuid

    return uuid.uuid4().hex


def _encode(part: Any, target: str, schema: Schema) -> Encoded:
    """Encode a partition where it is."""
    columns = list(map(str, part.columns))
    lacking = [name for name in (*schema.names, target) if columns.count(name) != 1]
    if lacking:
        raise SchemaError(
            f"A partition must have one column of each name: {', '.join(map(repr, lacking[:10]))}."
        )
    blocks = list(read_blocks(part[list(schema.names)], part[target], schema))
    cells = joined([cells for cells, _ in blocks] or [np.empty((0, schema.n_columns), schema.cell_type)])
    codes = np.concatenate([np.empty(0, np.int32), *(codes for _, codes in blocks)])
    Grid.of(schema.n_cells, schema.n_codes).check(cells, codes)
    seal = hashlib.blake2b(np.ascontiguousarray(cells).data)
    seal.update(codes.data)
    return Encoded(cells, codes, seal.digest())


def _mark(part: Encoded) -> tuple[int, bytes]:
    return len(part.cells), part.seal


def _count(part: Encoded, table: TableSpec, first: int, seal: bytes, kind: str) -> NDArray[Any]:
    """Add the rows of a partition to a table of its own."""
    if part.seal != seal:
        raise ChangedRowsError
    out: NDArray[Any] = np.zeros(table.shape, kind)
    for at in range(0, len(part.cells), BLOCK_ROWS):
        some = slice(at, at + BLOCK_ROWS)
        table.add(Block(part.cells[some], part.target[some], first + at), out)
    return out


def _add(tables: Sequence[NDArray[Any]]) -> NDArray[Any]:
    total = tables[0].copy()  # what other tasks may ask for again stays as it is
    for table in tables[1:]:
        total += table
    return total
