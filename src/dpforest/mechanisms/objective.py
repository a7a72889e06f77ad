"""The minimum of a convex objective, released with pure epsilon: objective perturbation, made exact.

Chaudhuri, Monteleoni and Sarwate (2011, section 3.3; Kifer, Smith and Thakurta 2012 for the proof with a ridge
of its own) add a random linear term to a convex objective and release where its minimum is. One release costs
what one noisy gradient costs, however many steps the search for the minimum takes: the search is not released.

Setting
-------
J(w) = sum of the rows' losses at w + R(w) + <b, w>, w a matrix of `size` numbers (coordinates by outputs).

* A row's loss is convex; its gradient moves with w continuously; N(gradient) <= reach, where N adds up over
  outputs the largest L1 norm of a block of coordinates; the trace of its second derivative is at most `bend`.
* R(w) = ridge / 2 |w|**2 - log(1 - |w|**2 / LONGEST**2): convex, bends by at least `ridge`, keeps |w| below
  LONGEST whatever the rows are.
* b = (k + u) 2**-bits: k whole numbers with pmf proportional to exp(-rate N(k)) (`block_norm`, for every output
  on its own), u uniform between -1/2 and 1/2 in every coordinate.

Why the minimum is private
--------------------------
For given rows J has one minimum w*, and b = -(G(w*) + grad R(w*)), G the sum of the rows' gradients: b and w*
determine each other. The map from w* to b is strongly monotone and Lipschitz wherever |w| stays below LONGEST,
hence one to one, with a derivative almost everywhere, and w* has the density

    f(-(G(w) + grad R(w))) * det(sum of second derivatives + R''(w)).

One more row changes the first factor by at most exp(rate (2**bits reach + outputs * widest)): b moves by a
gradient v of N(v) <= reach; rounding a coordinate moves by less than 1 more than it does, so k moves by no
more than N(v) 2**bits + N(1, ..., 1), and N of all ones is the number of outputs times the widest block. It
multiplies the determinant by det(I + M**-1 A), A its second derivative, M >= ridge I: between 1 and exp(trace
(A) / ridge) <= exp(bend / ridge). Both together are at most exp(epsilon), see `Terms`.

Why what is computed is private, too
------------------------------------
A computer finds not w* but some v. Let E bound the length of the true gradient of J at v, with b as above.
J bends by at least `ridge`, so |v - w*| <= E / ridge. E has these parts, none of which depends on the rows:

* what the search leaves: it goes on until the gradient that it computes is no longer than `tolerance`;
* how inexact that gradient is (`inexact`, from whoever computes it);
* u, which is never drawn: the search takes k for b, which is off by sqrt(size) 2**-(bits + 1) at most.

Condition on w* = w. On either of two neighbouring tables v is then within E / ridge of w, so the two v differ
by at most 2 E / ridge in length, 2 E sqrt(size) / ridge in L1 norm, and rounded to whole multiples of 2**-grid
by that plus 1 for every coordinate. Discrete Laplace noise on these whole numbers pays for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from dpforest._arrays import FloatArray, IntArray
from dpforest.mechanisms.block_norm import block_norm, block_norm_rate
from dpforest.mechanisms.minimum import minimum
from dpforest.mechanisms.noise import discrete_laplace
from dpforest.mechanisms.randomness import RandomWords
from dpforest.mechanisms.rates import Rate

FOR_BENDING = Fraction(20, 100)  # of epsilon; study: 10 to 30 % are alike
FOR_ROUNDING = Fraction(2, 100)
_MOST_BITS = 24
_SMALLEST_RATE = 2.0**-29
_UNITS = 8  # of the grid, that the L1 norm of two computed minima may differ by, per coordinate

Gradient = Callable[[IntArray], FloatArray]
"""Sum of the rows' gradients at w, given in whole multiples of 2**-`POSITION_BITS`; within `inexact`."""

Steer = Callable[[IntArray], Callable[[FloatArray], FloatArray]]
"""A rough inverse of the second derivative at w."""


class Problem(NamedTuple):
    """What is public about an objective; see the module."""

    blocks: tuple[int, ...]
    n_outputs: int
    reach: Fraction
    bend: Fraction
    inexact: float

    @property
    def size(self) -> int:
        """Numbers that are released."""
        return sum(self.blocks) * self.n_outputs


class Terms(NamedTuple):
    """What an epsilon buys: epsilon = rate (2**bits reach + outputs widest) + bend / ridge + epsilon of `after`.

    Parameters
    ----------
    rate, bits : Rate, int
        Of the linear term.
    ridge : float
        Of the objective.
    tolerance : float
        Length of the computed gradient at which the search ends.
    after, grid, moves : Rate, int, int
        Of the noise on what the search found, in units of 2**-grid, and by how many units that may move.
    """

    rate: Rate
    bits: int
    ridge: float
    tolerance: float
    after: Rate
    grid: int
    moves: int


def terms(problem: Problem, epsilon: Fraction) -> Terms:
    """Divide an epsilon between the linear term, the ridge and what the search leaves.

    Parameters
    ----------
    problem : Problem
        What is public about the objective.
    epsilon : Fraction
        What may be spent.

    Returns
    -------
    Terms

    Raises
    ------
    ValueError
        If epsilon is too small for the noise to be drawn.

    Examples
    --------
    >>> problem = Problem((1, 1, 3), 1, Fraction(1, 2), Fraction(3, 4), 1e-6)
    >>> found = terms(problem, Fraction(1))
    >>> found.bits, found.ridge
    (24, 3.75)
    """
    ridge = _up(problem.bend / (epsilon * FOR_BENDING))
    bending = problem.bend / Fraction(ridge)
    for_noise = epsilon * (1 - FOR_ROUNDING) - bending
    slack = problem.n_outputs * max(problem.blocks)
    # the finest units of b whose rate can still be drawn
    room = math.floor(math.log2(float(for_noise / problem.reach) / _SMALLEST_RATE))
    bits = max(min(_MOST_BITS, room), 0)
    rate = block_norm_rate(for_noise / (problem.reach * 2**bits + slack), sum(problem.blocks))
    root = math.sqrt(problem.size)
    tolerance = problem.inexact + 2.0**-30
    apart = 2 * (tolerance + problem.inexact + root * 2.0 ** -(bits + 1)) / ridge * root * (1 + 2.0**-40)
    grid = max(math.ceil(math.log2(_UNITS * problem.size / apart)), 0)
    moves = math.ceil(apart * 2.0**grid) + problem.size
    after = Rate.floor(epsilon * FOR_ROUNDING / moves)
    return Terms(rate, bits, ridge, tolerance, after, grid, moves)


def perturbed_minimum(
    problem: Problem, found: Terms, gradient: Gradient, steer: Steer, words: RandomWords
) -> IntArray:
    """Release where the minimum of a perturbed objective is.

    Parameters
    ----------
    problem : Problem
        What is public about the objective.
    found : Terms
        From `terms`.
    gradient, steer : callable
        Of the sum of the rows' losses; private.
    words : RandomWords
        Randomness.

    Returns
    -------
    ndarray of int64, shape (coordinates, outputs)
        In units of 2**-grid.
    """
    nothing = np.zeros((problem.n_outputs, sum(problem.blocks)), np.int64)
    drawn = block_norm(nothing, problem.blocks, found.rate, words).T
    if np.abs(drawn).max() >= 2.0 ** (found.bits + 32):  # no row was looked at
        raise OverflowError("The noise is beyond what a search can follow.")
    slope = np.ldexp(drawn.astype(np.float64), -found.bits)
    return discrete_laplace(rounded_minimum(found, gradient, steer, slope), found.after, words)


def rounded_minimum(found: Terms, gradient: Gradient, steer: Steer, slope: FloatArray) -> IntArray:
    """Find the minimum with a given linear term, in units of 2**-grid; private."""
    exact = minimum(gradient, steer, slope, found.ridge, found.tolerance)
    whole: IntArray = np.rint(np.ldexp(exact, found.grid)).astype(np.int64)
    return whole


def _up(x: Fraction) -> float:
    """Return the smallest double that is not below x."""
    near = float(x)
    return near if Fraction(near) >= x else math.nextafter(near, math.inf)
