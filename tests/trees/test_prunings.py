"""The mixture over prunings: what the sum over all of them says, and what it does about noise."""

import itertools

import numpy as np
import pytest
from scipy.special import gammaln
from sklearn.metrics import log_loss

from dpforest._structure import FlatTrees
from dpforest._trees import PruningConfig, class_shares, mix_prunings
from dpforest._trees.prunings import _projected

CONFIG = PruningConfig()
HALF = np.array([0.5, 0.5])


def mixed(counts, noise_sd, prior, epsilon=0.1, reachable=None):
    n_leaves = len(counts)
    reachable = np.ones(n_leaves, bool) if reachable is None else reachable
    return mix_prunings(
        counts, noise_sd, prior, reachable, np.full(n_leaves.bit_length() - 1, epsilon), CONFIG
    )


def all_prunings(depth):
    """Every set of nodes (level, number) at which a complete tree can be cut off."""
    if depth == 0:
        return [[(0, 0)]]
    below = all_prunings(depth - 1)
    both = [
        [(level + 1, at) for level, at in left] + [(level + 1, at + 2**level) for level, at in right]
        for left, right in itertools.product(below, below)
    ]
    return [[(0, 0)], *both]


def test_it_is_the_sum_over_all_prunings_one_by_one():
    """Without noise and at no epsilon: evidence and prior of each of the 26 prunings, written down."""
    counts = np.array([[9, 2], [8, 3], [1, 7], [0, 9], [4, 4], [5, 3], [2, 2], [9, 0]])
    prior = counts.sum(axis=0) / counts.sum()
    found = mixed(counts, 0.0, prior, epsilon=0.0)
    a = CONFIG.prior_rows * prior
    split = 1 / (1 + np.exp(CONFIG.split_odds))

    def evidence(level, at):
        n = counts.reshape(2**level, -1, 2).sum(axis=1)[at]
        return (gammaln(n + a) - gammaln(a)).sum() + gammaln(a.sum()) - gammaln(n.sum() + a.sum())

    weights, stopped = [], []
    prunings = all_prunings(3)
    assert len(prunings) == 26
    for pruning in prunings:
        inner = len(pruning) - 1
        cut_off = sum(level < 3 for level, _ in pruning)
        log_prior = inner * np.log(split) + cut_off * np.log(1 - split)
        weights.append(log_prior + sum(evidence(*node) for node in pruning))
        stopped.append({level for level, at in pruning if at == 0})  # where the first leaf's path ends
    weights = np.exp(np.array(weights) - np.logaddexp.reduce(weights))
    wanted = [sum(w for w, s in zip(weights, stopped, strict=True) if level in s) for level in range(4)]
    left, ours = 1.0, []
    for stop in found.stop:
        ours.append(left * stop[0])
        left -= ours[-1]
    np.testing.assert_allclose(ours, wanted, rtol=1e-7)
    shares = sum(p * s[0] for p, s in zip(wanted, found.shares, strict=True))
    np.testing.assert_allclose(found.leaf_shares()[0], shares, rtol=1e-7)


def test_without_noise_full_leaves_are_left_alone():
    counts = np.array([[9000, 1000], [2000, 8000], [100, 9900], [5000, 5000]])
    expected = counts / counts.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(mixed(counts, 0.0, HALF).leaf_shares(), expected, atol=0.003)


def test_leaves_that_differ_by_noise_alone_say_what_all_say():
    rng = np.random.default_rng(0)
    prior = np.array([0.6, 0.3, 0.1])
    counts = rng.multinomial(60, prior, 256) + np.rint(rng.laplace(0, 10, (256, 3))).astype(int)
    away = np.abs(mixed(counts, 10 * np.sqrt(2), prior).leaf_shares() - prior).mean()
    assert away < 0.05
    assert np.abs(class_shares(counts[None])[0] - prior).mean() > 2 * away


def test_small_leaves_without_signal_are_not_believed_however_large_epsilon_is():
    """At a large epsilon there is no noise left, but drawing few rows is noise too."""
    rng = np.random.default_rng(3)
    counts = rng.multinomial(6, [0.7, 0.3], 256)
    shares = mixed(counts, 0.01, np.array([0.7, 0.3]), epsilon=10.0).leaf_shares()
    assert np.abs(shares[:, 0] - 0.7).mean() < 0.05
    assert np.abs(class_shares(counts[None])[0, :, 0] - 0.7).mean() > 0.12


@pytest.mark.parametrize("n_leaves", [1, 2, 64])
@pytest.mark.parametrize("noise_sd", [0.0, 8.0])
def test_shares_are_probabilities(n_leaves, noise_sd):
    counts = np.random.default_rng(1).integers(-50, 50, (n_leaves, 4))
    for epsilon in (1e-6, 1.0, 1e300):
        shares = mixed(counts, noise_sd, np.full(4, 0.25), epsilon).leaf_shares()
        np.testing.assert_allclose(shares.sum(axis=1), 1)
        assert (shares > 0).all()


def test_leaves_that_no_row_reaches_say_nothing():
    """A node that sends everything left is its left child, whatever noise the right one holds."""
    counts = np.array([[80, 20], [-30, 90], [10, 90], [5, 95]])
    reachable = np.array([True, False, True, True])
    other = counts.copy()
    other[1] = [900, -7]
    ours, theirs = (mixed(c, 3.0, HALF, reachable=reachable).leaf_shares() for c in (counts, other))
    np.testing.assert_array_equal(ours[reachable], theirs[reachable])
    assert ours[0, 0] > 0.7


def test_it_predicts_better_than_raw_fractions():
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

    ours = mixed(noisy, 5 * np.sqrt(2), HALF).leaf_shares()
    assert loss(ours) < loss(class_shares(noisy[None])[0]) - 0.1


def test_importances_forget_splits_that_say_nothing():
    """The first split is real, the other two divide nothing but noise."""
    trees = FlatTrees.unsplit(1, 2)
    trees.feature[0], trees.threshold[0] = [1, 0, 0], 5
    rng = np.random.default_rng(4)
    rows = np.array([[400, 100], [400, 100], [100, 400], [100, 400]])
    counts = rows + np.rint(rng.laplace(0, 20, (4, 2))).astype(int)
    found = mixed(counts, 20 * np.sqrt(2), HALF).importances(trees, 3)
    assert found.sum() == pytest.approx(1)
    assert found[1] > 0.98
    assert not mixed(counts[:1], 20.0, HALF).importances(FlatTrees.unsplit(1, 0), 3).any()


def test_projected_counts_keep_their_total():
    counts = np.random.default_rng(5).normal(0, 10, (50, 6))
    totals = np.maximum(counts.sum(axis=1), 0.0)
    found = _projected(counts, totals)
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=1), totals, atol=1e-9)
