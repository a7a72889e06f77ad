"""Fletcher and Islam 2017, Figure 4: smooth against global sensitivity."""

from dpforest.papers.experiments.tables._random_forests import NO_NUMBERS, figure

EXPERIMENTS = (
    figure(
        "4",
        "Accuracy with smooth and with global sensitivity",
        methods=("SRT", "SRT global", "SRT addendum"),
        notes=f"{NO_NUMBERS} It says that smooth sensitivity gains up to 26 points and never loses.",
    ),
)
