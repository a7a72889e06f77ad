"""Run the jobs of an experiment in parallel processes, and keep every result the moment it is there.

`run` may be stopped by Ctrl-C, killed or lose a worker; started again, it does what is not yet on file. Jobs
go to processes of joblib, one thread each; only this process writes.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpforest.papers.experiments.experiment import Cell, Experiment
from dpforest.papers.experiments.jobs import (
    ABSENT,
    FAILED,
    MISSING,
    Job,
    Loader,
    Outcome,
    jobs_of,
    load_table,
)
from dpforest.papers.experiments.methods import Method, find
from dpforest.papers.experiments.metrics import Metric, find_metric
from dpforest.papers.experiments.results import Result, ResultFile, read_results, result_path
from dpforest.papers.experiments.summary import Summary, read_kept

__all__ = ["RunSummary", "jobs_left", "run"]


@dataclass
class RunSummary:
    """What a call of `run` did.

    Parameters
    ----------
    path : path
        The result file.
    done, failed, before : int
        Jobs that were run, those of them that failed, and those that were on file already.
    absent, missing : dict
        Methods that are not here, or not for all datasets, and datasets that are not here; with the reason.
    interrupted : bool
        Whether Ctrl-C stopped it.
    slow : float, optional
        Seconds beyond which a cell is slow.
    left_out : int
        Repeats of slow cells that were not run.
    """

    path: os.PathLike[str]
    done: int = 0
    failed: int = 0
    before: int = 0
    absent: dict[str, str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    interrupted: bool = False
    slow: float | None = None
    left_out: int = 0
    _refused: set[tuple[str, str]] = field(default_factory=set)
    _seconds: dict[Cell, float] = field(default_factory=dict)

    def skips(self, job: Job) -> bool:
        """Whether a job is not run: its dataset or method is not here, or its cell is slow and has enough."""
        cell = job.cell
        if cell.dataset in self.missing or (cell.dataset, cell.method) in self._refused:
            return True
        enough = job.repeat >= job.experiment.quick_repeats
        slow = self.slow is not None and self._seconds.get(cell, 0.0) > self.slow
        self.left_out += enough and slow
        return enough and slow

    def note(self, job: Job, outcome: Outcome) -> None:
        """Take the outcome of a job into account."""
        if outcome.status == MISSING:
            self.missing[job.cell.dataset] = outcome.error
        elif outcome.status == ABSENT:
            self.absent[job.cell.method] = outcome.error
            self._refused.add((job.cell.dataset, job.cell.method))
        else:
            self.done += 1
            self.failed += outcome.status == FAILED
            self.time(job.cell, outcome.seconds)

    def time(self, cell: Cell, seconds: float) -> None:
        """Remember the quickest fit of a cell; the first of a process may have had to compile."""
        self._seconds[cell] = min(seconds, self._seconds.get(cell, seconds))

    def __str__(self) -> str:
        lines = [f"{self.done} fits done, {self.failed} of them failed, {self.before} were on file already."]
        lines += [f"method {name} was left out: {why}" for name, why in self.absent.items()]
        lines += [f"dataset {name} is missing: {why}" for name, why in self.missing.items()]
        if self.left_out:
            lines.append(f"{self.left_out} repeats were left out, whose fits take over {self.slow:g} s.")
        if self.interrupted:
            lines.append("Interrupted; run again to go on.")
        return "\n".join(lines)


def run(
    experiment: Experiment,
    folder: str | os.PathLike[str],
    quick: bool = False,
    n_jobs: int = 2,
    progress: bool = True,
    *,
    repeats: int | None = None,
    slow: float | None = None,
    retry_failed: bool = False,
    kept: str | os.PathLike[str] | None = None,
    load: Loader = load_table,
) -> RunSummary:
    """Run what is not yet on file of an experiment.

    Parameters
    ----------
    experiment : Experiment
        The table.
    folder : path
        Results are appended to NAME.csv there, those of quick runs to NAME-quick.csv.
    quick : bool, default=False
        Fewer repeats, datasets and rows.
    n_jobs : int, default=2
        Processes; -1 for all cores. 1 runs in this process.
    progress : bool, default=True
        Show a bar with the time left, on terminals.
    repeats : int, optional
        Repeats instead of the experiment's own number; a later run may add more.
    slow : float, optional
        Cells whose fits take more seconds of processor time get the repeats of a quick run only.
    retry_failed : bool, default=False
        Run jobs again that are on file as failed.
    kept : path, optional
        Folder of condensed results (`page.keep`): cells that have enough repeats there are not run again.
    load : callable, optional
        Where tables come from instead of `dpforest.papers.datasets.load`.

    Returns
    -------
    RunSummary
        What was done, and what could not be.
    """
    with ResultFile(result_path(folder, experiment.name, quick)) as file:
        summary = RunSummary(file.path, slow=slow)
        everything = jobs_left(experiment, quick, repeats, slow=slow, kept=kept)
        on_file = {key for key, status in file.done.items() if not (retry_failed and status == FAILED)}
        todo = [job for job in everything if job.key not in on_file]
        summary.before = len(everything) - len(todo)
        for result in read_results(file.path):
            summary.time(result.cell, result.seconds)
        outcomes = _outcomes((job for job in todo if not summary.skips(job)), n_jobs, load)
        try:
            with contextlib.closing(outcomes), _bar(experiment.name, len(todo), progress) as advance:
                for job, outcome in outcomes:
                    summary.note(job, outcome)
                    if outcome.status not in (ABSENT, MISSING):
                        file.append(Result.of(job, outcome))
                    advance()
        except KeyboardInterrupt:
            summary.interrupted = True
    return summary


def jobs_left(
    experiment: Experiment,
    quick: bool = False,
    repeats: int | None = None,
    *,
    slow: float | None = None,
    kept: str | os.PathLike[str] | None = None,
) -> list[Job]:
    """List the jobs of an experiment without the cells that are kept with enough repeats; as in `run`."""
    path = Path(kept) / f"{experiment.name}.csv" if kept is not None else None
    before = read_kept(path) if path is not None and path.exists() else {}
    jobs = list(jobs_of(experiment, quick, repeats))
    wanted = 1 + max((job.repeat for job in jobs), default=0)

    def is_enough(one: Summary) -> bool:
        is_slow = slow is not None and one.seconds > slow
        return one.repeats >= (min(wanted, experiment.quick_repeats) if is_slow else wanted)

    enough = {cell for cell, one in before.items() if is_enough(one)}
    return [job for job in jobs if job.cell not in enough]


def _outcomes(jobs: Iterable[Job], n_jobs: int, load: Loader) -> Generator[tuple[Job, Outcome], None, None]:
    """Run jobs, and yield them as they end.

    A worker that dies, of memory for instance, takes the pool with it. The jobs that were under way are then
    run one by one, each alone; the one that kills its worker again is the culprit and has failed.
    """
    if n_jobs == 1:
        for job in jobs:
            yield _run(job, *_registered(job), load)
        return
    waiting = iter(jobs)
    under_way: dict[tuple[str, ...], Job] = {}
    while True:
        fresh = _remember(waiting, under_way)
        try:
            for job, outcome in _in_processes(fresh, n_jobs, load):
                del under_way[job.key]
                yield job, outcome
            return
        except BrokenProcessPool:
            suspects = list(under_way.values())
            under_way.clear()
        for suspect in suspects:
            try:
                yield from _in_processes([suspect], n_jobs, load)
            except BrokenProcessPool:
                yield suspect, Outcome(FAILED, error="its process died, perhaps for want of memory")


def _remember(jobs: Iterator[Job], seen: dict[tuple[str, ...], Job]) -> Iterator[Job]:
    for job in jobs:
        seen[job.key] = job
        yield job


def _in_processes(
    jobs: Iterable[Job], n_jobs: int, load: Loader
) -> Generator[tuple[Job, Outcome], None, None]:
    from joblib import Parallel, delayed, parallel_config

    tasks = (delayed(_run)(job, *_registered(job), load) for job in jobs)
    with parallel_config(backend="loky", inner_max_num_threads=1):
        # No more jobs leave than there are processes, so that what is under way is known and little.
        pool = Parallel(n_jobs=n_jobs, batch_size=1, pre_dispatch="1*n_jobs", return_as="generator_unordered")
        outcomes = pool(tasks)
    yield from outcomes


def _registered(job: Job) -> tuple[Method | None, Metric]:
    """Look up what a job needs here, because other processes do not know what users have registered."""
    return find(job.cell.method), find_metric(job.experiment.metric)


def _run(job: Job, method: Method | None, metric: Metric, load: Loader) -> tuple[Job, Outcome]:
    if multiprocessing.parent_process() is not None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent stops us
    return job, job.run(method, metric, load)


@contextlib.contextmanager
def _bar(name: str, total: int, wanted: bool) -> Iterator[Any]:
    """Show progress with the time left; yields what to call after each job."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not (wanted and console.is_terminal):
        yield lambda: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(name, total=total)
        yield lambda: bar.advance(task)
