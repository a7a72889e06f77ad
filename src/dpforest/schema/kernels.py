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
    x, n_features, low, width, scale, last, lookups, key_start, keys, key_cells, out
) -> None:
    size = low.size
    cells = np.empty(size, np.int32)
    for begin in range(0, x.size, size):
        some, some_out = x[begin : begin + size], out[begin : begin + size]
        # Every feature is treated as a grid here, without branches, so that the compiler can use wide
        # registers; a few rows at a time, because it takes a while to get such a loop going.
        for j in range(some.size):
            value = np.float64(some[j])
            top = last[j]
            cell = np.floor((value - low[j]) * scale[j])
            # Rounding may put the guess one cell off; the borders themselves decide.
            cell = cell - 1.0 if value < low[j] + cell * width[j] else cell
            cell = cell + 1.0 if value >= low[j] + (cell + 1.0) * width[j] else cell
            # Clipped before it becomes an integer: it may still be huge, infinite or NaN.
            cell = cell if cell > 0.0 else 0.0
            cell = cell if cell < top else top
            cell = cell if value == value else top + 1.0
            cells[j] = np.int32(cell)
        for k in range(lookups.shape[0]):
            for j in range(lookups[k], some.size, n_features):
                value = np.float64(some[j])
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
                    cells[j] = key_cells[left] if known else np.int32(last[j]) + 2
        for j in range(some.size):
            some_out[j] = cells[j]


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
        `kernel(x, n_features, low, width, scale, last, lookups, key_start, keys, key_cells, out)`. It reads
        `x`, one row of `n_features` numbers behind the other, and writes their cells to `out`, of the same
        length. Number `j` of a row has cells `0 .. last[j]`, then missing and other; its grid starts at
        `low[j]` with cells `width[j] = 1 / scale[j]` wide; these four arrays are written down for a few rows,
        all the same, and tell how many are encoded at a time. Feature `lookups[k]` is looked up instead,
        among the sorted `keys[key_start[k]:key_start[k + 1]]`.
    """
    doubles, integers = types.float64[::1], types.int64[::1]
    signature = types.void(
        types.Array(numba.from_dtype(value_type), 1, "C", readonly=True),
        types.int64,
        doubles,
        doubles,
        doubles,
        doubles,
        integers,
        integers,
        doubles,
        integers,
        types.Array(numba.from_dtype(cell_type), 1, "C"),
    )
    compiled: Callable[..., None] = numba.njit(signature, **KERNEL)(_fill_cells)
    return compiled


@kernel
def combine(cells, known, first, second, sign, bins, out) -> None:  # type: ignore[no-untyped-def]
    """Copy the cells of features and fill the columns behind them with sums and differences of positions.

    The position of cell c of m known ones is the middle of the cell on a scale of 2**16: the whole part of
    a / m with a = (2 c + 1) 2**15, at most 2**16 - 1. It is divided in doubles, which is exact: a is below
    2**53, so the rounding of a quotient, at most a / m 2**-53, is less than the 1 / m to the next whole
    number above. A sum, or a difference plus 2**16, is at least 0 and below 2**17, and is cut into `bins`
    equal parts.
    """
    n_features = len(known)
    position = np.empty(n_features, np.int64)
    for i in range(len(cells)):
        row, row_out = cells[i], out[i]
        for j in range(n_features):
            cell = np.int64(row[j])
            row_out[j] = row[j]
            position[j] = np.int64((2.0 * cell + 1.0) * 32768.0 / known[j]) if cell < known[j] else -1
        for j in range(len(first)):
            one, other = position[np.uint64(first[j])], position[np.uint64(second[j])]
            total = one + other if sign[j] > 0 else one - other + 65536
            row_out[n_features + j] = bins if one < 0 or other < 0 else (total * bins) >> 17
