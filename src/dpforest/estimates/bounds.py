"""From noisy counts of octaves to bounds. Post-processing: nothing here sees a row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpforest._curator import Noisy
from dpforest.estimates.magnitudes import BORDERS, N_OCTAVES, PARTS

FALSE_ALARM = 0.005
"""How likely, at most, noise alone makes an empty group of some column look sure to hold rows."""
_NARROW = 2  # octaves; a column in so few of them may be far from zero and much narrower than they are
_MAY_BE_LOST = 0.2  # of the rows, where a second query makes a range narrower


class Span(NamedTuple):
    """Groups from `low` up to, and without, `high`."""

    low: int
    high: int


def sure_span(noisy: Noisy, n_columns: int) -> Span | None:
    """Return the span of all groups that are sure to hold rows, or None if no group is.

    A group is sure where its count is above what noise reaches in any of the groups of all columns but with
    probability `FALSE_ALARM`: for discrete Laplace noise of rate a, P(noise >= t) is at most exp(-a t).

    Parameters
    ----------
    noisy : Noisy
        Noisy counts of the groups of one column.
    n_columns : int
        How many columns are looked at together.
    """
    rate = np.sqrt(2) / max(noisy.sd, 0.5)  # of discrete Laplace noise, hardly more than its own
    sure = np.flatnonzero(noisy.values > np.log(len(noisy.values) * n_columns / FALSE_ALARM) / rate)
    return Span(int(sure[0]), int(sure[-1]) + 1) if len(sure) else None


def worthwhile(ends: NDArray[np.float64], noisy: Noisy, core: Span, noted: float) -> Span:
    """Return a span around a core that holds the rows of a column, but for a few.

    What stands out of the noise beside the core is added if it holds enough rows for the width: a range that
    is twice as wide as need be wastes half of the grid, one that is too narrow clips rows.

    Parameters
    ----------
    ends : ndarray of shape (n + 1,)
        Ends of the groups, increasing.
    noisy : Noisy
        Noisy counts of the n groups.
    core : Span
        Groups that are in it in any case.
    noted : float
        Standard deviations of the noise above which a group stands out, and which every doubling of the width
        has to gain in rows.

    Examples
    --------
    >>> ends = np.array([-2.0, -1, 0, 1, 2, 4, 8])
    >>> worthwhile(ends, Noisy(np.array([3, -2, 90, 80, 20, 4]), 5.0), Span(2, 4), 2.0)
    Span(low=2, high=5)
    """
    counts, noted_rows = noisy.values, noted * max(noisy.sd, 0.5)
    below = np.concatenate([[0], np.cumsum(np.where(counts > noted_rows, counts, 0))])
    lows, highs = np.arange(core.low + 1), np.arange(core.high, len(ends))
    doublings = np.log2((ends[highs] - ends[lows][:, None]) / (ends[core.high] - ends[core.low]))
    worth = below[highs] - below[lows][:, None] - noted_rows * doublings
    low, high = divmod(int(worth.argmax()), len(highs))
    return Span(int(lows[low]), int(highs[high]))


def is_narrow(octaves: Span) -> bool:
    """Whether octaves lie on one side of zero and are so few that a second query may be worth while."""
    zero = N_OCTAVES // 2
    return octaves.high - octaves.low <= _NARROW and not octaves.low <= zero <= octaves.high


def parts_of(octaves: Span) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Cut a span of octaves into 32 parts, about equally wide.

    Returns
    -------
    groups : ndarray
        Part of every cell of a column, -1 for cells that are not in the span.
    ends : ndarray
        Ends of the parts.

    Examples
    --------
    >>> groups, ends = parts_of(Span(N_OCTAVES // 2 + 30, N_OCTAVES // 2 + 31))
    >>> float(ends[0]), float(ends[1]), float(ends[-1])
    (512.0, 528.0, 1024.0)
    """
    cells = slice(octaves.low * PARTS, octaves.high * PARTS)
    left, right = BORDERS[:-1][cells], BORDERS[1:][cells]
    part = ((left - left[0]) / (right[-1] - left[0]) * PARTS).astype(np.int64)
    _, firsts, renumbered = np.unique(part, return_index=True, return_inverse=True)
    groups = np.full(N_OCTAVES * PARTS + 2, -1, np.int64)
    groups[cells] = renumbered
    return groups, np.append(left[firsts], right[-1])


def closer(ends: NDArray[np.float64], noisy: Noisy, rows: int, n_columns: int) -> Span:
    """Return the parts that hold the rows of a column: few if it is known that few rows are lost, else all.

    Parameters
    ----------
    ends : ndarray
        Ends of the parts.
    noisy : Noisy
        Noisy counts of the parts.
    rows : int
        Noisy number of rows in all parts, from an earlier query.
    n_columns : int
        How many columns are looked at together.
    """
    everything, core = Span(0, len(ends) - 1), sure_span(noisy, n_columns)
    if core is None:
        return everything
    span = worthwhile(ends, noisy, core, noted=3.0)
    lost = noisy.values.sum() - noisy.values[span.low : span.high].sum()
    doubt = 2 * noisy.sd * np.sqrt(len(noisy.values))
    return span if max(lost, 0) + doubt < _MAY_BE_LOST * rows else everything
