"""The public list of directions along which two classes are parted by one threshold, and their exact scores.

A candidate is a direction, a threshold and which class lies beyond it. Its score is the number of rows that
it names correctly. One more row raises that by 0 or 1 and leaves alone all others, so W = 1, however many
directions there are: a good one among a thousand random ones costs no more than the choice itself, and its
noise does not grow with the number of features.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

N_BINS = 128
FROM_PUBLIC_ROWS = " on scales of public rows"


class Parted(NamedTuple):
    """A released direction: rows whose place is at least `threshold` are of the second class.

    `scores`, of shape (n_features, n_cells), say what every cell adds to the place.
    """

    scores: NDArray[np.int64]
    threshold: int


@dataclass(frozen=True)
class Directions:
    """Directions to choose from; all of it public.

    Parameters
    ----------
    scores : ndarray of int16, shape (n_directions, n_features, n_cells)
        What every cell adds to a row's place along every direction.
    low, width : ndarray of int64, shape (n_directions,)
        Where the first of `N_BINS` bins begins, and how wide they are.
    both_ways : bool
        Whether either class may lie beyond a threshold, or only the second one.
    from_public_rows : bool
        Whether public rows told where features lie; ledgers say so.
    """

    scores: NDArray[np.int16]
    low: NDArray[np.int64]
    width: NDArray[np.int64]
    both_ways: bool = True
    from_public_rows: bool = False

    @property
    def origin(self) -> str:
        """What a ledger says of them."""
        return FROM_PUBLIC_ROWS if self.from_public_rows else ""

    def correct(self, table: NDArray[Any]) -> NDArray[np.int64]:
        """Rows that every candidate names correctly, exactly.

        Parameters
        ----------
        table : ndarray of shape (n_directions, N_BINS, 2)
            Rows by direction, bin and class.

        Returns
        -------
        ndarray of shape (1, n_candidates)
            By direction, threshold (the bin that begins there) and, if both ways count, the way.
        """
        below = np.cumsum(table, axis=1, dtype=np.int64)[:, :-1]
        # every row is in one bin of each direction
        total = table[0].sum(axis=0, dtype=np.int64)
        second_beyond: NDArray[np.int64] = below[..., 0] + total[1] - below[..., 1]
        if not self.both_ways:
            return second_beyond.reshape(1, -1)
        return np.stack([second_beyond, total.sum() - second_beyond], axis=2).reshape(1, -1)

    def parted_by(self, candidate: int) -> Parted:
        """Return what a candidate stands for, turned so that the second class lies beyond."""
        n_ways = 2 if self.both_ways else 1
        at, other_way = divmod(candidate, n_ways)
        direction, bin_below = divmod(at, N_BINS - 1)
        scores = self.scores[direction].astype(np.int64)
        threshold = int(self.low[direction] + (bin_below + 1) * self.width[direction])
        return Parted(-scores, 1 - threshold) if other_way else Parted(scores, threshold)
