"""The trees of a model as scikit-learn's: the same leaves, readable thresholds, usable by its tools."""

import pickle
import re

import numpy as np
import pytest
import treelite
from sklearn.tree import export_text, plot_tree

from dpforest import DiPriMeForestClassifier, PrivateForestClassifier, RandomDecisionForestClassifier
from dpforest._trees import cells_for, sum_leaf_values
from dpforest.export import python, to_sklearn
from dpforest.export import sklearn as trees_of_sklearn
from dpforest.schema import Classes, Nominal, Numeric, Schema
from tests.export.cases import CASES, X


def made_up(model):
    rows = python.made_up_rows(model.schema_, 1000, np.random.default_rng(3))
    table = np.empty((1000, len(rows[0])), object)
    table[:] = rows
    return table


def test_trees_and_treelite_add_up_to_the_votes_of_the_model(model):
    table, pipeline = made_up(model), to_sklearn(model)
    wanted = sum_leaf_values(model.trees_, model.leaf_votes_, cells_for(model, table))
    columns = pipeline["columns"].transform(table)
    found = sum(tree.predict(columns) for tree in pipeline["forest"].estimators_)
    np.testing.assert_allclose(found, wanted, atol=1e-9)
    forest = treelite.sklearn.import_model(pipeline["forest"])
    mean = treelite.gtil.predict(forest, columns)[:, :, 0]
    np.testing.assert_allclose(mean * model.trees_.n_trees, wanted, rtol=1e-9, atol=1e-9)
    assert pickle.loads(pickle.dumps(pipeline)).predict(table) == pytest.approx(pipeline.predict(table))


def test_probabilities_follow_where_there_are_but_trees():
    model = RandomDecisionForestClassifier(5, schema=CASES["labels"][0].schema).fit(X, CASES["labels"][1])
    votes = to_sklearn(model).predict(made_up(model))
    np.testing.assert_allclose(votes / votes.sum(axis=1, keepdims=True), model.predict_proba(made_up(model)))


def test_text_and_pictures_show_released_values_and_borders_of_the_grid():
    schema = Schema({"age": Numeric(18, 82, bins=64), "w<b>\n": Nominal(["A", "B"])}, Classes(["n", "y"]))
    rng = np.random.default_rng(0)
    rows = np.empty((3000, 2), object)
    rows[:, 0], rows[:, 1] = rng.uniform(18, 82, 3000), rng.choice(["A", "B"], 3000)
    y = np.where(rows[:, 0].astype(float) > 50, "y", "n")
    model = DiPriMeForestClassifier(1, schema=schema, epsilon=5, max_depth=2).fit(rows, y)
    pipeline = to_sklearn(model)
    names, (tree,) = list(pipeline["columns"].get_feature_names_out()), pipeline["forest"].estimators_
    text = export_text(tree, feature_names=names, decimals=3)
    leaves = {tuple(map(float, pair)) for pair in re.findall(r"value: \[([-\d.]+), ([-\d.]+)\]", text)}
    assert leaves <= {tuple(map(float, counts)) for counts in model.leaf_statistics_[0]}
    cuts = [float(cut) for cut in re.findall(r"age <= ([\d.]+)", text)]
    assert all(cut in schema.features["age"].borders for cut in cuts)
    assert len(plot_tree(tree, feature_names=names, impurity=False)) >= 3
    counts = np.maximum(model.leaf_statistics_[0].sum(axis=1), 1)  # shap refuses trees with empty leaves
    assert tree.tree_.n_node_samples[0] == pytest.approx(counts.sum(), abs=4)
    assert tree.tree_.weighted_n_node_samples.min() >= 1


def test_cells_too_fine_for_single_precision_are_numbered():
    """The forest of scikit-learn rounds what it gets; seconds of one day of 2026 would fall together."""
    schema = Schema({"t": Numeric(1.7e9, 1.7e9 + 86400, bins=4096)}, Classes([0, 1]))
    rows = 1.7e9 + 86400 * np.random.default_rng(0).random((2000, 1))
    model = DiPriMeForestClassifier(2, schema=schema, epsilon=5, max_depth=3).fit(
        rows, rows[:, 0] > 1.7e9 + 4e4
    )
    wanted = sum_leaf_values(model.trees_, model.leaf_votes_, cells_for(model, rows))
    np.testing.assert_allclose(2 * to_sklearn(model).predict(rows), wanted)


def test_trees_that_would_differ_are_not_handed_out(monkeypatch):
    model = CASES["votes"][0].fit(X, CASES["votes"][1])
    monkeypatch.setattr(trees_of_sklearn.NodeColumns, "test", lambda *_: None)
    with pytest.raises(RuntimeError, match="do not predict"):
        to_sklearn(model)


def test_what_is_not_a_fitted_forest_is_refused():
    with pytest.raises(TypeError, match="fitted forest"):
        to_sklearn(PrivateForestClassifier())
