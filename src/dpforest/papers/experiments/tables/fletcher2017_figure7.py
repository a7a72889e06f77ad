"""Fletcher and Islam 2017, Figure 7: number of trees, at two budgets."""

from dpforest.papers.experiments.tables._random_forests import NO_NUMBERS, figure
from dpforest.papers.experiments.tables._shared import grid

EXPERIMENTS = (
    figure(
        "7",
        "Accuracy by number of trees",
        epsilons=(0.2, 1.0),
        settings=grid(n_estimators=(1, 10, 30, 100, 300)),
        notes=(
            f"{NO_NUMBERS} It says that 30 to 100 trees are best at epsilon 0.2, 100 to 300 at 1, and that "
            "many datasets reach 85 to 90 % with 100 trees."
        ),
    ),
)
