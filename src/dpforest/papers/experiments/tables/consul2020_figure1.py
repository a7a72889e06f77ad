"""Consul and Williamson 2020, Figure 1: how evenly nodes are cut."""

from dpforest.papers.experiments.experiment import Experiment
from dpforest.papers.experiments.tables._balance import bins, histogram
from dpforest.papers.experiments.tables._shared import CONSUL_2020
from dpforest.papers.experiments.tables.consul2021_figure4 import ENDS

EXPERIMENTS = (
    Experiment(
        name="consul2020-figure1",
        title="Part of the splits by the part of the rows that go left, 100 trees",
        paper=CONSUL_2020("Figure 1"),
        task="classification",
        metric="value",
        datasets=("banknote@consul2021",),
        methods=("DP-ERT", "DiPriMe 2020"),
        epsilons=(10.0,),
        settings=bins(ENDS),
        compute=histogram("splits", ENDS, n_fits=100, shared={"n_estimators": 1, "max_depth": 5}),
        notes=(
            "The figure is a histogram without numbers; its bins are ours. It does not name its data; the "
            "later version shows Banknote. Each of the 100 trees is fitted alone, to all rows, in the "
            "papers' own form."
        ),
    ),
)
