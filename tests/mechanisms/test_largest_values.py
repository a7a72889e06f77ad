"""Noise and choices on numbers as large as int64 holds, against Python's integers."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpforest.mechanisms import (
    RandomWords,
    Rate,
    _kernels,
    block_norm,
    block_norm_rate,
    discrete_gaussian,
    discrete_laplace,
    exponential,
    exponential_log_pmf,
    permute_and_flip,
    quantile_range,
    quantile_utilities,
    subset_utilities,
)

ROWS = 2**40  # of the largest table
END = 2**62

turns = st.one_of(st.integers(0, 20), st.integers(4090, 4100), st.integers(0, 2**62))
nums, dens = st.integers(1, 2**30), st.integers(0, 50).map(lambda shift: 2**shift)


@given(turns=turns, num=nums, den=dens, data=st.data())
def test_the_size_of_noise_is_exact_or_held(turns: int, num: int, den: int, data: st.DataObject) -> None:
    low = data.draw(st.integers(0, den - 1))
    size = _kernels._noise_size(*(np.uint64(x) for x in (turns, low, num, den)))
    assert size == min((turns * den + low) // num, 2**63 - 1)


whole = st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(END - 3, END + 3), st.integers(-5, 5))


@given(value=whole, noise=whole.filter(lambda k: k > -(2**63)))
def test_sums_are_exact_and_held(value: int, noise: int) -> None:
    held = min(max(value, -END + 1), END - 1)
    got = int(_kernels._held_sum(np.int64(value), np.int64(noise)))
    assert got == min(max(held + noise, -END), END)


@given(value=st.integers(-(2**63), 2**63 - 2), noise=whole.filter(lambda k: k > -(2**63)))
def test_holding_brings_neighbours_no_further_apart(value: int, noise: int) -> None:
    before, after = (int(_kernels._held_sum(np.int64(v), np.int64(noise))) for v in (value, value + 1))
    assert 0 <= after - before <= 1


@pytest.mark.parametrize("add_noise", [discrete_laplace, discrete_gaussian])
def test_noise_is_the_same_for_small_and_for_large_counts(add_noise: Callable) -> None:
    large = np.repeat([ROWS * 2**21, -ROWS * 2**21, ROWS, END - 10**9], 200)
    strength = Rate(1, 10) if add_noise is discrete_laplace else Fraction(10**6)
    noise = add_noise(np.zeros_like(large), strength, RandomWords.seeded(5))
    assert noise.any()
    assert (add_noise(large, strength, RandomWords.seeded(5)) - large == noise).all()


@pytest.mark.parametrize("add_noise", [discrete_laplace, discrete_gaussian])
def test_sums_stop_at_the_ends(add_noise: Callable) -> None:
    ends = np.array([2**63 - 1, -(2**63)] * 500)
    strength = Rate(1, 10) if add_noise is discrete_laplace else Fraction(10**6)
    noisy = add_noise(ends, strength, RandomWords.seeded(5)).astype(object)
    assert (abs(noisy) <= END).all()
    assert (abs(noisy) > END - 10**5).all()  # a wrapped sum would have the other sign
    assert ((noisy > 0) == (ends > 0)).all()


def test_noise_of_sums_is_the_same_for_large_ones() -> None:
    large = np.array([[ROWS * 2**21, -ROWS * 2**21, 5], [2**63 - 1, -(2**63), 0]])
    noise = block_norm(np.zeros_like(large), [1, 2], Rate(1, 30), RandomWords.seeded(1))
    assert noise.any()
    noisy = block_norm(large, [1, 2], Rate(1, 30), RandomWords.seeded(1)).astype(object)
    assert (noisy - noise == np.clip(large, -END, END)).all()


def test_a_rate_too_large_to_draw_is_lowered_never_raised() -> None:
    for x in (Fraction(1, 10**6), Fraction(1, 3), Fraction(10**9)):
        for size in (1, 7, 5000):
            rate = block_norm_rate(x, size)
            assert rate.value <= min(x, Fraction(16, size))
            assert rate.value > min(x, Fraction(16, size)) * Fraction(999_999, 1_000_000)
    block_norm(np.zeros((1, 50), int), [1] * 50, block_norm_rate(Fraction(10**6), 50), RandomWords.seeded(1))


@given(
    counts=st.lists(st.sampled_from([0, 1, 2**31, ROWS // 8, ROWS // 8 - 1]), min_size=8, max_size=8),
    share=st.sampled_from([(1, 2), (1, 2**20), (2**20 - 1, 2**20), (999_983, 2**20)]),
)
def test_quantile_scores_are_exact_at_the_largest_table(counts: list[int], share: tuple[int, int]) -> None:
    p, s = share
    utilities, _ = quantile_utilities([counts], [0], [7], p, s)
    expected = [-abs(s * sum(counts[: t + 1]) - p * sum(counts)) for t in range(7)]
    assert utilities[0, :7].tolist() == expected


def test_quantiles_too_fine_for_the_largest_table_are_refused() -> None:
    assert quantile_range(1, 2**20) == 2 * (2**20 - 1)
    with pytest.raises(ValueError, match="denominator"):
        quantile_range(1, 2**20 + 1)


@given(counts=st.lists(st.integers(0, ROWS // 5), min_size=5, max_size=5))
def test_balance_is_exact_at_the_largest_table(counts: list[int]) -> None:
    sets = [[0, *(code >> k & 1 for k in range(4))] for code in range(16)]
    utilities, _ = subset_utilities([counts], [[True] * 5], sets)
    left = [sum(c for c, chosen in zip(counts, one, strict=True) if chosen) for one in sets]
    assert utilities[0].tolist() == [-abs(2 * n - sum(counts)) for n in left]


@pytest.mark.parametrize("choose", [permute_and_flip, lambda u, r, w: exponential(u, [1, 1, 1], r, w)])
def test_differences_of_scores_may_need_64_bits(choose: Callable) -> None:
    """The best is 2**64 - 1 above the worst; one below the best it loses by exp(-1/4) only."""
    ends = np.repeat([[2**63 - 1, -(2**63), 2**63 - 2]], 4000, axis=0)
    chosen = np.bincount(choose(ends, Rate(1, 2), RandomWords.seeded(1)), minlength=3)
    assert chosen[1] == 0
    assert chosen[2] > 1000


def test_probabilities_do_not_depend_on_the_size_of_scores() -> None:
    small = np.array([[0, -3, -7, -700]])
    for shift in (ROWS * 1024, -ROWS * 2**20, 2**63 - 1):
        np.testing.assert_array_equal(
            exponential_log_pmf(small + np.int64(shift), [1, 2, 3, 4], Rate(1, 3)),
            exponential_log_pmf(small, [1, 2, 3, 4], Rate(1, 3)),
        )
