"""Pruning takes back splits that counts do not bear out, and no others."""

import numpy as np
import pytest
from scipy import stats

from dpforest._structure import FlatTrees
from dpforest._structure.flat import EVERYTHING_LEFT
from dpforest._trees import prune_by_errors, prune_by_gini, reachable_leaves
from dpforest._trees.pruning import _estimated_errors
from tests.oracles import leaf_of


def everywhere(counts):
    return np.ones(counts.shape[:2], bool)


def test_reachable_leaves_are_those_that_rows_reach():
    rng = np.random.default_rng(0)
    trees = FlatTrees.unsplit(6, 4)
    trees.feature[:] = rng.integers(0, 12, trees.feature.shape)
    cuts = rng.integers(0, 7, trees.threshold.shape)
    trees.threshold[:] = np.where(rng.random(cuts.shape) < 0.3, EVERYTHING_LEFT, cuts)
    # distinct features along a path, so that every combination of sides occurs
    trees.feature[:] = np.arange(15)[None]
    rows = rng.integers(0, 8, (4000, 15))
    for tree in range(6):
        found = {leaf_of(trees, tree, row, 4) for row in rows}
        assert set(np.flatnonzero(reachable_leaves(trees)[tree])) == found


@pytest.mark.parametrize(("n", "wrong"), [(6, 0), (16, 1), (168, 3), (40, 20)])
def test_errors_are_the_upper_confidence_limit(n, wrong):
    """The rate at which so few errors have a probability of a quarter: 0.206 for none of 6, as in C4.5."""
    counts = np.array([[[n - wrong, wrong]]], float)
    limit = _estimated_errors(counts, 0.25)[0, 0] / n
    assert stats.binom.cdf(wrong, n, limit) == pytest.approx(0.25)
    if (n, wrong) == (6, 0):
        assert limit == pytest.approx(0.206, abs=0.001)


def test_useless_splits_fall_and_useful_ones_stay():
    useless = np.array([[[60, 20], [61, 19], [58, 21], [59, 22]]])
    np.testing.assert_array_equal(
        prune_by_errors(useless, everywhere(useless)), np.broadcast_to(useless.sum(axis=1), (1, 4, 2))
    )
    useful = np.array([[[80, 2], [1, 79], [3, 90], [77, 4]]])
    np.testing.assert_array_equal(prune_by_errors(useful, everywhere(useful)), useful)
    np.testing.assert_array_equal(prune_by_gini(useful, everywhere(useful), 3.0), useful)


def test_a_useless_split_above_useful_ones_stays():
    """Both children of the root look alike, but the grandchildren do not."""
    xor = np.array([[[90, 5], [4, 91], [6, 88], [92, 3]]])
    np.testing.assert_array_equal(prune_by_errors(xor, everywhere(xor)), xor)
    np.testing.assert_array_equal(prune_by_gini(xor, everywhere(xor), 3.0), xor)


def test_leaves_out_of_reach_do_not_count():
    counts = np.array([[[100, 0], [-500, 700], [5, 95], [900, -3]]])
    reachable = np.array([[True, False, True, False]])
    expected = np.array([[[100, 0], [100, 0], [5, 95], [5, 95]]])
    for pruned in (prune_by_errors(counts, reachable), prune_by_gini(counts, reachable, 2.0)):
        np.testing.assert_array_equal(pruned[:, [0, 2]], expected[:, [0, 2]])


def test_splits_of_pure_noise_are_taken_back_by_gini():
    """Children with the same shares: of the splits above the leaves few survive noise of 42 rows."""
    rng = np.random.default_rng(1)
    counts = rng.poisson([150, 50], (1, 512, 2)) + np.rint(rng.laplace(0, 30, (1, 512, 2))).astype(int)
    noise_sd = 30 * np.sqrt(2)
    pruned = prune_by_gini(counts, everywhere(counts), noise_sd)
    kept = (pruned == counts).all(axis=2).mean()
    assert kept < 0.35
    assert (prune_by_gini(counts, everywhere(counts), 0.0) == counts).all(axis=2).mean() > 0.7  # the mutant


def test_splits_with_signal_survive_noise():
    rng = np.random.default_rng(2)
    truth = np.tile([[180, 20], [30, 170]], (128, 1))
    counts = (truth + np.rint(rng.laplace(0, 10, truth.shape)).astype(int))[None]
    pruned = prune_by_gini(counts, everywhere(counts), 10 * np.sqrt(2))
    assert (pruned == counts).all(axis=2).mean() > 0.97


def test_empty_and_negative_counts_have_answers():
    for counts in (np.zeros((2, 8, 3), int), np.full((1, 4, 2), -7), np.zeros((3, 1, 2), int)):
        for pruned in (
            prune_by_errors(counts, everywhere(counts)),
            prune_by_gini(counts, everywhere(counts), 5.0),
        ):
            assert pruned.shape == counts.shape
            assert np.isfinite(pruned).all()


def test_trees_are_pruned_apart():
    rng = np.random.default_rng(3)
    counts = rng.poisson(rng.choice([5, 60], (5, 16, 3)))
    reachable = rng.random((5, 16)) < 0.8
    for together, alone in (
        (
            prune_by_errors(counts, reachable),
            [prune_by_errors(counts[[i]], reachable[[i]])[0] for i in range(5)],
        ),
        (
            prune_by_gini(counts, reachable, 4.0),
            [prune_by_gini(counts[[i]], reachable[[i]], 4.0)[0] for i in range(5)],
        ),
    ):
        np.testing.assert_array_equal(together, alone)
