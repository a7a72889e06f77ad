"""Exact integer noise for counts: discrete Laplace (pure privacy) and discrete Gaussian (zero-concentrated).

Callers add the noise to whole tables of counts in one call; the compiled samplers are in `_kernels`. The pmf
functions are for tests and audits.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dpforest._arrays import FloatArray, IntArray
from dpforest.mechanisms._arrays import as_int64
from dpforest.mechanisms.randomness import RandomWords
from dpforest.mechanisms.rates import Rate

_SIGMA_BITS = 25  # sigma is kept as top / 2**k with 2**24 <= top <= 2**25
_LARGEST_K = 30


def discrete_laplace(values: npt.ArrayLike, rate: Rate, words: RandomWords) -> IntArray:
    """Add independent noise with pmf proportional to exp(-rate |k|) to integers.

    If one row changes the table by at most 1 in total (L1), releasing the result is rate-differentially
    private, for any table: values and results are held between -2**62 and 2**62, which brings neighbouring
    tables no further apart.

    Parameters
    ----------
    values : array of int
        Any shape.
    rate : Rate
        Usually Rate.floor(epsilon / sensitivity).
    words : RandomWords
        Randomness.

    Returns
    -------
    ndarray of int64
        Same shape as values.

    References
    ----------
    Canonne, Kamath and Steinke (2020), The discrete Gaussian for differential privacy, algorithm 2.

    Examples
    --------
    >>> discrete_laplace([[10, 0], [7, 3]], Rate.floor(Fraction(1)), RandomWords.seeded(0)).shape
    (2, 2)
    """
    from dpforest.mechanisms import _kernels

    table = as_int64("values", values)
    out = np.empty_like(table)
    args = (table.reshape(-1), rate.num, rate.denominator, out.reshape(-1))
    words.run(_kernels.add_laplace, table.size, 8, *args)
    return out


def discrete_laplace_log_pmf(k: npt.ArrayLike, rate: Rate) -> FloatArray:
    """Logarithm of the probability of noise k: tanh(rate/2) exp(-rate |k|).

    Parameters
    ----------
    k : array of int
        Noise values.
    rate : Rate
        Rate of the noise.

    Returns
    -------
    ndarray of float64

    Examples
    --------
    >>> round(float(np.exp(discrete_laplace_log_pmf(range(-40, 41), Rate(1, 0))).sum()), 12)
    1.0
    """
    a = float(rate)
    distance = np.abs(as_int64("k", k).astype(np.float64))
    return np.asarray(math.log(math.tanh(a / 2)) - a * distance)


def discrete_laplace_variance(rate: Rate) -> float:
    """Variance of the noise, 2 exp(-rate) / (1 - exp(-rate))**2; less than the continuous 2 / rate**2.

    Parameters
    ----------
    rate : Rate
        Rate of the noise.

    Returns
    -------
    float

    Examples
    --------
    >>> round(discrete_laplace_variance(Rate(1, 0)), 2)
    1.84
    """
    a = float(rate)
    return 2 * math.exp(-a) / math.expm1(-a) ** 2


def discrete_gaussian(values: npt.ArrayLike, variance: Fraction, words: RandomWords) -> IntArray:
    """Add independent noise with pmf proportional to exp(-k**2 / (2 v)) to integers, v just above variance.

    If one row changes the table by at most D in Euclidean norm, releasing the result is D**2 / (2 variance)
    zero-concentrated differentially private. v is `discrete_gaussian_parameter(variance)`, rounded up. Values
    and results are held as in `discrete_laplace`.

    Parameters
    ----------
    values : array of int
        Any shape.
    variance : Fraction
        From 2**-12 to 2**50 (standard deviation from 1/64 to 33 million).
    words : RandomWords
        Randomness.

    Returns
    -------
    ndarray of int64
        Same shape as values.

    Notes
    -----
    Canonne, Kamath and Steinke (2020), algorithm 3, reach the Gaussian from discrete Laplace noise of an
    integer scale. Here that scale is the standard deviation itself, a rational with 25-bit numerator: any
    scale is exact, and this one keeps all products in 64 bits for small and large deviations alike.

    Examples
    --------
    >>> discrete_gaussian([[10, 0], [7, 3]], Fraction(9), RandomWords.seeded(0)).shape
    (2, 2)
    """
    from dpforest.mechanisms import _kernels

    top, bottom = _standard_deviation(variance)
    table = as_int64("values", values)
    out = np.empty_like(table)
    words.run(_kernels.add_gaussian, table.size, 13, table.reshape(-1), top, bottom, out.reshape(-1))
    return out


def discrete_gaussian_parameter(variance: Fraction) -> Fraction:
    """Return the v that `discrete_gaussian` uses for a requested variance.

    The standard deviation is rounded up to 25 significant bits, so v is at least the requested variance and
    larger by less than one part in four million. The variance of the noise is below v, and very near it from
    v = 1 on.

    Parameters
    ----------
    variance : Fraction
        Requested variance.

    Returns
    -------
    Fraction

    Examples
    --------
    >>> discrete_gaussian_parameter(Fraction(9))
    Fraction(9, 1)
    >>> float(discrete_gaussian_parameter(Fraction(2)) - 2) < 1e-6
    True
    """
    top, bottom = _standard_deviation(variance)
    return Fraction(top, bottom) ** 2


def discrete_gaussian_log_pmf(k: npt.ArrayLike, variance: Fraction) -> FloatArray:
    """Logarithm of the probability of noise k in `discrete_gaussian`.

    Parameters
    ----------
    k : array of int
        Noise values.
    variance : Fraction
        Requested variance; the pmf is that of the rounded one.

    Returns
    -------
    ndarray of float64

    Examples
    --------
    >>> round(float(np.exp(discrete_gaussian_log_pmf(range(-30, 31), Fraction(4))).sum()), 12)
    1.0
    """
    v = float(discrete_gaussian_parameter(variance))
    if v < 100:
        tail = np.arange(1, 500, dtype=np.float64)
        log_total = math.log1p(2 * float(np.exp(-(tail**2) / (2 * v)).sum()))
    else:
        # Poisson summation: the relative error is 2 exp(-2 pi**2 v), nothing at this size.
        log_total = 0.5 * math.log(2 * math.pi * v)
    distance = as_int64("k", k).astype(np.float64)
    return np.asarray(-(distance**2) / (2 * v) - log_total)


def _standard_deviation(variance: Fraction) -> tuple[int, int]:
    """Smallest top / 2**k >= sqrt(variance) with 2**24 <= top <= 2**25, as (top, 2**k)."""
    if not Fraction(1, 4**6) <= variance <= 4**_SIGMA_BITS:
        bits = variance.numerator.bit_length() - variance.denominator.bit_length()  # no float may hold it
        raise ValueError(
            f"The variance must lie between 2**-12 and 2**50, got about 2**{bits}; "
            "outside that range there is no noise to speak of, or nothing but noise."
        )
    top, bottom, k = variance.numerator, variance.denominator, _LARGEST_K
    while top << 2 * k > bottom << 2 * _SIGMA_BITS:  # variance 4**k > 4**25, in whole numbers
        k -= 1
    return math.isqrt(-(-(top << 2 * k) // bottom) - 1) + 1, 2**k
