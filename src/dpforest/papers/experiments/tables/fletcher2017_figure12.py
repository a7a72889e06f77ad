"""Fletcher and Islam 2017, Figure 12: area under the ROC curve."""

from dpforest.papers.experiments.tables._random_forests import BINARY, figure

EXPERIMENTS = (
    figure(
        "12",
        "Area under the ROC curve against JPW",
        metric="auc",
        datasets=BINARY,
        methods=("RF", "SRT", "JPW"),
    ),
)
