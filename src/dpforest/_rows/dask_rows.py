"""Rows on the workers of a dask cluster; see `partitions`.

A partition is encoded by the worker that has it, through the same door as any table, and stays there. Partial
tables are added up on the workers in a tree. The key of the trees is part of no task's name.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest._rows.partitions import (
    ChangedRowsError,
    NoWorkersError,
    PartitionError,
    firsts_of,
    kind_of,
    on_cluster,
    seal_of,
)
from dpforest._rows.rows import Block, Grid, TableSpec
from dpforest._rows.stored import even_blocks
from dpforest.schema import Schema, SchemaError
from dpforest.schema.door import read_blocks

_AT_ONCE = 8  # partial tables that a worker adds up in one step
_LOOK_EVERY = 10.0  # seconds between looks whether there are workers
_MOST_LOOKS = 12  # without any worker, one after the other; then it is given up


class Encoded:
    """The rows of a partition, on its worker, and what they must be if they are made again.

    What blocks remember stays with them on this worker. It does not travel: elsewhere, or after the worker
    moved the partition to its disk, it is worked out again.

    Parameters
    ----------
    blocks : list of Block
        The rows, numbered from 0.
    """

    def __init__(self, blocks: list[Block]) -> None:
        self.blocks = blocks
        self.seal = seal_of(array for block in blocks for array in (block.cells, block.target))
        self._kept: dict[int, dict[str, Any]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_kept": {}}

    def __sizeof__(self) -> int:  # for dask, which decides by it what to move to its disk
        return sum(block.cells.nbytes + block.target.nbytes for block in self.blocks)

    @property
    def n_rows(self) -> int:
        """Rows of the partition."""
        return sum(len(block.cells) for block in self.blocks)

    def add_to(self, table: TableSpec, first: int, out: NDArray[Any]) -> None:
        """Add all rows, of which the first has this number, to a table.

        What is remembered is taken away while it changes: a task that fails halfway, or runs at the same
        time, leaves nothing that is wrong.
        """
        for block in self.blocks:
            kept = self._kept.pop(block.first, {})
            table.add(Block(block.cells, block.target, first + block.first, kept), out)
            self._kept[block.first] = kept


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
    files : sequence of str
        Files that may be named if something is wrong with them.

    Raises
    ------
    SchemaError
        If a partition lacks a column.
    RuntimeError
        If the cluster fails, or a partition that is made again has other rows.
    """

    def __init__(
        self,
        parts: Sequence[Any],
        target: str,
        schema: Schema,
        cache: bool = True,
        files: Sequence[str] = (),
    ) -> None:
        dask = import_module("dask")
        self._grid = Grid.of(schema.n_cells, schema.n_codes)
        self._delayed: Callable[..., Any] = dask.delayed
        encode = self._task(_encode)
        self._parts = [encode(part, target, schema) for part in parts]
        if cache:
            self._parts = on_cluster(_persisted, self._parts, files=lambda: list(files))
        marks = [self._task(_mark)(part) for part in self._parts]
        self._marks: list[tuple[int, bytes]] = on_cluster(_each_computed, marks, files=lambda: list(files))
        self._firsts = firsts_of(size for size, _ in self._marks)

    @property
    def grid(self) -> Grid:
        """The grid that every row was checked against."""
        return self._grid

    def fold(self, table: TableSpec) -> NDArray[Any]:
        """Count every partition on its worker, and add the tables up there."""
        kind = kind_of(table, self._grid, self._firsts[-1])
        if not self._parts:
            return np.zeros(table.shape, kind)
        count, add = self._task(_count), self._task(_add)
        spec = self._delayed(table, traverse=False, pure=False, name=f"spec-{uuid.uuid4().hex}")
        tables = [
            count(part, spec, first, seal, kind)
            for part, first, (_, seal) in zip(self._parts, self._firsts[:-1], self._marks, strict=True)
        ]
        while len(tables) > 1:
            tables = [add(tables[at : at + _AT_ONCE]) for at in range(0, len(tables), _AT_ONCE)]
        total: NDArray[Any]
        (total,) = on_cluster(_computed, tables[0])
        return total

    def _task(self, function: Callable[..., Any]) -> Callable[..., Any]:
        # Not `pure`: its name would be a digest of the rows or of the key.
        task: Callable[..., Any] = self._delayed(function, pure=False, traverse=False)
        return task


def _persisted(parts: list[Any]) -> list[Any]:
    """Let workers make partitions and keep them; without workers they are made at once, in this process."""
    try:
        return list(import_module("dask").persist(*parts))
    except Exception:
        _compute_one_by_one(parts)
        raise


def _each_computed(tasks: list[Any]) -> list[Any]:
    """Compute a task for every partition; if one fails, say which."""
    client = _client()
    if client is None:
        try:
            return list(_computed(*tasks))
        except Exception:
            _compute_one_by_one(tasks)
            raise
    futures = _waited_for(client, tasks)
    for number, future in enumerate(futures):
        if future.status == "error":
            with _of_partition(number):
                future.result()
    return list(client.gather(futures))


def _compute_one_by_one(tasks: list[Any]) -> None:
    """Find the first partition that fails: in this process dask does not say which it was."""
    for number, task in enumerate(tasks):
        with _of_partition(number):
            _computed(task)


@contextmanager
def _of_partition(number: int) -> Iterator[None]:
    """Tell the number of a partition that fails."""
    try:
        yield
    except SchemaError as error:
        raise SchemaError(f"Partition {number}: {error}") from None
    except Exception as error:
        raise PartitionError(number, error) from None


def _computed(*tasks: Any) -> Sequence[Any]:
    """Compute tasks, by workers if there are any."""
    client = _client()
    computed: Sequence[Any]
    if client is None:
        computed = import_module("dask").compute(*tasks)
    else:
        computed = client.gather(_waited_for(client, tasks))
    return computed


def _client() -> Any:
    """Return the client of a cluster; None if dask counts in this process."""
    client = getattr(import_module("dask.base").get_scheduler(), "__self__", None)
    return client if hasattr(client, "scheduler_info") else None


def _waited_for(client: Any, tasks: Sequence[Any]) -> list[Any]:
    """Wait until workers are done with tasks, but not for ever on a cluster that has lost all its workers.

    A scheduler waits without end for workers that do not come back, such as one that was killed while it was
    started again.
    """
    distributed = import_module("distributed")
    futures: list[Any] = client.compute(list(tasks))
    n_looks = 0
    while True:
        try:
            distributed.wait(futures, timeout=_LOOK_EVERY)
        except TimeoutError:
            n_looks = 0 if client.ncores() else n_looks + 1
            if n_looks >= _MOST_LOOKS:
                raise NoWorkersError from None
        else:
            return futures


def _encode(part: Any, target: str, schema: Schema) -> Encoded:
    """Encode a partition where it is."""
    columns = list(map(str, part.columns))
    lacking = [name for name in (*schema.names, target) if columns.count(name) != 1]
    if lacking:
        raise SchemaError(f"it must have one column of each name: {', '.join(map(repr, lacking[:10]))}.")
    pieces = read_blocks(part[list(schema.names)], part[target], schema)
    return Encoded(list(even_blocks(pieces, Grid.of(schema.n_cells, schema.n_codes))))


def _mark(part: Encoded) -> tuple[int, bytes]:
    return part.n_rows, part.seal


def _count(part: Encoded, table: TableSpec, first: int, seal: bytes, kind: str) -> NDArray[Any]:
    """Add the rows of a partition to a table of its own."""
    if part.seal != seal:
        raise ChangedRowsError
    out: NDArray[Any] = np.zeros(table.shape, kind)
    part.add_to(table, first, out)
    return out


def _add(tables: Sequence[NDArray[Any]]) -> NDArray[Any]:
    total = tables[0].copy()  # what other tasks may ask for again stays as it is
    for table in tables[1:]:
        total += table
    return total
