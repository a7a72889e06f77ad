"""Audit somebody else's forest as it is: diffprivlib's, with its defaults, and on tables with known losses.

    make bench TARGET=audit_diffprivlib        # some minutes
    python -m tools.audit_diffprivlib --runs 40000

diffprivlib 0.6.6 deals rows to its k trees as they come, the first n / k rows to the first tree and so on
(shuffle=False, the default). One more row moves every border: with one more at the end the first tree gains a
row, each of the others loses one and gains one. Where neighbouring trees hold different labels this costs
epsilon in the first tree and up to 2 epsilon in the others, (2k - 1) epsilon in all.

diffprivlib needs an older scikit-learn than this library is developed with; where it cannot be imported, the
program makes an environment of its own in .venv-diffprivlib and runs itself there.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from dpforest import RandomDecisionForestClassifier
from dpforest.audit import AuditResult, NeighbourPair, audit
from dpforest.cli.audit_run import GO_ON, QUICK_RUNS

ROOT = Path(__file__).parents[1]
ENVIRONMENT = ROOT / ".venv-diffprivlib"
PACKAGES = ["diffprivlib==0.6.6", "scikit-learn<1.7", "--editable", str(ROOT)]
EPSILON = 0.5
DOMAIN = {"bounds": (0, 1), "classes": [0, 1]}


def tables(n_trees: int) -> NeighbourPair:
    """Labels that change from tree to tree, and the same with one more row of the label that comes next."""
    labels = [tree % 2 for tree in range(n_trees)]  # one row each: with more, the outcome that tells is rarer
    both = [(np.full((len(y), 1), 0.5), np.array(y)) for y in (labels, [*labels, n_trees % 2])]
    return NeighbourPair.of(*both, words=f"{n_trees} rows with labels in turn, and one row more at the end")


def exact_loss(n_trees: int) -> float:
    """Loss on these tables when every tree names the label that it did not hold, by permute-and-flip."""
    rare = 0.5 * math.exp(-EPSILON)  # with counts 1 and 0; even counts give 1/2, counts 0 and 1 the rest
    return math.log(0.5 / rare) + (n_trees - 1) * math.log((1 - rare) / rare)


def defaults(runs: int, jobs: int) -> list[AuditResult]:
    """Audit the forest with its defaults, on tables that the auditor makes up."""
    from diffprivlib.models import RandomForestClassifier

    model = RandomForestClassifier(epsilon=1.0, **DOMAIN)
    shuffled = RandomForestClassifier(epsilon=1.0, shuffle=True, **DOMAIN)
    return [
        audit(model, runs=QUICK_RUNS, max_runs=GO_ON * QUICK_RUNS, name="as it is, quick", n_jobs=jobs),
        audit(model, runs=runs, name="as it is", n_jobs=jobs),
        # without rows it fails, shuffled or not: one pair with rows
        audit(shuffled, "labels in turn", runs=runs, name="shuffle=True, labels in turn", n_jobs=jobs),
    ]


def known(n_trees: int, runs: int, jobs: int) -> AuditResult:
    """Audit a small forest on tables whose loss can be computed."""
    from diffprivlib.models import RandomForestClassifier

    model = RandomForestClassifier(n_trees, epsilon=EPSILON, max_depth=1, **DOMAIN)
    return audit(model, tables(n_trees), runs=runs, name=f"diffprivlib, {n_trees} trees", n_jobs=jobs)


def ours(n_trees: int, runs: int, jobs: int) -> AuditResult:
    """Audit our forest of the same paper, which deals rows out by independent coins, on the same tables."""
    model = RandomDecisionForestClassifier(n_trees, epsilon=EPSILON, max_depth=1, **DOMAIN)
    return audit(model, tables(n_trees), runs=runs, name=f"dpforest, {n_trees} trees", n_jobs=jobs)


def report(runs: int, jobs: int) -> None:
    console, start = Console(width=140), time.perf_counter()
    shown = Table(title="diffprivlib's forest with its defaults (10 trees), claimed epsilon 1, alpha = 1e-6")
    for column in ("forest", "fits", "found", "verdict"):
        shown.add_column(column, justify="right" if column in ("fits", "found") else "left")
    for result in defaults(runs, jobs):
        console.print(f"{result}\n", soft_wrap=True)
        shown.add_row(result.name, f"{result.runs:,}", f">= {result.loss:.2f}", result.verdict)
    console.print(shown)
    shown = Table(title=f"known losses, claimed epsilon {EPSILON}, {runs:,} fits each, alpha = 1e-6")
    for column in ("forest", "found", "exact on these tables", "(2k - 1) epsilon", "verdict"):
        shown.add_column(column, justify="left" if column in ("forest", "verdict") else "right")
    for n_trees in (1, 2, 3, 5):
        result = known(n_trees, runs, jobs)
        losses = [f"{exact_loss(n_trees):.2f}", f"{(2 * n_trees - 1) * EPSILON:g}"]
        shown.add_row(result.name, f">= {result.loss:.2f}", *losses, result.verdict)
    result = ours(3, runs, jobs)
    shown.add_row(result.name, f">= {result.loss:.2f}", "", "", result.verdict)
    console.print(shown)
    console.print(f"{time.perf_counter() - start:.0f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=4_000, help="fits per forest")
    parser.add_argument("--jobs", type=int, default=-1, help="processes")
    options = parser.parse_args()
    if importlib.util.find_spec("diffprivlib"):
        warnings.simplefilter("ignore")
        report(options.runs, options.jobs)
        return
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", ENVIRONMENT], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
    command = [python, "-m", "tools.audit_diffprivlib", *sys.argv[1:]]
    raise SystemExit(subprocess.run(command, check=False, cwd=ROOT).returncode)


if __name__ == "__main__":
    main()
