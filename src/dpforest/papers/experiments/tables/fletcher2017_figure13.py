"""Fletcher and Islam 2017, Figure 13: F1 score of the rarer class."""

from dpforest.papers.experiments.tables._random_forests import BINARY, figure

EXPERIMENTS = (
    figure(
        "13",
        "F1 score of the rarer class against JPW",
        metric="f1",
        datasets=BINARY,
        methods=("RF", "SRT", "JPW"),
    ),
)
