"""Compiled passes over the rows: each fills one integer table, touching every row once.

All are serial, release the interpreter lock and take one block of rows, wherever it was; the specs in
`dpforest._rows.tables` call them. Rows find their node by walking the released splits from the root, so no
pass needs state about rows.

Trees are the outer loop: the table of one tree stays in the cache while a block of rows streams by.

Shared arguments: `tree_of_row` holds each row's tree, or is empty when every row is in every tree; `codes`
holds each row's class (negative: no known label), or is empty when labels do not matter.

Indices are not checked here. Why none leaves its table: `Grid.check` tells of all rows, when they are taken,
that every cell is below the number of cells of its column and every code below the number of codes;
`Block.trees` checks the trees of rows; and a spec checks the public arrays when it is made: that splits look
at columns of the table and at sets that are as wide as the column has cells (`check_walk`), and that the
table to be filled is as wide as the columns that are asked about. A walk of `level` steps in a complete tree
ends at one of its 2**level nodes. Entries do not overflow: see `limits`, and `memory.ROWS_IN_INT32` for 32
bits.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from dpforest._structure._kernels import BLOCK, walk


@njit(inline="always")
def _tree_range(tree_of_row, first, last):
    """Visits of a block of rows: every tree, or one visit in which each row has its own tree."""
    return (first, last) if tree_of_row.size == 0 else (0, 1)


@njit(inline="always")
def _trees_of_block(tree_of_row, begin, size, visit, tree_of):
    for i in range(size):
        tree_of[i] = visit if tree_of_row.size == 0 else np.int64(tree_of_row[begin + i])


@njit(cache=True, nogil=True)
def leaf_counts(cells, codes, tree_of_row, feature, threshold, left_sets, level, table):
    """Add 1 to ``table[tree, node, code]`` for every row."""
    tree_of, node_of = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
    first, last = _tree_range(tree_of_row, 0, table.shape[0])
    for visit in range(first, last):
        for block in range(0, cells.shape[0], BLOCK):
            size = min(BLOCK, cells.shape[0] - block)
            _trees_of_block(tree_of_row, block, size, visit, tree_of)
            walk(cells, block, size, tree_of, feature, threshold, left_sets, level, node_of)
            for i in range(size):
                code = codes[block + i] if codes.size > 0 else 0
                if code >= 0:
                    table[tree_of[i], node_of[i], code] += 1


@njit(cache=True, nogil=True)
def leaf_sums(cells, levels, tree_of_row, feature, threshold, left_sets, level, table):
    """Add (1, y) to ``table[tree, node]``, y the row's fixed-point target; unknown targets are left out."""
    tree_of, node_of = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
    first, last = _tree_range(tree_of_row, 0, table.shape[0])
    for visit in range(first, last):
        for block in range(0, cells.shape[0], BLOCK):
            size = min(BLOCK, cells.shape[0] - block)
            _trees_of_block(tree_of_row, block, size, visit, tree_of)
            walk(cells, block, size, tree_of, feature, threshold, left_sets, level, node_of)
            for i in range(size):
                target = levels[block + i]
                if target >= 0:
                    table[tree_of[i], node_of[i], 0] += 1
                    table[tree_of[i], node_of[i], 1] += target


@njit(cache=True, nogil=True)
def cell_counts(cells, codes, tree_of_row, feature, threshold, left_sets, level, asked, first_node, table):
    """Add 1 to ``table[node - first_node, slot, cell, code]`` for every feature asked about in a row's node.

    Nodes are numbered through all trees, ``tree * 2**level + node``; ``asked[node]`` lists a node's features.
    """
    tree_of, node_of = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
    n_nodes = 1 << level
    first, last = _tree_range(
        tree_of_row, first_node // n_nodes, (first_node + len(table) - 1) // n_nodes + 1
    )
    for visit in range(first, last):
        for block in range(0, cells.shape[0], BLOCK):
            size = min(BLOCK, cells.shape[0] - block)
            _trees_of_block(tree_of_row, block, size, visit, tree_of)
            walk(cells, block, size, tree_of, feature, threshold, left_sets, level, node_of)
            for i in range(size):
                at = tree_of[i] * n_nodes + node_of[i] - first_node
                code = codes[block + i] if codes.size > 0 else 0
                if code < 0 or not 0 <= at < len(table):
                    continue
                for slot in range(asked.shape[1]):
                    table[at, slot, cells[block + i, asked[first_node + at, slot]], code] += 1


@njit(cache=True, nogil=True)
def cell_moments(cells, levels, tree_of_row, feature, threshold, left_sets, level, asked, first_node, table):
    """Add (1, y), or (1, y, y**2), to ``table[node - first_node, slot, cell]``: twin of `cell_counts`."""
    with_squares = table.shape[3] == 3
    tree_of, node_of = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
    n_nodes = 1 << level
    first, last = _tree_range(
        tree_of_row, first_node // n_nodes, (first_node + len(table) - 1) // n_nodes + 1
    )
    for visit in range(first, last):
        for block in range(0, cells.shape[0], BLOCK):
            size = min(BLOCK, cells.shape[0] - block)
            _trees_of_block(tree_of_row, block, size, visit, tree_of)
            walk(cells, block, size, tree_of, feature, threshold, left_sets, level, node_of)
            for i in range(size):
                at = tree_of[i] * n_nodes + node_of[i] - first_node
                target = np.int64(levels[block + i])
                if target < 0 or not 0 <= at < len(table):
                    continue
                for slot in range(asked.shape[1]):
                    cell = cells[block + i, asked[first_node + at, slot]]
                    table[at, slot, cell, 0] += 1
                    table[at, slot, cell, 1] += target
                    if with_squares:
                        table[at, slot, cell, 2] += target * target


@njit(cache=True, nogil=True)
def number_correct(
    cells, codes, feature, threshold, left_sets, level, prior, leaf_scores, tables, weights,
    table_of, correct,
):  # fmt: skip
    """Count, for each line of `weights`, the rows whose class has the highest weighted score."""
    n_tables, n_features, _, n_classes = tables.shape
    tree_of, node_of = np.zeros(BLOCK, np.int64), np.empty(BLOCK, np.int64)
    sums = np.empty((n_tables, n_classes))
    for block in range(0, cells.shape[0], BLOCK):
        size = min(BLOCK, cells.shape[0] - block)
        walk(cells, block, size, tree_of, feature, threshold, left_sets, level, node_of)
        for i in range(size):
            code = codes[block + i]
            if code < 0:
                continue
            leaf = node_of[i]
            sums[:] = 0.0
            for part in range(n_tables):
                for asked in range(n_features):
                    cell = cells[block + i, asked]
                    for k in range(n_classes):
                        sums[part, k] += tables[part, asked, cell, k]
            for candidate in range(weights.shape[0]):
                # indices instead of views of lines: several times faster in the innermost loop
                of_leaf, of_table, table = weights[candidate, 0], weights[candidate, 1], table_of[candidate]
                best, highest = 0, -np.inf
                for k in range(n_classes):
                    score = prior[k] + of_leaf * leaf_scores[leaf, k] + of_table * sums[table, k]
                    if score > highest:
                        best, highest = k, score
                correct[candidate] += best == code


@njit(cache=True, nogil=True)
def subtract_leaves(cells, feature, threshold, left_sets, level, leaves, left):
    """Subtract the value of its leaf in one tree from every row."""
    tree_of, node_of = np.zeros(BLOCK, np.int64), np.empty(BLOCK, np.int64)
    for block in range(0, cells.shape[0], BLOCK):
        size = min(BLOCK, cells.shape[0] - block)
        walk(cells, block, size, tree_of, feature, threshold, left_sets, level, node_of)
        for i in range(size):
            left[block + i] -= leaves[node_of[i]]


@njit(cache=True, nogil=True)
def lookup_products(cells, features, values, table):
    """Add the products of what the row's cells stand for to the part of `table` above the diagonal."""
    n = features.size
    row = np.empty(n, np.int64)
    for i in range(cells.shape[0]):
        for a in range(n):
            row[a] = values[a, cells[i, features[a]]]
        for a in range(n):
            for b in range(a, n):
                table[a, b] += row[a] * row[b]
