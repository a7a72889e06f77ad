"""Measure fit and predict of this library and of other private forests, as CPU seconds of one thread.

    dpforest bench peers          # once: the other libraries, in an environment of their own
    python -m tools.peer_speed --peers ENVIRONMENT/bin/python

Writes docs/results/peers-speed.csv. Each figure is the least of a few runs in a process of its own; kernels
are compiled, modules loaded and small tables fitted before the clock starts.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
from pathlib import Path

RESULT = Path(__file__).resolve().parents[1] / "docs" / "results" / "peers-speed.csv"
MODELS = {
    "dpforest": "from dpforest import PrivateForestClassifier as M\n"
    "make = lambda: M(epsilon=1.0, bounds=(0, 1), classes=[0, 1])",
    "dpforest, delta = 1e-6": "from dpforest import PrivateForestClassifier as M\n"
    "make = lambda: M(epsilon=1.0, delta=1e-6, bounds=(0, 1), classes=[0, 1])",
    "diffprivlib, 10 trees": "from diffprivlib.models import RandomForestClassifier as M\n"
    "make = lambda: M(n_estimators=10, epsilon=1.0, bounds=(0, 1), classes=[0, 1])",
    "diffprivlib, 100 trees": "from diffprivlib.models import RandomForestClassifier as M\n"
    "make = lambda: M(n_estimators=100, epsilon=1.0, bounds=(0, 1), classes=[0, 1])",
    "DP-EBM": "from interpret.privacy import DPExplainableBoostingClassifier as M\n"
    "make = lambda: M(epsilon=1.0, delta=1e-6, n_jobs=1, feature_types=['continuous'] * 20,\n"
    "                 privacy_bounds={i: (0, 1) for i in range(20)})",
    "LightGBM, not private": "from lightgbm import LGBMClassifier as M\n"
    "make = lambda: M(n_jobs=1, verbose=-1)",
}
CODE = """
import json, sys, time, warnings
import numpy as np
warnings.simplefilter("ignore")
{make}
rng = np.random.default_rng(0)
X = rng.random(({rows}, 20)); y = (X[:, 0] + X[:, 1] > 1).astype(int)
make().fit(X[:2000], y[:2000]).predict(X[:2000])
times = []
for _ in range({repeats}):
    model = make()
    a = time.process_time(); model.fit(X, y)
    b = time.process_time(); model.predict(X)
    c = time.process_time()
    times.append((b - a, c - b))
print(json.dumps([min(column) for column in zip(*times)]))
"""


def measured(python: str, make: str, rows: int, repeats: int) -> list[float]:
    """Return the seconds of a fit and of a prediction."""
    one = {f"{name}_NUM_THREADS": "1" for name in ("NUMBA", "OMP", "OPENBLAS", "MKL")}
    code = CODE.format(make=make, rows=rows, repeats=repeats)
    done = subprocess.run(
        [python, "-c", code], env=os.environ | one, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--peers", default=sys.executable, help="Python of the environment with the others")
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    arguments = parser.parse_args()
    lines = [["method", "rows", "fit", "predict"]]
    for name, make in MODELS.items():
        python = sys.executable if name.startswith("dpforest") else arguments.peers
        for rows in arguments.rows:
            fit, predict = measured(python, make, rows, 3 if rows < 500_000 else 1)
            lines.append([name, str(rows), f"{fit:.3g}", f"{predict:.3g}"])
            print(*lines[-1], flush=True)
    with RESULT.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(lines)


if __name__ == "__main__":
    main()
