"""The estimators: one file per idea, on one shared `fit`.

`guided` is the default. The papers: `median` (Consul and Williamson 2020, 2021), `random_forest` (Fletcher
and Islam 2017), `random_trees` (Bojarski et al. 2014), `partitioning` and `semi_supervised` (Huang, Lei and
Kaban 2022).
"""

from dpforest.forests.guided_classification import PrivateForestClassifier
from dpforest.forests.guided_regression import PrivateForestRegressor
from dpforest.forests.median import DiPriMeForestClassifier, DiPriMeForestRegressor
from dpforest.forests.partitioning import PartitioningEnsembleClassifier, PartitioningEnsembleRegressor
from dpforest.forests.random_forest import RandomDecisionForestClassifier
from dpforest.forests.random_trees import RandomDecisionTreesClassifier, RandomDecisionTreesRegressor
from dpforest.forests.saved import load
from dpforest.forests.semi_supervised import (
    SemiSupervisedPartitioningEnsembleClassifier,
    TransductivePartitioningEnsembleClassifier,
)

__all__ = [
    "DiPriMeForestClassifier",
    "DiPriMeForestRegressor",
    "PartitioningEnsembleClassifier",
    "PartitioningEnsembleRegressor",
    "PrivateForestClassifier",
    "PrivateForestRegressor",
    "RandomDecisionForestClassifier",
    "RandomDecisionTreesClassifier",
    "RandomDecisionTreesRegressor",
    "SemiSupervisedPartitioningEnsembleClassifier",
    "TransductivePartitioningEnsembleClassifier",
    "load",
]
