"""Finds a value in a public list of categories, levels or labels.

A value matches a category when their texts are equal, when both read as numbers and the numbers are equal as
doubles, or when both read as the same moment or time of day. So the category "1" is found by the text "1",
the integer 1 and the float 1.0 that an integer column becomes when one record lacks a value; the category
"True" by the text "true", by True and by the 1.0 that a column of booleans becomes beside a number.

`features` and `target` hold one `LevelTable` per declared list; `encoding` hands its sorted numbers to the
kernel.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.schema.declaration import Level
from dpforest.schema.values import Reading, read_text, read_value

__all__ = ["LevelTable"]

_FEW_KEYS = 8  # compared with all numbers one after the other, sooner than each number is looked up

_Keys = tuple[NDArray[np.float64], NDArray[np.int64]]


class LevelTable:
    """Cells of a public list: position in the list, then one cell for missing and one for other.

    Parameters
    ----------
    levels : sequence of str, int, float or bool
        The declared values, no two of them alike.

    Examples
    --------
    >>> table = LevelTable(["1", "2", "many"])
    >>> [table.cell_of(value) for value in ("2", 2, 2.0, "2.0", "many", None, "few")]
    [1, 1, 1, 1, 2, 3, 4]
    """

    def __init__(self, levels: Sequence[Level]) -> None:
        self.n_known = len(levels)
        self._by_text = {str(level): cell for cell, level in enumerate(levels)}
        self._by_number: dict[tuple[str, float], int] = {}
        readings = [read_text(level) if isinstance(level, str) else read_value(level) for level in levels]
        # "1", "01" and "True" may all be declared: the number 1 then means the one that is written as Python
        # writes it, else the first one that is a number, else the truth value.
        order = sorted(range(len(levels)), key=lambda cell: _rank(levels[cell], readings[cell]))
        for cell in order:
            reading = readings[cell]
            if reading.kind in ("number", "moment", "clock") and math.isfinite(reading.number):
                self._by_number.setdefault((reading.kind, reading.number), cell)
        self._keys = {kind: self._sorted(kind) for kind in ("number", "moment", "clock")}

    def _sorted(self, kind: str) -> _Keys:
        found = sorted((number, cell) for (of, number), cell in self._by_number.items() if of == kind)
        numbers, cells = ([pair[side] for pair in found] for side in (0, 1))
        return np.array(numbers, dtype=np.float64), np.array(cells, dtype=np.int64)

    @property
    def numbers(self) -> NDArray[np.float64]:
        """Sorted numbers among the levels, for binary search."""
        return self._keys["number"][0]

    @property
    def number_cells(self) -> NDArray[np.int64]:
        """Cell of each of `numbers`."""
        return self._keys["number"][1]

    def written(self) -> tuple[dict[str, int], list[tuple[str, float, int]]]:
        """Return the cell of every text, and of every number, moment or time of day, for exports."""
        return dict(self._by_text), [(kind, number, at) for (kind, number), at in self._by_number.items()]

    def cell_of(self, value: object) -> int:
        """Return the cell of one value of any type."""
        reading = read_value(value)
        if reading.kind == "text":
            cell = self._by_text.get(reading.text)
            if cell is not None:
                return cell
            reading = read_text(reading.text)
        if reading.kind == "missing":
            return self.n_known
        return self._by_number.get((reading.kind, reading.number), self.n_known + 1)

    def cells_of(self, numbers: NDArray[Any], kind: str) -> NDArray[np.int64]:
        """Return the cells of an array of numbers, moments or times of day, NaN where missing."""
        keys, cells = self._keys[kind]
        numbers = numbers.astype(np.float64, copy=False)
        found = np.full(len(numbers), self.n_known + 1)
        if len(keys) <= _FEW_KEYS:
            for key, cell in zip(keys, cells, strict=True):
                np.copyto(found, cell, where=numbers == key)
        else:
            place = np.minimum(np.searchsorted(keys, numbers), len(keys) - 1)
            found = np.where(keys[place] == numbers, cells[place], found)
        np.copyto(found, self.n_known, where=np.isnan(numbers))
        return found


def _rank(level: Level, reading: Reading) -> int:
    if not isinstance(level, str):
        return 0
    if reading.kind != "number" or not math.isfinite(reading.number):
        return 0
    plain = str(int(reading.number)) if reading.number.is_integer() else repr(reading.number)
    if level == plain:
        return 1
    return 2 if level.strip()[:1] not in ("T", "t", "F", "f") else 3
