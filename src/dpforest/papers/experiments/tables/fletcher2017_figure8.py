"""Fletcher and Islam 2017, Figure 8: leaves whose label is not their most frequent one."""

from dpforest.papers.experiments.tables._random_forests import NO_NUMBERS, figure
from dpforest.papers.experiments.tables._shared import grid
from dpforest.papers.experiments.tables._smooth_leaves import flipped, over_leaves

EXPERIMENTS = (
    figure(
        "8",
        "Part of the leaves with rows that name another label, by number of trees",
        metric="value",
        settings=grid(n_estimators=(1, 10, 30, 100, 300)),
        compute=over_leaves(flipped),
        notes=(
            f"{NO_NUMBERS} It says that 5 to 20 % do with 100 trees, and more with more trees. "
            "Expected values, fitted to all rows."
        ),
    ),
)
