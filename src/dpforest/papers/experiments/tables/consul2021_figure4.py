"""Consul and Williamson 2021, Figure 4: how evenly nodes are cut on Banknote."""

from dpforest.papers.experiments.experiment import Experiment
from dpforest.papers.experiments.tables._balance import mean_metric
from dpforest.papers.experiments.tables._shared import CONSUL_2021

EXPERIMENTS = (
    Experiment(
        name="consul2021-figure4",
        title="Mean distance of a node's left part from one half, Banknote",
        paper=CONSUL_2021("Figure 4"),
        task="classification",
        metric="left imbalance",
        datasets=("banknote@consul2021",),
        methods=("DP-ERT", "DiPriMe"),
        epsilons=(2.0,),
        compute=mean_metric("left imbalance", n_fits=10, n_estimators=10, max_depth=5),
        notes="The figure is a histogram without numbers; the paper does not give its budget, here it is 2.",
    ),
)
