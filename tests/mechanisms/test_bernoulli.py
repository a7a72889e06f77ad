"""Bernoulli(exp(-x)) in integers: its probability, and its arguments beyond 64-bit products."""

import math

import numpy as np
import pytest
from scipy import stats

from dpforest.mechanisms import RandomWords, _kernels

from .conftest import ALARM

DRAWS = 100_000


def successes(a: int, b: int, bottom: int, draws: int = DRAWS) -> int:
    words = RandomWords.seeded(a % 1000 + b % 1000).take(8 * draws)
    pos, total = 0, 0
    arguments = np.uint64(a), np.uint64(b), np.uint64(bottom)
    for _ in range(draws):
        success, pos = _kernels.bernoulli_exp(words, pos, *arguments)
        total += success
    assert pos <= words.size
    return total


@pytest.mark.parametrize(
    ("a", "b", "bottom"),
    [
        (1, 1, 1000),
        (3, 2**19 + 1, 2**21),  # x about 0.75
        (1, 1, 1),
        (5, 1, 2),
        (2, 2**61, 2**61),  # two parts of 1: the product has 63 bits
        (2**31, 2**31 + 2**29, 2**62),  # x = 1.25, no room to spare
    ],
)
def test_probability_is_exp_of_minus_x(a: int, b: int, bottom: int) -> None:
    """Exact binomial test, false alarm 1e-6; the same draws refute x 5 % larger (double if tiny)."""
    x = a * b / bottom
    seen = successes(a, b, bottom)
    assert stats.binomtest(seen, DRAWS, math.exp(-x)).pvalue > ALARM
    mutant = x * (1.05 if x > 0.1 else 2)
    assert stats.binomtest(seen, DRAWS, math.exp(-mutant)).pvalue < ALARM


def test_certain_and_hopeless_cases() -> None:
    assert successes(0, 5, 7, 1000) == 1000
    assert successes(7, 0, 7, 1000) == 1000
    assert successes(40, 1, 1, 10_000) == 0
    assert successes(2**64 - 1, 2**21 - 1, 1, 10_000) == 0
    # The smallest rate times the largest gap: a chunk alone is not hopeless here, all together are.
    assert successes(2**64 - 1, 1, 2**50, 10) == 0


def test_chunks_multiply() -> None:
    """b = 2**62 leaves parts of a = 1 each; three parts of 1/2 must give exp(-1.5)."""
    seen = successes(3, 2**61, 2**62)
    assert stats.binomtest(seen, DRAWS, math.exp(-1.5)).pvalue > ALARM
