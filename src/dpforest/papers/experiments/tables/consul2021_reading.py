"""Consul and Williamson 2021, Table 2 and Section 4.3: DP-DF with the slips in how their notebook calls it.

Of the program of Fletcher and Islam (2015) the notebook asks a budget of 1, leaves the counter of levels at 0
and hands numbers over where text is expected. Trees then grow without a limit, and no row ever leaves the
root.
"""

from dpforest.papers.experiments.experiment import ANY, Experiment
from dpforest.papers.experiments.tables._balance import NODES
from dpforest.papers.experiments.tables._shared import CONSUL_2021
from dpforest.papers.experiments.tables.consul2021_figure3 import ROBOT
from dpforest.papers.experiments.tables.consul2021_table2 import DATASETS, FIGURES

METHOD, EPSILON = "DP-DF as called", 1.0
SIZES = {"n_estimators": 10}
# The program's height counts the level of the leaves.
DEPTHS = {
    dataset: told["max_depth"] - 1 for (dataset, name), told in FIGURES.depths.items() if name == "DP-DF"
}

EXPERIMENTS = (
    Experiment(
        name="consul2021-reading1",
        title="Accuracy of DP-DF as the notebook calls it, at epsilon 1",
        paper=CONSUL_2021("Table 2, another reading"),
        task="classification",
        metric="accuracy",
        datasets=DATASETS,
        methods=(METHOD,),
        epsilons=(EPSILON,),
        parameters={(ANY, ANY): SIZES, **{(name, METHOD): {"max_depth": d} for name, d in DEPTHS.items()}},
        repeats=10,
        quick_repeats=2,
        published={
            (dataset, METHOD, EPSILON): value
            for (dataset, name, _), value in FIGURES.published.items()
            if name == "DP-DF"
        },
        labels={METHOD: "DP-DF"},
        is_reading=True,
        notes=(
            "Nodes keep the values of their children as text, and rows have numbers: no child is found, and "
            "all trees name the most common class of the training rows."
        ),
    ),
    Experiment(
        name="consul2021-reading2",
        title="Mean number of nodes in a tree of DP-DF as the notebook calls it, Robot data",
        paper=CONSUL_2021("Section 4.3, another reading"),
        task="classification",
        metric=NODES,
        datasets=(ROBOT,),
        methods=(METHOD,),
        epsilons=(EPSILON,),
        parameters={(ANY, ANY): {**SIZES, "max_depth": DEPTHS[ROBOT]}},
        repeats=10,
        quick_repeats=2,
        published={(ROBOT, METHOD, EPSILON): 407.0},
        labels={METHOD: "DP-DF"},
        is_reading=True,
        notes="Means over the ten trees of a fit.",
    ),
)
