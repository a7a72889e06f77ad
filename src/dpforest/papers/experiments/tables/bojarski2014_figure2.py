"""Bojarski et al. 2014, Figures 2, 4, 6, 8 and 10: error by budget (a), and by number of trees (b)."""

from dpforest.papers.experiments.experiment import Experiment
from dpforest.papers.experiments.tables._shared import BOJARSKI, grid
from dpforest.papers.experiments.tables.bojarski2014_figure1 import DATASETS, METHODS, NEAR, OTHERS

NO_NUMBERS = "The figure is a chart without numbers in the text; the grid is ours."


def _panels(number: int, datasets: tuple[str, ...], notes: str = "") -> tuple[Experiment, ...]:
    def panel(
        letter: str, title: str, settings: tuple[dict[str, int], ...], epsilons: tuple[float, ...]
    ) -> Experiment:
        choice = "The paper picks the number of trees on validation rows for every budget."
        return Experiment(
            name=f"bojarski2014-figure{number}{letter}",
            title=title,
            paper=BOJARSKI(f"Figure {number}{letter}"),
            task="classification",
            metric="error",
            datasets=datasets,
            methods=METHODS,
            epsilons=epsilons,
            settings=settings,
            repeats=10,
            quick_repeats=2,
            notes=f"{NO_NUMBERS} {choice if letter == 'a' else ''}{notes}".strip(),
        )

    return (
        panel(
            "a",
            "Test error by budget, two heights",
            grid(max_depth=(5, 10), n_estimators=(11,)),
            (0.01, 0.05, 0.1, 0.5, 1.0, 5.0),
        ),
        panel(
            "b",
            "Test error by number of trees, at three budgets",
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
