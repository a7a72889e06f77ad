"""Tables that are read piece by piece, perhaps larger than memory.

`files` makes streams of files, `places` of whatever else rows can be read from; `door` reads them. A stream
and one of its columns can be handed to `fit` as X and y; both are then read in one pass.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from dpforest.schema.columns import Column
from dpforest.schema.errors import SchemaError

__all__ = ["MEMORY_LIMIT", "Piece", "Stream", "StreamColumn", "guarded", "places_of"]

MEMORY_LIMIT = 2**27
"""Bytes of encoded rows, and of what is worked out of them, that a fit keeps in memory by default."""


class Stream(ABC):
    """A table that hands out pieces of its columns, in the order of its rows.

    Attributes
    ----------
    memory_limit : int
        Bytes that a fit may keep of it in memory; what is more goes to a private file.
    cache : bool
        Whether a fit may keep anything of it between passes; if not, every pass reads it again.
    has_others : bool
        Whether it may have columns that no schema declares; they are not read.
    """

    memory_limit: int = MEMORY_LIMIT
    cache: bool = True
    has_others: ClassVar[bool] = False

    @property
    @abstractmethod
    def names(self) -> Sequence[str]:
        """Names of the columns."""

    @abstractmethod
    def read(self, names: Sequence[str]) -> Iterator[list[Column]]:
        """Yield pieces of the named columns, which are there."""

    @property
    def text_columns(self) -> frozenset[str]:
        """Columns that are stored as text by their type, as in Parquet; CSV has no types, hence none."""
        return frozenset()

    @property
    def source(self) -> Stream:
        """The whole table."""
        return self

    @property
    def paths(self) -> Sequence[Path]:
        """Files that it is read from; none if it is not read from files, or not by this library."""
        return ()

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


def guarded(step: Callable[[], Any]) -> Any:
    """Take a step of a library whose messages may quote rows."""
    try:
        return step()
    except SchemaError:
        raise
    except Exception as error:
        raise ValueError(f"X cannot be read: its library raised {type(error).__name__}.") from None


@dataclass(frozen=True)
class _Selection(Stream):
    whole: Stream
    chosen: Sequence[str]

    @property
    def names(self) -> Sequence[str]:
        return self.chosen

    @property
    def text_columns(self) -> frozenset[str]:
        return self.whole.text_columns

    @property
    def source(self) -> Stream:
        return self.whole

    @property
    def paths(self) -> Sequence[Path]:
        return self.whole.paths

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
class Piece(Stream):
    """A piece of a stream as a table of its own.

    Parameters
    ----------
    labels : sequence of str
        Names of the columns.
    columns : sequence of Column
        The columns.
    """

    labels: Sequence[str]
    columns: Sequence[Column]

    @property
    def names(self) -> Sequence[str]:
        """Names of the columns."""
        return self.labels

    def read(self, names: Sequence[str]) -> Iterator[list[Column]]:
        """Yield the named columns, once."""
        yield [self.columns[place] for place in places_of(names, self.labels, "X")]
