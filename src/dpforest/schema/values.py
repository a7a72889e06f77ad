"""The law of a single value: what it is, as a number, as a moment, as text.

Everything else in this room is a faster way to get the same answer for many values at once. The answer for a
value depends on that value alone, never on its neighbours in the column, on the column's type or on the
library that carries it. So a table whose column turned from integers to floats because one record lacks a
value, or to text because one record holds a word, keeps the cells of all its other records.

* Numbers are doubles: 1, 1.0, True, Decimal(1) and a time span of one second are the same value.
* Dates and times are moments, in seconds since 1970; times of day are seconds since midnight.
* Text is text, and what it reads as where it is not found as text: "1" as 1, "true" as 1, "2020-01-31" as
  that day. Bytes are the text that they encode in UTF-8.
* None, NaN, NA and NaT are missing. Whatever is left, lists and bytes that are no text among it, is other.

No function here raises or warns on any value. Used by `features`, `matching`, `target` and `encoding`.
"""

import datetime as dt
import math
import numbers
import threading
import warnings
from contextlib import suppress
from decimal import Decimal
from typing import Any, Literal, NamedTuple

import numpy as np

from dpforest.schema.times import moment_seconds, seconds_of_times, span_seconds, time_of_day_seconds

__all__ = ["MISSING", "OTHER", "UNREADABLE", "Reading", "as_number", "read_text", "read_value"]


class Reading(NamedTuple):
    """What a value is: a kind, with a double or a text that goes with it."""

    kind: Literal["missing", "number", "moment", "clock", "text", "other"]
    number: float = math.nan
    text: str = ""


MISSING, OTHER = Reading("missing"), Reading("other")
UNREADABLE = object()
"""Stands for a value that its source could not hand out; it is read as other."""

# pandas' markers, known by name so that pandas is never imported.
_MISSING_TYPES = frozenset({"NAType", "NaTType"})
_STRANGERS = threading.Lock()
_TRUTH = {"True": 1.0, "true": 1.0, "TRUE": 1.0, "False": 0.0, "false": 0.0, "FALSE": 0.0}


def read_value(value: object) -> Reading:
    """Tell what a value of any type is.

    Examples
    --------
    >>> read_value(True).number, read_value(b"a").text, read_value(None).kind, read_value([1]).kind
    (1.0, 'a', 'missing', 'other')
    >>> read_value(dt.date(1970, 1, 2)) == read_value(np.datetime64("1970-01-02T00", "h"))
    True
    """
    try:
        return _read(value)
    except Exception:
        # Whatever a strange object raises, the record gets the cell 'other': an error here would depend on a
        # row.
        return OTHER


def _read(value: object) -> Reading:
    # Methods of the base classes are called by name, since a subclass may have overridden them.
    if value is None or type(value).__name__ in _MISSING_TYPES:
        return MISSING
    if isinstance(value, str):
        return Reading("text", text=str.__str__(value))
    if isinstance(value, float):
        return _number(float.__float__(value))
    if isinstance(value, bool | np.bool_):
        return _number(1.0 if value else 0.0)
    if isinstance(value, dt.date | dt.time | dt.timedelta | np.datetime64 | np.timedelta64):
        return _time(value)
    if isinstance(value, int):
        return _number(_double(int.__int__(value)))
    if isinstance(value, bytes):
        return Reading("text", text=bytes.decode(value))
    if isinstance(value, Decimal):
        return MISSING if Decimal.is_nan(value) else _number(Decimal.__float__(value))
    if isinstance(value, np.floating | np.integer):
        return _number(float(value))
    if value is np.ma.masked:
        return MISSING
    if value is UNREADABLE or hasattr(type(value), "__iter__") or hasattr(type(value), "__len__"):
        return OTHER
    return _read_stranger(value)


def _read_stranger(value: object) -> Reading:
    # Code that nobody here knows runs now. What it warns about would depend on a row; one thread at a time,
    # because the list of warnings to ignore belongs to the whole process.
    with _STRANGERS, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if isinstance(value, numbers.Real):
            return _number(_double(value))
        return Reading("text", text=str.__str__(str(value)))


def _number(number: float) -> Reading:
    return MISSING if number != number else Reading("number", number)


def _double(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _time(value: object) -> Reading:
    # pandas' times are Python's, but finer and wider; as numpy's they are read in full.
    for exact in ("to_datetime64", "to_timedelta64"):
        if hasattr(value, exact):
            value = getattr(value, exact)()
    if isinstance(value, np.datetime64 | np.timedelta64):
        seconds = seconds_of_times(np.array([value]))
        if seconds is None:
            return OTHER
        if np.isnan(seconds[0]):
            return MISSING
        return Reading("moment" if isinstance(value, np.datetime64) else "number", float(seconds[0]))
    if isinstance(value, dt.timedelta):
        return Reading("number", span_seconds(value))
    if isinstance(value, dt.time):
        return Reading("clock", time_of_day_seconds(value))
    assert isinstance(value, dt.date)
    return Reading("moment", moment_seconds(value))


def read_text(text: str) -> Reading:
    """Read a text as Python reads numbers, as a truth value, or as a date or time in ISO form.

    Examples
    --------
    >>> read_text("2.5").number, read_text("true").number, read_text("abc").kind, read_text("nan").kind
    (2.5, 1.0, 'other', 'missing')
    >>> read_text("2020-01-31 00:00:00") == read_value(dt.date(2020, 1, 31))
    True
    """
    try:
        return _number(float(text))
    except ValueError:
        pass
    if text in _TRUTH:
        return Reading("number", _TRUTH[text])
    if not text[:2].lstrip("T").isdigit():  # neither a year nor an hour
        return OTHER
    # What is no moment may be a time of day; what is neither is other.
    with suppress(Exception):
        return Reading("moment", moment_seconds(dt.datetime.fromisoformat(text)))
    with suppress(Exception):
        return Reading("clock", time_of_day_seconds(dt.time.fromisoformat(text))) if ":" in text else OTHER
    return OTHER


def as_number(value: object) -> float | None:
    """Read a value as a number: NaN if it is missing, None if it is not a number.

    Numeric text is parsed as Python parses it, booleans are 0 and 1, dates and times are seconds since 1970
    in UTC (a time without a zone is taken as UTC), times of day seconds since midnight, time spans seconds.
    Numbers too large for a double are infinite.

    Examples
    --------
    >>> as_number("2.5"), as_number(True), as_number(None), as_number("abc"), as_number(10**400)
    (2.5, 1.0, nan, None, inf)
    >>> as_number(dt.date(1970, 1, 2))
    86400.0
    """
    reading = read_value(value)
    if reading.kind == "text":
        reading = read_text(reading.text)
    return None if reading.kind == "other" else reading.number
