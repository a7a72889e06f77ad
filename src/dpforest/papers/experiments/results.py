"""Results on disk: one line of CSV per fit, safe against being killed at any moment.

`runner` is the only writer. A line is written whole and forced to disk before the next job's; what a kill
left half-written is cut off when the file is opened again. `summary` reads the file.
"""

from __future__ import annotations

import csv
import io
import os
import platform
import subprocess
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from functools import cache
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Self

import dpforest
from dpforest.papers.experiments.experiment import Cell
from dpforest.papers.experiments.jobs import Job, Outcome

__all__ = ["Result", "ResultFile", "read_results", "result_path"]


@dataclass(frozen=True)
class Result:
    """One line of a result file; every field is text there.

    Parameters
    ----------
    experiment, dataset, method : str
        What was run.
    epsilon : float
        Budget, infinite for methods without privacy.
    setting, parameters : str
        JSON of what the figure varies, and of all parameters given.
    repeat, seed : int
        Which repeat, and the seed of its fit.
    metric : str
        What was measured.
    value, seconds : float
        The number, and the processor time it took.
    n_train : int
        Rows to learn from.
    status, error : str
        "ok" or "failed", and why.
    dpforest, python, numpy, sklearn, revision : str
        Versions, and the commit if run from a git checkout.
    """

    experiment: str
    dataset: str
    method: str
    epsilon: float
    setting: str
    parameters: str
    repeat: int
    seed: int
    metric: str
    value: float
    seconds: float
    n_train: int
    status: str
    error: str
    dpforest: str
    python: str
    numpy: str
    sklearn: str
    revision: str

    @property
    def key(self) -> tuple[str, ...]:
        """As `Job.key`."""
        repeat = str(self.repeat)
        return (self.dataset, self.method, repr(self.epsilon), self.setting, self.parameters, repeat)

    @property
    def cell(self) -> Cell:
        """Where it belongs in the table."""
        return Cell(self.dataset, self.method, self.epsilon, self.setting)

    @classmethod
    def of(cls, job: Job, outcome: Outcome) -> Self:
        """Put a job and its outcome together."""
        return cls(
            experiment=job.experiment.name,
            dataset=job.cell.dataset,
            method=job.cell.method,
            epsilon=job.cell.epsilon,
            setting=job.cell.setting,
            parameters=job.key[4],
            repeat=job.repeat,
            seed=job.seed,
            metric=job.experiment.metric,
            value=outcome.value,
            seconds=round(outcome.seconds, 3),
            n_train=outcome.n_train,
            status=outcome.status,
            error=outcome.error,
            dpforest=dpforest.__version__,
            python=platform.python_version(),
            numpy=version("numpy"),
            sklearn=version("scikit-learn"),
            revision=_revision(),
        )


_FIELDS = tuple(field.name for field in fields(Result))
_NUMBERS = {"epsilon": float, "value": float, "seconds": float, "repeat": int, "seed": int, "n_train": int}


def result_path(folder: str | os.PathLike[str], name: str, quick: bool) -> Path:
    """Return the file of an experiment; quick results never mix with full ones."""
    return Path(folder) / f"{name}{'-quick' if quick else ''}.csv"


def read_results(path: str | os.PathLike[str]) -> list[Result]:
    """Read a result file; a half-written last line is left out.

    Parameters
    ----------
    path : path
        What `ResultFile` wrote; a file that is not there has no results.

    Returns
    -------
    list of Result
    """
    if not Path(path).exists():
        return []
    text = _whole_lines(Path(path).read_bytes()).decode()
    return [_parse(row) for row in csv.DictReader(io.StringIO(text))]


class ResultFile:
    """An open result file, to append to; one process at a time.

    Parameters
    ----------
    path : path
        Made with its folder if it is not there.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with ResultFile(result_path(folder.name, "999-table1", quick=False)) as file:
    ...     sorted(file.done)
    []
    >>> folder.cleanup()
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            _lock(self._descriptor, self.path)
            content = self.path.read_bytes()
            whole = _whole_lines(content)
            os.ftruncate(self._descriptor, len(whole))
            os.lseek(self._descriptor, 0, os.SEEK_END)
            if not whole:
                self._write(_FIELDS)
        except BaseException:
            os.close(self._descriptor)
            raise
        self.done = {result.key: result.status for result in read_results(self.path)}

    def append(self, result: Result) -> None:
        """Write a line and wait until it is on disk."""
        self._write([str(value) for value in asdict(result).values()])
        self.done[result.key] = result.status

    def _write(self, row: tuple[str, ...] | list[str]) -> None:
        line = io.StringIO()
        csv.writer(line, lineterminator="\n").writerow(row)
        data = line.getvalue().encode()
        while data:
            data = data[os.write(self._descriptor, data) :]
        os.fsync(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._descriptor)  # which also gives the lock back


def _whole_lines(content: bytes) -> bytes:
    return content[: content.rfind(b"\n") + 1]


def _parse(row: dict[str, str]) -> Result:
    return Result(**{name: _NUMBERS.get(name, str)(row[name]) for name in _FIELDS})


def _lock(descriptor: int, path: Path) -> None:
    try:
        import fcntl
    except ImportError:  # Windows has no such lock; two runs into one file are then the user's to avoid
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise RuntimeError(
            f"another run is writing to {path}; wait for it or choose another folder."
        ) from None


@cache
def _revision() -> str:
    """Return the commit of a git checkout, with a plus sign if files were changed since; "" elsewhere."""
    here = str(Path(__file__).parent)

    def git(*words: str) -> Iterator[str]:
        done = subprocess.run(  # noqa: S603
            ["git", "-C", here, *words],  # noqa: S607 (the user's git)
            capture_output=True,
            text=True,
            check=False,
        )
        yield from done.stdout.split("\n")[:1] if done.returncode == 0 else ()

    try:
        commit = next(git("rev-parse", "--short=12", "HEAD"), "")
        changed = next(git("status", "--porcelain", "--untracked-files=no"), "")
    except OSError:
        return ""
    return f"{commit}+" if commit and changed else commit
