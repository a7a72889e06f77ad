"""Audit somebody else's forest: diffprivlib's, in an environment of its own, when rows come in order.

    make bench TARGET=audit_diffprivlib        # two minutes
    python -m benchmarks.audit_diffprivlib --runs 40000

diffprivlib 0.6.6 deals rows to its k trees as they come, the first n / k rows to the first tree and so on
(shuffle=False, the default). One more row at the end moves every border: the first tree gains a row, each of
the others loses one and gains one. Where neighbouring trees hold different labels this costs epsilon in the
first tree and up to 2 epsilon in the others, (2k - 1) epsilon in all. The fits run there, the auditor here: a
worker prints what every tree predicts, one line of JSON per run.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import time

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.speed import PEERS, peer_seconds
from dpforest import RandomDecisionForestClassifier
from dpforest.audit import AuditResult, NeighbourPair, audit, audit_samples

EPSILON = 0.5
WORKER = """
import json, sys, warnings
import numpy as np
from diffprivlib.models import RandomForestClassifier
warnings.simplefilter("ignore")
task = json.loads(sys.argv[1])
y = np.array(task["labels"]); X = np.full((len(y), 1), 0.5)
for number in range(task["runs"]):
    model = RandomForestClassifier(
        task["trees"], epsilon=task["epsilon"], bounds=(0, 1), classes=[0, 1], max_depth=1,
        shuffle=task["shuffle"], random_state=task["seed"] + number,
    )
    model.fit(X, y)
    print(json.dumps([int(tree.predict(X[:1])[0]) for tree in model.estimators_]))
"""


def tables(n_trees: int) -> tuple[list[int], list[int]]:
    """Labels that change from tree to tree, and the same with one more row of the label that comes next."""
    labels = [tree % 2 for tree in range(n_trees)]  # one row each: with more, the outcome that tells is rarer
    return labels, [*labels, n_trees % 2]


def exact_loss(n_trees: int) -> float:
    """Loss on these tables when every tree names the label that it did not hold, by permute-and-flip."""
    rare = 0.5 * math.exp(-EPSILON)  # with counts 1 and 0; even counts give 1/2, counts 0 and 1 the rest
    return math.log(0.5 / rare) + (n_trees - 1) * math.log((1 - rare) / rare)


def audit_peer(n_trees: int, runs: int, shuffle: bool) -> AuditResult:
    """Run fits on both tables at once, each in a process of the other environment."""
    workers = []
    for which, labels in enumerate(tables(n_trees)):
        task = {
            "labels": labels, "runs": runs // 2, "trees": n_trees, "epsilon": EPSILON, "shuffle": shuffle,
            "seed": which * 10**8,
        }  # fmt: skip
        command = [PEERS / "bin" / "python", "-c", WORKER, json.dumps(task)]
        workers.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
    seen = [np.array([json.loads(line) for line in worker.stdout]) for worker in workers]
    if any(worker.wait() for worker in workers):
        raise RuntimeError("diffprivlib could not be run")
    return audit_samples(
        *seen,
        claim=EPSILON,
        names=[f"label of tree {i}" for i in range(n_trees)],
        name=f"diffprivlib, {n_trees} trees" + (", shuffled" if shuffle else ""),
        pair=f"{n_trees} rows with alternating labels, and one row more at the end",
    )


def audit_ours(n_trees: int, runs: int) -> AuditResult:
    """Audit our forest of the same paper, which deals rows out by independent coins, on the same tables."""
    first, second = ((np.full((len(y), 1), 0.5), np.array(y)) for y in tables(n_trees))
    model = RandomDecisionForestClassifier(
        n_trees, epsilon=EPSILON, bounds=(0, 1), classes=[0, 1], max_depth=1
    )
    pair = NeighbourPair.of(first, second)
    return audit(model, pair, runs=runs, name=f"dpforest, {n_trees} trees", n_jobs=-1, random_state=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=4_000, help="fits per forest")
    options = parser.parse_args()
    if peer_seconds(100) is None:  # installs diffprivlib if it is not there
        raise SystemExit("diffprivlib cannot be installed here")
    console, start = Console(width=120), time.perf_counter()
    shown = Table(title=f"claimed epsilon {EPSILON}, {options.runs:,} fits each, alpha = 1e-6")
    for column in ("forest", "found", "exact on these tables", "(2k - 1) epsilon", "verdict"):
        shown.add_column(column, justify="left" if column in ("forest", "verdict") else "right")
    with console.status("fitting diffprivlib's forests"):
        for n_trees in (1, 2, 3, 5):
            result = audit_peer(n_trees, options.runs, shuffle=False)
            known = [f"{exact_loss(n_trees):.2f}", f"{(2 * n_trees - 1) * EPSILON:g}"]
            shown.add_row(result.name, f">= {result.loss:.2f}", *known, result.verdict)
        shuffled, ours = audit_peer(3, options.runs, shuffle=True), audit_ours(3, options.runs)
    for result in (shuffled, ours):
        shown.add_row(result.name, f">= {result.loss:.2f}", "", "", result.verdict)
    console.print(shown)
    console.print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
