"""Rows on a dask cluster: the same model as from memory, also when a worker dies, and none if all is lost."""

import os
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone

import dpforest
from dpforest._rows import CellCounts, DaskRows, Grid, RowCount, WholeRows, dask_rows
from dpforest.privacy import BudgetAccountant
from dpforest.schema import SchemaError, Source
from tests.forests.conftest import CLASSIFY, fit, patients_table
from tests.rows.test_stored import MODELS, NEEDS_ALL_ROWS, assert_same, with_target

dask = pytest.importorskip("dask")
frames = pytest.importorskip("dask.dataframe")
pytestmark = [
    pytest.mark.filterwarnings("ignore::dpforest.privacy.PrivacyLeakWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture(autouse=True)
def in_this_process():
    """Without a cluster dask counts in this process; what is sent and added up is the same."""
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.mark.parametrize("name", sorted(set(MODELS) - NEEDS_ALL_ROWS))
def test_models_are_the_same_to_the_last_bit(name):
    patients = patients_table(600)
    in_memory = fit(clone(MODELS[name]), patients, random_state=3)
    table = with_target(in_memory, patients)
    model = clone(MODELS[name]).set_params(random_state=3)
    assert_same(in_memory, model.fit(frames.from_pandas(table, npartitions=5, sort=False), "outcome"))


@pytest.mark.parametrize("name", sorted(NEEDS_ALL_ROWS))
def test_what_needs_all_rows_says_so_before_the_charge(name):
    model = clone(MODELS[name])
    model.accountant = BudgetAccountant(epsilon=9.0)
    table = with_target(model, patients_table(50))
    with pytest.raises(TypeError, match="all rows"):
        model.fit(frames.from_pandas(table, npartitions=2), "outcome")
    assert not list(model.accountant.history())


def test_series_arrays_sources_and_predictions():
    X, label, _ = patients_table(500)
    model = dpforest.DiPriMeForestClassifier(3, schema=CLASSIFY, max_depth=3, random_state=5)
    in_memory = clone(model).fit(X, label)
    table = frames.from_pandas(X.assign(outcome=label), npartitions=4, sort=False)
    assert_same(in_memory, clone(model).fit(table[list(X.columns)], table["outcome"]))
    assert_same(in_memory, clone(model).fit(Source(table, cache=False), "outcome"))
    np.testing.assert_array_equal(in_memory.predict(table), in_memory.predict(X))
    rng = np.random.default_rng(0)
    numbers, y = rng.random((400, 2)), rng.integers(0, 2, 400)
    model = dpforest.RandomDecisionTreesClassifier(bounds=(0, 1), classes=[0, 1], random_state=5)
    chunks = dask.array.from_array(numbers, chunks=(90, 1)), dask.array.from_array(y, chunks=90)
    assert_same(clone(model).fit(numbers, y), clone(model).fit(*chunks))


def test_partitions_are_only_added_up_and_each_once():
    X, label, _ = patients_table(300)
    parts = frames.from_pandas(X.assign(outcome=label), npartitions=30).to_delayed()
    rows = DaskRows(parts, "outcome", CLASSIFY)
    assert not isinstance(rows, WholeRows)
    assert rows.fold(RowCount(rows.grid)).tolist() == [300]
    assert DaskRows([], "outcome", CLASSIFY).fold(RowCount(rows.grid)).tolist() == [0]
    with pytest.raises(ValueError, match="another grid"):
        rows.fold(RowCount(Grid.of([2], 2)))


def test_names_of_tasks_do_not_follow_from_rows_or_key(monkeypatch):
    """They are shown on dashboards and written to logs."""
    X, label, _ = patients_table(100)
    names = []
    compute = dask.compute

    def watched(*tasks):
        names.append({str(key) for task in tasks for key in task.dask})
        return compute(*tasks)

    monkeypatch.setattr(dask, "compute", watched)
    parts = frames.from_pandas(X.assign(outcome=label), npartitions=2).to_delayed()
    rows = DaskRows(parts, "outcome", CLASSIFY)
    spec = RowCount(rows.grid)
    rows.fold(spec), rows.fold(spec)
    first, second = ({n for n in some if n.startswith(("spec", "_count", "_add"))} for some in names[-2:])
    assert first
    assert not first & second


def test_a_column_that_is_lacking_is_named_before_the_charge():
    X, label, _ = patients_table(50)
    accountant = BudgetAccountant(epsilon=9.0)
    model = dpforest.PrivateForestClassifier(schema=CLASSIFY, accountant=accountant)
    with pytest.raises(SchemaError, match="'crp'"):
        model.fit(frames.from_pandas(X.assign(outcome=label).drop(columns="crp"), npartitions=2), "outcome")
    with pytest.raises(SchemaError, match="'diagnosis'"):
        model.fit(frames.from_pandas(X.assign(outcome=label), npartitions=2), "diagnosis")
    with pytest.raises(TypeError, match="both be dask"):
        model.fit(frames.from_pandas(X, npartitions=2), np.asarray(label))
    assert not list(accountant.history())


def failing(part):
    raise ZeroDivisionError("secret 31337")


def test_what_workers_say_is_not_passed_on():
    X, label, _ = patients_table(50)
    table = frames.from_pandas(X.assign(outcome=label), npartitions=2)
    accountant = BudgetAccountant(epsilon=9.0)
    model = dpforest.PrivateForestClassifier(schema=CLASSIFY, accountant=accountant)
    with pytest.raises(RuntimeError, match=r"ZeroDivisionError\); nothing is released") as caught:
        model.fit(table.map_partitions(failing, meta=table._meta), "outcome")
    assert "31337" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert not list(accountant.history())


def test_partitions_that_change_release_nothing():
    X, label, _ = patients_table(60)
    calls = []

    def changing(part):
        calls.append(part)
        return part if len(calls) < 3 else part.iloc[::-1]

    table = frames.from_pandas(X.assign(outcome=label), npartitions=2)
    table = table.map_partitions(changing, meta=table._meta)
    accountant = BudgetAccountant(epsilon=9.0)
    model = dpforest.PrivateForestClassifier(schema=CLASSIFY, accountant=accountant)
    with pytest.raises(RuntimeError, match="other rows"):
        model.fit(Source(table, cache=False), "outcome")
    assert len(list(accountant.history())) == 1
    assert not hasattr(model, "guarantee_")


def test_an_interrupt_leaves_the_charge_and_nothing_else(monkeypatch):
    X, label, _ = patients_table(60)
    table = frames.from_pandas(X.assign(outcome=label), npartitions=2)
    accountant = BudgetAccountant(epsilon=9.0)
    model = dpforest.DiPriMeForestClassifier(3, schema=CLASSIFY, max_depth=4, accountant=accountant)
    model.fit(X, label)
    add, calls = CellCounts.add, []

    def interrupted(table, block, out):
        calls.append(table.level)
        if table.level == 2 and block.first:
            raise KeyboardInterrupt  # in the middle of a level, on a worker
        add(table, block, out)

    monkeypatch.setattr(CellCounts, "add", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(table, "outcome")
    assert calls[-1] == 2
    assert len(list(accountant.history())) == 2
    assert not [name for name in vars(model) if name.endswith("_")]


def test_a_cluster_without_workers_is_an_error_and_no_endless_wait(monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(dask_rows, "_LOOK_EVERY", 0.1)
    X, label, _ = patients_table(50)
    accountant = BudgetAccountant(epsilon=9.0)
    model = dpforest.DiPriMeForestClassifier(3, schema=CLASSIFY, max_depth=2, accountant=accountant)
    options = {"dashboard_address": ":0", "silence_logs": 50}
    with (
        distributed.LocalCluster(n_workers=0, processes=False, **options) as local,
        distributed.Client(local),
        dask.config.set(scheduler=None),
        pytest.raises(RuntimeError, match="no workers"),
    ):
        model.fit(frames.from_pandas(X.assign(outcome=label), npartitions=2, sort=False), "outcome")
    assert not list(accountant.history())


def test_a_killed_worker_changes_nothing_and_a_lost_scheduler_releases_nothing():
    pytest.importorskip("distributed")
    paths = os.pathsep.join([os.getcwd(), *sys.path])
    done = subprocess.run(
        [sys.executable, "-m", "tests.rows.dask_cluster"],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=300,
    )
    said = ["EVERY STEP ONCE", "SAME MODEL", "NOTHING RELEASED"]
    assert done.stdout.split("\n")[:3] == said, done.stderr[-3000:]
