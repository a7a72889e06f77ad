"""The estimators: one file per paper, on one shared `fit`."""

from dpforest.forests.median import DiPriMeForestClassifier, DiPriMeForestRegressor

__all__ = ["DiPriMeForestClassifier", "DiPriMeForestRegressor"]
