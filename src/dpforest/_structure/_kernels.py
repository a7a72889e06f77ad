"""Compiled walks through flat trees. Plain arrays in, plain arrays out."""

from __future__ import annotations

import numpy as np

from dpforest._jit import kernel, part

BLOCK = 64  # rows that walk side by side: their memory reads overlap, and the trees stay in the cache


@part
def walk(cells, begin, size, tree_of, feature, threshold, left_sets, level, node_of):
    """Find the node of `level` for `size` <= BLOCK rows from `begin` on; row i walks tree ``tree_of[i]``.

    Indices are unsigned, because a signed one costs a look whether it counts from the end.
    """
    for i in range(size):
        node_of[i] = 0
    for _ in range(level):
        for i in range(size):
            tree, node = np.uint64(tree_of[i]), np.uint64(node_of[i])
            cell = np.int64(cells[np.uint64(begin + i), np.uint64(feature[tree, node])])
            cut = np.int64(threshold[tree, node])
            right = cell > cut
            if cut < 0:
                right = left_sets[-cut - 1, cell] == 0
            node_of[i] = 2 * node_of[i] + 1 + right
    for i in range(size):
        node_of[i] -= (1 << level) - 1


@part
def node_box(feature, threshold, left_sets, tree, level, node, asked, n_cells, members):
    """Intersect the ancestors' conditions on one feature: first and last cell, and a mark on each member."""
    first_cell, last_cell = np.int64(0), np.int64(n_cells) - 1
    for cell in range(members.shape[0]):
        members[cell] = cell < n_cells
    at, index = node, (1 << level) - 1 + node
    for _ in range(level):
        went_right = at & 1
        at, index = at >> 1, (index - 1) >> 1
        if feature[tree, index] != asked:
            continue
        cut = np.int64(threshold[tree, index])
        if cut < 0:
            for cell in range(members.shape[0]):
                if left_sets[-cut - 1, cell] == went_right:
                    members[cell] = 0
        elif went_right:
            # right of a node that sends everything left nothing is possible: keep a box that cannot be cut
            if cut + 1 > first_cell:
                first_cell = cut + 1 if cut + 1 < n_cells else np.int64(n_cells) - 1
        elif cut < last_cell:
            last_cell = cut
    return first_cell, last_cell


@kernel
def boxes(feature, threshold, left_sets, level, features, n_cells, low, high, members):
    """Box of every asked feature in every node (see `FlatTrees.boxes`)."""
    for tree in range(features.shape[0]):
        for node in range(features.shape[1]):
            for slot in range(features.shape[2]):
                asked = np.int64(features[tree, node, slot])
                low[tree, node, slot], high[tree, node, slot] = node_box(
                    feature, threshold, left_sets, tree, level, node, asked, n_cells[asked],
                    members[tree, node, slot],
                )  # fmt: skip
