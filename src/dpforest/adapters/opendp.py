"""A forest as a measurement of OpenDP, with its privacy map."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from importlib import import_module
from typing import Any

from sklearn.base import clone

from dpforest.forests.base import PrivateForest
from dpforest.privacy import NeighboringRelation, PrivacyError, nobody_pays
from dpforest.privacy.exact import float_at_least

_TABLES = "tables (X, y) for forests of dpforest"


def opendp_domain() -> Any:
    """Return the domain of OpenDP whose members are pairs of features and target, as `fit` takes them."""
    return _opendp().user_domain(_TABLES, lambda data: isinstance(data, tuple) and len(data) == 2)


def opendp_measurement(model: PrivateForest) -> Any:
    """Return a forest as a measurement of OpenDP: it takes a pair (X, y) and releases a fitted model.

    Its privacy map says what k rows cost: k epsilon for pure forests (``max_divergence``), k squared rho for
    those with delta (``zero_concentrated_divergence``, converted by OpenDP as the caller likes); k rows of
    one person count as one where the forest was told that a person has so many. OpenDP's own accountant
    pays; the model says as ever what it spent.

    OpenDP asks for the features ``contrib`` and ``honest-but-curious`` to be enabled, because it cannot check
    the map of a measurement that was made in Python.

    Parameters
    ----------
    model : forest
        Not fitted; with a declared schema.

    Examples
    --------
    >>> import numpy as np
    >>> import opendp.prelude as dp
    >>> from dpforest import PrivateForestClassifier
    >>> from dpforest.adapters import opendp_measurement
    >>> dp.enable_features("contrib", "honest-but-curious")
    >>> forest = PrivateForestClassifier(epsilon=0.5, bounds=(0, 1), classes=[0, 1])
    >>> measurement = opendp_measurement(forest)
    >>> measurement.map(2)
    1.0
    >>> X = np.random.default_rng(0).random((500, 2))
    >>> measurement((X, X[:, 0] > 0.5)).guarantee_.epsilon
    0.5
    """
    dp, plan = _opendp(), model.privacy_plan()
    voids = model._voids()
    if voids or model.as_published:
        raise PrivacyError(f"{type(model).__name__} promises nothing: {'; '.join(voids)}.")
    if plan.relation is NeighboringRelation.LABEL_CHANGE:
        raise PrivacyError("OpenDP has no distance for tables that differ in labels alone.")
    replaced = plan.relation is NeighboringRelation.REPLACE_ONE
    metric = dp.change_one_distance() if replaced else dp.symmetric_distance()
    measure = dp.max_divergence() if plan.currency == "pure" else dp.zero_concentrated_divergence()

    def train(data: tuple[Any, Any]) -> PrivateForest:
        with nobody_pays():  # OpenDP's accountant has paid
            fitted: PrivateForest = clone(model).set_params(accountant=None).fit(*data)
        return fitted

    return dp.m.make_user_measurement(opendp_domain(), metric, measure, train, _map_of(model))


def _map_of(model: PrivateForest) -> Callable[[int], float]:
    cost, rows = model.privacy_plan().cost, model.max_rows_per_person

    def spent(distance: int) -> float:
        persons = -(-int(distance) // rows)  # a change of so many rows is so many persons' at most
        amount: Fraction = cost.rho * persons**2 if cost.epsilon is None else cost.epsilon * persons
        return float_at_least(amount)

    return spent


def _opendp() -> Any:
    try:
        return import_module("opendp.prelude")
    except ImportError as missing:
        raise ImportError("this needs OpenDP: pip install opendp") from missing
