"""Shrinkage keeps what stands out of the noise and forgets the rest."""

import numpy as np

from dpforest._trees import shrunk_means


def test_without_noise_full_leaves_are_left_alone():
    sums = np.array([[70_000, 30_000], [10_000, 90_000]])
    np.testing.assert_allclose(shrunk_means(sums, 0.0, 10, 4.0), [7, 1], atol=0.05)


def test_pure_noise_becomes_the_prior():
    sums = np.rint(np.random.default_rng(0).laplace(0, 1000, (256, 2))).astype(int)
    assert np.abs(shrunk_means(sums, 1000 * np.sqrt(2), 100, 30.0) - 30).mean() < 3
