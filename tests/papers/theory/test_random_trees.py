"""Bojarski et al. (2014), Theorems 5.1 to 5.5: 64 trees that can be averaged exactly and drawn from.

Counterexamples to the printed statements stand beside the tests of the corrected ones.
"""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom

from dpforest.papers.theory import random_trees as rt

# All trees of height 2 on four binary attributes: root, left, right. LEAF[tree, x] is the leaf of point x.
POINTS = np.array(list(itertools.product((0, 1), repeat=4)))
TREES = np.array(list(itertools.product(range(4), repeat=3)))
SIDE = POINTS[:, TREES[:, 0]].T
LEAF = 2 * SIDE + np.where(SIDE == 0, POINTS[:, TREES[:, 1]].T, POINTS[:, TREES[:, 2]].T)
RULES = ("majority", "threshold", "probability")


def world(rng, flip):
    """Joint probabilities of (point, label): every attribute copies the label up to flips, unevenly."""
    prior = rng.uniform(0.3, 0.7)
    flips = rng.uniform(0.2, 1.0, 4) * flip
    agree = np.stack([label == POINTS for label in (0, 1)], axis=1)
    likelihood = np.where(agree, 1 - flips, flips).prod(axis=2)
    return likelihood * np.array([1 - prior, prior])


def leaf_counts(table):
    """Class counts [tree, leaf, label] of a count table [point, label]."""
    counts = np.zeros((len(TREES), 4, 2))
    for leaf in range(4):
        counts[:, leaf] = (leaf == LEAF).astype(float) @ table
    return counts


def positive_shares(counts):
    """Share of label 1 at every [tree, point]; an empty leaf says 1/2."""
    total = counts.sum(axis=2)
    share = np.divide(counts[:, :, 1], total, out=np.full(total.shape, 0.5), where=total > 0)
    return np.take_along_axis(share, LEAF, axis=1)


def own_shares(shares):
    """Share of the record's own label, [tree, point, label]."""
    return np.stack([1 - shares, shares], axis=2)


def forest_error(shares, table, voting, rng):
    """Fraction of the table misclassified by the trees given as rows of shares [k, point]."""
    if voting == "majority":
        positive = ((shares > 0.5).mean(axis=0) > 0.5).astype(float)
    else:
        average = shares.mean(axis=0)
        positive = (average > 0.5).astype(float) if voting == "threshold" else average
    wrong = rng.binomial(table.astype(np.int64), np.stack([positive, 1 - positive], axis=1))
    return wrong.sum() / table.sum()


def tree_error(table):
    counts = leaf_counts(table)
    return float((counts.min(axis=2).sum(axis=1) / table.sum()).mean())


def test_theorems_5_1_and_5_2_on_random_worlds():
    rng = np.random.default_rng(0)
    for _ in range(100):
        table = rng.multinomial(997, world(rng, rng.uniform(0.05, 0.8)).ravel()).reshape(16, 2)
        own = own_shares(positive_shares(leaf_counts(table)))
        error = tree_error(table)
        weight = (own.mean(axis=0) * table).sum() / table.sum()
        goodness = ((own > 0.5).mean(axis=0) * table).sum() / table.sum()
        assert weight >= rt.average_weight(error) - 1e-12
        assert goodness <= rt.average_goodness(error) + 1e-12  # equal but for leaves with a tie
        if not (own == 0.5).any():
            assert goodness == pytest.approx(rt.average_goodness(error))
        for level in (0.55, 0.7):
            share = table[own.mean(axis=0) >= level].sum() / table.sum()
            assert share >= rt.good_record_share(error, level, "threshold") - 1e-12


def test_average_weight_without_light_leaves_is_the_minimum():
    # Random leaves with mass and majority share; the light ones are those dropped, up to the allowed mass.
    rng, closest = np.random.default_rng(1), math.inf
    for _ in range(4000):
        light_share = rng.uniform(0.01, 0.4)
        heavy = rng.uniform(1 - light_share, 1)
        masses = np.append(rng.dirichlet(np.ones(3)) * heavy, 1 - heavy)
        majority = rng.uniform(0.5, 1, 4)
        error = float(masses @ (1 - majority))
        weight = float(masses[:3] @ (majority[:3] ** 2 + (1 - majority[:3]) ** 2))
        limit = rt.average_weight(error, light_share)
        assert weight >= limit - 1e-12
        closest = min(closest, weight - limit)
    assert closest < 0.01


def test_goodness_with_a_margin_loses_no_more_than_claimed():
    rng, closest = np.random.default_rng(6), math.inf
    for _ in range(4000):
        masses, majority = rng.dirichlet(np.ones(4)), rng.uniform(0.5, 1, 4) ** rng.choice([0.3, 1])
        margin = rng.uniform(0.01, 0.3)
        clear = majority > 0.5 + margin
        lost = 1 - masses[clear] @ majority[clear]
        error = float(masses @ (1 - majority))
        claimed = rt.majority_with_margin(min(error, 0.5), 0.0, 1e-12, margin) / 2  # Markov at 1/2 halves it
        assert min(lost, 0.5) <= claimed + 1e-9
        closest = min(closest, claimed - min(lost, 0.49))
    assert closest < 0.02


def test_supplements_treatment_of_light_leaves_is_refuted():
    heavy, majority = 0.8, 0.625  # the light fifth is pure, so the tree error is 0.3
    weight = heavy * (majority**2 + (1 - majority) ** 2)
    raised = 0.3 + 0.2
    assert weight == pytest.approx(0.425)
    assert weight < 1 - 2 * raised + 2 * raised**2
    assert weight == pytest.approx(rt.average_weight(0.3, 0.2))


def test_theorem_5_3_all_good_records_are_classified_correctly():
    # A forest fails with probability at most 1/n = 1e-3; the test beyond the 1e-7 quantile of Bin(600, 1e-3).
    rng, n, delta, failures, runs, informative = np.random.default_rng(2), 1000, 0.1, 0, 0, 0
    trees = rt.trees_needed(n, delta)
    for _ in range(150):
        table = rng.multinomial(n, world(rng, rng.uniform(0.1, 0.9)).ravel()).reshape(16, 2)
        shares = positive_shares(leaf_counts(table))
        own = own_shares(shares)
        error = tree_error(table)
        forest = shares[rng.integers(len(TREES), size=trees)]
        for voting, quality in (("majority", (own > 0.5).mean(axis=0)), ("threshold", own.mean(axis=0))):
            good = table[quality >= 0.5 + delta].sum() / n
            achieved = forest_error(forest, table, voting, rng)
            failures += achieved > 1 - good + 1e-12
            failures += achieved > rt.empirical_error_bound(error, delta, voting) + 1e-12
            informative += rt.empirical_error_bound(error, delta, voting) < 1
            runs += 2
    assert informative > 20
    assert failures <= binom.isf(1e-7, runs, 1 - rt.empirical_confidence(n, trees, delta))


def test_theorem_5_5_empirical_error_of_probability_voting():
    # Fails beyond the 1e-7 quantile of the binomial with the theorem's failure probability.
    rng, n, delta, slack, failures, runs = np.random.default_rng(3), 2000, 0.1, 0.05, 0, 200
    trees = rt.trees_needed(n, delta)
    for _ in range(runs):
        table = rng.multinomial(n, world(rng, 0.4).ravel()).reshape(16, 2)
        forest = positive_shares(leaf_counts(table))[rng.integers(len(TREES), size=trees)]
        limit = rt.empirical_error_bound(tree_error(table), delta, "probability", slack)
        failures += forest_error(forest, table, "probability", rng) > limit
    assert failures <= binom.isf(1e-7, runs, 1 - rt.empirical_confidence(n, trees, delta, slack))


def test_theorem_5_5_as_printed_mistakes_the_tree_error_for_the_slack():
    # Coin-flip labels, one leaf half and half: the error is Bin(100, 1/2) / 100 and must not exceed 0.502.
    limit = rt.empirical_error_bound(0.5, 0.001, "probability", 0.001)
    exceeded = binom.sf(math.floor(100 * limit), 100, 0.5)
    assert exceeded == pytest.approx(0.46, abs=0.001)
    assert math.exp(-2 * 100 * 0.5**2) < 1e-21  # what the printed probability allows for it
    assert rt.union_confidence(100, 0.0, slack=0.001) < 1 - exceeded  # with the slack: almost no promise


@pytest.mark.parametrize("voting", RULES)
def test_generalization_bounds_hold_on_fresh_test_sets(voting):
    # Claimed with confidence above 1 - 1e-8 per run: at most 4e-7 for the forty.
    rng, n, delta, light_share, slack = np.random.default_rng(4), 2 * 10**8, 0.2, 0.1, 0.01
    trees = 2000
    extra = {"slack": slack} if voting == "probability" else {}
    assert rt.generalization_confidence(n, trees, 2, delta, light_share, extra.get("slack")) > 1 - 1e-8
    for _ in range(40):
        joint = world(rng, 0.08).ravel()
        train, test = (rng.multinomial(n, joint).reshape(16, 2).astype(float) for _ in range(2))
        forest = positive_shares(leaf_counts(train))[rng.integers(len(TREES), size=trees)]
        limit = rt.generalization_error_bound(tree_error(test), delta, light_share, voting, **extra)
        assert limit < 1
        assert forest_error(forest, test, voting, rng) <= limit


def test_majority_generalization_as_printed_is_refuted_by_coin_flips():
    # One leaf, fair labels: whichever label the test set prefers has goodness 1, so Theorem 5.3 promises that
    # only the other label errs. The training majority disagrees half of the time: 2000 runs, six standard
    # errors (2e-9).
    rng, n, runs = np.random.default_rng(5), 10**8, 2000
    train, test = rng.binomial(n, 0.5, (2, runs))
    failures = ((train > n / 2) != (test > n / 2)) & (train != n / 2) & (test != n / 2)
    promised = 1 - rt.leaf_count_failure(n, 1000, 1, 0.4, 0.1)
    assert promised > 1 - 1e-6
    assert abs(failures.mean() - 0.5) < 6 * math.sqrt(0.25 / runs)


def test_printed_generalization_bound_promises_the_impossible():
    # Labels are coin flips (tree error 1/2), K = 2: the printed bound says 15 %.
    printed = rt.generalization_error_bound(0.5, 0.1, 0.5, "probability", 0.05, as_published=True)
    corrected = rt.generalization_error_bound(0.5, 0.1, 0.5, "probability", 0.05)
    assert printed == pytest.approx(0.15)
    assert corrected >= 0.5


def test_bounds_move_the_right_way_and_have_the_right_limits():
    errors = np.linspace(0, 0.5, 26)
    for voting in RULES:
        for bound in (
            [rt.empirical_error_bound(e, 0.1, voting, 0.01) for e in errors],
            [rt.generalization_error_bound(e, 0.1, 0.05, voting, 0.01) for e in errors],
        ):
            assert bound == sorted(bound)
            assert bound[0] < 0.3 < bound[-1] <= 1
        tiny = rt.generalization_error_bound(0.0, 1e-9, 1e-9, voting)
        assert tiny == pytest.approx(0, abs=1e-8)
        shares = [rt.generalization_error_bound(0.1, 0.1, s, voting) for s in (0.01, 0.05, 0.2)]
        assert shares == sorted(shares)
    assert rt.trees_needed(10**6, 0.1) == pytest.approx(2 * rt.trees_needed(10**3, 0.1), abs=2)
    assert rt.trees_needed(1000, 0.1, generalization=True) == pytest.approx(
        4 * rt.trees_needed(1000, 0.1), abs=4
    )
    phi = 0.2 * 0.1 / (2 * 4.2 * 2)
    assert rt.leaf_count_failure(10**7, 10, 1, 0.2, 0.1) == pytest.approx(160 * math.exp(-2e7 * phi**2))
    assert rt.leaf_count_failure(10, 10, 3, 0.1, 0.1) == 1.0
    assert rt.leaf_count_failure(10**12, 10, 3, 0.1, 0.1) < 1e-12


@pytest.mark.parametrize(
    "call",
    [
        lambda: rt.average_goodness(0.6),
        lambda: rt.average_weight(0.1, 1.0),
        lambda: rt.good_record_share(0.1, 0.4, "majority"),
        lambda: rt.trees_needed(1000, 0.5),
        lambda: rt.empirical_error_bound(0.1, 0.1, "plurality"),
        lambda: rt.generalization_error_bound(0.1, 0.1, 0.0, "majority"),
    ],
)
def test_arguments_outside_the_hypotheses_are_refused(call):
    with pytest.raises(ValueError, match=r"must|need"):
        call()
