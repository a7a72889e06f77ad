"""Tables by two columns, against rows taken one by one."""

from dataclasses import replace

import numpy as np
import pytest

from dpforest._rows import Grid, MemoryRows, PairCounts
from tests.rows.test_cells import LEVEL, N_CELLS, N_CODES, node_of, table_of, tree_of


def spec_of(rng, trees, grid):
    """Three of the columns; the groups of a cell differ between nodes."""
    columns, widths = np.array([3, 0, 2]), [2, 3, 1]
    first = np.cumsum([0, *widths])
    groups = np.empty((4, 3, max(N_CELLS)), np.int32)
    for slot, width in enumerate(widths):
        groups[:, slot] = first[slot] + rng.integers(0, width, (4, max(N_CELLS)))
    return PairCounts(grid, trees, LEVEL, columns=columns, groups=groups, n_groups=6)


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32])
@pytest.mark.parametrize("n", [0, 1, 300])
def test_tables_are_what_rows_add_up_to(n, kind):
    rng = np.random.default_rng(n)
    cells, target = table_of(rng, n, kind)
    grid, trees = Grid.of(N_CELLS, N_CODES), tree_of(rng)
    spec = spec_of(rng, trees, grid)
    wanted = np.zeros((4, 6, 6, N_CODES), np.int64)
    for row, code in zip(cells, target, strict=True):
        if code < 0:
            continue
        node = node_of(row, trees)
        of_row = [spec.groups[node, slot, row[column]] for slot, column in enumerate(spec.columns)]
        for at, one in enumerate(of_row):
            for other in of_row[at:]:
                wanted[node, one, other, code] += 1
    for n_threads in (1, 2):
        np.testing.assert_array_equal(MemoryRows(cells, target, grid, n_threads).fold(spec), wanted)


@pytest.mark.parametrize(
    "change",
    [
        {"columns": np.array([3, 0, 4])},
        {"columns": np.array([-1, 0, 2])},
        {"groups": np.zeros((4, 2, max(N_CELLS)), np.int32)},
        {"groups": np.zeros((3, 3, max(N_CELLS)), np.int32)},
        {"groups": np.zeros((4, 3, 1), np.int32)},
        {"n_groups": 5},
    ],
)
def test_public_arrays_that_kernels_would_run_over_are_refused(change):
    rng = np.random.default_rng(0)
    spec = spec_of(rng, tree_of(rng), Grid.of(N_CELLS, N_CODES))
    with pytest.raises(ValueError, match=r"Pairs|group"):
        replace(spec, **change)
