"""Consul and Williamson 2021, Figure 3: how full leaves are on the Robot data, and how many nodes trees have.

Depths are those of Table 2 (three for trees with five children a node), but for DP-ERT's: a tree of 31 nodes,
as the text has it, has four levels of splits.
"""

from typing import Any

from dpforest.papers.experiments.experiment import ANY, Experiment
from dpforest.papers.experiments.tables._balance import NODES, bins, histogram
from dpforest.papers.experiments.tables._shared import CONSUL_2021

ROBOT = "wall_robot_24@consul2021"
METHODS = ("DP-ERT", "DP-RF", "DP-DF", "DiPriMe", "DiPriMeExp", "DiPriMeFlip")
ENDS = (0.01, 0.02, 0.05, 0.1, 0.2, 1.0)
PARAMETERS: dict[str, dict[str, Any]] = {
    "shared": {"n_estimators": 10, "max_features": 5, "split_share": 0.5, "max_depth": 4},
    "DP-RF": {"max_depth": 3, "max_features": None},
    "DP-DF": {"max_depth": 3},
}

EXPERIMENTS = (
    Experiment(
        name="consul2021-figure3",
        title="Part of the leaves by the part of the rows that they hold, Robot data",
        paper=CONSUL_2021("Figure 3"),
        task="classification",
        metric="value",
        datasets=(ROBOT,),
        methods=METHODS,
        epsilons=(2.0,),
        settings=bins(ENDS),
        compute=histogram("leaves", ENDS, n_fits=10, **PARAMETERS),
        notes=(
            "The figure is a histogram without numbers; its bins are ours. Measured are the papers' own "
            "forms, ten fits of ten trees, all rows sent through every tree."
        ),
    ),
    Experiment(
        name="consul2021-nodes",
        title="Mean number of nodes in a tree, Robot data",
        paper=CONSUL_2021("Section 4.3"),
        task="classification",
        metric=NODES,
        datasets=(ROBOT,),
        methods=METHODS,
        epsilons=(2.0,),
        parameters={(ANY, ANY if name == "shared" else name): told for name, told in PARAMETERS.items()},
        repeats=10,
        quick_repeats=2,
        published={
            (ROBOT, method, 2.0): float(nodes)
            for method, nodes in {"DP-ERT": 31, "DP-RF": 104, "DP-DF": 407, "DiPriMe": 31}.items()
        },
        notes="Means over the ten trees of a fit; the paper does not say over how many fits.",
    ),
)
