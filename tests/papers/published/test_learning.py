"""Each published form learns what its paper says it learns; bounds are loose, seeds fixed."""

import numpy as np
import pytest

from dpforest.papers.published import (
    dipri_me,
    partitioning_ensemble,
    random_decision_trees,
    smooth_sensitivity_forest,
    transductive_ensemble,
)

CLASSIFIERS = {
    "DiPriMe": lambda *a: dipri_me(*a, epsilon=5.0, variant="uniform", max_depth=6),
    "DiPriMeExp": lambda *a: dipri_me(*a, epsilon=5.0, variant="exponential", max_depth=6),
    "DiPriMeFlip": lambda *a: dipri_me(*a, epsilon=5.0, variant="permute_and_flip", max_depth=6),
    "DiPriMe 2020": lambda *a: dipri_me(*a, epsilon=5.0, version="2020", max_depth=6),
    "DiPriMe all rows": lambda *a: dipri_me(*a, epsilon=50.0, max_depth=6, disjoint=False),
    "smooth": lambda *a: smooth_sensitivity_forest(*a, epsilon=1.0),
    "smooth all rows": lambda *a: smooth_sensitivity_forest(*a, epsilon=5.0, n_trees=20, disjoint=False),
    "random majority": lambda *a: random_decision_trees(*a, epsilon=5.0, n_trees=15, max_depth=7),
    "random threshold": lambda *a: random_decision_trees(
        *a, epsilon=5.0, n_trees=15, max_depth=7, voting="threshold"
    ),
    "partitioning": lambda *a: partitioning_ensemble(*a, epsilon=2.0),
}


@pytest.mark.parametrize("form", CLASSIFIERS)
def test_classes_of_mixed_features(form, mixed_classes, rng):
    X, y, domain = mixed_classes
    votes = CLASSIFIERS[form](X[:5000], y[:5000], domain, rng).votes(X[5000:])
    assert votes.shape == (1000, 3)
    assert votes.dtype == np.float64
    assert (votes.argmax(axis=1) == y[5000:]).mean() >= 0.8


@pytest.mark.parametrize("label_only", [False, True])
@pytest.mark.parametrize("transductive", [False, True])
def test_few_labels_and_many_unlabelled_rows(mixed_classes, rng, label_only, transductive):
    X, y, domain = mixed_classes
    fit = transductive_ensemble if transductive else partitioning_ensemble
    forest = fit(X[:1000], y[:1000], domain, rng, epsilon=2.0, unlabelled=X[1000:5000], label_only=label_only)
    assert (forest.votes(X[5000:]).argmax(axis=1) == y[5000:]).mean() >= 0.8


@pytest.mark.parametrize(
    "fit",
    [
        lambda *a: dipri_me(*a, epsilon=10.0, variant="uniform"),
        lambda *a: dipri_me(*a, epsilon=10.0, variant="exponential"),
        lambda *a: dipri_me(*a, epsilon=10.0, variant="permute_and_flip"),
        lambda *a: dipri_me(*a, epsilon=10.0, version="2020", max_depth=4),
        lambda *a: partitioning_ensemble(*a, epsilon=10.0, max_depth=5),
        lambda *a: partitioning_ensemble(*a, epsilon=10.0, max_depth=5, label_only=True),
        lambda *a: transductive_ensemble(*a, epsilon=10.0, max_depth=5, unlabelled=a[0]),
    ],
)
def test_numeric_targets(fit, step_targets, rng):
    X, y, domain = step_targets
    predicted = fit(X[:5000], y[:5000], domain, rng).votes(X[5000:])
    assert predicted.shape == (1000, 1)
    assert np.mean((predicted[:, 0] - y[5000:]) ** 2) < 0.5 * np.var(y[5000:])


def test_the_same_seed_gives_the_same_forest(mixed_classes):
    X, y, domain = mixed_classes
    for fit in CLASSIFIERS.values():
        votes = [fit(X[:500], y[:500], domain, np.random.default_rng(7)).votes(X[:50]) for _ in range(2)]
        np.testing.assert_array_equal(*votes)
