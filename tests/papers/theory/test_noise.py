"""Noise identities against quadrature, enumeration and simulation; false-alarm rates beside assertions."""

import itertools
import math

import numpy as np
import pytest
from scipy import integrate

from dpforest.papers.theory import noise

GAPS = (0.0, 0.1, 0.5, 1.0, 2.0, 4.0, 10.0)


@pytest.mark.parametrize("rate", [0.05, 0.5, 1.0, 4.0])
def test_discrete_laplace_variance_is_that_of_its_mass_function(rate):
    support = np.arange(-2000, 2001)
    mass = np.exp(-rate * np.abs(support))
    assert noise.discrete_laplace_variance(rate) == pytest.approx((mass @ support**2) / mass.sum())
    assert noise.discrete_laplace_variance(rate) < noise.laplace_variance(rate)


@pytest.mark.parametrize("mean", [0.5, 0.8, 1.0])
def test_leaf_mean_variances_match_simulation(mean):
    # 400,000 draws: the sample variance has a relative standard error below 0.4 %; 3 % is beyond six of
    # them (below 1e-8), and the first-order formulas are off by less than 0.1 % at n = 400.
    rng, n, epsilon, draws = np.random.default_rng(1), 400, 1.0, 400_000
    first = mean * n + rng.laplace(0, 1 / epsilon, draws)
    second = (1 - mean) * n + rng.laplace(0, 1 / epsilon, draws)
    soft = (first / (first + second)).var()
    total = (mean - 0.5) * n + rng.laplace(0, 0.5 / (epsilon / 2), draws)
    count = n + rng.laplace(0, 2 / epsilon, draws)
    assert soft == pytest.approx(noise.soft_histogram_variance(n, mean, epsilon), rel=0.03)
    assert (0.5 + total / count).var() == pytest.approx(
        noise.sum_and_count_variance(n, mean, epsilon), rel=0.03
    )


@pytest.mark.parametrize("mean", [0.0, 0.2, 0.5, 0.9, 1.0])
def test_soft_histogram_never_loses_to_the_papers_leaf_mean(mean):
    soft = noise.soft_histogram_variance(30, mean, 0.7, width=3.0)
    assert soft <= noise.published_leaf_mean_variance(30, 0.7, width=3.0)
    assert noise.sum_and_count_variance(30, mean, 0.7, width=3.0) == pytest.approx(2 * soft)


def test_papers_leaf_mean_is_not_private():
    # One record at 0 against two, targets in [-1, 1], epsilon 1: tails beyond 10 differ by a factor exp(5).
    scales = [math.sqrt(noise.published_leaf_mean_variance(n, 1.0, width=2.0) / 2) for n in (1, 2)]
    tails = [math.exp(-10 / scale) for scale in scales]
    assert math.log(tails[0] / tails[1]) == pytest.approx(5.0)


@pytest.mark.parametrize(
    ("n", "epsilon", "mean"), [(5, 0.5, 0.8), (20, 0.5, 0.3), (20, 2.0, 0.5), (100, 1.0, 1.0)]
)
def test_soft_histogram_error_bound_holds(n, epsilon, mean):
    # Fails if the simulated mean exceeds the bound by six standard errors: below 1e-8 for each case.
    rng, draws = np.random.default_rng(2), 200_000
    first = mean * n + rng.laplace(0, 1 / epsilon, draws)
    total = first + (1 - mean) * n + rng.laplace(0, 1 / epsilon, draws)
    estimate = np.clip(np.where(total > 0, first / np.where(total > 0, total, 1.0), 0.5), 0, 1)
    error = (estimate - mean) ** 2
    bound = noise.soft_histogram_squared_error_bound(n, mean, epsilon)
    assert error.mean() - 6 * error.std() / math.sqrt(draws) <= bound


def test_soft_histogram_error_bound_tends_to_the_variance():
    ratios = [
        noise.soft_histogram_squared_error_bound(n, 0.3, 1.0) / noise.soft_histogram_variance(n, 0.3, 1.0)
        for n in (100, 1000, 10_000)
    ]
    assert ratios[0] > ratios[1] > ratios[2] > 1
    assert ratios[2] < 1.02


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_selection_errors_have_their_closed_forms(gap, epsilon):
    utilities = [0.0, gap]
    assert noise.exponential_mechanism_error(gap, epsilon) == pytest.approx(
        noise.exponential_mechanism_pmf(utilities, epsilon)[0]
    )
    assert noise.permute_and_flip_error(gap, epsilon) == pytest.approx(
        noise.permute_and_flip_pmf(utilities, epsilon)[0]
    )

    def density_times_tail(x):  # the worse count's noise is x and beats the better one
        better_below = x - gap
        below = (
            0.5 * math.exp(epsilon * better_below)
            if better_below < 0
            else 1 - 0.5 * math.exp(-epsilon * better_below)
        )
        return epsilon / 2 * math.exp(-epsilon * abs(x)) * below

    pieces = [(-math.inf, 0.0), (0.0, gap), (gap, math.inf)]
    integral = sum(integrate.quad(density_times_tail, low, high)[0] for low, high in pieces)
    assert noise.laplace_argmax_error(gap, epsilon) == pytest.approx(integral, abs=1e-9)


def test_clamping_negative_counts_does_not_change_the_flip_probability():
    # Binomial with 400,000 draws: five and a half standard errors, two-sided 4e-8.
    rng, draws, epsilon = np.random.default_rng(3), 400_000, 0.5
    worse, better = (np.maximum(0, c + rng.laplace(0, 1 / epsilon, draws)) for c in (1, 2))
    flipped = (worse > better) | ((worse == 0) & (better == 0) & (rng.random(draws) < 0.5))
    expected = noise.laplace_argmax_error(1, epsilon)
    assert abs(flipped.mean() - expected) < 5.5 * math.sqrt(expected * (1 - expected) / draws)
    no_ties = (worse > better).mean()  # forgetting the random label for two zeros is seen
    assert abs(no_ties - expected) > 20 * math.sqrt(expected * (1 - expected) / draws)


def test_permute_and_flip_beats_exponential_beats_laplace():
    for gap in np.linspace(0.01, 20, 200):
        flip = noise.permute_and_flip_error(gap, 1.0)
        exponential = noise.exponential_mechanism_error(gap, 1.0)
        assert exponential / 2 <= flip < exponential < noise.laplace_argmax_error(gap, 1.0)
    assert noise.permute_and_flip_error(0, 1.0) == noise.laplace_argmax_error(0, 1.0) == 0.5


@pytest.mark.parametrize("utilities", [(0.0,), (1.0, 1.0), (0.0, 2.0, 5.0), (3.0, 1.0, 4.0, 1.5)])
def test_permute_and_flip_pmf_equals_enumeration_of_all_orders(utilities):
    accept = np.exp(0.7 * (np.array(utilities) - max(utilities)))
    expected = np.zeros(len(utilities))
    orders = list(itertools.permutations(range(len(utilities))))
    for order in orders:
        reached = 1.0
        for candidate in order:
            expected[candidate] += reached * accept[candidate] / len(orders)
            reached *= 1 - accept[candidate]
    assert noise.permute_and_flip_pmf(utilities, 0.7) == pytest.approx(expected)


def test_permute_and_flip_pmf_of_many_candidates_is_a_distribution():
    pmf = noise.permute_and_flip_pmf(np.linspace(-40, 0, 256), 1.0)
    assert pmf.sum() == pytest.approx(1.0)
    assert np.all(np.diff(pmf) > 0)


@pytest.mark.parametrize(
    "call",
    [
        lambda: noise.laplace_variance(0.0),
        lambda: noise.soft_histogram_variance(0, 0.5, 1.0),
        lambda: noise.soft_histogram_variance(5, 1.5, 1.0),
        lambda: noise.permute_and_flip_error(-1, 1.0),
        lambda: noise.permute_and_flip_pmf([], 1.0),
    ],
)
def test_arguments_outside_the_hypotheses_are_refused(call):
    with pytest.raises(ValueError, match="must"):
        call()
