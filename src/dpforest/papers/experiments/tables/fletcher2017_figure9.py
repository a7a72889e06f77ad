"""Fletcher and Islam 2017, Figure 9: number of rows, at three budgets."""

from dpforest.papers.experiments.tables._random_forests import NO_NUMBERS, figure

SIZES = (3000, 30_000, 300_000, 3_000_000)
DATASETS = tuple(f"SynthF@{size}" for size in SIZES)

EXPERIMENTS = (
    figure(
        "9",
        "Accuracy on SynthF by number of rows",
        datasets=DATASETS,
        quick_datasets=DATASETS[:3],
        quick_rows=SIZES[2],
        epsilons=(0.01, 0.1, 1.0),
        notes=(
            f"{NO_NUMBERS} It says that 30,000 rows at epsilon 1 give over 85 %, and 3,000,000 rows at 0.1 "
            "about as much."
        ),
    ),
)
