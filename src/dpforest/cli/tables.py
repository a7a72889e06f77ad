"""Files of rows on the command line: how they are opened, what their header may be used for, what is written.

`schema`, `plan`, `fit` and `predict` call these functions. Rows are read by `dpforest.schema.files`; every
field of a CSV file is text, given its meaning by the schema, one value at a time.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from dpforest.schema import Schema
    from dpforest.schema.columns import Column
    from dpforest.schema.files import Files
    from dpforest.schema.streams import Stream

_T = TypeVar("_T")


@dataclass(frozen=True)
class Reading:
    """How a file of rows is read, as the options of a command say.

    Parameters
    ----------
    delimiter, missing, quote, encoding, decimal
        As in `dpforest.schema.delimited.TextFile`; None takes the default.
    """

    delimiter: str | None = None
    missing: tuple[str, ...] = ()
    quote: str | None = None
    encoding: str | None = None
    decimal: str | None = None

    def open(self, path: Path, schema: Schema | None = None, target: str | None = None) -> Files:
        """Open a file, a folder or a pattern; nothing but the names of columns is read.

        Parameters
        ----------
        path : Path
            Where the rows are.
        schema : Schema, optional
            Tells which columns hold numbers, for the decimal sign.
        target : str, optional
            Name of the column to predict.
        """
        from dpforest.schema import Numeric, Range
        from dpforest.schema.files import open_files

        options: dict[str, Any] = {}
        for name in ("quote", "encoding", "decimal"):
            if getattr(self, name) is not None:
                options[name] = getattr(self, name)
        if schema is not None:
            numbers = [name for name, feature in schema.features.items() if isinstance(feature, Numeric)]
            if target is not None and isinstance(schema.target, Range):
                numbers.append(target)
            options["numbers"] = tuple(numbers)
        return open_files(path, self.delimiter, self.missing, **options)


def table_options(command: Callable[..., _T]) -> Callable[..., _T]:
    """Decorate a command with the options that say how a file of rows is read; it gets them as `reading`."""

    @wraps(command)
    def with_reading(**options: Any) -> _T:
        given = {field.name: options.pop(field.name) for field in fields(Reading)}
        return command(**options, reading=Reading(**given))

    decorated: Callable[..., _T] = with_reading
    for option in (
        click.option(
            "--decimal", metavar="CHARACTER", help="Before the decimals in a CSV file; default point."
        ),
        click.option("--encoding", metavar="NAME", help="Of a CSV file, such as cp1252; default UTF-8."),
        click.option(
            "--quote", metavar="CHARACTER", help='Around fields of a CSV file; default ", empty for none.'
        ),
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
        decorated = option(decorated)
    return decorated


def column_types(path: Path, reading: Reading) -> dict[str, str | None]:
    """Return names and declared types of the columns for a draft, without reading a row.

    A draft shows the names, so they must look like names: a file without a header has a record in its place.
    Names that read as values (numbers, truth values, dates), that are empty or repeated are refused, and are
    not shown in the refusal.

    Parameters
    ----------
    path : Path
        The file.
    reading : Reading
        For CSV.

    Returns
    -------
    dict of name to {"integer", "numeric", "categorical", None}
        None where the file declares no type, as in CSV.
    """
    from dpforest.schema import SchemaError
    from dpforest.schema.files import ArrowFile
    from dpforest.schema.values import read_text

    file = reading.open(path).files[0]
    if isinstance(file, ArrowFile):
        return {field.name: _kind(field.type) for field in file.schema}
    names = list(file.names)
    if len(set(names)) < len(names) or any(
        not name.strip() or read_text(name).kind != "other" for name in names
    ):
        raise SchemaError(
            f"the first line of {path} must name every column once. An empty name, a repeated one, or one "
            "that reads as a number, a truth value or a date may be a record; name such columns in a "
            "--dictionary."
        )
    return dict.fromkeys(names)


def read_values(file: Stream, names: Sequence[str]) -> dict[str, list[Any]]:
    """Read whole columns of a file as Python values, to copy them into an answer."""
    columns: dict[str, list[Any]] = {name: [] for name in names}
    for pieces in file.read(names) if names else ():
        for values, piece in zip(columns.values(), pieces, strict=True):
            values.extend(plain_values(piece))
    return columns


def plain_values(column: Column) -> list[Any]:
    """Return a column as Python values, to copy it into an answer."""
    from dpforest.schema.arrow import ArrowColumn
    from dpforest.schema.columns import items
    from dpforest.schema.values import UNREADABLE

    found: Any = column.read(0, len(column))
    if isinstance(column, ArrowColumn):
        found = items(len(column), lambda place: column.values[place].as_py(), column.values.to_pylist)
    return [None if value is UNREADABLE else _printable(value) for value in found]


def _printable(value: Any) -> Any:
    """Replace bytes that were no text by the sign for that."""
    return (
        value.encode("utf-8", "surrogateescape").decode("utf-8", "replace") if type(value) is str else value
    )


def read_public_rows(path: Path, reading: Reading) -> Any:
    """Read a whole public table; the types of CSV columns are guessed from their values."""
    from dpforest.schema.delimited import TextFile
    from dpforest.schema.files import ArrowFile

    file = reading.open(path).files[0]
    pyarrow = _pyarrow()
    if isinstance(file, ArrowFile):
        columns = dict(zip(file.names, zip(*file.read(file.names), strict=True), strict=True))
        return pyarrow.table(
            {
                name: pyarrow.chunked_array([piece.values for piece in pieces])
                for name, pieces in columns.items()
            }
        )
    assert isinstance(file, TextFile)
    arrow_csv = import_module("pyarrow.csv")
    return arrow_csv.read_csv(
        path,
        read_options=arrow_csv.ReadOptions(encoding=file.encoding),
        parse_options=arrow_csv.ParseOptions(
            delimiter=file.delimiter, quote_char=file.quote or False, newlines_in_values=True
        ),
        convert_options=arrow_csv.ConvertOptions(
            null_values=["", *file.missing], strings_can_be_null=True, decimal_point=file.decimal
        ),
    )


def write_columns(
    path: Path, pieces: Iterable[Mapping[str, Sequence[Any]]], types: Mapping[str, Any] | None = None
) -> None:
    """Write a table, piece by piece, in the format that the name of the file asks for.

    Parameters
    ----------
    path : Path
        Where to.
    pieces : iterable of mappings of name to values
        Rows that follow each other, at least one piece; all have the same columns.
    types : mapping, optional
        Arrow types of columns, as far as they are known; others are told from the first piece.
    """
    from dpforest.modelfile.files import write_file
    from dpforest.schema.files import ArrowFile, open_file

    file = open_file(path)
    is_arrow = isinstance(file, ArrowFile)
    write_file(path, _arrow_bytes(pieces, file, types or {}) if is_arrow else _text_bytes(pieces, file))


def _text_bytes(pieces: Iterable[Mapping[str, Sequence[Any]]], file: Any) -> Iterator[bytes]:
    for number, columns in enumerate(pieces):
        out = io.StringIO()
        writer = csv.writer(out, delimiter=file.delimiter, lineterminator="\n")
        if number == 0:
            writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
        yield out.getvalue().encode()


def _arrow_bytes(
    pieces: Iterable[Mapping[str, Sequence[Any]]], file: Any, types: Mapping[str, Any]
) -> Iterator[bytes]:
    pyarrow, written = _pyarrow(), _Written()
    writer: Any = None
    for columns in pieces:
        part = pyarrow.table(
            {name: pyarrow.array(values, types.get(name)) for name, values in columns.items()}
        )
        if writer is None:
            types = dict(zip(part.schema.names, part.schema.types, strict=True))
            sink = pyarrow.PythonFile(written, "w")
            parquet, ipc = import_module("pyarrow.parquet"), import_module("pyarrow.ipc")
            writer = (parquet.ParquetWriter if file.is_parquet else ipc.new_file)(sink, part.schema)
        writer.write_table(part)
        yield written.take()
    writer.close()
    yield written.take()


class _Written(io.RawIOBase):
    """Bytes that a library wrote and nobody has taken yet."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._place = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def write(self, data: Any) -> int:
        self._parts.append(bytes(data))
        self._place += len(self._parts[-1])
        return len(self._parts[-1])

    def take(self) -> bytes:
        parts, self._parts = self._parts, []
        return b"".join(parts)


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
        raise ImportError("this kind of file needs pyarrow: pip install 'dpforest[frames]'") from missing
