"""Dates, times of day and time spans as seconds, whatever type carries them.

A moment is the same moment as a Python date or datetime, a pandas or numpy time of any unit, an Arrow tick or
a text in ISO form; one record may turn the others' carrier into another. So all of them become whole
microseconds, rounded down, and then `whole seconds + microseconds / 10**6`, computed alike for one value and
for many.

Used by `values` for single values, by `columns`, `frames` and `arrow` for columns of times.
"""

import datetime as dt
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["moment_seconds", "seconds_of_ticks", "seconds_of_times", "span_seconds", "time_of_day_seconds"]

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND = dt.timedelta(microseconds=1)
_NOT_A_TIME = np.iinfo(np.int64).min
_WHOLE_SECONDS = {"s": 1, "m": 60, "h": 3600, "D": 86_400, "W": 604_800}
# How many ticks make a second, as a power of ten.
_DECIMALS = {"ms": 3, "us": 6, "ns": 9, "ps": 12, "fs": 15, "as": 18}
# Moments further away than this many years are infinitely far; only numpy's units of years and months
# reach them, and numpy's own calendar wraps around there.
_MOST_YEARS = 10**9


def moment_seconds(value: dt.date) -> float:
    """Return seconds since 1970 in UTC; a time without a zone is taken as UTC, a date as its midnight."""
    if not isinstance(value, dt.datetime):
        value = dt.datetime(value.year, value.month, value.day)
    moment = value if value.utcoffset() is not None else value.replace(tzinfo=dt.UTC)
    return _seconds((moment - _EPOCH) // _MICROSECOND)


def span_seconds(value: dt.timedelta) -> float:
    """Return the length of a time span."""
    return _seconds(value // _MICROSECOND)


def time_of_day_seconds(value: dt.time) -> float:
    """Return seconds since midnight, in the clock's own zone."""
    whole = (value.hour * 60 + value.minute) * 60 + value.second
    return _seconds(whole * 10**6 + value.microsecond)


def _seconds(microseconds: int) -> float:
    whole, rest = divmod(microseconds, 10**6)
    return float(whole) + rest / 1e6


def seconds_of_times(times: NDArray[Any]) -> NDArray[np.float64] | None:
    """Return an array of datetime64 or timedelta64 in seconds, NaN for NaT.

    Parameters
    ----------
    times : ndarray of datetime64 or timedelta64
        Of any unit, multiple and byte order.

    Returns
    -------
    ndarray of float64, or None
        None where the unit has no fixed length: time spans in years, months or no unit.

    Examples
    --------
    >>> seconds_of_times(np.array(["1970-01-02", "NaT"], dtype="M8[ns]"))
    array([86400.,    nan])
    """
    unit, count = np.datetime_data(times.dtype)
    ticks = times.astype(times.dtype.newbyteorder("=")).view(np.int64)
    if unit in _WHOLE_SECONDS or unit in _DECIMALS:
        return seconds_of_ticks(ticks, unit, count)
    if times.dtype.kind == "M" and unit in ("Y", "M"):
        months_per_tick = count * (12 if unit == "Y" else 1)
        far = 12 * _MOST_YEARS // months_per_tick
        near = np.clip(ticks, -far, far) * months_per_tick
        seconds = near.view("M8[M]").astype("M8[D]").view(np.int64).astype(np.float64) * 86_400.0
        seconds[ticks > far], seconds[ticks < -far] = np.inf, -np.inf
        return np.where(ticks == _NOT_A_TIME, np.nan, seconds)
    return np.full(len(ticks), np.nan) if (ticks == _NOT_A_TIME).all() else None


def seconds_of_ticks(ticks: NDArray[np.int64], unit: str, count: int = 1) -> NDArray[np.float64]:
    """Return `count * ticks` units in seconds, NaN for the smallest integer, which is numpy's NaT.

    Examples
    --------
    >>> seconds_of_ticks(np.array([1_500_000_999, -1]), "ns")
    array([ 1.5e+00, -1.0e-06])
    """
    if unit in _WHOLE_SECONDS:
        seconds = ticks.astype(np.float64) * float(_WHOLE_SECONDS[unit] * count)
    else:
        # Python's integers where a product could leave 64 bits.
        whole = ticks if count == 1 else ticks.astype(object) * count
        finer = _DECIMALS[unit] - 6
        micros = whole // 10**finer if finer > 0 else whole
        per_second = 10 ** min(6, _DECIMALS[unit])
        floor = micros // per_second
        seconds = floor.astype(np.float64) + (micros - floor * per_second).astype(np.float64) / per_second
    return np.where(ticks == _NOT_A_TIME, np.nan, seconds)
