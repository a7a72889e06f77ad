"""Every flaw of the other papers is really there, on the pairs of tables that show it."""

import inspect
import math

import numpy as np
import pytest
from scipy import stats

from dpforest.papers import published
from dpforest.papers.published import (
    BROKEN_PROMISES,
    partitioning,
    partitioning_ensemble,
    random_decision_trees,
    reasons,
    smooth_sensitivity_forest,
    transductive_ensemble,
)
from dpforest.papers.published.partitioning import N_CANDIDATES, private_median, rank_exponents
from dpforest.papers.published.random_trees import budget_from_rows, leaf_shares, noise_scale
from dpforest.papers.published.smooth_sensitivity import label_probabilities
from tests.papers.published.conftest import unit_cube
from tests.papers.published.test_flaws_of_median_forests import keeps_word, promise

# --- labels by smooth sensitivity ----------------------------------------------------------------------


def minority(lead, epsilon=1.0):
    return label_probabilities(np.array([[lead, 0.0]]), epsilon)[0, 1]


def test_smooth_sensitivity_has_no_bound():
    losses = [math.log(minority(lead) / minority(lead + 1)) for lead in (1, 2, 3)]
    assert losses[0] < losses[1] < losses[2]
    broken = promise("smooth sensitivity in the exponential mechanism", "smooth_sensitivity_forest")
    assert keeps_word(losses[1], broken)
    assert math.log(minority(60, 0.1) / minority(61, 0.1)) > 2  # small budgets fail as well, at larger leads


def test_fitted_labels_show_it(rng):
    """Minority labels of single leaves with counts (3, 1) and (4, 1): expected 195 and 0.35 of 8000."""
    domain = unit_cube(1, n_classes=2)
    named = []
    for majority in (3, 4):
        X, y = np.zeros((majority + 1, 1)), np.array([0] * majority + [1])
        options = {"epsilon": 1.0, "n_trees": 1, "max_depth": 0}
        named.append(
            sum(smooth_sensitivity_forest(X, y, domain, rng, **options).labels[0] for _ in range(8000))
        )
    # Each bound is missed with probability below 1e-7; together they refute a loss of 1 by far.
    assert named[0] >= 120
    assert named[1] <= 10
    assert math.log(120 / 10) > 2


def test_probabilities_of_the_addendum():
    """Table 6, column of the original mechanism."""
    counts = np.array([[5, 10], [105, 110], [0, 1], [0, 10], [10, 50], [10, 60]], dtype=float)
    printed = [0.521, 0.521, 0.514, 0.534, 0.938, 0.999]
    np.testing.assert_allclose(label_probabilities(counts, 0.1)[:, 1], printed, atol=1e-3)


def test_labels_of_ties_and_of_many_classes():
    shares = label_probabilities(np.array([[4.0, 4.0, 0.0], [0.0, 0.0, 0.0], [900.0, 0.0, 0.0]]), 1.0)
    weight = math.exp(0.5)
    np.testing.assert_allclose(shares[0], np.array([weight, weight, 1]) / (2 * weight + 1))
    np.testing.assert_allclose(shares[1], 1 / 3)
    np.testing.assert_allclose(shares[2], [1, 0, 0], atol=1e-300)


def test_one_more_row_changes_two_parts():
    """Ten parts of three equal rows, one more row: all parts but the growing one name its label."""
    small, mixed = label_probabilities(np.array([[3.0, 0.0], [2.0, 1.0]]), 1.0)[:, 1]
    after = 4 / 31 * small**9 + 27 / 31 * small**8 * mixed
    broken = promise("equal parts for the trees", "smooth_sensitivity_forest")
    assert keeps_word(math.log(after / small**9), broken)


# --- random trees --------------------------------------------------------------------------------------


def test_standard_deviation_is_taken_for_the_scale():
    broken = promise("noise given by its standard deviation", "random_decision_trees")
    loss = 21 / noise_scale(21, broken.claimed)  # 21 counts move by one
    assert loss > broken.claimed
    assert loss == pytest.approx(broken.loss, abs=5e-4)


def test_fitted_counts_have_that_noise(rng):
    """Shares of one leaf with 1000 and 1000 rows deviate by (a - b)/4000, a and b of standard deviation 1."""
    domain = unit_cube(1, n_classes=2)
    X, y = np.zeros((2000, 1)), np.repeat([0, 1], 1000)
    options = {"epsilon": 1.0, "n_trees": 1, "max_depth": 0, "voting": "threshold"}
    shares = [random_decision_trees(X, y, domain, rng, **options).trees[0].values[0, 0] for _ in range(3000)]
    # The relative standard error is 0.017; noise of scale 1 would give 1.41 times as much.
    assert np.std(shares) == pytest.approx(math.sqrt(2) / 4000, rel=0.1)


def test_budget_from_rows_is_private_information():
    broken = promise("budget from the number of rows", "random_decision_trees")
    few, more = (-1e4 / noise_scale(1, budget_from_rows(n)) for n in (7312, 7313))  # logs of twice the tails
    assert more - few > broken.claimed
    assert more - few == pytest.approx(broken.loss, abs=1e-3)


def test_leaves_with_a_negative_count_are_coins(rng):
    noisy = np.tile([[1000.0, -1.0]], (4000, 1))
    drawn = leaf_shares(noisy, rng)[:, 0]
    assert stats.kstest(drawn, "uniform").pvalue > 1e-6
    np.testing.assert_array_equal(leaf_shares(np.array([[3.0, 1.0]]), rng), [[0.75, 0.25]])


def test_thresholds_come_from_the_whole_public_range(rng):
    """Not from the data and not from what the splits above leave."""
    domain = unit_cube(2, n_classes=2)
    forest = random_decision_trees(
        np.full((5, 2), 0.1), np.zeros(5, int), domain, rng, n_trees=4, max_depth=10
    )
    cuts = np.concatenate([tree.threshold[: 2**10 - 1] for tree in forest.trees])
    assert stats.kstest(cuts, "uniform").pvalue > 1e-6


def test_voting_rules(rng):
    domain = unit_cube(1, n_classes=2)
    X, y = np.zeros((100, 1)), np.repeat([0, 1], [30, 70])
    options = {"epsilon": 1e6, "n_trees": 5, "max_depth": 0}
    majority = random_decision_trees(X, y, domain, rng, voting="majority", **options)
    np.testing.assert_array_equal(majority.votes(X[:1]), [[0, 5]])
    for voting in ("threshold", "probabilistic"):
        shares = random_decision_trees(X, y, domain, rng, voting=voting, **options)
        np.testing.assert_allclose(shares.votes(X[:1]), [[0.3, 0.7]], atol=1e-3)


# --- partitioning ensembles ----------------------------------------------------------------------------


def single_tree(values, rng, y=None, **options):
    X = np.asarray(values, dtype=float)[:, None]
    y = np.zeros(len(X), dtype=int) if y is None else y
    domain = unit_cube(1, n_classes=2)
    return partitioning_ensemble(
        X, y, domain, rng, **{"epsilon": 2.0, "n_trees": 1, "max_depth": 1, **options}
    ).trees[0]


def test_extremes_of_the_data_bound_the_thresholds(rng):
    for _ in range(20):
        assert single_tree([0.0] * 11, rng).threshold[0] == 0
        assert 0 < single_tree([0.0] * 11 + [1.0], rng).threshold[0] < 1
    assert promise("medians between the data's extremes", "partitioning_ensemble").loss == math.inf


def test_ten_rows_are_a_leaf_and_eleven_a_split(rng):
    for _ in range(20):
        assert single_tree(rng.random(10), rng).n_nodes == 1
        assert single_tree(rng.random(11), rng).n_nodes == 3
    assert promise("stopping at ten rows", "partitioning_ensemble").loss == math.inf


def test_private_median_follows_its_law(rng):
    """Candidates between two values all have rank 1, so the draw is uniform; otherwise the rank decides."""
    draws = [private_median(np.array([0.0, 1.0]), 1.0, rng) for _ in range(5000)]
    assert stats.kstest(draws, "uniform").pvalue > 1e-6
    assert N_CANDIDATES == 100
    # A wide gap around the middle wins against a narrow one by rank, not by length.
    values = np.concatenate([np.zeros(50), np.full(50, 0.1), [1.0]])
    draws = np.array([private_median(values, 2.0, rng) for _ in range(200)])
    assert (draws < 0.1).all()  # rank 50 of 101 against rank 100: a factor of e^98
    np.testing.assert_allclose(rank_exponents(np.array([50, 100]), 101, 2.0), [-1, -99])


def test_budgets_grow_geometrically_and_add_up(monkeypatch, rng):
    spent = []
    draw = partitioning.private_median
    monkeypatch.setattr(partitioning, "private_median", lambda v, e, r: spent.append(e) or draw(v, e, r))
    single_tree(np.linspace(0, 1, 2000), rng, epsilon=2.0, max_depth=3)
    levels = sorted(set(spent))
    assert sum(levels) == pytest.approx(1.0)  # half of the budget
    np.testing.assert_allclose(np.divide(levels[1:], levels[:-1]), 1.5)


def test_a_changed_label_costs_twice(rng):
    """Both noisy counts move by one, each with noise of scale 1."""
    up = stats.laplace.logsf(1) - stats.laplace.logsf(0)
    down = stats.laplace.logcdf(-1) - stats.laplace.logcdf(0)
    assert keeps_word(-(up + down), promise("label privacy", "partitioning_ensemble"))
    y = np.repeat([0, 1], [7, 5])
    noise = [
        single_tree(np.zeros(12), rng, y, epsilon=1.0, max_depth=0, label_only=True).values - [7, 5]
        for _ in range(2000)
    ]
    # The mean absolute value of Laplace noise is its scale; relative standard error 1/sqrt(4000).
    assert np.abs(noise).mean() == pytest.approx(1.0, rel=0.1)


def test_label_only_trees_use_true_medians_of_all_rows(rng):
    X, U = np.linspace(0, 1, 40)[:, None], np.linspace(0, 1, 61)[:, None]
    domain = unit_cube(1, n_classes=2)
    forest = partitioning_ensemble(
        X, np.zeros(40, int), domain, rng, epsilon=1.0, unlabelled=U, label_only=True, max_depth=1
    )
    both = np.median(np.concatenate([X, U]))
    assert [tree.threshold[0] for tree in forest.trees] == [both] * 10


def test_first_setting_splits_by_unlabelled_rows_and_counts_labelled_ones(rng):
    """Unlabelled rows in [0.8, 1] give thresholds there; labelled rows in [0, 0.1] are all left of them."""
    X, U = rng.random((200, 1)) / 10, 0.8 + rng.random((500, 1)) / 5
    domain = unit_cube(1, n_classes=2)
    forest = partitioning_ensemble(X, np.zeros(200, int), domain, rng, epsilon=1e6, unlabelled=U, max_depth=1)
    for tree in forest.trees:
        assert 0.8 < tree.threshold[0] < 1
        np.testing.assert_allclose(tree.values[tree.leaves].round(), [[20, 0], [0, 0]])


def test_transductive_trees_all_see_everybody_at_full_price(monkeypatch, rng):
    """Charged once. A row at 0.99 and all thresholds above it: each of ten trees costs nearly the budget."""
    trees, leaves = [], []
    build, fill = partitioning.build_tree, partitioning.distribute_labels
    monkeypatch.setattr(
        partitioning,
        "build_tree",
        lambda X, d, k, b, r: trees.append((len(X), b.sum())) or build(X, d, k, b, r),
    )
    monkeypatch.setattr(
        partitioning,
        "distribute_labels",
        lambda t, rows, d, e, r: leaves.append((len(rows.X), e)) or fill(t, rows, d, e, r),
    )
    X, U = rng.random((50, 2)), rng.random((80, 2))
    options = {"epsilon": 1.0, "unlabelled": U, "n_first": 5, "n_second": 5}
    transductive_ensemble(X, np.zeros(50, int), unit_cube(2, n_classes=2), rng, **options)
    assert [n for n, _ in trees] == [130] * 10
    assert [b for _, b in trees] == pytest.approx([1.0] * 10)
    assert leaves == [(10, 1.0)] * 5 + [(80, 1.0)] * 5
    # exp(1) against exp(0) for 99 of 100 parts of the range, ten times, and five histograms.
    loss = 10 * math.log(0.99 * math.e + 0.01) + 5
    assert keeps_word(loss, promise("all rows in all trees", "transductive_ensemble"))


# --- the registry --------------------------------------------------------------------------------------


def test_every_form_has_reasons_and_every_number_is_in_its_sentence():
    fits = {
        n
        for n in published.__all__
        if inspect.isfunction(f := getattr(published, n)) and "rng" in inspect.signature(f).parameters
    }
    assert set(BROKEN_PROMISES) == fits
    for name, promises in BROKEN_PROMISES.items():
        text = reasons(name, "classification") + reasons(name, "regression")
        for broken in promises:
            assert broken.loss > broken.claimed
            assert broken.what in text
            assert broken.loss == math.inf or f"{broken.loss:g}" in broken.why.replace(".00", "")
