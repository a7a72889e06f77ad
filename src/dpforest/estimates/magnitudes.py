"""The public grid of magnitudes, on which nothing has to be known about a column.

Its borders are zero and plus and minus the powers of two from 2**-20 to 2**42; every part between two of them
(an octave) is cut into 32 equal cells. Values beyond fall into the outermost octaves.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.schema import Numeric, Range
from dpforest.schema.columns import Part
from dpforest.schema.encoding import Encoder, cell_type

SMALLEST, LARGEST = -20, 42
PARTS = 32
"""Cells of an octave."""
_POWERS = 2.0 ** np.arange(SMALLEST, LARGEST + 1)
# as many octaves as there are parts between these, and one beyond either end
OCTAVES: NDArray[np.float64] = np.concatenate(
    [[-2 * _POWERS[-1]], -_POWERS[::-1], [0.0], _POWERS, [2 * _POWERS[-1]]]
)
"""Ends of the octaves, those of the outermost ones included."""
N_OCTAVES = len(OCTAVES) - 1
BORDERS: NDArray[np.float64] = np.append(
    (OCTAVES[:-1, None] + np.arange(PARTS) / PARTS * np.diff(OCTAVES)[:, None]).ravel(), OCTAVES[-1]
)
"""Ends of the cells; exact doubles, since cells of an octave are its 32nd parts."""


class Magnitudes(Numeric):
    """A number on the grid of magnitudes.

    Examples
    --------
    >>> grid = Magnitudes()
    >>> cell = grid.cell_of(1000)
    >>> float(BORDERS[cell]), float(BORDERS[cell + 1])
    (992.0, 1008.0)
    >>> grid.cell_of(float("-inf")), grid.cell_of(0), grid.cell_of(None)
    (0, 2048, 4096)
    """

    def __init__(self) -> None:
        super().__init__(-(2.0 ** (LARGEST + 1)), 2.0 ** (LARGEST + 1), bins=N_OCTAVES * PARTS)

    @property
    def is_even(self) -> bool:
        """Whether all cells of the grid are equally wide."""
        return False

    @cached_property
    def borders(self) -> NDArray[np.float64]:
        """The inner borders."""
        return BORDERS[1:-1]

    def _state(self) -> tuple[Any, ...]:
        return ()


class TargetMagnitudes(Range):
    """A numeric target on the grid of magnitudes: its code is its cell."""

    def __init__(self) -> None:
        super().__init__(-1.0, 1.0)

    @property
    def n_codes(self) -> int:
        """How many codes a known target may have."""
        return N_OCTAVES * PARTS

    def encode_part(self, part: Part) -> NDArray[np.int32]:
        """Return the cell of each target, or -1 where it is missing or not a number."""
        feature = Magnitudes()
        cells = np.empty((len(part), 1), cell_type(feature.n_cells))
        Encoder([feature], cells.dtype).encode([part], cells)
        codes = cells[:, 0].astype(np.int32)
        return np.where(codes < self.n_codes, codes, -1).astype(np.int32)

    def _state(self) -> tuple[Any, ...]:
        return ()


def octave_of_cell() -> NDArray[np.int64]:
    """Octave of every cell of a column, -1 for missing and other values."""
    return np.append(np.repeat(np.arange(N_OCTAVES), PARTS), [-1, -1])
