"""Exact integer noise for many sums at once, each row of which is bounded block by block.

A row adds to a vector of sums; the vector is cut into blocks, and what the row adds to any one block has L1
norm at most s. Laplace noise would have to pay for all blocks together. The K-norm mechanism (Hardt and
Talwar 2010) draws noise with pmf proportional to exp(-a N(k)), where N(k) is the largest L1 norm of a block:
N(v) <= s for every row, N is a norm, so the probabilities of neighbours differ by at most exp(a s). With d
blocks of one coordinate the standard deviation is about 0.58 d s / epsilon instead of 1.41 d s / epsilon.

How it is drawn, in integers only
---------------------------------
exp(-a N) is (1 - exp(-a)) times the sum of exp(-a R) over R >= N. So: draw a radius R with weight V(R)
exp(-a R), where V(R) is the number of lattice points with N <= R, then one of these points uniformly.

* V is the product over blocks of V_m(R) = sum over i of C(m, i) C(R, i) 2**i (i coordinates are not zero).
* The sum of d + 1 geometric numbers has weight (R + 1) ... (R + d) exp(-a R). It is accepted as radius with
  probability V(R) prod(m!) / (2**d (R + 1) ... (R + d)), an exact fraction. It is at most 1 because V_m(R) <=
  2**m C(R + m, m), see the next step; it is about exp(-a d / 2), so the rate should be below 1 / d.
* A block's point: m distinct bars among R + m places leave m gaps and a rest, uniformly; each gap gets a
  random sign, and a gap of zero with a minus sign is rejected, because zero has one sign.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from dpforest._arrays import FloatArray, IntArray
from dpforest.mechanisms._arrays import as_int64
from dpforest.mechanisms.noise import discrete_laplace
from dpforest.mechanisms.randomness import RandomWords
from dpforest.mechanisms.rates import Rate

_LARGEST_RATE_TIMES_SIZE = 16  # radii are accepted with probability of about exp(-8) then
_LARGEST = 2**62  # values are held at it, radii stay below: so sums stay below 2**63


def block_norm(values: IntArray, blocks: Sequence[int], rate: Rate, words: RandomWords) -> IntArray:
    """Add noise with pmf proportional to exp(-rate * largest L1 norm of a block) to each row of a table.

    If one person's row changes one row of the table, and no block of it by more than s in L1 norm, then the
    result is (rate * s)-differentially private. Sums are held between -2**62 and 2**62 before the noise,
    which brings neighbouring tables no further apart.

    Parameters
    ----------
    values : ndarray of int64, shape (n_vectors, sum(blocks))
        Exact sums.
    blocks : sequence of int
        Coordinates of each block, in order.
    rate : Rate
        Usually block_norm_rate(epsilon / s, sum(blocks)).
    words : RandomWords
        Randomness.

    Returns
    -------
    ndarray of int64
        Same shape as values.

    Examples
    --------
    >>> import numpy as np
    >>> block_norm(np.zeros((2, 4), np.int64), [1, 3], Rate(1, 3), RandomWords.seeded(0)).shape
    (2, 4)
    """
    table = as_int64("values", values)
    size = sum(blocks)
    if table.ndim != 2 or table.shape[1] != size or min(blocks) < 1:
        raise ValueError(f"The blocks have {size} coordinates, the table has shape {table.shape}.")
    if float(rate) * size > _LARGEST_RATE_TIMES_SIZE:
        raise ValueError(
            f"A rate of {float(rate):.3g} for {size} coordinates would be drawn too slowly; "
            "measure the sums in finer units, which lowers the rate."
        )
    return np.clip(table, -_LARGEST, _LARGEST) + np.stack([_noise(blocks, rate, words) for _ in table])


def block_norm_rate(x: Fraction, size: int) -> Rate:
    """Largest rate that does not exceed x and is drawn quickly, for so many coordinates.

    A lower rate is more noise than paid for; it is reached only where the noise is a few units or less.

    Parameters
    ----------
    x : Fraction
        Wanted rate, epsilon / s.
    size : int
        Coordinates of all blocks.

    Returns
    -------
    Rate

    Examples
    --------
    >>> block_norm_rate(Fraction(1, 4), 8), block_norm_rate(Fraction(100), 8)
    (Rate(num=1, shift=2), Rate(num=2, shift=0))
    """
    return Rate.floor(min(x, Fraction(_LARGEST_RATE_TIMES_SIZE, size)))


def block_norm_log_pmf(noise: IntArray, blocks: Sequence[int], rate: Rate) -> FloatArray:
    """Logarithm of the probability of each row of noise.

    Parameters
    ----------
    noise : ndarray of int, shape (n, sum(blocks))
        Noise vectors.
    blocks : sequence of int
        Coordinates of each block.
    rate : Rate
        Rate of the noise.

    Returns
    -------
    ndarray of float64, shape (n,)

    Examples
    --------
    >>> import itertools
    >>> square = np.array(list(itertools.product(range(-60, 61), repeat=2)))
    >>> round(float(np.exp(block_norm_log_pmf(square, [1, 1], Rate(1, 0))).sum()), 9)
    1.0
    """
    a, size = float(rate), sum(blocks)
    starts = np.cumsum([0, *blocks[:-1]])
    norms = np.add.reduceat(np.abs(as_int64("noise", noise)), starts, axis=1).max(axis=1)
    far = math.ceil((size + 40 + 12 * math.sqrt(size + 1)) / a) + 8
    radius = np.arange(far)
    log_weight = sum(_log_points(m, far) for m in blocks) - a * radius
    top = log_weight.max()
    log_total = top + math.log(float(np.exp(log_weight - top).sum())) + math.log(-math.expm1(-a))
    return np.asarray(-a * norms - log_total)


def block_norm_variance(block: int, size: int, rate: Rate) -> float:
    """Variance of one coordinate, in the limit of small rates.

    Parameters
    ----------
    block : int
        Coordinates of its block.
    size : int
        Coordinates of all blocks.
    rate : Rate
        Rate of the noise.

    Returns
    -------
    float

    Examples
    --------
    >>> round(block_norm_variance(1, 100, Rate(1, 0)) ** 0.5, 1)
    58.6
    """
    # the radius is a gamma variable of shape size + 1, a coordinate of a point of the unit L1 ball has
    # second moment 2 / ((m + 1) (m + 2))
    radius_squared = (size + 1) * (size + 2) / float(rate) ** 2
    return 2 * radius_squared / ((block + 1) * (block + 2))


def _noise(blocks: Sequence[int], rate: Rate, words: RandomWords) -> IntArray:
    radius = _radius(blocks, rate, words)
    lines = blocks.count(1) if isinstance(blocks, list | tuple) else sum(m == 1 for m in blocks)
    on_lines = iter(words.uniform_below(2 * radius + 1, lines) - radius)
    parts = [[next(on_lines)] if m == 1 else _point(m, radius, words) for m in blocks]
    return np.concatenate(parts).astype(np.int64)


def _radius(blocks: Sequence[int], rate: Rate, words: RandomWords) -> int:
    """Draw R with weight V(R) exp(-rate R)."""
    size = sum(blocks)
    scale = math.prod(math.factorial(m) for m in blocks)
    while True:
        radius = int(_geometric(size + 1, rate, words).sum(dtype=object))
        accepted = scale * math.prod(_points(m, radius) ** blocks.count(m) for m in set(blocks))
        offered = math.prod(range(radius + 1, radius + size + 1)) << size
        if _bernoulli(accepted, offered, words):
            if radius >= _LARGEST:  # of probability below exp(-2**30) at any rate; no row is looked at here
                raise OverflowError("The noise is beyond 2**62.")
            return radius


def _geometric(n: int, rate: Rate, words: RandomWords) -> IntArray:
    """Numbers k >= 0 with weight exp(-rate k): discrete Laplace noise that is not negative."""
    kept = np.empty(0, np.int64)
    while len(kept) < n:
        drawn = discrete_laplace(np.zeros(2 * n, np.int64), rate, words)
        kept = np.concatenate([kept, drawn[drawn >= 0]])
    return kept[:n]


def _points(m: int, radius: int) -> int:
    """Lattice points of m coordinates with L1 norm at most radius."""
    return sum(math.comb(m, i) * math.comb(radius, i) << i for i in range(min(m, radius) + 1))


def _log_points(m: int, far: int) -> FloatArray:
    """Logarithms of `_points` for all radii below far."""
    radius = np.arange(far)
    if m == 1:
        on_a_line: FloatArray = np.log(2.0 * radius + 1)
        return on_a_line
    # V_m(R) = V_m(R - 1) + V_{m-1}(R) + V_{m-1}(R - 1): by its last coordinate
    counts = [1] * far
    for _ in range(m):
        below, counts = counts, [1] * far
        for r in range(1, far):
            counts[r] = counts[r - 1] + below[r] + below[r - 1]
    return np.array([math.log(count) for count in counts])


def _bernoulli(top: int, bottom: int, words: RandomWords) -> bool:
    """Succeed with probability top / bottom exactly: compare its binary digits with random ones."""
    while True:
        digits, top = divmod(top << 64, bottom)
        word = int(words.take(1)[0])
        if word != digits:
            return word < digits


def _point(m: int, radius: int, words: RandomWords) -> IntArray:
    """Uniform lattice point of m coordinates with L1 norm at most radius."""
    while True:
        bars = np.sort(words.uniform_below(radius + m, m))
        gaps = np.diff(bars, prepend=-1) - 1
        negative = words.uniform_below(2, m) == 1
        if gaps.min() >= 0 and not (negative & (gaps == 0)).any():
            return np.where(negative, -gaps, gaps)
