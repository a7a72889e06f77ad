"""Files of rows as streams: CSV and TSV without any library, Parquet and Feather with pyarrow.

The name of a file tells its format. `open_files` takes a file, a folder or a pattern and reads one file after
the other, in the order of their names; before the first row it has looked at the columns of all of them.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path, PurePath
from typing import Any, Protocol

from dpforest.schema.arrow import ArrowColumn
from dpforest.schema.columns import Column
from dpforest.schema.delimited import TextFile
from dpforest.schema.errors import SchemaError
from dpforest.schema.streams import Stream, places_of

__all__ = [
    "ArrowFile", "Files", "broken_column", "check_columns", "is_text", "kind_of", "open_file", "open_files",
]  # fmt: skip

_CSV, _TSV = (".csv", ".txt"), (".tsv", ".tab")
_PARQUET, _FEATHER = (".parquet", ".pq"), (".feather", ".arrow", ".ipc")
_SUFFIXES = (*_CSV, *_TSV, *_PARQUET, *_FEATHER)
_BATCH_ROWS = 65_536


def open_file(
    path: Path, delimiter: str | None = None, missing: Sequence[str] = (), **options: Any
) -> TextFile | ArrowFile:
    """Open a file of rows.

    Parameters
    ----------
    path : Path
        Its name must end in .csv, .tsv, .parquet or .feather (or .txt, .tab, .pq, .arrow, .ipc).
    delimiter : str, optional
        Between the fields of a text file; a comma or, in .tsv and .tab, a tabulator by default.
    missing : sequence of str
        Fields of a text file that mean missing, besides the empty one.
    **options
        Further options of `TextFile` (quote, encoding, decimal, numbers); not for other formats.

    Returns
    -------
    TextFile or ArrowFile
        The table; nothing but the names of its columns has been read.
    """
    if is_text(path):
        default = "\t" if path.suffix.lower() in _TSV else ","
        return TextFile(path, default if delimiter is None else delimiter, tuple(missing), **options)
    return ArrowFile(path)


def open_files(
    place: Path, delimiter: str | None = None, missing: Sequence[str] = (), **options: Any
) -> Files:
    """Open a file, all files of a folder, or those that fit a pattern; see `open_file` for the options.

    Files and folders whose names begin with a dot or an underscore are not taken from folders.
    """
    if place.is_dir():
        inside = [path for path in place.rglob("*") if path.suffix.lower() in _SUFFIXES and path.is_file()]
        hidden = [path for path in inside if any(p[0] in "._" for p in path.relative_to(place).parts)]
        found = sorted(set(inside) - set(hidden))
    elif glob.has_magic(str(place)) and not place.exists():
        found = sorted(map(Path, glob.glob(str(place), recursive=True)))
    else:
        found = [place]
    if not found:
        raise FileNotFoundError(f"{place}: there is no .csv, .tsv, .parquet or .feather file.")
    return Files(place, [open_file(path, delimiter, missing, **options) for path in found])


def is_text(path: Path) -> bool:
    """Tell whether a file is a text file, by its name."""
    suffix = path.suffix.lower()
    if suffix not in _SUFFIXES:
        raise ValueError(f"{path}: the name must end in .csv, .tsv, .parquet or .feather.")
    return suffix in (*_CSV, *_TSV)


# What columns of files that belong together must agree in. Values are read one by one, so 1 and 1.0 are the
# same wherever they stand; but words where numbers were are another column.
_KINDS = {
    "": ("null",),
    "numbers": ("integer", "floating", "decimal", "boolean"),
    "moments": ("timestamp", "date"),
    "times": ("time", "duration"),
    "text": ("string", "large_string", "string_view", "binary", "large_binary", "binary_view"),
}


def kind_of(found: Any) -> str:
    """Return what a column of one of pyarrow's types holds: numbers, moments or text; empty if only gaps."""
    types = import_module("pyarrow.types")
    if types.is_dictionary(found) or types.is_run_end_encoded(found):
        found = found.value_type
    for kind, tests in _KINDS.items():
        if any(getattr(types, f"is_{test}")(found) for test in tests):
            return kind
    return str(found)


def broken_column(path: PurePath, names: Sequence[str], filesystem: Any = None) -> str | None:
    """Return the first column of a Parquet file that cannot be read to its end; None if all can."""
    parquet = import_module("pyarrow.parquet")
    for name in names:
        try:
            with parquet.ParquetFile(str(path), filesystem=filesystem) as file:
                for _ in file.iter_batches(_BATCH_ROWS, columns=[name]):
                    pass
        except Exception:  # whatever it says may quote the file
            return name
    return None


class _Typed(Protocol):
    """A file that tells the types of its columns."""

    @property
    def path(self) -> PurePath: ...

    @property
    def names(self) -> Sequence[str]: ...

    def kind(self, name: str) -> str: ...


@dataclass(frozen=True, eq=False)
class ArrowFile(Stream):
    """A Parquet or Feather file.

    Parameters
    ----------
    path : Path
        The file.
    """

    path: Path

    @property
    def is_parquet(self) -> bool:
        """Whether it is a Parquet file."""
        return self.path.suffix.lower() in _PARQUET

    @cached_property
    def schema(self) -> Any:
        """Names and types of the columns, as pyarrow has them."""
        return self._guarded(self._read_schema)

    @property
    def names(self) -> Sequence[str]:
        """Names of the columns."""
        return list(self.schema.names)

    @property
    def text_columns(self) -> frozenset[str]:
        """Columns of text."""
        return frozenset(name for name in self.names if self.kind(name) == "text")

    def read(self, names: Sequence[str]) -> Iterator[list[Column]]:
        """Yield pieces of the named columns."""
        places_of(names, self.names, self.path)
        batches = self._guarded(lambda: self._batches(list(names)), names)
        while (batch := self._guarded(lambda: next(batches, None), names)) is not None:
            places = places_of(names, batch.schema.names, self.path)
            yield [ArrowColumn(batch.column(place)) for place in places]

    def _read_schema(self) -> Any:
        if self.is_parquet:
            return import_module("pyarrow.parquet").read_schema(self.path)
        with import_module("pyarrow").memory_map(str(self.path)) as source:
            return import_module("pyarrow.ipc").open_file(source).schema

    def kind(self, name: str) -> str:
        """Return what a column holds: numbers, truth values, moments or text; empty if only gaps."""
        return kind_of(self.schema.field(name).type)

    def _batches(self, names: list[str]) -> Iterator[Any]:
        if self.is_parquet:
            with import_module("pyarrow.parquet").ParquetFile(self.path) as file:
                yield from file.iter_batches(_BATCH_ROWS, columns=names)
            return
        ipc = import_module("pyarrow.ipc")
        places = places_of(names, self.names, self.path)
        with import_module("pyarrow").memory_map(str(self.path)) as source:
            file = ipc.open_file(source, options=ipc.IpcReadOptions(included_fields=places))
            for number in range(file.num_record_batches):
                yield file.get_batch(number)

    def _guarded(self, step: Any, names: Sequence[str] = ()) -> Any:
        try:
            import_module("pyarrow")
        except ImportError as lacking:
            raise ImportError(
                f"{self.path.suffix} files need pyarrow: pip install 'dpforest[frames]'"
            ) from lacking
        try:
            return step()
        except OSError as error:
            if error.errno is not None:  # the file system's, not about what is in the file
                raise
            raise ValueError(self._broken(names)) from None
        except Exception:
            # pyarrow's messages may quote the file.
            raise ValueError(self._broken(names)) from None

    def _broken(self, names: Sequence[str]) -> str:
        column = broken_column(self.path, names) if self.is_parquet else None
        if column is not None:
            return f"{self.path} is broken: its column {column!r} cannot be read."
        return f"{self.path} is not a {self.path.suffix} file, or is broken."


@dataclass(frozen=True, eq=False)
class Files(Stream):
    """Files of one table, read one after the other.

    Parameters
    ----------
    place : Path
        What the user called them.
    files : sequence of TextFile or ArrowFile
        The files in the order of their rows; at least one.
    """

    place: Path
    files: Sequence[TextFile | ArrowFile]

    @property
    def names(self) -> Sequence[str]:
        """Names of the columns, as the first file has them."""
        return self.files[0].names

    @property
    def paths(self) -> Sequence[Path]:
        """The files."""
        return [file.path for file in self.files]

    @property
    def text_columns(self) -> frozenset[str]:
        """Columns that are text in some file."""
        return frozenset().union(*(file.text_columns for file in self.files))

    def read(self, names: Sequence[str]) -> Iterator[list[Column]]:
        """Yield pieces of the named columns; files that do not fit are refused before the first piece.

        Raises
        ------
        SchemaError
            If a file lacks a column or has one of another kind than the first file that tells.
        ValueError
            If a file cannot be read, or changed while it was read.
        """
        before = [_mark(file.path) for file in self.files]
        kinds: dict[str, tuple[str, PurePath]] = {}
        for file in self.files:
            check_columns(file, names, kinds)
        for file, mark in zip(self.files, before, strict=True):
            yield from file.read(names)
            if _mark(file.path) != mark:
                raise ValueError(f"{file.path} was changed while it was read.")


def _mark(path: Path) -> tuple[int, ...]:
    found = os.stat(path)
    return found.st_ino, found.st_size, found.st_mtime_ns


def lacks(path: Any, lacking: Sequence[str], wanted: Sequence[str]) -> str:
    """Say which declared columns a file does not name."""
    hint = (
        " None is there: is the file empty, or are its columns separated by another character (--delimiter)?"
    )
    all_lack = len(lacking) == len(wanted) > 1
    return f"{path} lacks the columns {', '.join(map(repr, lacking[:10]))}.{hint if all_lack else ''}"


def check_columns(
    file: TextFile | _Typed, names: Sequence[str], kinds: dict[str, tuple[str, PurePath]]
) -> None:
    """Refuse a file that lacks a column, or has one of another kind than the first file that tells.

    Parameters
    ----------
    file : file
        What is looked at.
    names : sequence of str
        The columns.
    kinds : dict
        Which kind a column has, and by which file; what this file tells first is put in.
    """
    lacking = [name for name in names if name not in file.names]
    if lacking:
        raise SchemaError(lacks(file.path, lacking, names))
    places_of(names, file.names, file.path)
    if isinstance(file, TextFile):
        return
    for name in names:
        kind = file.kind(name)
        earlier, path = kinds.setdefault(name, (kind, file.path)) if kind else (kind, file.path)
        if kind != earlier:
            raise SchemaError(
                f"{file.path}: the column {name!r} holds {kind}, but {earlier} in {path.name}. Files of one "
                "table must have the same columns."
            )
