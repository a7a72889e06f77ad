"""Huang, Lei and Kaban 2022, both tables once more: readings that are not what is printed."""

from dataclasses import replace

from dpforest.papers.experiments.experiment import Experiment
from dpforest.papers.experiments.tables import huang2022_table1, huang2022_table2
from dpforest.papers.experiments.tables._shared import HUANG, renamed_figures


def _again(table: Experiment, letter: str, readings: dict[str, str], what: str) -> Experiment:
    return replace(
        table,
        name=f"huang2022-reading{letter}",
        title=f"{table.title}: {what}",
        paper=HUANG(f"{table.paper.place}, another reading"),
        methods=tuple(readings.values()),
        parameters={("*", method): {"n_estimators": 10} for method in readings.values()},
        published=renamed_figures(table, readings, table.datasets),
        labels={},
        rank_test=None,
        is_reading=True,
        notes=f"A guess, not what is printed: {what}.",
    )


EXPERIMENTS = (
    _again(
        *huang2022_table1.EXPERIMENTS,
        "1",
        {"SPE": "SPE other features"},
        "a path draws no feature twice",
    ),
    _again(
        *huang2022_table2.EXPERIMENTS,
        "2",
        {"SSPE-2": "SSPE-2 all labels", "PTE": "PTE all labels"},
        "every tree has all labels",
    ),
)
