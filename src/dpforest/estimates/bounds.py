"""From noisy counts of octaves to bounds. Post-processing: nothing here sees a row."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpforest._curator import Noisy
from dpforest.estimates.magnitudes import BORDERS, N_OCTAVES, PARTS

FALSE_ALARM = 0.005
"""How likely, at most, noise alone makes an empty group of some column look sure to hold rows."""
# Standard deviations of the noise: above so many a group beside the sure ones counts, and so many have to be
# gained in rows to make a range twice as wide. Octaves beside the sure ones are likelier to hold rows.
_NOTED_OCTAVE, _NOTED_PART = 2.0, 3.0
_NARROW = 2  # octaves; a range in so few of them may be far from zero and much narrower than they are


class Found(NamedTuple):
    """A range, and the noisy number of rows in it."""

    low: float
    high: float
    rows: int


def worthwhile(
    ends: NDArray[np.float64], noisy: Noisy, n_columns: int, are_octaves: bool = False
) -> tuple[int, int]:
    """Return the places of the two ends between which the rows of a column lie, but for a few.

    A group is sure to hold rows where its count is above what noise reaches in any of the groups of all
    columns but with probability `FALSE_ALARM`; for discrete Laplace noise of rate a, P(noise >= t) is at most
    exp(-a t). The range spans all of these. Beyond it, what stands out of the noise may be added if it holds
    enough rows for the width: a range that is twice as wide as need be wastes half of the grid, one that is
    too narrow clips rows.

    Parameters
    ----------
    ends : ndarray of shape (n + 1,)
        Ends of the groups, increasing.
    noisy : Noisy
        Noisy counts of the n groups.
    n_columns : int
        How many columns are looked at together.
    are_octaves : bool, default=False
        Whether the groups are octaves, of which few together will get a closer look: such a range may come
        out 32 times as narrow as it is, and that much is lost with it.

    Examples
    --------
    >>> ends = np.array([-2.0, -1, 0, 1, 2, 4, 8])
    >>> worthwhile(ends, Noisy(np.array([3, -2, 90, 80, 20, 4]), 5.0), 1)
    (2, 5)
    """
    counts, sd = noisy.values, max(noisy.sd, 0.5)
    noted = sd * (_NOTED_OCTAVE if are_octaves else _NOTED_PART)
    sure = np.flatnonzero(counts > sd / np.sqrt(2) * np.log(len(counts) * n_columns / FALSE_ALARM))
    if not len(sure):
        sure = np.array([counts.argmax()])
    first, last = int(sure[0]), int(sure[-1]) + 1
    below = np.concatenate([[0], np.cumsum(np.where(counts > noted, counts, 0))])
    lows, highs = np.arange(first + 1), np.arange(last, len(ends))
    widths = ends[highs] - ends[lows][:, None]
    if are_octaves:
        widths = np.where(is_narrow(lows[:, None], highs), widths / PARTS, widths)
    doublings = np.log2(widths / widths[-1, 0])
    worth = below[highs] - below[lows][:, None] - noted * doublings
    low, high = divmod(int(worth.argmax()), len(highs))
    return int(lows[low]), int(highs[high])


def is_narrow(low: Any, high: Any) -> Any:
    """Whether ranges of octaves lie on one side of zero and in so few that a closer look is worth while."""
    zero = N_OCTAVES // 2
    touches_zero = (low <= zero) & (zero <= high)
    return (high - low <= _NARROW) & ~touches_zero


def parts_of(low: int, high: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Cut a narrow range of octaves into 32 parts.

    Returns
    -------
    groups : ndarray
        Part of every cell of a column, -1 for cells that are not in the range.
    ends : ndarray of shape (33,)
        Ends of the parts.
    """
    merged = high - low  # octaves of equally many parts each
    groups = np.full(N_OCTAVES * PARTS + 2, -1, np.int64)
    groups[low * PARTS : high * PARTS] = np.arange((high - low) * PARTS) // merged
    return groups, BORDERS[low * PARTS : high * PARTS + 1 : merged]


def found_range(ends: NDArray[np.float64], low: int, high: int, noisy: NDArray[np.int64]) -> Found:
    """Return the range between two ends."""
    return Found(float(ends[low]), float(ends[high]), int(noisy[low:high].sum()))
