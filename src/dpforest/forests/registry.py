"""The one list of estimators: what can be saved, loaded, named on the command line, checked and audited.

Those of this room are listed here. Other packages, the papers' baselines among them, add theirs by an entry
point of the group ``dpforest.estimators``, whose name is the name of the class:

    [project.entry-points."dpforest.estimators"]
    MyForestClassifier = "my_package.forests:MyForestClassifier"

A name in a model file never becomes an import of anything that is neither here nor declared so by an
installed package.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpforest.forests.base import PrivateForest

GROUP = "dpforest.estimators"
_HERE = {
    "DiPriMeForestClassifier": "median",
    "DiPriMeForestRegressor": "median",
    "PartitioningEnsembleClassifier": "partitioning",
    "PartitioningEnsembleRegressor": "partitioning",
    "PrivateForestClassifier": "guided_classification",
    "PrivateForestRegressor": "guided_regression",
    "RandomDecisionForestClassifier": "random_forest",
    "RandomDecisionTreesClassifier": "random_trees",
    "RandomDecisionTreesRegressor": "random_trees",
    "SemiSupervisedPartitioningEnsembleClassifier": "semi_supervised",
    "TransductivePartitioningEnsembleClassifier": "semi_supervised",
}


class Estimators(Mapping[str, "type[PrivateForest]"]):
    """The classes by name, each imported when it is asked for."""

    @cached_property
    def _elsewhere(self) -> dict[str, EntryPoint]:
        return {point.name: point for point in entry_points(group=GROUP) if point.name not in _HERE}

    def __getitem__(self, name: str) -> type[PrivateForest]:
        if name in _HERE:
            found: type[PrivateForest] = getattr(import_module(f"dpforest.forests.{_HERE[name]}"), name)
            return found
        loaded: type[PrivateForest] = self._elsewhere[name].load()
        return loaded

    def __iter__(self) -> Iterator[str]:
        yield from _HERE
        yield from self._elsewhere

    def __len__(self) -> int:
        return len(_HERE) + len(self._elsewhere)


ESTIMATORS = Estimators()
"""Every estimator that is known."""
