"""Rows that go on from where they were arrive where those that begin at the root do."""

import numpy as np
import pytest

from dpforest._curator.assignment import KeyedTrees
from dpforest._rows import Block, By, CellCounts, Grid, LeafCounts, LeafSums
from tests.oracles import random_trees

GRID = Grid.of([6, 4, 9], 3)
NOMINAL = [False, True, False]


def tables(trees, at, assignment):
    asked = np.zeros((trees.n_trees, 2**at, 2), np.int32)
    about = {"assignment": assignment, "asked": asked, "width": 9}
    yield CellCounts(GRID, trees, at, by=By.TARGET, **about)
    if at:
        yield CellCounts(GRID, trees, at, right_only=True, **about)
    yield LeafCounts(GRID, trees, at, assignment)
    yield LeafSums(GRID, trees, at, assignment)


def folded(table, block):
    out = np.zeros(table.shape, np.int64)
    table.add(block, out)
    return out


@pytest.mark.parametrize("n_trees", [1, 3])
@pytest.mark.parametrize("disjoint", [False, True])
def test_what_is_remembered_changes_no_table(n_trees, disjoint):
    rng = np.random.default_rng(0)
    cells = np.column_stack([rng.integers(0, n, 500) for n in GRID.n_cells]).astype(np.uint8)
    target = rng.integers(-1, 3, 500).astype(np.int32)
    assignment = KeyedTrees(n_trees, bytes(32)) if disjoint else None
    kept = {}
    forests = [random_trees(rng, n_trees, 6, GRID.n_cells, NOMINAL) for _ in range(2)]
    for trees in (forests[0], forests[1], forests[0]):
        for at in (0, 1, 2, 3, 5, 6, 4, 2, 6):  # also back, and two levels at once
            for table in tables(trees, at, assignment):
                expected = folded(table, Block(cells, target, 0))
                np.testing.assert_array_equal(folded(table, Block(cells, target, 0, kept)), expected)
    assert ("place" in kept) == (disjoint or n_trees == 1)


def test_splits_that_a_grower_changes_in_place_are_noticed():
    rng = np.random.default_rng(1)
    cells = np.column_stack([rng.integers(0, n, 500) for n in GRID.n_cells]).astype(np.uint8)
    target, kept = np.zeros(500, np.int32), {}
    trees = random_trees(rng, 1, 3, GRID.n_cells, 3 * [False])
    for _ in range(3):
        for at in range(4):
            table = LeafCounts(GRID, trees, at)
            expected = folded(table, Block(cells, target, 0))
            np.testing.assert_array_equal(folded(table, Block(cells, target, 0, kept)), expected)
        trees.threshold[:] = (trees.threshold + 1) % 4


def test_more_nodes_than_can_be_told_apart_are_walked_to():
    rng = np.random.default_rng(2)
    cells = np.column_stack([rng.integers(0, n, 50) for n in GRID.n_cells]).astype(np.uint8)
    target, kept = np.zeros(50, np.int32), {}
    trees = random_trees(rng, 40_000, 2, GRID.n_cells, NOMINAL)  # twice as many nodes do not fit 16 bits
    assignment = KeyedTrees(40_000, bytes(32))
    for at in range(3):
        table = LeafCounts(GRID, trees, at, assignment)
        expected = folded(table, Block(cells, target, 0))
        np.testing.assert_array_equal(folded(table, Block(cells, target, 0, kept)), expected)
    assert kept["place"][2] == 0
