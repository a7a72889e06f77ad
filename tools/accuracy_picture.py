"""Draw accuracy against epsilon from kept results: this library, and the private forests of others.

    python -m tools.accuracy_picture

Reads docs/results/default-peers.csv and writes docs/images/accuracy.svg.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results" / "default-peers.csv"
PICTURE = ROOT / "docs" / "images" / "accuracy.svg"
LINES = {
    "dpforest": ("dpforest", "#00796b", "o-", 2.2),
    "DP-EBM": ("DP-EBM (delta = 1e-6)", "#8e44ad", "^-", 1.2),
    "SPE": ("SPE", "#d35400", "s-", 1.2),
    "SPE (as published)": ("SPE as published: its guarantee does not hold", "#d35400", "s:", 1.2),
    "diffprivlib": ("diffprivlib", "#555555", "v-", 1.2),
}


def read(path: Path = RESULTS) -> dict[str, dict[str, list[tuple[float, float, float]]]]:
    """Return dataset -> method -> (epsilon, accuracy in %, its standard error), by epsilon."""
    found: dict = defaultdict(lambda: defaultdict(list))
    with path.open() as file:
        for row in csv.DictReader(file):
            point = (float(row["epsilon"]), 100 * float(row["mean"]), 100 * float(row["standard_error"]))
            found[row["dataset"]][row["method"]].append(point)
    return {name: {m: sorted(points) for m, points in lines.items()} for name, lines in found.items()}


def draw(found: dict, path: Path = PICTURE) -> None:
    """Draw a panel for every dataset."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "dpforest", "svg.fonttype": "none", "font.family": "sans-serif"})
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(2, 4, figsize=(12, 6), layout="constrained")
    for panel, (name, lines) in zip(panels.flat, sorted(found.items()), strict=True):
        for method, (label, colour, style, width) in LINES.items():
            if method in lines:
                epsilon, mean, error = zip(*lines[method], strict=True)
                panel.errorbar(
                    epsilon, mean, error, fmt=style, color=colour, lw=width, ms=4, elinewidth=0.8, label=label
                )
        panel.set(title=name, xscale="log", xticks=[0.1, 0.5, 1, 2, 5, 10])
        panel.set_xticklabels(["0.1", "0.5", "1", "2", "5", "10"])
        panel.minorticks_off()
        panel.grid(alpha=0.3)
    for panel in panels[1]:
        panel.set_xlabel("epsilon")
    for panel in panels[:, 0]:
        panel.set_ylabel("accuracy, %")
    handles, labels = max(
        (panel.get_legend_handles_labels() for panel in panels.flat), key=lambda two: len(two[0])
    )
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(path, metadata={"Date": None}, facecolor="white")


if __name__ == "__main__":
    draw(read())
