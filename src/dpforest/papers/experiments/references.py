"""References without privacy: scikit-learn's forests and trees, `rpart`, the majority class and the mean.

`systems` registers them. They see the same columns as the private methods, and nominal ones as codes, which
is how the figures of the papers' random forests come out: indicators would crowd the K features of a node.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dpforest.papers.experiments.methods import Factory, register
from dpforest.papers.experiments.rpart import make_rpart
from dpforest.papers.published import raw_matrix
from dpforest.schema import Schema


class OnPlainNumbers:
    """A scikit-learn estimator on a table that only a schema can read.

    Parameters
    ----------
    estimator : estimator
        Fitted to numbers.
    schema : Schema
        How to read the table.
    """

    def __init__(self, estimator: Any, schema: Schema) -> None:
        self.estimator, self.schema = estimator, schema

    def fit(self, X: Any, y: Any) -> Self:
        """Fit to the table as numbers."""
        numbers = raw_matrix(X, self.schema)
        wanted = getattr(self.estimator, "max_features", None)
        if isinstance(wanted, int):
            self.estimator.set_params(max_features=min(wanted, numbers.shape[1]))
        self.estimator.fit(numbers, np.asarray(y))
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict rows."""
        return np.asarray(self.estimator.predict(raw_matrix(X, self.schema)))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Class probabilities of rows."""
        return np.asarray(self.estimator.predict_proba(raw_matrix(X, self.schema)))

    @property
    def classes_(self) -> NDArray[Any]:
        """Classes in the order of `predict_proba`."""
        return np.asarray(self.estimator.classes_)


def reference(module: str, classifier: str, regressor: str, **fixed: Any) -> Factory:
    """Return a factory for estimators of scikit-learn.

    Parameters
    ----------
    module : str
        Module of scikit-learn.
    classifier, regressor : str
        Names of the classes for the two tasks.
    **fixed
        Parameters that make the method what it is.
    """

    def make(*, task: str, schema: Schema, epsilon: float, seed: int, parameters: Mapping[str, Any]) -> Any:
        cls = getattr(import_module(module), classifier if task == "classification" else regressor)
        known = cls().get_params()
        taken = {key: value for key, value in {**parameters, **fixed}.items() if key in known}
        if "random_state" in known:
            taken["random_state"] = seed
        return OnPlainNumbers(cls(**taken), schema)

    return make


def register_all() -> None:
    """Register the references."""
    ensemble, forest = "sklearn.ensemble", ("RandomForestClassifier", "RandomForestRegressor")
    tree = ("DecisionTreeClassifier", "DecisionTreeRegressor")
    facts: dict[str, Any] = {"private": False}
    register("RF", reference(ensemble, *forest), about="random forest, Breiman 2001", **facts)
    register(
        "ERT",
        reference(ensemble, "ExtraTreesClassifier", "ExtraTreesRegressor"),
        about="extremely randomised trees, Geurts, Ernst and Wehenkel 2006",
        **facts,
    )
    register("CART", reference("sklearn.tree", *tree), about="one tree, Breiman et al. 1984", **facts)
    register("rpart", make_rpart, about="one tree, grown and pruned as R's rpart does by default", **facts)
    register(
        "Majority class",
        reference("sklearn.dummy", "DummyClassifier", "DummyRegressor"),
        about="always the most common class of the training rows (regression: their mean)",
        **facts,
    )
