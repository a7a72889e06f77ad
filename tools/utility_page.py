"""Means and standard errors of the fits that `tools.utility` wrote, as one table and one figure.

    python -m tools.utility_page FITS.csv... [--table TABLE.csv] [--figure FIGURE.svg]

Without options they go to docs/results/utility.csv and docs/results/accuracy.svg; what that table has of
other methods, tables and budgets stays. Printed are the table of the page on the default forest, in how many
cells each form is ahead of every other method, how often more budget made it worse, how far the pure form is
behind the best of its rivals and parts, and what its parts are worth. Fits that were given up count as none.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import numpy as np

FIELDS = ("table", "task", "method", "epsilon", "repeats", "score", "standard_error", "log_loss")
NAMES = {
    "boosted": ("default forest with delta", "C0", "o-"),
    "pure": ("default forest, delta = 0", "C1", "s--"),
    "dp_ebm": ("DP-EBM", "C3", "^:"),
    "aim": ("AIM, then LightGBM", "C2", "D:"),
    "diffprivlib": ("diffprivlib's random forest", "C4", "v:"),
}
SHOWN = (
    "magic", "adult", "banknote", "pendigits", "letter", "nursery", "gas_turbine", "friedman1", "parkinsons"
)  # fmt: skip
RIVALS = ("spe", "diprime_exp", "diprime_flip", "friedman_schuster")
WITHOUT_CLASSES = ("without the linear part", "without the tree")
WITHOUT_NUMBERS = ("without the additive part", "without trees")
LOWEST, HIGHEST = -20.0, 102.0  # of an axis: what is far below 0 tells no more


def summary(files):
    """Return one line for every table, method and budget."""
    scores, losses, tasks = defaultdict(list), defaultdict(list), {}
    for path in files:
        with path.open() as file:
            for row in csv.DictReader(file):
                if row["score"] == "nan":
                    continue
                key = (row["table"], row["method"], float(row["epsilon"]))
                scores[key].append(float(row["score"]))
                losses[key].append(float(row["log_loss"]))
                tasks[row["table"]] = row["task"]
    lines = []
    for key in sorted(scores, key=lambda key: (tasks[key[0]], *key)):
        table, method, epsilon = key
        found = np.array(scores[key])
        error = found.std(ddof=1) / math.sqrt(len(found)) if len(found) > 1 else math.nan
        loss = "" if np.isnan(losses[key]).any() else f"{np.mean(losses[key]):.4f}"
        score = (len(found), f"{found.mean():.2f}", f"{error:.2f}", loss)
        values = (table, tasks[table], method, epsilon, *score)
        lines.append(dict(zip(FIELDS, values, strict=True)))
    return lines


def kept(path, lines):
    """Return the lines of a table of which there are no fits."""
    new = {(line["table"], line["method"], line["epsilon"]) for line in lines}
    if not path.exists():
        return []
    with path.open() as file:
        found = [{**row, "epsilon": float(row["epsilon"])} for row in csv.DictReader(file)]
    return [line for line in found if (line["table"], line["method"], line["epsilon"]) not in new]


def draw(lines, path):
    """Draw score against epsilon, one panel for each of some tables."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams |= {"svg.hashsalt": "dpforest", "svg.fonttype": "none"}
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(3, 3, figsize=(10, 8.5), sharex=True, layout="constrained")
    for panel, table in zip(panels.ravel(), SHOWN, strict=True):
        for method, (name, colour, style) in NAMES.items():
            mine = [line for line in lines if line["table"] == table and line["method"] == method]
            if not mine:
                continue
            epsilon, score, error = (
                [float(line[field]) for line in mine] for field in ("epsilon", "score", "standard_error")
            )
            panel.errorbar(epsilon, score, error, fmt=style, color=colour, label=name, ms=4)
        panel.set_xscale("log")
        panel.set_xticks([0.1, 0.5, 1, 2, 10], ["0.1", "0.5", "1", "2", "10"])
        panel.minorticks_off()
        low, high = panel.get_ylim()
        panel.set_ylim(max(low, LOWEST), min(high, HIGHEST))
        task = next(line["task"] for line in lines if line["table"] == table)
        panel.set_title(table)
        panel.set_ylabel("accuracy in percent" if task == "accuracy" else "R2 x 100")
    for panel in panels[-1]:
        panel.set_xlabel("epsilon")
    named = {}  # of all panels: no method is in each
    for panel in panels.ravel():
        named |= dict(zip(*reversed(panel.get_legend_handles_labels()), strict=True))
    figure.legend(named.values(), named.keys(), loc="outside lower center", ncols=3)
    figure.savefig(path, metadata={"Date": None})


def page_table(lines):
    """Return a Markdown table: with delta, in brackets without; means over tables last."""
    budgets = sorted({line["epsilon"] for line in lines if line["method"] == "boosted"})
    heads = " | ".join(f"{budget:g}" for budget in budgets)
    rows = [f"| data | {heads} |", "|---" * (len(budgets) + 1) + "|"]
    for task in ("accuracy", "R2"):
        found = defaultdict(dict)
        for line in lines:
            if line["task"] == task:
                found[line["table"]][line["method"], line["epsilon"]] = float(line["score"])
        pairs = {
            table: [[scores[method, budget] for method in ("boosted", "pure")] for budget in budgets]
            for table, scores in found.items()
            if all((method, budget) in scores for method in ("boosted", "pure") for budget in budgets)
        }
        if pairs:
            pairs[f"*mean {task}*"] = np.mean(list(pairs.values()), axis=0).tolist()
        rows += [
            f"| {table} | " + " | ".join(f"{own:.1f} ({pure:.1f})" for own, pure in cells) + " |"
            for table, cells in pairs.items()
        ]
    return "\n".join(rows)


def comparisons(lines, form):
    """Say, for every other method, in how many cells a form is above or close, and its means."""
    found = {(line["table"], line["method"], line["epsilon"]): line for line in lines}
    said = []
    for method in sorted({line["method"] for line in lines} - {form}):
        for task, near in (("accuracy", 1.0), ("R2", 2.0)):
            pairs = [
                (float(found[table, form, budget]["score"]), float(line["score"]))
                for (table, name, budget), line in found.items()
                if name == method and line["task"] == task and (table, form, budget) in found
            ]
            if pairs:
                own, other = np.array(pairs).T
                said.append(
                    f"{form} against {method}, {task}: {len(own)} cells, above "
                    f"{100 * np.mean(own > other):.0f} %, at most {near:g} below "
                    f"{100 * np.mean(own > other - near):.0f} %, means {own.mean():.1f} and "
                    f"{np.median(own - other):.1f} ahead in the median"
                )
    return said


def falls(lines, method):
    """Count budgets with a lower score than the one before, beyond two standard errors of the difference."""
    mine = [line for line in lines if line["method"] == method]
    steps = [(a, b) for a, b in pairwise(mine) if a["table"] == b["table"]]
    fallen = [
        f"{b['table']} at {b['epsilon']:g}"
        for a, b in steps
        if float(a["score"]) - float(b["score"])
        > 2 * math.hypot(float(a["standard_error"]), float(b["standard_error"]))
    ]
    return f"{method}: {len(fallen)} falls in {len(steps)} steps {fallen}"


def by_cell(lines):
    """Return the scores of all methods by task, table and budget."""
    found = defaultdict(dict)
    for line in lines:
        found[line["task"], line["table"], line["epsilon"]][line["method"]] = float(line["score"])
    return found


def regrets(lines):
    """Say how far the pure form and its rivals are behind the best of them, where all were run."""
    said = []
    for task, near, parts in (("accuracy", 1.0, WITHOUT_CLASSES), ("R2", 2.0, WITHOUT_NUMBERS)):
        methods = ("pure", *parts, *(RIVALS if task == "accuracy" else RIVALS[:3]))
        cells = {
            (table, epsilon): [scores[method] for method in methods]
            for (of, table, epsilon), scores in by_cell(lines).items()
            if of == task and set(methods) <= set(scores)
        }
        budgets = sorted({epsilon for _, epsilon in cells})
        if not cells:
            continue
        behind = {key: max(scores) - np.array(scores) for key, scores in cells.items()}
        said.append(f"regret, {task}, {len(cells)} cells, at {budgets}, and how often within {near:g}")
        for at, method in enumerate(methods):
            means = [np.mean([v[at] for (_, e), v in behind.items() if e == budget]) for budget in budgets]
            close = 100 * np.mean([v[at] <= near for v in behind.values()])
            said.append(
                f"| {method} | " + " | ".join(f"{mean:.1f}" for mean in means) + f" | {close:.0f} % |"
            )
    return said


def worth(lines):
    """Say what changes where a part of the pure form is taken out: mean over tables, and its error."""
    said, cells = [], by_cell(lines)
    for task in ("accuracy", "R2"):
        methods = sorted({line["method"] for line in lines if line["method"].startswith("with")})
        for method in methods:
            changes = []
            for budget in (0.1, 1.0, 10.0, 100.0):
                found = [
                    scores[method] - scores["pure"]
                    for (of, _, epsilon), scores in cells.items()
                    if of == task and epsilon == budget and {method, "pure"} <= set(scores)
                ]
                error = np.std(found, ddof=1) / math.sqrt(len(found)) if len(found) > 1 else math.nan
                changes.append(f"{np.mean(found):+.1f} ± {error:.1f}" if found else "")
            if any(changes):
                said.append(f"| {task}: {method} | " + " | ".join(changes) + " |")
    return said


def main():
    """Read the arguments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("fits", type=Path, nargs="+")
    parser.add_argument("--table", type=Path, default=Path("docs/results/utility.csv"))
    parser.add_argument("--figure", type=Path, default=Path("docs/results/accuracy.svg"))
    given = parser.parse_args()
    lines = summary(given.fits)
    lines = sorted(
        lines + kept(given.table, lines),
        key=lambda line: (line["task"], line["table"], line["method"], line["epsilon"]),
    )
    with given.table.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
    if {line["table"] for line in lines} >= set(SHOWN):
        draw(lines, given.figure)
    print(page_table(lines))
    for form in ("boosted", "pure"):
        print(*comparisons(lines, form), falls(lines, form), sep="\n")
    print(*regrets(lines), *worth(lines), sep="\n")


if __name__ == "__main__":
    main()
