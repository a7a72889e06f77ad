"""The nested exponential mechanism: three choices that hang together, at the price of one."""

import itertools
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from dpforest.mechanisms import (
    NESTED_UNIT,
    RandomWords,
    Rate,
    nested_can_choose,
    nested_exponential,
    nested_log_pmf,
    nested_range,
)
from dpforest.mechanisms.nested import _error, soft_best

from .conftest import ALARM
from .test_likelihood_ratio import loss, tables

ROWS = 200_000
LEFT = np.array([[3, 0, 1], [9, 9, 2], [4, 0, 0]])
RIGHT = np.array([[1, 2, 0], [0, 5, 1], [6, 0, 7]])
BASE = np.array([2, 1, 3])
RATE = Rate.floor(Fraction(1, 3))
FASTER = Rate.floor(Fraction(7, 20))


def test_draws_follow_the_pmf(index_fit: Callable) -> None:
    """The same draws refute a rate 5 % larger."""
    wide = (np.broadcast_to(table, (ROWS, 3, 3)) for table in (LEFT, RIGHT))
    drawn = nested_exponential(*wide, np.broadcast_to(BASE, (ROWS, 3)), RATE, RandomWords.seeded(1))
    index = drawn @ [9, 3, 1]
    assert index_fit(index, nested_log_pmf([LEFT], [RIGHT], [BASE], RATE).ravel()) > ALARM
    assert index_fit(index, nested_log_pmf([LEFT], [RIGHT], [BASE], FASTER).ravel()) < ALARM


@pytest.mark.parametrize("seed", range(20))
def test_it_is_the_exponential_mechanism_over_all_triples(seed: int) -> None:
    """But for what rounding takes away: less than two units of the finer score."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 6))
    left, right = rng.integers(-50, 50, (2, 1, m, m))
    base = rng.integers(0, 4, (1, m)) + np.eye(m, dtype=int)[:1]
    rate = Rate.floor(Fraction(int(rng.integers(1, 3000)), 1000))
    found = nested_log_pmf(left, right, base, rate)[0]
    with np.errstate(divide="ignore"):
        log_base = np.log(base[0])
    weight = log_base[:, None, None] + log_base[None, :, None] + log_base[None, None, :]
    weight = weight + float(rate) * (left[0][:, :, None] + right[0][:, None, :])
    wanted = weight - np.logaddexp.reduce(weight, axis=None)
    possible = np.isfinite(wanted)
    assert np.array_equal(possible, np.isfinite(found))
    assert np.abs(found[possible] - wanted[possible]).max() <= 2 * float(rate) / NESTED_UNIT
    assert np.exp(found).sum() == pytest.approx(1)


def two_levels(data: np.ndarray, epsilon: Fraction, strength: int = 1) -> np.ndarray:
    """Rows of (two binary columns, class); the cuts are the columns, leaves count their majority."""
    by = data.reshape(-1, 2, 2, 2)
    sides = np.zeros((2, len(by), 2, 2), np.int64)
    for side, a, b in itertools.product(range(2), repeat=3):
        child = by[:, side] if a == 0 else by[:, :, side]  # (n, other column, class)
        if a == b:  # the same column again cuts nothing off
            sides[side, :, a, b] = child.sum(axis=1).max(axis=1)
        else:
            sides[side, :, a, b] = child.max(axis=2).sum(axis=1)
    rate = Rate.floor(strength * epsilon * NESTED_UNIT / nested_range(1))
    return nested_log_pmf(*sides, np.tile([1, 2], (len(by), 1)), rate).reshape(len(by), -1)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(7, 10), Fraction(3)])
def test_two_levels_cost_what_one_does(epsilon: Fraction) -> None:
    """Over all tables of up to four rows and all their neighbours; half the noise is caught."""
    data = tables(8)
    worst = loss(two_levels, data, epsilon)
    assert worst <= float(epsilon) + 1e-9
    balanced = np.zeros((1, 8), int)
    balanced[0, [0, 7]] = 500  # one more row is right for some cuts, and lost for others
    worst = max(worst, loss(two_levels, balanced, epsilon))
    assert worst >= 0.4 * float(epsilon)
    assert loss(lambda d, e: two_levels(d, e, 3), balanced, epsilon) > float(epsilon)


@pytest.mark.parametrize("seed", range(6))
def test_soft_scores_are_within_the_error_that_is_paid_for(seed: int) -> None:
    """Against 60 digits, also at the smallest rates, far gaps and uneven bases."""
    rng = np.random.default_rng(seed)
    m, spread = 40, 10 ** int(rng.integers(1, 9))
    left, right = rng.integers(0, spread, (2, 1, m, m))
    base = rng.integers(0, 2 ** int(rng.integers(1, 20)), (1, m)) + np.eye(m, dtype=int)[:1]
    rate = Rate.floor(Fraction(1, 2 ** int(rng.integers(0, 10))))
    found = soft_best(left, right, base, rate)[0]
    allowed = _error(base, rate)
    assert allowed < 0.5
    with localcontext(prec=60):
        r = Decimal(rate.num) / Decimal(rate.denominator)
        for a in np.flatnonzero(base[0]):
            exact = Decimal(0)
            for table in (left[0, a], right[0, a]):
                best = int(table[base[0] > 0].max())
                terms = (
                    int(w) * (-(r * (best - int(u)))).exp() for w, u in zip(base[0], table, strict=True) if w
                )
                exact += NESTED_UNIT * (best + sum(terms).ln() / r)
            assert -allowed <= exact - int(found[a]) < 1 + Decimal(allowed)


def test_the_largest_scores_do_not_overflow() -> None:
    left = np.full((1, 2, 2), 2**48)
    left[0, 0, 0] = -(2**48)
    assert soft_best(left, left, np.ones((1, 2), int), Rate(1, 0))[0, 1] // NESTED_UNIT == 2**49 + 1
    assert nested_exponential(left, left, [[1, 1]], Rate(1, 0), RandomWords.seeded(0)).shape == (1, 3)


def test_rows_without_candidates_choose_nothing() -> None:
    nothing = np.zeros((2, 2, 2), int)
    drawn = nested_exponential(nothing, nothing, [[0, 0], [0, 1]], Rate(1, 0), RandomWords.seeded(0))
    assert drawn.tolist() == [[-1, -1, -1], [1, 1, 1]]


def test_what_is_chosen_does_not_depend_on_threads() -> None:
    rng = np.random.default_rng(0)
    left, right = rng.integers(0, 9, (2, 64, 7, 7))
    base = rng.integers(0, 3, (64, 7))
    drawn = [
        nested_exponential(left, right, base, RATE, RandomWords.seeded(3), n_threads=n).tolist()
        for n in (1, 3)
    ]
    assert drawn[0] == drawn[1]


def test_rates_that_are_too_small_are_refused_whatever_the_scores() -> None:
    """Only base and rate decide: a very uneven base makes logarithms rougher."""
    even, uneven = [[1, 1]], [[1, 2**50]]
    assert nested_can_choose(even, Rate(1, 12))
    assert not nested_can_choose(even, Rate(1, 17))
    assert not nested_can_choose(uneven, Rate(1, 0))
    assert not nested_can_choose([[2**62, 2**62, 1]], Rate(1, 0))  # whose sum leaves 64 bits
    for base, rate in ((even, Rate(1, 17)), (uneven, Rate(1, 0))):
        with pytest.raises(ValueError, match="too small"):
            nested_exponential(
                np.zeros((1, 2, 2), int), np.ones((1, 2, 2), int), base, rate, RandomWords.seeded(0)
            )


@pytest.mark.parametrize(
    ("left", "right", "base"),
    [
        (np.zeros((1, 2, 3), int), np.zeros((1, 2, 3), int), [[1, 1]]),
        (np.zeros((1, 2, 2), int), np.zeros((1, 3, 3), int), [[1, 1]]),
        (np.zeros((1, 2, 2), int), np.zeros((1, 2, 2), int), [[1, -1]]),
    ],
)
def test_tables_that_do_not_fit_are_refused(left: np.ndarray, right: np.ndarray, base: list) -> None:
    with pytest.raises(ValueError, match=r"shape|negative"):
        nested_exponential(left, right, base, RATE, RandomWords.seeded(0))
