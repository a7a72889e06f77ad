"""Run what is audited many times: in parallel processes, with a progress bar, and stop cleanly on Ctrl-C.

`statistical` asks for observations of one pair of tables. Runs are numbered, and with a seed each run has its
own from the number, so that neither the number of processes nor the size of the chunks changes a result.
"""

from __future__ import annotations

import contextvars
import inspect
import multiprocessing
import signal
import warnings
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing, nullcontext
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpforest.audit.observe import Observation, Observer, named
from dpforest.audit.pairs import NeighbourPair

CHUNK = 50  # runs of one task: long enough to outweigh its transport, short enough to stop soon
FAILS = "fit fails"
Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Subject:
    """What is audited: an estimator, or a function of a table, and what is seen of its output.

    Parameters
    ----------
    subject : estimator or callable
        With `fit(X, y)`, or itself called with (X, y) and, if it has such a parameter, `random_state`.
    observer : callable
        Called with the output and the probes.
    random_state : int or None
        None leaves the randomness alone.
    """

    subject: Any
    observer: Observer
    random_state: int | None = None

    def __post_init__(self) -> None:
        if self.random_state is not None and not _takes_seed(self.subject):
            raise ValueError(
                "random_state was given, but what is audited takes no random_state; add such a parameter "
                "or leave random_state=None."
            )

    def run(self, pair: NeighbourPair, which: int, stream: int, number: int) -> Observation:
        """Run once on the first (0) or second (1) table, and observe."""
        table = (pair.first, pair.second)[which]
        try:
            output = self.output(table.X, table.y, stream, which, number)
        except Exception as error:  # whether a fit fails can tell the tables apart, as any output can
            return {f"{FAILS}: {type(error).__name__}: {error}": 1.0}
        return named(self.observer(output, pair.probes))

    def output(self, X: NDArray[Any], y: NDArray[Any], stream: int, which: int, number: int) -> Any:
        """Run once on any table; the numbers make up the seed.

        Seeds and derived domains are warned about at every fit; here they are meant.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # a new context has no default accountant: the tables are made up, nobody's privacy is spent
            return contextvars.Context().run(self._output, X, y, self._seed(stream, which, number))

    def _output(self, X: NDArray[Any], y: NDArray[Any], seed: int | None) -> Any:
        if not hasattr(self.subject, "fit"):
            return self.subject(X, y) if seed is None else self.subject(X, y, random_state=seed)
        model = copy(
            self._unfitted
        )  # every run starts afresh; scikit-learn's own clone takes as long as a fit
        if seed is not None:
            model.random_state = seed
        return model.fit(X, y)

    @cached_property
    def _unfitted(self) -> Any:
        from sklearn.base import clone

        model = clone(self.subject)
        if getattr(model, "accountant", None) is not None:
            model.set_params(accountant=None)  # the tables are made up: nobody's privacy is spent
        return model

    def _seed(self, stream: int, which: int, number: int) -> int | None:
        if self.random_state is None:
            return None
        drawn = np.random.SeedSequence(self.random_state, spawn_key=(stream, which, number))
        return int(drawn.generate_state(1)[0] >> 1)  # some libraries want it below 2**31


@dataclass
class Observations:
    """Runs of a pair, table by table; `matrices` puts them into the rows of two arrays."""

    runs: tuple[list[Observation], list[Observation]] = field(default_factory=lambda: ([], []))

    def matrices(self) -> tuple[Numbers, Numbers, list[str]]:
        """Return one array per table, and the names of the columns."""
        everything = [run for runs in self.runs for run in runs]
        failures = [next(iter(run)) for run in everything if _failed(run)]
        if everything and len(failures) == len(everything):
            raise RuntimeError(f"Every run failed, the first one so: {failures[0][len(FAILS) + 2 :]}")
        names = list(dict.fromkeys(name for run in everything if not _failed(run) for name in run))
        columns = [*names, FAILS] if failures else names
        arrays = [
            np.array([[run.get(name, 0.0) for name in names] for run in runs], np.float64).reshape(
                len(runs), -1
            )
            for runs in self.runs
        ]
        if failures:
            arrays = [
                np.column_stack([array, [float(_failed(run)) for run in runs]])
                for array, runs in zip(arrays, self.runs, strict=True)
            ]
        return arrays[0], arrays[1], columns

    def __len__(self) -> int:
        return sum(map(len, self.runs))


def collect(
    subject: Subject,
    pairs: Sequence[NeighbourPair],
    first_stream: int,
    runs_per_table: int,
    n_jobs: int,
    on_progress: Callable[[int], None],
) -> tuple[list[Observations], bool]:
    """Run on both tables of some pairs; on Ctrl-C return what is there.

    Parameters
    ----------
    subject : Subject
        What to run.
    pairs : sequence of NeighbourPair
        The tables.
    first_stream : int
        Number of the first pair: seeded runs with different numbers are independent.
    runs_per_table : int
        How often.
    n_jobs : int
        Processes.
    on_progress : callable
        Told how many runs were finished.

    Returns
    -------
    observations : list of Observations
        One for each pair.
    interrupted : bool
    """
    found = [Observations() for _ in pairs]
    tasks = [
        _Task(at, which, range(begin, min(begin + CHUNK, runs_per_table)))
        for at in range(len(pairs))
        for begin in range(0, runs_per_table, CHUNK)
        for which in (0, 1)
    ]
    calls = ((subject, pairs[task.at], task.which, first_stream + task.at, task.numbers) for task in tasks)
    try:
        with closing(_results(calls, n_jobs)) as results:
            for task, chunk in zip(tasks, results, strict=True):
                found[task.at].runs[task.which].extend(chunk)
                on_progress(len(chunk))
    except KeyboardInterrupt:
        return found, True
    return found, False


class _Task(NamedTuple):
    """Some runs on one table of one pair."""

    at: int
    which: int
    numbers: range


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


def _takes_seed(subject: Any) -> bool:
    if hasattr(subject, "fit"):
        return "random_state" in subject.get_params(deep=False)
    return "random_state" in inspect.signature(subject).parameters


def _failed(run: Observation) -> bool:
    return next(iter(run), "").startswith(FAILS)


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
