"""Quantiles of the target, and what is left of it after released values were subtracted."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from dpforest._structure import FlatTrees
from dpforest._structure.additive import UNIT
from dpforest.mechanisms import Rate, exponential_log_pmf, quantile_utilities
from tests.curator.conftest import TARGET
from tests.curator.test_queries import assert_follows

WHOLE = Fraction(1)
CALLS = 100  # answers of one curator, each at epsilon 1: most of the time of one answer is to open it


def test_quantiles_with_released_weights_follow_the_mechanism(open_curator):
    records = [(0.1, "a", y) for y in (0, 0.1, 0.2, 0.5, 0.5, 0.9)]
    base = np.array([1, 2, 3, 9, 9, 4, 2, 1, 5])
    chosen = []
    for seed in range(6_000 // CALLS):
        with open_curator(records, TARGET, epsilon=CALLS, seed=seed) as curator:
            asked = "everything", WHOLE / CALLS, "bound", 3, 4, base
            chosen += [curator.target_quantile(*asked) for _ in range(CALLS)]
    counts = np.bincount(TARGET.encode_target(np.array([y for *_, y in records])), minlength=9)
    scores, allowed = quantile_utilities(counts[None], [0], [8], 3, 4)
    log_pmf = exponential_log_pmf(scores, allowed * base, Rate.floor(Fraction(1, 6)))[0]
    assert_follows(np.array(chosen), log_pmf[:-1])


@pytest.mark.parametrize("around", [0, 3, 8])
def test_quantiles_of_distances_follow_the_mechanism(open_curator, around):
    records = [(0.1, "a", y) for y in (0, 0.1, 0.2, 0.5, 0.5, 0.9)]
    chosen = []
    for seed in range(4_000 // CALLS):
        with open_curator(records, TARGET, epsilon=CALLS, seed=seed) as curator:
            asked = "everything", WHOLE / CALLS, "distance", 3, 4
            chosen += [curator.target_quantile(*asked, around=around) for _ in range(CALLS)]
    levels = TARGET.encode_target(np.array([y for *_, y in records]))
    counts = np.bincount(np.abs(levels - around), minlength=9)
    scores, allowed = quantile_utilities(counts[None], [0], [8], 3, 4)
    assert_follows(np.array(chosen), exponential_log_pmf(scores, allowed, Rate.floor(Fraction(1, 6)))[0][:-1])


@pytest.mark.parametrize("around", [-1, 9])
def test_distances_are_measured_from_a_level(open_curator, around):
    with open_curator([(0.1, "a", 0.5)], TARGET) as curator:
        with pytest.raises(ValueError, match="from a level"):
            curator.target_quantile("everything", WHOLE, "distance", 3, 4, around=around)
        assert not len(curator.ledger)


def test_a_table_is_subtracted_row_by_row_and_exactly(open_curator):
    """Neighbours stay neighbours: one more row changes no other row's new target."""
    table = np.zeros((2, 6), np.int64)
    table[0, :4], table[1, 2] = UNIT * np.array([1, 0, 0, 2]), UNIT
    records = [(0.1, "a", 0.5), (0.9, "c", 1.0), (0.4, "a", 0.0)]

    def left(rows):
        with open_curator(rows, TARGET, noiseless=True) as curator:
            curator.subtract(-4.0, 4.0, constant=4.0, table=table)
            return curator.leaf_soft_histograms("everything", FlatTrees.unsplit(1, 0)).values[0, 0]

    # 4 - 4 - 1 = -1 is level 3 of 8 between -4 and 4; 8 - 4 - 2 - 1 = 1 is level 5; 0 - 4 = -4 is level 0
    np.testing.assert_array_equal(left(records), [8, 16])
    for n, record in itertools.product(range(1, 4), records):
        one_more = left([*records[:n], record]) - left(records[:n])
        np.testing.assert_array_equal(one_more, left([record]))
