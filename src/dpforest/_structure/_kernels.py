"""Compiled walks through flat trees. Plain arrays in, plain arrays out."""

from __future__ import annotations

import numpy as np
from numba import njit

BLOCK = 64  # rows that walk side by side: their memory reads overlap, and the trees stay in the cache


@njit(inline="always")
def walk(cells, begin, size, tree_of, feature, threshold, left_sets, level, node_of):
    """Find the node of `level` for `size` <= BLOCK rows from `begin` on; row i walks tree ``tree_of[i]``.

    The arrays are walked flattened: one index instead of two is a third faster.
    """
    n_nodes = feature.shape[1]
    flat_feature, flat_threshold = feature.reshape(-1), threshold.reshape(-1)
    for i in range(size):
        node_of[i] = 0
    for _ in range(level):
        for i in range(size):
            at = tree_of[i] * n_nodes + node_of[i]
            cell = cells[begin + i, flat_feature[at]]
            cut = flat_threshold[at]
            right = np.int64(cell > cut) if cut >= 0 else np.int64(left_sets[-cut - 1, cell] == 0)
            node_of[i] = 2 * node_of[i] + 1 + right
    for i in range(size):
        node_of[i] -= (1 << level) - 1


@njit(inline="always")
def node_box(feature, threshold, left_sets, tree, level, node, asked, n_cells, members):
    """Intersect the ancestors' conditions on one feature: first and last cell, and a mark on each member."""
    first_cell, last_cell = 0, n_cells - 1
    for cell in range(members.shape[0]):
        members[cell] = cell < n_cells
    at = node
    for above in range(level - 1, -1, -1):
        went_right = at & 1
        at >>= 1
        index = (1 << above) - 1 + at
        if feature[tree, index] != asked:
            continue
        cut = threshold[tree, index]
        if cut < 0:
            for cell in range(members.shape[0]):
                if left_sets[-cut - 1, cell] == went_right:
                    members[cell] = 0
        elif went_right:
            # right of a node that sends everything left nothing is possible: keep a box that cannot be cut
            first_cell = max(first_cell, min(cut + 1, n_cells - 1))
        else:
            last_cell = min(last_cell, cut)
    return first_cell, last_cell


@njit(cache=True, nogil=True)
def boxes(feature, threshold, left_sets, level, features, n_cells, low, high, members):
    """Box of every asked feature in every node (see `FlatTrees.boxes`)."""
    for tree in range(features.shape[0]):
        for node in range(features.shape[1]):
            for slot in range(features.shape[2]):
                asked = features[tree, node, slot]
                low[tree, node, slot], high[tree, node, slot] = node_box(
                    feature, threshold, left_sets, tree, level, node, asked, n_cells[asked],
                    members[tree, node, slot],
                )  # fmt: skip
