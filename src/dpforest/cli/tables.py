"""Files of rows: CSV, Parquet and Feather, read with pyarrow.

Every field of a CSV file is read as text and given its meaning by the schema, one value at a time. Letting a
reader guess the types of private columns would let one record change how all others are read: one word in a
column of numbers, and "007" is no longer 7.

`schema`, `plan`, `fit` and `predict` call these functions.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import click

_CSV, _TSV = (".csv", ".txt"), (".tsv", ".tab")
_PARQUET, _FEATHER = (".parquet", ".pq"), (".feather", ".arrow", ".ipc")
_T = TypeVar("_T")


def table_options(command: Callable[..., _T]) -> Callable[..., _T]:
    """Decorate a command with the options that say how a file of rows is read."""
    for option in (
        click.option(
            "--missing",
            multiple=True,
            metavar="TEXT",
            help="CSV field that means missing, besides an empty one.",
        ),
        click.option(
            "--delimiter", metavar="CHARACTER", help="Between the fields of a CSV file; default comma."
        ),
    ):
        command = option(command)
    return command


def column_types(path: Path, delimiter: str | None) -> dict[str, str | None]:
    """Return names and declared types of the columns, without reading a row.

    Parameters
    ----------
    path : Path
        The file.
    delimiter : str or None
        For CSV.

    Returns
    -------
    dict of name to {"integer", "numeric", "categorical", None}
        None where the file declares no type, as in CSV.
    """
    if not _is_text(path):
        fields = _arrow_schema(path)
        return {field.name: _kind(field.type) for field in fields}
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            names = next(csv.reader(file, delimiter=_delimiter(path, delimiter)), [])
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not UTF-8 text; convert it first.") from None
    from dpforest.schema import SchemaError

    if len(set(names)) < len(names) or not names:
        raise SchemaError(f"the first line of {path} must name every column once.")
    return dict.fromkeys(names)


def read_rows(path: Path, columns: Sequence[str], delimiter: str | None, missing: Sequence[str]) -> Any:
    """Read some columns of a table; CSV fields stay text.

    Parameters
    ----------
    path : Path
        The file.
    columns : sequence of str
        Which columns; they are there.
    delimiter, missing
        For CSV: the separator, and texts besides the empty one that mean missing.

    Returns
    -------
    pyarrow.Table
    """
    pyarrow = _pyarrow()
    if not _is_text(path):
        return _read_typed(path, list(columns))
    return _read_csv(
        path,
        delimiter,
        include_columns=list(columns),
        column_types=dict.fromkeys(columns, pyarrow.string()),
        null_values=["", *missing],
        strings_can_be_null=True,
    )


def read_public_rows(path: Path, delimiter: str | None, missing: Sequence[str]) -> Any:
    """Read a whole public table; the types of CSV columns are guessed from their values."""
    if not _is_text(path):
        return _read_typed(path, None)
    return _read_csv(path, delimiter, null_values=["", *missing], strings_can_be_null=True)


def write_columns(path: Path, columns: Mapping[str, Sequence[Any]]) -> None:
    """Write a table in the format that the name of the file asks for.

    Parameters
    ----------
    path : Path
        Where to.
    columns : mapping of name to values
        Columns of equal length.
    """
    if _is_text(path):
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, delimiter=_delimiter(path, None), lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))
        return
    frame = _pyarrow().table(dict(columns))
    if path.suffix.lower() in _PARQUET:
        import_module("pyarrow.parquet").write_table(frame, path)
    else:
        import_module("pyarrow.feather").write_feather(frame, str(path))


def _is_text(path: Path) -> bool:
    suffix = path.suffix.lower()
    if suffix not in (*_CSV, *_TSV, *_PARQUET, *_FEATHER):
        raise ValueError(f"{path}: the name must end in .csv, .tsv, .parquet or .feather.")
    return suffix in (*_CSV, *_TSV)


def _delimiter(path: Path, given: str | None) -> str:
    if given is not None and len(given) != 1:
        raise ValueError(f"a delimiter is one character, got {given!r}.")
    return given or ("\t" if path.suffix.lower() in _TSV else ",")


def _read_csv(path: Path, delimiter: str | None, **conversion: Any) -> Any:
    pyarrow, arrow_csv = _pyarrow(), import_module("pyarrow.csv")
    try:
        return arrow_csv.read_csv(
            path,
            parse_options=arrow_csv.ParseOptions(
                delimiter=_delimiter(path, delimiter),
                newlines_in_values=True,
                # Whether a line can be read is decided by that line alone, and silently.
                invalid_row_handler=lambda row: "skip",
            ),
            convert_options=arrow_csv.ConvertOptions(**conversion),
        )
    except pyarrow.ArrowInvalid:
        # pyarrow's message quotes the file.
        raise ValueError(f"{path} cannot be read as CSV: is it UTF-8, and is the delimiter right?") from None


def _read_typed(path: Path, columns: list[str] | None) -> Any:
    pyarrow = _pyarrow()
    try:
        if path.suffix.lower() in _PARQUET:
            return import_module("pyarrow.parquet").read_table(path, columns=columns)
        return import_module("pyarrow.feather").read_table(str(path), columns=columns)
    except pyarrow.ArrowInvalid:
        raise ValueError(f"{path} is not a {path.suffix} file.") from None


def _arrow_schema(path: Path) -> Any:
    pyarrow = _pyarrow()
    try:
        if path.suffix.lower() in _PARQUET:
            return import_module("pyarrow.parquet").read_schema(path)
        with pyarrow.memory_map(str(path)) as source:
            return import_module("pyarrow.ipc").open_file(source).schema
    except pyarrow.ArrowInvalid:
        raise ValueError(f"{path} is not a {path.suffix} file.") from None


def _kind(arrow_type: Any) -> str:
    types = import_module("pyarrow.types")
    if types.is_integer(arrow_type):
        return "integer"
    numeric = (types.is_floating, types.is_decimal, types.is_temporal)
    return "numeric" if any(test(arrow_type) for test in numeric) else "categorical"


def _pyarrow() -> Any:
    try:
        return import_module("pyarrow")
    except ImportError as missing:
        raise ImportError("files of rows need pyarrow: pip install 'dpforest[frames]'") from missing
