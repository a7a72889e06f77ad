"""Huang, Lei and Kaban 2022, Figure 3: number of trees and depth."""

from dpforest.papers.experiments.experiment import Experiment
from dpforest.papers.experiments.tables._shared import HUANG, grid

EXPERIMENTS = (
    Experiment(
        name="huang2022-figure3",
        title="Accuracy by number of trees and depth at epsilon 2",
        paper=HUANG("Figure 3"),
        task="classification",
        metric="accuracy",
        datasets=("banknote", "wall_robot_4", "blood_transfusion"),
        methods=("SPE",),
        epsilons=(2.0,),
        settings=grid(max_depth=("0.5d", "d", "2d"), n_estimators=(1, 5, 10, 20, 50)),
        repeats=50,
        quick_repeats=5,
        notes=(
            "The figure is a chart without numbers in the text and does not name its three datasets; "
            "these are ours, all with few features. It says that accuracy falls beyond ten trees."
        ),
    ),
)
