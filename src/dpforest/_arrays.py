"""Names for the types of arrays, for type checkers and readers; every room may import them."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

IntArray: TypeAlias = NDArray[np.int64]  # counts, sums, codes: whatever is private is of this type
FloatArray: TypeAlias = NDArray[np.float64]  # what is made of released values
WordArray: TypeAlias = NDArray[np.uint64]  # random words, and keys
