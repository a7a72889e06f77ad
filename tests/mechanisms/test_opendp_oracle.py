"""Our samplers against OpenDP's, which share no code with them. Two-sample tests, false alarm 1e-6 each."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import opendp.prelude as dp
import pytest

from dpforest.mechanisms import RandomWords, Rate, discrete_laplace, permute_and_flip

from .conftest import ALARM

SCORES = [5, 3, 4, 0]


@pytest.fixture(scope="module", autouse=True)
def features() -> None:
    dp.enable_features("contrib")


@pytest.fixture
def integers() -> dp.Domain:
    return dp.vector_domain(dp.atom_domain(T="i64"))


def test_discrete_laplace(integers: dp.Domain, two_sample_p: Callable) -> None:
    """The second comparison is the power of the test: 10 % less noise is seen."""
    theirs = np.array(dp.m.make_laplace(integers, dp.l1_distance(T="i64"), scale=2.0)([0] * 100_000))
    zeros = np.zeros(100_000, dtype=int)
    ours = discrete_laplace(zeros, Rate.floor(Fraction(1, 2)), RandomWords.seeded(1))
    assert two_sample_p(ours, theirs) > ALARM
    mutant = discrete_laplace(zeros, Rate.floor(Fraction(11, 20)), RandomWords.seeded(1))
    assert two_sample_p(mutant, theirs) < ALARM


def test_permute_and_flip_is_the_maximum_after_exponential_noise(
    integers: dp.Domain, two_sample_p: Callable
) -> None:
    metric = dp.linf_distance(T="i64", monotonic=False)
    pick = dp.m.make_noisy_max(integers, metric, dp.max_divergence(), scale=2.0)
    theirs = np.array([pick(SCORES) for _ in range(15_000)])
    scores = np.tile(SCORES, (15_000, 1))
    ours = permute_and_flip(scores, Rate.floor(Fraction(1, 2)), RandomWords.seeded(2))
    assert two_sample_p(ours, theirs) > ALARM
    mutant = permute_and_flip(scores, Rate.floor(Fraction(13, 20)), RandomWords.seeded(2))
    assert two_sample_p(mutant, theirs) < ALARM
