"""The papers' results against the library's own splits, labels and leaves, thousands of nodes at a time.

Every statistical assertion allows six standard deviations of a proportion or mean: false alarms below 1e-8.
"""

from fractions import Fraction

import numpy as np
import pytest

import dpforest
from dpforest._curator import EXPONENTIAL, PERMUTE_AND_FLIP, Curator, PrivateTable
from dpforest._structure import FlatTrees
from dpforest._trees import grow_median, grow_random
from dpforest.mechanisms import RandomWords
from dpforest.papers.theory.median_splits import balanced_split_probability, random_split_balance_probability
from dpforest.papers.theory.noise import soft_histogram_variance
from dpforest.papers.theory.partitioning import level_budgets
from dpforest.papers.theory.private_random_trees import laplace_scale
from dpforest.papers.theory.smooth_sensitivity import label_probabilities
from dpforest.privacy import BudgetPlan
from dpforest.schema import Schema

DRAWS = 20_000
# 42 cells between two records of Theorem 3: what the grid moves is a fortieth of what is allowed
UNIT = Schema.from_bounds((0, 1), n_features=1, bins=4096, classes=[0, 1])


def curator(X, y, epsilon, schema=UNIT, seed=0):
    plan = BudgetPlan.divide(Fraction(epsilon) * DRAWS, 0, {"all": 1})
    return Curator(PrivateTable(X, y, schema), plan, RandomWords.seeded(seed))


def smaller_side(trees, X, schema=UNIT):
    """Records on the smaller side of each root split."""
    left = (schema.encode_features(X)[:, 0][:, None] <= trees.threshold[:, 0]).sum(axis=0)
    return np.minimum(left, len(X) - left)


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2)])
def test_private_medians_are_as_balanced_as_theorem_3_says(epsilon):
    """Consul and Williamson 2021, Theorem 3 and Corollary 3.1, on 40 records in the middle of the range."""
    X, t = np.linspace(0.3, 0.7, 40)[:, None], 10
    spread = X[-t - 1, 0] - X[t, 0]  # of the centremost 20
    with curator(X, np.zeros(40), epsilon) as guard:
        medians = grow_median(guard, "all", DRAWS, 1)
        anywhere = grow_random(guard, DRAWS, 1)
    balanced = (smaller_side(medians, X) > t).mean()
    assert balanced >= balanced_split_probability(spread, 1.0, float(epsilon)) - 6 * 0.5 / np.sqrt(DRAWS)
    random = (smaller_side(anywhere, X) > t).mean()
    assert random == pytest.approx(
        random_split_balance_probability(spread, 1.0), abs=6 * 0.5 / np.sqrt(DRAWS)
    )
    assert balanced > random


@pytest.mark.parametrize(
    ("mechanism", "name"), [(EXPONENTIAL, "exponential"), (PERMUTE_AND_FLIP, "permute_and_flip")]
)
def test_leaf_labels_follow_the_addendum(mechanism, name):
    """Fletcher and Islam 2021: the probabilities of Table 6 are what leaves really release."""
    counts, epsilon = (5, 10), Fraction(1, 10)
    y = np.repeat([0, 1], counts)
    with curator(np.full((15, 1), 0.5), y, epsilon) as guard:
        labels = guard.leaf_labels("all", FlatTrees.unsplit(DRAWS, 0), mechanism=mechanism)[:, 0]
    expected = label_probabilities(counts, float(epsilon), name)[1]
    assert (labels == 1).mean() == pytest.approx(expected, abs=6 * 0.5 / np.sqrt(DRAWS))


def test_random_trees_carry_the_noise_of_section_5():
    """Bojarski et al. 2014: scale k / epsilon on every count, standard deviation sqrt(2) times that."""
    X = np.random.default_rng(0).random((200, 2))
    model = dpforest.RandomDecisionTreesClassifier(
        21, epsilon=0.3, max_depth=2, bounds=(0, 1), classes=[0, 1]
    )
    sd = model.fit(X, np.zeros(200)).noise_scales_["leaf class counts"]["noise_sd"]
    assert sd == pytest.approx(np.sqrt(2) * laplace_scale(21, 0.3), rel=1e-3)


def test_partitioning_budgets_are_those_of_equation_7():
    X = np.random.default_rng(0).random((200, 2))
    model = dpforest.PartitioningEnsembleClassifier(epsilon=3.0, max_depth=6, bounds=(0, 1), classes=[0, 1])
    spent = [e.parameters["epsilon"] for e in model.fit(X, np.zeros(200)).ledger_ if "medians" in e.purpose]
    assert spent == pytest.approx(list(level_budgets(1.5, 6)))


def test_soft_leaves_have_the_variance_of_the_theory():
    """Half that of a noisy sum and a noisy count at half the budget each."""
    schema = Schema.from_bounds((0, 1), n_features=1, target_range=(0, 1))
    y = np.full(400, 0.75)
    with curator(np.full((400, 1), 0.5), y, Fraction(1, 2), schema) as guard:
        sums = guard.leaf_soft_histograms("all", FlatTrees.unsplit(DRAWS, 0)).values[:, 0].astype(float)
    means = sums[:, 0] / sums.sum(axis=1)
    expected = soft_histogram_variance(400, 0.75, 0.5)
    # the sample variance of a heavy-tailed law: its own deviation is about 3 % here
    assert means.var() == pytest.approx(expected, rel=0.2)
