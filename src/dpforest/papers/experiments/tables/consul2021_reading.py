"""Consul and Williamson 2021, Table 2 and Section 4.3: competitors with the slips of the authors' notebook.

Of the program of Fletcher and Islam (2015) the notebook asks a budget of 1, leaves the counter of levels at 0
and hands numbers over where text is expected. Trees then grow without a limit, and no row ever leaves the
root.
"""

from typing import Any

import numpy as np

from dpforest.papers.experiments.experiment import ANY, Experiment
from dpforest.papers.experiments.methods import MethodNotAvailableError
from dpforest.papers.experiments.metrics import Fold, register_metric
from dpforest.papers.experiments.tables._balance import NODES
from dpforest.papers.experiments.tables._shared import CONSUL_2021
from dpforest.papers.experiments.tables.consul2021_figure3 import ROBOT
from dpforest.papers.experiments.tables.consul2021_table2 import DATASETS, FIGURES
from dpforest.papers.published import raw_matrix

METHOD, EPSILON = "DP-DF as called", 1.0
CLOSENESS = "closeness of the scores"
SIZES = {"n_estimators": 10}
# The program's height counts the level of the leaves.
DEPTHS = {
    dataset: told["max_depth"] - 1 for (dataset, name), told in FIGURES.depths.items() if name == "DP-DF"
}


def _closeness(model: Any, fold: Fold) -> float:
    """One minus the mean distance of labels and averaged scores, of a paper's own form."""
    forest = getattr(model, "published_", None)
    if forest is None:
        raise MethodNotAvailableError("scores of the papers' own forms are compared.")
    scores = forest.votes(raw_matrix(fold.X_test, fold.schema))
    return float(scores[np.arange(len(scores)), fold.codes].mean())


register_metric(CLOSENESS, _closeness, percent=True)

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
    Experiment(
        name="consul2021-reading3",
        title="Closeness of the scores of DP-ERT to the labels at epsilon 2",
        paper=CONSUL_2021("Table 2, another reading"),
        task="classification",
        metric=CLOSENESS,
        datasets=DATASETS,
        methods=("DP-ERT",),
        epsilons=(2.0,),
        parameters={
            (ANY, ANY): SIZES,
            **{key: told for key, told in FIGURES.depths.items() if key[1] == "DP-ERT"},
        },
        repeats=10,
        quick_repeats=2,
        published={key: value for key, value in FIGURES.published.items() if key[1] == "DP-ERT"},
        is_reading=True,
        notes=(
            "The notebook takes the mean distance of labels and averaged scores for an error, without naming "
            "a class first."
        ),
    ),
)
