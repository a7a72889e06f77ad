"""The runner: nothing lost, nothing repeated, whatever stops it."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path

import pytest

from dpforest.papers.experiments import read_results, register, result_path, run, summarise
from dpforest.papers.experiments.methods import MethodNotAvailableError, find
from dpforest.papers.experiments.results import ResultFile
from dpforest.papers.experiments.summary import write_kept
from tests.papers.experiments.conftest import dice, experiment, load

ROOT = Path(__file__).parents[3]


@pytest.fixture
def method():
    """Register a factory under a name for the length of a test."""
    from dpforest.papers.experiments.methods import _METHODS, names

    names()  # loads what comes with the library
    before = dict(_METHODS)
    yield register
    _METHODS.clear()
    _METHODS.update(before)


def values(path):
    return {result.key: (result.status, result.value) for result in read_results(path)}


def test_a_second_run_does_only_what_is_missing(tiny, tmp_path):
    first = run(tiny, tmp_path, n_jobs=1, load=load)
    assert (first.done, first.failed, first.before) == (8, 0, 0)
    path = result_path(tmp_path, tiny.name, quick=False)
    before = path.read_bytes()
    again = run(tiny, tmp_path, n_jobs=1, load=load)
    assert (again.done, again.before, path.read_bytes()) == (0, 8, before)


def test_more_repeats_are_added_to_those_on_file(tiny, tmp_path):
    assert run(tiny, tmp_path, n_jobs=1, repeats=1, load=load).done == 4
    more = run(tiny, tmp_path, n_jobs=1, repeats=3, load=load)
    assert (more.done, more.before) == (8, 4)


def test_what_is_kept_with_enough_repeats_is_not_run_again(tiny, tmp_path):
    run(tiny, tmp_path / "first", n_jobs=1, repeats=2, load=load)
    (tmp_path / "kept").mkdir()
    summaries = summarise(read_results(result_path(tmp_path / "first", tiny.name, quick=False)))
    short, *whole = summaries.values()
    write_kept(
        tmp_path / "kept" / f"{tiny.name}.csv",
        {one.cell: one for one in whole} | {short.cell: replace(short, repeats=1)},
    )
    again = run(tiny, tmp_path / "second", n_jobs=1, repeats=2, kept=tmp_path / "kept", load=load)
    assert again.done == 2
    assert {result.cell for result in read_results(again.path)} == {short.cell}


def test_slow_fits_are_repeated_as_in_a_quick_run_only(tmp_path, method):
    def slow(**keywords):
        model = dice(**keywords)

        def fit(X, y):
            start = time.process_time()
            while time.process_time() < start + 0.3:  # what counts is work, not time that passes
                pass
            return model

        model.fit = fit
        return model

    method("slow", slow)
    method("dice", dice)
    table = experiment(datasets=("first",), methods=("slow", "dice"), repeats=6, quick_repeats=2)
    done = run(table, tmp_path, n_jobs=1, slow=0.25, load=load)
    assert (done.done, done.left_out) == (2 + 6, 4)
    assert "4 repeats were left out" in str(done)
    again = run(table, tmp_path, n_jobs=1, slow=0.25, load=load)  # times are on file too
    assert (again.done, again.left_out) == (0, 4)
    assert run(table, tmp_path, n_jobs=1, load=load).done == 4


def test_quick_results_have_a_file_of_their_own(tiny, tmp_path):
    run(tiny, tmp_path, quick=True, n_jobs=1, load=load)
    assert [path.name for path in tmp_path.iterdir()] == ["999-table1-quick.csv"]


def test_processes_give_the_same_numbers(tiny, tmp_path, method):
    method("mine", dice)  # registered here, not in the workers
    table = experiment(methods=("mine",))
    run(table, tmp_path / "one", n_jobs=1, load=load)
    run(table, tmp_path / "two", n_jobs=2, load=load)
    assert values(tmp_path / "one" / "999-table1.csv") == values(tmp_path / "two" / "999-table1.csv")


def test_failures_stop_nothing_and_are_tried_again_on_demand(tmp_path, method):
    def broken(**_):
        raise RuntimeError("no luck")

    method("broken", broken)
    table = experiment(methods=("broken", "CART"))
    done = run(table, tmp_path, n_jobs=1, load=load)
    assert (done.done, done.failed) == (8, 4)
    failed = [result for result in read_results(done.path) if result.status == "failed"]
    assert {result.error for result in failed} == {"RuntimeError: no luck"}
    assert run(table, tmp_path, n_jobs=1, load=load).done == 0
    method("broken", find("CART").factory)
    assert run(table, tmp_path, n_jobs=1, load=load, retry_failed=True).done == 4


def test_what_is_not_here_is_reported_and_run_once_it_is(tmp_path, method):
    def absent(**_):
        raise MethodNotAvailableError("get it")

    method("later", absent)
    table = experiment(datasets=("first", "nowhere"), methods=("later", "CART", "no such method"))
    done = run(table, tmp_path, n_jobs=1, load=load)
    assert done.absent == {"later": "get it", "no such method": "no method of this name is registered"}
    assert done.missing == {"nowhere": "nowhere is not here: make it up."}
    assert (done.done, done.failed) == (2, 0)
    method("later", find("CART").factory)
    assert run(table, tmp_path, n_jobs=1, load=load).done == 2


def test_a_job_that_kills_its_process_is_the_only_one_lost(tmp_path, method):
    def deadly(*, seed, **_):
        os.kill(os.getpid(), signal.SIGKILL)

    method("deadly", deadly)
    method("dice", dice)
    table = experiment(datasets=("first",), methods=("dice", "deadly"))
    done = run(table, tmp_path, n_jobs=2, load=load)
    assert (done.done, done.failed) == (4, 2)
    found = {result.method: result.error for result in read_results(done.path)}
    assert found == {"dice": "", "deadly": "its process died, perhaps for want of memory"}


SCRIPT = """
import sys, time
from tests.papers.experiments.conftest import dice, experiment, load
from dpforest.papers.experiments import register, run

def slow(**keywords):
    time.sleep(0.1)
    return dice(**keywords)

register("slow", slow)
if __name__ == "__main__":
    done = run(experiment(methods=("slow",), repeats=12), sys.argv[1], n_jobs=int(sys.argv[2]), load=load)
    print(done.done, done.before, done.interrupted)
"""


def start(tmp_path, n_jobs):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT))
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{tmp_path}"}
    command = [sys.executable, str(script), str(tmp_path / "results"), str(n_jobs)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
        start_new_session=True,
    )  # fmt: skip


def wait_for_lines(path, n, process):
    for _ in range(600):
        if path.exists() and path.read_text().count("\n") >= n:
            return
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.05)
    raise AssertionError("no results came")


def test_killed_and_run_again_loses_and_repeats_nothing(tmp_path):
    path = tmp_path / "results" / "999-table1.csv"
    killed = start(tmp_path, 1)
    wait_for_lines(path, 4, killed)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate()
    on_file = path.read_bytes()
    path.write_bytes(on_file + b"999-table1,first,slow,1.0,,{},")  # the half-written line of a kill
    again = start(tmp_path, 1)
    printed, trouble = again.communicate(timeout=60)
    assert again.returncode == 0, trouble
    done, before, _ = printed.split()
    assert (int(done) + int(before), int(before)) == (24, on_file.count(b"\n") - 1)
    assert path.read_bytes().startswith(on_file)
    keys = [result.key for result in read_results(path)]
    assert len(keys) == len(set(keys)) == 24


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_stops_cleanly(tmp_path, n_jobs):
    path = tmp_path / "results" / "999-table1.csv"
    process = start(tmp_path, n_jobs)
    wait_for_lines(path, 8, process)  # by then both workers have worked
    os.killpg(process.pid, signal.SIGINT)
    printed, trouble = process.communicate(timeout=60)
    assert process.returncode == 0, trouble
    done, before, interrupted = printed.split()
    assert (before, interrupted) == ("0", "True")
    assert len(read_results(path)) == int(done) < 24
    assert "Traceback" not in trouble


def test_two_runs_cannot_write_to_one_file(tiny, tmp_path):
    with (
        ResultFile(result_path(tmp_path, tiny.name, quick=False)),
        pytest.raises(RuntimeError, match="another run"),
    ):
        run(tiny, tmp_path, n_jobs=1, load=load)


def test_a_half_written_header_is_no_result_file(tiny, tmp_path):
    path = result_path(tmp_path, tiny.name, quick=False)
    path.write_text("experiment,data")
    assert run(tiny, tmp_path, n_jobs=1, load=load).done == 8
    assert len(read_results(path)) == 8
