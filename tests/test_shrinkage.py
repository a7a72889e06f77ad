"""Shrinkage keeps what stands out of the noise and forgets the rest."""

import numpy as np
import pytest

from dpforest._shrinkage import shrunk_class_means, shrunk_counts, shrunk_means


def test_without_noise_full_leaves_are_left_alone():
    sums = np.array([[70_000, 30_000], [10_000, 90_000]])
    np.testing.assert_allclose(shrunk_means(sums, 0.0, 10, 4.0), [7, 1], atol=0.05)


@pytest.mark.parametrize(("first", "second", "prior"), [(0, 90_000, 0.0), (90_000, 0, 10.0)])
def test_without_noise_targets_at_one_end_of_their_range_stay_there(first, second, prior):
    sums = np.array([[first, second]] * 4)
    assert shrunk_means(sums, 0.0, 10, prior).tolist() == [prior] * 4


def test_pure_noise_becomes_the_prior():
    sums = np.rint(np.random.default_rng(0).laplace(0, 1000, (256, 2))).astype(int)
    assert np.abs(shrunk_means(sums, 1000 * np.sqrt(2), 100, 30.0) - 30).mean() < 3


def test_shrunk_counts_are_positive_and_keep_clear_differences():
    assert (shrunk_counts(np.array([-50.0, 10.0, 900.0]), 30.0) > 0).all()
    assert shrunk_counts(np.array([100.0, 9000.0]), 5.0).round().tolist() == [100, 9000]


@pytest.mark.parametrize("noise_sd", [0.5, 2.0])
def test_the_noise_that_is_taken_away_is_the_noise_there_is(noise_sd):
    """Means of classes that do not differ: their mean square is what the formula takes for noise.

    4000 draws of a sum of squares: its mean has a relative error of 3 %, the limits are 6 of these away.
    """
    rng, counts = np.random.default_rng(0), np.array([30.0, 60.0, 110.0])
    rows_sd = np.sqrt(0.3 / counts)[:, None]
    means = rng.normal(0, rows_sd, (3, 4000)) + rng.normal(0, noise_sd, (3, 4000)) / counts[:, None]
    share = counts / counts.sum()
    common = share @ means
    kept = shrunk_class_means(means, counts, noise_sd**2, 0.3) - common
    spread = (share @ (means - common) ** 2).mean()
    explained = (share * (1 - share) * (noise_sd**2 / counts**2 + 0.3 / counts)).sum()
    assert 0.82 < spread / explained < 1.18
    assert (share @ kept**2).mean() < 0.35 * spread
