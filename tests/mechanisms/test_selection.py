"""Exponential mechanism and permute-and-flip: exact draws, exact decisions at the boundaries."""

import decimal
import itertools
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import numba
import numpy as np
import pytest

from dpforest.mechanisms import (
    RandomWords,
    Rate,
    exponential,
    exponential_log_pmf,
    permute_and_flip,
    permute_and_flip_log_pmf,
)
from dpforest.mechanisms._exact_choice import _cumulative_bounds, exact_choice
from dpforest.mechanisms.selection import choose

from .conftest import ALARM

ROWS = 200_000
UTILITIES = np.array([4, 0, 7, 7, -3, 5, 100])
BASE = np.array([2, 9, 1, 1, 30, 4, 0])
RATE = Rate.floor(Fraction(1, 3))
FASTER = Rate.floor(Fraction(7, 20))
ENDS = 2**63 - 1, -(2**63)


def playing(words: list[int]) -> RandomWords:
    data = b"".join(word.to_bytes(8, "little") for word in words)
    position = 0

    def read(n: int) -> bytes:
        nonlocal position
        position += n
        return data[position - n : position]

    return RandomWords(read)


def test_exponential_follows_its_pmf(index_fit: Callable) -> None:
    """The same draws refute a rate 5 % larger."""
    drawn = exponential(np.tile(UTILITIES, (ROWS, 1)), BASE, RATE, RandomWords.seeded(1))
    assert index_fit(drawn, exponential_log_pmf([UTILITIES], BASE, RATE)[0]) > ALARM
    assert index_fit(drawn, exponential_log_pmf([UTILITIES], BASE, FASTER)[0]) < ALARM


def test_exponential_with_one_base_per_row() -> None:
    base = np.array([[1, 0, 0], [0, 5, 0], [0, 0, 2**62]])
    assert exponential(np.zeros((3, 3), dtype=int), base, RATE, RandomWords.seeded(1)).tolist() == [0, 1, 2]


def test_the_exact_decision_agrees_with_float() -> None:
    """An error bound inflated to everything sends each row to arbitrary precision, with the same words."""
    utilities = np.random.default_rng(0).integers(-40, 40, (1500, 6))
    base = np.random.default_rng(1).integers(0, 4, (1500, 6)) + np.eye(6, dtype=int)[0]
    fast = choose(utilities, base, RATE, RandomWords.seeded(2))
    exact = choose(utilities, base, RATE, RandomWords.seeded(2), slack=1.0)
    assert np.array_equal(fast, exact)
    assert np.unique(fast).size == 6


def boundaries(utilities: list[int], base: list[int], rate: Rate, bits: int) -> list[int]:
    """floor(2**bits * P(index <= i)) for each i, by plain decimal arithmetic of 200 digits."""
    with decimal.localcontext(decimal.Context(prec=200)):
        best = max(utilities)
        scale = Decimal(rate.value.numerator) / Decimal(rate.value.denominator)
        weights = [b * (-(scale * (best - u))).exp() for u, b in zip(utilities, base, strict=True)]
        sums = list(itertools.accumulate(weights))
        return [int(s / sums[-1] * 2**bits) for s in sums[:-1]]


def words_beside_boundaries(seed: int) -> tuple[list[int], list[int], Rate, list[int]]:
    """Return a random selection problem and words at many distances from all its boundaries."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 25))
    utilities, base = rng.integers(-60, 0, m).tolist(), rng.integers(1, 1000, m).tolist()
    rate = Rate.floor(Fraction(int(rng.integers(1, 10**6)), 10**6))
    distances = [sign * d for d in (1, 30, 2**10, 2**14, 2**17, 2**24) for sign in (-1, 1)]
    edges = boundaries(utilities, base, rate, 64)
    words = [edge + d for edge in edges for d in distances if 0 <= edge + d < 2**64]
    return utilities, base, rate, words


def test_words_beside_a_boundary_are_decided_as_in_exact_arithmetic() -> None:
    """Where a float error could change the answer; without the error bound (planted bug) it does."""
    wrong_without_bound = 0
    for seed in range(6):
        utilities, base, rate, words = words_beside_boundaries(seed)
        table, measure = np.tile(utilities, (len(words), 1)), np.array([base])
        edges = np.array(boundaries(utilities, base, rate, 64), dtype=object)
        wanted = [int((edges < word).sum()) for word in words]
        assert choose(table, measure, rate, playing(words)).tolist() == wanted
        unsure = choose(table, measure, rate, playing(words), slack=0.0)
        wrong_without_bound += (unsure != wanted).sum()
    assert wrong_without_bound > 0


def test_rounding_in_the_exact_decision_never_decides_too_early() -> None:
    """With 3 digits nearly everything is uncertain; what is decided must be right for the whole tape."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        m = int(rng.integers(2, 6))
        utilities, base = rng.integers(-9, 0, m).tolist(), rng.integers(1, 1000, m).tolist()
        edges = boundaries(utilities, base, RATE, 192)
        number = edges[int(rng.integers(m - 1))] + int(rng.integers(-(2**56), 2**56)) * 2**128
        if 0 <= number < 2**192:
            first, *more = [number >> 64 * k & (2**64 - 1) for k in (2, 1, 0)]
            wanted = sum(edge < number for edge in edges)
            assert exact_choice(utilities, base, RATE, first, playing(more), digits=3) == wanted


def test_the_bounds_of_the_exact_decision_enclose_the_sums() -> None:
    exponents = [Decimal(-k) / 7 for k in range(200)]
    rough_low, rough_high = _cumulative_bounds([3] * 200, exponents, digits=4)
    low, high = _cumulative_bounds([3] * 200, exponents, digits=60)
    assert all(a <= b <= c <= d for a, b, c, d in zip(rough_low, low, high, rough_high, strict=True))
    (least,), (most,) = _cumulative_bounds([1], [Decimal("-1e25")], digits=40)  # beyond decimal's exponents
    assert least == 0 < most
    # A single term, so that no rounding of the sum can hide one of exp.
    for exponent in exponents[1:]:
        (a,), (d,) = _cumulative_bounds([1], [exponent], digits=4)
        assert a < exponent.exp(decimal.Context(prec=60)) < d


def test_a_word_on_a_boundary_draws_more_bits() -> None:
    """A third is 0x5555... in binary: the tape stays on the boundary until it leaves to one side."""
    on_edge = 0x5555555555555555
    for last, wanted in [(0, 0), (on_edge - 1, 0), (on_edge + 1, 1), (2**64 - 1, 1)]:
        assert exponential([[5, 5, 5]], [1, 1, 1], RATE, playing([on_edge, on_edge, on_edge, last])) == wanted


def test_256_bits_around_an_irrational_boundary() -> None:
    (edge,) = boundaries([0, -1], [3, 2], RATE, 256)
    for shift, wanted in [(-1, 0), (1, 1)]:
        words = [(edge + shift) >> 64 * k & (2**64 - 1) for k in (3, 2, 1, 0)]
        assert exponential([[0, -1]], [3, 2], RATE, playing(words)) == wanted


def test_halves_are_decided_without_more_words() -> None:
    assert exponential([[1, 1]], [1, 1], RATE, playing([2**63])) == 1
    assert exponential([[1, 1]], [1, 1], RATE, playing([2**63 - 1])) == 0


def test_tiny_probabilities_are_not_rounded_to_zero() -> None:
    """exp(-40) lies below the 2**-53 floor of float selection, yet words exist that choose it."""
    assert exponential([[0, 40]], [1, 1], Rate(1, 0), playing([0])) == 0
    assert exponential([[40, 0]], [1, 1], Rate(1, 0), playing([2**64 - 1])) == 1
    # 200 weights of exp(-31) together are far above the error bound and must not be cut off.
    utilities, base = [0] * 200 + [31], [1] * 201
    edge = boundaries(utilities, base, Rate(1, 0), 64)[90]
    assert exponential([utilities], base, Rate(1, 0), playing([edge - 2**10, 2**63])) == 90
    # exp(-800) is not even a float64; it needs 1154 zero bits in front.
    assert exponential([[0, 800]], [1, 1], Rate(1, 0), playing([0] * 20)) == 0
    assert exponential([[0, 800]], [1, 1], Rate(1, 0), playing([0] * 17 + [2**64 - 1])) == 1


@pytest.mark.parametrize("rate", [Rate(1, 50), Rate(1, 0), Rate(2**21 - 1, 0)])
def test_extreme_utilities(rate: Rate) -> None:
    top, bottom = ENDS
    words = RandomWords.seeded(3)
    utilities = np.tile([bottom, top, bottom], (1000, 1))
    assert (exponential(utilities, [1, 1, 1], rate, words) == 1).all()
    assert (permute_and_flip(utilities, rate, words) == 1).all()
    assert np.exp(exponential_log_pmf(utilities[:1], [1, 1, 1], rate)).tolist() == [[0, 1, 0]]
    # Only candidates count for the best: the top utility has base 0.
    assert (exponential(utilities, [1, 0, 0], rate, words) == 0).all()
    assert exact_choice([bottom, top], [1, 1], rate, 2**60, words) == 1


@pytest.mark.parametrize("value", [*ENDS, 0])
def test_equal_utilities_and_one_candidate(value: int, index_fit: Callable) -> None:
    even = np.log(np.full(4, 0.25))
    utilities = np.full((40_000, 4), value)
    assert index_fit(exponential(utilities, [3, 3, 3, 3], RATE, RandomWords.seeded(4)), even) > ALARM
    assert index_fit(permute_and_flip(utilities, RATE, RandomWords.seeded(4)), even) > ALARM
    assert permute_and_flip([[value]], RATE, RandomWords.seeded(4)) == 0
    for word in (0, 2**64 - 1):
        assert exponential([[value]], [1], RATE, playing([word])) == 0


def test_wrong_bases_are_refused() -> None:
    words = RandomWords.seeded(5)
    with pytest.raises(ValueError, match="base 0 everywhere"):
        exponential([[1, 2], [3, 4]], [[1, 1], [0, 0]], RATE, words)
    with pytest.raises(ValueError, match="negative"):
        exponential([[1, 2]], [1, -1], RATE, words)
    with pytest.raises(ValueError, match="shape"):
        exponential([[1, 2]], [1, 1, 1], RATE, words)
    with pytest.raises(ValueError, match="candidate"):
        permute_and_flip(np.zeros((2, 0), dtype=int), RATE, words)
    with pytest.raises(TypeError, match="integers"):
        permute_and_flip([[0.5]], RATE, words)
    assert exponential(np.zeros((0, 3), dtype=int), [1, 1, 1], RATE, words).size == 0


def test_compiled_exp_is_as_accurate_as_the_error_bound_assumes() -> None:
    """The proof grants exp an error of 8 units in the last place; a worse math library would void it."""

    @numba.njit
    def exp_of(x: np.ndarray) -> np.ndarray:
        out = np.empty(x.size)
        for i in range(x.size):
            out[i] = math.exp(-x[i])
        return out

    x = np.concatenate([np.random.default_rng(0).uniform(0, 708, 2000), np.logspace(-20, 2.8, 500)])
    with decimal.localcontext(decimal.Context(prec=40)):
        for argument, result in zip(x.tolist(), exp_of(x).tolist(), strict=True):
            truth = (-Decimal(argument)).exp()
            assert abs(Decimal(result) - truth) <= 8 * Decimal(math.ulp(result))


def test_permute_and_flip_follows_its_pmf(index_fit: Callable) -> None:
    """The same draws refute a rate 5 % larger, and the exponential mechanism."""
    utilities = UTILITIES[:6]
    drawn = permute_and_flip(np.tile(utilities, (ROWS, 1)), RATE, RandomWords.seeded(6))
    assert index_fit(drawn, permute_and_flip_log_pmf([utilities], RATE)[0]) > ALARM
    assert index_fit(drawn, permute_and_flip_log_pmf([utilities], FASTER)[0]) < ALARM
    assert index_fit(drawn, exponential_log_pmf([utilities], np.ones(6, dtype=int), RATE)[0]) < ALARM


def test_permute_and_flip_pmf_is_that_of_all_permutations() -> None:
    utilities = [3, 0, 3, 1, -2]
    accept = [math.exp(-float(RATE) * (3 - u)) for u in utilities]
    wanted = np.zeros(5)
    for order in itertools.permutations(range(5)):
        still = 1.0
        for i in order:
            wanted[i] += still * accept[i] / math.factorial(5)
            still *= 1 - accept[i]
    assert np.exp(permute_and_flip_log_pmf([utilities], RATE)[0]) == pytest.approx(wanted, rel=1e-12)


def test_permute_and_flip_pmf_of_hundreds_of_candidates(index_fit: Callable) -> None:
    utilities = np.arange(300) % 7
    log_pmf = permute_and_flip_log_pmf([utilities], RATE)[0]
    assert np.exp(log_pmf).sum() == pytest.approx(1, rel=1e-10)
    drawn = permute_and_flip(np.tile(utilities, (20_000, 1)), RATE, RandomWords.seeded(7))
    by_level = np.log(np.bincount(utilities, weights=np.exp(log_pmf)))
    assert index_fit(utilities[drawn], by_level) > ALARM
