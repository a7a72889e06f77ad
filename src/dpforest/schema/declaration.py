"""What every declared thing shares: exact equality, safe pickling, and the checks of declared values.

Used by `features` and `target` for their constructors and by `schema` for the feature names. All values seen
here are public, so the messages may show them.
"""

import math
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from dpforest.schema.errors import SchemaError

__all__ = [
    "MAX_SIZE",
    "Declaration",
    "Level",
    "check_interval",
    "finite_number",
    "level_list",
    "plain_number",
    "short_list",
    "whole_number",
]

MAX_SIZE = 65_536
"""Most grid cells, categories, labels or target levels one column may have."""

Level = str | int | float | bool


class Declaration:
    """Base of the frozen dataclasses of a schema."""

    def _state(self) -> tuple[Any, ...]:
        return tuple(getattr(self, field.name) for field in fields(self))  # type: ignore[arg-type]

    def __eq__(self, other: object) -> bool:
        # 1 == True == 1.0 in Python, yet as categories they match different texts; their reprs tell them
        # apart.
        return (
            isinstance(other, Declaration)
            and type(self) is type(other)
            and repr(self._state()) == repr(other._state())
        )

    def __hash__(self) -> int:
        return hash((type(self), repr(self._state())))

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        # Rebuilt by the constructor: derived tables are not stored, and a tampered pickle is checked again.
        return type(self), self._state()


def finite_number(name: str, value: Any) -> float:
    """Return a declared bound as a float, or say what is wrong with it."""
    if isinstance(value, bool | np.bool_ | str) or not isinstance(
        value, int | float | np.integer | np.floating
    ):
        raise SchemaError(f"{name} must be a number, got {value!r}.")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise SchemaError(f"{name} must be a finite number that fits a double, got {number!r}.")
    return number + 0.0  # -0.0 becomes 0.0: they are equal, but would be written differently


def whole_number(name: str, value: Any, smallest: int, largest: int) -> int:
    """Return a declared size as an int within its limits, or say what is wrong with it."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise SchemaError(f"{name} must be a whole number from {smallest} to {largest}, got {value!r}.")
    if not smallest <= value <= largest:
        raise SchemaError(f"{name} must be from {smallest} to {largest}, got {value}.")
    return int(value)


def level_list(name: str, values: Any) -> tuple[Level, ...]:
    """Return declared categories, levels or labels as a tuple of plain Python values in the given order."""
    for method in ("to_list", "tolist"):  # numpy arrays, pandas indexes, polars series
        if not isinstance(values, Sequence) and hasattr(values, method):
            values = getattr(values, method)()
    if isinstance(values, str | bytes) or not isinstance(values, Sequence):
        raise SchemaError(
            f"{name} must be a list, got {type(values).__name__}. Give a list such as ['a', 'b']."
        )
    if not 1 <= len(values) <= MAX_SIZE:
        raise SchemaError(
            f"{name} must have from 1 to {MAX_SIZE} entries, got {len(values)}. Group rare ones in advance."
        )
    return _distinct(name, [_level(name, value) for value in values])


def _level(name: str, value: Any) -> Level:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or (isinstance(value, float) and math.isnan(value)):
        raise SchemaError(f"{name} lists a missing value. Leave it out: missing has a cell of its own.")
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int) and not _fits_double(value):
        raise SchemaError(f"{name} lists a number that is too large for a double. Declare it as text.")
    if isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise SchemaError(f"{name} may hold text, finite numbers or booleans, got {value!r}.")


def _fits_double(value: int) -> bool:
    try:
        float(value)
    except OverflowError:
        return False
    return True


def _distinct(name: str, levels: list[Level]) -> tuple[Level, ...]:
    seen: dict[object, Level] = {}
    for level in levels:
        # The text finds "1" beside 1; the double finds 1 beside 1.0 and True, and 2**53 beside 2**53 + 1.
        number = None if isinstance(level, str) else float(level)
        for key in {("text", str(level)), ("text", level) if number is None else ("number", number)}:
            if key not in seen:
                seen[key] = level
                continue
            first = seen[key]
            if number is not None and not isinstance(first, str) and first != level:
                raise SchemaError(
                    f"{name} lists {first!r} and {level!r}, which are the same number as doubles, by which "
                    "numbers are compared. Declare them as text."
                )
            raise SchemaError(f"{name} lists {level!r} twice (as {first!r} before). Remove one of them.")
    return tuple(levels)


def plain_number(value: float) -> int | float:
    """Return 3 for 3.0, for messages and JSON that read as they were written."""
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def check_interval(low: float, high: float) -> None:
    """Raise unless `low < high` and their distance is a finite double."""
    if not low < high:
        hint = "swap them" if low > high else "a column with a single value says nothing, leave it out"
        raise SchemaError(
            f"low must be below high, got low={plain_number(low)}, high={plain_number(high)}: {hint}."
        )
    if not math.isfinite(high - low):
        raise SchemaError(f"low={low!r} and high={high!r} are too far apart. Scale the column.")


def short_list(levels: Sequence[Level]) -> str:
    """Show a list of levels, cut after a few."""
    shown = ", ".join(repr(level) for level in levels[:4])
    return f"[{shown}, ... {len(levels)} in all]" if len(levels) > 5 else str(list(levels))
