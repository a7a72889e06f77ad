"""Places of rows along directions, against rows taken one by one."""

from dataclasses import replace

import numpy as np
import pytest

from dpforest._rows import DirectionCounts, Grid, MemoryRows
from tests.rows.test_cells import N_CELLS, N_CODES, table_of

N_BINS = 6


def spec_of(rng, n_features=3):
    scores = rng.integers(-20, 20, (5, n_features, max(N_CELLS))).astype(np.int16)
    low, width = rng.integers(-40, 0, 5), rng.integers(1, 15, 5)
    return DirectionCounts(Grid.of(N_CELLS, N_CODES), scores=scores, low=low, width=width, n_bins=N_BINS)


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32])
@pytest.mark.parametrize("n", [0, 1, 300])
def test_tables_are_what_rows_add_up_to(n, kind):
    rng = np.random.default_rng(n)
    cells, target = table_of(rng, n, kind)
    spec = spec_of(rng)
    wanted = np.zeros((5, N_BINS, N_CODES), np.int64)
    for row, code in zip(cells.tolist(), target.tolist(), strict=True):
        for direction in range(5 if code >= 0 else 0):
            place = sum(int(spec.scores[direction, f, row[f]]) for f in range(3))
            at = (place - int(spec.low[direction])) // int(spec.width[direction])
            wanted[direction, min(max(at, 0), N_BINS - 1), code] += 1
    for n_threads in (1, 2):
        np.testing.assert_array_equal(MemoryRows(cells, target, spec.grid, n_threads).fold(spec), wanted)


def test_the_longest_sums_do_not_overflow():
    """Most features, each with the largest score."""
    n_features = 2**16
    grid = Grid.of([2] * n_features, 2)
    scores = np.full((1, n_features, 2), 2**15 - 1, np.int16)
    place = n_features * (2**15 - 1)
    spec = DirectionCounts(
        grid, scores=scores, low=np.array([place - 1]), width=np.array([1]), n_bins=3
    )  # the middle bin is this very place
    found = MemoryRows(np.ones((1, n_features), np.uint8), np.zeros(1, np.int32), grid).fold(spec)
    assert found[0, :, 0].tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    "change",
    [
        {"scores": np.zeros((5, 5, max(N_CELLS)), np.int16)},
        {"scores": np.zeros((5, 0, max(N_CELLS)), np.int16)},
        {"scores": np.zeros((5, 3, max(N_CELLS) - 1), np.int16)},
        {"scores": np.zeros((5, 3, max(N_CELLS)), np.int64)},
        {"low": np.zeros(4, np.int64)},
        {"width": np.zeros(5, np.int64)},
        {"n_bins": 0},
        {"n_bins": 2**25},
    ],
)
def test_public_arrays_that_kernels_would_run_over_are_refused(change):
    with pytest.raises(ValueError, match=r"irection"):
        replace(spec_of(np.random.default_rng(0)), **change)
