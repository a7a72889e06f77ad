"""The methods that come with the library: each can be made, fitted and measured, in both forms."""

import sys
from pathlib import Path

import numpy as np
import pytest

from dpforest.papers.experiments import Split
from dpforest.papers.experiments.jobs import ABSENT, OK, jobs_of
from dpforest.papers.experiments.methods import AS_PUBLISHED, find, names
from dpforest.papers.experiments.metrics import find_metric
from dpforest.papers.experiments.peers import indicator_columns
from dpforest.papers.published import BROKEN_PROMISES
from dpforest.schema import Classes, Nominal, Numeric, Schema
from tests.papers.experiments.conftest import experiment, load

ELSEWHERE = ("diffprivlib", "DP-EBM")
HERE = [name for name in names() if name not in ELSEWHERE]


def mixed(name):
    """Rows with a nominal feature, a missing value and labels of text."""
    rng = np.random.default_rng(0)
    x, c = rng.random(150), rng.choice(["a", "b"], 150)
    X = np.column_stack([x, c]).astype(object)
    X[0] = None
    y = np.where((x > 0.5) == (c == "a"), "yes", "no")
    return X, y, Schema({"x": Numeric(0, 1), "c": Nominal(["a", "b"])}, Classes(["yes", "no"]))


@pytest.mark.parametrize("name", HERE)
def test_every_method_fits_and_predicts(name):
    table = experiment(methods=(name,), datasets=("mixed",), repeats=1, split=Split(labelled_fraction=0.5))
    done = next(iter(jobs_of(table))).run(find(name), find_metric("accuracy"), mixed)
    if done.status == ABSENT:
        assert "no form for classification" in done.error
        return
    assert done.status == OK, done.error
    assert 0 <= done.value <= 1


@pytest.mark.parametrize("name", ["dpforest", "DiPriMeFlip", "DP-ERT", "SPE", "DP-RF", "RF", "Median"])
def test_regression_has_forms_too(name):
    table = experiment(methods=(name,), datasets=("numbers",), task="regression", metric="mse", repeats=1)
    for job in jobs_of(table):
        done = job.run(find(job.cell.method), find_metric("mse"), load)
        assert done.status == OK, done.error


@pytest.mark.parametrize("name", [name for name in names() if find(name).broken])
def test_broken_promises_are_those_of_the_published_room(name):
    method = find(name)
    known = {promise.when for promise in BROKEN_PROMISES[method.broken]}
    assert set(method.broken_when) <= known
    assert name == "TOP" or name == "TOP" + AS_PUBLISHED or method.void_reasons("classification")


def test_reasons_depend_on_the_task_and_on_the_form():
    assert "noise on leaf means" in find("DiPriMe").void_reasons("regression")
    assert "noise on leaf means" not in find("DiPriMe").void_reasons("classification")
    assert "permute-and-flip between data points" not in find("DiPriMeExp").void_reasons("classification")
    assert find("RF").void_reasons("classification") == ()
    leaves = ("noise on leaf means", "empty leaves in regression")
    assert find("DP-ERT").void_reasons("regression") == leaves
    assert find("DP-ERT").void_reasons("classification") == ("leaves without rows",)


@pytest.mark.parametrize(("name", "depth"), [("SRT", 15), ("SRT" + AS_PUBLISHED, 20)])
def test_depths_in_features_go_as_deep_as_the_form_can(name, depth):
    schema = Schema.from_bounds((0, 1), n_features=20, classes=[0, 1])
    facts = {"task": "classification", "schema": schema, "epsilon": 1.0, "seed": 0}
    assert find(name).factory(**facts, parameters={"max_depth": "d"}).max_depth == depth


def test_other_libraries_see_categories_as_indicators():
    X, _, schema = mixed("mixed")
    numbers = indicator_columns(X, schema)
    assert numbers.shape == (150, 5)
    assert np.array_equal(numbers[:, 1:].sum(axis=1), np.ones(150))


# --- libraries of others ----------------------------------------------------------------------------------

FAKE_FOREST = """
import numpy as np
class RandomForestClassifier:
    def __init__(self, epsilon, bounds, classes, random_state, shuffle, n_estimators=10):
        assert epsilon == 2.0 and shuffle and len(bounds[0]) == 5, (epsilon, bounds)
        self.n_classes = len(classes)
    def fit(self, X, y):
        self.cut = X[y == 1, 0].min()
    def predict(self, X):
        return (X[:, 0] >= self.cut).astype(int)
    def predict_proba(self, X):
        return np.eye(self.n_classes)[self.predict(X)]
"""


def test_what_is_not_installed_says_how_to_install_it(monkeypatch, tmp_path):
    monkeypatch.setenv("DPFOREST_PEERS", str(tmp_path))
    for name in ELSEWHERE:
        (job, *_) = jobs_of(experiment(methods=(name,)))
        done = job.run(find(name), find_metric("accuracy"), load)
        assert done.status == ABSENT
        assert "dpforest bench peers" in done.error


def test_other_libraries_are_asked_in_their_own_process(monkeypatch, tmp_path):
    """A stand-in for the other environment: this Python, with a package of the right name."""
    package = tmp_path / "packages" / "diffprivlib"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "models.py").write_text(FAKE_FOREST)
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\nexec env PYTHONPATH="{package.parent}" "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    monkeypatch.setenv("DPFOREST_PEERS", str(tmp_path))
    for metric in ("accuracy", "auc"):
        table = experiment(
            methods=("diffprivlib",), datasets=("one",), metric=metric, epsilons=(2.0,), repeats=1
        )
        (job,) = jobs_of(table)
        done = job.run(find("diffprivlib"), find_metric(metric), ordered)
        assert (done.status, done.value) == (OK, 1.0), done.error
    Path(package / "models.py").write_text("raise SystemExit('broken')")
    assert "broken" in job.run(find("diffprivlib"), find_metric("accuracy"), ordered).error


def ordered(name):
    """Labels that follow from the first feature alone."""
    X, _, schema = mixed(name)
    x = np.where(np.arange(150) % 2, 0.2, 0.8)
    X[:, 0] = x
    return X, np.where(x > 0.5, "yes", "no"), schema
