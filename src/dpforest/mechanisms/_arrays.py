"""The door between callers' arrays and the compiled kernels.

Every public function of this room passes its arrays through `as_int64`, so that each kernel is compiled for
one type only and a fractional count is refused instead of being cut off silently.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpforest._arrays import IntArray, WordArray


def as_int64(name: str, values: npt.ArrayLike, ndim: int | None = None) -> IntArray:
    """Return values as a writable C-ordered int64 array, refusing types that would lose something."""
    array = np.asarray(values)
    if not np.can_cast(array.dtype, np.int64, casting="safe"):
        raise TypeError(f"{name} must hold integers that fit in int64, got dtype {array.dtype}.")
    if ndim is not None and array.ndim != ndim:
        raise ValueError(f"{name} must have {ndim} dimension(s), got {array.ndim}.")
    # numba compiles a second version for read-only arrays, hence WRITEABLE.
    return np.require(array, np.int64, ["C_CONTIGUOUS", "ALIGNED", "WRITEABLE"])


def gaps_below_best(utilities: IntArray, best: IntArray) -> WordArray:
    """Exact best - utility for any int64 values: the difference may need 64 bits, so it is unsigned."""
    return best.astype(np.uint64) - utilities.astype(np.uint64)
