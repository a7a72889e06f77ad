"""The forms in which rows reach `fit`: arrays of several types, lists, data frames and files.

Each function takes the columns (names and types, the target last), a list of rows and a list of labels. It
hands every value over as it is or, where a column of one type cannot hold it, as that type's nearest value or
as missing: by itself, never because of another row. Else two tables would not be neighbours any more before
anyone reads them. Libraries of data frames are imported when they are asked for.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import numpy as np

from dpforest.schema.files import open_file

Kinds: TypeAlias = dict[str, type]
Form: TypeAlias = Callable[[Kinds, list[Any], list[Any]], tuple[Any, Any]]


def _floats(dtype: str) -> Form:
    def make(kinds: Kinds, rows: list[Any], labels: list[Any]) -> tuple[Any, Any]:
        X = np.array(rows, np.float64).reshape(len(rows), len(kinds) - 1).astype(dtype)
        return X, np.array(labels, np.float64).astype(dtype)

    return make


def _objects(kinds: Kinds, rows: list[Any], labels: list[Any]) -> tuple[Any, Any]:
    X, y = np.empty((len(rows), len(kinds) - 1), object), np.empty(len(labels), object)
    X[:], y[:] = rows if rows else X, labels
    return X, y


def _lists(kinds: Kinds, rows: list[Any], labels: list[Any]) -> tuple[Any, Any]:
    return rows if rows else np.empty((0, len(kinds) - 1), object), labels


def _columns(kinds: Kinds, rows: list[Any]) -> dict[str, list[Any]]:
    return {name: [row[at] for row in rows] for at, name in enumerate(list(kinds)[:-1])}


def _typed_columns(kinds: Kinds, rows: list[Any], labels: list[Any]) -> dict[str, list[Any]]:
    """Return all columns, the target too, with the values that are of their type; others are missing."""

    def typed(value: Any, kind: type) -> Any:
        if kind is float and isinstance(value, int | float):
            return float(value)
        return value if type(value) is kind else None

    columns = {**_columns(kinds, rows), list(kinds)[-1]: labels}
    return {name: [typed(value, kinds[name]) for value in values] for name, values in columns.items()}


def _pandas(kinds: Kinds, rows: list[Any], labels: list[Any]) -> tuple[Any, Any]:
    pd: Any = import_module("pandas")

    def column(values: list[Any]) -> Any:
        """Let pandas find a type, unless it would change a value: 2**53 + 1 is no double."""
        found = pd.Series(values)
        same = [a is b or a == b or (pd.isna(a) and pd.isna(b)) for a, b in zip(found, values, strict=True)]
        return found if all(same) else pd.Series(values, dtype=object)

    columns = {name: column(values) for name, values in _columns(kinds, rows).items()}
    return pd.DataFrame(columns), column(labels)


def _pandas_nullable(kinds: Kinds, rows: list[Any], labels: list[Any]) -> tuple[Any, Any]:
    return _pandas_of({float: "Float64", int: "Int64", bool: "boolean", str: "string"}, kinds, rows, labels)


def _pandas_categories(kinds: Kinds, rows: list[Any], labels: list[Any]) -> tuple[Any, Any]:
    return _pandas_of(dict.fromkeys((float, int, bool, str), "category"), kinds, rows, labels)


def _pandas_of(types: dict[type, str], kinds: Kinds, rows: list[Any], labels: list[Any]) -> tuple[Any, Any]:
    pd: Any = import_module("pandas")
    columns = _typed_columns(kinds, rows, labels)
    *features, target = (pd.Series(pd.array(columns[name], types[kind])) for name, kind in kinds.items())
    return pd.DataFrame(dict(zip(kinds, features, strict=False))), target


def _pandas_numbered(kinds: Kinds, rows: list[Any], labels: list[Any]) -> tuple[Any, Any]:
    X, y = _pandas(kinds, rows, labels)
    return X.set_axis(range(len(kinds) - 1), axis=1), y


def _polars(kinds: Kinds, rows: list[Any], labels: list[Any]) -> tuple[Any, Any]:
    pl: Any = import_module("polars")
    types = {float: pl.Float64, int: pl.Int64, bool: pl.Boolean, str: pl.String}
    columns = _typed_columns(kinds, rows, labels)
    *features, target = (pl.Series(name, columns[name], types[kind]) for name, kind in kinds.items())
    return pl.DataFrame(features), target


def _arrow(kinds: Kinds, rows: list[Any], labels: list[Any]) -> tuple[Any, Any]:
    pa: Any = import_module("pyarrow")
    types = {float: pa.float64(), int: pa.int64(), bool: pa.bool_(), str: pa.string()}
    columns = _typed_columns(kinds, rows, labels)
    *features, target = (pa.array(columns[name], types[kind]) for name, kind in kinds.items())
    return pa.table(features, names=list(kinds)[:-1]), target


def _arrow_in_pieces(kinds: Kinds, rows: list[Any], labels: list[Any]) -> tuple[Any, Any]:
    pa: Any = import_module("pyarrow")
    cut = len(rows) // 3
    parts = [_arrow(kinds, rows[part], labels[part]) for part in (slice(cut), slice(cut, None))]
    features, targets = zip(*parts, strict=True)
    return pa.concat_tables(features), pa.chunked_array(targets)


def _file(suffix: str) -> Form:
    def make(kinds: Kinds, rows: list[Any], labels: list[Any]) -> tuple[Any, Any]:
        path = Path(_folder().name) / f"table.{suffix}"  # read before the next one is written
        if suffix == "csv":
            lines = [list(kinds), *([*row, label] for row, label in zip(rows, labels, strict=True))]
            with path.open("w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows([_field(value) for value in line] for line in lines)
        else:
            features, target = _arrow(kinds, rows, labels)
            table = features.append_column(list(kinds)[-1], target)
            if suffix == "parquet":
                import_module("pyarrow.parquet").write_table(table, path)
            else:
                import_module("pyarrow.feather").write_feather(table, str(path))
        stream = open_file(path)
        return stream.select(list(kinds)[:-1]), stream.column(list(kinds)[-1])

    return make


@cache
def _folder() -> TemporaryDirectory[str]:
    """Return a folder that lives as long as the process."""
    return TemporaryDirectory(prefix="dpforest-replay-")


def _field(value: Any) -> str:
    """Write a value on one line: in files of text a line is a row."""
    return "" if value is None else str(value).replace("\n", " ")


ANY_SOURCES: dict[str, Form] = {
    "objects": _objects,
    "lists": _lists,
    "pandas": _pandas,
    "pandas, nullable": _pandas_nullable,
    "pandas, categories": _pandas_categories,
    "pandas, numbered": _pandas_numbered,
    "polars": _polars,
    "Arrow": _arrow,
    "Arrow, in pieces": _arrow_in_pieces,
    "CSV": _file("csv"),
    "Parquet": _file("parquet"),
    "Feather": _file("feather"),
}
NUMBER_SOURCES: dict[str, Form] = {
    "float64": _floats("float64"),
    "float32": _floats("float32"),
    "float16": _floats("float16"),
    **ANY_SOURCES,
}
MIXED_SOURCES = ANY_SOURCES
