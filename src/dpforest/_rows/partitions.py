"""What clusters have in common: partitions are encoded where they lie, stay there, and are counted there.

For every question the workers get the spec, count their partitions and add the partial tables up; the driver
gets one table, and draws the noise. All that workers do is a pure function of a partition, its place and the
spec, so a task that runs again after a failure gives the same table, and is added once. A partition that is
made again is compared with the digest that it had at first.

The spec holds the key that gives rows to trees: it goes over the cluster's own channel, which must be one
that others cannot read, and into no log.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest._rows.limits import MAX_ROWS
from dpforest._rows.memory import ROWS_IN_INT32
from dpforest._rows.rows import Grid, TableSpec
from dpforest.schema import SchemaError


class ChangedRowsError(Exception):
    """A partition was made again, and is not what it was."""


class NoWorkersError(Exception):
    """All workers are gone, and none came back."""


class PartitionError(Exception):
    """A partition cannot be made.

    Parameters
    ----------
    number : int
        Which one, from 0 on.
    error : Exception
        What was raised, on a worker perhaps.
    """

    def __init__(self, number: int, error: BaseException) -> None:
        super().__init__(str(error))
        self.number, self.kind = number, type(error).__name__


class UncountedError(RuntimeError):
    """Rows could not be counted.

    Parameters
    ----------
    message : str
        What may be told.
    partition : int or None
        Which one it was, if that is known.
    """

    def __init__(self, message: str, partition: int | None) -> None:
        super().__init__(message)
        self.partition = partition


def seal_of(arrays: Iterable[NDArray[Any]]) -> bytes:
    """Return a digest of rows, by which they are known if they are made again."""
    seal = hashlib.blake2b(digest_size=16)
    for array in arrays:
        seal.update(np.ascontiguousarray(array).data)
    return seal.digest()


def firsts_of(sizes: Iterable[int]) -> list[int]:
    """Return the number of the first row of every part, and the number of all rows, if they are not too many.

    Examples
    --------
    >>> firsts_of([3, 0, 2])
    [0, 3, 3, 5]
    """
    firsts = [0]
    for size in sizes:
        firsts.append(firsts[-1] + size)
    if firsts[-1] > MAX_ROWS:
        raise ValueError("A table has at most 2**40 rows (dpforest._rows.MAX_ROWS).")
    return firsts


def kind_of(table: TableSpec, grid: Grid, n_rows: int) -> str:
    """Return the type of a table's entries; refuse one for rows of another grid."""
    if table.grid != grid:
        raise ValueError("The table asks about rows of another grid.")
    return "int32" if table.counts_rows and n_rows <= ROWS_IN_INT32 else "int64"


def on_cluster(step: Callable[..., Any], *arguments: Any, files: Callable[[], list[str]] = list) -> Any:
    """Take a step of a cluster, and say what went wrong without what workers say: it may quote rows.

    Parameters
    ----------
    step : callable
        What to do.
    *arguments
        Its arguments.
    files : callable, optional
        Returns names that may be told if an error speaks of them.
    """
    try:
        return step(*arguments)
    except SchemaError:
        raise
    except ChangedRowsError:
        raise RuntimeError(
            "A partition that was made again has other rows, or another order; nothing is released. Give "
            "partitions that stay as they are."
        ) from None
    except NoWorkersError:
        raise RuntimeError("The cluster has had no workers for minutes; nothing is released.") from None
    except Exception as error:
        kind, where = type(error).__name__, [file for file in _listed(files) if file in str(error)][:1]
        if isinstance(error, PartitionError):
            kind, where = error.kind, [f"partition {error.number}", *where]
        of = f" of {', '.join(where)}" if where else ""
        raise UncountedError(
            f"The cluster could not count the rows{of} ({kind}); nothing is released.",
            getattr(error, "number", None),
        ) from None


def _listed(files: Callable[[], list[str]]) -> list[str]:
    with suppress(Exception):  # of a cluster that is gone
        return files()
    return []
