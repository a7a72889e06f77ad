"""Huang, Lei and Kaban 2022, Figure 1: how much accuracy the private median costs."""

from dpforest.papers.experiments.experiment import Experiment
from dpforest.papers.experiments.tables._shared import HUANG

EXPERIMENTS = (
    Experiment(
        name="huang2022-figure1",
        title="Accuracy by budget with private medians, true medians and random splits",
        paper=HUANG("Figure 1"),
        task="classification",
        metric="accuracy",
        datasets=("Syn5d", "Syn10d"),
        methods=("SPE", "true medians", "random splits"),
        epsilons=(0.5, 1.0, 2.0, 4.0, 8.0),
        repeats=50,
        quick_repeats=5,
        notes=(
            "The figure is a chart without numbers in the text; the grid is ours. True medians and random "
            "splits are variants of the paper's own form: compare them with SPE as published."
        ),
    ),
)
