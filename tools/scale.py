"""Tables in Parquet against the same tables in memory: CPU time and peak memory, one process per figure.

    make bench TARGET=scale                    # 10M rows of 20 float32 columns; half an hour on two cores
    python -m tools.scale --rows 3000000

Figures: CPU time of `fit(folder, "y")` over that of reading the folder with pyarrow and fitting the table;
the same with every encoded row in the private file, and with nothing kept; peak memory of the process; CPU
time per row from a tenth of the rows to all of them; forests in memory against scikit-learn at 1M rows; and
what the driver of a cluster would have to do for a billion rows.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
from rich.console import Console
from rich.table import Table

N_FEATURES, N_FILES = 20, 20
MODELS = ("random splits", "median", "default", "default, delta")
WAYS = {
    "memory": None,
    "place": {},
    "private file": {"memory_limit": 0},
    "read again": {"cache": False},
}


def write(folder: Path, n_rows: int) -> None:
    """Write some files of uniform numbers and a class that follows from two of them."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    for number in range(N_FILES):
        X = rng.random((N_FEATURES, n_rows // N_FILES), dtype=np.float32)
        columns = {f"x{j}": X[j] for j in range(N_FEATURES)}
        columns["y"] = (X[0] + X[1] > 1).astype(np.int8)
        parquet.write_table(pa.table(columns), folder / f"part-{number:03}.parquet", row_group_size=2**18)


def make(name: str):
    """Return an estimator, one thread."""
    import dpforest

    public = {"bounds": (0, 1), "classes": [0, 1]}
    if name == "random forest of scikit-learn":
        from sklearn.ensemble import RandomForestClassifier

        return RandomForestClassifier(10, max_depth=10, random_state=0)
    if name == "random splits":
        return dpforest.RandomDecisionTreesClassifier(10, max_depth=10, **public)
    if name == "median":
        return dpforest.DiPriMeForestClassifier(10, max_depth=10, **public)
    return dpforest.PrivateForestClassifier(delta=1e-6 if "delta" in name else 0.0, **public)


def fit(model, folder: Path, way: str) -> None:
    if way == "memory":
        table = parquet.read_table(folder)
        X, y = table.drop_columns(["y"]), table["y"]
        if type(model).__module__.startswith("sklearn"):
            X, y = np.column_stack(X.columns), np.asarray(y)
        model.fit(X, y)
    else:
        from dpforest.schema import Source

        model.fit(Source(folder, **WAYS[way]), "y")


def measure(name: str, way: str, folder: Path) -> dict[str, float]:
    """Fit once in this process, after a small fit that compiles; CPU seconds and peak memory in MB."""
    with tempfile.TemporaryDirectory() as place:
        write(Path(place) / "small", 2000)
        fit(make(name), Path(place) / "small", way)
    start = time.process_time()
    fit(make(name), folder, way)
    cpu = time.process_time() - start
    return {"cpu": cpu, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


class NoRows:
    """Answers as a billion rows spread evenly would; shows what the driver costs, and what is sent to it."""

    n_rows = 10**9

    def __init__(self, grid) -> None:
        self.grid, self.n_bytes = grid, []

    def fold(self, table) -> np.ndarray:
        size = int(np.prod(table.shape))
        answer = np.full(table.shape, self.n_rows // size, np.int32 if table.counts_rows else np.int64)
        self.n_bytes.append(answer.nbytes)
        return answer


def measure_driver(name: str) -> dict[str, float]:
    """Fit on rows that are not there: passes, bytes of their tables, CPU seconds and peak memory in MB."""
    from unittest.mock import patch

    from dpforest._curator import table

    made = []

    def of_blocks(blocks, grid, n_threads):
        made.append(NoRows(grid))
        return made[-1]

    with patch.object(table, "MemoryRows", type("Elsewhere", (), {"of_blocks": staticmethod(of_blocks)})):
        for _ in range(2):  # the first one compiles
            start = time.process_time()
            make(name).fit(np.zeros((0, N_FEATURES)), np.zeros(0))
    cpu = time.process_time() - start
    n_bytes = made[-1].n_bytes
    return {
        "passes": len(n_bytes),
        "MB of all tables": sum(n_bytes) / 1e6,
        "MB of the largest": max(n_bytes) / 1e6,
        "cpu": cpu,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def in_a_process(name: str, way: str, folder: Path) -> dict[str, float]:
    line = [sys.executable, "-m", "tools.scale", "--only", name, way, str(folder)]
    return json.loads(subprocess.run(line, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--models", nargs="*", default=MODELS)
    parser.add_argument("--ways", nargs="*", default=list(WAYS))
    parser.add_argument("--only", nargs=3, metavar=("MODEL", "WAY", "FOLDER"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.only:
        name, way, folder = given.only
        print(json.dumps(measure_driver(name) if way == "driver" else measure(name, way, Path(folder))))
        return
    console = Console()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
        whole, tenth, million = (Path(place) / name for name in ("whole", "tenth", "million"))
        write(whole, given.rows)
        write(tenth, given.rows // 10)
        heads = "model", "way", "CPU s", "x memory", "peak MB", "per row, x tenth"
        table = Table(*heads, title=f"{given.rows:,} rows")
        for name in given.models:
            base = None
            for way in given.ways:
                found = in_a_process(name, way, whole)
                base = base or found["cpu"]
                growth = found["cpu"] / in_a_process(name, way, tenth)["cpu"] / 10
                figures = [f"{x:.2f}" for x in (found["cpu"], found["cpu"] / base, growth)]
                row = name, way, *figures[:2], f"{found['peak']:.0f}", figures[2]
                table.add_row(*row)
                console.print(*row)  # while the rest is measured
        console.print(table)
        write(million, 1_000_000)
        peer = in_a_process("random forest of scikit-learn", "memory", million)["cpu"]
        for name in given.models:
            cpu = in_a_process(name, "memory", million)["cpu"]
            console.print(f"{name}, driver of a billion rows: {in_a_process(name, 'driver', million)}")
            console.print(f"1M rows, scikit-learn's RandomForest(10, depth 10) / {name}: {peer / cpu:.1f}")


if __name__ == "__main__":
    main()
