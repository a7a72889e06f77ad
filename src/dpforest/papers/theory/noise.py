"""Noise identities of the library: how far private leaf means and private choices are from the truth.

Leaf means: the papers' own mean with noise of scale ``width / (n * epsilon)`` (not private, because the
scale reveals n), a noisy sum with a noisy count, and the soft histogram that the library releases.
Choices: exponential mechanism, permute-and-flip and the arg-max of a Laplace-noised histogram. Called by
``median_splits``, ``smooth_sensitivity`` and ``partitioning``; the estimators themselves never call it.
"""

import math
from collections.abc import Sequence

import numpy as np

from dpforest._arrays import FloatArray
from dpforest.papers.theory.checks import require


def laplace_variance(epsilon: float, sensitivity: float = 1.0) -> float:
    """Variance of continuous Laplace noise of scale ``sensitivity / epsilon``.

    Examples
    --------
    >>> laplace_variance(0.5)
    8.0
    """
    require(epsilon > 0 and sensitivity >= 0, "epsilon must be positive and sensitivity non-negative")
    return 2.0 * (sensitivity / epsilon) ** 2


def discrete_laplace_variance(rate: float) -> float:
    """Variance of integer noise with mass proportional to ``exp(-rate * |k|)``.

    It equals ``1 / (2 sinh(rate / 2)**2)`` and is always below the continuous ``2 / rate**2``.

    Examples
    --------
    >>> round(discrete_laplace_variance(1.0), 2), laplace_variance(1.0)
    (1.84, 2.0)
    """
    require(rate > 0, "rate must be positive")
    return 0.5 / math.sinh(rate / 2) ** 2


def published_leaf_mean_variance(n_records: int, epsilon: float, width: float = 1.0) -> float:
    """Noise variance of the leaf mean of Consul and Williamson (2020, 2021).

    Laplace noise of scale ``width / (n * epsilon)`` on the mean. The release is not private: the scale
    depends on the private n. With one record at 0 against two, width 2 and epsilon 1, an output beyond 10
    has probability 6.7e-3 against 4.5e-5, a log-ratio of 5 that grows with the output. It serves as the
    yardstick that ``soft_histogram_variance`` never exceeds.

    Examples
    --------
    >>> published_leaf_mean_variance(16, 0.5)
    0.03125
    """
    require(n_records > 0, "n_records must be positive")
    return laplace_variance(epsilon, width / n_records)


def sum_and_count_variance(n_records: int, mean: float, epsilon: float, width: float = 1.0) -> float:
    """First-order variance of a noisy centred sum over a noisy count, half of epsilon each.

    ``mean`` is the leaf mean scaled to [0, 1]. The sum of targets centred at the middle of their range has
    sensitivity ``width / 2``; to first order in the noise the quotient has variance
    ``2 width**2 (1 + 4 (mean - 1/2)**2) / (n epsilon)**2``, exactly twice that of the soft histogram.

    Examples
    --------
    >>> ratio = sum_and_count_variance(50, 0.8, 1.0) / soft_histogram_variance(50, 0.8, 1.0)
    >>> round(ratio, 12)
    2.0
    """
    require(n_records > 0 and 0 <= mean <= 1, "n_records must be positive and mean in [0, 1]")
    return laplace_variance(epsilon, width / n_records) * (1 + 4 * (mean - 0.5) ** 2)


def soft_histogram_variance(n_records: int, mean: float, epsilon: float, width: float = 1.0) -> float:
    """First-order variance of the soft-histogram leaf mean.

    A record with scaled target p adds p to one cell and 1 - p to another: L1 sensitivity exactly 1, so
    each cell gets noise of variance ``2 / epsilon**2`` and the estimate is the first cell's share. To
    first order the variance is ``2 width**2 (mean**2 + (1 - mean)**2) / (n epsilon)**2``: between half of
    and exactly ``published_leaf_mean_variance``, and unlike that release it is private.

    Examples
    --------
    >>> soft_histogram_variance(16, 0.5, 0.5), published_leaf_mean_variance(16, 0.5)
    (0.015625, 0.03125)
    """
    require(n_records > 0 and 0 <= mean <= 1, "n_records must be positive and mean in [0, 1]")
    return laplace_variance(epsilon, width / n_records) * (mean**2 + (1 - mean) ** 2)


def soft_histogram_squared_error_bound(
    n_records: int, mean: float, epsilon: float, width: float = 1.0
) -> float:
    """Bound on the mean squared error of the soft-histogram leaf mean clipped to the target's range.

    Proof. Let a, b be the two Laplace noises and m the scaled mean. The unclipped error is ``(a (1 - m) -
    b m) / (n + a + b)``. While ``a + b >= -s n`` its square is at most ``(a (1 - m) - b m)**2 / ((1 - s)
    n)**2``, of expectation ``variance / (1 - s)**2``; clipping only helps. The other event has
    probability ``(1/2 + epsilon s n / 4) exp(-epsilon s n)`` and costs at most the largest possible
    squared error. Every s in (0, 1) gives a valid bound; the smallest on a grid is returned.

    Examples
    --------
    >>> bound = soft_histogram_squared_error_bound(1000, 0.3, 1.0)
    >>> 1 < bound / soft_histogram_variance(1000, 0.3, 1.0) < 1.1
    True
    """
    variance = soft_histogram_variance(n_records, mean, epsilon)
    worst = max(mean, 1 - mean) ** 2
    share = np.linspace(0.005, 0.995, 199)
    drop = epsilon * n_records * share
    bounds = variance / (1 - share) ** 2 + worst * (0.5 + drop / 4) * np.exp(-drop)
    return width**2 * min(worst, float(bounds.min()))


def _selection_margin(gap: float, epsilon: float) -> float:
    require(gap >= 0 and epsilon > 0, "gap must be non-negative and epsilon positive")
    return gap * epsilon


def exponential_mechanism_error(gap: float, epsilon: float) -> float:
    """Probability that the exponential mechanism picks the worse of two counts that differ by ``gap``.

    Weights ``exp(epsilon * count)``, which is epsilon-DP under add/remove because counts are monotone:
    ``1 / (1 + exp(epsilon * gap))``.

    Examples
    --------
    >>> round(exponential_mechanism_error(2, 1), 3)
    0.119
    """
    return 1 / (1 + math.exp(min(_selection_margin(gap, epsilon), 700)))


def permute_and_flip_error(gap: float, epsilon: float) -> float:
    """Probability that permute-and-flip picks the worse of two counts: ``exp(-epsilon * gap) / 2``.

    Also the error of adding one-sided exponential noise of rate epsilon and reporting the arg-max, the
    same mechanism (Ding et al. 2021). Below the exponential mechanism's error at every gap and budget,
    down to half of it (McKenna and Sheldon 2020). Consul and Williamson (2021, Section 4) say that this
    is guaranteed only for budgets above 0.86; there is no such condition.

    Examples
    --------
    >>> round(permute_and_flip_error(2, 1), 3)
    0.068
    """
    return 0.5 * math.exp(-_selection_margin(gap, epsilon))


def laplace_argmax_error(gap: float, epsilon: float) -> float:
    """Probability that the arg-max of two counts with Laplace(1/epsilon) noise is the worse one.

    ``(1/2 + x/4) exp(-x)`` with ``x = epsilon * gap``: the flip probability in the proof of Theorem 2 of
    Consul and Williamson (2021). Clamping negative counts at 0 and drawing the label when both are 0 does
    not change it: given that both are negative, the two overshoots are exponential with the same rate.
    Never below the exponential mechanism's error, since the logistic function has slope at most 1/4.

    Examples
    --------
    >>> round(laplace_argmax_error(2, 1), 3)
    0.135
    """
    x = _selection_margin(gap, epsilon)
    return (0.5 + x / 4) * math.exp(-x)


def exponential_mechanism_pmf(utilities: Sequence[float] | FloatArray, coefficient: float) -> FloatArray:
    """Exact probabilities of the exponential mechanism with weights ``exp(coefficient * utility)``.

    Examples
    --------
    >>> exponential_mechanism_pmf([5, 10], 0.1).round(3).tolist()
    [0.378, 0.622]
    """
    logits = coefficient * np.asarray(utilities, dtype=np.float64)
    require(logits.ndim == 1 and logits.size > 0, "utilities must be a non-empty sequence")
    weights = np.exp(logits - logits.max())
    pmf: FloatArray = weights / weights.sum()
    return pmf


def permute_and_flip_pmf(utilities: Sequence[float] | FloatArray, coefficient: float) -> FloatArray:
    """Exact probabilities of permute-and-flip with acceptance ``p = exp(coefficient * (utility - best))``.

    Give every candidate a uniform time; candidate r wins if it accepts and no earlier one does, hence
    ``p_r`` times the integral over t in [0, 1] of the product of ``1 - t p_s`` over the others: a
    polynomial, which Gauss-Legendre quadrature integrates exactly.

    Examples
    --------
    >>> permute_and_flip_pmf([5, 10], 0.1).round(4).tolist()
    [0.3033, 0.6967]
    """
    scores = np.asarray(utilities, dtype=np.float64)
    require(scores.ndim == 1 and scores.size > 0, "utilities must be a non-empty sequence")
    accept = np.exp(coefficient * (scores - scores.max()))
    nodes, weights = np.polynomial.legendre.leggauss(scores.size // 2 + 1)
    factors = 1 - np.multiply.outer(accept, (nodes + 1) / 2)
    pmf: FloatArray = np.empty(scores.size)
    for winner in range(scores.size):
        others = np.delete(factors, winner, axis=0).prod(axis=0)
        pmf[winner] = accept[winner] * float(weights @ others) / 2
    return pmf
