"""Columns made of two features on scales that were learnt: weighted sums of normal scores, in few steps.

A tree that cuts such a column cuts across two features at once. Which pairs there are is drawn with public
coins; the scales follow from released marginals. `dpforest._boosting` makes them, the rows' codes in them are
computed by `dpforest._rows` and, for new rows, by the estimators.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

SCALE_UNIT = 64  # a normal score of 1


@dataclass(frozen=True, eq=False)
class Pairs:
    """Further columns, each of two features.

    Parameters
    ----------
    scales : ndarray of int32, shape (n_features, n_cells)
        Place of every cell of every feature on a common scale, in units of 1 / SCALE_UNIT.
    columns : ndarray of int32, shape (n_pairs, 4)
        First feature, second feature, and what their places are multiplied with.
    cuts : ndarray of int32, shape (n_cuts,)
        Rising; the code of a row is the number of cuts below its sum.

    Examples
    --------
    >>> scales = np.array([[-1, 0, 1], [-1, 0, 1]], np.int32)
    >>> pairs = Pairs(scales, np.array([[0, 1, 1, 1]], np.int32), np.array([-1, 1], np.int32))
    >>> pairs.append(np.array([[0, 0], [2, 0], [2, 2]], np.uint8))
    array([[0, 0, 0],
           [2, 0, 1],
           [2, 2, 2]], dtype=uint8)
    """

    scales: NDArray[np.int32]
    columns: NDArray[np.int32]
    cuts: NDArray[np.int32]

    @property
    def n_codes(self) -> int:
        """Codes of every column."""
        return len(self.cuts) + 1

    def codes(self, cells: NDArray[Any], out: NDArray[Any]) -> None:
        """Put the codes of rows into ``out[pair, row]``."""
        from dpforest._structure import _pairs

        _pairs.codes(cells, self.scales, self.columns, self.cuts, out)

    def append(self, cells: NDArray[Any]) -> NDArray[Any]:
        """Return rows with one more column per pair."""
        n = cells.shape[1]
        wide = np.empty((len(cells), n + len(self.columns)), cells.dtype)
        wide[:, :n] = cells
        self.codes(cells, wide[:, n:].T)
        return wide
