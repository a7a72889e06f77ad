"""Tables of every kind taken apart into the columns that a schema names.

A table is a data frame, a numpy array, anything that numpy can turn into one, or a sequence of rows. Frames
are matched by column name, arrays and sequences by position, as are frames none of whose labels is text.
Errors speak of shapes, types and column names only. That is why scikit-learn's `check_array` is not used: it
prints the array.

`door` reads tables block by block, `public_data` and `published` as a whole.
"""

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.schema.columns import ArrayColumn, Column, ListColumn, columns_of_rows
from dpforest.schema.errors import SchemaError
from dpforest.schema.frames import Frame, frame_of, series_of
from dpforest.schema.places import stream_of

__all__ = ["Table", "as_array", "column_names", "is_rows", "match_names", "read_table", "read_vector"]

_RESHAPE = (
    "Expected 2D array, got {} array instead. Reshape your data: X.reshape(-1, 1) for a single feature, "
    "X.reshape(1, -1) for a single record."
)


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

    def __len__(self) -> int:
        return len(self.columns[0])


def read_table(X: Any, names: Sequence[str], owner: str = "the schema", *, check_rows: bool = True) -> Table:
    """Take a table apart into the columns that a schema names.

    Parameters
    ----------
    X : data frame, ndarray or sequence of rows
        The table. The columns of a frame are matched by name, in any order.
    names : sequence of str
        Names of the columns to return.
    owner : str, default="the schema"
        Who expects these columns, for the error message.
    check_rows : bool, default=True
        Whether to refuse a sequence some of whose rows do not fit. For private rows say False: the error
        would depend on a row, so a row that does not fit is a record all of whose values are other.

    Returns
    -------
    Table
        One column per name.

    Raises
    ------
    SchemaError
        If the number or the names of the columns differ from `names`.
    """
    if is_rows(X):
        if check_rows:
            _check_rows(X, names, owner)
        return Table(columns_of_rows(X, names))
    frame = frame_of(X)
    if frame is not None:
        return Table([frame.column(place) for place in _places(frame, names, owner)])
    array = as_array(X, "X")
    if array.ndim != 2:
        raise SchemaError(_RESHAPE.format("scalar" if array.ndim == 0 else f"{array.ndim}D"))
    _check_width(array.shape[1], names, owner)
    if isinstance(array, np.ma.MaskedArray):
        masks = np.ma.getmaskarray(array).T
        return Table([ArrayColumn(*pair) for pair in zip(array.data.T, masks, strict=True)])
    is_matrix = array.dtype in (np.float32, np.float64) and array.flags.c_contiguous and array.flags.aligned
    return Table([ArrayColumn(column) for column in array.T], array if is_matrix else None)


def read_vector(y: Any) -> Column:
    """Read a target: a series, a 1-D array or sequence, or a table with a single column."""
    if is_rows(y):
        return ListColumn([_only_value(row) for row in y])
    series = series_of(y)
    if series is not None:
        return series
    frame = frame_of(y)
    if frame is not None:
        if len(frame.labels) != 1:
            raise SchemaError("y should be one column, got a data frame. Select the column of the target.")
        return frame.column(0)
    array = as_array(y, "y")
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise SchemaError(f"y should be a 1d array, got an array of {array.ndim} dimensions instead.")
    if isinstance(array, np.ma.MaskedArray):
        return ArrayColumn(array.data, np.ma.getmaskarray(array))
    return ArrayColumn(array)


def _only_value(row: Any) -> Any:
    """In a column vector written as rows, each row is its only value."""
    is_row = type(row) in (list, tuple) or (type(row) is np.ndarray and row.ndim == 1)
    return row[0] if is_row and len(row) == 1 else row


def is_rows(X: Any) -> bool:
    """Tell whether a table is a plain sequence, of which neither width nor types are declared."""
    return isinstance(X, Sequence) and not isinstance(X, str | bytes)


def column_names(X: Any) -> list[str] | None:
    """Return the names of a table's columns, or None if it has none that are text."""
    frame = stream_of(X) or frame_of(X)
    labels = [] if frame is None else frame.labels if isinstance(frame, Frame) else frame.names
    if not any(isinstance(label, str) for label in labels):
        return None
    return [str(label) for label in labels]


def as_array(X: Any, name: str) -> NDArray[Any]:
    """Return anything but a frame or a sequence as an array; no error message tells a value."""
    sparse = sys.modules.get("scipy.sparse")  # if nobody imported it, nobody made a sparse matrix
    if sparse is not None and sparse.issparse(X):
        raise TypeError(f"Sparse data was passed for {name}, but dense data is required. Use '.toarray()'.")
    try:
        array = X if isinstance(X, np.ma.MaskedArray) else np.asarray(X)
    except Exception:
        # Libraries that refuse may show values, and chain what showed them.
        raise SchemaError(f"{name} cannot be read as an array. Convert it first.") from None
    if array.dtype.kind == "c":
        raise SchemaError("Complex data not supported. Pass real and imaginary parts as two features.")
    if array.dtype.kind == "V":
        raise SchemaError(f"{name} is a structured array. Make a data frame or a 2D array of it.")
    return array


def match_names(found: Sequence[Any], expected: Sequence[str]) -> list[int]:
    """Return the place of each expected name among the labels found, in any order.

    Labels in pandas may be numbers: column 0 is the feature "0". Labels that no schema knows are shown only
    beside some that it does know; where none is known they may well be the first record of a file without a
    header.
    """
    labels = [str(label) for label in found]
    if len(set(labels)) < len(labels):
        if max(Counter(found).values()) > 1:
            raise SchemaError("The table has several columns of the same name. Rename or drop them.")
        raise SchemaError("Some column labels of X differ in type only, such as 0 and '0'. Rename them.")
    lacking, unknown = sorted(set(expected) - set(labels)), sorted(set(labels) - set(expected))
    problems = [f"missing columns: {_listed(lacking)}"] if lacking else []
    if unknown:
        known = len(lacking) < len(expected)
        problems.append(
            f"columns not in the schema: {_listed(unknown)}" if known else "none of its columns is declared"
        )
    if problems:
        raise SchemaError(
            f"The columns of X do not match the schema; {'; '.join(problems)}. "
            "Rename, add or drop columns; their order does not matter."
        )
    return [labels.index(name) for name in expected]


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(map(repr, names[:10]))}{' ...' if len(names) > 10 else ''}"


def _places(frame: Frame, names: Sequence[str], owner: str) -> Sequence[int]:
    labels = list(frame.labels)
    if any(isinstance(label, str) for label in labels) or sorted(map(str, labels)) == sorted(names):
        return match_names(labels, names)
    _check_width(len(labels), names, owner)
    return range(len(labels))


def _check_rows(X: Sequence[Any], names: Sequence[str], owner: str) -> None:
    widths = {len(row) if is_rows(row) or getattr(row, "ndim", 0) == 1 else None for row in X}
    if None in widths:
        raise SchemaError(_RESHAPE.format("1D"))
    if len(widths) > 1:
        raise SchemaError("X must have rows of equal length.")
    for width in widths:
        _check_width(width or 0, names, owner)


def _check_width(width: int, names: Sequence[str], owner: str) -> None:
    if width != len(names):
        raise SchemaError(f"X has {width} features, but {owner} is expecting {len(names)} features as input.")
