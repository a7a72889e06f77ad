"""Consul and Williamson 2021, Figure 3: how full leaves are on the Robot data."""

from dpforest.papers.experiments.experiment import Experiment
from dpforest.papers.experiments.tables._balance import mean_metric
from dpforest.papers.experiments.tables._shared import CONSUL_2021

EXPERIMENTS = (
    Experiment(
        name="consul2021-figure3",
        title="Leaves with under 1 % of the rows, Robot data",
        paper=CONSUL_2021("Figure 3"),
        task="classification",
        metric="sparse leaves",
        datasets=("wall_robot_24@consul2021",),
        methods=("DP-ERT", "DiPriMe", "DiPriMeExp", "DiPriMeFlip"),
        epsilons=(2.0,),
        compute=mean_metric(
            "sparse leaves", n_fits=10, n_estimators=10, max_depth=5, max_features=5, disjoint=False
        ),
        notes=(
            "The figure is a histogram without numbers; measured is the fraction of leaves that hold "
            "under one row in a hundred, for ten trees of depth 5 on all rows. Of DP-DF and DP-RF the "
            "paper gives the mean number of nodes, 407 and 104 against 31; their trees, with a child for "
            "every value, are not measured here. Our DiPriMeExp weighs cuts by labels instead of taking a "
            "median, so it is less balanced than the paper's."
        ),
    ),
)
