"""Consul and Williamson 2021, Figure 4: how evenly nodes are cut on Banknote."""

from dpforest.papers.experiments.experiment import Experiment
from dpforest.papers.experiments.tables._balance import bins, histogram
from dpforest.papers.experiments.tables._shared import CONSUL_2021

ENDS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)

EXPERIMENTS = (
    Experiment(
        name="consul2021-figure4",
        title="Part of the splits by the part of the rows that go left, Banknote",
        paper=CONSUL_2021("Figure 4"),
        task="classification",
        metric="value",
        datasets=("banknote@consul2021",),
        methods=("DP-ERT", "DiPriMe"),
        epsilons=(2.0,),
        settings=bins(ENDS),
        compute=histogram("splits", ENDS, n_fits=20, shared={"n_estimators": 10, "max_depth": 5}),
        notes=(
            "The figure is a histogram without numbers; its bins are ours. Budget and size are not given: "
            "here 2, ten trees on parts of the rows, depth 5, twenty fits of the papers' own forms."
        ),
    ),
)
