"""Data frames taken apart into columns: the only module that knows the libraries.

pandas, polars and pyarrow are read in their own words, column by column, never through a type common to
several columns. Frames of other libraries that narwhals knows are read value by value.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from dpforest.schema.arrow import ArrowColumn
from dpforest.schema.columns import ArrayColumn, Coded, Column, ListColumn, Numbers, Part, items
from dpforest.schema.errors import SchemaError
from dpforest.schema.times import seconds_of_ticks

__all__ = ["Frame", "frame_of", "series_of"]


@dataclass(frozen=True)
class Frame:
    """A data frame of any library.

    Parameters
    ----------
    labels : sequence
        The labels of its columns, of any type in pandas.
    column : callable
        From a place to the column there.
    """

    labels: Sequence[Any]
    column: Callable[[int], Column]


def frame_of(X: Any) -> Frame | None:
    """Return a data frame as a `Frame`, and None for anything else."""
    X = _native(X)
    pandas, polars, arrow = (sys.modules.get(name) for name in ("pandas", "polars", "pyarrow"))
    if pandas is not None and isinstance(X, pandas.DataFrame):
        if X.columns.nlevels > 1 or any(isinstance(label, tuple) for label in X.columns):
            raise SchemaError("The column labels of X have several levels. Flatten them to one name each.")
        return Frame(list(X.columns), lambda j: _pandas_column(X.iloc[:, j]))
    if polars is not None and isinstance(X, polars.DataFrame):
        return Frame(X.columns, lambda j: PolarsColumn(X.to_series(j)))
    if arrow is not None and isinstance(X, arrow.Table | arrow.RecordBatch):
        return Frame(X.schema.names, lambda j: ArrowColumn(X.column(j)))
    frame = _by_narwhals(X)
    if isinstance(frame, nw.LazyFrame):
        raise TypeError("X is a lazy frame; pass X.collect() or the matching call of its library.")
    if isinstance(frame, nw.DataFrame):
        return Frame(frame.columns, lambda j: _any_series(frame.get_column(frame.columns[j])))
    return None


def series_of(y: Any) -> Column | None:
    """Return a series or Arrow array as a column, and None for anything else."""
    y = _native(y)
    pandas, polars, arrow = (sys.modules.get(name) for name in ("pandas", "polars", "pyarrow"))
    if pandas is not None:
        if isinstance(y, pandas.Index | pandas.api.extensions.ExtensionArray):
            y = pandas.Series(y)  # numpy might ask for one type that not every value has
        if isinstance(y, pandas.Series):
            return _pandas_column(y)
    if polars is not None and isinstance(y, polars.Series):
        return PolarsColumn(y)
    if arrow is not None and isinstance(y, arrow.Array | arrow.ChunkedArray):
        return ArrowColumn(y)
    series = _by_narwhals(y)
    return _any_series(series) if isinstance(series, nw.Series) else None


def _native(X: Any) -> Any:
    return X.to_native() if isinstance(X, nw.DataFrame | nw.Series) else X


def _by_narwhals(X: Any) -> Any:
    try:
        return nw.from_native(X, pass_through=True, allow_series=True)
    except nw.exceptions.DuplicateError:
        raise SchemaError("The table has several columns of the same name. Rename or drop them.") from None


def _any_series(series: Any) -> Column:
    return ListColumn(items(len(series), series.__getitem__, series.to_list))


# --- pandas -------------------------------------------------------------------------------------------------


def _pandas_column(series: Any) -> Column:
    dtype = series.dtype
    if isinstance(dtype, np.dtype):
        return ArrayColumn(series.to_numpy())
    name = type(dtype).__name__
    if name == "CategoricalDtype":
        return PandasCategories(series)
    if name == "ArrowDtype" or (name == "StringDtype" and dtype.storage.startswith("pyarrow")):
        return ArrowColumn(series.array.__arrow_array__())
    if name == "DatetimeTZDtype":
        return ArrayColumn(series.dt.tz_convert(None).to_numpy())
    if name == "SparseDtype":
        return ArrayColumn(np.asarray(series.array))
    if hasattr(dtype, "numpy_dtype") and dtype.kind in "biuf":  # the nullable types
        return ArrayColumn(series.to_numpy(dtype=np.float64, na_value=np.nan))
    return ListColumn(items(len(series), series.iloc.__getitem__, lambda: list(series)))


@dataclass(frozen=True)
class PandasCategories:
    """A categorical column of pandas.

    Parameters
    ----------
    series : pandas.Series
        The column; its categories may be anything.
    """

    series: Any

    def __len__(self) -> int:
        return len(self.series)

    def read(self, start: int, stop: int) -> Part:
        """Return some rows."""
        part = self.series.iloc[start:stop]
        if len(part.cat.categories) > len(part):
            part = part.cat.remove_unused_categories()
        categories = _pandas_column(part.cat.categories.to_series())
        return Coded(part.cat.codes.to_numpy(), categories.read(0, len(categories)))


# --- polars -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PolarsColumn:
    """A polars series.

    Parameters
    ----------
    series : polars.Series
        The series.
    """

    series: Any

    def __len__(self) -> int:
        return len(self.series)

    def read(self, start: int, stop: int) -> Part:
        """Return some rows."""
        polars = sys.modules["polars"]
        part, dtype = self.series.slice(start, stop - start), self.series.dtype
        if dtype == polars.Boolean:
            part = part.cast(polars.Float64)
        elif dtype == polars.Time:
            ticks = ArrayColumn(part.to_physical().fill_null(np.iinfo(np.int64).min).to_numpy())
            return Numbers(seconds_of_ticks(ticks.values, "ns"), "clock")
        elif dtype in (polars.Categorical, polars.Enum, polars.String):
            # As bytes: a text that came in without a check may be no text.
            part = part.cast(polars.String).cast(polars.Binary)
        if part.dtype.is_temporal() or part.dtype.is_float() or _is_short_integer(part.dtype):
            return ArrayColumn(part.to_numpy()).read(0, len(part))
        return items(len(part), part.__getitem__, part.to_list)


def _is_short_integer(dtype: Any) -> bool:
    return bool(dtype.is_integer()) and str(dtype) not in ("Int128", "UInt128")  # unknown to numpy
