"""Fletcher and Islam 2017, Figure 14: against a system with a weaker promise."""

from dpforest.papers.experiments.tables._random_forests import BINARY, NO_NUMBERS, figure

EXPERIMENTS = (
    figure(
        "14",
        "Accuracy against RGV",
        datasets=BINARY,
        methods=("SRT", "RGV"),
        rank_test=("Wilcoxon", "SRT"),
        notes=(
            f"{NO_NUMBERS} It says that RGV, with 110 to 1385 trees, loses on five datasets by 1.5 to 13.0 "
            "points, wins on four by 1.2 to 6.2, and ties on Adult. RGV promises less than differential "
            "privacy."
        ),
    ),
)
