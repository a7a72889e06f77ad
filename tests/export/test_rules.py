"""Rules as text: every leaf once, released values, names that cannot break a line."""

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from dpforest import DiPriMeForestClassifier, PrivateForestClassifier
from dpforest.cli import main
from dpforest.export import to_rules
from dpforest.schema import Classes, Date, Nominal, Numeric, Schema
from tests.export.cases import BINARY, CASES, X


def test_every_tree_and_feature_is_told(model):
    text = to_rules(model)
    assert text.startswith(f"{type(model).__name__}: {model.guarantee_}\n")
    assert text.count("\nTree ") == model.trees_.n_trees
    if model.additive_ is not None:
        assert all(f"\n{name}: " in text for name in model.schema_.names)
    assert text.isascii() or all(c.isprintable() or c == "\n" for c in text)


def test_leaves_have_the_released_counts():
    model = DiPriMeForestClassifier(2, bounds=(0, 1), classes=[0, 1], max_depth=3)
    rows = np.random.default_rng(0).random((500, 2))
    text = to_rules(model.fit(rows, rows[:, 0] > 0.5))
    for first, second in model.leaf_statistics_.reshape(-1, 2):
        assert f"-> noisy counts 0: {first}, 1: {second}\n" in text


def test_scores_of_a_feature_are_those_of_the_model():
    """The told scores of a row's cells, with the leaf, give the odds that the model predicts."""
    schema = Schema({"w": Nominal(["A", "B"]), "v": Nominal(["C", "D"])}, Classes(["n", "y"]))
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"w": rng.choice(["A", "B"], 4000), "v": rng.choice(["C", "D"], 4000)})
    model = PrivateForestClassifier(schema=schema, epsilon=5, delta=1e-6, max_depth=0)
    text = to_rules(model.fit(rows, np.where(rows["w"] == "A", "n", "y")))
    lines = dict(line.split(": ", 1) for line in text.splitlines() if line.startswith(("w: ", "v: ")))
    told = {
        name: {part.rsplit(": ", 1)[0]: float(part.rsplit(": ", 1)[1]) for part in line.split(", ")}
        for name, line in lines.items()
    }
    gap = model.additive_.table[0, 1] - model.additive_.table[0, 0]
    assert told["w"]["B"] - told["w"]["A"] == pytest.approx((gap[1] - gap[0]) / 2**16, abs=0.02)


def test_names_cannot_break_a_line():
    evil = "x\nTree 9 of 9\u202e<b>"
    schema = Schema({evil: Numeric(0, 1), "w": Nominal([evil, "b"])}, Classes([evil, "ü"]))
    rows = pd.DataFrame({evil: [0.1, 0.9], "w": [evil, "b"]})
    text = to_rules(PrivateForestClassifier(schema=schema).fit(rows, [evil, "ü"]))
    assert "\nTree 9" not in text
    assert "x\\nTree 9 of 9\\u202e<b>" in text
    assert "ü" in text


def test_the_command_writes_rules(tmp_path):
    model = CASES["pure, two classes"][0].fit(X, BINARY)
    model.save(tmp_path / "m.json")
    line = ["export", str(tmp_path / "m.json"), "--to", "rules", "--out", str(tmp_path / "rules.txt")]
    assert CliRunner().invoke(main, line).exit_code == 0
    assert (tmp_path / "rules.txt").read_text(encoding="utf-8") == to_rules(model)


def test_what_is_not_a_fitted_forest_is_refused():
    with pytest.raises(TypeError, match="fitted forest"):
        to_rules(PrivateForestClassifier())


def test_columns_of_two_features_are_told_in_their_units():
    schema = Schema({"age": Numeric(20, 60), "since": Date("2015-01-01", "2025-01-01")}, Classes(["n", "y"]))
    rng = np.random.default_rng(0)
    days = np.datetime64("2015-01-01") + rng.integers(0, 3650, 500)
    rows = pd.DataFrame({"age": rng.uniform(20, 60, 500), "since": days})
    model = PrivateForestClassifier(schema=schema, epsilon=1).fit(rows, np.where(rows["age"] > 40, "n", "y"))
    model.trees_.feature[0, 0], model.trees_.threshold[0, 0] = 2, 127
    assert model.schema_.combinations
    text = to_rules(model)
    assert "each by its place in the declared range, from 0 to 1" in text
    assert "age 0 at 20, 0.5 at 40, 1 at 60" in text
    assert "since 0 at 2015-01-01, 0.5 at 2020-01" in text
    model.trees_.feature[:] = 0  # nothing is added, nothing is told
    assert "brackets" not in to_rules(model)
