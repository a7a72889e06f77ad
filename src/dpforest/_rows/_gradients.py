"""Compiled passes for boosting: gradients of rows, and integer sums of them.

Everything is an integer function of one row and of released integers, so it does not matter in which block,
thread or place a row is: a neighbour's other rows have the same gradients, to the last bit. The few divisions
and square roots in doubles are single operations of IEEE 754 (no sums of doubles over rows, no fast math),
and what leaves them is checked as integers.

Rows are taken some thousands at a time, so that their gradients stay in the cache while all columns use them.
"""

from __future__ import annotations

import math

import numpy as np

from dpforest._jit import inlined, kernel

BLOCK = 8192


@inlined
def _table_index(score, shift, half):
    """Place of a score in a table of 2 * half steps around 0; scores beyond it are held at its ends."""
    index = (score >> shift) + half
    return min(max(index, 0), 2 * half - 1)


@kernel
def logistic(scores, target, shift, half, slopes, curvatures, g, h):
    """Gradient and half the Hessian of two classes from tables; see `tables` in `gradients`."""
    for i in range(scores.shape[0]):
        index = _table_index(np.int64(scores[i, 0]), shift, half)
        g[i, 0] = slopes[target[i], index]
        h[i, 0] = curvatures[index]


@inlined
def _shorten(vector, limit, unit, out):
    """Scale a vector so that `limit` becomes `unit`; longer ones become as long: at most `unit`, in integers.

    Rounds to nearest if that is short enough, else towards zero; and because the factor is a double, whatever
    is still too long loses one from every number until it is not.
    """
    n = vector.size
    squares = 0
    for k in range(n):
        squares += vector[k] * vector[k]
    factor = unit / max(limit, math.sqrt(np.float64(squares)))
    length = 0
    for k in range(n):
        out[k] = np.int64(np.rint(vector[k] * factor))
        length += out[k] * out[k]
    if length > unit * unit:
        length = 0
        for k in range(n):
            out[k] = np.int64(vector[k] * factor)
            length += out[k] * out[k]
    while length > unit * unit:
        length = 0
        for k in range(n):
            out[k] -= np.sign(out[k])
            length += out[k] * out[k]


@kernel
def softmax(scores, target, shift, powers, one, clip, floor, typical, unit, g, h):
    """Gradient and half the Hessian of several classes, each no longer than `unit` and half of it.

    `powers` holds exp(-i) for steps i of a score, as whole numbers; shares are whole multiples of 1 / `one`.
    A share is at most `one` = 2**16 and there are fewer than 2**16 classes, so squares sum to less than
    2**48.
    """
    n_classes, last = scores.shape[1], powers.size - 1
    weight, line = np.empty(n_classes, np.int64), np.empty(n_classes, np.int64)
    out = np.empty(n_classes, np.int64)
    for i in range(scores.shape[0]):
        highest = np.int64(scores[i, 0]) >> shift
        for k in range(1, n_classes):
            highest = max(highest, np.int64(scores[i, k]) >> shift)
        total = 0
        for k in range(n_classes):
            weight[k] = powers[min(highest - (np.int64(scores[i, k]) >> shift), last)]
            total += weight[k]
        for k in range(n_classes):
            weight[k] = weight[k] * one // total
            line[k] = weight[k]
        line[target[i]] -= one
        _shorten(line, clip, unit, out)
        for k in range(n_classes):
            g[i, k] = out[k]
            line[k] = max(weight[k] * (one - weight[k]) // one, floor)
        _shorten(line, typical, unit // 2, out)
        for k in range(n_classes):
            h[i, k] = out[k]


@kernel
def squared(scores, target, clip, unit, g, h):
    """Residual, clipped and in units of clip / `unit`, and half a unit for every row."""
    for i in range(scores.shape[0]):
        left = np.int64(scores[i, 0]) - target[i]  # below 2**32, times a unit of 2**12 at most
        left = min(max(left, -clip), clip)
        size = (abs(left) * unit + clip // 2) // clip
        g[i, 0] = min(size, unit) * np.sign(left)
        h[i, 0] = unit // 2


@kernel
def shorten_for(cells, norms, longest, unit, g):
    """Scale gradients so that squared length times squared length of the row's features stays in bounds.

    ``norms[feature, cell]`` adds up to the squared length of a row's features, S. Afterwards the squared
    length of the row of `g`, L, fulfils ``L * S <= unit**2 * longest``: checked in integers. S is below 2**38
    (2**16 features, each squared below 2**22), and L at most 2**24.
    """
    n_classes = g.shape[1]
    for i in range(cells.shape[0]):
        of_features = 0
        for feature in range(cells.shape[1]):
            of_features += norms[feature, cells[i, feature]]
        if of_features <= longest:
            continue
        factor = math.sqrt(np.float64(longest) / np.float64(of_features))
        length = 0
        for k in range(n_classes):
            g[i, k] = np.int64(g[i, k] * factor)
            length += np.int64(g[i, k]) * g[i, k]
        if length * of_features > unit * unit * longest:
            for k in range(n_classes):
                g[i, k] = 0


@kernel
def cell_counts(cells, table):
    """Add 1 to ``table[feature, cell]`` for every feature of every row."""
    for i in range(cells.shape[0]):
        for feature in range(cells.shape[1]):
            table[feature, cells[i, feature]] += 1


@kernel
def cell_sums(cells, g, table):
    """Add a row's gradient to ``table[feature, cell]`` for every feature."""
    for i in range(cells.shape[0]):
        for feature in range(cells.shape[1]):
            cell = cells[i, feature]
            for k in range(g.shape[1]):
                table[feature, cell, k] += g[i, k]


@inlined
def _write_features(cells, i, features, starts, widths, values, longest, line):
    """Write the features of a row as doubles that are whole numbers, of squared length up to `longest`.

    The values of block b in a cell are ``values[starts[b] + cell * widths[b]]`` and the following. Rows that
    are too long are scaled and cut towards zero; should a double have rounded the wrong way, they become 0.
    """
    at, length = 0, 0
    for block in range(features.size):
        first = starts[block] + np.int64(cells[i, features[block]]) * widths[block]
        for place in range(widths[block]):
            line[at] = values[first + place]
            length += values[first + place] ** 2
            at += 1
    if length <= longest:
        return
    factor = math.sqrt(np.float64(longest) / np.float64(length))
    length = 0
    for place in range(at):
        line[place] = np.trunc(line[place] * factor)
        length += np.int64(line[place]) * np.int64(line[place])
    if length > longest:
        line[:] = 0.0


@kernel
def products(cells, features, starts, widths, values, longest, table):
    """Add the products of any two features of every row to the part of `table` above the diagonal.

    Sums are taken in doubles, four rows at a time, and moved to integers every 2**20 rows. All of them are
    whole numbers below 2**36 (features are below 2**8), which doubles hold exactly.
    """
    n, n_rows = table.shape[0], cells.shape[0]
    lines, sums = np.zeros((4, n)), np.zeros((n, n))
    for block in range(0, n_rows, 2**20):
        sums[:] = 0.0
        last = min(block + 2**20, n_rows)
        for first in range(block, last, 4):
            for k in range(4):
                if first + k < last:
                    _write_features(cells, first + k, features, starts, widths, values, longest, lines[k])
                else:
                    lines[k, :] = 0.0
            for a in range(n):
                one, two, three, four = lines[0, a], lines[1, a], lines[2, a], lines[3, a]
                for b in range(a, n):
                    sums[a, b] += (
                        one * lines[0, b] + two * lines[1, b] + three * lines[2, b] + four * lines[3, b]
                    )
        for a in range(n):
            for b in range(a, n):
                table[a, b] += np.int64(sums[a, b])


@kernel
def add_table(cells, table, scores):
    """Add ``table[feature, cell]`` of every feature to the scores of a row."""
    for i in range(cells.shape[0]):
        for feature in range(cells.shape[1]):
            cell = cells[i, feature]
            for k in range(scores.shape[1]):
                scores[i, k] += table[feature, cell, k]


@kernel
def step_sums(cells, table, g, h, reach, unit, lower, out):
    """Sum (g . d) and (h . d squared) over rows, d the row's step, each clipped to its public range.

    d is the sum of ``table[feature, cell]``, in units of `reach`. A row adds a whole number in [-unit, unit]
    to the first sum and one in [0, lower] to the second: clipped as integers, whatever d is.
    """
    n_classes = g.shape[1]
    step = np.empty(n_classes, np.int64)
    for i in range(cells.shape[0]):
        step[:] = 0
        for feature in range(cells.shape[1]):
            cell = cells[i, feature]
            for k in range(n_classes):
                step[k] += table[feature, cell, k]
        along, bend = 0.0, 0.0
        for k in range(n_classes):
            share = np.float64(step[k]) / reach
            along += np.float64(g[i, k]) * share
            bend += np.float64(h[i, k]) * share * share
        along = min(max(along / unit, -2.0), 2.0)
        bend = min(max(2.0 * bend / unit, 0.0), 2.0)
        out[0] += min(max(np.int64(along * unit), -unit), unit)
        out[1] += min(max(np.int64(bend * lower), 0), lower)


@kernel
def residual_counts(scores, target, borders, table):
    """Count rows by the number of borders that do not exceed the size of their residual."""
    for i in range(scores.shape[0]):
        left = abs(np.int64(scores[i, 0]) - target[i])
        table[np.searchsorted(borders, left, side="right")] += 1


@kernel
def code_columns(cells, codes, out):
    """Write the codes of features, one column after the other, into ``out[feature]``."""
    n_rows = cells.shape[0]
    for block in range(0, n_rows, BLOCK):
        for feature in range(cells.shape[1]):
            for i in range(block, min(block + BLOCK, n_rows)):
                out[feature, i] = codes[feature, cells[i, feature]]


@kernel
def column_sums(codes, node_of, g, table):
    """Add a row's gradient to ``table[column, node, code]`` for every column.

    The table of one column stays in the cache while the rows of a block stream by; flat indices that are not
    negative by their type are twice as fast as four of them.
    """
    n_rows, n_outputs = g.shape
    n_codes = np.uint32(table.shape[2])
    start, values = np.empty(BLOCK, np.uint32), np.empty(BLOCK, np.int64)
    for block in range(0, n_rows, BLOCK):
        size = min(BLOCK, n_rows - block)
        for i in range(size):
            start[i] = np.uint32(node_of[block + i]) * n_codes
            values[i] = g[block + i, 0]
        for column in range(codes.shape[0]):
            flat, code = table[column].reshape(-1), codes[column]
            if n_outputs == 1:
                for i in range(size):
                    flat[start[i] + code[block + i]] += values[i]
                continue
            for i in range(size):
                at = np.int64(start[i] + code[block + i]) * n_outputs
                for k in range(n_outputs):
                    flat[at + k] += g[block + i, k]


@kernel
def split_nodes(codes, column, lowest, highest, node_of):
    """Send rows whose code in their node's column lies between two bounds to the left child, others right."""
    flat, n_rows = codes.reshape(-1), codes.shape[1]
    for i in range(node_of.size):
        node = node_of[i]
        code = flat[column[node] * n_rows + i]
        node_of[i] = 2 * node + 1 - (lowest[node] <= code and code <= highest[node])


@kernel
def node_sums(node_of, g, h, table):
    """Add a row's gradient and half Hessian to ``table[node, 0]`` and ``table[node, 1]``."""
    for i in range(node_of.size):
        node = node_of[i]
        for k in range(g.shape[1]):
            table[node, 0, k] += g[i, k]
            table[node, 1, k] += h[i, k]


@kernel
def add_values(node_of, values, scores):
    """Add the value of its node to the scores of a row."""
    for i in range(node_of.size):
        for k in range(scores.shape[1]):
            scores[i, k] += values[node_of[i], k]
