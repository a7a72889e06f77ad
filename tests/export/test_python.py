"""A model as one file of plain Python answers as the model does, without any package."""

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from dpforest import PrivateForestClassifier
from dpforest.export import python, to_python
from dpforest.schema import Classes, Nominal, Numeric, Schema
from tests.export.cases import BINARY, CASES, X, table


def test_the_file_answers_as_the_model_on_a_thousand_rows(model):
    scoring = {"__name__": "scoring"}
    exec(to_python(model), scoring)
    new, _ = table(500, seed=1)
    rows = new[list(model.schema_.names)].to_numpy(object).tolist()
    rows += python.made_up_rows(model.schema_, 500, np.random.default_rng(2))
    asked = np.empty((1000, len(rows[0])), object)
    asked[:] = rows
    if hasattr(model, "classes_"):
        found = np.array([scoring["predict_proba"](row) for row in rows])
        np.testing.assert_allclose(found, model.predict_proba(asked), rtol=0, atol=1e-6)
        assert [scoring["predict"](row) for row in rows] == model.predict(asked).tolist()
        by_name = dict(zip(model.schema_.names, rows[0], strict=True))
        assert scoring["predict"](by_name) == scoring["predict"](rows[0])
        np.testing.assert_array_equal(scoring["CLASSES"], model.classes_)
    else:
        found = np.array([scoring["predict"](row) for row in rows])
        np.testing.assert_allclose(found, model.predict(asked), rtol=0, atol=1e-6 * 8)


def test_all_parts_of_models_are_among_the_cases():
    fitted = {name: case[0] for name, case in CASES.items() if hasattr(case[0], "trees_")}
    assert len(fitted) == len(CASES)
    assert any(model.schema_.combinations for model in fitted.values())
    assert any(model.additive_ is not None and model.additive_.pairs is None for model in fitted.values())
    assert all(model.additive_.pairs is not None for name, model in fitted.items() if "boosted" in name)


def test_the_file_needs_no_package_and_reads_csv(tmp_path):
    estimator, y = CASES["pure, words"]
    model = estimator.fit(X, y)
    (tmp_path / "scoring.py").write_text(to_python(model), encoding="utf-8")
    new, _ = table(20, seed=3)
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(tmp_path / "scoring.py")],  # no site packages, no environment
        input=new.to_csv(index=False), capture_output=True, text=True, check=True, env={"LANG": "C.UTF-8"},
    )  # fmt: skip
    lines = [line.split(",") for line in done.stdout.splitlines()]
    assert lines[0] == ["prediction", "a", "b"]
    np.testing.assert_allclose(
        [float(line[2]) for line in lines[1:]], model.predict_proba(new)[:, 1], atol=1e-6
    )
    lacking = subprocess.run(
        [sys.executable, "-I", "-S", str(tmp_path / "scoring.py")], input="other\n1\n",
        capture_output=True, text=True, check=False, env={"LANG": "C.UTF-8"},
    )  # fmt: skip
    names = ", ".join(model.schema_.names)
    assert lacking.returncode == 1
    assert lacking.stderr == (
        f"The columns {names} are missing. The model needs {names}. "
        "Give None for a value that is not known.\n"
    )
    scoring = {"__name__": "scoring"}
    exec(to_python(model), scoring)
    with pytest.raises(ValueError, match=f"{model.schema_.names[0]} are missing"):
        scoring["predict"](dict.fromkeys(model.schema_.names[1:]))


def test_a_file_that_would_differ_is_not_handed_out(monkeypatch):
    estimator, y = CASES["pure, two classes"]
    model, honest = estimator.fit(X, y), python.document_of
    monkeypatch.setattr(
        python, "document_of", lambda m: honest(m) | {"left_sets": [[1] * 300] * 600, "trees": []}
    )
    with pytest.raises(RuntimeError, match="does not predict as the model"):
        to_python(model)


def test_names_that_look_like_code_stay_names():
    evil = "x'); import os; os.environ['DPFOREST_EVIL'] = '1'; ('"
    schema = Schema({evil: Numeric(0, 1), "w": Nominal(['""")', "\\"])}, Classes(["'", '"']))
    rows = pd.DataFrame({evil: [0.1, 0.9], "w": ["\\", '""")']})
    scoring = {"__name__": "scoring"}
    exec(to_python(PrivateForestClassifier(schema=schema).fit(rows, ["'", '"'])), scoring)
    assert scoring["NAMES"] == [evil, "w"]
    assert "DPFOREST_EVIL" not in os.environ


def test_what_is_not_a_fitted_forest_is_refused():
    with pytest.raises(TypeError, match="fitted forest"):
        to_python(PrivateForestClassifier())


def test_the_command_writes_the_file(tmp_path):
    from click.testing import CliRunner

    from dpforest.cli import main

    CASES["pure, two classes"][0].fit(X, BINARY).save(tmp_path / "m.json")
    line = [
        "export",
        str(tmp_path / "m.json"),
        "--to",
        "python",
        "--out",
        str(tmp_path / "s.py"),
        "--json",
    ]
    done = CliRunner().invoke(main, line)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["guarantee"]["epsilon"] == 4.0
    assert "def predict_proba(row)" in (tmp_path / "s.py").read_text()
    assert CliRunner().invoke(main, line).exit_code == 2  # it is there
