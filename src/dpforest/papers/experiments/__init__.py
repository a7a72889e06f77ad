"""Rerun the experiments of papers with one command, and say where published figures stand on false ground.

Modules, in the order of their dependence: `experiment` (a table of a paper, as data), `methods` and `metrics`
(registries; `systems`, `references`, `readings` and `peers` fill the first), `jobs` (single fits), `results`
(their lines on disk), `runner`, `summary` (means beside published figures), `rank_tests`, `report` and
`figures`, `catalogue` (all tables by name), `claims` (what papers say in words), `page` (the page of
results). `tables` holds one file per table of a paper.

Nothing here is private: published data, fixed seeds and the papers' own flawed forms.
"""

from dpforest.papers.experiments.catalogue import (
    experiment_names,
    experiments_of,
    find_experiment,
    register_experiment,
)
from dpforest.papers.experiments.experiment import ANY, Cell, Experiment, Paper, Split, setting_key
from dpforest.papers.experiments.figures import plot
from dpforest.papers.experiments.methods import AS_PUBLISHED, Method, MethodNotAvailableError, register
from dpforest.papers.experiments.metrics import Fold, register_metric
from dpforest.papers.experiments.report import report
from dpforest.papers.experiments.results import Result, read_results, result_path
from dpforest.papers.experiments.runner import RunSummary, run
from dpforest.papers.experiments.summary import Summary, summarise

__all__ = [
    "ANY",
    "AS_PUBLISHED",
    "Cell",
    "Experiment",
    "Fold",
    "Method",
    "MethodNotAvailableError",
    "Paper",
    "Result",
    "RunSummary",
    "Split",
    "Summary",
    "experiment_names",
    "experiments_of",
    "find_experiment",
    "plot",
    "read_results",
    "register",
    "register_experiment",
    "register_metric",
    "report",
    "result_path",
    "run",
    "setting_key",
    "summarise",
]
