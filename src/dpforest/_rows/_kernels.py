"""Compiled passes over the rows: each fills one integer table, touching every row once.

All are serial, release the interpreter lock and take one block of rows, wherever it was; the specs in
`dpforest._rows.tables` call them. Some find the node of every row, by walking the released splits from the
root or by one step from where a block remembers that it was (`walks`); the others count.

Shared arguments: `node_of_row` holds each row's node, numbered through all trees, ``tree * 2**level + node``;
`codes` holds each row's class (negative: no known label), or is empty when labels do not matter.

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

from dpforest._jit import inlined, kernel, prefetch
from dpforest._rows.limits import MIXTURE_UNIT
from dpforest._structure._kernels import BLOCK, walk

STEPS = 64  # of a score, per nat
AHEAD = 8  # rows: fetching one takes as long as counting some of them


@inlined
def _n_blocks(cells):
    return (cells.shape[0] + BLOCK - 1) // BLOCK


@inlined
def _fetch(cells, order, i, asked, at, lines):
    """Fetch what will be asked of the row `AHEAD` places on, line by line if its columns lie together."""
    if i + AHEAD < len(order):
        for slot in range(0, asked.shape[1], max(lines, 1)):
            prefetch(cells, order[i + AHEAD], np.int64(asked[at, slot]))
        prefetch(cells, order[i + AHEAD], np.int64(asked[at, asked.shape[1] - 1]))


@kernel
def find_nodes(cells, tree_of_row, feature, threshold, left_sets, level, first, nodes):
    """Find the node of `level` of every row in its tree, numbered through all trees from `first` on."""
    tree_of, node_of = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
    for number in range(_n_blocks(cells)):
        block = number * BLOCK
        size = min(BLOCK, cells.shape[0] - block)
        for i in range(size):
            tree_of[i] = tree_of_row[block + i]
        walk(cells, block, size, tree_of, feature, threshold, left_sets, level, node_of)
        for i in range(size):
            nodes[block + i] = first + (tree_of[i] << level) + node_of[i]


@kernel
def step_down(cells, group_of_row, feature, threshold, left_sets, out):
    """Send the rows of every group g to one of its children, 2 g and 2 g + 1; each group has one split."""
    for i in range(cells.shape[0]):
        group, row = np.uint64(group_of_row[i]), np.uint64(i)
        cell, cut = np.int64(cells[row, np.uint64(feature[group])]), np.int64(threshold[group])
        right = cell > cut
        if cut < 0:
            right = left_sets[-cut - 1, cell] == 0
        out[i] = 2 * group_of_row[i] + right


@kernel
def leaf_counts(codes, node_of_row, table):
    """Add 1 to ``table[node, code]`` for every row with a known label."""
    for i in range(len(codes)):
        code = codes[i]
        if code >= 0:
            table[np.uint64(node_of_row[i]), np.uint64(code)] += 1


@kernel
def leaf_sums(levels, node_of_row, table):
    """Add (1, y) to ``table[node]``, y the row's fixed-point target; unknown targets are left out."""
    for i in range(len(levels)):
        target = levels[i]
        if target >= 0:
            node = np.uint64(node_of_row[i])
            table[node, 0] += 1
            table[node, 1] += target


@kernel
def one_cell_counts(cells, codes, node_of_row, asked, first_node, table):
    """Add 1 to ``table[node - first_node, cell]`` for every row; the feature of that place tells the cell.

    Rows with a negative code are left out. In half the time of `cell_counts`, which does it for several.
    """
    first, n_nodes = np.uint64(first_node), np.uint64(len(table))
    for i in range(cells.shape[0]):
        row = np.uint64(i)
        node = np.uint64(node_of_row[row])
        place = node - first  # beyond all nodes if it is before the first one
        if place < n_nodes and (codes.size == 0 or codes[row] >= 0):
            table[place, cells[row, np.uint64(asked[place])]] += 1


@kernel
def cell_counts(cells, codes, order, ends, asked, lines, table):
    """Add 1 to ``table[place, slot, cell, code]`` for every feature asked about at a row's place.

    Rows ``order[ends[place - 1]:ends[place]]`` are at a place; ``asked[place]`` lists its features. `lines`
    is 0, or if these are always the first columns in their order, the columns in a line of memory. Without
    codes all are 0. Rows are fetched ahead: in the order of places they lie apart, and a core would wait for
    every one.
    """
    begin = np.int64(0)
    for at in range(len(table)):
        place = np.uint64(at)
        for i in range(begin, ends[at]):
            _fetch(cells, order, i, asked, at, lines)
            row = np.uint64(order[i])
            kind = np.uint64(codes[row]) if codes.size > 0 else np.uint64(0)
            if lines > 0:
                for slot in range(table.shape[1]):
                    column = np.uint64(slot)
                    table[place, column, cells[row, column], kind] += 1
            else:
                for slot in range(table.shape[1]):
                    table[place, slot, cells[row, np.uint64(asked[at, slot])], kind] += 1
        begin = ends[at]


@kernel
def cell_moments(cells, levels, order, ends, asked, lines, table):
    """Add (1, y), or (1, y, y**2), to ``table[place, slot, cell]``: twin of `cell_counts`."""
    with_squares = table.shape[3] == 3
    begin = np.int64(0)
    for at in range(len(table)):
        place = np.uint64(at)
        for i in range(begin, ends[at]):
            _fetch(cells, order, i, asked, at, lines)
            row = np.uint64(order[i])
            target = np.int64(levels[row])
            for slot in range(table.shape[1]):
                cell = cells[row, np.uint64(asked[at, slot])]
                table[place, slot, cell, 0] += 1
                table[place, slot, cell, 1] += target
                if with_squares:
                    table[place, slot, cell, 2] += target * target
        begin = ends[at]


@kernel
def pair_counts(cells, codes, node_of_row, order, columns, groups, found, table):
    """Add 1 to ``table[node, group, other, code]`` for the groups of every two columns of a row.

    A column and itself make a pair, too; of two columns the first group is that of the first. `found` is
    scratch.
    """
    n_slots = columns.shape[0]
    for i in range(order.shape[0]):
        row = np.uint64(order[i])
        node, code = np.uint64(node_of_row[row]), np.uint64(codes[row])
        for slot in range(n_slots):
            found[slot] = groups[node, slot, cells[row, np.uint64(columns[slot])]]
        for slot in range(n_slots):
            group = np.uint64(found[slot])
            for other in range(slot, n_slots):
                table[node, group, np.uint64(found[other]), code] += 1


@kernel
def direction_counts(cells, codes, scores, low, width, table):
    """Add 1 to ``table[direction, bin, code]`` for the place of every row along every direction.

    Direction by direction: the scores of one stay in the cache. Places are sums of at most 2**16 numbers of
    16 bits.
    """
    n_bins, n_features = table.shape[1], scores.shape[1]
    for direction in range(scores.shape[0]):
        begin, wide = low[direction], width[direction]
        for row in range(cells.shape[0]):
            place = np.int64(0)
            for feature in range(n_features):
                place += scores[direction, feature, cells[row, feature]]
            at = min(max((place - begin) // wide, 0), n_bins - 1)
            table[direction, at, codes[row]] += 1


@inlined
def _sum_features(cells, row, tables, sums):
    """Sum the scores of a row over its features, for every table and class."""
    n_tables, n_features, _, n_classes = tables.shape
    for part in range(n_tables):
        for k in range(n_classes):
            sums[part, k] = 0.0
        for asked in range(n_features):
            cell = cells[row, asked]
            for k in range(n_classes):
                sums[part, k] += tables[part, asked, cell, k]


@kernel
def two_class_mixture_scores(
    cells, codes, node_of_row, prior, leaf_scores, tables, weights, table_of, worth, sums, out
):
    """Do as `mixture_scores`, for two classes; a kernel of its own, so that a fit compiles one of them.

    ``worth[k]`` is what comes of a number of steps between the two scores if the row is of the class with the
    lower (0) or with the higher (1) one.
    """
    by_code = leaf_scores.shape[1] > 1
    for row in range(cells.shape[0]):
        code = codes[row]
        if code < 0:
            continue
        _sum_features(cells, row, tables, sums)
        own, other = np.uint64(code), np.uint64(1 - code)
        of_leaf = leaf_scores[node_of_row[row], code if by_code else 0]
        for candidate in range(weights.shape[0]):
            first, second = weights[candidate, 0], weights[candidate, 1]
            table = np.uint64(table_of[candidate])
            mine = prior[own] + first * of_leaf[own] + second * sums[table, own]
            others = prior[other] + first * of_leaf[other] + second * sums[table, other]
            # of two scores that are equal the first class's counts as the higher one
            wins = mine > others or (mine == others and code == 0)
            steps = np.uint64(np.int64(min(abs(mine - others) * STEPS, worth.shape[1] - 1)))
            out[candidate] += worth[np.uint64(wins), steps]


@kernel
def mixture_scores(
    cells, codes, node_of_row, prior, leaf_scores, tables, weights, table_of, powers, one, sums, score, power,
    out,
):  # fmt: skip
    """Add to each line of `weights` what it is worth for every row; see `MixtureScores`.

    `powers` holds exp(-i / STEPS) as whole numbers for steps i below the highest score, and ends in 0.
    Shares are whole multiples of 1 / one. All that is done in doubles belongs to one row, and whatever comes
    of it is held between 0 and half a unit as an integer: so the sum over rows moves by no more than
    `MIXTURE_UNIT` whatever the rounding of doubles did, and no rounding needs a place in W.

    `sums`, `score` and `power` are scratch.
    """
    n_classes = tables.shape[3]
    by_code, last = leaf_scores.shape[1] > 1, powers.size - 1
    shift = one * one // (MIXTURE_UNIT // 4)
    for row in range(cells.shape[0]):
        code = codes[row]
        if code < 0:
            continue
        leaf, row_of = node_of_row[row], code if by_code else 0
        _sum_features(cells, row, tables, sums)
        for candidate in range(weights.shape[0]):
            # indices instead of views of lines: several times faster in the innermost loop
            of_leaf, of_table, table = weights[candidate, 0], weights[candidate, 1], table_of[candidate]
            best, highest = 0, -np.inf
            for k in range(n_classes):
                score[k] = prior[k] + of_leaf * leaf_scores[leaf, row_of, k] + of_table * sums[table, k]
                if score[k] > highest:
                    best, highest = k, score[k]
            total = 0
            for k in range(n_classes):
                steps = (highest - score[k]) * STEPS
                power[k] = powers[int(steps) if steps < last else last]
                total += power[k]
            part_of, squares, own = one / total, 0, 0
            for k in range(n_classes):
                share = int(power[k] * part_of)
                squares += share * share
                if k == code:
                    own = share
            brier = (one * one + 2 * one * own - squares) // shift
            out[candidate] += min(max(brier, 0), MIXTURE_UNIT // 2)
            if best == code:
                out[candidate] += MIXTURE_UNIT // 2


@kernel
def subtract_leaves(cells, feature, threshold, left_sets, level, leaves, left):
    """Subtract the value of its leaf in one tree from every row."""
    tree_of, node_of = np.zeros(BLOCK, np.int64), np.empty(BLOCK, np.int64)
    for number in range(_n_blocks(cells)):
        block = number * BLOCK
        size = min(BLOCK, cells.shape[0] - block)
        walk(cells, block, size, tree_of, feature, threshold, left_sets, level, node_of)
        for i in range(size):
            left[block + i] -= leaves[node_of[i]]


@kernel
def subtract_table(cells, values, unit, left):
    """Subtract the sum of whole numbers by (feature, cell), in units of 1 / `unit`, from every row."""
    for i in range(cells.shape[0]):
        total = 0
        for asked in range(values.shape[0]):
            total += values[asked, cells[i, asked]]
        left[i] -= total / unit
