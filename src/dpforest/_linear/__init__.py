"""Linear parts of a private model: scores that are sums over features.

`standard` brings ordered features to a common scale and `basis` makes functions of them. `class_scores` fits
scores of classes to the rows in one question, `additive` a number; `discriminant` makes scores of noisy class
sums, where classes are many and rows few; `directions` chooses among random scores of two classes, where rows
are few. All ask `dpforest._curator`; everything after that is post-processing. Trees see boxes, a linear part
sees what every feature adds a little to; `dpforest.forests.guided_classification` and
`dpforest.forests.guided_regression` combine the two.
"""

from dpforest._linear.additive import (
    AdditiveConfig,
    Basis,
    affordable_basis,
    fit_additive,
    number_can_be_fitted,
    scaling_share,
)
from dpforest._linear.class_scores import LinearConfig, class_scores, classes_can_be_fitted
from dpforest._linear.directions import (
    DirectionConfig,
    Space,
    affordable_directions,
    random_directions,
    refined,
    weighings,
)
from dpforest._linear.discriminant import ClassScores, DiscriminantConfig, discriminant_scores
from dpforest._linear.standard import Standard, ordered_features, standards, units

__all__ = [
    "AdditiveConfig",
    "Basis",
    "ClassScores",
    "DirectionConfig",
    "DiscriminantConfig",
    "LinearConfig",
    "Space",
    "Standard",
    "affordable_basis",
    "affordable_directions",
    "class_scores",
    "classes_can_be_fitted",
    "discriminant_scores",
    "fit_additive",
    "number_can_be_fitted",
    "ordered_features",
    "random_directions",
    "refined",
    "scaling_share",
    "standards",
    "units",
    "weighings",
]
