"""Search for the minimum of a smooth, strongly convex function, by its gradient alone; see `objective`.

Nothing here is random, and nothing of the search is released: only where it ends matters, and that is checked.
L-BFGS (Nocedal and Wright 2006, algorithm 7.4) from a rough inverse of the second derivative that the caller
has. Positions are whole multiples of 2**-POSITION_BITS, finer than doubles of their size.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dpforest._arrays import FloatArray, IntArray

POSITION_BITS = 56
LONGEST = 64.0  # a position stays inside this ball, so that its whole numbers stay below 2**62
_REMEMBERED = 12
_SHORTEST = 2.0**-40


def minimum(
    gradient: Callable[[IntArray], FloatArray],
    steer: Callable[[IntArray, FloatArray], FloatArray],
    slope: FloatArray,
    ridge: float,
    tolerance: float,
) -> FloatArray:
    """Return w where the length of ``gradient(w) + slope + d R(w)`` is at most the tolerance.

    R(w) = ridge / 2 |w|**2 - log(1 - |w|**2 / LONGEST**2).

    Parameters
    ----------
    gradient : callable
        Of the rest of the function, at a position in whole numbers.
    steer : callable
        Takes such a position and returns a rough inverse of the second derivative there, as a function.
    slope : ndarray
        Of a linear term.
    ridge, tolerance : float
        As above.
    """

    def whole_gradient(at: IntArray) -> FloatArray:
        w = np.ldexp(at.astype(np.float64), -POSITION_BITS)
        return gradient(at) + slope + (ridge + 2 / (LONGEST**2 - (w**2).sum())) * w

    at = np.zeros(slope.shape, np.int64)
    here = whole_gradient(at)
    inverse = steer(at)
    pairs: list[tuple[FloatArray, FloatArray]] = []
    n_steps = 0
    while np.sqrt((here**2).sum()) > tolerance:
        if n_steps in (2, 5, 10) or (n_steps and n_steps % 40 == 0):
            inverse, pairs = steer(at), []
        step = -_two_loops(here, pairs, inverse)
        falling = float((step * here).sum())
        if not falling < 0:  # what was remembered misleads
            pairs, step = [], -here / ridge
            falling = float((step * here).sum())
        w, share = np.ldexp(at.astype(np.float64), -POSITION_BITS), 1.0
        while ((w + share * step) ** 2).sum() >= (1 - 2.0**-20) * LONGEST**2:
            share /= 2
        while True:
            moved = np.rint(np.ldexp(share * step, POSITION_BITS)).astype(np.int64)
            there = whole_gradient(at + moved)
            rising = float((step * there).sum())
            if rising <= -0.5 * falling or share < _SHORTEST:
                break
            share *= min(max(falling / (falling - rising), 0.1), 0.7)
        took, changed = np.ldexp(moved.astype(np.float64), -POSITION_BITS), there - here
        if float((took * changed).sum()) > 0:
            pairs = [*pairs[1 - _REMEMBERED :], (took, changed)]
        at, here, n_steps = at + moved, there, n_steps + 1
    return np.ldexp(at.astype(np.float64), -POSITION_BITS)


def _two_loops(
    here: FloatArray, pairs: list[tuple[FloatArray, FloatArray]], inverse: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    """Apply the inverse that the last steps imply."""
    left, used = here.copy(), []
    for took, changed in reversed(pairs):
        share = float((took * left).sum()) / float((took * changed).sum())
        left -= share * changed
        used.append(share)
    found = inverse(left)
    for (took, changed), share in zip(pairs, reversed(used), strict=True):
        found += (share - float((changed * found).sum()) / float((took * changed).sum())) * took
    return found
