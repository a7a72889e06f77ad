"""Bojarski et al. 2014, Figures 1, 3, 5, 7 and 9: error by height and by number of trees.

All four panels of a figure are in its grid: (a) and (c) are lines of it, (b) and (d) the least, mean and
largest error over numbers of trees and over heights.
"""

from dpforest.papers.experiments.experiment import Experiment
from dpforest.papers.experiments.tables._shared import BOJARSKI, grid
from dpforest.papers.experiments.tables.bojarski2014_table1 import budget

DATASETS = {
    "banknote@bojarski2014": 1372,
    "congressional_voting": 435,
    "mammographic_mass@bojarski2014": 961,
    "mushroom": 8124,
}
OTHERS = {  # figure: its dataset
    3: ("adult_train@bojarski2014", 32561),
    5: ("blood_transfusion@bojarski2014", 748),
    7: ("covertype@bojarski2014", 581_012),
    9: ("quantum", 50000),
}
METHODS = ("dpRFMV", "dpRFTA", "dpRFPA")
NEAR = "quantum is in no package."


def _figure(number: int, datasets: dict[str, int], notes: str) -> Experiment:
    return Experiment(
        name=f"bojarski2014-figure{number}",
        title="Test error by height and number of trees",
        paper=BOJARSKI(f"Figure {number}"),
        task="classification",
        metric="error",
        datasets=tuple(datasets),
        methods=METHODS,
        epsilons={name: (budget(n_rows),) for name, n_rows in datasets.items()},
        settings=grid(n_estimators=range(1, 22, 2), max_depth=range(1, 16)),
        repeats=10,
        quick_repeats=2,
        quick_settings=grid(n_estimators=(1, 5, 21), max_depth=(1, 3, 6, 9, 12, 15)),
        notes=f"The figure is a chart without numbers in the text. {notes}",
    )


EXPERIMENTS = (
    _figure(
        1,
        DATASETS,
        "Its caption gives 0.137 for all datasets, which is 1000 over the training rows of mushroom; here "
        "each dataset has its own.",
    ),
    *(_figure(number, dict([dataset]), f"Of the datasets, {NEAR}") for number, dataset in OTHERS.items()),
)
