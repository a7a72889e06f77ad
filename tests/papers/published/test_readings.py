"""Readings that are not printed: each differs from the printed form in the one thing that its name says."""

import numpy as np

from dpforest.papers.experiments.readings import searching
from dpforest.papers.published import partitioning_ensemble, random_decision_trees, transductive_ensemble
from dpforest.schema import Schema
from tests.papers.published.conftest import unit_cube


def test_negative_counts_set_to_zero_keep_pure_leaves(rng):
    """One leaf with 100 rows of one class, noise of about 1: the other count is negative every other time."""
    X, y, domain = rng.random((100, 1)), np.zeros(100, int), unit_cube(1, n_classes=2)
    options = {"n_trees": 200, "max_depth": 0, "epsilon": 200.0, "voting": "threshold"}
    printed, clamped = (
        np.array(
            [
                tree.values[0, 0]
                for tree in random_decision_trees(X, y, domain, rng, negative=rule, **options).trees
            ]
        )
        for rule in ("random", "zero")
    )
    assert clamped.min() > 0.8  # noise of 25 where its scale is 0.7: 1e-13 in 200 leaves
    assert (printed < 0.8).sum() > 40  # four of ten on average, 80 of 200; 40 or fewer: 1e-8


def test_all_labels_reach_every_tree(rng):
    """Ten trees, 100 labels of one class, hardly any noise: each counts ten of them or all."""
    X, U, domain = rng.random((100, 1)), rng.random((5, 1)), unit_cube(1, n_classes=2)
    options = {"epsilon": 1e6, "unlabelled": U, "max_depth": 0, "label_only": True}
    for form in (partitioning_ensemble, transductive_ensemble):
        for all_labels, each in ((False, 10), (True, 100)):
            forest = form(X, np.zeros(100, int), domain, rng, all_labels=all_labels, **options)
            assert [round(tree.values[0, 0]) for tree in forest.trees[:10]] == [each] * 10


def test_paths_draw_no_feature_twice(rng):
    X, domain = rng.random((5000, 3)), unit_cube(3, n_classes=2)
    options = {"epsilon": 10.0, "n_trees": 3, "max_depth": 6}
    for repeat, most in ((True, 6), (False, 3)):
        forest = partitioning_ensemble(X, np.zeros(5000, int), domain, rng, repeat_features=repeat, **options)
        assert max(_longest(tree, 0) for tree in forest.trees) == most


def _longest(tree, node):
    if tree.feature[node] < 0:
        return 0
    return 1 + max(_longest(tree, tree.left[node]), _longest(tree, tree.right[node]))


def test_printed_trees_have_the_whole_budget_at_every_level():
    """At the root of two levels equation 7 gives two fifths: the median is missed by 5/2 as much."""
    rng = np.random.default_rng(0)
    X, domain, y = rng.random((2000, 1)), unit_cube(1, n_classes=2), np.zeros(2000, int)
    options = {"epsilon": 0.04, "n_trees": 1, "max_depth": 2, "split_share": 0.5}
    off = {
        levels: np.mean(
            [
                abs(
                    partitioning_ensemble(X, y, domain, rng, levels=levels, **options).trees[0].threshold[0]
                    - 0.5
                )
                for _ in range(200)
            ]
        )
        for levels in ("geometric", "whole")
    }
    assert off["geometric"] > 1.5 * off["whole"]  # scales of 125 and 50 ranks


def test_splits_of_figure_1(rng):
    """The median of values below 0.1 and one at 1: true medians find it, random splits do not look."""
    X = np.append(rng.random(999) / 10, 1.0)[:, None]
    domain, y = unit_cube(1, n_classes=2), np.zeros(1000, int)
    options = {"epsilon": 1.0, "n_trees": 1, "max_depth": 1}
    true = partitioning_ensemble(X, y, domain, rng, medians="true", **options).trees[0].threshold[0]
    assert true == np.median(X)
    random = [
        partitioning_ensemble(X, y, domain, rng, medians="random", **options).trees[0].threshold[0]
        for _ in range(60)
    ]
    assert sum(cut > 0.2 for cut in random) > 15  # 0.8 of them on average; 15 of 60 or fewer: 1e-18


def test_every_size_of_a_search_has_noise_of_its_own_scale():
    """One leaf with 900 rows of each class: five times as many trees, five times the noise in its shares."""
    X, y = np.zeros((2000, 1)), np.tile([0, 1], 1000)
    schema = Schema.from_bounds((0, 1), n_features=1, classes=[0, 1])
    facts = {"task": "classification", "schema": schema, "epsilon": 0.2}
    spread = []
    for n_trees in (5, 25):
        factory, sizes = searching("threshold"), {"sizes": [(n_trees, 0)]}
        models = [factory(**facts, seed=seed, parameters=sizes).fit(X, y) for seed in range(200)]
        spread.append(np.std([tree.values[0, 0] for model in models for tree in model.forest_.trees[:5]]))
    assert (
        3.5 < spread[1] / spread[0] < 6.2
    )  # the rows held out add a little to both: 4.7; five errors each way


def test_all_numbers_of_trees_up_to_a_limit_are_tried():
    X = np.random.default_rng(0).random((500, 1))
    schema = Schema.from_bounds((0, 1), n_features=1, classes=[0, 1])
    facts = {"task": "classification", "schema": schema, "epsilon": 1.0, "seed": 0}
    model = searching("majority")(**facts, parameters={"max_depth": 3, "max_trees": 7})
    assert model.sizes == [(k, 3) for k in range(1, 8)]
    assert len(model.fit(X, (X[:, 0] > 0.5).astype(int)).forest_.trees) == model.size_[0]


def test_leaves_without_rows_are_random_without_noise_too():
    """Bojarski et al. 2014, Section 4: a leaf without a row has a share drawn from [0, 1]."""
    X, y, domain = np.full((50, 1), 0.25), np.zeros(50, int), unit_cube(1, n_classes=2)
    options = {"n_trees": 300, "max_depth": 1, "epsilon": np.inf, "voting": "threshold"}
    forest = random_decision_trees(X, y, domain, np.random.default_rng(0), **options)
    shares = np.array([tree.values[tree.leaves] for tree in forest.trees])[:, :, 0]
    empty = np.sort(shares, axis=1)[:, 0]  # the other leaf has all rows: its share is 1
    assert (shares.max(axis=1) == 1).all()
    assert abs(empty.mean() - 0.5) < 0.1  # six standard errors of 300 uniform draws


def test_the_search_takes_the_size_that_does_best_on_rows_held_out():
    """One feature decides: a tree without a split errs in half of the rows, fifteen of height 6 in few."""
    X = np.random.default_rng(0).random((3000, 1))
    y = (X[:, 0] > 0.5).astype(int)
    schema = Schema.from_bounds((0, 1), n_features=1, classes=[0, 1])
    sizes = [(1, 0), (15, 6), (3, 0)]
    facts = {"task": "classification", "schema": schema, "epsilon": 100.0, "seed": 0}
    model = searching("threshold")(**facts, parameters={"sizes": sizes}).fit(X, y)
    assert model.size_ == (15, 6)
    assert np.mean(model.predict(X) == y) > 0.9
