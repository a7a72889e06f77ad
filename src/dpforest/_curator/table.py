"""Private rows behind a wall: encoded once, then reachable only through a curator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NoReturn

from dpforest._curator.assignment import Part
from dpforest._rows import DaskRows, Grid, MemoryRows, RereadRows, Rows, SparkRows, StoredRows, WholeRows
from dpforest.schema import Schema, Source
from dpforest.schema.clusters import ClusterStream, SparkStream
from dpforest.schema.door import read_blocks
from dpforest.schema.footers import steady
from dpforest.schema.places import stream_of
from dpforest.schema.streams import StreamColumn


class PrivateTable:
    """Encoded private rows that cannot be read, printed, copied, counted or pickled.

    Parameters
    ----------
    X : data frame, array, stream or place
        Features, mapped cell by cell to the schema's public grid.
    y : array-like
        Target, mapped to class codes or fixed-point levels.
    schema : Schema
        The public description of the table.
    n_threads : int
        Threads for encoding, counting and choosing.
    part : Part, optional
        Which rows are taken; all by default.

    Examples
    --------
    >>> from dpforest.schema import Schema, Source
    >>> schema = Schema.from_bounds((0, 1), n_features=2, classes=[0, 1])
    >>> PrivateTable([[0.1, 0.2], [0.3, 0.4]], [0, 1], schema)
    PrivateTable(2 features)
    """

    def __init__(self, X: Any, y: Any, schema: Schema, n_threads: int = 1, part: Part | None = None) -> None:
        self.schema, self.n_threads = schema, n_threads
        grid = Grid.of(schema.n_cells, schema.n_codes)
        read: Callable[[], Iterator[Any]] = partial(read_blocks, X, y, schema, n_threads=n_threads)
        if part is not None:
            read = partial(_read_part, part, read)
        stream = stream_of(X)
        self.__rows: Rows
        if stream is None:
            self.__rows = MemoryRows.of_blocks(read(), grid, n_threads)
        elif isinstance(stream.source, Source) and (collection := stream.source.collection) is not None:
            if part is not None:
                raise TypeError("Rows on a cluster cannot be divided here: give a table or files.")
            if not isinstance(y, StreamColumn):
                raise TypeError("y must be the name of a column of X, which is on a cluster.")
            self.__rows = _on_cluster(collection, y.name, schema, stream.source)
        elif stream.source.cache:
            self.__rows = StoredRows.of_blocks(read(), grid, n_threads, stream.source.memory_limit)
        else:
            self.__rows = RereadRows(read, grid)

    @property
    def has_all_rows(self) -> bool:
        """Whether rows can be had as a whole, and not only as tables that add up over them."""
        return isinstance(self.__rows, WholeRows)

    def open(self) -> Rows:
        """Hand the rows to the curator, once."""
        rows = self.__rows
        del self.__rows
        return rows

    def __repr__(self) -> str:
        return f"PrivateTable({self.schema.n_features} features)"

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("Private rows cannot be read; ask a Curator, which charges the budget first.")

    __array__ = __len__ = __iter__ = __getitem__ = __contains__ = _refuse
    __reduce_ex__ = __copy__ = __deepcopy__ = _refuse


def _read_part(part: Part, read: Callable[[], Iterator[Any]]) -> Iterator[Any]:
    return part.of(read())


def _on_cluster(collection: ClusterStream, target: str, schema: Schema, source: Source) -> Rows:
    names = list(dict.fromkeys([*schema.names, target]))  # the target may be one of the features
    tables = collection.files(names)
    with steady(tables):
        if isinstance(collection, SparkStream):
            frame = collection.chosen([*schema.names, target])
            return SparkRows(frame, schema, source.cache, source.memory_limit)
        paths = [str(file.path) for table in tables for file in table.files]
        return DaskRows(collection.chosen(names).to_delayed(), target, schema, source.cache, paths)
