"""Private rows behind a wall: encoded once, then reachable only through a curator."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from dpforest.backends import MemoryBackend
from dpforest.schema import Schema
from dpforest.schema.door import read_blocks


def check_codes(
    cells: NDArray[Any], target: NDArray[np.int32], n_cells: NDArray[np.int32], n_codes: int
) -> None:
    """Refuse codes that no count table has room for: a count would land in another row's place, or nowhere.

    The door never makes such codes. This is the last look before rows are counted, so that a mistake there
    ends the fit instead of the promise; the message is the same whatever the codes are.

    Parameters
    ----------
    cells : ndarray of shape (n_rows, n_columns), unsigned integers
        Encoded features.
    target : ndarray of shape (n_rows,), int32
        Class codes or levels, -1 where unknown.
    n_cells : ndarray of shape (n_columns,)
        Number of cells of each column.
    n_codes : int
        How many codes a known target may have.
    """
    fits = cells.ndim == 2 and cells.shape == (len(target), len(n_cells))
    if not fits or cells.dtype.kind != "u" or target.dtype != np.int32:
        raise ValueError("The encoded rows do not have the shape of the schema; nothing was counted.")
    if len(target) and ((cells.max(axis=0) >= n_cells).any() or target.min() < -1 or target.max() >= n_codes):
        raise ValueError("The encoded rows do not fit the grid of the schema; nothing was counted.")


class PrivateTable:
    """Encoded private rows that cannot be read, printed, copied, counted or pickled.

    Parameters
    ----------
    X : data frame or array
        Features, mapped cell by cell to the schema's public grid.
    y : array-like
        Target, mapped to class codes or fixed-point levels.
    schema : Schema
        The public description of the table.
    n_threads : int
        Threads for encoding and counting.

    Examples
    --------
    >>> from dpforest.schema import Schema
    >>> schema = Schema.from_bounds((0, 1), n_features=2, classes=[0, 1])
    >>> PrivateTable([[0.1, 0.2], [0.3, 0.4]], [0, 1], schema)
    PrivateTable(2 features)
    """

    def __init__(self, X: Any, y: Any, schema: Schema, n_threads: int = 1) -> None:
        self.schema = schema
        n_cells, n_codes = schema.n_cells, schema.n_codes
        cells = [np.empty((0, schema.n_columns), dtype=schema.cell_type)]
        target = [np.empty(0, dtype=np.int32)]
        for block, codes in read_blocks(X, y, schema, n_threads=n_threads):
            check_codes(block, codes, n_cells, n_codes)
            cells.append(block)
            target.append(codes)
        self.__rows = MemoryBackend(np.concatenate(cells), np.concatenate(target), n_codes, n_threads)

    def open(self) -> MemoryBackend:
        """Hand the rows to the curator, once."""
        rows = self.__rows
        del self.__rows
        return rows

    def __repr__(self) -> str:
        return f"PrivateTable({self.schema.n_features} features)"

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("Private rows cannot be read; ask a Curator, which charges the budget first.")

    __array__ = __len__ = __iter__ = __getitem__ = __contains__ = _refuse
    __reduce_ex__ = __copy__ = __deepcopy__ = _refuse
