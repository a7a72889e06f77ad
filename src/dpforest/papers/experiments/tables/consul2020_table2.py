"""Consul and Williamson 2020, Table 2: errors of classification forests, the first version."""

from dpforest.papers.experiments.experiment import ANY, Experiment
from dpforest.papers.experiments.tables._shared import CONSUL_2020, read_figures

DATASETS = ("banknote@consul2021", "credit_default@consul2021", "wall_robot_24@consul2021")
EPSILON = 2.0
NO_PRIVACY = ("RF", "ERT", "Median")
FIGURES = read_figures(
    """
    RF           | 0.044 | 0.181 | 0.0440
    ERT          | 0.051 | 0.196 | 0.190
    Median       | 0.058 | 0.223 | 0.126
    DP-DF        | 0.413 | 0.223 | 0.397
    DP-ERT       | 0.490 | 0.324 | 0.450
    DiPriMe 2020 | 0.072 | 0.223 | 0.207
    """,
    DATASETS,
    epsilon=EPSILON,
    free=NO_PRIVACY,
)
SHARED = {"n_estimators": 10, "max_features": 5, "split_share": 0.5, "max_depth": 5, "min_samples_leaf": 5}

EXPERIMENTS = (
    Experiment(
        name="consul2020-table2",
        title="Classification error of the first DiPriMe at epsilon 2",
        paper=CONSUL_2020("Table 2"),
        task="classification",
        metric="error",
        datasets=DATASETS,
        methods=(*NO_PRIVACY, "DP-DF", "DP-ERT", "DiPriMe 2020"),
        epsilons=(EPSILON,),
        parameters={(ANY, ANY): SHARED},
        repeats=10,
        quick_repeats=2,
        published=FIGURES.published,
        labels={"DiPriMe 2020": "DiPriMe"},
        notes=(
            "The paper gives neither repeats nor spread; ten are run. If the program is that of the later "
            "version, the DP-ERT column is a mean distance of scores from labels, not an error rate."
        ),
    ),
)
