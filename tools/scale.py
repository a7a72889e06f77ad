"""All that is promised about large tables, measured: one command, one table that can be pasted into a page.

    make bench TARGET=scale                               # all of it; two hours
    python -m tools.scale --part ratios threads           # arrays of a million rows; ten minutes
    python -m tools.scale --part place rows               # Parquet of up to 30 million rows; an hour
    python -m tools.scale --part driver                   # a billion rows that are not there; ten minutes
    python -m tools.scale --part dask spark bad-files     # what must hold, by the tests that say so
    python -m tools.scale --rows 40000 --growth 20000 40000 --peer 20000 --part ratios threads place rows
                                                          # does it run?

Parts
-----
ratios
    CPU time of `fit(X, y)` with one thread over that of scikit-learn's forest, and over reading the array and
    making cells of it. Every estimator in a process of its own, in turns, the least of all turns.
threads
    Wall time of one thread over that of two, which take turns, the least of each. On an idle machine only.
place
    CPU time of `fit(folder, "y")` over that of reading the folder with pyarrow and fitting the table, and
    peak memory of the process (`--ways` adds all encoded rows in the private file, or nothing kept).
rows
    CPU time per row as the folder grows.
driver
    What the driver of a cluster would have to do for a billion rows, alone and with a thousand partitions on
    two dask workers (`scale_driver`).
dask, spark, bad-files
    Tests: the same model to the last bit, workers and schedulers that are killed, files that do not fit.

Every line has the load of the machine when it was measured, and `--out` a file that lines are added to.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet

from tools.scale_driver import measure_driver, measure_partitions
from tools.scale_models import BINNING, MODELS, ONE_TREE_EACH, PEER, array, make, write

SECONDS, MOST_RUNS, TURNS = 10.0, 6, 2  # of runs of one estimator in a turn; at least one
WAYS = {
    "memory": None,
    "place": {},
    "private file": {"memory_limit": 0},
    "read again": {"cache": False},
}
# at most so much of scikit-learn's forest, and two threads at least so much faster
MOST_OF_PEER = {"median": 1 / 300, "default": 1 / 30, "default, delta": 1 / 4}
TWO_THREADS = 1.7
TESTS = {
    "dask": (["tests/rows/test_cluster.py"], "last_bit or killed or interrupt or change or once"),
    "spark": (["tests/spark/test_spark.py"], "last_bit or killed or change"),
    "bad-files": (
        ["tests/rows/test_stored.py", "tests/rows/test_cluster_files.py", "tests/spark/test_spark.py"],
        "TestRefusals or TestFiles or cluster_files or no_rows or without_rows",
    ),
}


class Lines:
    """Lines of a table, printed as they come."""

    def __init__(self, out: Path | None) -> None:
        self._out = out
        self._say("| what | wanted | found | load |\n|---|---|---|---|")

    def add(self, what: str, found: str, wanted: str = "") -> None:
        """Add a line."""
        self._say(f"| {what} | {wanted} | {found} | {os.getloadavg()[0]:.1f} |")

    def _say(self, line: str) -> None:
        print(line, flush=True)
        if self._out is not None:
            with self._out.open("a") as file:
                file.write(line + "\n")


# --- in a process of its own -----------------------------------------------------------------------------


def fit(model, folder: Path, way: str) -> None:
    """Fit the table in a folder."""
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
    return {"cpu": cpu, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def measure_array(name: str, folder: Path, ways: tuple[int, ...] = (1,)) -> dict[str, float]:
    """Fit an array with some numbers of threads, in turns: least CPU time of the first, wall time of all."""
    X, y = array(folder)
    cpu, wall, began, runs = np.inf, dict.fromkeys(ways, np.inf), time.perf_counter(), 0
    make(name).fit(X[:20_000], y[:20_000])  # compiles
    while not runs or (runs < MOST_RUNS and time.perf_counter() - began < SECONDS):
        for n_jobs in ways:
            start, used = time.perf_counter(), time.process_time()
            make(name, n_jobs).fit(X, y)
            wall[n_jobs] = min(wall[n_jobs], time.perf_counter() - start)
            cpu = min(cpu, time.process_time() - used) if n_jobs == ways[0] else cpu
        runs += 1
    return {"cpu": cpu, "runs": runs} | {f"wall {n}": wall[n] for n in ways}


MEASURES = {
    "array": measure_array,
    "threads": lambda name, folder: measure_array(name, folder, (1, 2)),
    "driver": lambda name, folder: measure_driver(name),
    "partitions": lambda name, folder: measure_partitions(name),
}


def in_a_process(name: str, way: str, folder: Path) -> dict[str, float]:
    """Measure in a process of its own."""
    line = [sys.executable, "-m", "tools.scale", "--only", name, way, str(folder)]
    return json.loads(subprocess.run(line, check=True, stdout=subprocess.PIPE, text=True).stdout)


def in_turns(names, way: str, folder: Path, *least: str) -> dict[str, dict[str, float]]:
    """Measure all, and again; keep the least of some figures."""
    found: dict[str, dict[str, float]] = {}
    for _ in range(TURNS):
        for name in names:
            now = in_a_process(name, way, folder)
            before = found.setdefault(name, now)
            runs = now["runs"] + (before["runs"] if before is not now else 0)
            found[name] = {key: min(before[key], now[key]) for key in least} | {"runs": runs}
    return found


# --- parts -----------------------------------------------------------------------------------------------


def ratios(lines: Lines, given, folders: dict[int, Path]) -> None:
    """Compare with scikit-learn's forest, and with making cells."""
    names = (PEER, BINNING, ONE_TREE_EACH, *given.models)
    found = in_turns(names, "array", folders[given.peer], "cpu")
    peer, cells = found[PEER]["cpu"], found[BINNING]["cpu"]
    for name in names:
        cpu, wanted = found[name]["cpu"], ""
        text = f"{cpu:.3f} s of CPU, least of {found[name]['runs']}"
        if name == ONE_TREE_EACH:
            text, wanted = f"{cpu / cells:.2f} x making cells; {text}", "at most 2.5 x"
        elif name != PEER:
            text = f"1 / {peer / cpu:.1f} of its time; {text}"
            wanted = f"at most 1 / {1 / MOST_OF_PEER[name]:.0f}" if name in MOST_OF_PEER else ""
        lines.add(f"{name}, {given.peer:,} rows", text, wanted)


def threads(lines: Lines, given, folders: dict[int, Path]) -> None:
    """Compare two threads with one."""
    found = in_turns(given.models, "threads", folders[given.peer], "wall 1", "wall 2")
    for name, of in found.items():
        text = f"{of['wall 1'] / of['wall 2']:.2f} x ({of['wall 1']:.3f} s and {of['wall 2']:.3f} s, least of"
        wanted = f"at least {TWO_THREADS} x"
        lines.add(f"{name}, two threads, {given.peer:,} rows", f"{text} {of['runs']})", wanted)


def place(lines: Lines, given, folders: dict[int, Path]) -> None:
    """Compare a folder with the same table in memory."""
    for name in given.models:
        base = in_a_process(name, "memory", folders[given.rows])
        for way in given.ways:
            found = in_a_process(name, way, folders[given.rows])
            text = (
                f"{found['cpu'] / base['cpu']:.2f} x ({found['cpu']:.1f} s of CPU), peak {found['peak']:.0f} "
                f"MB (memory {base['peak']:.0f})"
            )
            wanted = "at most 1.5 x memory, 700 MB"
            lines.add(f"{name}, {way}, {given.rows:,} rows", text, wanted)


def rows(lines: Lines, given, folders: dict[int, Path]) -> None:
    """Compare sizes."""
    for name in given.models:
        sizes = [size for size in given.growth if size <= 10_000_000 or "delta" not in name]  # hours
        found = {size: in_a_process(name, "place", folders[size]) for size in sizes}
        for size, of in found.items():
            text = f"{of['cpu'] / size * 1e6:.3f} us of CPU per row, peak {of['peak']:.0f} MB"
            lines.add(f"{name}, {size:,} rows", text)
        for few, many in pairwise(sizes):
            more = found[many]["cpu"] / found[few]["cpu"] * few / many
            wanted = f"at most {1.15 ** np.log10(many / few):.2f} x"
            lines.add(f"{name}, {many:,} rows against {few:,}, per row", f"{more:.2f} x", wanted)


def driver(lines: Lines, given, folders: dict[int, Path]) -> None:
    """Measure the driver of a billion rows."""
    for name in given.models:
        of = in_a_process(name, "driver", Path())
        text = (
            f"{of['passes']:.0f} passes, tables of {of['all']:.1f} MB in all, the largest of "
            f"{of['largest']:.1f}; {of['cpu']:.2f} s of CPU, peak {of['peak']:.0f} MB"
        )
        lines.add(f"{name}, driver of a billion rows", text)
        if "delta" not in name:  # 490 passes of little tables: hours of dask's own work, which is known then
            of = in_a_process(name, "partitions", Path())
            text = f"{of['cpu']:.1f} s of CPU, {of['wall']:.0f} s, peak {of['peak']:.0f} MB"
            lines.add(f"{name}, driver and scheduler of 1,000 partitions, two workers without rows", text)


def tests(lines: Lines, part: str) -> None:
    """Run tests, and say of each what came of it."""
    files, which = TESTS[part]
    for file in files:
        line = [sys.executable, "-m", "pytest", "-vv", "--no-header", "-p", "no:cacheprovider"]
        said = subprocess.run(
            [*line, file, "-k", which], stdout=subprocess.PIPE, text=True, check=False
        ).stdout
        for name, found in re.findall(r"^\S+?::(.+?) (PASSED|FAILED|ERROR|SKIPPED)\b", said, re.MULTILINE):
            lines.add(name.replace("|", "/"), found.lower(), "passed")
        lines.add(file, said.strip().splitlines()[-1].strip("= "), "no failure")


MEASURED = {"ratios": ratios, "threads": threads, "place": place, "rows": rows, "driver": driver}
NEEDED = {"ratios": ["peer"], "threads": ["peer"], "place": ["rows"], "rows": ["growth"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--part", nargs="*", default=[*MEASURED, *TESTS], choices=[*MEASURED, *TESTS])
    parser.add_argument("--rows", type=int, default=10_000_000, help="for memory against places")
    parser.add_argument("--growth", type=int, nargs="*", default=[1_000_000, 10_000_000, 30_000_000])
    parser.add_argument("--peer", type=int, default=1_000_000, help="for scikit-learn and threads")
    parser.add_argument("--models", nargs="*", default=MODELS, choices=MODELS)
    parser.add_argument("--ways", nargs="*", default=["place"], choices=list(WAYS))
    parser.add_argument("--out", type=Path, help="a file to add the lines to")
    parser.add_argument("--only", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.only:
        name, way, folder = given.only
        found = MEASURES[way](name, Path(folder)) if way in MEASURES else measure(name, way, Path(folder))
        print(json.dumps(found))
        return
    lines = Lines(given.out)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as temporary:
        wanted = [getattr(given, name) for part in given.part for name in NEEDED.get(part, [])]
        sizes = {size for some in wanted for size in (some if isinstance(some, list) else [some])}
        folders = {size: Path(temporary) / str(size) for size in sorted(sizes)}
        for size, folder in folders.items():
            write(folder, size)
        for part in given.part:
            if part in MEASURED:
                MEASURED[part](lines, given, folders)
            else:
                tests(lines, part)


if __name__ == "__main__":
    main()
