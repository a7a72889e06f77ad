"""What the files behind a collection on a cluster tell of themselves, before a row is read from them.

dask and Spark make what they can of a file: in Spark a column that it lacks is missing in all its rows and a
file without a byte is left out, and dask takes a column of any type. Here files of one table must have the
same columns, as those of a folder must (`files`). Only names and types are looked at, which no row decides.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import PurePath
from typing import Any

from dpforest.schema.files import broken_column, check_columns, kind_of

__all__ = ["FilesBehind", "Footer", "steady"]

_AT_ONCE = 16  # footers; those of a distant store take a while each
_LONGEST_LOOK = 30.0  # seconds, for the file that rows could not be read from


@dataclass(frozen=True, eq=False)
class Footer:
    """A Parquet file, of which only the footer is read.

    Parameters
    ----------
    path : PurePath
        Where it is.
    filesystem : pyarrow or fsspec file system, optional
        What opens it; by default that of this machine.
    """

    path: PurePath
    filesystem: Any = None

    @cached_property
    def schema(self) -> Any:
        """Names and types of the columns, as pyarrow has them; None if it cannot be opened from here."""
        arrow = import_module("pyarrow")
        try:
            return import_module("pyarrow.parquet").read_schema(str(self.path), filesystem=self.filesystem)
        except Exception as error:
            if isinstance(error, arrow.ArrowInvalid):  # about what is in the file, which it may quote
                raise ValueError(f"{self.path} is not a Parquet file, or is broken.") from None
        return None

    @property
    def names(self) -> Sequence[str]:
        """Names of the columns."""
        return list(self.schema.names)

    def kind(self, name: str) -> str:
        """Return what a column holds; see `files`."""
        return kind_of(self.schema.field(name).type)

    @property
    def mark(self) -> Any:
        """What is another if the file was written anew; None if nothing can be told."""
        place = str(self.path)
        try:
            if self.filesystem is None:
                found = os.stat(place)
                return found.st_ino, found.st_size, found.st_mtime_ns
            if hasattr(self.filesystem, "ukey"):
                return self.filesystem.ukey(place)
            found = self.filesystem.get_file_info(place)
            return found.size, found.mtime_ns
        except Exception:  # of a store that is not reached from here
            return None


@dataclass(frozen=True)
class FilesBehind:
    """Files of one table, which a collection reads.

    Parameters
    ----------
    files : sequence of Footer
        The files.
    columns : sequence of str
        What it reads from them; names that no file has are made otherwise, such as of names of folders.
    """

    files: Sequence[Footer]
    columns: Sequence[str]

    def check(self) -> None:
        """Refuse a file that is broken, lacks a column that others have, or has one of another kind."""
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            schemas = list(pool.map(lambda file: file.schema, self.files))
        found = [file for file, schema in zip(self.files, schemas, strict=True) if schema is not None]
        told = {name for file in found for name in file.names}
        kinds: dict[str, tuple[str, PurePath]] = {}
        for file in found:
            check_columns(file, [name for name in self.columns if name in told], kinds)

    def check_pages(self, hint: str, partition: int | None, until: float) -> None:
        """Refuse a file that has a column that cannot be read, if one is found in time.

        Begins with files that a hint names or that have the number of the partition.
        """
        by_number = {partition: 0}
        places = range(len(self.files))
        for at in sorted(places, key=lambda at: (str(self.files[at].path) not in hint, by_number.get(at, 1))):
            file = self.files[at]
            if time.monotonic() > until or file.schema is None:
                return
            names = [name for name in self.columns if name in file.names]
            column = broken_column(file.path, names, file.filesystem)
            if column is not None:
                raise ValueError(f"{file.path} is broken: its column {column!r} cannot be read.") from None


@contextmanager
def steady(tables: Sequence[FilesBehind]) -> Iterator[None]:
    """Refuse files that do not fit each other, that change while the block runs, or that make it fail."""
    before = [(file, file.mark) for table in tables for file in table.files]
    for table in tables:
        table.check()
    try:
        yield
    except RuntimeError as error:  # a cluster does not tell the column, and perhaps not the file
        until = time.monotonic() + _LONGEST_LOOK
        for table in tables:
            table.check_pages(str(error), getattr(error, "partition", None), until)
        raise
    for file, mark in before:
        if file.mark != mark:
            raise ValueError(f"{file.path} was changed while it was read.")
