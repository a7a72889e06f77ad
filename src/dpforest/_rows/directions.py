"""Tables of how rows lie along many directions at once: what a linear split of all rows is judged by.

A direction is a public score for every cell of every feature. A row's place along it is the sum of the scores
of its cells, cut into bins of equal width.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest._rows.rows import Block
from dpforest._rows.tables import MAX_TABLE_ENTRIES, _Spec, _target


@dataclass(frozen=True, eq=False, kw_only=True)
class DirectionCounts(_Spec):
    """Rows with a known target by (direction, bin, code).

    Parameters
    ----------
    scores : ndarray of int16, shape (n_directions, n_features, n_cells)
        What every cell of a feature adds to a row's place.
    low, width : ndarray of int64, shape (n_directions,)
        Where the first bin begins, and how wide bins are; the first and the last take what lies beyond.
    n_bins : int
        Bins of a direction.
    """

    scores: NDArray[np.int16]
    low: NDArray[np.int64]
    width: NDArray[np.int64]
    n_bins: int

    def __post_init__(self) -> None:
        n_directions, n_features, n_cells = self.scores.shape
        if not 0 < n_features <= len(self.grid.n_cells) or n_cells < max(self.grid.n_cells[:n_features]):
            raise ValueError("Every cell of a feature needs a score along every direction.")
        if self.scores.dtype != np.int16 or n_features > 2**16:  # sums stay below 2**31
            raise ValueError("Scores of directions are numbers of 16 bits.")
        if self.low.shape != (n_directions,) or self.width.shape != (n_directions,) or self.width.min() < 1:
            raise ValueError("Every direction needs a first bin and a width.")
        if not 0 < self.n_bins * n_directions * self.grid.n_codes <= MAX_TABLE_ENTRIES:
            raise ValueError("A table of directions needs bins, and no more than have room.")

    @property
    def shape(self) -> tuple[int, ...]:
        """Directions by bins by codes."""
        return len(self.scores), self.n_bins, self.grid.n_codes

    def add(self, block: Block, out: NDArray[Any]) -> None:
        """Add the rows of a block."""
        from dpforest._rows import _kernels

        target = _target(block, None)
        known = np.flatnonzero(target >= 0)
        cells = np.ascontiguousarray(block.cells[known, : self.scores.shape[1]])
        _kernels.direction_counts(cells, target[known], self.scores, self.low, self.width, out)
