"""Rerun the experiments of papers with one command, and say where published figures stand on false ground.

Modules, in the order of their dependence: `experiment` (a table of a paper, as data), `methods` and `metrics`
(registries; `systems`, `references` and `peers` fill the first), `jobs` (single fits), `results` (their lines
on disk), `runner`, `summary` (means beside published figures), `report` and `figures`, `catalogue` (all
tables by name), `page` (the page of results). `tables` holds one file per table of a paper.

Nothing here is private: published data, fixed seeds and the papers' own flawed forms.
"""

from dpforest.benchmarks.catalogue import experiment_names, find_experiment, register_experiment
from dpforest.benchmarks.experiment import ANY, Cell, Experiment, Paper, Split, setting_key
from dpforest.benchmarks.figures import plot
from dpforest.benchmarks.methods import AS_PUBLISHED, Method, MethodNotAvailableError, register
from dpforest.benchmarks.metrics import Fold, register_metric
from dpforest.benchmarks.report import report
from dpforest.benchmarks.results import Result, read_results, result_path
from dpforest.benchmarks.runner import RunSummary, run
from dpforest.benchmarks.summary import Summary, summarise

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
