"""Contributions of features add up to what the model predicts, and go to the features that made it."""

import time

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.exceptions import NotFittedError

from dpforest import DiPriMeForestClassifier, PrivateForestClassifier, PrivateForestRegressor
from dpforest._structure import FlatTrees
from dpforest._structure.link import probabilities
from dpforest._trees.paths import node_values
from dpforest.privacy import PrivacyLeakWarning
from dpforest.schema import Classes, Nominal, Numeric, Range, Schema
from tests.export import cases

RNG = np.random.default_rng(0)
X = RNG.random((50, 2))


@pytest.mark.parametrize("name", cases.CASES)
def test_base_and_contributions_are_the_prediction(name):
    estimator, y = cases.CASES[name]
    rows = cases.X[list(estimator.schema.names)]
    model = estimator.fit(rows, y)
    found = model.explain(rows)
    assert found.values.shape == (len(rows), len(found.names), len(found.outputs))
    if not hasattr(model, "classes_"):
        np.testing.assert_allclose(np.clip(found.scores[:, 0], 0, 8), model.predict(rows), rtol=0, atol=1e-9)
        return
    scores = found.scores if len(found.outputs) > 1 else np.pad(found.scores, ((0, 0), (1, 0)))
    if model.additive_ is None:
        wanted = model.predict_proba(rows)[:, -len(found.outputs) :]
        np.testing.assert_allclose(found.scores, wanted, rtol=0, atol=1e-9)
    else:
        clip = model.additive_.clip
        shares = softmax(scores, axis=1) if clip is None else probabilities(scores, clip)
        np.testing.assert_allclose(shares, model.predict_proba(rows), rtol=0, atol=1e-9)


def test_a_tree_gives_each_step_to_the_feature_that_was_asked():
    """By hand: the root asks the second feature, its left child the first; 30, 10 and 60 rows in leaves."""
    trees = FlatTrees.unsplit(1, 2)
    trees.feature[0], trees.threshold[0] = [1, 0, 0], [3, 2, 2**30]
    model = DiPriMeForestClassifier(1, bounds=(0, 1), classes=[0, 1], max_depth=2, epsilon=1.0)
    model.fit(RNG.random((50, 2)), RNG.integers(0, 2, 50))
    counts = np.array([[[30, 0], [5, 5], [6, 54], [99, 99]]])  # nothing reaches the last
    model.trees_, model.leaf_statistics_, model.leaf_votes_ = trees, counts, counts.astype(float)
    found = model.explain(np.array([[0.0, 0.0], [0.9, 0.0], [0.0, 0.9]]))
    root, left = 59 / 100, 5 / 40
    np.testing.assert_allclose(found.base, [root])
    wanted = [[0 / 30 - left, left - root], [5 / 10 - left, left - root], [0.0, 54 / 60 - root]]
    np.testing.assert_allclose(found.values[:, :, 0], wanted, atol=1e-12)


def test_nodes_that_send_all_rows_left_say_what_their_child_says():
    trees = FlatTrees.unsplit(2, 1)
    trees.threshold[1, 0] = 4  # all of 5 cells
    votes = np.array([[[1.0], [9.0]], [[2.0], [9.0]]])
    roots = node_values(trees, votes, np.ones((2, 2)), np.array([5]))[0]
    np.testing.assert_array_equal(roots[:, 0, 0], [1.0, 2.0])


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_what_does_not_matter_contributes_little(delta):
    rows = RNG.random((20_000, 4))
    model = PrivateForestRegressor(bounds=(0, 1), target_bounds=(0, 1), epsilon=20, delta=delta)
    found = model.fit(rows, 0.6 * rows[:, 0] + 0.4 * (rows[:, 1] > 0.5)).explain(rows[:2000])
    size = np.abs(found.values[:, :, 0]).mean(axis=0)
    assert size[2:].max() < 0.1 * size[:2].min()
    # the truth: a quarter of 0.6 and a half of 0.4 on average
    np.testing.assert_allclose(size[:2], [0.15, 0.2], atol=0.05)


def test_hostile_names_and_missing_values_are_explained():
    evil = "x\n<b>'\""
    schema = Schema({evil: Numeric(0, 1), "w": Nominal([evil, "b"])}, Classes([evil, "ü"]))
    model = PrivateForestClassifier(schema=schema).fit([[0.1, evil], [0.9, "b"]], [evil, "ü"])
    found = model.explain(np.array([[None, "?"], [0.5, evil]], object))
    assert found.names == [evil, "w"]
    assert np.isfinite(found.values).all()
    assert list(found.to_frame().columns) == [evil, "w"]


def test_many_rows_are_explained_at_once():
    """No loop over rows: a step takes all of them."""
    rows = RNG.random((50_000, 5))
    model = PrivateForestClassifier(bounds=(0, 1), classes=[0, 1], epsilon=5, delta=1e-6, n_estimators=10)
    model.fit(rows, rows[:, 0] > rows[:, 1])
    begun = time.process_time()
    assert model.explain(rows).values.shape == (50_000, 5, 1)
    assert time.process_time() - begun < 20


def test_no_rows_no_explanation():
    model = PrivateForestRegressor(schema=Schema({"a": Numeric(0, 1)}, Range(0, 1)))
    assert model.fit([[0.1], [0.2]], [0.1, 0.2]).explain(np.empty((0, 1))).values.shape == (0, 1, 1)


def test_what_released_nothing_cannot_be_explained():
    model = DiPriMeForestClassifier(1, bounds=(0, 1), classes=[0, 1], as_published=True)
    with pytest.raises(NotFittedError):
        model.explain(X)
    with pytest.warns(PrivacyLeakWarning):
        model.fit(X, X[:, 0] > 0.5)
    with pytest.raises(TypeError, match="as published"):
        model.explain(X)
