"""Consul and Williamson 2020, Figure 1: how evenly nodes are cut."""

from dpforest.papers.experiments.experiment import Experiment
from dpforest.papers.experiments.tables._balance import mean_metric
from dpforest.papers.experiments.tables._shared import CONSUL_2020

EXPERIMENTS = (
    Experiment(
        name="consul2020-figure1",
        title="Mean distance of a node's left part from one half, 100 trees",
        paper=CONSUL_2020("Figure 1"),
        task="classification",
        metric="left imbalance",
        datasets=("banknote@consul2021",),
        methods=("DP-ERT", "DiPriMe"),
        epsilons=(10.0,),
        compute=mean_metric("left imbalance", n_fits=100, n_estimators=1, max_depth=5),
        notes=(
            "The figure is a histogram without numbers and does not name its data; the later version "
            "shows Banknote. Each of the 100 trees is fitted alone, to all rows. DiPriMe is measured in "
            "the form with random features: our private replacement of the first version weighs labels, "
            "not balance."
        ),
    ),
)
