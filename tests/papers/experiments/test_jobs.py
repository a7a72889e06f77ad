"""Jobs: which there are, what each learns from, and that a comparison between methods is a fair one."""

import math
from typing import ClassVar

import numpy as np
import pytest

from dpforest.papers.experiments import ANY, Cell, Split, register
from dpforest.papers.experiments.jobs import ABSENT, FAILED, MISSING, OK, jobs_of
from dpforest.papers.experiments.methods import Method, find
from dpforest.papers.experiments.metrics import find_metric
from dpforest.schema import Range, Schema
from tests.papers.experiments.conftest import N_ROWS, experiment, load


class Recorder:
    """Predicts zeros and remembers what it learned from."""

    fits: ClassVar = []

    def __init__(self, seed):
        self.seed = seed

    def fit(self, X, y):
        self.fits.append((self.seed, np.asarray(X), np.asarray(y, dtype=object)))
        return self

    def predict(self, X):
        return np.zeros(len(X))


@pytest.fixture
def recorder():
    Recorder.fits = []
    return lambda **_: Recorder(_["seed"])


def outcomes(table, factory, **facts):
    method = Method("m", factory, **facts)
    metric = find_metric(table.metric)
    return [(job, job.run(method, metric, load)) for job in jobs_of(table)]


def test_a_method_with_a_published_form_runs_in_both_and_references_run_once():
    table = experiment(methods=("RF", "SPE"), epsilons=(0.5, 2.0), datasets=("first",), repeats=1)
    found = {(job.cell.method, job.cell.epsilon) for job in jobs_of(table)}
    both = {(name, epsilon) for name in ("SPE", "SPE (as published)") for epsilon in (0.5, 2.0)}
    assert found == both | {("RF", math.inf)}


def test_budgets_may_belong_to_datasets():
    table = experiment(methods=("dpforest",), epsilons={"first": (0.1,), "second": (2.0,)}, repeats=1)
    assert [(job.cell.dataset, job.cell.epsilon) for job in jobs_of(table)] == [
        ("first", 0.1),
        ("second", 2.0),
    ]


def test_all_methods_of_a_repeat_see_the_same_rows_and_repeats_see_others(recorder):
    table = experiment(methods=("A", "B"), datasets=("first",))
    outcomes(table, recorder)
    (seed_a, a, _), (seed_b, b, _), (_, again, _), _ = Recorder.fits
    assert np.array_equal(a, b)
    assert seed_a != seed_b
    assert not np.array_equal(a, again)


def test_seeds_depend_on_the_job_alone():
    full, half = experiment(), experiment(datasets=("second",), methods=("CART",), repeats=1)
    seeds = {job.key: job.seed for job in jobs_of(full)}
    assert len(set(seeds.values())) == len(seeds)
    assert {job.key: job.seed for job in jobs_of(half)}.items() <= seeds.items()


def test_folds_predict_every_row_once(recorder):
    table = experiment(methods=("A",), datasets=("first",), split=Split(folds=5), repeats=5)
    outcomes(table, recorder)
    everything = load("first")[0][:, 0]
    left_out = [np.setdiff1d(everything, X[:, 0]) for _, X, _ in Recorder.fits]
    assert sorted(np.concatenate(left_out)) == sorted(everything)


def test_labels_are_hidden_from_training_rows_only(recorder):
    table = experiment(methods=("A",), split=Split(labelled_fraction=0.2), repeats=1, datasets=("first",))
    outcomes(table, recorder, semi_supervised=True)
    (_, done) = outcomes(table, recorder)[0]
    (_, X_semi, y_semi), (_, X, y) = Recorder.fits
    labelled = np.array([label is not None for label in y_semi])
    assert len(y_semi) == 0.9 * N_ROWS
    assert labelled.sum() == len(y) == done.n_train == round(0.2 * 0.9 * N_ROWS)
    assert np.array_equal(X_semi[labelled], X)  # supervised methods get the same labels and nothing else
    assert list(y_semi[labelled]) == list(y)


def test_semi_supervised_estimators_take_hidden_labels():
    table = experiment(methods=("SSPE-2",), split=Split(labelled_fraction=0.5), repeats=1)
    for job in jobs_of(table):
        done = job.run(find(job.cell.method), find_metric("accuracy"), load)
        assert done.status == OK, done.error


def test_large_tables_are_sampled_down(recorder):
    table = experiment(split=Split(max_rows=100), quick_rows=50, methods=("A",), repeats=1, quick_repeats=1)
    method, metric = Method("A", recorder), find_metric("accuracy")
    sizes = [
        [job.run(method, metric, load).n_train for job in jobs_of(table, quick)] for quick in (False, True)
    ]
    assert sizes == [[90, 90], [45, 45]]


def test_squared_errors_are_on_the_scale_of_the_public_bounds(recorder):
    table = experiment(task="regression", metric="mse", datasets=("numbers",), methods=("A",), repeats=1)
    ((_, scaled),) = outcomes(table, recorder)
    raw = experiment(
        task="regression", metric="mse", datasets=("numbers",), methods=("A",), repeats=1,
        split=Split(scale_target=False),
    )  # fmt: skip
    ((_, unscaled),) = outcomes(raw, recorder)
    assert unscaled.value == pytest.approx(20**2 * scaled.value)


def test_targets_are_scaled_before_the_fit():
    """Noise of published forms follows the largest target: a table that is only shifted gives the same."""
    X, y, schema = load("numbers")
    shifted = X, y + 1000, Schema(schema.features, Range(1000, 1020))
    table = experiment(
        task="regression", metric="mse", datasets=("numbers",), methods=("DiPriMeExp",), repeats=1
    )
    _, job = jobs_of(table)
    assert job.cell.method == "DiPriMeExp (as published)"
    method, metric = find(job.cell.method), find_metric("mse")
    plain, moved = (job.run(method, metric, lambda name, t=t: t) for t in ((X, y, schema), shifted))
    assert plain.status == moved.status == OK
    assert moved.value == pytest.approx(plain.value, rel=1e-6)


def test_what_cannot_run_says_why():
    table = experiment(datasets=("nowhere",), methods=("CART",), repeats=1)
    (job,) = jobs_of(table)
    assert job.run(find("CART"), find_metric("accuracy"), load).status == MISSING
    (job,) = jobs_of(experiment(datasets=("first",), methods=("no such method",), repeats=1))
    assert job.run(None, find_metric("accuracy"), load).status == ABSENT
    job, _ = jobs_of(
        experiment(datasets=("numbers",), task="regression", metric="mse", methods=("SRT",), repeats=1)
    )
    assert job.run(find("SRT"), find_metric("mse"), load).status == ABSENT


def test_a_broken_fit_is_an_outcome():
    def broken(**_):
        raise ValueError("two\nlines")

    (job, *_) = jobs_of(experiment())
    done = job.run(Method("broken", broken), find_metric("accuracy"), load)
    assert (done.status, done.error) == (FAILED, "ValueError: two lines")


def test_formulas_are_computed_once_and_need_no_data():
    table = experiment(
        compute=lambda cell, setting: cell.epsilon * setting["k"], settings=({"k": 2}, {"k": 3})
    )
    values = [job.run(None, find_metric("value"), load).value for job in jobs_of(table)]
    assert values == [2.0, 3.0] * 4
    assert {job.repeat for job in jobs_of(table)} == {0}


def test_users_methods_are_found_and_win():
    method = register("CART", find("RF").factory, private=False, about="mine")
    try:
        assert find("CART") is method
    finally:
        from dpforest.papers.experiments import references

        references.register_all()


def test_parameters_reach_methods_that_have_them():
    table = experiment(
        methods=("SPE",), repeats=1, parameters={(ANY, ANY): {"max_depth": "2d", "unheard of": 1}}
    )
    job = next(iter(jobs_of(table)))
    schema = load("first")[2]
    model = find("SPE").factory(
        task="classification", schema=schema, epsilon=1.0, seed=0, parameters=job.parameters
    )
    assert model.max_depth == 2 * schema.n_features


def test_published_figures_are_found_by_cell():
    key = '{"k": 2}'
    table = experiment(published={("first", "SPE", 1.0): 0.5, ("first", "SPE", 1.0, key): 0.6})
    assert table.published_value(Cell("first", "SPE", 1.0)) == 0.5
    assert table.published_value(Cell("first", "SPE", 1.0, key)) == 0.6
    assert table.published_value(Cell("second", "SPE", 1.0)) is None
