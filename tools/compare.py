"""Write the measured part of docs/compare.md from kept results.

    python -m tools.compare

Accuracy is from docs/results/utility.csv (both forms of ours and the peers that were run on the same splits,
see `tools.utility`) and peers-other.csv, speed from peers-speed.csv, which `tools.peer_speed`
measures. A test compares the page with what this writes.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "compare.md"
RESULTS = ROOT / "docs" / "results"
BEGIN, END = "<!-- begin of measured tables -->\n", "<!-- end of measured tables -->\n"
SAME_SPLITS = {
    "pure": "dpforest",
    "boosted": "dpforest, delta > 0",
    "dp_ebm": "DP-EBM",
    "diffprivlib": "diffprivlib",
}
METHODS = ("dpforest", "dpforest, delta > 0", "DP-EBM", "PrivaTree", "AIM + LightGBM", "diffprivlib")
BUDGETS = ("0.1", "1", "10")


def rows(name: str) -> list[dict[str, str]]:
    with (RESULTS / name).open() as file:
        return list(csv.DictReader(file))


def table(header: list[str], lines: list[list[str]]) -> str:
    marks = ["---"] * len(header)
    return "\n".join(f"| {' | '.join(line)} |" for line in [header, marks, *lines]) + "\n"


def accuracies() -> str:
    """Return accuracy by dataset and method, the best of a budget in bold."""
    found: dict[tuple[str, str, str], float] = {}
    for row in rows("utility.csv"):
        epsilon = f"{float(row['epsilon']):g}"
        if row["task"] != "R2" and row["method"] in SAME_SPLITS and epsilon in BUDGETS:
            found[row["table"], SAME_SPLITS[row["method"]], epsilon] = float(row["score"])
    for row in rows("peers-other.csv"):
        if row["method"] in METHODS and row["epsilon"] in BUDGETS:
            found[row["dataset"], row["method"], row["epsilon"]] = 100 * float(row["mean"])
    peers = {dataset for dataset, method, _ in found if not method.startswith("dpforest")}
    ours = {dataset for dataset, method, _ in found if method.startswith("dpforest")}
    found = {key: value for key, value in found.items() if key[0] in peers & ours}
    best: dict[tuple[str, str], float] = defaultdict(float)
    for (dataset, _, epsilon), value in found.items():
        best[dataset, epsilon] = max(best[dataset, epsilon], value)

    def cell(dataset: str, method: str) -> str:
        shown = []
        for epsilon in BUDGETS:
            value = found.get((dataset, method, epsilon))
            text = "?" if value is None else f"{value:.1f}"
            shown.append(f"**{text}**" if value == best[dataset, epsilon] else text)
        return "" if set(shown) == {"?"} else " / ".join(shown)

    datasets = sorted({dataset for dataset, _, _ in found})
    lines = [[dataset, *(cell(dataset, method) for method in METHODS)] for dataset in datasets]
    return table(["table", *METHODS], lines)


def speeds() -> str:
    """Return seconds of a fit and a prediction by method and number of rows."""
    kept = rows("peers-speed.csv")
    sizes = sorted({int(row["rows"]) for row in kept})
    cells = {
        (row["method"], int(row["rows"])): f"{float(row['fit']):.2g} / {float(row['predict']):.2g}"
        for row in kept
    }
    methods = list(dict.fromkeys(row["method"] for row in kept))
    lines = [[method, *(cells.get((method, size), "") for size in sizes)] for method in methods]
    return table(["", *(f"{size:,} rows" for size in sizes)], lines)


def generated() -> str:
    """Return the measured part."""
    return (
        "### Accuracy, %, at epsilon 0.1 / 1 / 10\n\n"
        f"{accuracies()}\n"
        "### CPU seconds of one thread to fit / to predict, 20 numeric features\n\n"
        f"{speeds()}"
    )


def page(text: str) -> str:
    """Return the page with fresh tables in it."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{generated()}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
