"""`dpforest bench`: list, run, go on, show."""

import json
import sys

import pytest

PLUGIN = """
from dpforest.papers.experiments import Experiment, Paper, register, register_experiment
from dpforest.papers.experiments.methods import find

register("mine", find("Majority class").factory, private=False)
register_experiment(Experiment(
    "999-cli", "Flowers", Paper("Nobody", 2024, "Table 1"), "classification", "accuracy", ("iris",),
    ("mine", "CART"), (1.0,), repeats=3, quick_repeats=1, published={("iris", "CART", float("inf")): 0.9},
))
"""
OPTIONS = "--plugin bench_plugin"


@pytest.fixture
def bench(cli, tmp_path, monkeypatch):
    """A command with an experiment of the user's own."""
    from dpforest.papers.experiments import catalogue, methods

    (tmp_path / "bench_plugin.py").write_text(PLUGIN)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    methods.names(), catalogue.experiment_names()  # loads what comes with the library
    before = dict(methods._METHODS), dict(catalogue._EXPERIMENTS)
    yield lambda line, code=0: cli(f"bench {line}", code)
    sys.modules.pop("bench_plugin", None)
    for registry, told in zip((methods._METHODS, catalogue._EXPERIMENTS), before, strict=True):
        registry.clear()
        registry.update(told)


def test_list_shows_every_table(bench):
    told = json.loads(bench("list --json").stdout)["experiments"]
    assert "huang2022-table1" in {one["name"] for one in told}
    assert "999-cli" in bench(f"list {OPTIONS}").stdout


def test_run_then_show(bench, tmp_path):
    done = bench(f"run 999-cli --jobs 1 {OPTIONS}")
    assert "6 fits done, 0 of them failed" in done.stderr
    assert "0 fits done, 0 of them failed, 6 were on file already" in bench("run 999-cli --jobs 1").stderr
    assert "6 were on file already" in bench("run 999 --slow 5 --jobs 1").stderr  # all of a paper
    shown = bench("show 999-cli --html page.html --plot figure.svg").stdout
    assert "90.00 %" in shown
    assert "(3)" in shown
    assert "Flowers" in (tmp_path / "page.html").read_text()
    assert "accuracy" in (tmp_path / "figure.svg").read_text()
    rows = json.loads(bench("show 999-cli --json").stdout)["rows"]
    assert [row["method"] for row in rows] == ["mine", "CART"]


def test_quick_results_are_shown_where_there_are_no_others(bench):
    bench(f"run 999-cli --quick --jobs 1 {OPTIONS}")
    assert "(1)" in bench("show 999-cli").stdout


def test_all_runs_every_table_the_smallest_first(bench, monkeypatch):
    from dpforest.papers import experiments
    from dpforest.papers.experiments.jobs import jobs_of
    from dpforest.papers.experiments.runner import RunSummary

    seen = []

    def noted(experiment, folder, *_, **__):
        seen.append(experiment)
        return RunSummary(folder / f"{experiment.name}.csv")

    monkeypatch.setattr(experiments, "run", noted)
    bench(f"run --all {OPTIONS}")
    assert {one.name for one in seen} == set(experiments.experiment_names())
    fits = [len(list(jobs_of(one))) for one in seen]
    assert fits == sorted(fits)
    assert "name tables, or give --all" in bench("run", code=2).stderr
    assert "name tables, or give --all" in bench("run 999-cli --all", code=2).stderr


def test_unknown_tables_and_missing_results_are_told(bench):
    assert "no experiment 'no-such'" in bench("run no-such", code=2).stderr
    assert "run `dpforest bench run 999-cli` first" in bench(f"show 999-cli {OPTIONS}").stderr


def test_a_failed_fit_shows_in_the_exit_code(bench, tmp_path):
    (tmp_path / "bench_plugin.py").write_text(
        PLUGIN.replace('find("Majority class").factory', "lambda **_: 1/0")
    )
    bench(f"run 999-cli --quick --jobs 1 {OPTIONS}", code=1)


def test_a_run_without_its_data_is_no_success(bench, monkeypatch):
    from dpforest.papers import experiments
    from dpforest.papers.experiments.runner import RunSummary

    def without_data(experiment, folder, *_, **__):
        return RunSummary(folder / "999-cli.csv", missing={"iris": "not here"})

    monkeypatch.setattr(experiments, "run", without_data)
    told = json.loads(bench(f"run 999-cli --json {OPTIONS}", code=1).stdout)
    assert told["999-cli"]["missing"] == {"iris": "not here"}
