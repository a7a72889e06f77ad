"""The one door through which rows come in: any table, block by block, as cells and target codes.

`read_blocks` is the whole way from what a user hands over to what is counted. Every source becomes columns by
name (`tables`, `files`), every value becomes its cell by a rule that depends on that value and the schema
alone (`values`). What cannot be decided row by row, such as a missing column, is refused before the first
block; what a value cannot be is 'missing' or 'other' for its own row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpforest._threads import ahead
from dpforest.schema.columns import Column, Part
from dpforest.schema.combinations import append_combinations
from dpforest.schema.encoding import Encoder
from dpforest.schema.places import stream_of
from dpforest.schema.streams import Stream, StreamColumn
from dpforest.schema.tables import Table, match_names, read_table, read_vector

if TYPE_CHECKING:
    from dpforest.schema.schema import Schema
    from dpforest.schema.target import Target

__all__ = ["BLOCK_ROWS", "read_blocks", "read_cells", "read_pieces"]

BLOCK_ROWS = 65_536
"""Most rows of a block: few enough to copy, many enough to make the call worth while."""


_Block = TypeVar("_Block")
_UNEQUAL = "Found input variables with inconsistent numbers of samples: X and y differ."


def read_blocks(
    X: Any, y: Any, schema: Schema, *, n_threads: int = 1, owner: str = "the schema"
) -> Iterator[tuple[NDArray[Any], NDArray[np.int32]]]:
    """Yield the cells and target codes of a table, block by block.

    Parameters
    ----------
    X : data frame, ndarray, sequence of rows, stream or place
        The features; see `places.Source` for places.
    y : array-like, series or column of the same stream
        The target.
    schema : Schema
        What is public about both.
    n_threads : int, default=1
        Threads that share the blocks.
    owner : str, default="the schema"
        Who asks, for error messages about the shape.

    Yields
    ------
    cells : ndarray of shape (rows, n_columns)
        See `Schema.encode_features`.
    target : ndarray of int32, shape (rows,)
        See `Schema.encode_target`.

    Examples
    --------
    >>> from dpforest.schema import Schema
    >>> schema = Schema.from_bounds((0, 1), n_features=1, classes=["no", "yes"], bins=4)
    >>> list(read_blocks([[0.9], [None]], ["yes", "?"], schema))
    [(array([[3], [4]], dtype=uint8), array([ 1, -1], dtype=int32))]
    """
    assert schema.target is not None
    for table, target in _pieces(X, y, schema, owner):
        if len(table) != len(target):
            raise ValueError(_UNEQUAL)
        yield from _encoded(table, schema, n_threads, partial(_with_codes, schema.target, target))


def read_cells(
    X: Any, schema: Schema, *, n_threads: int = 1, owner: str = "the schema"
) -> Iterator[NDArray[Any]]:
    """Yield the cells of a table without a target, block by block; see `read_blocks`."""
    stream = stream_of(X)
    if stream is None:
        yield from _encoded(read_table(X, schema.names, owner), schema, n_threads, _alone)
        return
    _match(stream, schema)
    for columns in stream.read(schema.names):
        yield from _encoded(Table(columns), schema, n_threads, _alone)


def read_pieces(X: Any, y: Any, schema: Schema, owner: str) -> Iterator[tuple[Table, Column | None]]:
    """Yield pieces of a table and of its target, or None if there is no target, before any encoding."""
    if y is not None:
        yield from _pieces(X, y, schema, owner)
        return
    stream = stream_of(X)
    if stream is None:
        yield read_table(X, schema.names, owner), None
        return
    _match(stream, schema)
    for columns in stream.read(schema.names):
        yield Table(columns), None


def _match(stream: Stream, schema: Schema) -> None:
    if not stream.has_others:  # else the stream itself says which are lacking
        match_names(stream.names, schema.names)


def _pieces(X: Any, y: Any, schema: Schema, owner: str) -> Iterator[tuple[Table, Column]]:
    stream = stream_of(X)
    if stream is None:
        yield read_table(X, schema.names, owner, check_rows=False), read_vector(y)
        return
    _match(stream, schema)
    if isinstance(y, StreamColumn):
        if y.source is not stream.source:
            raise TypeError("y is a column of another file than X. Take both from one.")
        for *columns, target in stream.read([*schema.names, y.name]):
            yield Table(columns), target
        return
    whole, place = read_vector(y), 0
    for columns in stream.read(schema.names):
        table = Table(columns)
        yield table, _Piece(whole, place, min(place + len(table), len(whole)))
        place += len(table)
    if place != len(whole):
        raise ValueError(_UNEQUAL)


@dataclass(frozen=True)
class _Piece:
    """Some rows of a column."""

    column: Column
    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start

    def read(self, start: int, stop: int) -> Part:
        return self.column.read(self.start + start, self.start + stop)


def joined(blocks: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Join blocks of rows, at least one; without a copy where they are an array cut into pieces, in order.

    Examples
    --------
    >>> whole = np.zeros((3, 2))
    >>> joined([whole[:2], whole[2:]]) is whole, joined([whole[2:], whole[:2]]) is whole
    (True, False)
    """
    whole, place = blocks[0].base, 0
    for block in blocks:
        if whole is None or block.base is not whole or not _starts_at(block, whole, place):
            return np.concatenate(blocks)
        place += len(block)
    return whole if whole is not None and place == len(whole) else np.concatenate(blocks)


def _starts_at(block: NDArray[Any], whole: NDArray[Any], row: int) -> bool:
    alike = (block.dtype, block.shape[1:], block.strides) == (whole.dtype, whole.shape[1:], whole.strides)
    return alike and block.ctypes.data == whole.ctypes.data + row * whole.strides[0]


def _alone(cells: NDArray[Any], start: int) -> NDArray[Any]:
    return cells


def _with_codes(
    kind: Target, target: Column, cells: NDArray[Any], start: int
) -> tuple[NDArray[Any], NDArray[np.int32]]:
    return cells, kind.encode_part(target.read(start, start + len(cells)))


def _encoded(
    table: Table, schema: Schema, n_threads: int, finish: Callable[[NDArray[Any], int], _Block]
) -> Iterator[_Block]:
    """Yield ``finish(cells, number of the first row)`` of every block."""
    features = dict(schema.features)
    encoder = Encoder(tuple(features.values()), schema.cell_type)
    # One array for all blocks of a table that is in memory anyway; see `joined`.
    whole = np.empty((len(table), schema.n_columns), dtype=schema.cell_type)

    def encode(start: int) -> _Block:
        stop = min(start + BLOCK_ROWS, len(table))
        out = whole[start:stop]
        cells = np.empty((stop - start, len(features)), whole.dtype) if schema.combinations else out
        if table.matrix is not None:
            encoder.encode_matrix(table.matrix[start:stop], cells)
        else:
            encoder.encode([column.read(start, stop) for column in table.columns], cells)
        if schema.combinations:
            append_combinations(cells, features, schema.combinations, out)
        return finish(out, start)

    return ahead(encode, range(0, len(table), BLOCK_ROWS), n_threads)
