"""Shapes, missing values, empty nodes and other corners; and the machinery against slow versions."""

import pickle

import numpy as np
import pytest
from scipy import stats

from dpforest.papers.published import (
    Domain,
    PublishedForest,
    dipri_me,
    partitioning_ensemble,
    random_decision_trees,
    smooth_sensitivity_forest,
    transductive_ensemble,
)
from dpforest.papers.published.smooth_sensitivity import leaf_keys, table_depth
from tests.papers.published.conftest import unit_cube

CLASSIFIERS = {
    "uniform": lambda *a: dipri_me(*a, epsilon=1.0, variant="uniform", max_depth=3),
    "exponential": lambda *a: dipri_me(*a, epsilon=1.0, variant="exponential", max_depth=3),
    "flip": lambda *a: dipri_me(*a, epsilon=1.0, variant="permute_and_flip", max_depth=3),
    "2020": lambda *a: dipri_me(*a, epsilon=1.0, version="2020", max_depth=3),
    "2020 text": lambda *a: dipri_me(*a, epsilon=1.0, version="2020 text", max_depth=3),
    "default depth": lambda *a: dipri_me(*a, epsilon=1.0),
    "smooth": lambda *a: smooth_sensitivity_forest(*a, epsilon=1.0, n_trees=7),
    "smooth all": lambda *a: smooth_sensitivity_forest(*a, epsilon=1.0, n_trees=7, disjoint=False),
    "random": lambda *a: random_decision_trees(*a, n_trees=3, max_depth=4),
    "partitioning": lambda *a: partitioning_ensemble(*a, epsilon=1.0),
    "labels": lambda *a: partitioning_ensemble(*a, epsilon=1.0, label_only=True),
    "semi": lambda *a: partitioning_ensemble(*a, epsilon=1.0, unlabelled=a[0]),
    "transductive": lambda *a: transductive_ensemble(*a, epsilon=1.0, unlabelled=a[0], n_first=2, n_second=2),
}
REGRESSORS = (
    "random",
    "uniform",
    "exponential",
    "flip",
    "2020",
    "default depth",
    "partitioning",
    "labels",
    "semi",
    "transductive",
)
MIXED = Domain(np.zeros(3), np.array([1.0, 3, 16]), np.array([0, 2, 15]), n_classes=3)


def mixed_rows(rng, n):
    """Every code occurs, those of missing and other values too."""
    return np.column_stack([rng.random(n), rng.integers(4, size=n), rng.integers(17, size=n)])


@pytest.mark.parametrize("form", CLASSIFIERS)
@pytest.mark.parametrize("n_rows", [0, 1, 5, 300])
def test_any_number_of_rows(form, n_rows, rng):
    X, y = mixed_rows(rng, n_rows), rng.integers(3, size=n_rows)
    forest = CLASSIFIERS[form](X, y, MIXED, rng)
    assert isinstance(forest, PublishedForest)
    votes = forest.votes(mixed_rows(rng, 20))
    assert votes.shape == (20, 3)
    assert np.isfinite(votes).all()
    assert forest.votes(np.empty((0, 3))).shape == (0, 3)


@pytest.mark.parametrize("form", REGRESSORS)
@pytest.mark.parametrize("n_rows", [0, 1, 300])
def test_any_number_of_rows_with_numeric_targets(form, n_rows, rng):
    domain = Domain(MIXED.low, MIXED.high, MIXED.n_categories, target_low=-5.0, target_high=5.0)
    X, y = mixed_rows(rng, n_rows), rng.uniform(-5, 5, n_rows)
    votes = CLASSIFIERS[form](X, y, domain, rng).votes(mixed_rows(rng, 20))
    assert votes.shape == (20, 1)
    assert np.isfinite(votes).all()


@pytest.mark.parametrize("form", CLASSIFIERS)
def test_a_single_class_and_constant_features(form, rng):
    domain = unit_cube(2, n_classes=1)
    votes = CLASSIFIERS[form](np.full((200, 2), 0.25), np.zeros(200, int), domain, rng).votes(
        rng.random((5, 2))
    )
    assert votes.shape == (5, 1)
    assert np.isfinite(votes).all()


@pytest.mark.parametrize("form", CLASSIFIERS)
def test_rows_without_a_known_label_are_left_out(form, rng):
    X, y = mixed_rows(rng, 200), rng.integers(3, size=200)
    y[::2] = -1
    known = y >= 0
    if form in ("semi", "transductive"):  # here X is passed as unlabelled rows too
        assert np.isfinite(CLASSIFIERS[form](X, y, MIXED, rng).votes(X)).all()
        return
    votes = [
        CLASSIFIERS[form](*rows, MIXED, np.random.default_rng(3)).votes(X)
        for rows in ((X, y), (X[known], y[known]))
    ]
    np.testing.assert_array_equal(*votes)


def test_missing_numeric_targets_are_left_out(rng):
    domain = unit_cube(1, target_low=0.0, target_high=1.0)
    X, y = rng.random((50, 1)), np.where(np.arange(50) < 20, 0.5, np.nan)
    forest = dipri_me(X, y, domain, rng, epsilon=1e9, max_depth=1, n_trees=2)
    values = np.concatenate([tree.values[tree.leaves] for tree in forest.trees])
    assert np.isfinite(values).all()


@pytest.mark.parametrize("form", CLASSIFIERS)
def test_forests_can_be_pickled(form, rng):
    X, y = mixed_rows(rng, 100), rng.integers(3, size=100)
    forest = CLASSIFIERS[form](X, y, MIXED, rng)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(forest)).votes(X), forest.votes(X))


def test_refusals(rng):
    X, y = rng.random((20, 2)), rng.integers(2, size=20)
    domain, numbers = unit_cube(2, n_classes=2), unit_cube(2, target_low=0.0, target_high=1.0)
    with pytest.raises(ValueError, match="variant"):
        dipri_me(X, y, domain, rng, epsilon=1.0, variant="median")
    with pytest.raises(ValueError, match="2020"):
        dipri_me(X, y, domain, rng, epsilon=1.0, variant="uniform", version="2020")
    with pytest.raises(ValueError, match="shape"):
        partitioning_ensemble(X[:, :1], y, domain, rng, epsilon=1.0)
    with pytest.raises(ValueError, match="rows"):
        partitioning_ensemble(X, y[:3], domain, rng, epsilon=1.0)
    with pytest.raises(ValueError, match="voting"):
        random_decision_trees(X, y, domain, rng, n_trees=1, max_depth=1, voting="median")
    with pytest.raises(ValueError, match="classification"):
        smooth_sensitivity_forest(X, X[:, 0], numbers, rng, epsilon=1.0)


def test_routing_equals_a_walk_row_by_row(rng):
    X, y = mixed_rows(rng, 400), rng.integers(3, size=400)
    for form in ("exponential", "random", "partitioning"):
        for tree in CLASSIFIERS[form](X, y, MIXED, rng).trees:
            walked = []
            for row in X:
                node = 0
                while tree.feature[node] >= 0:
                    value, at = row[tree.feature[node]], tree.left_set[node]
                    if at >= 0:
                        goes_left = tree.sets[at, int(value)]
                    elif tree.closed:
                        goes_left = value <= tree.threshold[node]
                    else:
                        goes_left = value < tree.threshold[node]
                    node = tree.left[node] if goes_left else tree.right[node]
                walked.append(node)
            np.testing.assert_array_equal(tree.leaf_of(X), walked)


def test_missing_and_other_codes_never_go_with_a_category(rng):
    X, y = mixed_rows(rng, 600), rng.integers(3, size=600)
    for form in ("exponential", "random", "partitioning"):
        for tree in CLASSIFIERS[form](X, y, MIXED, rng).trees:
            for node in np.flatnonzero((tree.feature >= 0) & (tree.left_set >= 0)):
                assert not tree.sets[tree.left_set[node], MIXED.n_categories[tree.feature[node]] :].any()


def test_median_trees_are_complete_and_their_ranges_narrow(rng):
    X, y = rng.random((50, 1)), rng.integers(2, size=50)
    forest = dipri_me(X, y, unit_cube(1, n_classes=2), rng, epsilon=1.0, max_depth=6, n_trees=1)
    tree = forest.trees[0]
    assert tree.n_nodes == 2**7 - 1  # no node stops early, the empty ones neither
    cuts = tree.threshold[tree.feature >= 0]
    assert len(np.unique(tree.leaf_of(np.concatenate([cuts, [0.0]])[:, None]))) == 2**6


def test_a_feature_with_one_category_left_is_split_no_more(rng):
    domain = Domain(np.zeros(1), np.full(1, 3.0), np.array([2]), n_classes=2)
    X, y = rng.integers(2, size=(100, 1)).astype(float), rng.integers(2, size=100)
    forest = dipri_me(X, y, domain, rng, epsilon=1.0, max_depth=5, n_trees=2)
    assert [tree.n_nodes for tree in forest.trees] == [3, 3]


# --- the endless random trees of the smooth forest ------------------------------------------------------


def separated(one, other, domain, depth, n_seeds, rng):
    """In how many of many random trees two rows end in different leaves."""
    seeds = rng.integers(0, 2**64, size=n_seeds, dtype=np.uint64)
    ends = [leaf_keys(np.tile(row, (n_seeds, 1)), seeds, domain, depth) for row in (one, other)]
    return int((ends[0] != ends[1]).sum())


def test_features_and_split_points_are_uniform(rng):
    """One of three features is the one that differs, and the point falls between with probability 0.6."""
    hits = separated([0.2, 0.5, 0.5], [0.8, 0.5, 0.5], unit_cube(3), 1, 50_000, rng)
    assert stats.binomtest(hits, 50_000, 0.2).pvalue > 1e-6


def test_domains_narrow_along_the_path(rng):
    """A second point drawn from the whole domain again would give 0.84 instead of 0.868."""
    hits = separated([0.2], [0.8], unit_cube(1), 2, 50_000, rng)
    assert stats.binomtest(hits, 50_000, 0.6 + 1.2 * np.log(1.25)).pvalue > 1e-6
    assert stats.binomtest(hits, 50_000, 0.84).pvalue < 1e-6


def test_discrete_features_are_used_once_per_path(rng):
    domain = Domain(np.zeros(4), np.full(4, 4.0), np.full(4, 3))
    rows = [1.0, 0, 0, 0], [2.0, 0, 0, 0]
    assert separated(*rows, domain, 4, 5000, rng) == 5000
    assert separated(*rows, domain, 9, 5000, rng) == 5000  # nothing is left to test after four levels
    assert stats.binomtest(separated(*rows, domain, 3, 50_000, rng), 50_000, 0.75).pvalue > 1e-6


def test_empty_leaves_have_uniform_labels_that_stay(rng):
    domain = unit_cube(1, n_classes=4)
    forest = smooth_sensitivity_forest(
        np.empty((0, 1)), np.empty(0, int), domain, rng, epsilon=1.0, n_trees=3000, max_depth=1
    )
    votes = forest.votes(np.array([[0.3]]))[0]
    assert stats.chisquare(votes).pvalue > 1e-6
    X = rng.random((40, 1))
    whole = forest.votes(X)
    np.testing.assert_array_equal(
        np.concatenate([forest.votes(X[20:]), forest.votes(X[:20])]), np.roll(whole, 20, axis=0)
    )


@pytest.mark.parametrize(
    ("continuous", "discrete", "depth"),
    [
        (5, 0, 5),
        (10, 0, 8),
        (15, 0, 12),
        (20, 0, 15),
        (4, 0, 4),
        (16, 0, 12),
        (6, 8, 9),
        (0, 22, 11),
        (0, 16, 8),
        (0, 8, 4),
    ],
)
def test_depths_of_the_published_table(continuous, discrete, depth):
    d = continuous + discrete
    domain = Domain(np.zeros(d), np.ones(d), np.array([0] * continuous + [2] * discrete))
    assert table_depth(domain) == depth


@pytest.mark.parametrize("variant", ["uniform", "exponential", "permute_and_flip"])
def test_an_infinite_epsilon_means_no_noise(variant):
    X = np.random.default_rng(0).random((2000, 2))
    y = (X[:, 0] > 0.5).astype(int)
    forest = dipri_me(
        X, y, unit_cube(2, n_classes=2), np.random.default_rng(1), epsilon=np.inf, variant=variant
    )
    assert (forest.votes(X).argmax(axis=1) == y).mean() > 0.9
