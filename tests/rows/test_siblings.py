"""Left children by subtraction: every table is what counting all rows gives, and fewer rows are counted."""

from dataclasses import replace

import numpy as np
import pytest

from dpforest._curator.assignment import KeyedTrees
from dpforest._rows import By, CellCounts, CellMoments, Grid, MemoryRows, Siblings
from dpforest._structure import FlatTrees

GRID = Grid.of([6, 4, 9], 3)


class Watched:
    """Rows that note what was asked of them."""

    def __init__(self, rows):
        self.rows, self.grid, self.asked = rows, rows.grid, []

    def fold(self, table):
        self.asked.append(table)
        return self.rows.fold(table)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    cells = np.column_stack([rng.integers(0, n, 3000) for n in GRID.n_cells]).astype(np.uint8)
    return Watched(MemoryRows(cells, rng.integers(-1, 3, 3000).astype(np.int32), GRID))


def level(kind, trees, at, rng, assignment=None, **options):
    """Ask about all features in every node, in an order of its own."""
    asked = np.argsort(rng.random((trees.n_trees, 2**at, 3)), axis=2).astype(np.int32)
    return kind(GRID, trees, at, assignment, asked=asked, width=9, **options)


def whole(siblings, table):
    parts = list(siblings.fold(table))
    assert [nodes.start for nodes, _ in parts] == [0, *(nodes.stop for nodes, _ in parts[:-1])]
    return np.concatenate([counts for _, counts in parts])


@pytest.mark.parametrize("kind", [CellCounts, CellMoments])
@pytest.mark.parametrize("n_trees", [1, 3])
def test_every_level_is_what_counting_all_rows_gives(kind, n_trees, rows):
    rng = np.random.default_rng(1)
    trees = FlatTrees.unsplit(n_trees, 6)
    options = {"by": By.TARGET} if kind is CellCounts else {"squares": True}
    assignment = KeyedTrees(n_trees, bytes(32)) if n_trees > 1 else None
    siblings = Siblings(rows)
    for at in range(6):
        table = level(kind, trees, at, rng, assignment, **options)
        np.testing.assert_array_equal(whole(siblings, table), rows.rows.fold(table))
        assert rows.asked[-1].right_only == (at > 0)
        here = trees.level(at)  # in place, as growers do
        trees.feature[:, here] = rng.integers(0, 3, (n_trees, 2**at))
        trees.threshold[:, here] = rng.integers(0, 9, (n_trees, 2**at))


def test_tables_that_do_not_follow_from_those_above_are_counted(rows):
    rng = np.random.default_rng(2)
    trees = FlatTrees.unsplit(1, 4)
    trees.threshold[:] = rng.integers(0, 3, trees.threshold.shape)
    other = replace(trees, threshold=trees.threshold + 1)
    above = level(CellCounts, trees, 1, rng, by=By.TARGET)
    for table in (
        level(CellCounts, trees, 2, rng),  # tells nothing apart
        level(CellMoments, trees, 2, rng),
        level(CellCounts, other, 2, rng, by=By.TARGET),
        level(CellCounts, trees, 3, rng, by=By.TARGET),
        level(CellCounts, trees, 2, rng, KeyedTrees(1, bytes(32)), by=By.TARGET),
        replace(above, level=2, asked=np.zeros((1, 4, 2), np.int32)),  # not all features
    ):
        siblings = Siblings(rows)
        whole(siblings, above)
        np.testing.assert_array_equal(whole(siblings, table), rows.rows.fold(table))
        assert not rows.asked[-1].right_only


def test_a_forest_that_is_grown_on_and_other_tables_in_between_do_not_count_anew(rows):
    rng = np.random.default_rng(4)
    small, siblings = FlatTrees.unsplit(1, 2), Siblings(rows)
    small.threshold[:] = rng.integers(0, 3, small.threshold.shape)
    for at in range(2):
        whole(siblings, level(CellCounts, small, at, rng, by=By.TARGET))
    large = FlatTrees.unsplit(1, 4)
    large.feature[:, :3], large.threshold[:, :3] = small.feature, small.threshold
    other = replace(level(CellCounts, small, 0, rng), asked=np.zeros((1, 1, 2), np.int32))
    np.testing.assert_array_equal(whole(siblings, other), rows.rows.fold(other))
    table = level(CellCounts, large, 2, rng, by=By.TARGET)
    np.testing.assert_array_equal(whole(siblings, table), rows.rows.fold(table))
    assert rows.asked[-1].right_only
