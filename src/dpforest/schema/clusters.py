"""Collections on a cluster, of dask or Spark: their names, and reading them here, piece by piece.

A fit does not read them here: it counts where the rows are (`dpforest._rows`). What is read here are rows to
predict, and public tables.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import PurePath, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

import narwhals as nw

from dpforest.schema.arrow import ArrowColumn
from dpforest.schema.columns import Column
from dpforest.schema.errors import SchemaError
from dpforest.schema.footers import FilesBehind, Footer
from dpforest.schema.frames import frame_of
from dpforest.schema.streams import Stream, guarded, places_of

__all__ = ["ClusterStream", "DaskStream", "SparkStream", "one_frame", "stream_of_cluster"]


@dataclass(frozen=True)
class ClusterStream(Stream):
    """Rows on a cluster.

    Parameters
    ----------
    frame : DataFrame of dask or Spark
        The collection.
    """

    frame: Any

    @property
    def names(self) -> Sequence[str]:
        """Names of the columns."""
        return [str(name) for name in self.frame.columns]

    @abstractmethod
    def chosen(self, names: Sequence[str]) -> Any:
        """Return a collection of some columns, each of which must be there once."""

    @abstractmethod
    def files(self, names: Sequence[str]) -> list[FilesBehind]:
        """Return the Parquet files that some columns are read from, table by table, as far as it tells."""


class DaskStream(ClusterStream):
    """A data frame of dask."""

    def chosen(self, names: Sequence[str]) -> Any:
        """Return a frame of some columns."""
        places = places_of(names, self.names, "X")
        return self.frame[[self.frame.columns[place] for place in places]]

    def files(self, names: Sequence[str]) -> list[FilesBehind]:
        """Return the files of every `read_parquet`, which its expression knows, and what it reads of them."""
        tables = []
        with suppress(Exception):  # of an expression of another version
            reading = import_module("dask.dataframe.dask_expr.io.parquet").ReadParquet
            for step in self.chosen(names).expr.simplify().find_operations(reading):
                if hasattr(step, "fragments"):
                    paths, system = [fragment.path for fragment in step.fragments], step.fs
                else:
                    paths, system = step._dataset_info["ds"].files, step._dataset_info["fs"]
                footers = [Footer(PurePosixPath(path), system) for path in sorted(paths)]
                tables.append(FilesBehind(footers, [str(name) for name in step.columns]))
        return tables

    def read(self, names: Sequence[str]) -> Iterator[list[Column]]:
        """Yield the partitions, one at a time."""
        for part in self.chosen(names).to_delayed():
            frame = frame_of(guarded(part.compute))
            assert frame is not None
            yield [frame.column(place) for place in range(len(names))]


class SparkStream(ClusterStream):
    """A data frame of Spark, or of Spark Connect."""

    def chosen(self, names: Sequence[str]) -> Any:
        """Return a frame of some columns, found by place: Spark's rules for names are not a schema's."""
        places = places_of(names, self.names, "X")
        numbered = self.frame.toDF(*(f"c{place}" for place in range(len(self.names))))
        # under names of their own: the target may be one of the features
        return numbered.select(*(numbered[f"c{at}"].alias(f"d{i}") for i, at in enumerate(places)))

    def files(self, names: Sequence[str]) -> list[FilesBehind]:
        """Return the files of every folder on this machine; a frame may join several tables.

        Of stores that only Spark can open nothing is told.
        """
        folders: dict[tuple[str, ...], list[Footer]] = {}
        with suppress(Exception):  # of a frame that is not read from files
            for place in sorted(self.frame.inputFiles()):
                path = PurePath(unquote(urlsplit(place).path))
                if place.startswith("file:") and path.suffix in (".parquet", ".pq"):
                    # ward=A is a value of a column, and no table of its own
                    table = tuple(part for part in path.parent.parts if "=" not in part)
                    folders.setdefault(table, []).append(Footer(path))
        return [FilesBehind(files, names) for files in folders.values()]

    def read(self, names: Sequence[str]) -> Iterator[list[Column]]:
        """Yield the batches of the partitions, one partition at a time."""
        arrow = import_module("pyarrow")
        rows = guarded(lambda: self.chosen(names).mapInArrow(_packed, "batch binary").toLocalIterator())
        while (row := guarded(lambda: next(rows, None))) is not None:
            for batch in arrow.ipc.open_stream(row.batch):
                yield [ArrowColumn(column) for column in batch.columns]


def _packed(batches: Iterable[Any]) -> Iterator[Any]:
    """Pack each batch into one value, so that it comes as it is and not row by row."""
    arrow = import_module("pyarrow")
    for batch in batches:
        sink = arrow.BufferOutputStream()
        with arrow.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        yield arrow.RecordBatch.from_pydict({"batch": [sink.getvalue().to_pybytes()]})


def stream_of_cluster(X: Any) -> ClusterStream | None:
    """Return a stream for a collection on a cluster, and None for anything else."""
    known = nw.dependencies
    if known.is_dask_dataframe(X):
        return DaskStream(X)
    if known.is_pyspark_dataframe(X) or known.is_pyspark_connect_dataframe(X):
        return SparkStream(X)
    return None


def one_frame(X: Any, y: Any, declared: Sequence[str] | None) -> tuple[Any, Any]:
    """Put features and target that are collections of dask into one frame, with the target as ``"y"``."""
    if not any(type(item).__module__.partition(".")[0].startswith("dask") for item in (X, y)):
        return X, y
    if isinstance(y, str):
        return X, y
    frames = import_module("dask.dataframe")
    if nw.dependencies.is_dask_dataframe(X) != hasattr(y, "to_frame"):
        raise TypeError("X and y must both be dask data frames and series, or both be dask arrays.")
    if not nw.dependencies.is_dask_dataframe(X):
        names = [f"x{j}" for j in range(X.shape[1])] if declared is None else list(declared)
        if len(names) != X.shape[1]:
            raise SchemaError(f"X has {X.shape[1]} features, but the schema declares {len(names)}.")
        X, y = frames.from_dask_array(X.rechunk({1: -1}), columns=names), frames.from_dask_array(y)
    name = "y"
    while name in X.columns:
        name += "_"
    return X.assign(**{name: y}), name
