"""The minimum of a convex objective, released with pure epsilon: objective perturbation, made exact.

Chaudhuri, Monteleoni and Sarwate (2011, section 3.3; Kifer, Smith and Thakurta 2012 for the proof with a
ridge of its own) add a random linear term to a convex objective and release where its minimum is. One release
costs what one noisy gradient costs, however many steps the search for the minimum takes: the search is not
released.

Setting
-------
J(w) = sum of the rows' losses at w + R(w) + <b, w>, w a matrix of `size` numbers (coordinates by outputs).

* A row's loss is convex; its gradient moves with w continuously; N(gradient) <= reach, where N adds up over
  outputs the largest L1 norm of a block of coordinates; the trace of its second derivative is at most `bend`.
* R(w) = ridge / 2 |w|**2 + wall / 4 max(|w|**2 - 3072, 0)**2: convex, bends by at least `ridge`.
* b = (k + u) 2**-bits: k whole numbers with pmf proportional to exp(-rate N(k)) (`block_norm`, for every
  output on its own), u uniform between -1/2 and 1/2 in every coordinate.

Why the minimum is private
--------------------------
For given rows J has one minimum w*, and b = -(G(w*) + grad R(w*)), G the sum of the rows' gradients: b and w*
determine each other. The map from w* to b is strongly monotone and Lipschitz in every ball, hence one to one,
with a derivative almost everywhere, and w* has the density

    f(-(G(w) + grad R(w))) * det(sum of second derivatives + R''(w)).

One more row changes the first factor by at most exp(rate hides), hides = 2**bits reach + outputs * widest: b
moves by a gradient v of N(v) <= reach; rounding a coordinate moves by less than 1 more than it does, so k
moves by no more than N(v) 2**bits + N(1, ..., 1), and N of all ones is the number of outputs times the widest
block. It multiplies the determinant by det(I + M**-1 A), A its second derivative, M >= ridge I: between 1 and
exp(trace(A) / ridge) <= exp(bend / ridge). Both together are at most exp(epsilon), see `Terms`.

Why what is computed is private, too
------------------------------------
A computer finds not w* but some v. Let E bound the length of the true gradient of J at v, with b as above.
J bends by at least `ridge`, so |v - w*| <= E / ridge. E has these parts, none of which depends on the rows:

* what the search leaves: it goes on until the gradient that it computes is no longer than `tolerance`;
* how inexact that gradient is: `inexact` for the sum over rows, from whoever computes it, and what adding the
  three parts in doubles costs (`_of_adding`);
* u, which is never drawn: the search takes k for b, which is off by sqrt(size) 2**-(bits + 1) at most.

Condition on w* = w. On either of two neighbouring tables v is then within E / ridge of w, so the two v differ
by at most 2 E / ridge in length, 2 E sqrt(size) / ridge in L1 norm, and rounded to whole multiples of
2**-grid by that plus 1 for every coordinate. Discrete Laplace noise on these whole numbers pays for it.
Whatever else the search depends on (a secret sample that steers it) may differ between the tables: v stays
that close to w.

Why there always is an answer
-----------------------------
A search that failed on some tables would tell them apart. `minimum` always ends if `tolerance` is what its
docstring asks for; `terms` sees to that. It needs to know how steep and how bent J can be:

* |b| < most 2**-bits sqrt(size), or OverflowError before any row is looked at. |k| is at most a radius R of
  weight V(R) exp(-rate R) (see `block_norm`), V a sum of positive multiples of C(R, i), i <= d coordinates.
  The mean of exp(rate R / 2) is then at most 2 (1 + exp(rate / 2))**d < exp(d + 10), as rate d <= 16; so R
  exceeds `most` = (4 (d + 1) + 2048) / rate with probability below exp(-1000).
* |G| <= rows reach sqrt(number of blocks), because a block's length is at most its L1 norm; G bends by no
  more than rows bend. `steepest` is the sum of both, and wall = steepest 2**-15: at |w|**2 = 3840 the wall
  pushes back with 768 * 61.9 wall > steepest, so |w*|**2 < 3840 < LONGEST**2. Below LONGEST it bends by (1024
  + 2 * 4096) wall at most.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from dpforest._arrays import FloatArray, IntArray
from dpforest.mechanisms.block_norm import block_norm, block_norm_rate
from dpforest.mechanisms.minimum import POSITION_BITS, Known, minimum
from dpforest.mechanisms.noise import discrete_laplace
from dpforest.mechanisms.randomness import RandomWords
from dpforest.mechanisms.rates import Rate

FOR_BENDING = Fraction(20, 100)  # of epsilon; study: 10 to 30 % are alike
_LEAST_RIDGE = 1.0  # with less, searches next to separable classes take thousands of steps
FOR_ROUNDING = Fraction(2, 100)
_MOST_BITS = 24
_SMALLEST_RATE = 2.0**-29
_ROUNDED = 2.0**-53  # one operation of IEEE 754 is off by at most so much of its result
_UNITS = 16  # of the grid, that the L1 norm of two computed minima may differ by at most, per coordinate

Gradient = Callable[[IntArray], FloatArray]
"""Sum of the rows' gradients at w, given in whole multiples of 2**-`POSITION_BITS`; within `inexact`."""

Steer = Callable[[IntArray], Callable[[FloatArray], FloatArray]]
"""A rough inverse of the second derivative at w; how rough decides on the length of the search only."""


class Problem(NamedTuple):
    """What is public about an objective; see the module.

    `inexact` is the length of the error of the computed sum of gradients, for tables of up to `rows` rows.
    """

    blocks: tuple[int, ...]
    n_outputs: int
    reach: Fraction
    bend: Fraction
    rows: int
    inexact: float

    @property
    def size(self) -> int:
        """Numbers that are released."""
        return sum(self.blocks) * self.n_outputs


class Terms(NamedTuple):
    """What an epsilon buys: epsilon >= rate hides + bend / ridge + (rate of `after`) moves.

    Parameters
    ----------
    rate, bits : Rate, int
        Of the linear term, in units of 2**-bits.
    hides, most : int
        By how many units N of the linear term moves, and how many units of it a search can follow.
    known : Known
        What the search knows of the objective.
    after, grid, moves : Rate, int, int
        Of the noise on what the search found, in units of 2**-grid, and by how many units that may move.
    """

    rate: Rate
    bits: int
    hides: int
    most: int
    known: Known
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
    >>> problem = Problem((1, 1, 3), 1, Fraction(1, 2), Fraction(3, 4), 2**30, 1e-6)
    >>> found = terms(problem, Fraction(1))
    >>> found.bits, found.known.ridge
    (24, 3.75)
    """
    ridge = max(_up(problem.bend / (epsilon * FOR_BENDING)), _LEAST_RIDGE)
    for_noise = epsilon * (1 - FOR_ROUNDING) - problem.bend / Fraction(ridge)
    # the finest units of b whose rate can still be drawn
    room = math.floor(math.log2(float(for_noise / problem.reach) / _SMALLEST_RATE))
    bits, width = max(min(_MOST_BITS, room), 0), sum(problem.blocks)
    hides = math.ceil(problem.reach * 2**bits) + problem.n_outputs * max(problem.blocks)
    rate = block_norm_rate(for_noise / hides, width)
    most = math.ceil((4 * (width + 1) + 2048) / rate.value)
    root = math.sqrt(problem.size)
    steepest = math.ldexp(most, -bits) * root + problem.rows * float(problem.reach) * math.sqrt(
        len(problem.blocks)
    )
    wall = steepest * 2.0**-15
    bent = 1.01 * (problem.rows * float(problem.bend) + ridge + 9216 * wall)
    inexact = problem.inexact + _of_adding(steepest)
    tolerance = 2.01 * (inexact + bent * root * 2.0**-POSITION_BITS)
    apart = 2.01 * (tolerance + inexact + root * 2.0 ** -(bits + 1)) / ridge * root
    payable = float(epsilon * FOR_ROUNDING) / _SMALLEST_RATE - problem.size
    units = min(_UNITS * problem.size, max(payable, 1.0))
    grid = min(max(math.floor(math.log2(units / apart)), 0), POSITION_BITS)
    moves = math.ceil(apart * 2.0**grid) + problem.size
    after = Rate.floor(epsilon * FOR_ROUNDING / moves)
    return Terms(rate, bits, hides, most, Known(ridge, wall, bent, tolerance), after, grid, moves)


def perturbed_cost(problem: Problem, found: Terms) -> Fraction:
    """Return the epsilon that terms cost: at most the one that they were made for.

    Examples
    --------
    >>> problem = Problem((1, 1, 3), 1, Fraction(1, 2), Fraction(3, 4), 2**30, 1e-6)
    >>> 0.999 < perturbed_cost(problem, terms(problem, Fraction(1))) <= 1
    True
    """
    bending = problem.bend / Fraction(found.known.ridge)
    return found.rate.value * found.hides + bending + found.after.value * found.moves


def _of_adding(steepest: float) -> float:
    """Bound the error of adding the three parts of a gradient whose sum is next to nothing.

    The linear term is exact. The factor and the product of the third part are 5 operations, so off by 5 units
    of its length, which is within `tolerance` of that of the first two; two additions cost a unit each.
    """
    return 8 * _ROUNDED * steepest


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
    if np.abs(drawn).max() > found.most:  # of probability below exp(-1000); no row was looked at
        raise OverflowError("The noise is beyond what a search can follow.")
    slope = np.ldexp(drawn.astype(np.float64), -found.bits)
    return discrete_laplace(rounded_minimum(found, gradient, steer, slope), found.after, words)


def rounded_minimum(found: Terms, gradient: Gradient, steer: Steer, slope: FloatArray) -> IntArray:
    """Find the minimum with a given linear term, in units of 2**-grid; private."""
    at = minimum(gradient, steer, slope, found.known)
    whole: IntArray = np.rint(np.ldexp(at.astype(np.float64), found.grid - POSITION_BITS)).astype(np.int64)
    return whole


def _up(x: Fraction) -> float:
    """Return the smallest double that is not below x."""
    near = float(x)
    return near if Fraction(near) >= x else math.nextafter(near, math.inf)
