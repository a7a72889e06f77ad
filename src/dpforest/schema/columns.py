"""What a column can hand out, and columns of numpy arrays and Python lists.

A column is read a block of rows at a time. What comes out is a `Part` that says how the block can be read
quickly without changing what any of its values means:

* `Numbers`: doubles, or whatever becomes doubles by one rounding, NaN where missing
* `Coded`: a short part of distinct values, and for every row which of them it has
* a list of Python values, each of which is read by itself

Which of them it is may depend on the column's type and on other rows; the cells do not (see `values`).
`frames` and `arrow` make columns of data frames, `encoding` turns parts into cells.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from dpforest.schema.times import seconds_of_times
from dpforest.schema.values import UNREADABLE

__all__ = [
    "ArrayColumn",
    "Coded",
    "Column",
    "ListColumn",
    "Numbers",
    "Part",
    "columns_of_rows",
    "doubles",
    "items",
]


@dataclass(frozen=True)
class Numbers:
    """Real numbers or booleans of any numpy type; NaN is missing.

    Parameters
    ----------
    values : ndarray of shape (n,)
        The numbers, in seconds where they are times.
    kind : {"number", "moment", "clock"}
        What they are.
    """

    values: NDArray[Any]
    kind: Literal["number", "moment", "clock"] = "number"

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True)
class Coded:
    """Values given by their place among distinct ones.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Place of each row's value in `values`; -1 is missing.
    values : Part
        The distinct values.
    """

    codes: NDArray[np.integer[Any]]
    values: Part

    def __len__(self) -> int:
        return len(self.codes)


Part = Numbers | Coded | list[Any]


class Column(Protocol):
    """One column of a table, wherever it lives."""

    def __len__(self) -> int:
        """Return the number of rows."""

    def read(self, start: int, stop: int) -> Part:
        """Return some rows."""


@dataclass(frozen=True)
class ListColumn:
    """A column of Python values."""

    values: Sequence[Any]

    def __len__(self) -> int:
        return len(self.values)

    def read(self, start: int, stop: int) -> Part:
        """Return some rows."""
        return list(self.values[start:stop])


@dataclass(frozen=True)
class ArrayColumn:
    """A column of a numpy array, often a strided view.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Of any type but complex and structured.
    mask : ndarray of shape (n,), bool, optional
        Where values are missing, whatever stands in their place.
    """

    values: NDArray[Any]
    mask: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.values)

    def read(self, start: int, stop: int) -> Part:
        """Return some rows."""
        part = _read_array(self.values[start:stop])
        if self.mask is None:
            return part
        mask = self.mask[start:stop]
        if isinstance(part, Numbers):
            return Numbers(np.where(mask, np.nan, doubles(part.values)), part.kind)
        assert isinstance(part, list)
        return [None if hidden else value for value, hidden in zip(part, mask.tolist(), strict=True)]


def doubles(values: NDArray[Any]) -> NDArray[np.float64]:
    """Turn real numbers into doubles by one rounding each; those beyond doubles become infinite.

    Silently: numpy's warnings about a number that is too large, or about bits that are no number, would
    depend on a row.
    """
    with np.errstate(all="ignore"):
        return values.astype(np.float64)


def _read_array(values: NDArray[Any]) -> Part:
    kind = values.dtype.kind
    if kind in "biuf":
        return Numbers(values)
    if kind in "mM":
        seconds = seconds_of_times(values)
        if seconds is None:
            return [None if gap else UNREADABLE for gap in np.isnat(values).tolist()]
        return Numbers(seconds, "moment" if kind == "M" else "number")
    return items(len(values), values.__getitem__, values.tolist)


def columns_of_rows(rows: Sequence[Any], names: Sequence[str]) -> list[ListColumn]:
    """Take a sequence of rows apart.

    A row is a sequence of as many values as there are names. A row that is anything else is a record all of
    whose values are other.

    Parameters
    ----------
    rows : sequence
        The rows.
    names : sequence of str
        Names of the columns, in the order of the values.

    Returns
    -------
    list of ListColumn
        One per name.
    """
    width = len(names)
    table = [_fields(row, width) for row in rows]
    return [ListColumn([fields[j] for fields in table]) for j in range(width)]


def _fields(row: Any, width: int) -> Sequence[Any]:
    if type(row) in (list, tuple) and len(row) == width:
        return row  # type: ignore[no-any-return]
    fields: Any = ()
    with suppress(Exception):  # whatever a strange row raises, it is a record that cannot be read
        is_sequence = isinstance(row, Sequence) and not isinstance(row, str | bytes)
        if is_sequence or getattr(row, "ndim", 0) == 1:  # arrays and series
            fields = list(row)
    return fields if len(fields) == width else (UNREADABLE,) * width


def items(n_rows: int, get: Callable[[int], Any], whole: Callable[[], list[Any]] | None = None) -> list[Any]:
    """Return what `whole` returns or, where it fails, item by item what `get` returns or `UNREADABLE`.

    Parameters
    ----------
    n_rows : int
        How many items there are.
    get : callable
        From a place to its item.
    whole : callable, optional
        All items at once, faster.

    Returns
    -------
    list
        The items.
    """
    found = None if whole is None else _guarded(whole)
    if isinstance(found, list) and len(found) == n_rows:
        return found
    return [_guarded(get, place) for place in range(n_rows)]


def _guarded(step: Callable[..., Any], *arguments: Any) -> Any:
    # One value that cannot be handed out must not hide the others, nor be heard of. Libraries in Rust raise
    # what is no Exception when they panic.
    try:
        return step(*arguments)
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException:
        return UNREADABLE
