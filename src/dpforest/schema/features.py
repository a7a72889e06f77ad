"""The three kinds of feature, and the one function that matters: `cell_of`, from a value to its cell.

Every feature has the same axis of cells: `0 .. n_known-1` for its grid cells, levels or categories, then one
cell for missing values and one for all others. Missing and other are the two topmost cells, so a threshold at
`n_known - 1` separates the known from the unknown and nothing downstream needs a special case.

`schema` holds the features, `encoding` fills tables of cells with them.
"""

import bisect
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpforest.schema.declaration import (
    MAX_SIZE,
    Declaration,
    Level,
    check_interval,
    finite_number,
    level_list,
    plain_number,
    short_list,
    whole_number,
)
from dpforest.schema.errors import SchemaError
from dpforest.schema.matching import LevelTable
from dpforest.schema.transforms import TRANSFORMS, even_after
from dpforest.schema.values import as_number

__all__ = ["DEFAULT_BINS", "Feature", "LevelFeature", "Nominal", "Numeric", "Ordinal"]

DEFAULT_BINS = 256
# With cells this many units of rounding wide, the arithmetic guess of a cell is at most one cell away from
# the truth (at most five units of error in the guess and two in a border), which is what the kernel corrects.
_SMALLEST_CELL_IN_ULPS = 16


class _CellAxis(Declaration, ABC):
    """The axis of cells that all features share."""

    @property
    @abstractmethod
    def n_known(self) -> int:
        """Number of cells for declared values; also the cell of missing values."""

    @property
    def n_cells(self) -> int:
        """Number of cells, with the two for missing and other."""
        return self.n_known + 2

    @property
    def missing_cell(self) -> int:
        """Cell of missing values."""
        return self.n_known

    @property
    def other_cell(self) -> int:
        """Cell of values that are neither declared nor missing."""
        return self.n_known + 1

    @property
    def is_nominal(self) -> bool:
        """Whether the feature is split by subsets of cells instead of by a threshold `cell <= t`."""
        return False

    @abstractmethod
    def cell_of(self, value: object) -> int:
        """Return the cell of one value of any type; never raises."""


@dataclass(frozen=True, eq=False, repr=False)
class Numeric(_CellAxis):
    """A number on a uniform public grid.

    The grid cuts the declared domain into `bins` equal cells. A value's cell is the number of inner borders
    at or below it, so values beyond the domain, infinite ones too, fall into the end cells. None and NaN are
    missing. Numeric text is parsed; whatever is not a number goes to the cell 'other'. Dates and times, also
    as text in ISO form, are read as seconds since 1970 in UTC, times of day as seconds since midnight, time
    spans as seconds, booleans as 0 and 1.

    Parameters
    ----------
    low, high : float
        Public bounds, finite, `low < high`. They must not be read off the private rows.
    integer : bool, default=False
        The values are whole numbers. Widens the domain by one half on either side, so that the cells are
        shared out evenly among the whole numbers.
    bins : int, default=256
        Number of grid cells, a power of two from 2 to 65536.
    transform : {"log", "asinh"}, optional
        Makes cells equally wide on another scale, for columns with a heavy tail such as incomes: "log" for
        positive numbers, "asinh" if zero or negative numbers occur. By default they are equally wide as is.

    Examples
    --------
    >>> age = Numeric(0, 100, bins=4)
    >>> [age.cell_of(value) for value in (0, 24.9, 25, "60", 1e9, None, "old")]
    [0, 0, 1, 2, 3, 4, 5]
    >>> age.threshold_value(0)
    25.0
    """

    low: float
    high: float
    integer: bool = False
    bins: int = DEFAULT_BINS
    transform: str | None = None

    def __post_init__(self) -> None:
        set_field = object.__setattr__
        set_field(self, "low", finite_number("low", self.low))
        set_field(self, "high", finite_number("high", self.high))
        set_field(self, "bins", whole_number("bins", self.bins, 2, MAX_SIZE))
        if not isinstance(self.integer, bool | np.bool_):
            raise SchemaError(f"integer must be True or False, got {self.integer!r}.")
        set_field(self, "integer", bool(self.integer))
        if self.bins & (self.bins - 1):
            raise SchemaError(f"bins must be a power of two such as 64, 256 or 4096, got {self.bins}.")
        check_interval(self.low, self.high)
        if self.integer and not (self.low.is_integer() and self.high.is_integer()):
            raise SchemaError(
                f"bounds of whole numbers must be whole, got low={self.low!r}, high={self.high!r}."
            )
        if self.transform is not None and self.transform not in TRANSFORMS:
            raise SchemaError(f"transform must be None, 'log' or 'asinh', got {self.transform!r}.")
        largest = max(abs(self.domain_low), abs(self.domain_low + self.bins * self.cell_width))
        too_fine = self.cell_width < _SMALLEST_CELL_IN_ULPS * math.ulp(largest)
        if (too_fine and self.is_even) or math.isinf(1 / self.cell_width):
            raise SchemaError(
                f"{self.bins} bins between low={self.low!r} and high={self.high!r} are finer than doubles "
                "can tell apart. Use fewer bins, or shift and scale the column."
            )
        _ = self.borders  # now: made when a row first needs it, a fitted model would tell that one did

    def __repr__(self) -> str:
        integer = ", integer=True" if self.integer else ""
        bins = f", bins={self.bins}" if self.bins != DEFAULT_BINS else ""
        transform = f", transform={self.transform!r}" if self.transform is not None else ""
        return f"Numeric({plain_number(self.low)}, {plain_number(self.high)}{integer}{bins}{transform})"

    @property
    def n_known(self) -> int:
        """Number of grid cells; also the cell of missing values."""
        return self.bins

    @property
    def is_even(self) -> bool:
        """Whether all cells of the grid are equally wide."""
        return self.transform is None

    @property
    def domain_low(self) -> float:
        """Left end of the grid."""
        return self.low - 0.5 if self.integer else self.low

    @property
    def cell_width(self) -> float:
        """Width of a grid cell."""
        high = self.high + 0.5 if self.integer else self.high
        return (high - self.domain_low) / self.bins

    @cached_property
    def borders(self) -> NDArray[np.float64]:
        """The `bins - 1` inner borders of the grid; a border belongs to the cell on its right."""
        if self.transform is not None:
            high = self.high + 0.5 if self.integer else self.high
            return even_after(self.transform, self.domain_low, high, self.bins)
        return self.domain_low + np.arange(1, self.bins, dtype=np.float64) * self.cell_width

    def cell_of(self, value: object) -> int:
        """Return the cell of one value of any type; never raises."""
        number = as_number(value)
        if number is None:
            return self.other_cell
        return self.missing_cell if math.isnan(number) else bisect.bisect_right(self.borders, number)

    def threshold_value(self, cell: int) -> float:
        """Return the public border right of a cell, for reports and exports.

        For every finite number `x`, `cell_of(x) <= cell` exactly when `x < threshold_value(cell)`. Right of
        the last grid cell there is no border, all known values lie on its left, so the answer is infinity.

        Parameters
        ----------
        cell : int
            A grid cell, from 0 to `bins - 1`.

        Returns
        -------
        float
            The border.

        Examples
        --------
        >>> Numeric(0, 15, integer=True, bins=16).threshold_value(3), Numeric(0, 1, bins=2).threshold_value(1)
        (3.5, inf)
        """
        if not 0 <= cell < self.bins:
            raise SchemaError(
                f"a grid of {self.bins} bins has thresholds right of cells 0 to {self.bins - 1}."
            )
        return float(self.borders[cell]) if cell < self.bins - 1 else math.inf

    def border_text(self, cell: int) -> str:
        """Return the border right of a cell, as people write it."""
        return f"{self.threshold_value(cell):g}"


class LevelFeature(_CellAxis):
    """What ordinal and nominal features share: cells found by matching values with a public list."""

    @property
    @abstractmethod
    def _levels(self) -> tuple[Level, ...]:
        """The declared values in the order of their cells."""

    @property
    def n_known(self) -> int:
        """Number of declared values; also the cell of missing values."""
        return len(self._levels)

    @cached_property
    def table(self) -> LevelTable:
        """Where each declared value is found."""
        return LevelTable(self._levels)

    def cell_of(self, value: object) -> int:
        """Return the cell of one value of any type; never raises."""
        return self.table.cell_of(value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({short_list(self._levels)})"


@dataclass(frozen=True, eq=False, repr=False)
class Ordinal(LevelFeature):
    """A short public list of values with an order, split by thresholds along it.

    Values match levels by text, by number or as the same moment; unknown values go silently to the cell
    'other'.

    Parameters
    ----------
    levels : sequence of str, int, float or bool
        The values from lowest to highest.

    Examples
    --------
    >>> size = Ordinal(["small", "medium", "large"])
    >>> [size.cell_of(value) for value in ("small", "large", None, "huge")]
    [0, 2, 3, 4]
    """

    levels: Sequence[Level]

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", level_list("levels", self.levels))
        _ = self.table  # now, as above

    @property
    def _levels(self) -> tuple[Level, ...]:
        return tuple(self.levels)


@dataclass(frozen=True, eq=False, repr=False)
class Nominal(LevelFeature):
    """A public list of values without an order, split by subsets.

    Values match categories by text, by number or as the same moment; unknown values go silently to the cell
    'other'. A text such as "?" is a category if it is declared and 'other' if it is not; only None, NaN (also
    as text), NA and NaT are missing.

    Parameters
    ----------
    categories : sequence of str, int, float or bool
        The values, in the order in which their cells are numbered.

    Examples
    --------
    >>> ward = Nominal(["A", "B", "C"])
    >>> [ward.cell_of(value) for value in ("A", "C", float("nan"), "?")]
    [0, 2, 3, 4]
    """

    categories: Sequence[Level]

    def __post_init__(self) -> None:
        object.__setattr__(self, "categories", level_list("categories", self.categories))
        _ = self.table  # now, as above

    @property
    def _levels(self) -> tuple[Level, ...]:
        return tuple(self.categories)

    @property
    def is_nominal(self) -> bool:
        """Whether the feature is split by subsets of cells instead of by a threshold `cell <= t`."""
        return True


Feature = Numeric | Ordinal | Nominal
"""What a schema accepts as a feature."""
