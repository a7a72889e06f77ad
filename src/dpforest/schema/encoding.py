"""Turns parts of columns into numbers and cells, each value by the law of `values`.

`Encoder` fills blocks of cells: numbers go through the compiled kernel, everything else value by value, once
per distinct value where that is cheap. `door` feeds it, `target` uses `numbers_of` and `cells_of` for a
single column.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpforest.schema.columns import Coded, Numbers, Part, doubles
from dpforest.schema.features import Feature, LevelFeature, Numeric
from dpforest.schema.values import as_number

__all__ = ["Encoder", "cell_type", "cells_of", "numbers_of"]

# Rows are gathered into a buffer of this many numbers (256 KiB), which stays in the cache of one core.
_BUFFER_CELLS = 32_768
# So many are encoded at a time: enough for wide registers, and few enough for the first cache.
_CELLS_AT_A_TIME = 320
_NUMBER_TYPES = frozenset({float, int, bool, type(None)})


def cell_type(n_cells: int) -> "np.dtype[Any]":
    """Return the smallest unsigned type for cells `0 .. n_cells - 1`.

    Examples
    --------
    >>> cell_type(256), cell_type(258), cell_type(65538)
    (dtype('uint8'), dtype('uint16'), dtype('uint32'))
    """
    return np.dtype(np.uint8 if n_cells <= 256 else np.uint16 if n_cells <= 65_536 else np.uint32)


def numbers_of(part: Part) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Read a part as numbers, as `as_number` reads each value.

    Parameters
    ----------
    part : Part
        Values.

    Returns
    -------
    numbers : ndarray of float64
        The numbers, NaN where missing or other.
    other : ndarray of intp
        Places of values that are neither missing nor numbers.

    Examples
    --------
    >>> numbers_of(["2.5", None, "word"])
    (array([2.5, nan, nan]), array([2]))
    """
    nowhere = np.empty(0, dtype=np.intp)
    if isinstance(part, Numbers):
        return doubles(part.values), nowhere
    if isinstance(part, Coded):
        numbers, other = numbers_of(part.values)
        is_other = np.zeros(len(numbers) + 1, dtype=np.bool_)  # one more for the code -1
        is_other[other] = True
        return np.append(numbers, np.nan)[part.codes], np.flatnonzero(is_other[part.codes])
    kinds = set(map(type, part))
    try:
        if kinds <= _NUMBER_TYPES:
            return np.array(part, dtype=np.float64), nowhere
        if kinds <= {str, type(None)} or kinds <= {bytes, type(None)}:
            known = np.array([value is not None for value in part], dtype=np.bool_)
            numbers = np.full(len(part), np.nan)
            numbers[known] = [float(value) for value in part if value is not None]
            return numbers, nowhere
    except (ValueError, OverflowError):
        pass  # a text that is no number, or a number beyond doubles
    return _numbers_one_by_one(part)


def _numbers_one_by_one(values: list[Any]) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    numbers = np.full(len(values), np.nan)
    other = []
    # Only text is remembered: whatever else is the key of a dictionary may raise there.
    seen: dict[str | bytes, float | None] = {}
    for place, value in enumerate(values):
        if type(value) is str or type(value) is bytes:
            number = seen[value] if value in seen else seen.setdefault(value, as_number(value))
        else:
            number = as_number(value)
        if number is None:
            other.append(place)
        else:
            numbers[place] = number
    return numbers, np.array(other, dtype=np.intp)


def cells_of(part: Part, feature: Feature) -> NDArray[np.int64]:
    """Return the cell of each value of a part, as `feature.cell_of` does; for levels, not for grids.

    Examples
    --------
    >>> from dpforest.schema import Nominal
    >>> cells_of(["a", None, "z"], Nominal(["b", "a"]))
    array([1, 2, 3])
    """
    assert isinstance(feature, LevelFeature)
    if isinstance(part, Numbers):
        return feature.table.cells_of(numbers_of(part)[0], part.kind)
    if isinstance(part, Coded):
        cells = np.append(cells_of(part.values, feature), feature.missing_cell)
        found: NDArray[np.int64] = cells[part.codes]
        return found
    seen: dict[str | bytes, int] = {}

    def cell(value: object) -> int:
        if type(value) is str or type(value) is bytes:
            return seen[value] if value in seen else seen.setdefault(value, feature.cell_of(value))
        return feature.cell_of(value)

    return np.fromiter(map(cell, part), dtype=np.int64, count=len(part))


class _Plan(NamedTuple):
    """The public numbers that the kernel needs, for a few rows alike or per looked-up feature."""

    low: NDArray[np.float64]
    width: NDArray[np.float64]
    scale: NDArray[np.float64]
    last: NDArray[np.float64]
    lookups: NDArray[np.int64]
    key_start: NDArray[np.int64]
    keys: NDArray[np.float64]
    key_cells: NDArray[np.int64]


class Encoder:
    """From blocks of columns to blocks of cells.

    Parameters
    ----------
    features : sequence of Feature
        The feature of each column.
    dtype : dtype
        Type of the cells, from `cell_type`.
    """

    def __init__(self, features: Sequence[Feature], dtype: "np.dtype[Any]") -> None:
        self._features = tuple(features)
        self._dtype = dtype
        self._plan = _plan(self._features)
        # The kernel knows grids of equal cells; what it says of others is overwritten.
        self._uneven = {
            j: feature
            for j, feature in enumerate(self._features)
            if isinstance(feature, Numeric) and not feature.is_even
        }

    def encode_matrix(self, x: NDArray[Any], cells: NDArray[Any]) -> None:
        """Fill in the cells of a row-major array of native floats, one column per feature."""
        from dpforest.schema.kernels import cell_kernel

        cell_kernel(x.dtype, self._dtype)(_flat(x), x.shape[1], *self._plan, _flat(cells))
        for j, feature in self._uneven.items():
            cells[:, j] = _cells_by_borders(x[:, j], feature)

    def encode(self, parts: Sequence[Part], cells: NDArray[Any]) -> None:
        """Fill in the cells of one part per feature, all of the same length."""
        numbers: dict[int, NDArray[Any]] = {}
        rest: dict[int, tuple[Any, Any]] = {}
        for j, (part, feature) in enumerate(zip(parts, self._features, strict=True)):
            if isinstance(part, Numbers) and (part.kind == "number" or isinstance(feature, Numeric)):
                numbers[j] = part.values
            elif isinstance(feature, Numeric):
                numbers[j], other = numbers_of(part)
                rest[j] = (other, feature.other_cell)
            else:
                rest[j] = (slice(None), cells_of(part, feature))
        if numbers:
            self._fill(numbers, cells)
        for j, (rows, found) in rest.items():
            cells[rows, j] = found

    def _fill(self, numbers: dict[int, NDArray[Any]], cells: NDArray[Any]) -> None:
        """Gather rows from columns that may lie anywhere in memory, and run the kernel on them."""
        from dpforest.schema.kernels import cell_kernel

        kernel = cell_kernel(np.dtype(np.float64), self._dtype)
        n_rows, n_features = cells.shape
        size = max(1, _BUFFER_CELLS // n_features)
        # Features that are not numbers stay NaN here; their cells are overwritten afterwards.
        buffer = np.full((min(size, n_rows), n_features), np.nan)
        with np.errstate(all="ignore"):  # as in `doubles`
            for first in range(0, n_rows, size):
                block = buffer[: min(n_rows, first + size) - first]
                for j, values in numbers.items():
                    block[:, j] = values[first : first + size]
                kernel(_flat(block), n_features, *self._plan, _flat(cells[first : first + size]))
                for j in self._uneven.keys() & numbers.keys():
                    cells[first : first + size, j] = _cells_by_borders(block[:, j], self._uneven[j])


def _flat(array: NDArray[Any]) -> NDArray[Any]:
    """Return all entries of a row-major array behind each other, not a copy of them."""
    assert array.flags.c_contiguous
    return array.reshape(-1)


def _cells_by_borders(numbers: NDArray[Any], feature: Numeric) -> NDArray[np.int64]:
    """Return the cell of each number as `Numeric.cell_of` does: how many borders are at or below it."""
    exact = numbers.astype(np.float64)
    cells = np.searchsorted(feature.borders, exact, side="right")
    return np.where(np.isnan(exact), feature.missing_cell, cells)


def _plan(features: Sequence[Feature]) -> _Plan:
    grids = [(f.domain_low, f.cell_width) if isinstance(f, Numeric) else (0.0, 1.0) for f in features]
    width = np.array([width for _, width in grids])
    tables = {j: feature.table for j, feature in enumerate(features) if isinstance(feature, LevelFeature)}
    keys = [table.numbers for table in tables.values()]
    key_cells = [table.number_cells for table in tables.values()]
    n_rows = max(1, _CELLS_AT_A_TIME // len(grids))
    last = np.array([feature.n_known - 1 for feature in features], dtype=np.float64)
    return _Plan(
        low=np.tile([low for low, _ in grids], n_rows),
        width=np.tile(width, n_rows),
        scale=np.tile(1.0 / width, n_rows),
        last=np.tile(last, n_rows),
        lookups=np.array(list(tables), dtype=np.int64),
        key_start=np.cumsum([0, *map(len, keys)], dtype=np.int64),
        keys=np.concatenate([np.empty(0), *keys]),
        key_cells=np.concatenate([np.empty(0, dtype=np.int64), *key_cells]),
    )
