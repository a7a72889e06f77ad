"""Noise for bounded sums: against its probabilities, and the exact privacy loss of sums on small tables."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from dpforest.mechanisms import RandomWords, Rate, block_norm, block_norm_log_pmf, block_norm_variance
from dpforest.mechanisms.block_norm import _bernoulli, _points

from .conftest import ALARM, chi_square_p

SHAPES = [([1], Rate(1, 1)), ([1, 1], Rate(1, 1)), ([2], Rate(1, 0)), ([1, 2], Rate(1, 0)), ([3], Rate(3, 1))]


def lattice(size, reach):
    return np.array(list(itertools.product(range(-reach, reach + 1), repeat=size)))


def fit(noise, blocks, rate, reach):
    """P-value of drawn vectors; those outside the cube are one cell."""
    points = lattice(noise.shape[1], reach)
    mass = np.exp(block_norm_log_pmf(points, blocks, rate))
    inside = (np.abs(noise) <= reach).all(axis=1)
    code = (noise[inside] + reach) @ (2 * reach + 1) ** np.arange(noise.shape[1])[::-1]
    observed = np.append(np.bincount(code, minlength=len(points)), (~inside).sum())
    return chi_square_p(observed, len(noise) * np.append(mass, 1 - mass.sum()))


@pytest.mark.parametrize(("blocks", "rate"), SHAPES, ids=str)
def test_noise_follows_its_pmf(blocks, rate):
    """The same draws refute a rate 30 % smaller."""
    noise = block_norm(np.zeros((6_000, sum(blocks)), np.int64), blocks, rate, RandomWords.seeded(1))
    assert fit(noise, blocks, rate, 3) > ALARM
    assert fit(noise, blocks, Rate.floor(rate.value * Fraction(7, 10)), 3) < ALARM


def test_pmf_counts_the_points_of_the_lattice():
    for m, radius in [(1, 5), (2, 3), (3, 2), (3, 0)]:
        assert _points(m, radius) == (np.abs(lattice(m, radius)).sum(axis=1) <= radius).sum()
    assert np.exp(block_norm_log_pmf(lattice(3, 25), [1, 2], Rate(1, 0))).sum() == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("blocks", [[1] * 30, [6, 1, 1, 6], [12]], ids=str)
def test_variance_at_small_rates(blocks):
    """The squared radius of 800 vectors: relative deviation of the mean below 0.025; six are p < 1e-6."""
    rate = Rate(1, 9)
    noise = block_norm(np.zeros((800, sum(blocks)), np.int64), blocks, rate, RandomWords.seeded(2))
    wanted = np.concatenate([[block_norm_variance(m, sum(blocks), rate)] * m for m in blocks])
    assert ((noise.astype(float) ** 2).mean(axis=0) / wanted).mean() == pytest.approx(1, abs=0.15)


def test_privacy_loss_of_bounded_sums_is_exactly_epsilon():
    """Rows add up to 2 to the first sum and, at the same time, one-hot 2 to a block of two others."""
    epsilon, bound, blocks = Fraction(7, 10), 2, [1, 2]
    rows = [(x, *one_hot) for x in (-2, 0, 2) for one_hot in ((2, 0), (0, 2))]
    outputs = lattice(3, 6)
    rate = Rate.floor(epsilon / bound)
    before = block_norm_log_pmf(outputs, blocks, rate)
    losses = [
        np.abs(block_norm_log_pmf(outputs - np.array(row), blocks, rate) - before).max() for row in rows
    ]
    assert max(losses) <= float(epsilon) + 1e-9
    assert max(losses) >= float(epsilon) * 0.999  # tight
    halved = Rate.floor(2 * epsilon / bound)  # half the noise is caught
    assert np.abs(
        block_norm_log_pmf(outputs - np.array(rows[0]), blocks, halved)
        - block_norm_log_pmf(outputs, blocks, halved)
    ).max() > float(epsilon)


def test_fractions_are_compared_digit_by_digit():
    """A first word equal to the digits must be followed by a second: 1/3 is 0x5555... for ever."""
    digits = (1 << 64) // 3
    for last, wanted in ((digits - 1, True), (digits + 1, False)):
        stream = iter([digits, last])
        words = RandomWords(lambda n, stream=stream: next(stream).to_bytes(n, "little"))
        assert _bernoulli(1, 3, words) is wanted


def test_wrong_shapes_and_coarse_units_are_refused():
    with pytest.raises(ValueError, match="coordinates"):
        block_norm(np.zeros((1, 3), np.int64), [1, 1], Rate(1, 3), RandomWords.seeded(1))
    with pytest.raises(ValueError, match="finer units"):
        block_norm(np.zeros((1, 100), np.int64), [1] * 100, Rate(1, 0), RandomWords.seeded(1))
