"""Every estimator of this library, with every option that changes what is asked of private rows.

`make audit` runs the statistical auditor over this list. New estimators join it by themselves with their
defaults; their options are added to `OPTIONS`. All are small: one level, a coarse grid, and one tree, or two
where the division of rows among trees is in question. Fits then take milliseconds, and one row matters as
much as it ever can.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar

from dpforest import forests
from dpforest._curator import Curator
from dpforest.forests.guided_classification import DEFAULTS, LinearPart
from dpforest.forests.guided_config import ClassConfig
from dpforest.forests.registry import ESTIMATORS
from dpforest.privacy import NeighboringRelation
from dpforest.schema import Classes, Feature, Nominal, Numeric, Range, Schema

# a smaller loss drowns in chance, and the outcomes that show a larger one are too rare for some thousand runs
EPSILON = 2.0
FEATURES: dict[str, Feature] = {"age": Numeric(0, 8, bins=4), "ward": Nominal(["a", "b"])}
CLASSIFY, REGRESS = Schema(FEATURES, Classes(["died", "home"])), Schema(FEATURES, Range(0, 1))
THREE_CLASSES = Schema(FEATURES, Classes(["died", "home", "moved"]))


class LinearPartForestClassifier(forests.PrivateForestClassifier):
    """The default forest with its linear part even where there are too few rows for it."""

    def _linear_part(self, *_: Any) -> LinearPart:
        return LinearPart(Fraction(2, 5))

    def _n_directions(self, *_: Any) -> int:
        return 0


class DiscriminantForestClassifier(LinearPartForestClassifier):
    """The same with means by class in place of fitted weights, as where classes are many."""

    def _linear_part(self, *_: Any) -> LinearPart:
        return LinearPart(DEFAULTS.beside_many, True)


class DirectionForestClassifier(forests.PrivateForestClassifier):
    """The default forest with few directions, one of which nearly always wins against the tree."""

    _config: ClassVar[ClassConfig] = replace(DEFAULTS, odds_of_directions=1e12)

    def _n_directions(self, curator: Curator, *_: Any) -> int:
        return 8 if curator.schema.classes.n_classes == 2 else 0

    def _n_trees(self) -> int:
        return 1


class NoTreeForestClassifier(DirectionForestClassifier):
    """The same where a direction that wins leaves all to fitted weights."""

    _config: ClassVar[ClassConfig] = replace(DirectionForestClassifier._config, enough_beyond_directions=0.0)

    def _linear_part(self, *_: Any) -> LinearPart:
        return LinearPart(Fraction(2, 5))


SPECIAL: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        LinearPartForestClassifier,
        DiscriminantForestClassifier,
        DirectionForestClassifier,
        NoTreeForestClassifier,
    )
}

# what every estimator can be asked for; without splits the leaves get the whole budget, and flaws show most
PROMISES: dict[str, dict[str, Any]] = {
    "leaves alone": {"max_depth": 0},
    "leaves alone, delta": {"max_depth": 0, "delta": 1e-6},
    "leaves alone, replace one": {"max_depth": 0, "neighboring": "replace_one"},
    "leaves alone, two rows per person": {"max_depth": 0, "max_rows_per_person": 2},
}

OPTIONS: dict[str, dict[str, dict[str, Any]]] = {
    "PrivateForestClassifier": {
        "two trees": {"n_estimators": 2},
        "noisy depth": {"max_depth": None},
        "boosted": {"delta": 1e-6, "n_estimators": 2},
        "boosted, three classes": {"delta": 1e-6, "schema": THREE_CLASSES},
    },
    "DiscriminantForestClassifier": {"three classes": {"schema": THREE_CLASSES}},
    "PrivateForestRegressor": {
        "two trees": {"n_estimators": 2},
        "boosted": {"delta": 1e-6, "n_estimators": 2},
    },
    "DiPriMeForestClassifier": {
        "two trees": {"n_estimators": 2},
        "exponential": {"variant": "exponential"},
        "permute and flip": {"variant": "permute_and_flip"},
        "all rows in all trees": {"disjoint": False, "n_estimators": 2},
        "noisy depth": {"max_depth": None, "expected_leaf_rows": 1.0},
    },
    "DiPriMeForestRegressor": {
        "exponential": {"variant": "exponential"},
        "permute and flip": {"variant": "permute_and_flip"},
    },
    "RandomDecisionForestClassifier": {
        "two trees": {"n_estimators": 2},
        "exponential": {"label_mechanism": "exponential"},
        "all rows in all trees": {"disjoint": False, "n_estimators": 2},
    },
    "RandomDecisionTreesClassifier": {
        "two trees": {"n_estimators": 2},
        "majority": {"voting": "majority"},
        "probabilistic": {"voting": "probabilistic"},
        "noisy number of trees": {"n_estimators": "log", "max_depth": None},
    },
    "PartitioningEnsembleClassifier": {"two trees": {"n_estimators": 2}, "noisy depth": {"max_depth": None}},
    "SemiSupervisedPartitioningEnsembleClassifier": {
        "two trees": {"n_estimators": 2},
        "persons in both": {"persons_in_both": True},
        "label privacy": {"feature_privacy": False},
        "label privacy, three classes": {"feature_privacy": False, "schema": THREE_CLASSES},
    },
    "TransductivePartitioningEnsembleClassifier": {
        "two trees": {"n_estimators": 2},
        "three classes": {"schema": THREE_CLASSES},
    },
    "FriedmanSchusterTreeClassifier": {
        "gini": {"criterion": "gini"},
        "information gain": {"criterion": "information_gain"},
        "two levels": {"max_depth": 2},
    },
    "PatilSinghForestClassifier": {
        "two trees": {"n_estimators": 2},
        "information gain": {"criterion": "information_gain"},
    },
    "FletcherIslamForestClassifier": {"two trees": {"n_estimators": 2}, "noisy depth": {"max_depth": None}},
    "RanaForestClassifier": {"two trees": {"n_estimators": 2}},
    "MaxTreeClassifier": {"two trees": {"n_estimators": 2}, "noisy depth": {"max_depth": None}},
    "XinForestClassifier": {"two trees": {"n_estimators": 2}},
    "JPWForestClassifier": {"two trees": {"n_estimators": 2}, "noisy depth": {"max_depth": None}},
    "SemiSupervisedRDTClassifier": {
        "two trees": {"n_estimators": 2, "min_labels": 1.0},
        "three classes": {"schema": THREE_CLASSES},
    },
    "TransductiveOutputPerturbationClassifier": {
        "all cells": {"max_depth": None, "n_neighbors": 1},
        "three classes": {"schema": THREE_CLASSES},
    },
}


def every_estimator(epsilon: float = EPSILON) -> dict[str, Any]:
    """Return small instances of all estimators and options, by name.

    Parameters
    ----------
    epsilon : float, default=2.0
        What all of them promise.

    Returns
    -------
    dict of str to estimator

    Examples
    --------
    >>> subjects = every_estimator()
    >>> subjects["DiPriMeForestClassifier, exponential"].variant
    'exponential'
    """
    found = {}
    for name, estimator in {**ESTIMATORS, **SPECIAL}.items():
        schema = REGRESS if "Regressor" in name else CLASSIFY
        depth = 2 if issubclass(estimator, DirectionForestClassifier) else 1
        small = {"epsilon": epsilon, "n_estimators": 1, "max_depth": depth, "schema": schema}
        if "n_second" in estimator().get_params():
            small["n_second"] = 1
        found[name] = estimator(**small)
        # special ones are ways through an estimator that is here itself; replays see them with all promises
        options = ({} if name in SPECIAL else PROMISES) | OPTIONS.get(name, {})
        if "split_share" in estimator().get_params():
            options |= {"mostly splits": {"split_share": 0.9}}
        for option, changes in options.items():
            subject = estimator(**(small | changes))
            if not ("neighboring" in changes and _protects_labels_only(subject)):
                found[f"{name}, {option}"] = subject
    return found


def _protects_labels_only(subject: Any) -> bool:
    """Tell whether `neighboring` has no meaning."""
    return bool(subject.privacy_plan().relation is NeighboringRelation.LABEL_CHANGE)
