"""Values that nobody declared, counted behind the same wall as encoded rows."""

from __future__ import annotations

from collections import Counter
from typing import Any, NoReturn

from dpforest.schema import Schema, Source
from dpforest.schema.door import read_pieces
from dpforest.schema.names import count_names
from dpforest.schema.places import stream_of

TARGET = -1
"""Stands for the target where columns are numbered."""


class PrivateValues:
    """Counts of the values of some columns, by name, which only a curator may look at.

    Every row adds 1 to at most one name of every column, which follows from its value there alone.

    Parameters
    ----------
    X, y : data
        Private rows, as for `PrivateTable`; not on a cluster.
    schema : Schema
        Names the columns; what it says of those that are counted is not used.
    columns : sequence of int
        Which are counted, `TARGET` for the target.
    """

    def __init__(self, X: Any, y: Any, schema: Schema, columns: list[int]) -> None:
        stream = stream_of(X)
        if stream is not None and isinstance(stream.source, Source) and stream.source.collection is not None:
            raise TypeError("Categories cannot be looked for in rows on a cluster: give a table or files.")
        counts: dict[int, Counter[str]] = {column: Counter() for column in columns}
        for table, target in read_pieces(X, y, schema, "the schema"):
            for column, found in counts.items():
                held = target if column == TARGET else table.columns[column]
                if held is None or len(held) != len(table):
                    raise ValueError("X and y must have the same number of rows.")
                found.update(count_names(held.read(0, len(held))))
        self.__counts = counts

    def open(self) -> dict[int, Counter[str]]:
        """Hand the counts to the curator, once."""
        counts = self.__counts
        del self.__counts
        return counts

    def __repr__(self) -> str:
        return "PrivateValues()"

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("Private values cannot be read; ask a Curator, which charges the budget first.")

    __array__ = __len__ = __iter__ = __getitem__ = __contains__ = _refuse
    __reduce_ex__ = __copy__ = __deepcopy__ = _refuse
