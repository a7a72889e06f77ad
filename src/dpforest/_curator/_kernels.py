"""Compiled scores of candidate splits. Integers in, exact integers out.

Tables hold at most `MAX_ROWS` = 2**40 rows; `dpforest._rows.limits` lists the largest value of every step.
Numbers are int64 and indices are not checked. All of them are public, none is a private count: features,
boxes and subsets come from `Candidates`, whose arrays have the shapes that the loops below run over.
"""

from __future__ import annotations

import numpy as np
from numba import njit

# Total base weight of one feature; every cut of it gets an equal whole-number part.
FEATURE_WEIGHT = 2**20

# Up to so many rows the plain formulas fit: GINI_UNIT n**2 = 2**62, and a**2 < 2**62.
FEW = 2**26
FEW_SQUARED = 2**31

# Kinds of score: the values of `Utility`, as numbers that compiled code can compare.
MAX_OPERATOR, GINI, SQUARED_ERROR, CENTRED, CENTRED_TARGET = range(1, 6)


@njit(cache=True, nogil=True, error_model="numpy")
def base_measure(features, low, high, members, set_first, set_count, left_sets, width, base):
    """Weigh the cuts that leave a public cell on both sides; 0 for all others."""
    for row in range(features.shape[0]):
        for slot in range(features.shape[1]):
            feature = features[row, slot]
            start = slot * width
            if set_first[feature] < 0:
                cuts = high[row, slot] - low[row, slot]
                for cut in range(low[row, slot], high[row, slot]):
                    base[row, start + cut] = max(1, FEATURE_WEIGHT // cuts)
                continue
            proper = 0
            for cut in range(set_count[feature]):
                inside, outside = False, False
                for cell in range(left_sets.shape[1]):
                    if members[row, slot, cell]:
                        if left_sets[set_first[feature] + cut, cell]:
                            inside = True
                        else:
                            outside = True
                if inside and outside:
                    base[row, start + cut] = 1
                    proper += 1
            for cut in range(set_count[feature]):
                if base[row, start + cut] > 0:
                    base[row, start + cut] = max(1, FEATURE_WEIGHT // proper)


@njit(error_model="numpy")
def _square_over(a, n):
    """Quotient and remainder of a**2 / n, for 0 <= a <= n <= 2**40.

    a**2 may need 80 bits. With a = high 2**20 + low it is divided like on paper, digit by digit of 20 bits: a
    high < 2**60 first, then the rest, at most n 2**20 <= 2**60, and a low < 2**60 together.
    """
    if a < FEW_SQUARED:
        whole = a * a // n
        return whole, a * a - whole * n
    first = a * (a >> 20)
    high = first // n
    second = ((first - high * n) << 20) + a * (a & 0xFFFFF)
    low = second // n
    return (high << 20) + low, second - low * n


@njit(error_model="numpy")
def _squared_error(n, total, squares):
    """Floor of squares - total**2 / n; total = k n + r turns total**2 / n into k total + k r + r**2 / n.

    With L levels k <= L, total <= n L and squares <= n L**2; k total is at most total**2 / n, which is at
    most `squares` (Cauchy and Schwarz), and k r <= L n. So with n L**2 <= 2**62 nothing leaves 64 bits.
    """
    if n == 0:
        return 0
    k = total // n
    r = total - k * n
    whole, rest = _square_over(r, n)
    return squares - k * total - k * r - whole - (rest > 0)


@njit(error_model="numpy")
def _gini_of_many(counts, n, unit):
    """Floor of unit (n - sum of n_k**2 / n), each square divided by itself.

    The quotients sum to at most n, the remainders to less than K n <= 2**56; divided by n they leave a
    remainder below n, and unit times that is below 2**50.
    """
    whole, rest = 0, 0
    for k in range(counts.shape[0]):
        of_class, remainder = _square_over(counts[k], n)
        whole += of_class
        rest += remainder
    whole += rest // n
    return unit * (n - whole) - (unit * (rest % n) + n - 1) // n


@njit(error_model="numpy")
def _gini(counts, unit):
    """N Gini of one child, n - sum of n_k**2 / n, in whole units of 1 / unit, rounded down."""
    n, squares = 0, 0
    for k in range(counts.shape[0]):
        n += counts[k]
        squares += counts[k] * counts[k]
    if n == 0:
        return 0
    if n > FEW:
        return _gini_of_many(counts, n, unit)  # `squares` may have overflowed: not used
    return unit * (n * n - squares) // n


@njit(error_model="numpy")
def _rescaled(score, unit, span):
    """Floor of score unit / span, for unit <= 2**13; a product that might not fit is divided by parts.

    span <= 2**17 (twice the levels of a target), so the remainder times the unit is at most 2**30.
    """
    if score < 2**49:
        return score * unit // span
    whole = score // span
    return whole * unit + (score - whole * span) * unit // span


@njit(error_model="numpy")
def _centred(counts, centre):
    """Distance between the classes of a child and the shares that its node leads to expect."""
    n, unit, score = 0, 0, 0
    for k in range(counts.shape[0]):
        n += counts[k]
        unit += centre[k]
    for k in range(counts.shape[0]):
        score += abs(unit * counts[k] - centre[k] * n)
    return score


@njit(error_model="numpy")
def _summed(n, summed):
    """Return S(n) from its table, which goes on beyond its end by equal steps."""
    last = summed.shape[0] - 1
    if n <= last:
        return summed[n]
    return summed[last] + (n - last) * (summed[last] - summed[last - 1])


@njit(error_model="numpy")
def _information(counts, summed):
    """Minus n times the entropy of one child: S(n_k) of every class minus S(n)."""
    score, n = 0, 0
    for k in range(counts.shape[0]):
        n += counts[k]
        score += _summed(counts[k], summed)
    return score - _summed(n, summed)


@njit(error_model="numpy")
def _most_common(counts, wanted):
    """Rows of the `wanted` most common classes of one child: the largest count, the next one, and so on."""
    rows, last, at = 0, -1, -1
    for place in range(wanted):
        best, found = -1, -1
        for k in range(counts.shape[0]):
            is_next = place == 0 or counts[k] < last or (counts[k] == last and k > at)
            if is_next and counts[k] > best:
                best, found = counts[k], k
        if found < 0:  # there are no more classes
            break
        rows += best
        last, at = best, found
    return rows


@njit(error_model="numpy")
def _score_of_child(child, kind, unit, centre):
    """Score one side of a cut; for numbers the statistics are rows, sum, sum of squares."""
    if kind == MAX_OPERATOR:  # the unit is the number of classes that count
        return _most_common(child, unit)
    if kind == GINI:
        return -_gini(child, unit)
    if kind == SQUARED_ERROR:
        return -(_squared_error(child[0], child[1], child[2]) // unit)
    if kind == CENTRED:
        return _centred(child, centre)
    if kind == CENTRED_TARGET:  # the centre is the node's mean
        return abs(child[1] - centre[0] * child[0])
    return _information(child, centre)  # the centre is the table of S


@njit(error_model="numpy")
def _score(children, kind, unit, rescaled, centre, span):
    """Score of one cut: every utility is a sum over the two children, and centred ones are then rescaled."""
    score = 0
    for side in range(2):
        score += _score_of_child(children[side], kind, unit, centre)
    return _rescaled(score, rescaled, span) if kind in (CENTRED, CENTRED_TARGET) else score


@njit(cache=True, nogil=True, error_model="numpy")
def scores(
    table,
    features,
    low,
    high,
    set_first,
    set_count,
    left_sets,
    width,
    kind,
    unit,
    rescaled,
    centres,
    spans,
    out,
):
    """Scores of all cuts from the statistics by (row, slot, cell, statistic)."""
    n_cells, n_statistics = table.shape[2], table.shape[3]
    children = np.zeros((2, n_statistics), np.int64)
    left, right = children[0], children[1]
    for row in range(features.shape[0]):
        centre, span = centres[row % centres.shape[0]], spans[row % spans.shape[0]]
        for slot in range(features.shape[1]):
            feature, cells = features[row, slot], table[row, slot]
            _all_to_the_right(cells, left, right)
            if set_first[feature] >= 0:
                for cut in range(set_count[feature]):
                    if cut > 0:
                        _all_to_the_right(cells, left, right)
                    for cell in range(min(n_cells, left_sets.shape[1])):
                        if left_sets[set_first[feature] + cut, cell]:
                            _move_left(cells, cell, left, right)
                    out[row, slot * width + cut] = _score(children, kind, unit, rescaled, centre, span)
                continue
            score = _score(children, kind, unit, rescaled, centre, span)
            for cut in range(low[row, slot], high[row, slot]):
                if _move_left(cells, cut, left, right):  # in deep nodes most cells are empty
                    score = _score(children, kind, unit, rescaled, centre, span)
                out[row, slot * width + cut] = score


@njit(error_model="numpy")
def _move_left(cells, cell, left, right):
    """Move the rows of one cell from the right child to the left; tell whether there were any."""
    moved = False
    for k in range(cells.shape[1]):
        if cells[cell, k] != 0:
            moved = True
            left[k] += cells[cell, k]
            right[k] -= cells[cell, k]
    return moved


@njit(error_model="numpy")
def _all_to_the_right(cells, left, right):
    left[:] = 0
    right[:] = 0
    for cell in range(cells.shape[0]):
        for k in range(cells.shape[1]):
            right[k] += cells[cell, k]


@njit(error_model="numpy")
def _priority(code, number):
    """Public place in the queue of the rows of one cell (Steele et al. 2014, splitmix).

    No two are equal: code < 2**16 and number < 2**48 give different words, and every step can be undone.
    """
    x = (np.uint64(code) << np.uint64(48)) + np.uint64(number) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit(error_model="numpy")
def _first_of_cell(counts, wanted, taken):
    """Put the codes of the first `wanted` rows of one cell into `taken`, in the order of their priorities."""
    n = 0
    for code in range(counts.size):
        n += counts[code]
    places = np.empty(n, np.uint64)
    at = 0
    for code in range(counts.size):
        for number in range(counts[code]):
            places[at] = _priority(code, number)
            at += 1
    last = np.partition(places, wanted - 1)[wanted - 1]
    at = 0
    for code in range(counts.size):
        taken[code] = 0
        for _ in range(counts[code]):
            taken[code] += places[at] <= last
            at += 1


@njit(cache=True, nogil=True, error_model="numpy")
def median_scores(table, is_class, unit, out):
    """Impurity of the first and second half of the rows, ordered by cell and then by priority."""
    n_cells, n_codes = table.shape[2], table.shape[3]
    left, right = np.zeros(n_codes, np.int64), np.zeros(n_codes, np.int64)
    taken = np.zeros(n_codes, np.int64)
    for row in range(table.shape[0]):
        for slot in range(table.shape[1]):
            right[:] = 0
            left[:] = 0
            n = 0
            for cell in range(n_cells):
                for code in range(n_codes):
                    right[code] += table[row, slot, cell, code]
                    n += table[row, slot, cell, code]
            wanted = n // 2
            for cell in range(n_cells):
                if wanted == 0:
                    break
                counts = table[row, slot, cell]
                in_cell = 0
                for code in range(n_codes):
                    in_cell += counts[code]
                if in_cell <= wanted:
                    taken[:] = counts
                    wanted -= in_cell
                else:
                    _first_of_cell(counts, wanted, taken)
                    wanted = 0
                for code in range(n_codes):
                    left[code] += taken[code]
                    right[code] -= taken[code]
            out[row, slot] = -_impurity(left, is_class, unit) - _impurity(right, is_class, unit)


@njit(error_model="numpy")
def _impurity(counts, is_class, unit):
    """N Gini, or the squared error of codes below COARSE_LEVELS: squares stay below 2**10 MAX_ROWS."""
    if is_class:
        return _gini(counts, unit)
    n, total, squares = 0, 0, 0
    for code in range(counts.shape[0]):
        n += counts[code]
        total += code * counts[code]
        squares += code * code * counts[code]
    return _squared_error(n, total, squares)
