"""A model as an ONNX graph answers as the model does, in onnxruntime, from raw columns."""

import json

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
from click.testing import CliRunner

from dpforest import PrivateForestClassifier
from dpforest.cli import main
from dpforest.export import onnx as graphs
from dpforest.export import python, to_onnx
from dpforest.export.columns import columns_for
from dpforest.forests.registry import ESTIMATORS
from dpforest.schema import Classes, Nominal, Numeric, Schema
from tests.export.cases import BINARY, CASES, FEATURES, SCORE, X


def ask(content, columns):
    """Answers of a graph to columns."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(content, options, ["CPUExecutionProvider"])
    found = session.run(None, columns)
    return dict(zip([output.name for output in session.get_outputs()], found, strict=True))


def assert_same(model, content, n_rows):
    """Rows of declared, missing, undeclared, far-off values and of exact borders of the grid."""
    columns = columns_for(model, python.made_up_rows(model.schema_, n_rows, np.random.default_rng(2)))
    answers = ask(content, columns)
    rows = np.concatenate([column.astype(object) for column in columns.values()], axis=1)
    if hasattr(model, "classes_"):
        assert answers["probabilities"].dtype == np.float64
        np.testing.assert_allclose(answers["probabilities"], model.predict_proba(rows), rtol=0, atol=1e-9)
        np.testing.assert_array_equal(answers["label"], model.predict(rows))
    else:
        np.testing.assert_allclose(answers["prediction"], model.predict(rows), rtol=1e-12)


def test_the_graph_answers_as_the_model_on_a_thousand_rows(model):
    assert_same(model, to_onnx(model).SerializeToString(), 1000)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_has_a_graph(name):
    estimator = ESTIMATORS[name]
    is_class = "classes" in estimator().get_params()
    given = {"classes": ["a", "b", "c"]} if is_class else {"target_bounds": (0, 1)}
    rows = np.random.default_rng(0).random((300, 3))
    y = np.array(["a", "b", "c"])[(rows[:, 0] * 3).astype(int)] if is_class else rows[:, 0]
    if "SemiSupervised" in name or "Transductive" in name:
        y = np.where(np.arange(300) % 2, y, None)
    small = {"max_depth": 3, "n_estimators": 1 if estimator().n_estimators in (None, 1) else 3}
    small = {key: value for key, value in small.items() if key in estimator().get_params()}
    model = estimator(epsilon=4.0, bounds=(0, 1), **given, **small).fit(rows, y)
    assert_same(model, to_onnx(model).SerializeToString(), 100)


def test_a_table_goes_in_column_by_column():
    """As a user of onnxruntime writes it, without anything of this library."""
    kinds = {"age": float, "ward": str, "code": float}
    schema = Schema({name: FEATURES[name] for name in kinds}, Classes([False, True]))
    model = PrivateForestClassifier(schema=schema, epsilon=5).fit(X[list(kinds)], BINARY == 1)
    new = X[list(kinds)].head(200)
    columns = {name: new[[name]].astype(object).fillna("nan").to_numpy(kinds[name]) for name in kinds}
    found = ask(to_onnx(model).SerializeToString(), columns)
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(new), rtol=0, atol=1e-9)
    np.testing.assert_array_equal(found["label"], model.predict(new))


def test_hostile_names_stay_names():
    evil, markup = "x'); \n<script>\u202e" + "\U0001f480", '"><b>&amp;'
    names = [evil, "label", "probabilities", "_0", "__c1", "rows", markup]
    features = {name: Numeric(0, 1) for name in names[:-1]} | {markup: Nominal([markup, "\n", "", "'", "ß"])}
    schema = Schema(features, Classes([evil, markup]))
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.random((200, 6)), columns=names[:-1])
    rows[markup] = rng.choice([markup, "\n", "", "'", "ß", "else"], 200)
    y = np.where(rows[evil] > 0.5, evil, markup)
    model = PrivateForestClassifier(schema=schema, epsilon=1000).fit(rows, y)
    graph = to_onnx(model)
    assert [column.name for column in graph.graph.input] == names
    assert [column.name for column in graph.graph.output] == ["label_", "probabilities_"]
    columns = columns_for(model, rows.to_numpy(object).tolist())
    label, probabilities = ask(graph.SerializeToString(), columns).values()
    np.testing.assert_allclose(probabilities, model.predict_proba(rows), rtol=0, atol=1e-9)
    np.testing.assert_array_equal(label, model.predict(rows))
    assert {evil, markup} == set(label)


def test_text_that_is_no_text_is_refused_in_words():
    schema = Schema({"\ud800": Numeric(0, 1)}, Classes([0, 1]))
    with pytest.raises(ValueError, match="rename the column"):
        to_onnx(PrivateForestClassifier(schema=schema).fit([[0.1], [0.9]], [0, 1]))


def test_the_graph_says_what_it_promises_and_holds_no_more_than_the_model_file(tmp_path):
    """Every number of the graph is a number of the model, of its schema, or small."""
    model = CASES["pure, numbers"][0]
    graph = to_onnx(model.fit(X, SCORE))
    facts = {entry.key: json.loads(entry.value) for entry in graph.metadata_props}
    assert facts == {"guarantee": model.guarantee_.to_dict(), "schema": model.schema_.to_dict()}
    known = [model.leaf_votes_.ravel(), *(f.borders for f in FEATURES.values() if hasattr(f, "borders"))]
    public = [*known, [model.schema_.range.levels, 0, 8, 2**16, 1, 2, 30, np.inf]]
    doubles = [
        onnx.numpy_helper.to_array(array) for array in graph.graph.initializer if array.data_type == 11
    ]
    assert set(np.concatenate([array.ravel() for array in doubles])) <= set(np.concatenate(public))


def test_a_graph_that_would_differ_is_not_handed_out(monkeypatch):
    estimator, y = CASES["pure, two classes"]
    model, honest = estimator.fit(X, y), graphs.document_of
    monkeypatch.setattr(graphs, "document_of", lambda m: honest(m) | {"tree_weight": 0.0, "additive": []})
    with pytest.raises(RuntimeError, match="does not predict as the model"):
        to_onnx(model)


def test_what_is_not_a_fitted_forest_is_refused():
    with pytest.raises(TypeError, match="fitted forest"):
        to_onnx(PrivateForestClassifier())


def test_the_command_writes_a_graph(tmp_path):
    model = CASES["pure, two classes"][0].fit(X, BINARY)
    model.save(tmp_path / "m.json")
    line = ["export", str(tmp_path / "m.json"), "--to", "onnx", "--out", str(tmp_path / "m.onnx"), "--json"]
    done = CliRunner().invoke(main, line)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["guarantee"]["epsilon"] == 4.0
    assert_same(model, (tmp_path / "m.onnx").read_bytes(), 50)


def test_without_onnx_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(graphs, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"dpforest\[onnx\]"):
        to_onnx(CASES["pure, two classes"][0].fit(X, BINARY))
