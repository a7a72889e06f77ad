"""Growing, filling and reading trees: everything between the curator and the estimators.

`growers` asks the curator for splits, `prediction` sends new rows through finished trees, `leaves` turns
released leaf statistics into votes.
"""

from dpforest.trees.growers import grow_greedy, grow_median, grow_random
from dpforest.trees.leaves import class_probabilities, target_means
from dpforest.trees.prediction import sum_leaf_values

__all__ = [
    "class_probabilities",
    "grow_greedy",
    "grow_median",
    "grow_random",
    "sum_leaf_values",
    "target_means",
]
