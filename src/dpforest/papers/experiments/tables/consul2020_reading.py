"""Consul and Williamson 2020, both tables once more: DiPriMe by the text of Section 3, not the algorithms."""

from dataclasses import replace

from dpforest.papers.experiments.experiment import Experiment
from dpforest.papers.experiments.tables import consul2020_table1, consul2020_table2
from dpforest.papers.experiments.tables._shared import CONSUL_2020, renamed_figures

METHOD = "DiPriMe 2020 text"


def _again(table: Experiment, number: str) -> Experiment:
    return replace(
        table,
        name=f"consul2020-reading{number}",
        title=f"{table.title}: by the text",
        paper=CONSUL_2020(f"{table.paper.place}, another reading"),
        methods=(METHOD,),
        published=renamed_figures(table, {"DiPriMe 2020": METHOD}, table.datasets),
        published_spread={},
        labels={METHOD: "DiPriMe"},
        is_reading=True,
        notes=(
            "Medians and attributes have twice the budget of Algorithm 1, and the score of an attribute is "
            "multiplied by the rows of its node, which Algorithm 3 leaves out."
        ),
    )


EXPERIMENTS = (_again(*consul2020_table1.EXPERIMENTS, "1"), _again(*consul2020_table2.EXPERIMENTS, "2"))
