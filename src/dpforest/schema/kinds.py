"""Kinds of feature that are known under a name of their own: dates, and truth values.

Both are read by the laws of the features that they are: a date is a number of seconds, a truth value one of
two categories. `documents` writes them under their names.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np

from dpforest.schema.errors import SchemaError
from dpforest.schema.features import DEFAULT_BINS, Nominal, Numeric
from dpforest.schema.values import read_text, read_value

__all__ = ["TRUTH_WORDS", "Boolean", "Date"]

_DAY = 86_400.0
_EPOCH = dt.datetime(1970, 1, 1)
TRUTH_WORDS = {"true": 1, "false": 0, "yes": 1, "y": 1, "t": 1, "on": 1, "no": 0, "n": 0, "f": 0, "off": 0}


class Date(Numeric):
    """A date, or a date with a time, between two public ones.

    Values may be dates and timestamps of any library or text in ISO form; times without a zone are UTC. Whole
    numbers are seconds since 1970.

    Parameters
    ----------
    first, last : str, date, datetime or timestamp
        Public bounds. A `last` without a time includes that day.
    bins : int, default=256
        Number of grid cells.

    Examples
    --------
    >>> visit = Date("2015-01-01", "2025-12-31", bins=4)
    >>> [visit.cell_of(value) for value in ("2015-03-01", "2025-12-31 23:00", None, "soon")]
    [0, 3, 4, 5]
    >>> visit.border_text(1)
    '2020-07-02'
    """

    def __init__(self, first: Any, last: Any, bins: int = DEFAULT_BINS) -> None:
        low, high = _moment("first", first), _moment("last", last)
        if low > high:
            raise SchemaError(
                f"first must not be after last, got first={_iso(low)!r}, last={_iso(high)!r}: swap them."
            )
        set_field = object.__setattr__
        set_field(self, "first", _iso(low))
        set_field(self, "last", _iso(high))
        super().__init__(low, high + _DAY if high % _DAY == 0 else high, bins=bins)

    first: str
    last: str

    def _state(self) -> tuple[Any, ...]:
        return self.first, self.last, self.bins

    def __repr__(self) -> str:
        bins = f", bins={self.bins}" if self.bins != DEFAULT_BINS else ""
        return f"Date({self.first!r}, {self.last!r}{bins})"

    def border_text(self, cell: int) -> str:
        """Return the border right of a cell, as people write it."""
        return _iso(self.threshold_value(cell))


class Boolean(Nominal):
    """A truth value.

    True and False, 1 and 0, and the same as text; also yes and no, y and n, t and f, on and off, in any case.

    Examples
    --------
    >>> smoker = Boolean()
    >>> [smoker.cell_of(value) for value in (False, "true", 1, "No", None, "maybe")]
    [0, 1, 1, 0, 2, 3]
    """

    def __init__(self) -> None:
        super().__init__([False, True])

    def _state(self) -> tuple[Any, ...]:
        return ()

    def __repr__(self) -> str:
        return "Boolean()"

    def cell_of(self, value: object) -> int:
        """Return the cell of one value of any type; never raises."""
        reading = read_value(value)
        if reading.kind == "text":
            word = reading.text.strip().casefold()
            if word in TRUTH_WORDS:
                return TRUTH_WORDS[word]
        return super().cell_of(value)


def _moment(name: str, value: Any) -> float:
    reading = read_value(value)
    if reading.kind == "text":
        reading = read_text(reading.text)
    if reading.kind != "moment" or not np.isfinite(reading.number):
        raise SchemaError(f"{name} must be a date such as '2015-01-01', got {value!r}.")
    return reading.number


def _iso(seconds: float) -> str:
    moment = _EPOCH + dt.timedelta(seconds=seconds)
    return moment.date().isoformat() if seconds % _DAY == 0 else moment.isoformat()
