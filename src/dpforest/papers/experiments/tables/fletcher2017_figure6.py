"""Fletcher and Islam 2017, Figure 6: three depths of trees."""

from dpforest.papers.experiments.tables._random_forests import NO_NUMBERS, figure
from dpforest.papers.experiments.tables._shared import grid

EXPERIMENTS = (
    figure(
        "6",
        "Accuracy with depth m/2, that of Theorem 2, and m",
        settings=grid(max_depth=("0.5d", None, "d")),
        notes=(
            f"{NO_NUMBERS} It says that the depth of Theorem 2 gains 2 to 30 points over m/2 everywhere. "
            "The rigorous form has complete trees of at most 15 levels, which cuts m = 20 of SynthG."
        ),
    ),
)
