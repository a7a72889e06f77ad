"""Tables in Parquet against the same tables in memory: CPU time and peak memory, one process per figure.

    make bench TARGET=scale                    # 10M rows of 20 float32 columns, up to 30M; an hour
    python -m tools.scale --rows 40000 --growth 20000 40000 --peer 20000      # does it run?
    python -m tools.scale --rows 0 --growth                                   # arrays only; five minutes

Figures: CPU time of `fit(folder, "y")` over that of reading the folder with pyarrow and fitting the table,
and peak memory of the process (`--ways` adds every encoded row in the private file, or nothing kept); CPU
time per row as the folder grows; `fit(X, y)` of an array against scikit-learn's forest, against reading and
making cells of it, and two threads against one, the least of several runs each, which take turns; and what
the driver of a cluster would have to do for a billion rows. Beside each figure stands the load of the
machine: read ratios, and threads on an idle one only.
"""

from __future__ import annotations

import argparse
import json
import os
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

N_FEATURES, N_FILES = 20, 20
MODELS = ("random splits", "median", "default", "default, delta")
PEER, BINNING = "random forest of scikit-learn", "reading and making cells"
ONE_TREE_EACH = "random splits, a row in one tree"
SECONDS, MOST_RUNS = 20.0, 12  # of runs that take turns; at least two of each
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


class Binning:
    """Reads a table once, and makes cells of it; counts nothing."""

    def fit(self, X, y):
        from dpforest._curator import PrivateTable
        from dpforest.schema import Schema

        np.add.reduce(X, axis=None)
        PrivateTable(X, y, Schema.from_bounds((0, 1), n_features=N_FEATURES, classes=[0, 1]))


def make(name: str, n_jobs: int = 1):
    """Return an estimator."""
    import dpforest

    public = {"bounds": (0, 1), "classes": [0, 1], "n_jobs": n_jobs}
    if name == PEER:
        from sklearn.ensemble import RandomForestClassifier

        return RandomForestClassifier(10, max_depth=10, random_state=0)
    if name == BINNING:
        return Binning()
    if name == ONE_TREE_EACH:
        from tools.speed import RandomSplits

        return RandomSplits()
    if name == "random splits":
        return dpforest.RandomDecisionTreesClassifier(10, max_depth=10, **public)
    if name == "median":
        return dpforest.DiPriMeForestClassifier(10, max_depth=10, **public)
    return dpforest.PrivateForestClassifier(delta=1e-6 if "delta" in name else 0.0, **public)


def array(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    table = parquet.read_table(folder)
    return np.column_stack(table.drop_columns(["y"]).columns), np.asarray(table["y"])


def fit(model, folder: Path, way: str) -> None:
    if way == "memory":
        table = parquet.read_table(folder)
        model.fit(table.drop_columns(["y"]), table["y"])
    else:
        from dpforest.schema import Source

        model.fit(Source(folder, **WAYS[way]), "y")


def measure(name: str, way: str, folder: Path) -> dict[str, float]:
    """Fit once in this process, after a small fit that compiles; seconds, and peak memory in MB."""
    with tempfile.TemporaryDirectory() as place:
        small = Path(place) / "small"
        write(small, 20_000)
        fit(make(name), small, way)
    cpu = time.process_time()
    fit(make(name), folder, way)
    cpu = time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"cpu": cpu, "peak": peak, "load": os.getloadavg()[0]}


def measure_array(name: str, folder: Path) -> dict[str, float]:
    """Fit an array with one thread and with two, in turns: least CPU time of one, and how fast two are."""
    X, y = array(folder)
    cpu, wall, began, runs = np.inf, [np.inf, np.inf], time.perf_counter(), 0
    make(name).fit(X[:20_000], y[:20_000])  # compiles
    n_ways = 2 if name in MODELS else 1
    while runs < 2 or (runs < MOST_RUNS and time.perf_counter() - began < SECONDS):
        for at in range(n_ways):
            start, used = time.perf_counter(), time.process_time()
            make(name, 1 + at).fit(X, y)
            wall[at] = min(wall[at], time.perf_counter() - start)
            cpu = min(cpu, time.process_time() - used) if at == 0 else cpu
        runs += 1
    return {"cpu": cpu, "faster": wall[0] / wall[1], "runs": runs, "load": os.getloadavg()[0]}


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
    return json.loads(subprocess.run(line, check=True, stdout=subprocess.PIPE, text=True).stdout)


def against_memory(console: Console, models, ways, folder: Path) -> None:
    for name in models:
        base = in_a_process(name, "memory", folder)
        for way in ways:
            found = in_a_process(name, way, folder)
            console.print(
                f"{name}, {way}: {found['cpu']:.2f} s of CPU, {found['cpu'] / base['cpu']:.2f} x memory; "
                f"peak {found['peak']:.0f} MB (memory {base['peak']:.0f}); load {found['load']:.1f}"
            )


def growth(console: Console, models, sizes: list[int], folders: dict[int, Path]) -> None:
    for name in models:
        before = None
        for size in sizes:
            if "delta" in name and size > 10_000_000:
                continue  # hours
            found = in_a_process(name, "place", folders[size])
            each = found["cpu"] / size * 1e6
            more = "" if before is None else f", {each / before:.2f} x of the size before"
            console.print(
                f"{name}, {size:,} rows: {found['cpu']:.2f} s of CPU, {each:.3f} us per row{more}; "
                f"peak {found['peak']:.0f} MB; load {found['load']:.1f}"
            )
            before = each


def against_peer(console: Console, models, folder: Path) -> None:
    peer, binning = in_a_process(PEER, "array", folder), in_a_process(BINNING, "array", folder)
    for name, found in ((PEER, peer), (BINNING, binning)):
        console.print(
            f"{name}: {found['cpu']:.3f} s of CPU, least of {found['runs']}; load {found['load']:.1f}"
        )
    for name in (ONE_TREE_EACH, *models):
        found = in_a_process(name, "array", folder)
        threads = f"two threads {found['faster']:.2f} x as fast; " if name in MODELS else ""
        console.print(
            f"{name}: {found['cpu']:.3f} s of CPU, least of {found['runs']}, 1 / "
            f"{peer['cpu'] / found['cpu']:.1f} of {PEER}, {found['cpu'] / binning['cpu']:.2f} x {BINNING}; "
            f"{threads}load {found['load']:.1f}"
        )
    for name in models:
        console.print(f"{name}, driver of a billion rows: {in_a_process(name, 'driver', folder)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--rows", type=int, default=10_000_000, help="for memory against places; 0: leave it out"
    )
    parser.add_argument("--growth", type=int, nargs="*", default=[1_000_000, 10_000_000, 30_000_000])
    parser.add_argument("--peer", type=int, default=1_000_000, help="for scikit-learn and threads")
    parser.add_argument("--models", nargs="*", default=MODELS, choices=MODELS)
    parser.add_argument("--ways", nargs="*", default=["place"], choices=list(WAYS))
    parser.add_argument("--only", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.only:
        name, way, folder = given.only
        if way == "driver":
            found = measure_driver(name)
        else:
            found = measure_array(name, folder) if way == "array" else measure(name, way, Path(folder))
        print(json.dumps(found))
        return
    console = Console(width=200)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
        sizes = sorted({given.rows, given.peer, *given.growth} - {0})
        folders = {size: Path(place) / str(size) for size in sizes}
        for size, folder in folders.items():
            write(folder, size)
        against_peer(console, given.models, folders[given.peer])
        if given.rows:
            against_memory(console, given.models, given.ways, folders[given.rows])
        growth(console, given.models, given.growth, folders)


if __name__ == "__main__":
    main()
