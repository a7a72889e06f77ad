"""The law of a single value: what counts as missing, as a number, as text.

Everything else in this room is a faster way to get the same answer for many values at once. The answer for a
value depends on that value alone, never on its neighbours in the column or on the column's type; so a table
whose column turned from integers to floats because one record lacks a value, or to text because one record
holds a word, keeps the cells of all its other records. No function here raises or warns on any value.

Used by `features`, `matching` and `columns`.
"""

import datetime as dt
import math
import numbers
from decimal import Decimal

import numpy as np

__all__ = ["as_number", "as_text", "exact_number", "is_boolean", "is_missing", "is_real"]

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND = dt.timedelta(microseconds=1)
# pandas' markers, known by name so that pandas is never imported.
_MISSING_TYPES = frozenset({"NAType", "NaTType"})
_TIMES = (dt.date, dt.timedelta, np.datetime64, np.timedelta64)


def is_missing(value: object) -> bool:
    """Tell whether a value is None, NaN, NA or NaT.

    Examples
    --------
    >>> is_missing(float("nan")), is_missing(None), is_missing("?"), is_missing("")
    (True, True, False, False)
    """
    if value is None:
        return True
    if isinstance(value, float | np.floating):
        return bool(value != value)
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    return type(value).__name__ in _MISSING_TYPES


def is_boolean(value: object) -> bool:
    """Tell whether a value is a Python or numpy boolean."""
    return isinstance(value, bool | np.bool_)


def is_real(value: object) -> bool:
    """Tell whether a value is of a real number type, booleans and time spans left out."""
    return (
        isinstance(value, numbers.Real | Decimal)
        and not is_boolean(value)
        and not isinstance(value, np.timedelta64)  # a numpy integer by inheritance
    )


def as_number(value: object) -> float | None:
    """Read a value as a number: NaN if it is missing, None if it is not a number.

    Numeric text is parsed as Python parses it, booleans are 0 and 1, dates and times are seconds since 1970
    in UTC (a time without a zone is taken as UTC), time spans are seconds. Numbers too large for a double are
    infinite.

    Examples
    --------
    >>> as_number("2.5"), as_number(True), as_number(None), as_number("abc"), as_number(10**400)
    (2.5, 1.0, nan, None, inf)
    >>> as_number(dt.date(1970, 1, 2))
    86400.0
    """
    if is_missing(value):
        return math.nan
    try:
        if isinstance(value, _TIMES):
            return _seconds(value)
        if isinstance(value, str | bytes) or is_boolean(value) or is_real(value):
            return float(value)  # type: ignore[arg-type]
    except OverflowError:
        return math.inf if value > 0 else -math.inf  # type: ignore[operator]
    except Exception:
        # Whatever a strange object raises, the record gets the cell 'other': an error here would depend on a
        # row.
        return None
    return None


def _seconds(value: object) -> float:
    if isinstance(value, np.datetime64):
        return int(value.astype("M8[us]").astype(np.int64)) / 1e6
    if isinstance(value, np.timedelta64):
        return int(value.astype("m8[us]").astype(np.int64)) / 1e6
    if isinstance(value, dt.timedelta):
        return float(value // _MICROSECOND) / 1e6
    if not isinstance(value, dt.datetime):
        assert isinstance(value, dt.date)
        value = dt.datetime.combine(value, dt.time())
    moment = value if value.tzinfo is not None else value.replace(tzinfo=dt.UTC)
    return float((moment - _EPOCH) // _MICROSECOND) / 1e6


def as_text(value: object) -> str | None:
    """Return the text of a value, or None where it has none.

    Examples
    --------
    >>> as_text("a"), as_text(b"a"), as_text(True), as_text(dt.date(2020, 1, 31))
    ('a', 'a', 'True', '2020-01-31')
    """
    try:
        return value.decode() if isinstance(value, bytes) else str(value)
    except Exception:
        # As above: a value that cannot be shown is 'other', not an error.
        return None


def exact_number(value: object) -> int | float | None:
    """Read a value or its text as a finite number without rounding whole numbers; None if it is not one.

    Examples
    --------
    >>> exact_number("9007199254740993"), exact_number("1.0"), exact_number("nan"), exact_number("a")
    (9007199254740993, 1.0, None, None)
    """
    if isinstance(value, int | np.integer) and not isinstance(value, np.timedelta64):
        return int(value)
    if isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            pass
    number = as_number(value)
    return number if number is not None and math.isfinite(number) else None
