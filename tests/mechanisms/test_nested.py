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
    nested_or_rival,
    nested_or_rival_log_pmf,
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


RIVALS = np.array([4, 12, 0, 7])


def test_draws_of_cuts_and_rivals_follow_the_pmf(index_fit: Callable) -> None:
    """The same draws refute a rate 5 % larger, and rivals that were twice as likely beforehand."""
    wide = (np.broadcast_to(table, (ROWS, 3, 3)) for table in (LEFT, RIGHT))
    public = np.broadcast_to(BASE, (ROWS, 3)), RATE, np.broadcast_to(RIVALS, (ROWS, 4)), 0.5
    drawn = nested_or_rival(*wide, *public, RandomWords.seeded(1))
    is_rival = drawn[:, 0] >= 3
    assert (drawn[is_rival, 1:] == -1).all()
    index = np.where(is_rival, 27 + drawn[:, 0] - 3, drawn @ [9, 3, 1])
    for rate, odds, fits in ((RATE, 0.5, True), (FASTER, 0.5, False), (RATE, 1.0, False)):
        of_cuts, of_rivals = nested_or_rival_log_pmf([LEFT], [RIGHT], [BASE], rate, [RIVALS], odds)
        log_pmf = np.concatenate([of_cuts.ravel(), of_rivals.ravel()])
        assert (index_fit(index, log_pmf) > ALARM) == fits


@pytest.mark.parametrize("seed", range(20))
def test_with_rivals_it_is_the_exponential_mechanism_over_both_kinds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m, k, odds = int(rng.integers(1, 5)), int(rng.integers(1, 9)), float(rng.uniform(0.01, 3))
    left, right = rng.integers(-50, 50, (2, 1, m, m))
    rivals = rng.integers(-100, 100, (1, k))
    base = rng.integers(0, 4, (1, m)) + np.eye(m, dtype=int)[:1]
    rate = Rate.floor(Fraction(int(rng.integers(1, 3000)), 1000))
    of_cuts, of_rivals = (some[0] for some in nested_or_rival_log_pmf(left, right, base, rate, rivals, odds))
    with np.errstate(divide="ignore"):
        log_base = np.log(base[0])
    weight = log_base[:, None, None] + log_base[None, :, None] + log_base[None, None, :]
    weight = weight + float(rate) * (left[0][:, :, None] + right[0][:, None, :])
    of_all = np.logaddexp.reduce(3 * np.log(base.sum()) + np.log(odds / k) + float(rate) * rivals[0])
    total = np.logaddexp(np.logaddexp.reduce(weight, axis=None), of_all)
    possible = np.isfinite(weight)
    allowed = 3 * float(rate) / NESTED_UNIT
    assert np.abs(of_cuts[possible] - (weight - total)[possible]).max() <= allowed
    assert abs(np.logaddexp.reduce(of_rivals) - (of_all - total)) <= allowed
    assert np.exp(of_cuts).sum() + np.exp(of_rivals).sum() == pytest.approx(1)


def two_levels_or_direction(
    data: np.ndarray, epsilon: Fraction, strength: int = 1, weight: int = 1
) -> np.ndarray:
    """Rows as in `two_levels`; a rival says that the class is 1 from a number of ones in the columns on."""
    by = data.reshape(-1, 2, 2, 2)
    sides = np.zeros((2, len(by), 2, 2), np.int64)
    for side, a, b in itertools.product(range(2), repeat=3):
        child = by[:, side] if a == 0 else by[:, :, side]
        leaves = child.sum(axis=1)[:, None] if a == b else child
        sides[side, :, a, b] = leaves.max(axis=2).sum(axis=1)
    ones = np.add.outer(np.arange(2), np.arange(2))
    rivals = [by[:, ones < t, 0].sum(axis=1) + by[:, ones >= t, 1].sum(axis=1) for t in range(4)]
    rate = Rate.floor(strength * epsilon * NESTED_UNIT / nested_range(1))
    public = np.tile([1, 2], (len(by), 1)), rate, weight * np.stack(rivals, axis=1), 0.3
    of_cuts, of_rivals = nested_or_rival_log_pmf(*sides, *public)
    return np.hstack([of_cuts.reshape(len(by), -1), of_rivals])


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(7, 10), Fraction(3)])
def test_rivals_cost_nothing_more(epsilon: Fraction) -> None:
    """Over all tables of up to four rows and all their neighbours.

    Half the noise, and a rival whose score counts a row twice, are caught.
    """
    assert loss(two_levels_or_direction, tables(8), epsilon) <= float(epsilon) + 1e-9
    balanced = np.zeros((1, 8), int)
    balanced[0, [0, 7]] = 500
    assert 0.9 * float(epsilon) <= loss(two_levels_or_direction, balanced, epsilon) <= float(epsilon) + 1e-9
    assert loss(lambda d, e: two_levels_or_direction(d, e, strength=2), balanced, epsilon) > float(epsilon)
    lopsided = np.zeros((1, 8), int)
    lopsided[0, [0, 7]] = 300, 700
    assert loss(lambda d, e: two_levels_or_direction(d, e, weight=2), lopsided, epsilon) > float(epsilon)


@pytest.mark.parametrize(
    ("rivals", "odds"), [([[1], [2]], 1.0), (np.zeros((1, 0), int), 1.0), ([[1]], 0.0), ([[1]], np.inf)]
)
def test_rivals_that_do_not_fit_are_refused(rivals: object, odds: float) -> None:
    nothing = np.zeros((1, 2, 2), int)
    with pytest.raises(ValueError, match=r"rivals|odds"):
        nested_or_rival(nothing, nothing, [[1, 1]], RATE, rivals, odds, RandomWords.seeded(0))


def test_the_largest_scores_of_rivals_do_not_overflow() -> None:
    """At the smallest rate and the heaviest base, too."""
    nothing, many = np.zeros((1, 2, 2), int), [[2**48, -(2**48)]]
    drawn = nested_or_rival(nothing, nothing, [[2**20, 2**20]], Rate(1, 12), many, 1.0, RandomWords.seeded(0))
    assert drawn.tolist() == [[2, -1, -1]]
