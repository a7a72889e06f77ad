"""Differentially private tree ensembles with guarantees that hold.

Estimators are here; what is public about a table is declared with `dpforest.schema`, budgets live in
`dpforest.privacy`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dpforest._compiled_code import provide_cache

if TYPE_CHECKING:
    from dpforest.estimates import estimate_schema, private_score
    from dpforest.forests import (
        DiPriMeForestClassifier,
        DiPriMeForestRegressor,
        PartitioningEnsembleClassifier,
        PartitioningEnsembleRegressor,
        PrivateForestClassifier,
        PrivateForestRegressor,
        RandomDecisionForestClassifier,
        RandomDecisionTreesClassifier,
        RandomDecisionTreesRegressor,
        SemiSupervisedPartitioningEnsembleClassifier,
        TransductivePartitioningEnsembleClassifier,
        load,
    )
    from dpforest.search import PrivateSearchCV, simulate

__version__ = "0.1.0"

__all__ = [
    "DiPriMeForestClassifier",
    "DiPriMeForestRegressor",
    "PartitioningEnsembleClassifier",
    "PartitioningEnsembleRegressor",
    "PrivateForestClassifier",
    "PrivateForestRegressor",
    "PrivateSearchCV",
    "RandomDecisionForestClassifier",
    "RandomDecisionTreesClassifier",
    "RandomDecisionTreesRegressor",
    "SemiSupervisedPartitioningEnsembleClassifier",
    "TransductivePartitioningEnsembleClassifier",
    "__version__",
    "estimate_schema",
    "load",
    "private_score",
    "simulate",
]
_ELSEWHERE = {
    "estimate_schema": "estimates",
    "private_score": "estimates",
    "PrivateSearchCV": "search",
    "simulate": "search",
}

provide_cache()


def __getattr__(name: str) -> Any:
    """Load estimators on first use: scikit-learn, and pandas with it, take a second to import."""
    if name in __all__:
        return getattr(import_module(f"dpforest.{_ELSEWHERE.get(name, 'forests')}"), name)
    raise AttributeError(f"module 'dpforest' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
