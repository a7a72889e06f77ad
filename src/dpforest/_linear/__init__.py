"""Linear parts of a private model: scores that are sums over features, fitted or learnt from released sums.

`standard` brings ordered features to a common scale; `class_scores` fits those of classes; `additive` follows a
number, and `weights` says how much of what it found is to count. All ask `dpforest._curator` for sums;
everything after that is post-processing. Trees see boxes, a linear part sees what every feature adds a little
to; `dpforest.forests.guided_classification` and `dpforest.forests.guided_regression` combine the two.
"""

from dpforest._linear.additive import (
    AdditiveConfig,
    Basis,
    Centre,
    affordable_basis,
    can_be_fitted,
    fit_additive,
)
from dpforest._linear.class_scores import LinearConfig, class_scores
from dpforest._linear.discriminant import ClassScores, DiscriminantConfig, discriminant_scores
from dpforest._linear.standard import ordered_features, units
from dpforest._linear.weights import Weighed, weigh_parts

__all__ = [
    "AdditiveConfig",
    "Basis",
    "Centre",
    "ClassScores",
    "DiscriminantConfig",
    "LinearConfig",
    "Weighed",
    "affordable_basis",
    "can_be_fitted",
    "class_scores",
    "discriminant_scores",
    "fit_additive",
    "ordered_features",
    "units",
    "weigh_parts",
]
