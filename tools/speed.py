"""Fit and predict against scikit-learn (and diffprivlib) in the same run, as ratios of CPU time.

    make bench TARGET=speed              # 100k and 1M rows; a few minutes, most of them scikit-learn's
    python -m tools.speed --rows 100000

The machine may be noisy, so read the ratios: every figure is the least CPU time of a few runs, kernels warm.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

import dpforest
from dpforest._curator import Curator, PrivateTable
from dpforest._trees import grow_random, sum_leaf_values
from dpforest.mechanisms import RandomWords
from dpforest.privacy import BudgetPlan
from dpforest.schema import Schema

N_FEATURES, N_TREES, DEPTH = 20, 10, 10
PEERS = Path(__file__).parent / ".peers"
PEER_CODE = """
import json, sys, time, warnings
import numpy as np
from diffprivlib.models import RandomForestClassifier
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.random((int(sys.argv[1]), 20)); y = (X[:, 0] + X[:, 1] > 1).astype(int)
model = RandomForestClassifier(n_estimators=10, max_depth=10, epsilon=1.0, bounds=(0, 1), classes=[0, 1])
a = time.process_time(); model.fit(X, y); b = time.process_time(); model.predict(X); c = time.process_time()
print(json.dumps([b - a, c - b]))
"""


def table(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.random((n_rows, N_FEATURES), dtype=np.float32)
    return X, (X[:, 0] + X[:, 1] > 1).astype(np.int64)


def cpu(function, repeats=5) -> float:
    """Least CPU time of a few runs, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)


class RandomSplits:
    """The smallest forest the core can make: random splits, disjoint rows, noisy leaf counts."""

    def fit(self, X, y):
        self.schema = Schema.from_bounds((0, 1), n_features=X.shape[1], classes=[0, 1])
        plan = BudgetPlan.divide(1.0, 0.0, {"leaves": 1})
        with Curator(PrivateTable(X, y, self.schema), plan, RandomWords.system()) as curator:
            self.trees = grow_random(curator, N_TREES, DEPTH)
            curator.scatter_rows(N_TREES)
            self.leaves = curator.leaf_histograms("leaves", self.trees).values.astype(float)
        return self

    def predict(self, X):
        return sum_leaf_values(self.trees, self.leaves, self.schema.encode_features(X)).argmax(axis=1)


def estimators(n_trees: int) -> dict[str, object]:
    """Every estimator of the papers, with the same shape."""
    shape = {"bounds": (0, 1), "classes": [0, 1], "max_depth": DEPTH}
    return {
        "DiPriMe": dpforest.DiPriMeForestClassifier(n_trees, **shape),
        "DiPriMeExp": dpforest.DiPriMeForestClassifier(n_trees, variant="exponential", **shape),
        "DiPriMeFlip": dpforest.DiPriMeForestClassifier(n_trees, variant="permute_and_flip", **shape),
        "random forest with labels": dpforest.RandomDecisionForestClassifier(n_trees, **shape),
        "random trees, all rows in all trees": dpforest.RandomDecisionTreesClassifier(n_trees, **shape),
        "SPE": dpforest.PartitioningEnsembleClassifier(n_trees, **shape),
        "SSPE-1": dpforest.SemiSupervisedPartitioningEnsembleClassifier(n_trees, **shape),
        "SSPE-2, all rows in all trees": dpforest.SemiSupervisedPartitioningEnsembleClassifier(
            n_trees, feature_privacy=False, **shape
        ),
        "PTE, all rows in all trees": dpforest.TransductivePartitioningEnsembleClassifier(
            n_trees // 2, n_trees // 2, **shape
        ),
    }


def compare_papers(n_rows: int, n_trees: int, console: Console) -> None:
    """Fit every estimator with many trees, against scikit-learn's ExtraTrees of the same shape."""
    X, y = table(n_rows)
    half = np.where(np.arange(n_rows) % 2, y, -1)
    peer = cpu(lambda: ExtraTreesClassifier(n_trees, max_depth=DEPTH).fit(X, y), repeats=1)
    shown = Table(
        title=f"{n_rows:,} x {N_FEATURES}, {n_trees} trees, depth {DEPTH}, one thread, CPU time of fit"
    )
    for column in ("", "s", "ExtraTrees / fit"):
        shown.add_column(column, justify="left" if not column else "right")
    shown.add_row("scikit-learn ExtraTrees", f"{peer:.2f}", "1")
    for name, model in estimators(n_trees).items():
        target = half if name.startswith(("SSPE", "PTE")) else y
        model.fit(X[:100], target[:100])  # compile
        seconds = cpu(lambda m=model, t=target: m.fit(X, t), repeats=2)
        shown.add_row(name, f"{seconds:.2f}", f"{peer / seconds:.0f}")
    console.print(shown)


def peer_seconds(n_rows: int) -> tuple[float, float] | None:
    """diffprivlib in an environment of its own, because it needs an older scikit-learn."""
    python = PEERS / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", PEERS], check=True)
        pip = [python, "-m", "pip", "install", "--quiet"]
        done = subprocess.run([*pip, "diffprivlib==0.6.6", "scikit-learn<1.6", "numpy<2.3"], check=False)
        if done.returncode:
            return None
    out = subprocess.run([python, "-c", PEER_CODE, str(n_rows)], capture_output=True, text=True, check=False)
    return tuple(json.loads(out.stdout)) if out.returncode == 0 else None


def measure(n_rows: int, peers: bool) -> dict[str, tuple[float, float]]:
    """Seconds to fit and to predict, by method."""
    X, y = table(n_rows)
    read = cpu(lambda: np.add.reduce(X, axis=None))
    encode = cpu(lambda: Schema.from_bounds((0, 1), n_features=N_FEATURES, classes=[0, 1]).encode_features(X))
    found = {"read X once (float32)": (read, np.nan), "read and bin X": (read + encode, np.nan)}
    models = {
        "dpforest, random splits": RandomSplits(),
        "dpforest, median splits": estimators(N_TREES)["DiPriMe"],
        "dpforest, the default": dpforest.PrivateForestClassifier(bounds=(0, 1), classes=[0, 1]),
    }
    for name, model in models.items():
        model.fit(X[:9000], y[:9000]).predict(X[:100])  # compile; fewer rows would leave parts out
        found[name] = cpu(lambda m=model: m.fit(X, y)), cpu(lambda m=model: m.predict(X))
    for peer in (RandomForestClassifier, ExtraTreesClassifier):
        model = peer(N_TREES, max_depth=DEPTH, n_jobs=1)
        found[f"scikit-learn {peer.__name__[:-10]}"] = (
            cpu(lambda m=model: m.fit(X, y), repeats=1),
            cpu(lambda m=model: m.predict(X), repeats=3),
        )
    if peers and (seconds := peer_seconds(n_rows)):
        found["diffprivlib RandomForest"] = seconds
    return found


def extra_memory(n_rows: int) -> float:
    """Peak memory of a median fit beyond its input, as a part of X in float64."""
    X, y = table(n_rows)
    model = estimators(N_TREES)["DiPriMe"]
    tracemalloc.start()
    model.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / (X.size * 8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--no-peers", action="store_true", help="leave diffprivlib out")
    parser.add_argument("--trees", type=int, default=100, help="trees of the comparison of all estimators")
    options = parser.parse_args()
    console = Console(width=120)
    seconds = {}
    for n_rows in options.rows:
        seconds[n_rows] = found = measure(n_rows, not options.no_peers)
        forest, floor = found["scikit-learn RandomForest"], found["read and bin X"][0]
        shown = Table(
            title=f"{n_rows:,} x {N_FEATURES}, {N_TREES} trees, depth {DEPTH}, one thread, CPU time"
        )
        for column in (
            "",
            "fit s",
            "RandomForest / fit",
            "fit / read+bin",
            "predict s",
            "RandomForest / predict",
        ):
            shown.add_column(column, justify="left" if not column else "right")
        for name, (fit, predict) in found.items():
            cells = [f"{fit:.3f}", f"{forest[0] / fit:.0f}", f"{fit / floor:.1f}"]
            shown.add_row(name, *cells, f"{predict:.3f}", f"{forest[1] / predict:.1f}")
        console.print(shown)
    last = options.rows[-1]
    console.print(f"extra memory of a median fit at {last:,} rows: {extra_memory(last):.2f} of X in float64")
    for small, large in zip(options.rows, options.rows[1:], strict=False):
        for name in (name for name in seconds[large] if name.startswith("dpforest")):
            growth = seconds[large][name][0] / seconds[small][name][0]
            console.print(f"{name}: {large / small:.0f} x rows cost {growth:.1f} x time")
    compare_papers(last, options.trees, console)


if __name__ == "__main__":
    main()
