"""Bojarski et al. 2014, Figures 2, 4, 6, 8 and 10: error by budget (a), and by number of trees (b).

The first panel has, for every budget and height, the number of trees out of 1 to 101 that does best on
validation rows; nothing is paid for that choice, so there is no rigorous form of it.
"""

from dpforest.papers.experiments.experiment import Experiment
from dpforest.papers.experiments.tables._shared import BOJARSKI, grid
from dpforest.papers.experiments.tables.bojarski2014_figure1 import DATASETS, METHODS, NEAR, OTHERS

NO_NUMBERS = "The figure is a chart without numbers in the text; budgets and heights are ours."
SEARCHED = tuple(f"{name} searched" for name in METHODS)


def _panels(number: int, datasets: tuple[str, ...], notes: str = "") -> tuple[Experiment, ...]:
    def panel(
        letter: str,
        title: str,
        methods: tuple[str, ...],
        settings: tuple[dict[str, int], ...],
        epsilons: tuple[float, ...],
    ) -> Experiment:
        return Experiment(
            name=f"bojarski2014-figure{number}{letter}",
            title=title,
            paper=BOJARSKI(f"Figure {number}{letter}"),
            task="classification",
            metric="error",
            datasets=datasets,
            methods=methods,
            epsilons=epsilons,
            settings=settings,
            repeats=10,
            quick_repeats=2,
            notes=f"{NO_NUMBERS}{notes}",
        )

    return (
        panel(
            "a",
            "Test error by budget, two heights, the best of 101 numbers of trees",
            SEARCHED,
            grid(max_depth=(5, 10), max_trees=(101,)),
            (0.01, 0.05, 0.1, 0.5, 1.0, 5.0),
        ),
        panel(
            "b",
            "Test error by number of trees, at three budgets",
            METHODS,
            grid(max_depth=(10,), n_estimators=(1, 3, 11, 31, 101)),
            (0.1, 0.5, 2.0),
        ),
    )


EXPERIMENTS = (
    *_panels(2, tuple(DATASETS)),
    *(
        panel
        for number, (dataset, _) in OTHERS.items()
        for panel in _panels(number + 1, (dataset,), f" Of the datasets, {NEAR}")
    ),
)
