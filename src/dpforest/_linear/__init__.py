"""Linear parts of a private model: scores that are sums over features, fitted or learnt from released sums.

`standard` brings ordered features to a common scale and `basis` makes functions of them; `class_scores` fits
scores of classes, `additive` a number; `discriminant` makes scores of sums by class. All ask
`dpforest._curator`; everything after that is post-processing. Trees see boxes, a linear part sees what every
feature adds a little to; `dpforest.forests.guided_classification` and `dpforest.forests.guided_regression`
combine the two.
"""

from dpforest._linear.additive import (
    AdditiveConfig,
    Basis,
    affordable_basis,
    can_be_fitted,
    fit_additive,
    scaling_share,
)
from dpforest._linear.class_scores import LinearConfig, class_scores
from dpforest._linear.discriminant import ClassScores, DiscriminantConfig, discriminant_scores
from dpforest._linear.standard import ordered_features, units

__all__ = [
    "AdditiveConfig",
    "Basis",
    "ClassScores",
    "DiscriminantConfig",
    "LinearConfig",
    "affordable_basis",
    "can_be_fitted",
    "class_scores",
    "discriminant_scores",
    "fit_additive",
    "ordered_features",
    "scaling_share",
    "units",
]
