"""The default forest whose leaves have classes that were chosen with its cuts."""

import json
from dataclasses import replace

import numpy as np
import pytest

import dpforest
from dpforest import PrivateForestClassifier
from dpforest._curator import NAMED
from dpforest.modelfile.errors import ModelFileError


def rows_of(n, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 3))
    y = (X[:, 0] > 0.5).astype(int) + (n_classes > 2) * (X[:, 1] > 0.7)
    return X, y


def fitted(X, y, epsilon=1.0, config=None, **given):
    model = PrivateForestClassifier(
        epsilon=epsilon, bounds=(0, 1), classes=list(range(int(y.max()) + 1)), **given
    )
    if config is not None:
        model._config = replace(model._config, **config)
    return model.fit(X, y)


@pytest.mark.parametrize(("n", "depth"), [(200, 2), (2000, 4)])
def test_classes_of_leaves_come_with_the_last_two_levels(n, depth):
    model = fitted(*rows_of(n))
    assert [event.level for event in model.ledger_ if event.mechanism == NAMED] == [depth - 2]
    assert model.leaf_classes_.shape == (2**depth,)
    assert sum(event.cost for event in model.ledger_) == model.ledger_.plan.total


def test_leaves_of_an_odd_depth_of_several_trees_or_along_a_direction_have_none():
    X, y = rows_of(2000)
    assert fitted(X, y, max_depth=3).leaf_classes_ is None
    assert fitted(X, y, epsilon=40.0, n_estimators=2).leaf_classes_ is None
    assert fitted(X, y, max_depth=4).leaf_classes_ is not None
    assert fitted(X, y, config={"name_leaves": False}).leaf_classes_ is None


def test_a_class_that_was_chosen_is_what_a_leaf_says():
    """Counts with next to no budget are noise; the classes that came with the cuts predict all the same."""
    X, y = rows_of(4000, seed=1)
    scores = []
    for _ in range(5):
        model = fitted(X, y, epsilon=0.3, max_depth=4)
        leaves, classes = model.leaf_votes_[0], model.leaf_classes_
        rows = model.leaf_statistics_[0].sum(axis=1)
        sure = rows > 100 * 3  # leaves of noise alone, and of a few rows, may say what their parents do
        assert (leaves.argmax(axis=1) == classes)[sure].mean() > 0.7
        scores.append(model.score(X, y))
    assert np.mean(scores) > 0.85


def test_files_keep_the_classes_and_files_without_them_are_read(tmp_path):
    X, y = rows_of(2000)
    model = fitted(X, y)
    model.save(tmp_path / "model.json")
    same = dpforest.load(tmp_path / "model.json")
    np.testing.assert_array_equal(same.leaf_classes_, model.leaf_classes_)
    np.testing.assert_array_equal(same.predict_proba(X), model.predict_proba(X))
    other = dpforest.DiPriMeForestClassifier(bounds=(0, 1), classes=[0, 1, 2]).fit(X, y)
    other.save(tmp_path / "other.json")
    assert dpforest.load(tmp_path / "other.json").leaf_classes_ is None


@pytest.mark.parametrize(
    "wrong", [[0], "0", [3] * 16, [-1] * 16, [0.0] * 16, [True] * 16, [2**70] * 16, [[0]] * 16]
)
def test_files_with_classes_that_do_not_fit_are_refused(tmp_path, wrong):
    model = fitted(*rows_of(2000), max_depth=4)

    class Classes:
        """What stands in the file in place of the classes."""

        dtype, shape = np.dtype(np.int64), (16,)

        def min(self):
            return 0

        max = min

        def tolist(self):
            return json.loads(json.dumps(wrong))

    model.leaf_classes_ = Classes()
    model.save(tmp_path / "model.json")
    with pytest.raises(ModelFileError):
        dpforest.load(tmp_path / "model.json")


@pytest.mark.parametrize(("depth", "classes"), [(3, np.zeros(8, np.int64)), (4, None)])
def test_classes_that_the_ledger_does_not_speak_of_are_refused(tmp_path, depth, classes):
    model = fitted(*rows_of(2000), max_depth=depth)
    model.leaf_classes_ = classes
    model.save(tmp_path / "model.json")
    with pytest.raises(ModelFileError, match="ledger"):
        dpforest.load(tmp_path / "model.json")
