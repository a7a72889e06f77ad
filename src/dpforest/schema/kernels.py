"""The compiled loop that turns numbers into cells. Imported only when the first table is encoded.

`encoding` calls `cell_kernel` once per call of `encode_columns` and runs what it returns, from several
threads if it is asked to.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numba
import numpy as np
from numba import types

from dpforest._jit import KERNEL, kernel

__all__ = ["cell_kernel", "combine"]


def _fill_cells(  # type: ignore[no-untyped-def]
    x, low, width, scale, last, lookups, key_start, keys, key_cells, out
) -> None:
    n_features = x.shape[1]
    row_cells = np.empty(n_features, np.int32)
    for i in range(x.shape[0]):
        row = x[i]
        row_out = out[i]
        # Every feature is treated as a grid here, without branches, so that the compiler can use wide
        # registers.
        for j in range(n_features):
            value = np.float64(row[j])
            top = last[j]
            cell = np.floor((value - low[j]) * scale[j])
            # Rounding may put the guess one cell off; the borders themselves decide.
            cell = cell - 1.0 if value < low[j] + cell * width[j] else cell
            cell = cell + 1.0 if value >= low[j] + (cell + 1.0) * width[j] else cell
            # Clipped before it becomes an integer: it may still be huge, infinite or NaN.
            cell = cell if cell > 0.0 else 0.0
            cell = cell if cell < top else top
            cell = cell if value == value else top + 1.0
            row_cells[j] = np.int32(cell)
        for k in range(lookups.shape[0]):
            j = lookups[k]
            value = np.float64(row[j])
            if value == value:
                left, right = key_start[k], key_start[k + 1]
                end = right
                while left < right:
                    middle = (left + right) // 2
                    if keys[middle] < value:
                        left = middle + 1
                    else:
                        right = middle
                known = left < end and keys[left] == value
                row_cells[j] = key_cells[left] if known else np.int32(last[j]) + 2
        for j in range(n_features):
            row_out[j] = row_cells[j]


@cache
def cell_kernel(value_type: "np.dtype[Any]", cell_type: "np.dtype[Any]") -> Callable[..., None]:
    """Return the kernel for one type of numbers and one type of cells, compiled on first use.

    Parameters
    ----------
    value_type : dtype
        float32 or float64.
    cell_type : dtype
        uint8, uint16 or uint32.

    Returns
    -------
    callable
        `kernel(x, low, width, scale, last, lookups, key_start, keys, key_cells, out)`. It reads the rows of
        `x` of shape (n, d) and writes their cells to `out` of the same shape, both row-major. Feature `j` has
        cells `0 .. last[j]`, then missing and other; its grid starts at `low[j]` with cells `width[j] = 1 /
        scale[j]` wide. Feature `lookups[k]` is looked up instead, among the sorted
        `keys[key_start[k]:key_start[k + 1]]`.
    """
    doubles, integers = types.float64[::1], types.int64[::1]
    signature = types.void(
        types.Array(numba.from_dtype(value_type), 2, "C", readonly=True),
        doubles,
        doubles,
        doubles,
        doubles,
        integers,
        integers,
        doubles,
        integers,
        types.Array(numba.from_dtype(cell_type), 2, "C"),
    )
    compiled: Callable[..., None] = numba.njit(signature, **KERNEL)(_fill_cells)
    return compiled


@kernel
def combine(cells, known, first, second, sign, bins) -> None:  # type: ignore[no-untyped-def]
    """Fill the columns behind the features with sums and differences of their positions.

    The position of cell c of m known ones is the middle of the cell on a scale of 2**16, at most 2**16 - 1; a
    sum, or a difference plus 2**16, is at least 0 and below 2**17, and is cut into `bins` equal parts.
    Integers only.
    """
    n_features = len(known)
    for row in range(len(cells)):
        for j in range(len(first)):
            one, other = np.int64(cells[row, first[j]]), np.int64(cells[row, second[j]])
            if one >= known[first[j]] or other >= known[second[j]]:
                cells[row, n_features + j] = bins
                continue
            along = (2 * one + 1) * 32768 // known[first[j]]
            across = (2 * other + 1) * 32768 // known[second[j]]
            total = along + across if sign[j] > 0 else along - across + 65536
            cells[row, n_features + j] = total * bins // 131072
