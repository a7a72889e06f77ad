"""Fills the table of cells: which columns the kernel can read, row blocks, threads.

`schema.encode_features` and `target.Classes.encode` call `encode_columns`, which calls the kernel for columns
of numbers and `Column.map` with the feature's `cell_of` for all others. Both give the same cell for the same
value.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpforest.schema.columns import Column
from dpforest.schema.features import Feature, LevelFeature, Numeric

__all__ = ["cell_type", "encode_columns"]

# Rows are gathered into a buffer of this many numbers (256 KiB), which stays in the cache of one core.
_BUFFER_CELLS = 32_768
# Rows fetched from a frame at a time: few enough to copy, many enough to make the call worth while.
_CHUNK_ROWS = 65_536


def cell_type(n_cells: int) -> "np.dtype[Any]":
    """Return the smallest unsigned type for cells `0 .. n_cells - 1`.

    Examples
    --------
    >>> cell_type(256), cell_type(258), cell_type(65538)
    (dtype('uint8'), dtype('uint16'), dtype('uint32'))
    """
    return np.dtype(np.uint8 if n_cells <= 256 else np.uint16 if n_cells <= 65_536 else np.uint32)


class _Plan(NamedTuple):
    """The public numbers that the kernel needs, one entry per feature or per looked-up feature."""

    low: NDArray[np.float64]
    width: NDArray[np.float64]
    scale: NDArray[np.float64]
    last: NDArray[np.float64]
    lookups: NDArray[np.int64]
    key_start: NDArray[np.int64]
    keys: NDArray[np.float64]
    key_cells: NDArray[np.int64]


def encode_columns(
    columns: Sequence[Column],
    features: Sequence[Feature],
    dtype: "np.dtype[Any]",
    matrix: NDArray[Any] | None = None,
    n_threads: int = 1,
) -> NDArray[Any]:
    """Return the cells of a table.

    Parameters
    ----------
    columns : sequence of Column
        The columns, at least one.
    features : sequence of Feature
        The feature of each column.
    dtype : dtype
        Type of the cells, from `cell_type`.
    matrix : ndarray of shape (n, d), optional
        All columns at once as a row-major array of floats, if there is one; saves the gathering.
    n_threads : int, default=1
        Threads that share the rows.

    Returns
    -------
    ndarray of shape (n, d)
        The cells, row-major.
    """
    n_rows = len(columns[0])
    cells = np.empty((n_rows, len(columns)), dtype=dtype)
    by_kernel = [_kernel_reads(column, feature) for column, feature in zip(columns, features, strict=True)]
    if any(by_kernel):
        from dpforest.schema.kernels import cell_kernel

        direct = matrix is not None and all(by_kernel)
        value_type = matrix.dtype if direct and matrix is not None else np.dtype(np.float64)
        kernel, plan = cell_kernel(value_type, dtype), _plan(features)

        def fill(start: int, stop: int) -> None:
            if direct and matrix is not None:
                kernel(matrix[start:stop], *plan, cells[start:stop])
            else:
                readable = {j: column for j, column in enumerate(columns) if by_kernel[j]}
                _gather_and_fill(readable, kernel, plan, cells, start, stop)

        _share_rows(fill, n_rows, n_threads)
    for j, (column, feature) in enumerate(zip(columns, features, strict=True)):
        if not by_kernel[j]:
            cells[:, j] = column.map(feature.cell_of)
    return cells


def _kernel_reads(column: Column, feature: Feature) -> bool:
    if isinstance(feature, Numeric):
        return column.kind != "value"
    return column.kind == "number" and feature.table.doubles_are_exact


def _plan(features: Sequence[Feature]) -> _Plan:
    grids = [(f.domain_low, f.cell_width) if isinstance(f, Numeric) else (0.0, 1.0) for f in features]
    width = np.array([width for _, width in grids])
    tables = {j: feature.table for j, feature in enumerate(features) if isinstance(feature, LevelFeature)}
    keys = [table.numbers for table in tables.values()]
    key_cells = [table.number_cells for table in tables.values()]
    return _Plan(
        low=np.array([low for low, _ in grids]),
        width=width,
        scale=1.0 / width,
        last=np.array([feature.n_known - 1 for feature in features], dtype=np.float64),
        lookups=np.array(list(tables), dtype=np.int64),
        key_start=np.cumsum([0, *map(len, keys)], dtype=np.int64),
        keys=np.concatenate([np.empty(0), *keys]),
        key_cells=np.concatenate([np.empty(0, dtype=np.int64), *key_cells]),
    )


def _gather_and_fill(
    columns: dict[int, Column],
    kernel: Callable[..., None],
    plan: _Plan,
    cells: NDArray[Any],
    start: int,
    stop: int,
) -> None:
    """Gather blocks of rows from columns that may lie anywhere in memory, and run the kernel on each."""
    n_features = cells.shape[1]
    rows = max(1, _BUFFER_CELLS // n_features)
    # Features the kernel cannot read stay NaN here; their cells are overwritten afterwards.
    buffer = np.full((rows, n_features), np.nan)
    # A number too large for a double becomes infinite, silently: a warning would depend on a row.
    with np.errstate(all="ignore"):
        for chunk in range(start, stop, _CHUNK_ROWS):
            chunk_stop = min(stop, chunk + _CHUNK_ROWS)
            parts = {j: column.numbers(chunk, chunk_stop) for j, column in columns.items()}
            for first in range(chunk, chunk_stop, rows):
                end = min(chunk_stop, first + rows)
                block = buffer[: end - first]
                for j, part in parts.items():
                    block[:, j] = part[first - chunk : end - chunk]
                kernel(block, *plan, cells[first:end])


def _share_rows(fill: Callable[[int, int], None], n_rows: int, n_threads: int) -> None:
    cuts = [n_rows * k // n_threads for k in range(n_threads + 1)]
    if n_threads == 1:
        fill(0, n_rows)
        return
    with ThreadPoolExecutor(n_threads) as pool:
        # Listing the results raises what a thread raised.
        list(pool.map(fill, cuts[:-1], cuts[1:]))
