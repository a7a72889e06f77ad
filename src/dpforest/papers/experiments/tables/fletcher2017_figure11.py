"""Fletcher and Islam 2017, Figure 11: against two other private systems."""

from dpforest.papers.experiments.tables._random_forests import NO_NUMBERS, REAL, SYNTHETIC, figure

EXPERIMENTS = (
    figure(
        "11",
        "Accuracy against JPW and FS",
        datasets=(*SYNTHETIC, *REAL),
        methods=("RF", "SRT", "JPW", "FS"),
        rank_test=("Wilcoxon", "SRT"),
        notes=(
            f"{NO_NUMBERS} It says that JPW is better by 2.5 points on Claves and worse everywhere else, "
            "by 3.5 points on Adult and by more than 35 on SynthA, and FS worse everywhere."
        ),
    ),
)
