"""What the figures of Fletcher and Islam 2017 share: datasets, ten-fold cross-validation, default trees."""

from __future__ import annotations

from typing import Any

from dpforest.papers.experiments.experiment import Experiment, Split
from dpforest.papers.experiments.tables._shared import FLETCHER

__all__ = ["BINARY", "REAL", "SYNTHETIC", "figure"]

SYNTHETIC = tuple(f"Synth{letter}" for letter in "ABCDEFG")
REAL = ("wall_robot_4", "pendigits", "magic", "adult", "mushroom@fletcher2017", "claves", "nursery")
BINARY = (*SYNTHETIC, "magic", "adult", "mushroom@fletcher2017")
NO_NUMBERS = "The figure is a chart; the paper's text gives no numbers for its bars."


def figure(number: str, title: str, **facts: Any) -> Experiment:
    """Return a figure with the paper's protocol: ten times ten-fold cross-validation, epsilon 1.

    Parameters
    ----------
    number : str
        E.g. "4", or "5a" for a panel.
    title : str
        What is compared.
    **facts
        Further fields of `Experiment`, over the defaults.

    Returns
    -------
    Experiment
    """
    defaults: dict[str, Any] = {
        "metric": "accuracy",
        "datasets": SYNTHETIC,
        "methods": ("SRT",),
        "epsilons": (1.0,),
        "repeats": 100,
        "quick_repeats": 2,
        "split": Split(folds=10),
        "notes": NO_NUMBERS,
    }
    return Experiment(
        name=f"fletcher2017-figure{number}",
        title=title,
        paper=FLETCHER(f"Figure {number}"),
        task="classification",
        **{**defaults, **facts},
    )
