"""Run what is audited many times: in parallel processes, with a progress bar, and stop cleanly on Ctrl-C.

`scouting` and `statistical` ask for runs on pairs of tables. Runs are numbered, and with a seed each run has
its own from the number, so that neither the number of processes nor the size of the chunks changes a result.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Generator, Iterable, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from pickle import PicklingError
from typing import Any, NamedTuple

from dpforest.audit.columns import Runs
from dpforest.audit.fitting import CannotAuditError, Subject
from dpforest.audit.pairs import NeighbourPair
from dpforest.audit.readings import Observation

CHUNK = 50  # runs of one task: long enough to outweigh its transport, short enough to stop soon

__all__ = ["Progress", "Runner", "Subject"]


@dataclass
class Runner:
    """Runs a subject on pairs of tables.

    Parameters
    ----------
    subject : Subject
        What to run.
    pairs : sequence of NeighbourPair
        The tables.
    n_jobs : int
        Processes.
    progress : Progress
        Told how many runs were finished.
    """

    subject: Subject
    pairs: Sequence[NeighbourPair]
    n_jobs: int
    progress: Progress
    done: int = 0
    interrupted: bool = False
    _numbers: dict[int, int] = field(default_factory=dict)  # runs per table so far, by pair

    def run(self, chosen: Sequence[int], runs_per_table: int) -> list[tuple[Runs, Runs]]:
        """Run some more on both tables of some pairs; on Ctrl-C return what is there.

        Parameters
        ----------
        chosen : sequence of int
            Which pairs.
        runs_per_table : int
            How often.

        Returns
        -------
        list of two Runs
            One for each pair, as many with either table.
        """
        found: dict[int, tuple[list[Observation], list[Observation]]] = {at: ([], []) for at in chosen}
        tasks = []
        for at in chosen:
            start = self._numbers.get(at, 0)
            end = self._numbers[at] = start + runs_per_table
            for begin in range(start, end, CHUNK):
                tasks += [_Task(at, which, range(begin, min(begin + CHUNK, end))) for which in (0, 1)]
        calls = ((self.subject, self.pairs[task.at], task.which, task.at, task.numbers) for task in tasks)
        try:
            with closing(_results(calls, self.n_jobs)) as results:
                for task, chunk in zip(tasks, results, strict=True):
                    found[task.at][task.which].extend(chunk)
                    self.done += len(chunk)
                    self.progress.advance(len(chunk))
        except KeyboardInterrupt:
            self.interrupted = True
        except (PicklingError, BrokenExecutor) as error:
            raise CannotAuditError(
                f"Cannot be audited in other processes ({type(error).__name__}: {error}); use n_jobs=1, on "
                "the command line --jobs 1."
            ) from error
        return [_equally_many(*found[at]) for at in chosen]


class _Task(NamedTuple):
    """Some runs on one table of one pair."""

    at: int
    which: int
    numbers: range


def _equally_many(first: list[Observation], second: list[Observation]) -> tuple[Runs, Runs]:
    both = min(len(first), len(second))
    return Runs.of(first[:both]), Runs.of(second[:both])


def _results(calls: Iterable[tuple[Any, ...]], n_jobs: int) -> Generator[list[Observation], None, None]:
    """Yield the results of all calls in their order."""
    if n_jobs == 1:
        for call in calls:
            yield _run_chunk(*call)
        return
    from joblib import Parallel, delayed

    running = Parallel(n_jobs=n_jobs, return_as="generator")(delayed(_run_chunk)(*call) for call in calls)
    with closing(running):
        yield from running


def _run_chunk(
    subject: Subject, pair: NeighbourPair, which: int, stream: int, numbers: range
) -> list[Observation]:
    """Do a few runs, in a worker process or here."""
    if multiprocessing.parent_process() is not None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent stops us
    return [subject.run(pair, which, stream, number) for number in numbers]


class Progress:
    """A progress bar on stderr, shown only to people."""

    def __init__(self, title: str, total: int, show: bool) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        console = Console(stderr=True)
        self._bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
        )
        self._context = self._bar if show and console.is_terminal else nullcontext()
        self._task = self._bar.add_task(title, total=total)

    def __enter__(self) -> Progress:
        self._context.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._context.__exit__(*error)

    def advance(self, runs: int) -> None:
        """Move on by some finished runs."""
        self._bar.advance(self._task, runs)
