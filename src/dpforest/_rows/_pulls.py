"""Compiled passes for fitted scores: how hard each row pulls at the scores, and sums of that.

A pull is the derivative of a row's loss by its scores. It is worked out in doubles, by single operations of
IEEE 754 only (no library's exp, no fast math), so that its error has a bound (`pulls.pull_error`), and then
added up in whole numbers, so that sums do not depend on blocks, threads or places.

Scores are sums of whole numbers ``table[feature, cell]``, exact. A pull is rounded to a multiple of 2**-50
and added in two halves, its upper bits and its lowest 24, because all of it over 2**30 rows would leave 64
bits: the halves of a pull of at most 1 stay below 2**26 and 2**24 in size, their sums below 2**56.
"""

from __future__ import annotations

import numpy as np

from dpforest._jit import inlined, kernel, part

LOWER_BITS = 24
LOWER = 2**LOWER_BITS - 1
STEPS = 64  # of the table of powers, per unit


@part
def _power(x, powers):
    """exp(-x) for x >= 0: the power of the next step below, times the series of the rest r < 1 / 64.

    The series is cut after r**6, which leaves less than r**7 / 5040 < 2**-54; the subtraction that gives r is
    exact. Beyond the table the power is below exp(-45) < 2**-64 and taken for 0.
    """
    step = np.int64(x * STEPS)
    if step >= powers.size:
        return 0.0
    r = x - step / STEPS
    series = 1.0 - r * (1.0 - r / 2 * (1.0 - r / 3 * (1.0 - r / 4 * (1.0 - r / 5 * (1.0 - r / 6)))))
    return powers[step] * series


@inlined
def _add(cells, i, pull, output, upper, lower):
    """Add a row's pull to the cells of all its features."""
    whole = np.int64(np.rint(pull * 2.0**50))
    high, low = whole >> LOWER_BITS, whole & LOWER
    for feature in range(upper.shape[0]):
        cell = cells[i, feature]
        upper[feature, cell, output] += high
        lower[feature, cell, output] += low


@kernel
def two_classes(cells, target, table, unit, powers, out):
    """Add pulls at the score s of the second class: (share of it) - y, held between -1/2 and 1/2."""
    for i in range(cells.shape[0]):
        if target[i] < 0:
            continue
        score = np.int64(0)
        for feature in range(table.shape[0]):
            score += table[feature, cells[i, feature], 0]
        ahead = score if target[i] == 1 else -score
        size = 0.5
        if ahead > 0:
            power = _power(ahead * unit, powers)
            size = power / (1.0 + power)
        _add(cells, i, -size if target[i] == 1 else size, 0, out[0], out[1])


@kernel
def several_classes(cells, target, table, unit, powers, most, score, power, out):
    """Add pulls at the scores of all classes: p - e_y, scaled to hold that at the own class within `most`.

    p is the softmax of the scores and e_y the corner of the row's class. `score` and `power` are scratch.
    """
    n_classes = table.shape[2]
    for i in range(cells.shape[0]):
        own = target[i]
        if own < 0:
            continue
        score[:] = 0
        for feature in range(table.shape[0]):
            cell = cells[i, feature]
            for k in range(n_classes):
                score[k] += table[feature, cell, k]
        highest = score[0]
        for k in range(1, n_classes):
            highest = max(highest, score[k])
        others = 0.0
        for k in range(n_classes):
            power[k] = _power((highest - score[k]) * unit, powers)
            if k != own:
                others += power[k]
        size = min(others / (others + power[own]), most)
        for k in range(n_classes):
            pull = -size if k == own else (power[k] / others * size if others > 0.0 else 0.0)
            _add(cells, i, pull, k, out[0], out[1])


@kernel
def numbers(cells, target, table, unit, zero, per_level, farthest, out):
    """Add pulls at the score s of a number: s - (y - zero) per_level, held between -1 and 1."""
    for i in range(cells.shape[0]):
        if target[i] < 0:
            continue
        score = np.int64(0)
        for feature in range(table.shape[0]):
            score += table[feature, cells[i, feature], 0]
        wanted = min(max((target[i] - zero) * per_level, -farthest), farthest)
        pull = score * unit - wanted
        _add(cells, i, min(max(pull, -1.0), 1.0), 0, out[0], out[1])


@kernel
def products(cells, weight, features, starts, widths, values, at, size, out):
    """Add weight times the products of any two coordinates of every row, below the diagonal of `out`.

    `at` and `size` are scratch for the coordinates of a row that are not 0.
    """
    for i in range(cells.shape[0]):
        n, first = 0, 0
        for block in range(features.size):
            line = starts[block] + np.int64(cells[i, features[block]]) * widths[block]
            for place in range(widths[block]):
                if values[line + place] != 0:
                    at[n], size[n] = first + place, values[line + place]
                    n += 1
            first += widths[block]
        for one in range(n):
            of_one = weight[i] * size[one]
            for other in range(one + 1):
                out[at[one], at[other]] += of_one * size[other]
