"""Reads tables and columns of any kind: the only module that knows data frames.

A table is a data frame that narwhals reads (pandas, polars, pyarrow, ...), a numpy array or a sequence of
rows. It is taken apart into columns, each of one of four kinds that its type alone decides:

* number: real numbers, NaN where missing
* boolean, time: can be read as numbers, but categories are compared with their text
* value: everything else (text, categoricals, Python objects), read value by value

Frames are matched by column name, arrays by position. Errors speak of shapes, types and column names only.
That is why scikit-learn's `check_array` is not used: it prints the array.

`encoding` and `target` read columns, `public_data` looks at their kinds.
"""

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from dpforest.schema.errors import SchemaError

__all__ = ["ArrayColumn", "Column", "SeriesColumn", "Table", "frame_of", "read_table", "read_vector"]

Kind = Literal["number", "boolean", "time", "value"]


class Column(Protocol):
    """One column of a table, wherever it lives."""

    @property
    def kind(self) -> Kind:
        """How the column can be read."""

    def __len__(self) -> int:
        """Return the number of rows."""

    def numbers(self, start: int, stop: int) -> NDArray[Any]:
        """Return some rows as real numbers, NaN where missing; not for the kind 'value'."""

    def map(self, function: Callable[[object], float]) -> NDArray[np.float64]:
        """Apply a function of a single value to every row, once per distinct value where that is cheap."""


@dataclass(frozen=True)
class ArrayColumn:
    """A column of a numpy array, often a strided view."""

    values: NDArray[Any]

    def __len__(self) -> int:
        return len(self.values)

    @property
    def kind(self) -> Kind:
        """How the column can be read."""
        code = self.values.dtype.kind
        if code in "iuf":
            return "number"
        return "boolean" if code == "b" else "time" if code in "mM" else "value"

    def numbers(self, start: int, stop: int) -> NDArray[Any]:
        """Return some rows as real numbers, NaN where missing."""
        part = self.values[start:stop]
        if self.kind == "boolean":
            return part.astype(np.float64)
        if self.kind == "time":
            micros = part.astype(f"{part.dtype.kind}8[us]")
            return np.where(np.isnat(micros), np.nan, micros.astype(np.int64) / 1e6)
        return part

    def map(self, function: Callable[[object], float]) -> NDArray[np.float64]:
        """Apply a function of a single value to every row."""
        if self.kind == "boolean":
            return _map_booleans(self.values, function)
        values = self.values
        if values.dtype.kind in "mM" and np.datetime_data(values.dtype)[0] in ("ns", "ps", "fs", "as"):
            values = values.astype(f"{values.dtype.kind}8[us]")  # numpy lists finer times as bare integers
        return _map_list(values.tolist(), function)


@dataclass(frozen=True)
class SeriesColumn:
    """A column of a data frame."""

    series: nw.Series[Any]

    def __len__(self) -> int:
        return len(self.series)

    @property
    def kind(self) -> Kind:
        """How the column can be read."""
        dtype = self.series.dtype
        if dtype.is_numeric():
            return "number"
        if dtype == nw.Boolean:
            return "boolean"
        return "time" if dtype in (nw.Datetime, nw.Date, nw.Duration) else "value"

    def numbers(self, start: int, stop: int) -> NDArray[Any]:
        """Return some rows as real numbers, NaN where missing."""
        part = self.series[start:stop]
        if self.kind == "boolean":
            return _doubles(part.cast(nw.Int8))
        if self.kind == "time":
            micros = part.dt.total_microseconds() if part.dtype == nw.Duration else part.dt.timestamp("us")
            return _doubles(micros) / 1e6
        if part.dtype in (nw.Int128, nw.UInt128):  # unknown to numpy
            return _doubles(part)
        values = part.to_numpy()
        return values if values.dtype.kind in "iuf" else _doubles(part)

    def map(self, function: Callable[[object], float]) -> NDArray[np.float64]:
        """Apply a function of a single value to every row, once per distinct value in a column of text."""
        if self.kind == "boolean":
            return _map_booleans(self.numbers(0, len(self)), function)
        if self.series.dtype in (nw.String, nw.Categorical, nw.Enum):
            # A library that cannot match this column may say so with the column's values; then they are read
            # one by one instead.
            with suppress(Exception):
                return self._map_distinct(function)
        return _map_list(self.series.to_list(), function)

    def _map_distinct(self, function: Callable[[object], float]) -> NDArray[np.float64]:
        distinct = self.series.unique().drop_nulls().to_list()
        if not distinct or any(
            type(value) is not str for value in distinct
        ):  # pandas categories are anything
            return _map_list(self.series.to_list(), function)
        answers = [float(function(value)) for value in distinct]
        found = self.series.replace_strict(distinct, answers, return_dtype=nw.Float64)
        return np.where(self.series.is_null().to_numpy(), float(function(None)), _doubles(found))


def _doubles(series: nw.Series[Any]) -> NDArray[np.float64]:
    return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)


def _map_booleans(values: NDArray[Any], function: Callable[[object], float]) -> NDArray[np.float64]:
    answers = np.array([function(False), function(True), function(None)], dtype=np.float64)
    return answers[np.where(np.isnan(values), 2, values).astype(np.intp)]


def _map_list(values: list[Any], function: Callable[[object], float]) -> NDArray[np.float64]:
    # Only text is remembered: 1, 1.0 and True are the same dictionary key but not the same value.
    seen: dict[str, float] = {}

    def answer(value: object) -> float:
        if type(value) is not str:
            return function(value)
        if value not in seen:
            seen[value] = function(value)
        return seen[value]

    return np.fromiter(map(answer, values), dtype=np.float64, count=len(values))


@dataclass(frozen=True)
class Table:
    """A table taken apart.

    Parameters
    ----------
    columns : sequence of Column
        The columns in the order of the schema.
    matrix : ndarray of shape (n, d) or None
        The whole table where it already is a row-major array of native floats.
    """

    columns: Sequence[Column]
    matrix: NDArray[Any] | None = None


def read_table(X: Any, names: Sequence[str], owner: str = "the schema") -> Table:
    """Take a table apart into the columns that a schema names.

    Parameters
    ----------
    X : data frame, ndarray or sequence of rows
        The table. The columns of a frame are matched by name, in any order.
    names : sequence of str
        Names of the columns to return.
    owner : str, default="the schema"
        Who expects these columns, for the error message.

    Returns
    -------
    Table
        One column per name.

    Raises
    ------
    SchemaError
        If the number or the names of the columns differ from `names`.
    """
    frame = frame_of(X)
    if isinstance(frame, nw.LazyFrame):
        raise TypeError("X is a lazy frame; pass X.collect() or the matching call of its library.")
    if isinstance(frame, nw.DataFrame):
        labels = _labels_by_name(frame.columns, names)
        return Table([SeriesColumn(frame.get_column(labels[name])) for name in names])
    array = as_array(X, "X")
    if array.ndim != 2:
        found = "scalar" if array.ndim == 0 else f"{array.ndim}D"
        raise SchemaError(
            f"Expected 2D array, got {found} array instead. Reshape your data: X.reshape(-1, 1) for a single "
            "feature, X.reshape(1, -1) for a single record; rows must have equal length."
        )
    if array.shape[1] != len(names):
        raise SchemaError(
            f"X has {array.shape[1]} features, but {owner} is expecting {len(names)} features as input."
        )
    is_matrix = array.dtype in (np.float32, np.float64) and array.flags.c_contiguous and array.flags.aligned
    return Table([ArrayColumn(column) for column in array.T], array if is_matrix else None)


def read_vector(y: Any) -> Column:
    """Read a target: a series, a 1-D array or sequence, or a table with a single column."""
    native = frame_of(y)
    if isinstance(native, nw.Series):
        return SeriesColumn(native)
    if isinstance(native, nw.DataFrame) and len(native.columns) == 1:
        return SeriesColumn(native.get_column(native.columns[0]))
    if isinstance(native, nw.DataFrame | nw.LazyFrame):
        raise SchemaError("y should be one column, got a data frame. Select the column of the target.")
    array = as_array(y, "y")
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise SchemaError(f"y should be a 1d array, got an array of shape {array.shape} instead.")
    return ArrayColumn(array)


def frame_of(X: Any) -> Any:
    """Return a frame or series as narwhals sees it, and anything else as it is."""
    arrow = sys.modules.get("pyarrow")
    if arrow is not None and isinstance(X, arrow.RecordBatch):
        X = arrow.Table.from_batches([X])  # what readers of Parquet files hand out
    try:
        return nw.from_native(X, pass_through=True, allow_series=True)
    except nw.exceptions.DuplicateError:
        raise SchemaError("The table has several columns of the same name. Rename or drop them.") from None


def _labels_by_name(found: Sequence[Any], expected: Sequence[str]) -> dict[str, Any]:
    # Labels in pandas may be numbers: column 0 is the feature "0".
    labels = {str(label): label for label in found}
    if len(labels) < len(found):
        raise SchemaError("Some column labels of X differ in type only, such as 0 and '0'. Rename them.")
    problems = [
        f"{what}: {', '.join(map(repr, names[:10]))}{' ...' if len(names) > 10 else ''}"
        for what, names in (
            ("missing columns", sorted(set(expected) - set(labels))),
            ("columns not in the schema", sorted(set(labels) - set(expected))),
        )
        if names
    ]
    if problems:
        raise SchemaError(
            f"The columns of X do not match the schema; {'; '.join(problems)}. "
            "Rename, add or drop columns; their order does not matter."
        )
    return labels


def as_array(X: Any, name: str) -> NDArray[Any]:
    """Return anything but a frame as an array; no error message tells a value."""
    sparse = sys.modules.get("scipy.sparse")  # if nobody imported it, nobody made a sparse matrix
    if sparse is not None and sparse.issparse(X):
        raise TypeError(f"Sparse data was passed for {name}, but dense data is required. Use '.toarray()'.")
    if isinstance(X, np.ma.MaskedArray):
        X = np.ma.filled(X.astype(np.float64 if X.dtype.kind in "iuf" else object), np.nan)
    if isinstance(X, Sequence) and not isinstance(X, str | bytes):
        # numpy would choose one type for all cells, so that one record's text turned all others' numbers into
        # text.
        try:
            return np.array(X, dtype=object)
        except ValueError:
            raise SchemaError(f"{name} must have rows of equal length.") from None
    array = np.asarray(X)
    if array.dtype.kind == "c":
        raise SchemaError("Complex data not supported. Pass real and imaginary parts as two features.")
    return array
