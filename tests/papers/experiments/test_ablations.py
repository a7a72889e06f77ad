"""Parts of the default forest that are taken out are really out, and only there."""

import warnings

import numpy as np
import pytest

from dpforest.papers.experiments.ablations import CLASSIFICATION, REGRESSION
from dpforest.papers.experiments.methods import find
from dpforest.schema import Classes, Numeric, Range, Schema

FEATURES = {f"x{i}": Numeric(0, 1) for i in range(4)}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.random((3000, 4))
    # a sum of all features, at which a tree alone does not do well
    return X, np.digitize(X.sum(axis=1) + 0.2 * rng.normal(size=3000), [1.5, 2.0, 2.5])


def fitted(name, task, schema, X, y, epsilon=8.0):
    model = find(name).factory(task=task, schema=schema, epsilon=epsilon, seed=0, parameters={})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # seeds are meant
        return model.fit(X, y)


def looks(model):
    return [(event.purpose, event.cost) for event in model.ledger_]


@pytest.mark.parametrize("part", CLASSIFICATION)
def test_each_part_of_the_classifier_matters(part, rows):
    schema = Schema(FEATURES, Classes([0, 1, 2, 3]))
    whole = fitted("dpforest", "classification", schema, *rows)
    without = fitted(f"dpforest {part}", "classification", schema, *rows)
    asked_otherwise = looks(whole) != looks(without)
    decided_otherwise = not np.array_equal(whole.predict_proba(rows[0]), without.predict_proba(rows[0]))
    assert asked_otherwise or decided_otherwise
    again = fitted("dpforest", "classification", schema, *rows)
    np.testing.assert_array_equal(again.predict_proba(rows[0]), whole.predict_proba(rows[0]))


@pytest.mark.parametrize("part", REGRESSION)
def test_each_part_of_the_regressor_matters(part, rows):
    X = rows[0]
    schema = Schema(FEATURES, Range(0, 1))
    whole = fitted("dpforest", "regression", schema, X, X[:, 0], epsilon=50.0)
    without = fitted(f"dpforest {part}", "regression", schema, X, X[:, 0], epsilon=50.0)
    assert looks(whole) != looks(without)
