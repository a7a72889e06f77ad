"""A small table and an experiment on it, so that nothing here needs a dataset."""

import numpy as np
import pytest

from dpforest.papers.datasets import DatasetNotFoundError
from dpforest.papers.experiments import Experiment, Paper
from dpforest.schema import Schema

N_ROWS = 200


def loader():
    """Return a function made here: it travels to other processes as a whole, which need no `tests` folder."""

    def load(name):
        if name == "nowhere":
            raise DatasetNotFoundError("nowhere is not here: make it up.")
        rng = np.random.default_rng(len(name))
        X = rng.random((N_ROWS, 2))
        if name == "numbers":
            return X, 10 * X[:, 0], Schema.from_bounds((0, 1), n_features=2, target_range=(0, 20))
        return X, (X[:, 0] > 0.5).astype(int), Schema.from_bounds((0, 1), n_features=2, classes=[0, 1])

    return load


load = loader()


def dice_factory():
    """Return a factory of estimators that predict coins thrown with their seed; light to import, to send."""

    def make(*, seed, **_):
        class Dice:
            def fit(self, X, y):
                return self

            def predict(self, X):
                return np.random.default_rng(seed).integers(0, 2, len(X))

        return Dice()

    return make


dice = dice_factory()


def experiment(**changes):
    facts = {
        "name": "999-table1",
        "title": "An example",
        "paper": Paper("Nobody", 2024, "Table 1"),
        "task": "classification",
        "metric": "accuracy",
        "datasets": ("first", "second"),
        "methods": ("Majority class", "CART"),
        "epsilons": (1.0,),
        "repeats": 2,
    }
    return Experiment(**{**facts, **changes})


@pytest.fixture
def tiny():
    return experiment()
