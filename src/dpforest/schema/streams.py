"""Tables that are read piece by piece: files and Arrow datasets, perhaps larger than memory.

`files` makes streams of files, `stream_of` of what pyarrow hands out; `door` reads them. A stream and one of
its columns can be handed to `fit` as X and y; both are then read in one pass.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dpforest.schema.arrow import ArrowColumn
from dpforest.schema.columns import Column
from dpforest.schema.errors import SchemaError

__all__ = ["Stream", "StreamColumn", "places_of", "stream_of"]


class Stream(ABC):
    """A table that hands out pieces of its columns, in the order of its rows."""

    @property
    @abstractmethod
    def names(self) -> Sequence[str]:
        """Names of the columns."""

    @abstractmethod
    def read(self, names: Sequence[str]) -> Iterator[list[Column]]:
        """Yield pieces of the named columns, which are there."""

    @property
    def source(self) -> Stream:
        """The whole table."""
        return self

    def select(self, names: Sequence[str]) -> Stream:
        """Return a table of some columns."""
        return _Selection(self.source, tuple(names))

    def column(self, name: str) -> StreamColumn:
        """Return one column, for a target."""
        return StreamColumn(self.source, name)


def places_of(names: Sequence[str], found: Sequence[str], where: Any) -> list[int]:
    """Return the place of each declared name among those found, each of which must be there once."""
    unclear = [name for name in names if list(found).count(name) != 1]
    if unclear:
        raise SchemaError(f"{where} must have one column of each name: {', '.join(map(repr, unclear[:10]))}.")
    return [list(found).index(name) for name in names]


@dataclass(frozen=True)
class _Selection(Stream):
    whole: Stream
    chosen: Sequence[str]

    @property
    def names(self) -> Sequence[str]:
        return self.chosen

    @property
    def source(self) -> Stream:
        return self.whole

    def read(self, names: Sequence[str]) -> Iterator[list[Column]]:
        return self.whole.read(names)


@dataclass(frozen=True)
class StreamColumn:
    """One column of a stream.

    Parameters
    ----------
    source : Stream
        The table.
    name : str
        Which column.
    """

    source: Stream
    name: str


@dataclass(frozen=True)
class _ArrowStream(Stream):
    """Record batches from an Arrow dataset, scanner or reader, one after the other."""

    batches: Any

    @property
    def names(self) -> Sequence[str]:
        schema = getattr(self.batches, "projected_schema", None)
        return list((self.batches.schema if schema is None else schema).names)

    def read(self, names: Sequence[str]) -> Iterator[list[Column]]:
        places_of(names, self.names, "X")
        found = self.batches
        if hasattr(found, "scanner"):  # a dataset reads only what it is asked for
            found = found.scanner(columns=list(names))
        for batch in found.to_batches() if hasattr(found, "to_batches") else found:
            yield [ArrowColumn(batch.column(place)) for place in places_of(names, batch.schema.names, "X")]


def stream_of(X: Any) -> Stream | None:
    """Return a stream for what is read piece by piece, and None for anything else."""
    if isinstance(X, Stream):
        return X
    arrow, dataset = sys.modules.get("pyarrow"), sys.modules.get("pyarrow.dataset")
    if dataset is not None and isinstance(X, dataset.Dataset | dataset.Scanner):
        return _ArrowStream(X)
    if arrow is not None and isinstance(X, arrow.RecordBatchReader):
        return _ArrowStream(X)
    return None
