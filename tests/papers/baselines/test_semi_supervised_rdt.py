"""Random trees that public rows shape: where they are cut, what labels cost."""

import math
from dataclasses import replace

import numpy as np
import pytest

from dpforest._structure import FlatTrees
from dpforest._structure.flat import EVERYTHING_LEFT
from dpforest._trees import find_leaves
from dpforest.papers.baselines import SemiSupervisedRDTClassifier
from dpforest.papers.baselines.semi_supervised_rdt import leave_sparse_nodes_whole
from dpforest.papers.published import BROKEN_PROMISES, Domain, semi_supervised_random_trees
from dpforest.papers.published.leaves import class_counts
from dpforest.privacy import PrivacyLeakWarning
from tests.counting import leaf_counts, rows_of_cells
from tests.papers.baselines.test_jpw import leaf_rate

RNG = np.random.default_rng(0)
X = RNG.beta(0.3, 2.0, (1000, 3))  # crowded near 0
TRUTH = (X[:, 0] > 0.1).astype(int)
Y = np.where(np.arange(1000) % 5 == 0, TRUTH, -1)
DECLARED = {"bounds": (0, 1), "classes": [0, 1]}


@pytest.mark.parametrize("least", [1, 30, 2000])
def test_exactly_the_crowded_nodes_are_split(least):
    """Every split of a random tree is kept if and only if enough rows reach its node."""
    rng = np.random.default_rng(3)
    cells = rng.integers(0, 16, (300, 2)).astype(np.uint8) ** 2 // 16
    trees = FlatTrees.unsplit(3, 5)
    trees.feature[:] = rng.integers(0, 2, trees.feature.shape)
    trees.threshold[:] = rng.integers(0, 15, trees.threshold.shape)
    shaped = leave_sparse_nodes_whole(trees, cells, least)
    for level in range(trees.depth):
        reached = find_leaves(replace(trees, depth=level), cells)
        for tree in range(3):
            rows = np.bincount(reached[tree], minlength=2**level)
            crowded = trees.threshold[tree, trees.level(level)][rows >= least]
            if level < shaped.depth:
                here = shaped.threshold[tree, shaped.level(level)]
                assert ((here != EVERYTHING_LEFT) == (rows >= least)).all()
                np.testing.assert_array_equal(here[rows >= least], crowded)
            else:
                assert not len(crowded)


def test_only_nodes_with_enough_labels_are_split():
    """By default 20 sqrt(10) / epsilon labels, of which every fifth row has one."""
    model = SemiSupervisedRDTClassifier(epsilon=10.0, **DECLARED).fit(X, Y)
    cells = model.schema_.encode_features(X)
    least = 20 * math.sqrt(10) / 10 * 5
    for level in range(model.trees_.depth):
        reached = find_leaves(replace(model.trees_, depth=level), cells)
        split = model.trees_.threshold[:, model.trees_.level(level)] != EVERYTHING_LEFT
        for tree in range(10):
            rows = np.bincount(reached[tree], minlength=2**level)
            assert (rows[split[tree]] >= least).all()
    assert model.trees_.depth > 4


@pytest.mark.parametrize(("classes", "rate"), [([0, 1], 0.2), ([0, 1, 2], 0.1)])
def test_noise_is_made_for_a_changed_label(classes, rate):
    """Two classes share one noisy count, more need twice the noise; ten trees count every label."""
    model = SemiSupervisedRDTClassifier(epsilon=2.0, bounds=(0, 1), classes=classes, max_depth=3).fit(X, Y)
    assert [event.purpose for event in model.ledger_] == ["leaf class counts"]
    assert leaf_rate(model) == pytest.approx(rate, rel=1e-4)


def test_no_changed_label_costs_more_than_epsilon():
    """Given the trees, which labels do not touch: rate times the L1 change of what is released."""
    few, y = X[:8], np.array([0, 1, 2, 0, 1, 2, -1, -1])
    declared = {"bounds": (0, 1), "classes": [0, 1, 2]}
    model = SemiSupervisedRDTClassifier(4, epsilon=1.0, max_depth=2, **declared).fit(few, y)
    cells = model.schema_.encode_features(few)

    def counts(labels):
        return leaf_counts(rows_of_cells(cells, labels, model.schema_.n_cells, 3), model.trees_)

    losses = []
    for row in range(6):
        for label in range(3):
            changed = y.copy()
            changed[row] = label
            losses.append(leaf_rate(model) * np.abs(counts(changed) - counts(y)).sum())
    assert max(losses) == pytest.approx(1, rel=1e-4)


def test_labels_do_not_shape_the_trees():
    shapes = []
    for labels in (Y, np.where(Y >= 0, 1 - Y, -1)):
        with pytest.warns(PrivacyLeakWarning):
            model = SemiSupervisedRDTClassifier(epsilon=2.0, random_state=0, **DECLARED).fit(X, labels)
        shapes.append(model.trees_)
    np.testing.assert_array_equal(shapes[0].threshold, shapes[1].threshold)


def test_the_original_pays_half_of_a_changed_label():
    (broken,) = BROKEN_PROMISES["semi_supervised_random_trees"]
    domain = Domain(np.zeros(3), np.ones(3), np.zeros(3, int), n_classes=2)
    labelled, y = X[:50], TRUTH[:50]
    options = {"unlabelled": X[50:], "least_rows": 100, "max_depth": 6, "n_trees": 4}
    forest = semi_supervised_random_trees(
        labelled, y, domain, np.random.default_rng(0), epsilon=1.0, **options
    )
    changed = np.where(np.arange(50) == 7, 1 - y, y)
    moved = [
        np.abs(class_counts(t, labelled, changed, 2) - class_counts(t, labelled, y, 2)).sum()
        for t in forest.trees
    ]
    loss = sum(moved) * broken.claimed / 4  # Laplace noise of scale N / epsilon in each of N trees
    assert loss == broken.loss == 2
    for tree in forest.trees:
        rows = np.bincount(tree.leaf_of(X), minlength=tree.n_nodes)[tree.leaves]
        assert rows.sum() == 1000
    assert len(forest.trees[0].leaves) > 3


def test_corners_of_the_original():
    rng = np.random.default_rng(0)
    domain = Domain(np.zeros(2), np.array([1.0, 4.0]), np.array([0, 3]), n_classes=2)
    rows = np.column_stack([rng.random(400), rng.integers(5, size=400)])
    options = {"epsilon": 1.0, "unlabelled": rows, "least_rows": 2, "max_depth": 9}
    forest = semi_supervised_random_trees(np.empty((0, 2)), np.empty(0, int), domain, rng, **options)
    assert np.isfinite(forest.votes(rows)).all()
    flat = semi_supervised_random_trees(rows, np.zeros(400, int), domain, rng, **options | {"max_depth": 0})
    assert [tree.n_nodes for tree in flat.trees] == [1] * 10
    number = Domain(*(3 * [np.zeros(2)]), target_low=0.0, target_high=1.0)
    with pytest.raises(ValueError, match="classification"):
        semi_supervised_random_trees(rows, np.zeros(400), number, rng, **options)
