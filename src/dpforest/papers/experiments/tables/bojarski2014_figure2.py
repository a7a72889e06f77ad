"""Bojarski et al. 2014, Figure 2: error by budget (a), and by number of trees at several budgets (b)."""

from dpforest.papers.experiments.experiment import Experiment
from dpforest.papers.experiments.tables._shared import BOJARSKI, grid
from dpforest.papers.experiments.tables.bojarski2014_figure1 import DATASETS, METHODS

NO_NUMBERS = "The figure is a chart without numbers in the text; the grid is ours."


def _panel(
    letter: str, title: str, settings: tuple[dict[str, int], ...], epsilons: tuple[float, ...]
) -> Experiment:
    return Experiment(
        name=f"bojarski2014-figure2{letter}",
        title=title,
        paper=BOJARSKI(f"Figure 2{letter}"),
        task="classification",
        metric="error",
        datasets=tuple(DATASETS),
        methods=METHODS,
        epsilons=epsilons,
        settings=settings,
        repeats=10,
        quick_repeats=2,
        notes=f"{NO_NUMBERS} The paper picks the number of trees on validation rows for every budget.",
    )


EXPERIMENTS = (
    _panel(
        "a",
        "Test error by budget, two heights",
        grid(max_depth=(5, 10), n_estimators=(11,)),
        (0.01, 0.05, 0.1, 0.5, 1.0, 5.0),
    ),
    _panel(
        "b",
        "Test error by number of trees, at three budgets",
        grid(max_depth=(10,), n_estimators=(1, 3, 11, 31, 101)),
        (0.1, 0.5, 2.0),
    ),
)
