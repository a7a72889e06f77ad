"""Slow, plain versions of the compiled kernels, for comparison."""

from __future__ import annotations

import numpy as np

from dpforest._structure import FlatTrees


def leaf_of(trees: FlatTrees, tree: int, row, level: int) -> int:
    node = 0
    for above in range(level):
        at = 2**above - 1 + node
        cell, cut = int(row[trees.feature[tree, at]]), int(trees.threshold[tree, at])
        left = cell <= cut if cut >= 0 else bool(trees.left_sets[-cut - 1, cell])
        node = 2 * node + (not left)
    return node


def random_trees(rng, n_trees, depth, n_cells, nominal) -> FlatTrees:
    """Arbitrary splits, thresholds for ordered and subsets for nominal features."""
    left_sets = rng.integers(0, 2, (7, max(n_cells))).astype(np.uint8)
    trees = FlatTrees.unsplit(n_trees, depth, left_sets)
    trees.feature[:] = rng.integers(0, len(n_cells), trees.feature.shape)
    cuts = rng.integers(0, np.asarray(n_cells)[trees.feature])
    sets = -rng.integers(0, 7, trees.feature.shape) - 1
    trees.threshold[:] = np.where(np.asarray(nominal)[trees.feature], sets, cuts)
    return trees


def cell_table(trees, level, asked, cells, statistics, tree_of_row, n_cells):
    """Sum of per-row statistics by (tree, node, slot, cell)."""
    table = np.zeros((trees.n_trees, 2**level, asked.shape[2], n_cells, statistics.shape[1]), np.int64)
    for row in range(len(cells)):
        mine = range(trees.n_trees) if tree_of_row is None else [tree_of_row[row]]
        for tree in mine:
            node = leaf_of(trees, tree, cells[row], level)
            for slot, feature in enumerate(asked[tree, node]):
                table[tree, node, slot, cells[row, feature]] += statistics[row]
    return table


def leaf_table(trees, cells, statistics, tree_of_row):
    """Sum of per-row statistics by (tree, leaf)."""
    table = np.zeros((trees.n_trees, trees.n_leaves, statistics.shape[1]), np.int64)
    for row in range(len(cells)):
        mine = range(trees.n_trees) if tree_of_row is None else [tree_of_row[row]]
        for tree in mine:
            table[tree, leaf_of(trees, tree, cells[row], trees.depth)] += statistics[row]
    return table
