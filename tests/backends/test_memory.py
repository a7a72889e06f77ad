"""The compiled passes must fill exactly the tables that a plain loop over rows fills."""

import numpy as np
import pytest

from dpforest.backends import MemoryBackend, memory
from tests.oracles import cell_table, leaf_table, random_trees

N_CELLS = np.array([6, 4, 9], np.int32)
NOMINAL = np.array([False, True, False])


@pytest.fixture(
    params=[(1, True), (1, False), (3, True), (3, False)], ids=lambda p: f"threads={p[0]}-scattered={p[1]}"
)
def case(request):
    n_threads, scattered = request.param
    rng = np.random.default_rng(5)
    cells = rng.integers(0, N_CELLS, (400, 3)).astype(np.uint16)
    target = rng.integers(-1, 3, 400).astype(np.int32)  # -1: rows whose label is unknown
    trees = random_trees(rng, 4, 3, N_CELLS, NOMINAL)
    tree_of_row = rng.integers(0, 4, 400) if scattered else None
    backend = MemoryBackend(cells, target, N_CELLS, 3, n_threads)
    if scattered:
        backend.assign(tree_of_row, 4)
    return backend, cells, target, trees, tree_of_row


def one_hot(target, n_classes):
    return (target[:, None] == np.arange(n_classes)).astype(np.int64)


def moments(target, powers):
    known = target >= 0
    return np.stack([np.where(known, target.astype(np.int64) ** p, 0) for p in range(powers)], axis=1)


def test_leaf_counts_match_a_plain_loop(case):
    backend, cells, target, trees, tree_of_row = case
    expected = leaf_table(trees, cells, one_hot(target, 3), tree_of_row)
    np.testing.assert_array_equal(backend.leaf_counts(trees), expected)


def test_leaf_sums_match_a_plain_loop(case):
    backend, cells, target, trees, tree_of_row = case
    expected = leaf_table(trees, cells, moments(target, 2), tree_of_row)
    np.testing.assert_array_equal(backend.leaf_sums(trees), expected)


@pytest.mark.parametrize("max_entries", [1, 2**25])
def test_cell_tables_match_a_plain_loop_in_any_grouping(case, max_entries, monkeypatch):
    monkeypatch.setattr(memory, "MAX_TABLE_ENTRIES", max_entries)
    backend, cells, target, trees, tree_of_row = case
    asked = np.random.default_rng(1).integers(0, 3, (4, 4, 2)).astype(np.int32)

    def whole(groups):
        groups = list(groups)
        assert len(groups) == (16 if max_entries == 1 else 1)
        return np.concatenate([table for _, table in groups]).reshape(4, 4, 2, 9, -1)

    for got, statistics in [
        (backend.cell_counts(trees, 2, asked, 9), np.ones((400, 1), int)),
        (backend.cell_counts(trees, 2, asked, 9, by="target"), one_hot(target, 3)),
        (backend.cell_counts(trees, 2, asked, 9, by="unlabelled"), (target < 0)[:, None].astype(int)),
        (backend.cell_sums(trees, 2, asked, 9), moments(target, 2)),
        (backend.cell_moments(trees, 2, asked, 9), moments(target, 3)),
    ]:
        expected = cell_table(trees, 2, asked, cells, statistics, tree_of_row, 9)
        np.testing.assert_array_equal(whole(got), expected)


def test_no_rows_give_tables_of_zeros():
    backend = MemoryBackend(np.empty((0, 3), np.uint16), np.empty(0, np.int32), N_CELLS, 2, n_threads=2)
    trees = random_trees(np.random.default_rng(0), 2, 2, N_CELLS, NOMINAL)
    assert not backend.leaf_counts(trees).any()
    assert not backend.class_counts().any()
