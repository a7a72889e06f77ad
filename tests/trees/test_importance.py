"""Importances: what matters comes first, a column of noise does not."""

import numpy as np
import pytest

from dpforest import (
    DiPriMeForestClassifier,
    DiPriMeForestRegressor,
    PrivateForestClassifier,
    PrivateForestRegressor,
    RandomDecisionTreesClassifier,
)
from dpforest._structure import FlatTrees
from dpforest._trees import feature_importances
from dpforest.privacy import PrivacyLeakWarning

MODELS = {
    "pure classes": (PrivateForestClassifier, {}),
    "boosted classes": (PrivateForestClassifier, {"delta": 1e-6}),
    "pure numbers": (PrivateForestRegressor, {}),
    "boosted numbers": (PrivateForestRegressor, {"delta": 1e-6}),
    "median classes": (DiPriMeForestClassifier, {}),
    "median numbers": (DiPriMeForestRegressor, {}),
    "random trees": (RandomDecisionTreesClassifier, {}),
}


@pytest.mark.parametrize("epsilon", [0.5, 10])
@pytest.mark.parametrize("name", MODELS)
def test_noise_does_not_come_first(name, epsilon):
    """Five columns of noise beside three that matter, on a table of 10,000 rows; seeded, hence repeatable."""
    estimator, given = MODELS[name]
    rows = np.random.default_rng(0).random((10_000, 8))
    score = 3 * rows[:, 3] + 2 * np.abs(rows[:, 5] - 0.5) + rows[:, 6] - 2.5
    is_class = "classes" in estimator().get_params()
    y = (score > 0).astype(int) if is_class else np.clip(0.5 + score / 5, 0, 1)
    declared = {"classes": [0, 1]} if is_class else {"target_bounds": (0, 1)}
    model = estimator(epsilon=epsilon, bounds=(0, 1), random_state=0, **declared, **given)
    with pytest.warns(PrivacyLeakWarning):
        found = model.fit(rows, y).feature_importances_
    noise = found[[0, 1, 2, 4, 7]]
    assert found[3] >= found.max() or found.max() == 0
    assert noise.max() <= 0.3 * found[3]
    if epsilon == 10:
        assert found[3] > 0.4


def test_counts_of_noise_alone_have_no_importance():
    """Counts of 0 with noise, and of the same shares with noise: nothing was learnt, whatever was cut.

    Each feature passes with the probability that a sum of about 500 squares exceeds its mean by two standard
    deviations, 2.5 %, and they are equally likely to; the mean over 20 draws of 5 features tells it apart
    from the formula without noise, which gives importances to all of them in every draw.
    """
    spread = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        trees = FlatTrees.unsplit(10, 6)
        trees.feature[:], trees.threshold[:] = rng.integers(0, 5, trees.feature.shape), 100
        counts = 200 + np.rint(rng.normal(0, 40, (10, 64, 2))).astype(np.int64)
        spread.append((feature_importances(trees, counts, 5, [40.0] * 10) > 0).mean())
    assert np.mean(spread) < 0.3


def test_without_noise_it_is_the_decrease_of_impurity():
    """Against the definition, on counts so large that chance does not matter."""
    trees = FlatTrees.unsplit(1, 2)
    trees.feature[0], trees.threshold[0] = [0, 1, 2], [5, 5, 5]
    counts = 10**6 * np.array([[[9, 1], [5, 5], [2, 8], [2, 8]]])
    left, right = np.array([14, 6]), np.array([4, 16])

    def purity(k):
        return (k**2).sum() / k.sum()

    root = purity(left) + purity(right) - purity(left + right)
    below = purity(np.array([9, 1])) + purity(np.array([5, 5])) - purity(left)
    found = feature_importances(trees, counts, 3)
    np.testing.assert_allclose(found, np.array([root, below, 0]) / (root + below), atol=1e-5)
