"""The audit commands: what they print, and exit codes that a pipeline can rely on."""

import json

import pytest
from click.testing import CliRunner

from dpforest import audit
from dpforest.audit import AuditReport, AuditResult
from dpforest.cli import main

KEPT = AuditResult("kept", 1.0, 0.7, "statistical", 0.99, "no row, and one row", "count >= 1", 500)
BROKEN = AuditResult("broken", 1.0, 2.0, "statistical", 0.99, "no row, and one row", "count >= 3", 500)

OWN_MODEL = """
import numpy as np
from dpforest import RandomDecisionTreesClassifier
kept = RandomDecisionTreesClassifier(1, bounds=(0, 1), classes=[0, 1], max_depth=0)
class Raw:
    epsilon, bounds, classes = 1.0, (0, 1), [0, 1]
    def get_params(self, deep=True):
        return {}
    def fit(self, X, y):
        self.n_rows_ = len(X)
        return self
    def predict(self, X):
        return np.zeros(len(X))
raw = Raw()
"""


def run(*arguments):
    return CliRunner().invoke(main, ["audit", *map(str, arguments)])


@pytest.fixture
def own_model(tmp_path, monkeypatch):
    (tmp_path / "own_model.py").write_text(OWN_MODEL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)


def test_own_model_is_audited_by_its_address(own_model, tmp_path):
    result = run("run", "own_model:kept", "--runs", 400, "--jobs", 1, "--seed", 0, "--out", "out.json")
    assert result.exit_code == 0, result.output
    assert "no violation found at this confidence" in result.output
    assert json.loads((tmp_path / "out.json").read_text())[0]["name"] == "own_model:kept"


def test_a_violation_is_explained_and_is_exit_code_1(own_model):
    result = run("run", "own_model:raw", "--runs", 600, "--jobs", 1)
    assert result.exit_code == 1, result.output
    assert "violation found" in result.output
    assert "attribute n_rows_" in result.output


def test_subjects_are_listed_and_chosen_by_a_part_of_their_name():
    result = run("run", "majority", "permute and flip", "--list")
    assert result.exit_code == 0
    assert "RandomDecisionTreesClassifier, majority" in result.output
    assert "DiPriMeForestRegressor, permute and flip" in result.output
    assert "PartitioningEnsemble" not in result.output
    assert run("run", "no such forest").exit_code == 2
    assert "too few" in run("run", "majority", "--runs", 100).output


@pytest.mark.parametrize(("results", "code"), [([BROKEN, KEPT], 0), ([BROKEN, BROKEN], 1)])
def test_gallery_fails_only_if_a_repaired_form_does(monkeypatch, results, code):
    monkeypatch.setattr(audit, "gallery", lambda quick: AuditReport(results))
    result = run("gallery", "--quick")
    assert result.exit_code == code, result.output
    assert "published forms that break their promise: 1 of 1" in result.output
    assert BROKEN.pair in run("gallery", "--words").output


def test_interrupted_commands_say_so(monkeypatch):
    monkeypatch.setattr(audit, "gallery", lambda quick: AuditReport([BROKEN, KEPT], interrupted=True))
    assert run("gallery").exit_code == 130
    monkeypatch.setattr(audit, "audit_every", lambda *_, **__: AuditReport([KEPT], interrupted=True))
    result = run("run", "majority")
    assert result.exit_code == 130
    assert "interrupted" in result.output


def test_audits_answer_in_json(monkeypatch):
    monkeypatch.setattr(audit, "gallery", lambda quick: AuditReport([BROKEN, KEPT]))
    told = json.loads(run("gallery", "--json").stdout)
    assert [result["name"] for result in told["results"]] == ["broken", "kept"]
    monkeypatch.setattr(audit, "audit_every", lambda *_, **__: AuditReport([BROKEN, KEPT]))
    done = run("run", "majority", "--json")
    assert done.exit_code == 1
    assert json.loads(done.stdout)["violations"] == ["broken"]
    assert not done.stderr
    assert (
        "RandomDecisionTreesClassifier, majority"
        in json.loads(run("run", "majority", "--list", "--json").stdout)["subjects"]
    )
