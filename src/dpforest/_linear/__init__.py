"""Linear parts of a private model: scores that are sums over features.

`standard` brings ordered features to a common scale. `class_scores` fits scores of classes to the rows in one
question, `discriminant` makes them of noisy class sums where classes are many and rows few; `additive`
follows a number, and `weights` says how much of what it found is to count. All ask `dpforest._curator`;
everything after that is post-processing. Trees see boxes, a linear part sees what every feature adds a little
to; `dpforest.forests.guided_classification` and `dpforest.forests.guided_regression` combine the two.
"""

from dpforest._linear.additive import AdditiveConfig, Centre, Features, additive_parts, target_units
from dpforest._linear.class_scores import LinearConfig, can_be_fitted, class_scores
from dpforest._linear.discriminant import ClassScores, DiscriminantConfig, discriminant_scores
from dpforest._linear.standard import ordered_features, units
from dpforest._linear.weights import Weighed, weigh_parts

__all__ = [
    "AdditiveConfig",
    "Centre",
    "ClassScores",
    "DiscriminantConfig",
    "Features",
    "LinearConfig",
    "Weighed",
    "additive_parts",
    "can_be_fitted",
    "class_scores",
    "discriminant_scores",
    "ordered_features",
    "target_units",
    "units",
    "weigh_parts",
]
