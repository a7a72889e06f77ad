"""Finds a value in a public list of categories, levels or labels.

A value matches a category when their texts are equal, or when both read as numbers and the numbers are equal.
So the category "1" is found by the text "1", the integer 1 and the float 1.0 that an integer column becomes
when one record lacks a value. Numbers are compared as numbers, text as text first and then as a number,
booleans by their text ("True") first and then as 1 and 0.

`features` and `target` hold one `LevelTable` per declared list; `encoding` hands its sorted numbers to the
kernel.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpforest.schema.declaration import Level
from dpforest.schema.values import as_text, exact_number, is_boolean, is_missing, is_real

__all__ = ["LevelTable"]

# Below this size whole numbers are exact in doubles, so comparing doubles is comparing the numbers
# themselves.
_EXACT = 2.0**53


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
        self._by_number: dict[int | float, int] = {}
        # "1" and "01" may both be declared: the number 1 then means the one that is written as Python writes
        # it.
        for plain in (True, False):
            for text, cell in self._by_text.items():
                number = exact_number(levels[cell])
                if number is not None and plain == (text == str(number)):
                    self._by_number.setdefault(number, cell)
        self.doubles_are_exact = all(-_EXACT < number < _EXACT for number in self._by_number)
        """Whether a column of numbers may be matched as doubles without confusing two numbers."""
        order = sorted(self._by_number) if self.doubles_are_exact else []
        self.numbers: NDArray[np.float64] = np.array(order, dtype=np.float64)
        """Sorted numbers among the levels, for binary search."""
        self.number_cells: NDArray[np.int64] = np.array([self._by_number[n] for n in order], dtype=np.int64)
        """Cell of each of `numbers`."""

    def cell_of(self, value: object) -> int:
        """Return the cell of one value of any type."""
        if is_missing(value):
            return self.n_known
        if is_real(value):
            return self._number_cell(value)
        text = as_text(value)
        cell = None if text is None else self._by_text.get(text)
        if cell is None:
            return self._number_cell(value if is_boolean(value) else text)
        return cell

    def _number_cell(self, value: object) -> int:
        number = exact_number(value)
        return self.n_known + 1 if number is None else self._by_number.get(number, self.n_known + 1)
