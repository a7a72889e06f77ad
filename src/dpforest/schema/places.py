"""Rows wherever they lie: a folder, an Arrow dataset, a query that has not run yet.

`Source` says where rows are and what may be kept of them; `stream_of` makes a stream of whatever can be read
piece by piece, and `named_target` takes the target from it by the name of its column.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import narwhals as nw

from dpforest.schema.arrow import ArrowColumn
from dpforest.schema.clusters import ClusterStream, one_frame, stream_of_cluster
from dpforest.schema.columns import Column
from dpforest.schema.declaration import whole_number
from dpforest.schema.errors import SchemaError
from dpforest.schema.files import open_files
from dpforest.schema.frames import frame_of
from dpforest.schema.streams import MEMORY_LIMIT, Stream, guarded, places_of

__all__ = ["Source", "named_target", "stream_of"]


@dataclass(frozen=True, eq=False)
class Source(Stream):
    r"""Where rows are, and what a fit may keep of them.

    Anything that `place` can be may also be given to `fit` and `predict` as it is; then the defaults hold.

    Parameters
    ----------
    place : str, path, pyarrow dataset, polars LazyFrame, DuckDB relation, callable, or frame of dask or Spark
        Where the rows are: a file, a folder (all files in it and below whose names end as tables do), a
        pattern such as ``"visits/*.parquet"``, or what is read when it is asked for. A callable returns a new
        pyarrow.RecordBatchReader whenever it is called. Rows of several files are taken in the order of the
        files' names. Columns that the schema does not declare are not read.
    memory_limit : int, default=2**27
        Bytes of encoded rows, and of what is worked out of them, to keep in memory between the passes of a
        fit. The rest goes to a file that has no name, that nobody else may open, and that is gone with the
        process however it ends. The variable TMPDIR says on which disk.
    cache : bool, default=True
        Whether anything may be kept. If not, every pass reads and encodes the rows again, which must then be
        the same rows in the same order.
    delimiter, quote, encoding, decimal : str, optional
        How text files are written: what stands between fields (a comma, in .tsv a tabulator), around them
        ('"'), in which encoding ("utf-8", or one of single bytes such as "cp1252"), before decimals (".").
    numbers : sequence of str
        Columns in which `decimal` is looked for: numbers with a decimal comma, not words with one.
    missing : sequence of str
        Fields of text files that mean missing, besides the empty one.

    Examples
    --------
    >>> import os, tempfile
    >>> from dpforest import RandomDecisionTreesClassifier
    >>> folder = tempfile.TemporaryDirectory()
    >>> with open(os.path.join(folder.name, "january.csv"), "w") as file:
    ...     _ = file.write("age,outcome\n31,home\n64,died\n")
    >>> model = RandomDecisionTreesClassifier(bounds=(0, 100), classes=["home", "died"])
    >>> model = model.fit(Source(folder.name, cache=False), "outcome")
    >>> model.feature_names_in_
    array(['age'], dtype=object)
    >>> folder.cleanup()
    """

    place: Any
    memory_limit: int = MEMORY_LIMIT
    cache: bool = True
    delimiter: str | None = None
    quote: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    numbers: Sequence[str] = ()
    missing: Sequence[str] = ()
    has_others: ClassVar[bool] = True
    _stream: Stream = field(init=False, repr=False)

    def __post_init__(self) -> None:
        whole_number("memory_limit", self.memory_limit, 0, sys.maxsize)
        if not isinstance(self.cache, bool):
            raise TypeError(f"cache must be True or False, got {self.cache!r}.")
        if not self.cache and _is_read_once(self.place):
            raise TypeError(
                "this reader can be read once, and cache=False reads its rows on every pass: give a function "
                "that returns a new reader whenever it is called."
            )
        written = ("delimiter", "quote", "encoding", "decimal", "numbers", "missing")
        given = {name: getattr(self, name) for name in written if getattr(self, name) not in (None, ())}
        if given and not isinstance(self.place, str | os.PathLike):
            raise TypeError(f"{', '.join(given)}: only rows in files of text are written in some way.")
        if isinstance(given.get("decimal"), str) and given["decimal"] != "." and not self.numbers:
            raise ValueError("decimal needs numbers=[...], the columns whose numbers are written with it.")
        stream = _opened(self.place, given)
        if stream is None:
            raise TypeError(f"rows cannot be read from an object of type {type(self.place).__name__}.")
        if unknown := [name for name in self.numbers if name not in stream.names]:
            raise SchemaError(
                f"numbers names columns that are not there: {', '.join(map(repr, unknown[:10]))}."
            )
        object.__setattr__(self, "_stream", stream)

    @property
    def names(self) -> Sequence[str]:
        """Names of the columns."""
        return self._stream.names

    @property
    def text_columns(self) -> frozenset[str]:
        """Columns that are stored as text by their type."""
        return self._stream.text_columns

    def read(self, names: Sequence[str]) -> Iterator[list[Column]]:
        """Yield pieces of the named columns."""
        return self._stream.read(names)

    @property
    def paths(self) -> Sequence[Path]:
        """Files that it is read from."""
        return self._stream.paths

    @property
    def collection(self) -> ClusterStream | None:
        """The rows as a collection on a cluster; None if they are not on one."""
        return self._stream if isinstance(self._stream, ClusterStream) else None


def stream_of(X: Any) -> Stream | None:
    """Return a stream for what is read piece by piece, and None for anything else."""
    if isinstance(X, Stream):
        return X
    if _is_arrow(X):  # as strict about columns as a frame
        return _opened(X)
    is_query = nw.dependencies.is_polars_lazyframe(X) or nw.dependencies.is_duckdb_relation(X)
    is_query = is_query or stream_of_cluster(X) is not None
    return Source(X) if is_query or isinstance(X, str | os.PathLike) or _is_function(X) else None


def named_target(X: Any, y: Any, declared: Sequence[str] | None) -> tuple[Any, Any]:
    """Return features and target as parts of one stream where `y` names a column of `X`; else as given.

    Parameters
    ----------
    X, y : data
        As `fit` got them.
    declared : sequence of str or None
        Names of the declared features; None takes all columns but the target.
    """
    X, y = one_frame(X, y, declared)
    if not isinstance(y, str):
        return X, y
    stream = stream_of(X)
    if stream is None:
        raise TypeError(
            "y is the name of a column, but X is not a place that rows are read from. Pass the target's "
            "values, or X as a file, folder, dataset or lazy frame."
        )
    names = [name for name in stream.names if name != y] if declared is None else declared
    lacking = [name for name in (y, *names) if name not in stream.names]
    if lacking:
        raise SchemaError(f"X lacks the columns {', '.join(map(repr, lacking[:10]))}.")
    return stream.select(names), stream.column(y)


def _opened(place: Any, written: Mapping[str, Any] | None = None) -> Stream | None:
    if isinstance(place, Stream):
        return place
    if isinstance(place, str | os.PathLike):
        return open_files(Path(place), **(written or {}))
    if _is_arrow(place):
        return _ArrowStream(lambda names: place, place)
    if nw.dependencies.is_polars_lazyframe(place):
        return _LazyStream(place)
    if nw.dependencies.is_duckdb_relation(place):
        return _ArrowStream(lambda names: _reader(place, names), _reader(place.limit(0), place.columns))
    if (collection := stream_of_cluster(place)) is not None:
        return collection
    if _is_function(place):
        return _ArrowStream(lambda names: _called(place), _called(place))
    return None


def _is_function(X: Any) -> bool:
    return inspect.isroutine(X) or isinstance(X, functools.partial)


def _is_arrow(X: Any) -> bool:
    arrow, dataset = sys.modules.get("pyarrow"), sys.modules.get("pyarrow.dataset")
    if dataset is not None and isinstance(X, dataset.Dataset | dataset.Scanner):
        return True
    return arrow is not None and isinstance(X, arrow.RecordBatchReader)


def _is_read_once(X: Any) -> bool:
    arrow = sys.modules.get("pyarrow")
    return arrow is not None and isinstance(X, arrow.RecordBatchReader)


def _reader(relation: Any, names: Sequence[str]) -> Any:
    chosen = relation.select(*map(_quoted, names))
    return import_module("pyarrow").RecordBatchReader.from_stream(chosen)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _called(place: Callable[[], Any]) -> Any:
    reader = place()
    if not _is_read_once(reader):
        raise SchemaError("a function that rows are read from must return a new pyarrow.RecordBatchReader.")
    return reader


@dataclass(frozen=True)
class _ArrowStream(Stream):
    """Record batches from an Arrow dataset, scanner or reader, one after the other."""

    open: Callable[[Sequence[str]], Any]
    example: Any  # something with the schema of what `open` returns

    @property
    def names(self) -> Sequence[str]:
        schema = getattr(self.example, "projected_schema", None)
        return list((self.example.schema if schema is None else schema).names)

    def read(self, names: Sequence[str]) -> Iterator[list[Column]]:
        places_of(names, self.names, "X")
        batches = guarded(lambda: _batches(self.open(names), names))
        while (batch := guarded(lambda: next(batches, None))) is not None:
            yield [ArrowColumn(batch.column(place)) for place in places_of(names, batch.schema.names, "X")]


def _batches(found: Any, names: Sequence[str]) -> Iterator[Any]:
    if hasattr(found, "scanner"):  # a dataset reads only what it is asked for
        found = found.scanner(columns=list(names))
    return iter(found.to_batches() if hasattr(found, "to_batches") else found)


@dataclass(frozen=True)
class _LazyStream(Stream):
    """A query of polars, run when it is read."""

    query: Any

    @property
    def names(self) -> Sequence[str]:
        return list(guarded(self.query.collect_schema).names())

    def read(self, names: Sequence[str]) -> Iterator[list[Column]]:
        places_of(names, self.names, "X")
        frames = guarded(lambda: _frames(self.query.select(list(names))))
        while (part := guarded(lambda: next(frames, None))) is not None:
            frame = frame_of(part)
            assert frame is not None
            yield [frame.column(place) for place in range(len(names))]


def _frames(query: Any) -> Iterator[Any]:
    if hasattr(query, "collect_batches"):
        return iter(query.collect_batches(maintain_order=True))
    return iter([query.collect(engine="streaming")])  # of an older polars, as a whole
