"""Tables by node and cell against plain loops: any features asked about, any part of the nodes."""

from dataclasses import replace

import numpy as np
import pytest

from dpforest._rows import By, CellCounts, CellMoments, Grid, MemoryRows
from dpforest._structure import FlatTrees

N_CELLS, N_CODES, LEVEL = (7, 5, 9, 4), 3, 2
ASKED = {
    "all in order": [0, 1, 2, 3],
    "the first": [0, 1],
    "in another order": [3, 1, 2, 0],
    "one": [2],
    "some": [1, 3],
}


def table_of(rng, n, kind):
    cells = np.column_stack([rng.integers(0, size, n) for size in N_CELLS]).astype(kind)
    return cells, rng.integers(-1, N_CODES, n).astype(np.int32)


def tree_of(rng):
    feature, threshold = rng.integers(0, 4, (1, 3)), rng.integers(0, 4, (1, 3))
    sets = np.ones((1, max(N_CELLS)), np.uint8)
    return FlatTrees(LEVEL, feature.astype(np.int32), threshold.astype(np.int32), sets)


def node_of(row, trees):
    node = 0
    for _ in range(LEVEL):
        node = 2 * node + 1 + (row[trees.feature[0, node]] > trees.threshold[0, node])
    return node - 3


def by_hand(spec, cells, target):
    table = np.zeros((4, spec.asked.shape[2], spec.width, spec.shape[3]), np.int64)
    for row, code in zip(cells, target, strict=True):
        node = node_of(row, spec.trees)
        for slot, column in enumerate(spec.asked[0, node]):
            entry = table[node, slot, row[column]]
            if isinstance(spec, CellMoments):
                entry += (np.array([1, code, code**2]) if code >= 0 else np.zeros(3, np.int64))[: len(entry)]
            elif spec.by is By.NOTHING or (spec.by is By.UNLABELLED and code < 0):
                entry[0] += 1
            elif spec.by is By.TARGET and code >= 0:
                entry[code] += 1
    return table


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32])
@pytest.mark.parametrize("n", [0, 1, 8, 9, 300])
def test_tables_are_what_rows_add_up_to(n, kind, asked):
    rng = np.random.default_rng(n)
    cells, target = table_of(rng, n, kind)
    grid, trees = Grid.of(N_CELLS, N_CODES), tree_of(rng)
    rows = MemoryRows(cells, target, grid)
    about = {"asked": np.tile(np.array(asked, np.int32), (1, 4, 1)), "width": max(N_CELLS)}
    specs = [CellCounts(grid, trees, LEVEL, **about, by=by) for by in (By.NOTHING, By.TARGET, By.UNLABELLED)]
    specs += [CellMoments(grid, trees, LEVEL, **about, squares=squares) for squares in (False, True)]
    for spec in specs:
        wanted = by_hand(spec, cells, target)
        np.testing.assert_array_equal(rows.fold(spec), wanted)
        np.testing.assert_array_equal(rows.fold(replace(spec, nodes=slice(1, 3))), wanted[1:3])
        np.testing.assert_array_equal(rows.fold(replace(spec, right_only=True)), wanted[1::2])
        some = replace(spec, right_only=True, nodes=slice(1, 2))
        np.testing.assert_array_equal(rows.fold(some), wanted[3:])


def test_nodes_may_ask_about_features_of_their_own():
    rng = np.random.default_rng(0)
    cells, target = table_of(rng, 200, np.uint16)
    grid, trees = Grid.of(N_CELLS, N_CODES), tree_of(rng)
    asked = np.array([[[0, 1], [3, 2], [1, 3], [0, 1]]], np.int32)
    spec = CellCounts(grid, trees, LEVEL, asked=asked, width=9, by=By.TARGET)
    np.testing.assert_array_equal(MemoryRows(cells, target, grid).fold(spec), by_hand(spec, cells, target))
