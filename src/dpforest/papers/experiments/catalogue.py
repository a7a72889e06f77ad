"""Find experiments by name: those of `tables/`, and those that users register."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

from dpforest.papers.experiments.experiment import Experiment

__all__ = ["experiment_names", "experiments_of", "find_experiment", "register_experiment"]

_EXPERIMENTS: dict[str, Experiment] = {}


def register_experiment(experiment: Experiment) -> Experiment:
    """Add an experiment, or replace the one of the same name.

    Parameters
    ----------
    experiment : Experiment
        Known by its name from now on.

    Returns
    -------
    Experiment
        The same.
    """
    _EXPERIMENTS[experiment.name] = experiment
    return experiment


def find_experiment(name: str) -> Experiment:
    """Return an experiment by name.

    Examples
    --------
    >>> find_experiment("huang2022-table1").metric
    'accuracy'
    """
    _load_tables()
    if name not in _EXPERIMENTS:
        raise ValueError(f"there is no experiment {name!r}; `dpforest bench list` shows all.")
    return _EXPERIMENTS[name]


def experiments_of(name: str) -> tuple[Experiment, ...]:
    """Return the experiment of a name, or all of a paper, whose names it begins.

    Examples
    --------
    >>> [experiment.name for experiment in experiments_of("fletcher2017")][:2]
    ['fletcher2017-figure10', 'fletcher2017-figure11']
    """
    of_paper = [one for one in experiment_names() if one.startswith(f"{name}-")]
    return tuple(map(find_experiment, of_paper or [name]))


def experiment_names() -> tuple[str, ...]:
    """Return the names of all experiments, sorted."""
    _load_tables()
    return tuple(sorted(_EXPERIMENTS))


@cache
def _load_tables() -> None:
    """Read every file of `tables/`, once; users' own experiments win."""
    own = dict(_EXPERIMENTS)
    tables = import_module("dpforest.papers.experiments.tables")
    for module in pkgutil.iter_modules(tables.__path__):
        if module.name.startswith("_"):  # what tables share
            continue
        for experiment in import_module(f"{tables.__name__}.{module.name}").EXPERIMENTS:
            register_experiment(experiment)
    _EXPERIMENTS.update(own)
