"""Fits that part two classes along a direction: when they do, what they release, and where it goes."""

import math
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import dpforest
from dpforest import PrivateForestClassifier
from dpforest._curator import NESTED_OR_RIVAL
from dpforest.audit.subjects import DirectionForestClassifier
from dpforest.export import to_onnx, to_python
from dpforest.privacy import Kind
from dpforest.schema import Classes, Nominal, Numeric, Schema

pytestmark = pytest.mark.filterwarnings("ignore::dpforest.privacy.PrivacyLeakWarning")
TWENTY = Schema({f"x{i}": Numeric(-6, 6) for i in range(20)}, Classes([0, 1]))


def normals(n, seed=0):
    """Two classes that differ a little in each of twenty features."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return rng.normal(size=(n, 20)) + np.where(y[:, None], 1, -1) * 2 / math.sqrt(20), y


def kinds(model):
    return {event.kind for event in model.ledger_}


def fitted(X, y, schema=TWENTY, **given):
    given = {"epsilon": 0.1, "random_state": 0} | given
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # seeds are meant
        return PrivateForestClassifier(schema=schema, **given).fit(X, y)


@pytest.fixture(scope="module")
def model():
    return fitted(*normals(5000))


def test_few_rows_that_differ_a_little_in_every_feature_are_told_apart(model):
    """At a budget at which a tree alone names 78 % correctly, and sums over features drown in noise."""
    assert model.trees_.depth == 0
    assert model.score(*normals(2000, seed=1)) > 0.87
    assert Kind.DIRECTION in kinds(model)
    assert model.ledger_.total() == model.ledger_.plan.total
    assert model.feature_importances_.min() > 0.001
    assert model.feature_importances_.sum() == pytest.approx(1)


def test_what_was_decided_is_said(model):
    said = model.explain_plan()
    assert "comparing random directions" in said
    assert "a direction through all features was chosen" in said
    assert "splits of the tree" not in said
    # where even that turned out to be worth nothing
    X, y = normals(300)
    for seed in range(99):
        lost = DirectionForestClassifier(epsilon=0.01, schema=TWENTY, random_state=seed).fit(X, y)
        if not lost.feature_importances_.any():
            break
    assert "class shares are all that the model knows" in lost.explain_plan()


def test_public_rows_are_named_where_they_told_where_features_lie(model):
    X, y = normals(5000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with_them = PrivateForestClassifier(epsilon=0.1, schema=TWENTY, random_state=0).fit(
            X, y, X_public=normals(200, seed=3)[0]
        )
    assert "came from public rows" in with_them.explain_plan()
    assert "came from public rows" not in model.explain_plan()


def test_boxes_are_still_cut_by_a_tree():
    rng = np.random.default_rng(0)
    X = rng.uniform(-6, 6, (4000, 20))
    y = ((X[:, 0] > 1) != (X[:, 1] > -1)).astype(int)
    model = fitted(X, y, epsilon=0.2)
    assert model.trees_.depth >= 2
    assert model.score(X, y) > 0.8
    assert any(event.mechanism == NESTED_OR_RIVAL for event in model.ledger_)
    assert "compared with the first two levels of the tree, and lost" in model.explain_plan()


def test_whoever_asks_for_a_tree_gets_one():
    model = fitted(*normals(5000), max_depth=3)
    assert model.trees_.depth == 3
    assert not any(event.mechanism == NESTED_OR_RIVAL for event in model.ledger_)


@pytest.mark.parametrize(
    ("n", "positive", "epsilon", "is_compared", "is_fitted"),
    [
        (900, 0.1, 1.0, True, False),
        (1900, 0.5, 1.0, True, False),
        (1900, 0.1, 1.0, False, True),
        (2900, 0.5, 1.0, True, True),
        (2900, 0.5, 3.0, False, True),
    ],
)
def test_rare_classes_and_many_rows_keep_their_linear_part(n, positive, epsilon, is_compared, is_fitted):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 20))
    y = (X.sum(axis=1) > np.quantile(X.sum(axis=1), 1 - positive)).astype(int)
    model = fitted(X, y, epsilon=epsilon)
    assert any(event.mechanism == NESTED_OR_RIVAL for event in model.ledger_) == is_compared
    assert (Kind.FITTED_WEIGHTS in kinds(model)) == is_fitted


def test_where_features_add_up_there_is_a_linear_part_and_no_tree():
    """With more rows a direction is not the model but says what kind of model is wanted."""
    X, y = normals(5000)
    model = fitted(X, y, epsilon=1.0)
    assert model.trees_.depth == 0
    assert Kind.FITTED_WEIGHTS in kinds(model)
    assert Kind.DIRECTION not in kinds(model)
    assert "so they add up" in model.explain_plan()
    assert "splits of the tree" not in model.explain_plan()
    assert model.ledger_.total() == model.ledger_.plan.total
    whole = model.ledger_.plan.amount("model")
    spent = {event.kind: event.cost / whole for event in model.ledger_ if event.pool == "model"}
    assert spent[Kind.LEAF_COUNTS] == Fraction(2, 100)
    assert spent[Kind.PART_WEIGHTS] == Fraction(5, 100)
    assert spent[Kind.SPLITS] < Fraction(1, 10)  # the comparison; all of the rest is for the linear part
    assert model.score(X, y) > 0.94


def test_few_features_keep_their_tree():
    rng = np.random.default_rng(0)
    for n_features in (6, 7):
        X = rng.normal(size=(3000, n_features))
        schema = Schema({f"x{i}": Numeric(-6, 6) for i in range(n_features)}, Classes([0, 1]))
        model = fitted(X, (X.sum(axis=1) > 0).astype(int), schema, epsilon=1.5)
        assert (model.trees_.depth == 0) is (n_features == 7)


def test_a_box_is_not_taken_for_a_sum():
    """Squares of two features follow it, and won against two levels where they were among the directions."""
    rng = np.random.default_rng(0)
    schema = Schema({f"x{i}": Numeric(-1, 1) for i in range(8)}, Classes([0, 1]))
    for _ in range(3):
        X = rng.uniform(-1, 1, (3000, 8))
        model = fitted(X, (np.abs(X[:, :2]) < 0.7).all(axis=1).astype(int), schema, epsilon=1.5)
        assert model.trees_.depth >= 2


def test_where_they_do_not_there_are_both():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (5000, 20))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    model = fitted(X, y, epsilon=1.0)
    assert model.trees_.depth >= 2
    assert Kind.FITTED_WEIGHTS in kinds(model)
    assert "and lost" in model.explain_plan()
    assert "splits of the tree" in model.explain_plan()
    assert model.ledger_.total() == model.ledger_.plan.total


def test_without_two_levels_to_compare_with_there_is_a_linear_part():
    """So many features have no room for tables of pairs."""
    rng = np.random.default_rng(0)
    wide = Schema({f"x{i}": Numeric(0, 1, bins=64) for i in range(210)}, Classes([0, 1]))
    model = fitted(rng.random((2200, 210)), rng.integers(0, 2, 2200), wide, epsilon=1.0)
    assert Kind.FITTED_WEIGHTS in kinds(model)


def test_the_same_model_comes_from_threads_and_files(model, tmp_path):
    X, y = normals(5000)
    frame = pd.DataFrame(X, columns=list(TWENTY.names)).assign(y=y)
    frame.to_parquet(tmp_path / "rows.parquet")
    for other in (fitted(X, y, n_jobs=2), fitted(str(tmp_path / "rows.parquet"), "y")):
        np.testing.assert_array_equal(other.additive_.table, model.additive_.table)


def test_it_goes_wherever_models_go(model, tmp_path):
    X, _ = normals(200, seed=2)
    wanted = model.predict_proba(X)
    model.save(tmp_path / "model.json")
    np.testing.assert_array_equal(dpforest.load(tmp_path / "model.json").predict_proba(X), wanted)
    scoring = {"__name__": "scoring"}
    exec(to_python(model), scoring)
    np.testing.assert_allclose([scoring["predict_proba"](row) for row in X.tolist()], wanted, atol=1e-6)
    assert to_onnx(model).graph.node


def test_values_that_are_missing_or_undeclared_stay_in_the_middle():
    """No row had one: nothing is known of them."""
    rng = np.random.default_rng(0)
    words = np.array(list("abcd"))
    codes = rng.integers(0, 4, (4000, 12))
    y = (codes.sum(axis=1) > 18).astype(int)
    schema = Schema({f"w{i}": Nominal(list("abcd")) for i in range(12)}, Classes([0, 1]))
    model = fitted(words[codes].astype(object), y, schema)
    assert Kind.DIRECTION in kinds(model)
    table = model.additive_.table[1:, :, 1].astype(float)  # the first feature carries the threshold
    middle = table[:, :4].mean(axis=1)
    np.testing.assert_allclose(table[:, 4:6], np.tile(middle, (2, 1)).T, atol=abs(table).max() * 0.01)
