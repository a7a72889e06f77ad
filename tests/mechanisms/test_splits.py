"""Private thresholds and category subsets of many nodes."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpforest.mechanisms import (
    RandomWords,
    Rate,
    balanced_subset_log_pmf,
    exponential,
    quantile_log_pmf,
    quantile_range,
    quantile_utilities,
    subset_candidates,
    subset_utilities,
)

from .conftest import ALARM

ROWS = 150_000
EPSILON = Fraction(1, 2)
LARGER = Fraction(11, 20)


def quantile(counts: Any, low: Any, high: Any, epsilon: Fraction, seed: int, *share: int) -> Any:
    """One draw in every row, as the curator makes it."""
    rate = Rate.floor(epsilon / quantile_range(*share))
    return exponential(*quantile_utilities(counts, low, high, *share), rate, RandomWords.seeded(seed))


@pytest.mark.parametrize(("numerator", "denominator"), [(1, 2), (1, 4), (9, 10)])
def test_quantile_utilities_equal_the_plain_formula(numerator: int, denominator: int) -> None:
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 50, (200, 12))
    low, high = np.sort(rng.integers(0, 12, (2, 200)), axis=0)
    utilities, base = quantile_utilities(counts, low, high, numerator, denominator)
    for row, (first, last) in enumerate(zip(low, high, strict=True)):
        inside = counts[row, first : last + 1]
        wanted = -np.abs(denominator * np.cumsum(inside) - numerator * inside.sum())[:-1]
        assert utilities[row, first:last].tolist() == wanted.tolist()
        assert np.flatnonzero(base[row]).tolist() == list(range(first, last))


@pytest.mark.parametrize("share", [(1, 2), (1, 4)])
def test_quantile_follows_its_pmf(share: tuple[int, int], index_fit: Callable) -> None:
    """The same draws refute an epsilon 10 % larger."""
    counts, box = np.array([50, 3, 0, 5, 1, 0, 2, 6, 50]), ([1], [7])
    low, high = np.full(ROWS, 1), np.full(ROWS, 7)
    drawn = quantile(np.tile(counts, (ROWS, 1)), low, high, EPSILON, 1, *share)
    assert index_fit(drawn, quantile_log_pmf([counts], *box, EPSILON, *share)[0]) > ALARM
    assert index_fit(drawn, quantile_log_pmf([counts], *box, LARGER, *share)[0]) < ALARM


def test_quantile_finds_the_quantile_of_many_rows() -> None:
    counts = np.full((100, 258), 10_000)
    low, high = np.zeros(100, dtype=np.int32), np.full(100, 257, dtype=np.int32)
    median = quantile(counts, low, high, Fraction(1), 2)
    assert (median == 128).all()
    assert (quantile(counts, low, high, Fraction(1), 2, 1, 3) == 85).all()


def test_a_box_without_threshold_has_no_candidate() -> None:
    counts = np.random.default_rng(3).integers(0, 9, (6, 5))
    low, high = np.array([0, 2, 4, 1, 3, 0]), np.array([4, 2, 1, 3, 3, 1])
    _, base = quantile_utilities(counts, low, high)
    assert base.any(axis=1).tolist() == [True, False, False, True, False, True]


def test_an_empty_node_draws_its_threshold_uniformly(index_fit: Callable) -> None:
    zeros = np.zeros((ROWS, 4), dtype=int)
    drawn = quantile(zeros, np.zeros(ROWS, int), np.full(ROWS, 3), EPSILON, 4)
    assert index_fit(drawn, np.log(np.full(3, 1 / 3))) > ALARM


def test_quantile_refuses_wrong_public_arguments() -> None:
    with pytest.raises(ValueError, match="cells between"):
        quantile_utilities([[1, 2]], [0], [2])
    with pytest.raises(ValueError, match="one entry per row"):
        quantile_utilities([[1, 2]], [0, 0], [1, 1])
    for share in [(0, 1), (1, 1), (3, 2), (1, 2**21)]:
        with pytest.raises(ValueError, match="numerator"):
            quantile_range(*share)


@pytest.mark.parametrize("n_cells", [1, 2, 3, 10])
def test_short_lists_hold_every_split_once(n_cells: int) -> None:
    sets = subset_candidates(n_cells, RandomWords.seeded(6))
    assert sets.shape == (2 ** (n_cells - 1) - 1, n_cells)
    sides = {frozenset([tuple(s), tuple(1 - s)]) for s in sets}
    assert len(sides) == len(sets)
    assert all(0 < s.sum() < n_cells for s in sets)


@pytest.mark.parametrize("n_cells", [11, 64, 65, 200])
def test_long_lists_are_cut_to_different_proper_subsets(n_cells: int) -> None:
    sets = subset_candidates(n_cells, RandomWords.seeded(7))
    assert sets.shape == (512, n_cells)
    assert len({tuple(s) for s in sets}) == 512
    assert not sets[:, 0].any()
    assert sets.any(axis=1).all()
    # Every other category is left in half the sets: 6 deviations of Binomial(512, 1/2), p < 1e-6 for 200.
    assert (np.abs(sets[:, 1:].mean(axis=0) - 0.5) < 6 * 0.5 / np.sqrt(512)).all()


def test_subset_utilities_equal_the_plain_formula() -> None:
    rng = np.random.default_rng(8)
    sets = subset_candidates(5, RandomWords.seeded(8))
    counts, members = rng.integers(0, 30, (100, 5)), rng.random((100, 5)) < 0.6
    utilities, base = subset_utilities(counts, members, sets)
    for row in range(100):
        for j, left in enumerate(sets.astype(bool)):
            on_left, on_right = members[row] & left, members[row] & ~left
            assert utilities[row, j] == -abs(counts[row, on_left].sum() - counts[row, on_right].sum())
            assert base[row, j] == (on_left.any() and on_right.any())


def test_balanced_subset_follows_its_pmf(index_fit: Callable) -> None:
    """The same draws refute an epsilon 10 % larger."""
    sets = subset_candidates(4, RandomWords.seeded(9))
    counts, members = np.array([[9, 4, 30, 2]]), np.array([[True, True, False, True]])
    repeated = np.repeat(counts, ROWS, axis=0), np.repeat(members, ROWS, axis=0)
    scores, base = subset_utilities(*repeated, sets)
    drawn = exponential(scores, base, Rate.floor(EPSILON / 2), RandomWords.seeded(9))
    assert index_fit(drawn, balanced_subset_log_pmf(counts, members, sets, EPSILON)[0]) > ALARM
    assert index_fit(drawn, balanced_subset_log_pmf(counts, members, sets, LARGER)[0]) < ALARM


def test_boxes_that_nothing_splits_have_no_candidate() -> None:
    sets = subset_candidates(3, RandomWords.seeded(10))
    members = np.array([[True, False, False], [False, False, False], [False, True, True]])
    _, base = subset_utilities(np.full((3, 3), 7), members, sets)
    assert base.any(axis=1).tolist() == [False, False, True]
    assert (sets[base[2] > 0, 1] != sets[base[2] > 0, 2]).all()
    # One category in all: an empty list of candidates.
    alone = subset_candidates(1, RandomWords.seeded(10))
    assert subset_utilities([[7]], [[True]], alone)[1].shape == (1, 0)


def test_subset_shapes_must_agree() -> None:
    with pytest.raises(ValueError, match="agree"):
        subset_utilities([[1, 2]], [[True, True]], [[0, 1, 1]])
    with pytest.raises(ValueError, match="positive"):
        subset_candidates(0, RandomWords.seeded(1))
