"""Figures that both papers of Consul and Williamson have: error by depth, trees and budget on one dataset.

The text gives no numbers and no grids for them. Those of the heat maps are in the authors' notebook
(`MedianTree_Param.ipynb` of the repository DiPriMeFlip_Forest); the others are ours.
"""

from __future__ import annotations

from dpforest.papers.experiments.experiment import ANY, Experiment, Paper
from dpforest.papers.experiments.tables._shared import grid

__all__ = ["accuracy_by_budget", "error_panels", "hyperparameter_panels"]

APPLIANCES, BANKNOTE = "appliances_energy@consul2021", "banknote@consul2021"
NO_NUMBERS = "The paper's text gives no numbers for this figure; the grid is ours."
BUDGETS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0)


def error_panels(
    name: str, paper: Paper, methods: tuple[str, ...], n_features: int, disjoint: bool = True
) -> tuple[Experiment, ...]:
    """Return three panels: mean squared error by depth, by number of trees and by budget.

    Parameters
    ----------
    name : str
        Name of the figure; panels add a letter.
    paper : Paper
        Where it is.
    methods : tuple of str
        Its lines.
    n_features : int
        Features that a node compares.
    disjoint : bool, default=True
        Whether each tree has its own part of the rows.

    Returns
    -------
    tuple of Experiment
    """

    def panel(
        letter: str, title: str, settings: tuple[dict[str, int], ...], epsilons: tuple[float, ...]
    ) -> Experiment:
        shared = {"n_estimators": 10, "max_features": n_features, "max_depth": 6, "split_share": 0.5}
        shared |= {} if disjoint else {"disjoint": False}
        return Experiment(
            name=f"{name}{letter}",
            title=f"Mean squared error on Appliances by {title}",
            paper=paper,
            task="regression",
            metric="mse",
            datasets=(APPLIANCES,),
            methods=methods,
            epsilons=epsilons,
            settings=settings,
            parameters={(ANY, ANY): {**shared, "min_samples_leaf": 5}},
            repeats=10,
            quick_repeats=2,
            notes=NO_NUMBERS,
        )

    return (
        panel("a", "depth", grid(max_depth=(2, 4, 6, 8, 10)), (10.0,)),
        panel("b", "number of trees", grid(n_estimators=(1, 5, 10, 20, 50)), (10.0,)),
        panel("c", "budget", ({},), BUDGETS),
    )


def accuracy_by_budget(
    name: str, paper: Paper, methods: tuple[str, ...], disjoint: bool = True
) -> Experiment:
    """Return accuracies on Banknote for growing budgets, with trees of depth 5.

    Parameters
    ----------
    name : str
        Name of the figure.
    paper : Paper
        Where it is.
    methods : tuple of str
        Its lines.
    disjoint : bool, default=True
        Whether each tree has its own part of the rows.

    Returns
    -------
    Experiment
    """
    shared = {
        "n_estimators": 10,
        "max_features": 5,
        "max_depth": 5,
        "split_share": 0.5,
        "min_samples_leaf": 5,
        **({} if disjoint else {"disjoint": False}),
    }
    return Experiment(
        name=name,
        title="Accuracy on Banknote by budget",
        paper=paper,
        task="classification",
        metric="accuracy",
        datasets=(BANKNOTE,),
        methods=methods,
        epsilons=(0.5, 1.0, 2.0, 4.0, 8.0, 16.0),
        parameters={(ANY, ANY): shared},
        repeats=10,
        quick_repeats=3,
        notes=NO_NUMBERS,
    )


def hyperparameter_panels(name: str, paper: Paper, method: str) -> tuple[Experiment, ...]:
    """Return four panels of errors on Appliances: share of the splits by budget, trees by features; twice.

    Parameters
    ----------
    name : str
        Name of the figure; panels add a letter. The last two have all rows in every tree.
    paper : Paper
        Where it is.
    method : str
        Its lines.

    Returns
    -------
    tuple of Experiment
    """
    shares = grid(split_share=(0.2, 0.4, 0.6, 0.8))
    sizes = grid(n_estimators=(1, 3, 10, 30), max_features=(1, 3, 10, 20))

    def panel(letter: str, settings: tuple[dict[str, float], ...], epsilons: tuple[float, ...]) -> Experiment:
        disjoint = letter in "ab"
        return Experiment(
            name=f"{name}{letter}",
            title=f"Mean squared error on Appliances, {'parts' if disjoint else 'all'} of the rows in a tree",
            paper=paper,
            task="regression",
            metric="mse",
            datasets=(APPLIANCES,),
            methods=(method,),
            epsilons=epsilons,
            settings=settings,
            parameters={
                (ANY, ANY): {
                    "n_estimators": 10,
                    "max_features": 10,
                    "max_depth": 8,
                    "split_share": 0.5,
                    "disjoint": disjoint,
                }
            },
            repeats=1,
            quick_repeats=1,
            notes=(
                "The paper's text gives no numbers for this figure; the grid is that of the authors' "
                "notebook, which fits every cell once. Depth 8; 10 trees, 10 features, share one half where "
                "not varied."
            ),
        )

    budgets = (3.0, 10.0, 30.0, 100.0)
    return (
        panel("a", shares, budgets),
        panel("b", sizes, (10.0,)),
        panel("c", shares, budgets),
        panel("d", sizes, (10.0,)),
    )
