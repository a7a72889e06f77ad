"""Growing, filling and reading trees: everything between the curator and the estimators.

`growers` asks the curator for splits, `prediction` sends new rows through finished trees, `leaves` turns
released leaf statistics into votes, `pruning` and `prunings` take noise out of them, `naming` reads classes
that were chosen for leaves, `explaining` takes predictions apart.
"""

from dpforest._trees.explaining import Explanation, explain
from dpforest._trees.growers import (
    CENTRED,
    LEAST_FOR_PAIRS,
    ROOT_TWO,
    Grown,
    Rivals,
    geometric_shares,
    grow_best_median,
    grow_greedy,
    grow_guided,
    grow_guided_or_part,
    grow_median,
    grow_multiway,
    grow_public_median,
    grow_random,
    guided_shares,
    levels_in_pairs,
)
from dpforest._trees.importance import as_shares, explained_squares, feature_importances
from dpforest._trees.leaves import (
    class_probabilities,
    class_shares,
    label_votes,
    majority_votes,
    target_means,
)
from dpforest._trees.naming import named_shares, with_names
from dpforest._trees.prediction import cells_for, find_leaves, sum_leaf_values
from dpforest._trees.pruning import prune_by_errors, prune_by_gini, reachable_leaves
from dpforest._trees.prunings import PruningConfig, Prunings, mix_prunings

__all__ = [
    "CENTRED",
    "LEAST_FOR_PAIRS",
    "ROOT_TWO",
    "Explanation",
    "Grown",
    "PruningConfig",
    "Prunings",
    "Rivals",
    "as_shares",
    "cells_for",
    "class_probabilities",
    "class_shares",
    "explain",
    "explained_squares",
    "feature_importances",
    "find_leaves",
    "geometric_shares",
    "grow_best_median",
    "grow_greedy",
    "grow_guided",
    "grow_guided_or_part",
    "grow_median",
    "grow_multiway",
    "grow_public_median",
    "grow_random",
    "guided_shares",
    "label_votes",
    "levels_in_pairs",
    "majority_votes",
    "mix_prunings",
    "named_shares",
    "prune_by_errors",
    "prune_by_gini",
    "reachable_leaves",
    "sum_leaf_values",
    "target_means",
    "with_names",
]
