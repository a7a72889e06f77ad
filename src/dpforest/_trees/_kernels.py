"""Compiled parts of growing and predicting. Nothing here touches private rows.

Random choices are public coins: whoever reads the model knows them, so a simple generator and a modulo are
good enough here (they would not be for noise).
"""

from __future__ import annotations

import numpy as np

from dpforest._jit import inlined, kernel, part
from dpforest._structure._kernels import BLOCK, node_box, walk


@inlined
def _mix(state):
    """One step of splitmix64: a public coin seeds a short sequence of further ones."""
    state += np.uint64(0x9E3779B97F4A7C15)
    z = state
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state, z ^ (z >> np.uint64(31))


@part
def _count(members):
    n = 0
    for cell in range(members.shape[0]):
        n += members[cell]
    return n


@kernel
def draw_features(feature, threshold, left_sets, level, n_cells, nominal, coins, order, members, out):
    """Draw features without repetition: a partial shuffle that passes over those that cannot be cut.

    `order` lists all features and is shuffled further from node to node; `members` is scratch.
    """
    n_features, n_slots = n_cells.shape[0], out.shape[2]
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
                can_be_cut = low < high
                if nominal[asked]:
                    can_be_cut = _count(members) >= 2
                if can_be_cut:
                    order[pick] = order[found]
                    order[found] = asked
                    found += 1
                else:
                    end -= 1
                    order[pick] = order[end]
                    order[end] = asked
            for slot in range(n_slots):
                out[tree, node, slot] = order[slot]


@part
def _random_cut(feature, low, high, members, set_first, set_count, left_sets, word, unsplit):
    """Cut a box at a uniform place, or by a random subset that leaves a category on both sides."""
    if set_first[feature] < 0:
        return low + np.int64(word % np.uint64(high - low)) if low < high else unsplit
    n_sets = set_count[feature]
    start = np.int64(word % np.uint64(n_sets)) if n_sets > 0 else 0
    for step in range(n_sets):
        chosen = set_first[feature] + (start + step) % n_sets
        inside, outside = 0, 0
        for cell in range(left_sets.shape[1]):
            if members[cell] and left_sets[chosen, cell]:
                inside += 1
            elif members[cell]:
                outside += 1
        if inside and outside:
            return np.int64(-chosen - 1)
    return unsplit


@kernel
def random_cuts(features, low, high, members, set_first, set_count, left_sets, coins, threshold):
    """Cut each node's feature at random inside its box."""
    for tree in range(features.shape[0]):
        for node in range(features.shape[1]):
            _, word = _mix(coins[tree, node])
            threshold[tree, node] = _random_cut(
                features[tree, node], low[tree, node], high[tree, node], members[tree, node],
                set_first, set_count, left_sets, word, np.int64(threshold[tree, node]),
            )  # fmt: skip


@kernel
def multiway_cuts(
    feature, threshold, left_sets, level, n_cells, nominal, set_first, set_count, all_sets, coins,
    paper_depth, drawn, features, cuts,
):  # fmt: skip
    """Go on with the nominal feature that the parent began, else cut a drawn one, up to `paper_depth`."""
    members = np.zeros(left_sets.shape[1], np.uint8)
    for tree in range(features.shape[0]):
        for node in range(features.shape[1]):
            _, word = _mix(coins[tree, node])
            begun = -1
            if level > 0:
                parent = (1 << (level - 1)) - 1 + node // 2
                if threshold[tree, parent] < 0:  # the parent cut a set of categories
                    asked = feature[tree, parent]
                    node_box(feature, threshold, left_sets, tree, level, node, asked, n_cells[asked], members)
                    if _count(members) >= 2:
                        begun = asked
            if begun >= 0:
                features[tree, node] = begun
            elif drawn[tree, node] >= paper_depth:
                continue
            else:
                drawn[tree, node] += 1
            asked = features[tree, node]
            low, high = node_box(
                feature, threshold, left_sets, tree, level, node, asked, n_cells[asked], members
            )
            cuts[tree, node] = _random_cut(
                asked, low, high, members, set_first, set_count, all_sets, word, np.int64(cuts[tree, node])
            )


@kernel
def sum_leaf_values(cells, feature, threshold, left_sets, depth, values, begin, end, out):
    """Add up the leaf values that each row meets: ``out[row] = sum over trees of values[tree, leaf]``."""
    tree_of, node_of = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
    for number in range((end - begin + BLOCK - 1) // BLOCK):
        block = begin + number * BLOCK
        size = min(BLOCK, end - block)
        for tree in range(values.shape[0]):
            tree_of[:] = tree
            walk(cells, block, size, tree_of, feature, threshold, left_sets, depth, node_of)
            for i in range(size):
                for k in range(values.shape[2]):
                    out[block + i, k] += values[tree, node_of[i], k]


@kernel
def find_leaves(cells, feature, threshold, left_sets, depth, out):
    """Put the leaf of each row in ``out[tree, row]``."""
    tree_of, node_of = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
    for number in range((cells.shape[0] + BLOCK - 1) // BLOCK):
        block = number * BLOCK
        size = min(BLOCK, cells.shape[0] - block)
        for tree in range(out.shape[0]):
            tree_of[:] = tree
            walk(cells, block, size, tree_of, feature, threshold, left_sets, depth, node_of)
            out[tree, block : block + size] = node_of[:size]
