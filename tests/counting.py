"""Short ways to count hand-made rows: one function per table."""

from __future__ import annotations

import numpy as np

from dpforest._curator.assignment import GivenTrees
from dpforest._rows import (
    By,
    CellCounts,
    CellMoments,
    Grid,
    LeafCounts,
    LeafSums,
    MemoryRows,
    MixtureScores,
    fold_by_nodes,
)


def rows_of_cells(cells, target, n_cells, n_codes, n_threads=1):
    return MemoryRows(cells, np.asarray(target, np.int32), Grid.of(n_cells, n_codes), n_threads)


def encoded_rows(X, y, schema):
    return rows_of_cells(schema.encode_features(X), schema.encode_target(y), schema.n_cells, schema.n_codes)


def given(trees, n_trees):
    return None if trees is None else GivenTrees(n_trees, np.asarray(trees, np.int64))


def leaf_counts(rows, trees, tree_of_row=None):
    return rows.fold(LeafCounts(rows.grid, trees, trees.depth, given(tree_of_row, trees.n_trees)))


def leaf_sums(rows, trees, tree_of_row=None):
    return rows.fold(LeafSums(rows.grid, trees, trees.depth, given(tree_of_row, trees.n_trees)))


def by_cell(kind, rows, trees, level, asked, width, tree_of_row=None, **options):
    """Groups of nodes and their tables."""
    walk = (rows.grid, trees, level, given(tree_of_row, trees.n_trees))
    return fold_by_nodes(rows, kind(*walk, asked=asked, width=width, **options))


def cell_counts(rows, trees, level, asked, width, by=By.NOTHING, tree_of_row=None):
    groups = by_cell(CellCounts, rows, trees, level, asked, width, tree_of_row, by=by)
    return np.concatenate([table for _, table in groups])


def cell_moments(rows, trees, level, asked, width, squares=True, tree_of_row=None):
    groups = by_cell(CellMoments, rows, trees, level, asked, width, tree_of_row, squares=squares)
    return np.concatenate([table for _, table in groups])


def mixture_scores(rows, trees, prior, leaf_scores, tables, weights, table_of):
    scores = {"leaf_scores": leaf_scores, "tables": tables, "weights": weights, "table_of": table_of}
    return rows.fold(MixtureScores(rows.grid, trees, trees.depth, prior=prior, **scores))
