"""From an experiment to single fits, and from a fit to a number.

`jobs_of` lists the jobs of an experiment; `Job.run` loads the data, splits it, fits, predicts and measures,
in whatever process it is called. Every job has a seed from its own key, so results depend neither on the
order of jobs nor on the number of processes; the seed of the split leaves the method out, so all methods of a
repeat see the same rows.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpforest.papers.experiments.experiment import Cell, Experiment, Setting, Split, setting_key
from dpforest.papers.experiments.methods import AS_PUBLISHED, Method, MethodNotAvailableError, find
from dpforest.papers.experiments.metrics import Fold, Metric
from dpforest.schema import Range, Schema

__all__ = ["ABSENT", "FAILED", "MISSING", "OK", "Job", "Outcome", "jobs_of"]

Table: TypeAlias = tuple[Any, Any, Any]  # X, y, schema
Loader: TypeAlias = Callable[[str], Table]
OK, FAILED, ABSENT, MISSING = "ok", "failed", "absent", "missing"
NO_EPSILON = float("inf")


@dataclass(frozen=True)
class Outcome:
    """What became of a job.

    Parameters
    ----------
    status : {"ok", "failed", "absent", "missing"}
        Absent methods and missing datasets are not failures: they are run as soon as they are there.
    value : float
        The metric; not a number unless ok.
    seconds : float
        Processor time of fit and prediction, which other work on the machine hardly changes.
    n_train : int
        Rows to learn from.
    error : str
        What went wrong, on one line.
    """

    status: str
    value: float = float("nan")
    seconds: float = 0.0
    n_train: int = 0
    error: str = ""


@dataclass(frozen=True)
class Job:
    """One fit.

    Parameters
    ----------
    experiment : Experiment
        Where it belongs.
    cell : Cell
        Which entry of the table.
    repeat : int
        Which repeat.
    setting : mapping
        The setting behind `cell.setting`.
    quick : bool
        Whether large datasets are sampled down.
    """

    experiment: Experiment
    cell: Cell
    repeat: int
    setting: Setting
    quick: bool = False

    @property
    def base(self) -> str:
        """Name of the method without the mark of its published form."""
        return self.cell.method.removesuffix(AS_PUBLISHED)

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters for the method's factory."""
        return self.experiment.parameters_for(self.cell.dataset, self.base, self.setting)

    @property
    def key(self) -> tuple[str, ...]:
        """What makes this job unlike all others of the experiment; results are recorded under it."""
        told = json.dumps(self.parameters, sort_keys=True)
        cell = self.cell
        return (cell.dataset, cell.method, repr(cell.epsilon), cell.setting, told, str(self.repeat))

    @property
    def seed(self) -> int:
        """Seed of the fit."""
        return _seed(self.experiment.name, *self.key)

    def run(self, method: Method | None, metric: Metric, load: Loader) -> Outcome:
        """Do it; whatever goes wrong is part of the outcome.

        Parameters
        ----------
        method : Method or None
            The registered method of `cell.method`; not needed for tables of formulas.
        metric : Metric
            The registered metric of the experiment.
        load : callable
            ``load(name)`` gives X, y and schema, or raises `DatasetNotFoundError`.

        Returns
        -------
        Outcome
        """
        from dpforest.papers.datasets import DatasetNotFoundError

        try:
            if self.experiment.compute is not None:
                return Outcome(OK, float(self.experiment.compute(self.cell, self.setting)))
            if method is None:
                return Outcome(ABSENT, error="no method of this name is registered")
            return self._fit(method, metric, load)
        except DatasetNotFoundError as error:
            return Outcome(MISSING, error=_one_line(error))
        except MethodNotAvailableError as error:
            return Outcome(ABSENT, error=_one_line(error))
        except Exception as error:  # one broken fit must not stop a night of others
            return Outcome(FAILED, error=f"{type(error).__name__}: {_one_line(error)}")

    def _fit(self, method: Method, metric: Metric, load: Loader) -> Outcome:
        fold, labels = self._fold(load(self.cell.dataset))
        X, y = fold.X_train, labels
        if not method.semi_supervised:
            known = np.array([label is not None for label in labels])
            X, y = _rows(X, np.flatnonzero(known)), fold.y_train[known]
        model = method.factory(
            task=self.experiment.task,
            schema=fold.schema,
            epsilon=self.cell.epsilon,
            seed=self.seed,
            parameters=self.parameters,
        )
        start = _cpu_seconds()
        with warnings.catch_warnings():
            # Seeds make runs repeatable and published forms are meant to be what they are: both warn.
            warnings.simplefilter("ignore")
            model.fit(X, y)
            value = metric.measure(model, fold)
        return Outcome(OK, value, _cpu_seconds() - start, len(y))

    def _fold(self, table: Table) -> tuple[Fold, NDArray[Any]]:
        """Split a table; also return the training labels with the hidden ones set to None."""
        X, y, schema = table
        split, name, dataset = self.experiment.split, self.experiment.name, self.cell.dataset
        known = np.flatnonzero(schema.encode_target(y) >= 0)
        if self.experiment.task == "regression" and split.scale_target:
            y, schema = _to_unit(y, schema)
        shuffle = self.repeat // split.folds if split.folds else self.repeat
        rng = np.random.default_rng(_seed(name, dataset, str(shuffle)))
        order = rng.permutation(known)[: self._max_rows(split)]
        if split.folds:
            parts = np.array_split(order, split.folds)
            test = parts.pop(self.repeat % split.folds)
            train = np.concatenate(parts)
        else:
            n_test = max(1, round(split.test_fraction * len(order)))
            test, train = order[:n_test], order[n_test:]
        y = np.asarray(y)
        labels = self._hide(y[train], np.random.default_rng(_seed(name, dataset, "labels", str(self.repeat))))
        fold = Fold(_rows(X, train), y[train], _rows(X, test), y[test], schema)
        return fold, labels

    def _max_rows(self, split: Split) -> int | None:
        limits = [split.max_rows, self.experiment.quick_rows if self.quick else None]
        return min((limit for limit in limits if limit is not None), default=None)

    def _hide(self, y: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        fraction = self.setting.get("labelled_fraction", self.experiment.split.labelled_fraction)
        if fraction is None:
            return y
        hidden = rng.permutation(len(y))[round(fraction * len(y)) :]
        labels = y.astype(object)
        labels[hidden] = None
        return labels


def jobs_of(experiment: Experiment, quick: bool = False, repeats: int | None = None) -> Iterator[Job]:
    """Yield every job of an experiment, repeat by repeat, so that a run that stops early covers all cells.

    Parameters
    ----------
    experiment : Experiment
        The table.
    quick : bool, default=False
        Fewer repeats, datasets and rows.
    repeats : int, optional
        Repeats instead of the experiment's own number.

    Yields
    ------
    Job
    """
    if repeats is None:
        repeats = experiment.quick_repeats if quick else experiment.repeats
    datasets = experiment.quick_datasets if quick and experiment.quick_datasets else experiment.datasets
    settings = experiment.quick_settings if quick and experiment.quick_settings else experiment.settings
    for repeat in range(1 if experiment.compute is not None else repeats):
        for dataset in datasets:
            for cell, setting in _cells(experiment, dataset, settings):
                yield Job(experiment, cell, repeat, setting, quick)


def _cells(
    experiment: Experiment, dataset: str, settings: tuple[Setting, ...]
) -> Iterator[tuple[Cell, Setting]]:
    for name in experiment.methods:
        forms = [form for form in (name, name + AS_PUBLISHED) if form == name or find(form) is not None]
        for form in forms if experiment.compute is None else [name]:
            method = find(form)
            free = experiment.compute is None and method is not None and not method.private
            for epsilon in (NO_EPSILON,) if free else experiment.epsilons_for(dataset):
                for setting in settings:
                    yield Cell(dataset, form, epsilon, setting_key(setting)), setting


@lru_cache(maxsize=2)
def load_table(name: str) -> Table:
    """Load a dataset; the last ones stay in memory, because jobs of one dataset come one after the other."""
    from dpforest.papers.datasets import load

    X, y, schema = load(name)
    return X, y, schema


def _to_unit(y: Any, schema: Schema) -> tuple[NDArray[np.float64], Schema]:
    """Scale a target by its public bounds to [0, 1]; some published forms differ on other scales."""
    target = schema.range
    scaled = (np.asarray(y, np.float64) - target.low) / (target.high - target.low)
    return scaled, Schema(schema.features, Range(0.0, 1.0))


def _rows(X: Any, chosen: NDArray[np.intp]) -> Any:
    return X.iloc[chosen] if hasattr(X, "iloc") else np.asarray(X)[chosen]


def _cpu_seconds() -> float:
    """Return the processor time of this process and of those that it started and that have ended."""
    ended = os.times()
    return time.process_time() + ended.children_user + ended.children_system


def _seed(*words: str) -> int:
    """Return 31 bits that depend on every word."""
    return int.from_bytes(hashlib.sha256("\x1f".join(words).encode()).digest()[:4], "big") >> 1


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:500]
