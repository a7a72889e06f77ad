"""Consul and Williamson 2020, Table 1: errors of regression forests, the first version."""

from dpforest.papers.experiments.experiment import ANY, Experiment
from dpforest.papers.experiments.tables._shared import CONSUL_2020, read_figures

DATASETS = ("parkinsons@consul2021", "appliances_energy@consul2021", "flights_us2008@consul2021")
EPSILON = 10.0
NO_PRIVACY = ("RF", "ERT", "Median")
FIGURES = read_figures(
    """
    RF           | 2.27e-2  | 7.21e-3 | 2.00e-4
    ERT          | 2.79e-2  | 8.04e-3 | 2.06e-4
    Median       | 2.465e-2 | 8.16e-3 | 2.22e-4
    DP-ERT       | 3.61e-2  | 8.95e-3 | 2.28e-4
    DiPriMe 2020 | 3.15e-2  | 8.48e-3 | 2.40e-4
    """,
    DATASETS,
    epsilon=EPSILON,
    free=NO_PRIVACY,
)
SHARED = {"n_estimators": 10, "max_features": 10, "split_share": 0.5, "max_depth": 5, "min_samples_leaf": 5}

EXPERIMENTS = (
    Experiment(
        name="consul2020-table1",
        title="Mean squared error of the first DiPriMe at epsilon 10",
        paper=CONSUL_2020("Table 1"),
        task="regression",
        metric="mse",
        datasets=DATASETS,
        methods=(*NO_PRIVACY, "DP-ERT", "DiPriMe 2020"),
        epsilons=(EPSILON,),
        parameters={(ANY, ANY): SHARED, ("flights_us2008@consul2021", ANY): {"max_depth": 10}},
        repeats=10,
        quick_repeats=2,
        published=FIGURES.published,
        labels={"DiPriMe 2020": "DiPriMe"},
        notes=(
            "The paper gives neither repeats nor spread; ten are run. Scaling and domains are those of "
            "the authors' later program. The flights of 2008 are in no package."
        ),
    ),
)
