"""The counting boundary: the largest table, and codes, cells, trees and splits that would lead out of one."""

from math import isqrt

import numpy as np
import pytest

import dpforest
from dpforest._curator.assignment import KeyedTrees
from dpforest._rows import (
    MAX_PER_ROW,
    MAX_ROWS,
    By,
    CellCounts,
    CellMoments,
    Grid,
    LabelSums,
    LeafCounts,
    LeafSums,
    Products,
    Residual,
    TargetCounts,
    _gradients,
    _kernels,
    memory,
)
from dpforest._rows.limits import ERROR_LEVELS, MAX_TREES
from dpforest._rows.tables import NO_LIMIT
from dpforest._structure import FlatTrees
from dpforest.privacy import BudgetAccountant
from dpforest.schema.declaration import MAX_SIZE
from tests.counting import by_cell, cell_counts, leaf_counts, mixture_scores, rows_of_cells
from tests.oracles import cell_table, random_trees

N_CELLS = np.array([6, 4, 9], np.int32)


def rows(n=5, **changes):
    given = {
        "cells": np.zeros((n, 3), np.uint8),
        "target": np.zeros(n, np.int32),
        "n_cells": N_CELLS,
        "n_codes": 3,
    }
    return rows_of_cells(**{**given, **changes})


# --- the number of rows ---------------------------------------------------------------------------------


def test_one_row_more_than_the_largest_table_is_refused():
    cells = np.broadcast_to(np.uint8(0), (MAX_ROWS + 1, 3))  # takes no memory
    with pytest.raises(ValueError, match="at most 2\\*\\*40 rows"):
        rows(cells=cells, target=np.broadcast_to(np.int32(0), MAX_ROWS + 1))


def test_too_many_rows_are_refused_before_the_charge(monkeypatch):
    monkeypatch.setattr(memory, "MAX_ROWS", 10)
    accountant = BudgetAccountant(epsilon=1.0)
    model = dpforest.RandomDecisionTreesClassifier(
        2, bounds=(0, 1), classes=[0, 1], max_depth=1, epsilon=1.0, accountant=accountant
    )
    with pytest.raises(ValueError, match="rows"):
        model.fit(np.zeros((11, 2)), np.zeros(11))
    model.fit(np.zeros((10, 2)), np.zeros(10))  # nothing was spent before


class AllInOneCell:
    """Every row adds 1 to one entry; where the table has 32 bits it may wrap around."""

    grid, shape, counts_rows = Grid.of(N_CELLS, 3), (1,), True

    def add(self, block, out):
        out[0] = np.array(int(out[0]) + len(block.cells)).astype(out.dtype)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_counts_of_the_largest_table(monkeypatch, n_threads):
    monkeypatch.setattr(memory, "BLOCK_ROWS", 2**37)
    monkeypatch.setattr(Grid, "check", lambda *_: None)  # takes too long
    cells = np.broadcast_to(np.uint8(0), (MAX_ROWS, 3))  # takes no memory
    many = rows(cells=cells, target=np.broadcast_to(np.int32(0), MAX_ROWS), n_threads=n_threads)
    assert many.fold(AllInOneCell()).tolist() == [MAX_ROWS]


@pytest.mark.parametrize("n_threads", [1, 2])
def test_tables_do_not_depend_on_the_blocks_that_are_added(monkeypatch, n_threads):
    rng = np.random.default_rng(0)
    cells, target = (
        rng.integers(0, N_CELLS, (100, 3)).astype(np.uint8),
        rng.integers(-1, 3, 100).astype(np.int32),
    )
    trees = random_trees(rng, 2, 2, N_CELLS, np.array([False, True, False]))
    asked = rng.integers(0, 3, (2, 2, 2)).astype(np.int32)
    monkeypatch.setattr(memory, "ROWS_IN_INT32", 7)
    monkeypatch.setattr(memory, "BLOCK_ROWS", 11)
    table = cell_counts(rows_of_cells(cells, target, N_CELLS, 3, n_threads), trees, 1, asked, 9, By.TARGET)
    expected = cell_table(trees, 1, asked, cells, target[:, None] == np.arange(3), None, 9)
    np.testing.assert_array_equal(table.reshape(expected.shape), expected)


def test_blocks_are_small_enough_for_32_bits():
    assert memory.ROWS_IN_INT32 < 2**31


@pytest.mark.parametrize(
    ("kernel", "largest"),
    [
        ("leaf_counts", [MAX_ROWS]),
        ("leaf_sums", [MAX_ROWS, MAX_ROWS * MAX_SIZE]),
        ("cell_sums", [MAX_ROWS, MAX_ROWS * MAX_SIZE]),
        ("cell_moments", [MAX_ROWS, MAX_ROWS * ERROR_LEVELS, MAX_ROWS * ERROR_LEVELS**2]),
        ("products", [MAX_ROWS * isqrt(MAX_PER_ROW) ** 2]),
    ],
)
def test_the_last_row_of_the_largest_table_still_fits(kernel, largest):
    """Tables that hold what all rows but one can add, and a pass over the last one."""
    cells, root = np.zeros((1, 1), np.uint8), np.zeros(1, np.uint16)
    top = ERROR_LEVELS if kernel == "cell_moments" else MAX_SIZE
    levels = np.array([0 if kernel == "leaf_counts" else top], np.int32)
    per_row = [amount // MAX_ROWS for amount in largest]
    table = np.array(largest, np.int64) - per_row
    if kernel == "products":
        table = table.reshape(1, 1)
        values = np.array([isqrt(MAX_PER_ROW)])
        _gradients.products(cells, *np.array([[0], [0], [1]]), values, NO_LIMIT, table)
    elif kernel.startswith("cell"):
        table = table.reshape(1, 1, 1, -1)
        at_root = np.arange(1), np.ones(1, np.int64), np.zeros((1, 1), np.int32), 0
        _kernels.cell_moments(cells, levels, *at_root, table)
    else:
        table = table.reshape(1, -1)
        getattr(_kernels, kernel)(levels, root, table)
    assert table.ravel().tolist() == largest


def test_label_sums_of_large_weights():
    weights = np.full((4, 1), -MAX_PER_ROW, np.int32)
    backend = rows(4, target=np.array([0, 0, 0, 1], np.int32), n_codes=2)
    assert backend.fold(LabelSums(backend.grid, weights)).tolist() == [[-3 * MAX_PER_ROW, -MAX_PER_ROW]]


# --- what kernels index with ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {"cells": np.array([[0, 4, 0]], np.uint8)},  # the second column has cells 0 to 3
        {"cells": np.array([[255, 0, 0]], np.uint8)},
        {"cells": np.array([[-1, 0, 0]])},  # signed: an index from the end
        {"cells": np.zeros((1, 2), np.uint8)},
        {"cells": np.zeros((2, 3), np.uint8)},
        {"target": np.array([3], np.int32)},
        {"target": np.array([16384], np.int32)},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_what_a_schema_does_not_have_is_refused_whole(changes):
    rows(1)
    with pytest.raises(RuntimeError, match="schema"):
        rows(1, **changes)


class Lost:
    """Names a tree that is not there."""

    n_trees = 2

    def of(self, first, n):
        return np.full(n, 2, np.uint16)


def test_rows_are_scattered_over_the_trees_that_are_asked_about():
    with pytest.raises(ValueError, match=str(MAX_TREES)):
        KeyedTrees(MAX_TREES + 1, bytes(32))
    for wrong in (np.array([0, 1, 2]), np.zeros(2, np.int64)):
        with pytest.raises(RuntimeError, match="one of the trees"):
            leaf_counts(rows(3), FlatTrees.unsplit(2, 0), wrong)
    with pytest.raises(RuntimeError, match="one of the trees"):
        rows(3).fold(LeafCounts(rows().grid, FlatTrees.unsplit(2, 0), 0, Lost()))
    assert leaf_counts(rows(3), FlatTrees.unsplit(2, 0), [0, 1, 1])[:, 0, 0].tolist() == [1, 2]
    for n_trees in (1, 3):
        with pytest.raises(ValueError, match="trees that its rows are in"):
            LeafCounts(rows().grid, FlatTrees.unsplit(n_trees, 0), 0, Lost())


def test_the_last_of_the_most_trees_gets_its_rows():
    counts = leaf_counts(rows(3), FlatTrees.unsplit(MAX_TREES, 0), [0, MAX_TREES - 1, MAX_TREES - 1])
    assert counts[[0, -1], 0, 0].tolist() == [1, 2]


@pytest.mark.parametrize(("feature", "threshold"), [(3, 0), (-1, 0), (0, -3), (2, -1)])
def test_splits_that_do_not_fit_the_table_are_refused(feature, threshold):
    """Columns that do not exist, sets that do not exist, and sets narrower than the column."""
    trees = FlatTrees.unsplit(1, 1, np.zeros((2, 4), np.uint8))
    trees.feature[0, 0], trees.threshold[0, 0] = feature, threshold
    with pytest.raises(ValueError, match="do not fit"):
        leaf_counts(rows(), trees)
    with pytest.raises(ValueError, match="do not fit"):
        Residual(rows().grid, 2).then(0.0, 8.0, 0.0, trees, np.zeros(2))
    trees.feature[0, 0], trees.threshold[0, 0] = 1, -1
    assert leaf_counts(rows(), trees)[0, :, 0].tolist() == [0, 5]


@pytest.mark.parametrize(("asked", "n_cells"), [([3], 9), ([-1], 9), ([2], 8)])
def test_questions_that_do_not_fit_the_table_are_refused(asked, n_cells):
    root, features = FlatTrees.unsplit(1, 0), np.array([[asked]], np.int32)
    for kind in (CellCounts, CellMoments):
        with pytest.raises(ValueError, match=r"ask(ed)? about"):
            next(by_cell(kind, rows(), root, 0, features, n_cells))


def test_scores_and_values_that_do_not_fit_are_refused():
    root, prior, leaf = FlatTrees.unsplit(1, 0), np.zeros(3), np.zeros((1, 1, 3))
    weights, first = np.ones((1, 2)), np.zeros(1, np.int64)
    wide = np.zeros((1, 3, 9, 3))
    # the first class wins: half a unit, and by its share of 1/3 a quarter of 1 + 2/3 - 1/3
    assert mixture_scores(rows(), root, prior, leaf, wide, weights, first).tolist() == [5 * (512 + 341)]
    for wrong in [
        (root, prior, leaf, wide[:, :, :8], weights, first),
        (root, prior, leaf, wide, weights, first + 1),
        (root, prior, np.zeros((2, 1, 3)), wide, weights, first),
        (root, prior[:2], leaf, wide, weights, first),
        (root, prior, np.zeros((1, 2, 3)), wide, weights, first),
        (root, prior, leaf, np.full_like(wide, np.nan), weights, first),
        (root, prior, leaf, np.full_like(wide, 1e30), weights, first),
        (root, np.zeros(2), np.zeros((1, 1, 2)), wide[..., :2], weights, first),
    ]:
        with pytest.raises(ValueError, match="do not fit"):
            mixture_scores(rows(), *wrong)
    with pytest.raises(ValueError, match="needs a value"):
        Products(rows().grid, np.array([0]), [np.ones(5, np.int64)])


def test_residuals_that_do_not_fit_are_refused():
    """A level more than the table has room for, or the rows of another grid."""
    grid = rows().grid  # codes 0 to 2
    with pytest.raises(ValueError, match="levels"):
        Residual(grid, 3)
    fits = Residual(grid, 2).then(0.0, 2.0, 0.0, None, None)
    assert rows().fold(TargetCounts(grid, fits)).tolist() == [5, 0, 0]
    other, root = Grid.of(N_CELLS, 9), FlatTrees.unsplit(1, 0)
    for make in (lambda: TargetCounts(other, fits), lambda: LeafSums(other, root, 0, residual=fits)):
        with pytest.raises(ValueError, match="another grid"):
            make()


@pytest.mark.parametrize("nodes", [slice(-1, 1), slice(0, 3), slice(1, 1)])
def test_nodes_that_a_level_has_not_are_refused(nodes):
    grid, root, asked = rows().grid, FlatTrees.unsplit(1, 1), np.zeros((1, 2, 1), np.int32)
    for kind in (CellCounts, CellMoments):
        with pytest.raises(ValueError, match="nodes"):
            kind(grid, root, 1, asked=asked, width=9, nodes=nodes)
