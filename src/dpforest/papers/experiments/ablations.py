"""The default forest with one of its parts taken out, as methods of their own.

A part is taken out by another value of a constant or function of its module, for the time of `fit`. Parts are
not parameters of the estimator, because nobody should have to choose them. Importing `systems` registers
these methods; `tables/default_forest.py` names them.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from fractions import Fraction
from functools import reduce
from importlib import import_module
from typing import Any, Self
from unittest.mock import patch

import numpy as np

from dpforest.forests.guided_classification import classes_to_count
from dpforest.papers.experiments.methods import Factory, MethodNotAvailableError, register
from dpforest.schema import Schema

CLASSES, NUMBERS = "dpforest.forests.guided_classification", "dpforest.forests.guided_regression"
LINEAR, GROWERS = "dpforest._linear.discriminant", "dpforest._trees.growers"
NEVER = float("inf")

Change = tuple[str, str, Any]  # module, name or Class.name, value


def _nothing(*_: Any) -> Fraction:
    return Fraction(0)


def _everything(*_: Any) -> Fraction:
    return Fraction(1)


def _mostly_linear(*_: Any) -> Fraction:
    return Fraction(93, 100)


def _one_class(depth: int, shares: Any, enough_per_class: float) -> list[int]:
    """Scores of all levels as if there were two classes."""
    return classes_to_count(depth, np.array([0.5, 0.5]), enough_per_class)


def _unshrunk(counts: Any, noise_sd: float, prior: Any) -> Any:
    """Class shares of leaves as they were released."""
    positive = counts.clip(0) + 1e-3 * prior
    return positive / positive.sum(axis=1, keepdims=True)


CLASSIFICATION: dict[str, list[Change]] = {
    "without the linear part": [(CLASSES, "PrivateForestClassifier._linear_share", _nothing)],
    "without the tree": [
        (CLASSES, "PrivateForestClassifier._linear_share", _mostly_linear),
        (CLASSES, "guided_depth", lambda *_: 0),
    ],
    "without the covariance": [(LINEAR, "LOUDEST_COVARIANCE", 0.0)],
    "without squares": [(LINEAR, "ENOUGH_FOR_SQUARES", NEVER)],
    "without sums of two features": [(CLASSES, "COMBINATIONS", 0)],
    "without centred scores": [(CLASSES, "ENOUGH_FOR_CENTRES", NEVER)],
    "without counting several classes": [(CLASSES, "classes_to_count", _one_class)],
    "without a choice of weights": [
        (CLASSES, "FEW_WEIGHTS", [(1.0, 0.5)]),
        (CLASSES, "ENOUGH_TO_CHOOSE", NEVER),
    ],
    "without asking whether the tree will do": [(CLASSES, "DEEP_ENOUGH_TO_TELL", NEVER)],
    "without growing level shares": [(GROWERS, "ROOT_TWO", Fraction(1))],
    "without shrinkage": [(CLASSES, "shrunk_shares", _unshrunk)],
}
REGRESSION: dict[str, list[Change]] = {
    "without clip bounds": [(NUMBERS, "_least_to_clip", _everything)],
    "with one tree": [(NUMBERS, "ENOUGH_TO_BOOST", NEVER)],
}


class Ablated:
    """The default estimator with some names of its modules changed during `fit`."""

    def __init__(self, model: Any, changes: list[Change]) -> None:
        self.model, self.changes = model, changes

    def fit(self, X: Any, y: Any) -> Self:
        """Train without the part."""
        with ExitStack() as stack:
            for module, path, value in self.changes:
                *owners, name = path.split(".")
                owner = reduce(getattr, owners, import_module(module))
                stack.enter_context(patch.object(owner, name, value))
            self.model.fit(X, y)
        return self

    def __getattr__(self, name: str) -> Any:
        """Everything else is the model's."""
        return getattr(self.model, name)


def register_all() -> None:
    """Register one method for each part."""
    for name in (*CLASSIFICATION, *REGRESSION):
        register(f"dpforest {name}", _factory(name), about=f"the default forest {name}")


def _factory(name: str) -> Factory:
    def make(*, task: str, schema: Schema, epsilon: float, seed: int, parameters: Mapping[str, Any]) -> Any:
        from dpforest import forests

        parts = CLASSIFICATION if task == "classification" else REGRESSION
        if name not in parts:
            raise MethodNotAvailableError(f"there is no form for {task}.")
        kind = "Classifier" if task == "classification" else "Regressor"
        estimator = getattr(forests, f"PrivateForest{kind}")
        return Ablated(estimator(epsilon=epsilon, schema=schema, random_state=seed), parts[name])

    return make
