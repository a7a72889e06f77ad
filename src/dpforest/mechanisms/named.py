"""Two levels of a tree *and the classes of its four leaves*, chosen together by one exponential mechanism.

Why
---
`nested` chooses the cut of a node and those of its two children by the rows that four leaves would name
correctly, each leaf the most common of its classes. What these classes are it does not say: a tree then pays
for them once more, when its leaves are counted. But a candidate may as well be (a, b, c) *with* a class for
every leaf, and its utility the rows whose leaf has their own class. One more row is in one leaf and raises
that by 0 or 1: W = 1, as before. So the classes cost nothing.

    P(a, b, c, k) proportional to base(a) base(b) base(c) exp(rate (sum over leaves of n(leaf, k_leaf)))

is drawn from the outside in. With L(leaf) = ln of the sum over classes k of exp(rate n(leaf, k)),

    left(a, b) = (L of the two leaves of the left child) / rate,   right(a, c) likewise,

(a, b, c) is drawn as in `nested`, and then the class of each leaf, with weights exp(rate n(leaf, k)).

Why it is private although the sums are rounded
-----------------------------------------------
The argument is that of `nested`, once more. left and right enter as whole numbers, rounded down to units of 1
/ NAMED_UNIT; what that takes away is theta(a, b) and theta(a, c), in units of the score, beside theta(a) of
the first choice. When the classes are drawn, exactly, the sums over classes cancel whatever float64 made of
their logarithms, as the sums Z do when b and c are drawn:

    P(a, b, c, k) = base(a) base(b) base(c) exp(rate (sum of n(leaf, k_leaf) - all three theta)) / a constant.

This is an exponential mechanism, and theta moves its utility within an interval of length w more, on either
side. An error of half a unit in every logarithm allowed for, theta(a) lies in an interval of 2 / NESTED_UNIT,
and each of the others in one of 2 / NAMED_UNIT = 8 / NESTED_UNIT. Together w = 18 / NESTED_UNIT, so the range
is W + 2 w: `named_range`.

How wrong a logarithm can be, with h = 2**-53 and K classes: rate d is exact in a double (21 and 20 bits), a
power is off by 2 h of it, and taken for 0 beyond exp(-40) < 2**-57; the sum of K of them, of which the
largest is 1, by (K + 2) h + K 2**-57 of it, the product of two sums by twice that and h, its logarithm by h
of it (at most 2 ln K). With K <= 2**16 that is below 2**-34; times NAMED_UNIT / rate <= 2**23 at the smallest
rate, far less than half a unit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dpforest._arrays import FloatArray, IntArray
from dpforest.mechanisms.nested import NESTED_UNIT, draw_nested, nested_log_pmf
from dpforest.mechanisms.randomness import RandomWords
from dpforest.mechanisms.rates import Rate
from dpforest.mechanisms.selection import choose, exponential_log_pmf

NAMED_UNIT = 2**10
_LARGEST_POWER = 40

Leaves = Callable[[IntArray], IntArray]
"""Class counts of the four leaves that chosen (a, b, c) of every row come to: (rows, 3) to (rows, 4, K)."""


def named_range(score_range: Any) -> Any:
    """Range of the utility that decides, in units of 1 / NESTED_UNIT, for counts of a given range W.

    Examples
    --------
    >>> round(named_range(1) / NESTED_UNIT, 4)
    1.0088
    """
    return NESTED_UNIT * score_range + 36


class SoftUnits(NamedTuple):
    """What sums over classes are made with: powers exp(-rate d), and units for 1 in a logarithm."""

    powers: FloatArray
    per_log: float
    unit: int


def soft_units(rate: Rate) -> SoftUnits:
    """Return what L(leaf) / rate is worked out with, in units of 1 / NAMED_UNIT; the last power is 0.

    Examples
    --------
    >>> soft_units(Rate(8, 0)).powers.round(6).tolist()
    [1.0, 0.000335, 0.0, 0.0, 0.0, 0.0, 0.0]
    """
    n_powers = math.ceil(_LARGEST_POWER / float(rate)) + 1
    powers = np.append(np.exp(-float(rate) * np.arange(n_powers)), 0.0)
    return SoftUnits(powers, NAMED_UNIT / float(rate), NAMED_UNIT)


def named_exponential(
    left: npt.ArrayLike,
    right: npt.ArrayLike,
    base: npt.ArrayLike,
    rate: Rate,
    leaves: Leaves,
    words: RandomWords,
    n_threads: int = 1,
) -> IntArray:
    """Draw (a, b, c) and the classes of the four leaves of every row.

    Parameters
    ----------
    left, right : array of int, shape (rows, m, m)
        NAMED_UNIT / rate times what the leaves of the left, and of the right, child add: see the module.
    base : array of int, shape (rows, m)
        As in `nested_exponential`.
    rate : Rate
        epsilon NESTED_UNIT / named_range(W), W the range of class counts.
    leaves : callable
        Their class counts.
    words, n_threads
        As in `nested_exponential`.

    Returns
    -------
    ndarray of int64, shape (rows, 7)
        Indices of the three; classes of the leaves of the left child, then of the right one.

    Examples
    --------
    >>> nothing = np.zeros((1, 2, 2), np.int64)
    >>> counts = np.array([[[90, 0], [0, 90], [0, 90], [90, 0]]])
    >>> cuts = nothing, nothing, [[1, 1]], Rate(1, 0)
    >>> named_exponential(*cuts, lambda _: counts, RandomWords.seeded(0))[:, 3:]
    array([[0, 1, 1, 0]])
    """
    chosen = draw_nested(left, right, base, rate, words, n_threads, NAMED_UNIT)
    counts = leaves(chosen)
    flat = np.ascontiguousarray(counts.reshape(-1, counts.shape[-1]))
    alike = np.ones((1, flat.shape[1]), np.int64)
    named = choose(flat, alike, rate, words, n_threads=n_threads)
    return np.hstack([chosen, named.reshape(len(chosen), 4)])


def named_log_pmf(
    left: npt.ArrayLike, right: npt.ArrayLike, base: npt.ArrayLike, rate: Rate, leaves: Leaves
) -> FloatArray:
    """Logarithm of the probability of every (a, b, c) and classes, for one row; (m, m, m, K, K, K, K).

    Examples
    --------
    >>> nothing = np.zeros((1, 1, 1), np.int64)
    >>> no_rows = lambda cuts: np.zeros((len(cuts), 4, 2), np.int64)
    >>> found = named_log_pmf(nothing, nothing, [[1]], Rate(1, 0), no_rows)
    >>> found.shape, round(float(np.exp(found).sum()), 9)
    ((1, 1, 1, 2, 2, 2, 2), 1.0)
    """
    of_cuts = nested_log_pmf(left, right, base, rate, NAMED_UNIT)[0]
    m = len(of_cuts)
    every = np.stack(np.meshgrid(*[np.arange(m)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    counts = np.stack([leaves(cuts[None])[0] for cuts in every])
    n_classes = counts.shape[-1]
    of_class = exponential_log_pmf(counts.reshape(-1, n_classes), np.ones(n_classes, np.int64), rate)
    one, two, three, four = np.moveaxis(of_class.reshape(m, m, m, 4, n_classes), 3, 0)
    return np.asarray(
        of_cuts[..., None, None, None, None]
        + one[..., :, None, None, None]
        + two[..., None, :, None, None]
        + three[..., None, None, :, None]
        + four[..., None, None, None, :]
    )
