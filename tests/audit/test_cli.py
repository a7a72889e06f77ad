"""The audit commands: what they print, and exit codes that a pipeline can rely on."""

import json
import subprocess
import sys

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

class Plain:
    def fit(self, X, y):
        self.n_rows_ = len(X)
    def predict(self, X):
        return np.zeros(len(X))

def fails(X, y):
    raise ZeroDivisionError("in my own code")

def exits(X, y):
    raise SystemExit(3)

number = 3
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


def test_a_claim_and_a_schema_make_up_for_what_a_subject_does_not_say(own_model, tmp_path):
    age = {"age": {"type": "numeric", "min": 0, "max": 8}, "outcome": {"type": "class", "categories": [0, 1]}}
    (tmp_path / "schema.json").write_text(json.dumps(age))
    options = ("--runs", "400", "--jobs", "2", "--claim", "1", "--schema", "schema.json")
    # a program of its own, whose worker processes must find the module of the working directory
    program = "from dpforest.cli import main; main()"
    command = [sys.executable, "-c", program, "audit", "run", "own_model:Plain", *options]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "attribute n_rows_" in done.stdout
    assert "Give claim=epsilon" in run("run", "own_model:Plain").output
    assert "--schema" in run("run", "own_model:Plain", "--claim", 1).output


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("no_such_module:kept", "no module 'no_such_module' in the working directory"),
        (
            "own_model:no_such_name",
            "has no 'no_such_name'; it has Plain, RandomDecisionTreesClassifier, Raw,",
        ),
        ("own_model:raw.no_such_name", "has no 'raw.no_such_name'"),
        ("own_model:", "has no ''"),
        (":kept", "ValueError: Empty module name"),
        ("broken_model:kept", "importing 'broken_model' failed with ZeroDivisionError: division by zero"),
        ("needy_model:kept", "importing 'needy_model' needs 'no_such_package', which is missing"),
        ("own_model:number", "int cannot be audited: give an object with fit(X, y)"),
        ("own_model:fails", "fit fails (ZeroDivisionError): 'in my own code'. Give tables that it takes"),
        ("own_model:exits", "fit fails (SystemExit): '3'"),
    ],
)
def test_what_is_wrong_with_an_address_is_said(own_model, tmp_path, address, message):
    (tmp_path / "broken_model.py").write_text("1 / 0")
    (tmp_path / "needy_model.py").write_text("import no_such_package")
    (tmp_path / "schema.json").write_text('{"outcome": {"type": "class", "categories": [0, 1]}, "age": '
                                          '{"type": "numeric", "min": 0, "max": 8}}')  # fmt: skip
    result = run("run", address, "--jobs", 1, "--claim", 1, "--schema", "schema.json")
    assert result.exit_code == 2, result.output
    assert message in " ".join(result.output.replace("│", " ").split())
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert "Traceback" not in result.output


def test_a_subject_that_cannot_be_audited_keeps_no_other_from_it(own_model):
    result = run("run", "own_model:number", "own_model:raw", "--runs", 400, "--jobs", 1)
    assert result.exit_code == 1, result.output
    assert "violations found: 1 of 1, 1 could not be audited" in result.output


def test_subjects_are_listed_and_chosen_by_a_part_of_their_name():
    result = run("run", "majority", "permute and flip", "--list")
    assert result.exit_code == 0
    assert "RandomDecisionTreesClassifier, majority" in result.output
    assert "DiPriMeForestRegressor, permute and flip" in result.output
    assert "PartitioningEnsemble" not in result.output
    assert run("run", "no such forest").exit_code == 2
    assert (
        "100 runs are too few for 13 pairs of tables; 218 suffice"
        in run("run", "majority", "--runs", 100).output
    )


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
