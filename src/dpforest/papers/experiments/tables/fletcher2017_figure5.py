"""Fletcher and Islam 2017, Figure 5: disjoint rows against all rows in every tree."""

from dpforest.papers.experiments.tables._random_forests import NO_NUMBERS, REAL, SYNTHETIC, figure
from dpforest.papers.experiments.tables._shared import grid
from dpforest.papers.experiments.tables._smooth_leaves import over_leaves, sensitivity

EXPERIMENTS = (
    figure(
        "5a",
        "Accuracy with disjoint rows and with all rows in every tree",
        datasets=(*SYNTHETIC, *REAL),
        quick_datasets=SYNTHETIC,
        settings=grid(disjoint=(True, False)),
        parameters={("*", "*"): {"n_estimators": 100}},
        notes=f"{NO_NUMBERS} It says that disjoint rows gain up to 18 points and lose next to nothing.",
    ),
    figure(
        "5b",
        "Mean smooth sensitivity of leaves with rows",
        metric="value",
        datasets=SYNTHETIC,
        settings=grid(disjoint=(True, False)),
        compute=over_leaves(sensitivity),
        notes=f"{NO_NUMBERS} It says that disjoint rows give a substantially lower sensitivity.",
    ),
)
