"""Fletcher and Islam 2017, Figure 10: budgets, on Adult."""

from dpforest.papers.experiments.tables._random_forests import NO_NUMBERS, figure

EXPERIMENTS = (
    figure(
        "10",
        "Accuracy on Adult by budget",
        datasets=("adult",),
        methods=("SRT", "n-dpRFMV", "RF"),
        epsilons=(0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0),
        parameters={("*", "*"): {"n_estimators": 100}},
        labels={"n-dpRFMV": "random trees without noise"},
        notes=f"{NO_NUMBERS} The grid is ours.",
    ),
)
