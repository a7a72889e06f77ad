"""Consul and Williamson 2021, Table 1: errors of regression forests.

Depths stand in brackets; the spread is a 95 % interval of ten runs. Published on the scale of each target
divided by its range, for Parkinson's by its largest value.
"""

from dpforest.papers.experiments.experiment import ANY, Experiment
from dpforest.papers.experiments.tables._shared import CONSUL_2021, read_figures

DATASETS = (
    "parkinsons@consul2021",
    "appliances_energy@consul2021",
    "metro_traffic@consul2021",
    "gas_turbine@consul2021",
    "flights_us2008@consul2021",
)
UNITS = dict(zip(DATASETS, (1e-2, 1e-3, 1e-3, 1e-4, 1e-4), strict=True))
EPSILON = 10.0
NO_PRIVACY = ("RF", "ERT", "Median")
FIGURES = read_figures(
    """
    RF          | 1.59 ± 0.07 (7) | 6.27 ± 0.48 (9) | 4.64 ± 0.20 (10) | 1.22 ± 0.04 (10) | 1.98 ± 0.06 (14)
    ERT         | 2.56 ± 0.16 (7) | 7.17 ± 0.50 (9) | 6.31 ± 0.35 (10) | 2.25 ± 0.11 (10) | 2.05 ± 0.06 (14)
    Median      | 1.88 ± 0.09 (7) | 6.17 ± 0.43 (9) | 6.66 ± 0.41 (10) | 1.08 ± 0.04 (10) | 2.09 ± 0.07 (14)
    DP-RF       | 5.61 ± 1.26 (3) | 40.7 ± 6.2 (4)  | 33.1 ± 5.6 (4)   | 241 ± 56 (4)     | 407 ± 26 (6)
    DP-ERT      | 3.46 ± 0.14 (7) | 8.72 ± 0.62 (9) | 43.2 ± 3.3 (10)  | 41.9 ± 9.9 (10)  | 2.72 ± 0.08 (14)
    DiPriMe     | 3.36 ± 0.13 (4) | 8.58 ± 0.63 (6) | 50.6 ± 5.5 (7)   | 15.7 ± 0.9 (7)   | 2.38 ± 0.07 (11)
    DiPriMeExp  | 3.32 ± 0.10 (4) | 8.53 ± 0.60 (6) | 31.8 ± 2.3 (7)   | 9.60 ± 1.11 (7)  | 2.38 ± 0.07 (11)
    DiPriMeFlip | 3.30 ± 0.12 (4) | 8.46 ± 0.60 (6) | 24.7 ± 2.9 (7)   | 8.12 ± 0.66 (7)  | 2.32 ± 0.06 (11)
    """,
    DATASETS,
    epsilon=EPSILON,
    free=NO_PRIVACY,
    units=UNITS,
)
METHODS = (*NO_PRIVACY, "DP-RF", "DP-ERT", "DiPriMe", "DiPriMeExp", "DiPriMeFlip")
SHARED = {"n_estimators": 10, "max_features": 5, "split_share": 0.5, "min_samples_leaf": 5}

EXPERIMENTS = (
    Experiment(
        name="consul2021-table1",
        title="Mean squared error of private regression forests at epsilon 10",
        paper=CONSUL_2021("Table 1"),
        task="regression",
        metric="mse",
        datasets=DATASETS,
        methods=METHODS,
        epsilons=(EPSILON,),
        parameters={(ANY, ANY): SHARED, (ANY, "DP-RF"): {"max_features": None}, **FIGURES.depths},
        repeats=10,
        quick_repeats=2,
        published=FIGURES.published,
        published_spread=FIGURES.spread,
        notes=(
            "Domains are read off the published rows, as the authors' program does. The spread is the "
            "half width of a 95 % interval from ten runs. Leaves of at least 5 rows in RF and ERT are the "
            "program's. DP-RF compares all features, as in the program. The flights of 2008 are in no "
            "package."
        ),
    ),
)
