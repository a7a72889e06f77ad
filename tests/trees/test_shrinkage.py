"""Shrinkage keeps what stands out of the noise and forgets the rest."""

import numpy as np
import pytest
from sklearn.metrics import log_loss

from dpforest._trees import class_shares, shrunk_means, shrunk_shares


def test_without_noise_full_leaves_are_left_alone():
    counts = np.array([[9000, 1000], [2000, 8000], [100, 9900], [5000, 5000]])
    expected = counts / counts.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(shrunk_shares(counts, 0.0, np.array([0.4, 0.6])), expected, atol=0.003)
    sums = np.array([[70_000, 30_000], [10_000, 90_000]])
    np.testing.assert_allclose(shrunk_means(sums, 0.0, 10, 4.0), [7, 1], atol=0.05)


def test_pure_noise_becomes_the_prior():
    rng = np.random.default_rng(0)
    counts = np.rint(rng.laplace(0, 10, (256, 3))).astype(int)
    prior = np.array([0.6, 0.3, 0.1])
    shares = shrunk_shares(counts, 10 * np.sqrt(2), prior)
    assert np.abs(shares - prior).mean() < 0.08
    sums = np.rint(rng.laplace(0, 1000, (256, 2))).astype(int)
    assert np.abs(shrunk_means(sums, 1000 * np.sqrt(2), 100, 30.0) - 30).mean() < 3


@pytest.mark.parametrize("n_leaves", [1, 2, 64])
def test_shares_are_probabilities(n_leaves):
    counts = np.random.default_rng(1).integers(-50, 50, (n_leaves, 4))
    shares = shrunk_shares(counts, 8.0, np.full(4, 0.25))
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert (shares > 0).all()


def test_shrunk_shares_predict_better_than_raw_ones():
    """Log loss of 64 leaves with few rows each: raw noisy fractions are badly overconfident."""
    rng = np.random.default_rng(2)
    truth = np.repeat(rng.dirichlet([2, 2], 8), 8, axis=0)
    rows = rng.poisson(20, 64)
    counts = np.stack([rng.multinomial(n, p) for n, p in zip(rows, truth, strict=True)])
    noisy = np.rint(counts + rng.laplace(0, 5, counts.shape)).astype(int)
    labels = np.stack([rng.choice(2, 200, p=p) for p in truth]).ravel()

    def loss(shares):
        kept = np.clip(shares, 1e-3, 1 - 1e-3)
        return log_loss(labels, np.repeat(kept, 200, axis=0), labels=[0, 1])

    assert (
        loss(shrunk_shares(noisy, 5 * np.sqrt(2), np.array([0.5, 0.5])))
        < loss(class_shares(noisy[None])[0]) - 0.1
    )
