"""Files of rows as streams: CSV and TSV without any library, Parquet and Feather with pyarrow.

The name of a file tells its format. `cli` opens files; any estimator takes what `open_file` returns, and one
of its columns as the target.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from dpforest.schema.arrow import ArrowColumn
from dpforest.schema.columns import Column
from dpforest.schema.delimited import TextFile
from dpforest.schema.streams import Stream, places_of

__all__ = ["ArrowFile", "is_text", "open_file"]

_CSV, _TSV = (".csv", ".txt"), (".tsv", ".tab")
_PARQUET, _FEATHER = (".parquet", ".pq"), (".feather", ".arrow", ".ipc")
_BATCH_ROWS = 65_536


def open_file(
    path: Path, delimiter: str | None = None, missing: Sequence[str] = (), **options: Any
) -> Stream:
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
    Stream
        The table; nothing but the names of its columns has been read.
    """
    if is_text(path):
        default = "\t" if path.suffix.lower() in _TSV else ","
        return TextFile(path, default if delimiter is None else delimiter, tuple(missing), **options)
    return ArrowFile(path)


def is_text(path: Path) -> bool:
    """Tell whether a file is a text file, by its name."""
    suffix = path.suffix.lower()
    if suffix not in (*_CSV, *_TSV, *_PARQUET, *_FEATHER):
        raise ValueError(f"{path}: the name must end in .csv, .tsv, .parquet or .feather.")
    return suffix in (*_CSV, *_TSV)


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

    def read(self, names: Sequence[str]) -> Iterator[list[Column]]:
        """Yield pieces of the named columns."""
        places_of(names, self.names, self.path)
        batches = self._guarded(lambda: self._batches(list(names)))
        while (batch := self._guarded(lambda: next(batches, None))) is not None:
            places = places_of(names, batch.schema.names, self.path)
            yield [ArrowColumn(batch.column(place)) for place in places]

    def _read_schema(self) -> Any:
        if self.is_parquet:
            return import_module("pyarrow.parquet").read_schema(self.path)
        with import_module("pyarrow").memory_map(str(self.path)) as source:
            return import_module("pyarrow.ipc").open_file(source).schema

    def _batches(self, names: list[str]) -> Iterator[Any]:
        if self.is_parquet:
            file = import_module("pyarrow.parquet").ParquetFile(self.path)
            return iter(file.iter_batches(_BATCH_ROWS, columns=names))
        table = import_module("pyarrow.feather").read_table(str(self.path), columns=names)
        return iter(table.to_batches(_BATCH_ROWS))

    def _guarded(self, step: Any) -> Any:
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
            raise ValueError(self._broken) from None
        except Exception:
            # pyarrow's messages may quote the file.
            raise ValueError(self._broken) from None

    @property
    def _broken(self) -> str:
        return f"{self.path} is not a {self.path.suffix} file, or is broken."
