"""Rows that are public, or of people whom no promise is made to: what they say about features is free.

Nobody can tell from the rows whether they are public; whoever gives them says so. They need no target. They
may be drawn otherwise than the private ones: predictions get worse by that, privacy does not, because all of
this is a constant as far as the private rows are concerned.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dpforest.schema.door import read_cells
from dpforest.schema.errors import SchemaError
from dpforest.schema.places import stream_of
from dpforest.schema.schema import Schema
from dpforest.schema.streams import Stream

MOST_ROWS = 200_000  # that are used: more would not say it better
FEWEST_ROWS = 20
_SPREAD_EVENLY = 0.02  # of the mass of an ordered feature, so that no cell is impossible

Floats = NDArray[np.float64]


class PublicRows:
    """Encoded features of public rows.

    Parameters
    ----------
    cells : ndarray of shape (n_rows, n_features)
        Cell of every value.
    n_cells : ndarray of shape (n_features,)
        Cells of every feature; the last two are missing and other.
    nominal : ndarray of bool, shape (n_features,)
        Features without an order.
    """

    def __init__(self, cells: NDArray[Any], n_cells: NDArray[Any], nominal: NDArray[np.bool_]) -> None:
        self.cells = cells
        self.n_rows = len(cells)
        self.shares = [self._shares_of(at, int(size), bool(nominal[at])) for at, size in enumerate(n_cells)]

    @classmethod
    def read(cls, X: Any, schema: Schema, owner: str) -> Self:
        """Encode a table, by the same schema as the private rows.

        Examples
        --------
        >>> from dpforest.schema import Numeric
        >>> schema = Schema({"age": Numeric(0, 100, bins=2)})
        >>> PublicRows.read([[20.0], [30.0], [70.0]] * 10, schema, "an example").shares[0].round(2)
        array([0.66, 0.34, 0.  , 0.  ])
        """
        n = schema.n_features
        kept, rows = [], 0
        try:
            for block in read_cells(X, schema, owner=owner):
                kept.append(np.array(block[: MOST_ROWS - rows, :n]))
                rows += len(kept[-1])
                if rows >= MOST_ROWS:
                    break
        except SchemaError as error:  # which speaks of X
            raise SchemaError(f"{owner}: X_public cannot be used. {error}") from None
        if rows < FEWEST_ROWS:
            raise ValueError(
                f"{owner}: X_public needs at least {FEWEST_ROWS} rows. Leave it out if there are fewer. "
                "Nothing was charged."
            )
        return cls(np.concatenate(kept), schema.n_cells[:n], schema.nominal[:n])

    def _shares_of(self, at: int, n_cells: int, is_nominal: bool) -> Floats:
        counts = np.bincount(self.cells[:, at], minlength=n_cells).astype(np.float64)
        if not counts[:-2].any():  # a column that they lack tells nothing: not that it is always missing
            even: Floats = np.append(np.full(n_cells - 2, 1 / (n_cells - 2)), [0.0, 0.0])
            return even
        if is_nominal:
            shares: Floats = (counts + 1 / n_cells) / (self.n_rows + 1)
            return shares
        shares = counts / self.n_rows
        known = float(shares[:-2].sum())
        shares[:-2] = (1 - _SPREAD_EVENLY) * shares[:-2] + _SPREAD_EVENLY * known / max(n_cells - 2, 1)
        return shares

    def mean_products(self, coordinates: Sequence[tuple[int, Floats]]) -> Floats:
        """Mean product of every two coordinates of a row; the line of a cell has those of one feature.

        Parameters
        ----------
        coordinates : sequence of (int, ndarray of shape (n_cells, n_coordinates))
            A feature, and what each of its cells stands for.
        """
        width = sum(values.shape[1] for _, values in coordinates)
        total = np.zeros((width, width))
        for first in itertools.takewhile(lambda row: row < self.n_rows, itertools.count(0, 4096)):
            part = self.cells[first : first + 4096]
            lines = np.concatenate([values[part[:, at]] for at, values in coordinates], axis=1)
            total += lines.T @ lines
        return total / self.n_rows


def are_the_same(X_public: Any, X: Any) -> bool:
    """Tell whether public rows are the private ones: the same object, or all the files of these.

    Values are not compared: whether a fit is refused must not depend on them.

    Parameters
    ----------
    X_public, X : data
        As `fit` got them.
    """
    if X_public is X:
        return True
    private = _files(X)
    return bool(private) and private <= _files(X_public)


def _files(X: Any) -> set[tuple[int, int]]:
    """Return what the system knows the files of a place by, whatever they are called."""
    stream = stream_of(X) if isinstance(X, str | os.PathLike | Stream) else None
    found = [os.stat(path) for path in (() if stream is None else stream.paths)]
    return {(file.st_dev, file.st_ino) for file in found}
