"""Parts of the default forest that are taken out are really out, and only there."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from dpforest import PrivateForestClassifier, PrivateForestRegressor
from dpforest.forests.guided_classification import DEFAULTS
from dpforest.schema import Classes, Numeric, Range, Schema
from tools.ablations import CLASSES, NUMBERS

FEATURES = {f"x{i}": Numeric(0, 1) for i in range(4)}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.random((3000, 4))
    # a sum of all features, at which a tree alone does not do well
    return X, np.digitize(X.sum(axis=1) + 0.2 * rng.normal(size=3000), [1.5, 2.0, 2.5])


def fitted(kind, config, target, X, y, epsilon, seed=0):
    model = kind(epsilon=epsilon, schema=Schema(FEATURES, target), random_state=seed)
    if config is not None:
        model._config = config
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # seeds are meant
        return model.fit(X, y)


def looks(model):
    return [(event.purpose, event.cost) for event in model.ledger_]


@pytest.mark.parametrize("part", CLASSES)
def test_each_part_of_the_classifier_matters(part, rows):
    # several trees need a large budget, and a prior matters where rows tell little, in some fits
    epsilons = {"with one tree": 40.0, "without likely weights": 0.8, "without directions": 0.2}
    epsilon = {**epsilons, "without classes of leaves": 1.0}.get(part, 8.0)
    n_classes = 2 if part == "without directions" else 4

    def fit(seed, config=None):
        X, y = rows
        target = Classes(range(n_classes))
        return fitted(PrivateForestClassifier, config, target, X, y * n_classes // 4, epsilon, seed)

    def matters(seed):
        config = None, CLASSES[part]
        if part in ("without centred scores", "without counting several classes"):  # of levels chosen alone
            config = (replace(each or DEFAULTS, in_pairs=False) for each in config)
        whole, without = (fit(seed, each) for each in config)
        return looks(whole) != looks(without) or not np.array_equal(
            whole.predict_proba(rows[0]), without.predict_proba(rows[0])
        )

    assert any(matters(seed) for seed in range(30))
    np.testing.assert_array_equal(fit(0).predict_proba(rows[0]), fit(0).predict_proba(rows[0]))


@pytest.mark.parametrize("part", NUMBERS)
def test_each_part_of_the_regressor_matters(part, rows):
    X = rows[0]
    whole, without = (
        fitted(PrivateForestRegressor, config, Range(0, 1), X, X[:, 0], 50.0)
        for config in (None, NUMBERS[part])
    )
    assert looks(whole) != looks(without)
