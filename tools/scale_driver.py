"""What the driver of a cluster has to do for a billion rows, on rows that are not there; see `tools.scale`.

A backend answers every question by a small table of rows, each of which stands for many. So the driver takes
the way that it would take, search for fitted weights and all; the time of the answers is not counted. With
dask, a thousand partitions answer so on two workers, and partial tables are sent and added as they would be.
"""

from __future__ import annotations

import resource
import time
from dataclasses import replace
from unittest.mock import patch

import numpy as np

from tools.scale_models import N_FEATURES, make

BILLION, N_PARTITIONS, FEW = 10**9, 1000, 20_000


def _few_rows(grid):
    """Rows as those of the benchmark, encoded."""
    from dpforest._rows import MemoryRows

    rng = np.random.default_rng(0)
    places = rng.random((FEW, N_FEATURES))
    known = np.array(grid.n_cells[:N_FEATURES]) - 2
    cells = rng.integers(0, np.array(grid.n_cells) - 2, (FEW, len(grid.n_cells)))
    cells[:, :N_FEATURES] = places * known
    target = (places[:, 0] + places[:, 1] > 1).astype(np.int32)
    return MemoryRows(cells.astype(np.uint16), target, grid)


class NoRows:
    """Answers as `n_rows` rows would; shows what the driver costs, and what is sent to it."""

    def __init__(self, grid, n_rows: int = BILLION) -> None:
        self.grid, self.n_rows, self._few = grid, n_rows, _few_rows(grid)
        self.n_bytes, self.seconds = [], 0.0

    def fold(self, table) -> np.ndarray:
        start = time.process_time()
        sample = getattr(table, "sample", None)
        small = self._few.fold(_without_samples(table))  # what a sample is asked is asked of all few rows
        n_rows = self.n_rows / (1 if sample is None else sample.n_trees)
        answer = (small.astype(np.float64) * (n_rows / FEW)).astype(small.dtype)
        self.n_bytes.append(answer.nbytes)
        self.seconds += time.process_time() - start
        return answer


def _without_samples(table):
    if getattr(table, "sample", None) is not None:
        table = replace(table, sample=None)
    if getattr(getattr(table, "pulls", None), "sample", None) is not None:
        table = replace(table, pulls=replace(table.pulls, sample=None))
    return table


def measure_driver(name: str) -> dict[str, float]:
    """Fit on rows that are not there: passes, bytes of their tables, CPU seconds and peak memory in MB."""
    from dpforest._curator import table

    made = []

    def of_blocks(blocks, grid, n_threads):
        made.append(NoRows(grid))
        return made[-1]

    with patch.object(table, "MemoryRows", type("Elsewhere", (), {"of_blocks": staticmethod(of_blocks)})):
        for _ in range(2):  # the first one compiles
            start = time.process_time()
            make(name).fit(np.zeros((0, N_FEATURES)), np.zeros(0))
    cpu = time.process_time() - start - made[-1].seconds
    n_bytes = made[-1].n_bytes
    return {
        "passes": len(n_bytes),
        "all": sum(n_bytes) / 1e6,
        "largest": max(n_bytes) / 1e6,
        "cpu": cpu,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


class NoPartition:
    """A partition of a million rows that are not there, on a worker."""

    seal, n_rows = b"", BILLION // N_PARTITIONS

    def add_to(self, table, first, out) -> None:
        out += np.asarray(NO_ROWS.of(table.grid).fold(table), out.dtype)


class _PerProcess:
    """One small table for all partitions of a worker."""

    def __init__(self) -> None:
        self._made: dict = {}

    def of(self, grid) -> NoRows:
        if grid not in self._made:
            self._made[grid] = NoRows(grid, NoPartition.n_rows)
        return self._made[grid]


NO_ROWS = _PerProcess()


def measure_partitions(name: str) -> dict[str, float]:
    """Fit on a thousand partitions on two dask workers: CPU of the driver and its scheduler, wall time."""
    import dask
    from distributed import Client, LocalCluster

    from dpforest._curator import table
    from dpforest._rows import DaskRows, Grid

    def of_blocks(blocks, grid: Grid, n_threads):
        rows = DaskRows.__new__(DaskRows)
        part = dask.delayed(NoPartition, pure=False)
        rows._grid, rows._delayed = grid, dask.delayed
        rows._parts = list(dask.persist(*(part() for _ in range(N_PARTITIONS))))
        rows._marks = [(NoPartition.n_rows, NoPartition.seal)] * N_PARTITIONS
        rows._firsts = [NoPartition.n_rows * number for number in range(N_PARTITIONS + 1)]
        return rows

    with (
        LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster),
        patch.object(table, "MemoryRows", type("Elsewhere", (), {"of_blocks": staticmethod(of_blocks)})),
    ):
        start, cpu = time.perf_counter(), time.process_time()
        make(name).fit(np.zeros((0, N_FEATURES)), np.zeros(0))
        found = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - start}
    return found | {"peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}
