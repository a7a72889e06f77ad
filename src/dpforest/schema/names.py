"""What a value would be called if it were a category: a text that follows from the value alone.

Needed where categories are looked for instead of declared. `Nominal` finds the value again by that text, or
as the number that it reads as.
"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

from dpforest.schema.columns import Coded, Numbers, Part, doubles
from dpforest.schema.declaration import plain_number
from dpforest.schema.values import read_text, read_value

LONGEST_NAME = 100


def name_of(value: object) -> str | None:
    """Return what a value would be called, or None if it is missing or has no name.

    A number is written as short as it can be; text is its own name if it has from 1 to 100 printable
    characters. Dates, times and everything else have none.

    Examples
    --------
    >>> [name_of(value) for value in ("A", 3.0, True, None, "nan", "", [1])]
    ['A', '3', '1', None, None, None, None]
    """
    reading = read_value(value)
    if reading.kind == "number":
        return _name_of_number(reading.number)
    if reading.kind != "text" or not 0 < len(reading.text) <= LONGEST_NAME or not reading.text.isprintable():
        return None
    return None if read_text(reading.text).kind == "missing" else reading.text


def _name_of_number(number: float) -> str | None:
    return str(plain_number(number)) if math.isfinite(number) else None


def count_names(part: Part) -> Counter[str]:
    """Count the rows of a part by what their values would be called; those without a name are left out.

    Examples
    --------
    >>> sorted(count_names(["b", None, "a", "b"]).items())
    [('a', 1), ('b', 2)]
    """
    if isinstance(part, Numbers):  # few distinct ones, perhaps, of many rows
        distinct, rows = np.unique(doubles(part.values), return_counts=True)
        names = _names_of(Numbers(distinct, part.kind))
    elif isinstance(part, Coded):
        names = _names_of(part.values)
        rows = np.bincount(part.codes[part.codes >= 0], minlength=len(names))
    else:
        names, rows = _names_of(part), np.ones(len(part), np.int64)
    found: Counter[str] = Counter()
    for name, n in zip(names, rows.tolist(), strict=True):
        if name is not None and n:
            found[name] += n
    return found


def _names_of(part: Part) -> list[str | None]:
    if isinstance(part, Numbers):
        known = part.kind == "number"
        return [_name_of_number(number) if known else None for number in doubles(part.values).tolist()]
    if isinstance(part, Coded):
        names = [*_names_of(part.values), None]  # the last for the code -1
        return [names[code] for code in part.codes.tolist()]
    return [name_of(value) for value in part]
