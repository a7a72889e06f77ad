"""What loading returns, and the one error it raises."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from numpy.typing import NDArray

from dpforest.schema import Schema

__all__ = ["Dataset", "DatasetInfo", "DatasetNotFoundError", "Task"]

Task: TypeAlias = Literal["classification", "regression"]


class DatasetNotFoundError(LookupError):
    """A dataset is not here; the message says how to get it."""


@dataclass(frozen=True)
class DatasetInfo:
    """What is known about a dataset.

    Parameters
    ----------
    name : str
        Name for `load`.
    task : {"classification", "regression"}
        Kind of target.
    n_rows, n_features : int
        Size of the table.
    n_classes : int or None
        Number of classes, None for regression.
    licence : str
        Terms of the data, as far as known.
    fidelity : str
        "faithful", or how the rows differ from those of the papers.
    papers : tuple of str, optional
        Papers of this library that use the dataset.
    note : str, default=""
        What else one should know.
    source : str, default=""
        Where the rows came from; empty before they are loaded.
    """

    name: str
    task: Task
    n_rows: int
    n_features: int
    n_classes: int | None
    licence: str
    fidelity: str
    papers: tuple[str, ...] = ()
    note: str = ""
    source: str = ""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows, targets and what is public about them; unpacks as ``X, y, schema``.

    Parameters
    ----------
    X : pandas.DataFrame
        Features, in the order of the schema.
    y : ndarray of shape (n_rows,)
        Targets.
    schema : Schema
        Public domains of features and target.
    info : DatasetInfo
        Origin, licence, and how faithful the rows are.

    Examples
    --------
    >>> from dpforest.papers.datasets import load
    >>> X, y, schema = load("iris")
    >>> X.shape, schema.target
    ((150, 4), Classes(['setosa', 'versicolor', 'virginica']))
    """

    X: Any
    y: NDArray[Any]
    schema: Schema
    info: DatasetInfo

    def __iter__(self) -> Iterator[Any]:
        return iter((self.X, self.y, self.schema))
