"""Linear parts of a private model: scores that are sums over features, learnt from released sums.

`standard` brings ordered features to a common scale, `discriminant` makes class scores. Both ask
`dpforest._curator` for sums; everything after that is post-processing. Trees see boxes, a linear part sees
what every feature adds a little to; `dpforest.forests.guided_classification` combines the two.
"""

from dpforest._linear.discriminant import ClassScores, LinearConfig, class_scores, shrunk_counts
from dpforest._linear.standard import ordered_features, units

__all__ = ["ClassScores", "LinearConfig", "class_scores", "ordered_features", "shrunk_counts", "units"]
