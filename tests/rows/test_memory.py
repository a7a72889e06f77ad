"""The compiled passes must fill exactly the tables that a plain loop over rows fills."""

import numpy as np
import pytest

from dpforest._rows import (
    By,
    CellCounts,
    CellMoments,
    Grid,
    LeafCounts,
    RowCount,
    TargetCounts,
    memory,
    tables,
)
from tests.counting import by_cell, leaf_counts, leaf_sums, rows_of_cells
from tests.oracles import cell_table, leaf_table, random_trees

N_CELLS = np.array([6, 4, 9], np.int32)
NOMINAL = np.array([False, True, False])


@pytest.fixture(
    params=[(1, True), (1, False), (3, True), (3, False)], ids=lambda p: f"threads={p[0]}-scattered={p[1]}"
)
def case(request, monkeypatch):
    n_threads, scattered = request.param
    rng = np.random.default_rng(5)
    cells = rng.integers(0, N_CELLS, (400, 3)).astype(np.uint16)
    target = rng.integers(-1, 3, 400).astype(np.int32)  # -1: rows whose label is unknown
    trees = random_trees(rng, 4, 3, N_CELLS, NOMINAL)
    tree_of_row = rng.integers(0, 4, 400) if scattered else None
    monkeypatch.setattr(memory, "BLOCK_ROWS", 30)  # 14 blocks
    return rows_of_cells(cells, target, N_CELLS, 3, n_threads), cells, target, trees, tree_of_row


def one_hot(target, n_classes):
    return (target[:, None] == np.arange(n_classes)).astype(np.int64)


def moments(target, powers):
    known = target >= 0
    return np.stack([np.where(known, target.astype(np.int64) ** p, 0) for p in range(powers)], axis=1)


def test_leaf_counts_match_a_plain_loop(case):
    rows, cells, target, trees, tree_of_row = case
    expected = leaf_table(trees, cells, one_hot(target, 3), tree_of_row)
    np.testing.assert_array_equal(leaf_counts(rows, trees, tree_of_row), expected)


def test_leaf_sums_match_a_plain_loop(case):
    rows, cells, target, trees, tree_of_row = case
    expected = leaf_table(trees, cells, moments(target, 2), tree_of_row)
    np.testing.assert_array_equal(leaf_sums(rows, trees, tree_of_row), expected)


@pytest.mark.parametrize("max_entries", [1, 2**25])
def test_cell_tables_match_a_plain_loop_in_any_grouping(case, max_entries, monkeypatch):
    monkeypatch.setattr(tables, "MAX_TABLE_ENTRIES", max_entries)
    rows, cells, target, trees, tree_of_row = case
    asked = np.random.default_rng(1).integers(0, 3, (4, 4, 2)).astype(np.int32)

    def whole(groups):
        groups = list(groups)
        assert len(groups) == (16 if max_entries == 1 else 1)
        return np.concatenate([table for _, table in groups]).reshape(4, 4, 2, 9, -1)

    for kind, options, statistics in [
        (CellCounts, {}, np.ones((400, 1), int)),
        (CellCounts, {"by": By.TARGET}, one_hot(target, 3)),
        (CellCounts, {"by": By.UNLABELLED}, (target < 0)[:, None].astype(int)),
        (CellMoments, {}, moments(target, 2)),
        (CellMoments, {"squares": True}, moments(target, 3)),
    ]:
        got = by_cell(kind, rows, trees, 2, asked, 9, tree_of_row, **options)
        expected = cell_table(trees, 2, asked, cells, statistics, tree_of_row, 9)
        np.testing.assert_array_equal(whole(got), expected)


def test_targets_and_rows_are_counted(case):
    rows, cells, target, *_ = case
    assert rows.fold(TargetCounts(rows.grid)).tolist() == one_hot(target, 3).sum(axis=0).tolist()
    assert rows.fold(RowCount(rows.grid)).tolist() == [len(cells)]


def test_no_rows_give_tables_of_zeros():
    rows = rows_of_cells(np.empty((0, 3), np.uint16), [], N_CELLS, 2, n_threads=2)
    trees = random_trees(np.random.default_rng(0), 2, 2, N_CELLS, NOMINAL)
    for spec in (LeafCounts(rows.grid, trees, 2), TargetCounts(rows.grid), RowCount(rows.grid)):
        table = rows.fold(spec)
        assert not table.any()
        assert table.dtype == np.int64


def test_rows_of_another_grid_are_refused():
    rows = rows_of_cells(np.empty((0, 3), np.uint16), [], N_CELLS, 2)
    with pytest.raises(ValueError, match="another grid"):
        rows.fold(RowCount(Grid.of(N_CELLS, 3)))
