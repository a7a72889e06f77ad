"""Search for the minimum of a smooth, strongly convex function, by its gradient alone; see `objective`.

Nothing here is random, and nothing of the search is released: only where it ends matters, and that is
checked. L-BFGS (Nocedal and Wright 2006, algorithm 7.4) from a rough inverse of the second derivative that
the caller has. Positions are whole multiples of 2**-POSITION_BITS, finer than doubles of their size.

Why it ends
-----------
After `_FREE_STEPS` every step makes the function smaller, and there are finitely many positions. Let the
computed gradient be off by at most e, and let the function bend by at most L.

* A step s is taken if the computed gradient g at its end has <g, s> < -e |s|: the true one then has <g, s> <
  0, and a convex function whose slope along s is negative at the end of s fell along all of it.
* Else the step is -g / (2 L), every coordinate cut towards 0: |s_i| <= |g_i| / (2 L). Along it the true
  gradient moves by L |s| at most, so at its end <g, s> <= -sum |g_i s_i| + L |s|**2 + e |s|, which is at most
  (e - L |s|) |s|, because sum |g_i s_i| >= 2 L |s|**2. With h the unit of positions, |s| > |g| / (2 L) -
  sqrt(size) h: negative, as long as |g| > 2 e + 2 L sqrt(size) h. That is the least tolerance.

Positions stay inside the ball of radius LONGEST: a step that would leave it is halved. The second kind of
step has to be halved a few times at most, because the wall (see `objective`) pushes inwards beyond |w|**2 =
3840, and |s| > 1 still then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dpforest._arrays import FloatArray, IntArray

POSITION_BITS = 56
LONGEST = 64.0  # positions stay inside this ball, so that their whole numbers stay below 2**62
_WALL = 3072 << 2 * POSITION_BITS  # squared length from where on the wall pushes
_REMEMBERED = 40
_FREE_STEPS = 2000  # a search that is steered well takes 10 to 50, next to separable classes some hundreds
_SHORTEST = 2.0**-40
_STEERED_AT = (4, 20)  # steps after which the second derivative is asked for anew


class Known(NamedTuple):
    """What is known of a function: R(w) and how much it bends at most; and when the search may end."""

    ridge: float
    wall: float
    bent: float
    tolerance: float


@np.errstate(
    all="ignore"
)  # a warning would tell something of the rows; steps that are no numbers are not taken
def minimum(
    gradient: Callable[[IntArray], FloatArray],
    steer: Callable[[IntArray], Callable[[FloatArray], FloatArray]],
    slope: FloatArray,
    known: Known,
) -> IntArray:
    """Return where the length of ``gradient(w) + slope + grad R(w)``, as computed, is at most the tolerance.

    R(w) = ridge / 2 |w|**2 + wall / 4 max(|w|**2 - 3072, 0)**2.

    Parameters
    ----------
    gradient : callable
        Of the rest of the function, at a position in whole numbers.
    steer : callable
        Takes such a position and returns a rough inverse of the second derivative there, as a function.
    slope : ndarray
        Of a linear term.
    known : Known
        See there.

    Returns
    -------
    ndarray of int64
        In units of 2**-POSITION_BITS.
    """

    def whole_gradient(at: IntArray) -> FloatArray:
        # exact in Python's integers: beyond the wall, what is left of a difference must be right
        beyond = max(sum(x * x for x in at.ravel().tolist()) - _WALL, 0) / (1 << 2 * POSITION_BITS)
        return gradient(at) + slope + (known.ridge + known.wall * beyond) * _doubles(at)

    at = np.zeros(slope.shape, np.int64)
    here = whole_gradient(at)
    inverse = steer(at)
    pairs: list[tuple[FloatArray, FloatArray]] = []
    n_steps = 0
    while _length(here) > known.tolerance:
        if n_steps in _STEERED_AT:
            inverse, pairs = steer(at), []
        step = -_two_loops(here, pairs, _with_wall(inverse, at, known))
        falling = _product(step, here)
        if not -np.inf < falling < 0:  # what was remembered, or what steers, misleads
            inverse, pairs, step = _from_ridge(known), [], -here / known.ridge
        step = _inside(at, step)
        falling = _product(step, here)
        is_free = n_steps < _FREE_STEPS
        moved, there = _along(at, step, falling, is_free, known.tolerance, whole_gradient)
        took = _doubles(moved)
        if not (is_free or _surely_falls(took, there, known) or _length(there) <= known.tolerance):
            short = _inside(at, -here / (2 * known.bent))
            moved = np.trunc(np.ldexp(short, POSITION_BITS)).astype(np.int64)
            there, took = whole_gradient(at + moved), _doubles(moved)
        changed = there - here
        if _product(took, changed) > 0:
            pairs = [*pairs[1 - _REMEMBERED :], (took, changed)]
        at, here, n_steps = at + moved, there, n_steps + 1
    return at


def _along(
    at: IntArray,
    step: FloatArray,
    falling: float,
    is_free: bool,
    tolerance: float,
    gradient: Callable[[IntArray], FloatArray],
) -> tuple[IntArray, FloatArray]:
    """Shorten a step until the function falls, or hardly rises, at its end; return it and what is there."""
    share = 1.0
    while True:
        moved = np.rint(np.ldexp(share * step, POSITION_BITS)).astype(np.int64)
        there = gradient(at + moved)
        rising = _product(step, there)
        is_enough = rising <= (-0.5 if is_free else 0.1) * falling
        if is_enough or _length(there) <= tolerance or share < _SHORTEST:
            return moved, there
        share *= min(max((1.0 if is_free else 0.8) * falling / (falling - rising), 0.1), 0.7)


def _surely_falls(took: FloatArray, there: FloatArray, known: Known) -> bool:
    """Say whether a step makes the function smaller, whatever the errors; products are rounded, too."""
    error = known.tolerance / 2 + 2.0**-40 * _length(there)
    return _product(took, there) < -error * _length(took)


def _with_wall(
    inverse: Callable[[FloatArray], FloatArray], at: IntArray, known: Known
) -> Callable[[FloatArray], FloatArray]:
    """Take in how much the wall bends along w, 2 wall w w', which nobody who steers knows of."""
    w = _doubles(at)
    if (w**2).sum() < 3072:
        return inverse
    along = inverse(w)
    share = 2 * known.wall / (1 + 2 * known.wall * _product(w, along))

    def inverted(gradient: FloatArray) -> FloatArray:
        found = inverse(gradient)
        return found - share * _product(w, found) * along

    return inverted


def _from_ridge(known: Known) -> Callable[[FloatArray], FloatArray]:
    """Make the roughest inverse of a second derivative."""
    return lambda gradient: gradient / known.ridge


def _inside(at: IntArray, step: FloatArray) -> FloatArray:
    """Halve a step until it ends inside the ball."""
    w = _doubles(at)
    edge = max((1 - 2.0**-20) * LONGEST, (1 + 2.0**-40) * _length(w))  # a position may be rounded to the edge
    while not _length(w + step) < edge:
        step = step / 2
    return step


def _doubles(at: IntArray) -> FloatArray:
    w: FloatArray = np.ldexp(at.astype(np.float64), -POSITION_BITS)
    return w


def _length(x: FloatArray) -> float:
    return float(np.sqrt((x**2).sum()))


def _product(x: FloatArray, y: FloatArray) -> float:
    return float((x * y).sum())


def _two_loops(
    here: FloatArray, pairs: list[tuple[FloatArray, FloatArray]], inverse: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    """Apply the inverse that the last steps imply."""
    left, used = here.copy(), []
    for took, changed in reversed(pairs):
        share = _product(took, left) / _product(took, changed)
        left -= share * changed
        used.append(share)
    found = inverse(left)
    for (took, changed), share in zip(pairs, reversed(used), strict=True):
        found += (share - _product(changed, found) / _product(took, changed)) * took
    return found
