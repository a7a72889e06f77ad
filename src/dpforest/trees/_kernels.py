"""Compiled parts of growing and predicting. Nothing here touches private rows.

Random choices are public coins: whoever reads the model knows them, so a simple generator and a modulo are
good enough here (they would not be for noise).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from dpforest.structure._kernels import BLOCK, node_box, walk


@njit(inline="always")
def _mix(state):
    """One step of splitmix64: a public coin seeds a short sequence of further ones."""
    state += np.uint64(0x9E3779B97F4A7C15)
    z = state
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state, z ^ (z >> np.uint64(31))


@njit(cache=True, nogil=True)
def draw_features(feature, threshold, left_sets, level, n_cells, nominal, coins, out):
    """Draw features without repetition: a partial shuffle that passes over those that cannot be cut."""
    n_features, n_slots = n_cells.shape[0], out.shape[2]
    order = np.arange(n_features)
    members = np.zeros(left_sets.shape[1], np.uint8)
    for tree in range(out.shape[0]):
        for node in range(out.shape[1]):
            state = coins[tree, node]
            found, end = 0, n_features  # order[:found] chosen, order[end:] found impossible
            while found < n_slots and found < end:
                state, word = _mix(state)
                pick = found + np.int64(word % np.uint64(end - found))
                asked = order[pick]
                low, high = node_box(
                    feature, threshold, left_sets, tree, level, node, asked, n_cells[asked], members
                )
                if members.sum() >= 2 if nominal[asked] else low < high:
                    order[pick], order[found] = order[found], asked
                    found += 1
                else:
                    end -= 1
                    order[pick], order[end] = order[end], asked
            for slot in range(n_slots):
                out[tree, node, slot] = order[slot]


@njit(cache=True, nogil=True)
def random_cuts(features, low, high, members, set_first, set_count, left_sets, coins, threshold):
    """Cut each node's feature at a uniform place of its box, or by a random proper subset."""
    for tree in range(features.shape[0]):
        for node in range(features.shape[1]):
            feature = features[tree, node]
            _, word = _mix(coins[tree, node])
            if set_first[feature] < 0:
                cuts = high[tree, node] - low[tree, node]
                if cuts > 0:
                    threshold[tree, node] = low[tree, node] + np.int64(word % np.uint64(cuts))
                continue
            n_sets = set_count[feature]
            start = np.int64(word % np.uint64(n_sets))
            for step in range(n_sets):
                chosen = set_first[feature] + (start + step) % n_sets
                inside, outside = False, False
                for cell in range(left_sets.shape[1]):
                    if members[tree, node, cell]:
                        if left_sets[chosen, cell]:
                            inside = True
                        else:
                            outside = True
                if inside and outside:
                    threshold[tree, node] = -chosen - 1
                    break


@njit(cache=True, nogil=True)
def sum_leaf_values(cells, feature, threshold, left_sets, depth, values, begin, end, out):
    """Add up the leaf values that each row meets: ``out[row] = sum over trees of values[tree, leaf]``."""
    tree_of, node_of = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
    for block in range(begin, end, BLOCK):
        size = min(BLOCK, end - block)
        for tree in range(values.shape[0]):
            tree_of[:] = tree
            walk(cells, block, size, tree_of, feature, threshold, left_sets, depth, node_of)
            for i in range(size):
                for k in range(values.shape[2]):
                    out[block + i, k] += values[tree, node_of[i], k]
