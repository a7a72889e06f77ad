"""Discrete Laplace and Gaussian noise against their probabilities."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from dpforest.mechanisms import (
    RandomWords,
    Rate,
    discrete_gaussian,
    discrete_gaussian_log_pmf,
    discrete_gaussian_parameter,
    discrete_laplace,
    discrete_laplace_log_pmf,
    discrete_laplace_variance,
)

from .conftest import ALARM

ZEROS = np.zeros(200_000, dtype=np.int64)


def slower(rate: Rate) -> Rate:
    return Rate.floor(rate.value * Fraction(19, 20))


@pytest.mark.parametrize("a", [Fraction(5, 2), Fraction(1), Fraction(1, 3), Fraction(1, 50)])
def test_laplace_noise_follows_its_pmf(a: Fraction, integer_fit: Callable) -> None:
    """The same draws refute a rate 5 % smaller."""
    rate = Rate.floor(a)
    noise = discrete_laplace(ZEROS, rate, RandomWords.seeded(1))
    reach = math.ceil(20 / float(rate))
    assert integer_fit(noise, lambda k: discrete_laplace_log_pmf(k, rate), reach) > ALARM
    assert integer_fit(noise, lambda k: discrete_laplace_log_pmf(k, slower(rate)), reach) < ALARM


def test_laplace_noise_from_the_system_generator(integer_fit: Callable) -> None:
    noise = discrete_laplace(ZEROS, Rate(1, 0), RandomWords.system())
    assert integer_fit(noise, lambda k: discrete_laplace_log_pmf(k, Rate(1, 0)), 20) > ALARM


@pytest.mark.parametrize("rate", [Rate(1, 30), Rate(2**21 - 1, 50), Rate(1, 50)])
def test_laplace_noise_at_the_smallest_rates(rate: Rate) -> None:
    """rate * |noise| is nearly exponential: its mean has deviation n**-0.5; 5 of them are p < 1e-6."""
    noise = discrete_laplace(ZEROS, rate, RandomWords.seeded(2)).astype(float)
    assert abs((np.abs(noise) * float(rate)).mean() - 1) < 5 / math.sqrt(ZEROS.size)
    assert abs((noise > 0).mean() - 0.5) < 2.5 / math.sqrt(ZEROS.size)


def test_laplace_noise_at_the_largest_rate_is_nil() -> None:
    assert not discrete_laplace(ZEROS, Rate(2**21 - 1, 0), RandomWords.seeded(3)).any()


def test_laplace_noise_is_added_and_keeps_the_shape() -> None:
    values = np.arange(24).reshape(2, 3, 4) * 1000
    noise = discrete_laplace(np.zeros_like(values), Rate(1, 2), RandomWords.seeded(4))
    assert np.array_equal(discrete_laplace(values, Rate(1, 2), RandomWords.seeded(4)), values + noise)
    assert noise.any()
    assert discrete_laplace(values[:0], Rate(1, 2), RandomWords.seeded(4)).shape == (0, 3, 4)


def test_fractional_counts_are_refused() -> None:
    with pytest.raises(TypeError, match="integers"):
        discrete_laplace(np.array([1.5]), Rate(1, 0), RandomWords.seeded(6))


@pytest.mark.parametrize("rate", [Rate(5, 1), Rate(1, 0), Rate(1, 5)])
def test_laplace_variance_is_that_of_the_pmf(rate: Rate) -> None:
    k = np.arange(-3000, 3001)
    pmf = np.exp(discrete_laplace_log_pmf(k, rate))
    assert pmf.sum() == pytest.approx(1, abs=1e-12)
    assert discrete_laplace_variance(rate) == pytest.approx((pmf * k.astype(float) ** 2).sum(), rel=1e-9)


@pytest.mark.parametrize("variance", [Fraction(1, 10), Fraction(2), Fraction(50), Fraction(10**7, 3)])
def test_gaussian_noise_follows_its_pmf(variance: Fraction, integer_fit: Callable) -> None:
    """The same draws refute a variance 10 % larger."""
    noise = discrete_gaussian(ZEROS, variance, RandomWords.seeded(7))
    reach = 2 + math.ceil(8 * math.sqrt(variance))
    assert integer_fit(noise, lambda k: discrete_gaussian_log_pmf(k, variance), reach) > ALARM
    assert (
        integer_fit(noise, lambda k: discrete_gaussian_log_pmf(k, variance * Fraction(11, 10)), reach) < ALARM
    )


@pytest.mark.parametrize("variance", [Fraction(2**40) + Fraction(1, 3), Fraction(2**50)])
def test_gaussian_noise_of_large_deviation(variance: Fraction) -> None:
    """Nearly continuous: Kolmogorov-Smirnov at 1e-6; the same draws refute a deviation 5 % larger."""
    from scipy import stats

    scaled = discrete_gaussian(ZEROS, variance, RandomWords.seeded(8)) / math.sqrt(variance)
    assert stats.kstest(scaled, "norm").pvalue > ALARM
    assert stats.kstest(scaled * 1.05, "norm").pvalue < ALARM


def test_gaussian_noise_of_the_smallest_deviation_is_nil() -> None:
    # P(noise != 0) is about 2 exp(-2048).
    assert not discrete_gaussian(ZEROS, Fraction(1, 4096), RandomWords.seeded(9)).any()


@pytest.mark.parametrize(
    "variance", [Fraction(1, 4096), Fraction(1, 10), Fraction(2), Fraction(10**7, 3), Fraction(2**50)]
)
def test_gaussian_parameter_is_rounded_up_and_hardly(variance: Fraction) -> None:
    used = discrete_gaussian_parameter(variance)
    assert variance <= used < variance * (1 + Fraction(1, 2**22))


@pytest.mark.parametrize("variance", [Fraction(0), Fraction(1, 4097), Fraction(2**50 + 1)])
def test_gaussian_refuses_variances_it_cannot_draw(variance: Fraction) -> None:
    with pytest.raises(ValueError, match="variance"):
        discrete_gaussian([0], variance, RandomWords.seeded(1))


@pytest.mark.parametrize("variance", [Fraction(1, 10), Fraction(99), Fraction(101)])
def test_gaussian_pmf_sums_to_one(variance: Fraction) -> None:
    assert np.exp(discrete_gaussian_log_pmf(np.arange(-200, 201), variance)).sum() == pytest.approx(
        1, abs=1e-12
    )
