"""Compiled scores of candidate splits. Integers in, exact integers out.

Tables hold at most `MAX_ROWS` = 2**40 rows; `dpforest._rows.limits` lists the largest value of every step.
Numbers are int64 and indices are not checked. All of them are public, none is a private count: features,
boxes and subsets come from `Candidates`, whose arrays have the shapes that the loops below run over.
"""

from __future__ import annotations

import math

import numpy as np

from dpforest._jit import inlined, kernel, part

# Up to so many rows the plain formulas fit: GINI_UNIT n**2 = 2**62, and a**2 < 2**62.
FEW = 2**26
FEW_SQUARED = 2**31
NO_CENTRE = 0  # in place of the range of a centred score, which is positive


@part
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


@part
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


@part
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


@part
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


@inlined
def _rescaled(score, unit, span):
    """Floor of score unit / span, for unit <= 2**13; a product that might not fit is divided by parts.

    span <= 2**17 (twice the levels of a target), so the remainder times the unit is at most 2**30.
    """
    if score < 2**49:
        return score * unit // span
    whole = score // span
    return whole * unit + (score - whole * span) * unit // span


@part
def _centred(counts, centre):
    """Distance between the classes of a child and the shares that its node leads to expect."""
    n, unit, score = 0, 0, 0
    for k in range(counts.shape[0]):
        n += counts[k]
        unit += centre[k]
    for k in range(counts.shape[0]):
        score += abs(unit * counts[k] - centre[k] * n)
    return score


@part
def _summed(n, summed):
    """Return S(n) from its table, which goes on beyond its end by equal steps."""
    last = summed.shape[0] - 1
    if n <= last:
        return summed[n]
    return summed[last] + (n - last) * (summed[last] - summed[last - 1])


@part
def _information(counts, summed):
    """Minus n times the entropy of one child: S(n_k) of every class minus S(n)."""
    score, n = 0, 0
    for k in range(counts.shape[0]):
        n += counts[k]
        score += _summed(counts[k], summed)
    return score - _summed(n, summed)


@part
def _most_common(counts, wanted):
    """Rows of the `wanted` most common classes of one child; those that are counted are marked by -1."""
    rows = np.int64(0)
    for _ in range(wanted):
        best, at = np.int64(-1), -1
        for k in range(counts.shape[0]):
            if counts[k] > best:
                best, at = counts[k], k
        if at < 0:  # there are no more classes
            break
        rows += best
        counts[at] = -1
    return rows


# --- scores of one cut ---------------------------------------------------------------------------------
#
# Every utility is a sum over the two children. `left` and `right` hold their statistics: rows by class, or
# rows, sum of targets and sum of squares; they are scratch. What `unit`, `centre` and `span` mean is said at
# each.


@inlined
def _cut_by_gini(left, right, unit, centre, span):
    """Add both children in whole units of 1 / `unit`."""
    return -_gini(left, unit) - _gini(right, unit)


@inlined
def _cut_by_squared_error(left, right, unit, centre, span):
    """Both children in whole multiples of `unit`: a child's error is at least 0, so // rounds it down."""
    of_left = _squared_error(left[0], left[1], left[2]) // unit
    return -of_left - _squared_error(right[0], right[1], right[2]) // unit


@inlined
def _cut_by_classes(left, right, unit, centre, span):
    """Compare the children with a centre, or count the rows of their most common classes.

    `centre` holds the node's class shares, `span` the range W before it becomes `unit`. Without a centre
    (`span` is NO_CENTRE) it is the max-operator, and `unit` the number of classes that count. Two scores in
    one kernel, because the default forest needs both and its first fit would wait for two.
    """
    if span == NO_CENTRE:
        return _most_common(left, unit) + _most_common(right, unit)
    return _rescaled(_centred(left, centre) + _centred(right, centre), unit, span)


@inlined
def _cut_centred_target(left, right, unit, centre, span):
    """``centre[0]`` is the node's mean target, `span` the range W before it becomes `unit`."""
    distance = abs(left[1] - centre[0] * left[0]) + abs(right[1] - centre[0] * right[0])
    return _rescaled(distance, unit, span)


@inlined
def _cut_by_information(left, right, unit, centre, span):
    """`centre` is the table of S."""
    return _information(left, centre) + _information(right, centre)


# --- scores of all cuts --------------------------------------------------------------------------------


@inlined
def _scan(score_of, steps, totals, first, last, unit, centres, spans, seen, left, right, out):
    """Score cuts ``first[i]`` to ``last[i] - 1`` of every line i, a feature asked about in a node.

    ``steps[i, cut]`` is what lies left of a cut and not left of the one before: a cell, or the difference of
    two sets. `totals` has the statistics of every node; `seen`, `left` and `right` are scratch. Nodes have
    equally many lines and a centre each, or one centre serves them all.
    """
    lines_of_node, lines_of_centre = len(steps) // len(totals), len(steps) // len(centres)
    for line in range(len(steps)):
        total = totals[line // lines_of_node]
        centre, span = centres[line // lines_of_centre], spans[line // lines_of_centre]
        for k in range(total.size):
            seen[k] = 0
        score, moved = np.int64(0), True
        for cut in range(last[line]):
            for k in range(total.size):
                step = np.int64(steps[line, cut, k])
                seen[k] += step
                moved = moved or step != 0
            if moved and cut >= first[line]:  # in deep nodes most cells are empty: the score stays as it was
                for k in range(total.size):
                    left[k], right[k] = seen[k], total[k] - seen[k]
                score, moved = score_of(left, right, unit, centre, span), False
            if cut >= first[line]:
                out[line, cut] = score


@kernel
def gini_scores(steps, totals, first, last, unit, centres, spans, seen, left, right, out):
    _scan(_cut_by_gini, steps, totals, first, last, unit, centres, spans, seen, left, right, out)


@kernel
def squared_error_scores(steps, totals, first, last, unit, centres, spans, seen, left, right, out):
    _scan(_cut_by_squared_error, steps, totals, first, last, unit, centres, spans, seen, left, right, out)


@kernel
def class_scores(steps, totals, first, last, unit, centres, spans, seen, left, right, out):
    _scan(_cut_by_classes, steps, totals, first, last, unit, centres, spans, seen, left, right, out)


@kernel
def two_class_scores(steps, totals, first, last, unit, centres, spans, seen, left, right, out):
    """Do as `class_scores`, for two classes; four times as fast, because nothing goes through memory.

    The shares of a centre c add up to u, so |u n_0 - c_0 n| = |c_1 n_0 - c_0 n_1| = |u n_1 - c_1 n|.
    """
    lines_of_node, lines_of_centre = len(steps) // len(totals), len(steps) // len(centres)
    for line in range(len(steps)):
        node, at, span = line // lines_of_node, line // lines_of_centre, spans[line // lines_of_centre]
        of_first, of_second = np.int64(0), np.int64(0)
        for cut in range(last[line]):
            of_first += steps[line, cut, 0]
            of_second += steps[line, cut, 1]
            if cut < first[line]:
                continue
            rest, other_rest = totals[node, 0] - of_first, totals[node, 1] - of_second
            if span != NO_CENTRE:
                lefts = abs(centres[at, 1] * of_first - centres[at, 0] * of_second)
                rights = abs(centres[at, 1] * rest - centres[at, 0] * other_rest)
                out[line, cut] = _rescaled(2 * (lefts + rights), unit, span)
            elif unit == 1:
                out[line, cut] = max(of_first, of_second) + max(rest, other_rest)
            else:
                out[line, cut] = totals[node, 0] + totals[node, 1]


@kernel
def centred_target_scores(steps, totals, first, last, unit, centres, spans, seen, left, right, out):
    _scan(_cut_centred_target, steps, totals, first, last, unit, centres, spans, seen, left, right, out)


@kernel
def information_gain_scores(steps, totals, first, last, unit, centres, spans, seen, left, right, out):
    _scan(_cut_by_information, steps, totals, first, last, unit, centres, spans, seen, left, right, out)


@part
def _priority(code, number):
    """Public place in the queue of the rows of one cell (Steele et al. 2014, splitmix).

    No two are equal: code < 2**16 and number < 2**48 give different words, and every step can be undone.
    """
    x = (np.uint64(code) << np.uint64(48)) + np.uint64(number) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@part
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


@kernel
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


@part
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


# --- two levels together -------------------------------------------------------------------------------
#
# ``table[g, h]`` holds the rows by class of groups g and h of two columns, for g <= h; ``alone[g]`` those of
# one group. Cut c differs from the one before in its column by the groups ``moved[begin[c]:begin[c + 1]]``,
# which it has on its left (sign 1) or has no longer (-1); the first cut of a column begins with none. Cuts
# ``first[slot]`` to ``first[slot + 1] - 1`` belong to a column. `seen` collects the rows left of cut a by
# group.


@inlined
def _see(table, g, sign, seen):
    """Add the rows of one group to those seen, or take them away."""
    group = np.uint64(g)
    for h in range(g):
        other = np.uint64(h)
        for k in range(seen.shape[1]):
            seen[other, np.uint64(k)] += sign * table[other, group, np.uint64(k)]
    for h in range(g, seen.shape[0]):
        other = np.uint64(h)
        for k in range(seen.shape[1]):
            seen[other, np.uint64(k)] += sign * table[group, other, np.uint64(k)]


@kernel
def two_class_pair_scores(table, alone, begin, moved, sign, first, wanted, seen, scratch, out):
    """Score all cuts of both children of every cut of a node, for two classes; see `pair_scores`."""
    n_slots = first.shape[0] - 1
    total0, total1 = scratch[0, 0], scratch[0, 1]
    for slot in range(n_slots):
        for h in range(seen.shape[0]):
            seen[h, 0] = seen[h, 1] = 0
        here0, here1 = np.int64(0), np.int64(0)
        for a in range(first[slot], first[slot + 1]):
            for e in range(begin[a], begin[a + 1]):
                g = moved[e]
                _see(table, g, sign[e], seen)
                here0 += sign[e] * alone[g, 0]
                here1 += sign[e] * alone[g, 1]
            there0, there1 = total0 - here0, total1 - here1
            for other in range(n_slots):
                left0, left1, right0, right1 = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
                for c in range(first[other], first[other + 1]):
                    for e in range(begin[c], begin[c + 1]):
                        h, up = np.uint64(moved[e]), sign[e]
                        left0 += up * seen[h, 0]
                        left1 += up * seen[h, 1]
                        right0 += up * (alone[h, 0] - seen[h, 0])
                        right1 += up * (alone[h, 1] - seen[h, 1])
                    if wanted > 1:  # all rows of a leaf count
                        out[0, a, c], out[1, a, c] = here0 + here1, there0 + there1
                    else:
                        out[0, a, c] = max(left0, left1) + max(here0 - left0, here1 - left1)
                        out[1, a, c] = max(right0, right1) + max(there0 - right0, there1 - right1)


@inlined
def _of_leaves(left, both, wanted, one, other):
    """Rows of the `wanted` most common classes of one leaf and of the other, which has the rest of both."""
    if wanted == 1:  # most levels: no need to copy and mark
        most, most_of_rest = np.int64(0), np.int64(0)
        for k in range(left.shape[0]):
            most = max(most, left[k])
            most_of_rest = max(most_of_rest, both[k] - left[k])
        return most + most_of_rest
    for k in range(left.shape[0]):
        one[k], other[k] = left[k], both[k] - left[k]
    return _most_common(one, wanted) + _most_common(other, wanted)


@kernel
def pair_scores(table, alone, begin, moved, sign, first, wanted, seen, scratch, out):
    """Score all cuts of both children of every cut of a node.

    ``out[0, a, c]`` is what the max-operator says of the left child of cut a if it is cut at c, and
    ``out[1, a, c]`` of the right one; `wanted` classes of a leaf count. ``scratch[0]`` has the rows of the
    node by class; the rest of it and `seen` are scratch.
    """
    n_classes, n_slots = seen.shape[1], first.shape[0] - 1
    total, here, there, left, right = scratch[0], scratch[1], scratch[2], scratch[3], scratch[4]
    for slot in range(n_slots):
        for h in range(seen.shape[0]):
            for k in range(n_classes):
                seen[h, k] = 0
        for k in range(n_classes):
            here[k] = 0
        for a in range(first[slot], first[slot + 1]):
            for e in range(begin[a], begin[a + 1]):
                g = moved[e]
                _see(table, g, sign[e], seen)
                for k in range(n_classes):
                    here[k] += sign[e] * alone[g, k]
            for k in range(n_classes):
                there[k] = total[k] - here[k]
            for other in range(n_slots):
                for k in range(n_classes):
                    left[k] = right[k] = 0
                for c in range(first[other], first[other + 1]):
                    for e in range(begin[c], begin[c + 1]):
                        h, up = np.uint64(moved[e]), sign[e]
                        for k in range(n_classes):
                            left[k] += up * seen[h, k]
                            right[k] += up * (alone[h, k] - seen[h, k])
                    out[0, a, c] = _of_leaves(left, here, wanted, scratch[5], scratch[6])
                    out[1, a, c] = _of_leaves(right, there, wanted, scratch[5], scratch[6])


@inlined
def _soft_leaves(left, both, powers, per_log, fine):
    """Rows of the most common class of a leaf and of the other, which has the rest, softly: see `named`."""
    last = powers.shape[0] - 1
    most, most_of_rest = left[0], both[0] - left[0]
    for k in range(1, left.shape[0]):
        most = max(most, left[k])
        most_of_rest = max(most_of_rest, both[k] - left[k])
    of_leaf, of_rest = 0.0, 0.0
    for k in range(left.shape[0]):
        of_leaf += powers[min(most - left[k], last)]
        of_rest += powers[min(most_of_rest - (both[k] - left[k]), last)]
    return fine * (most + most_of_rest) + np.int64(math.floor(per_log * math.log(of_leaf * of_rest)))


@kernel
def soft_pair_scores(table, alone, begin, moved, sign, first, powers, per_log, fine, seen, scratch, out):
    """Score as `pair_scores` does, each leaf by the logarithm of a sum over its classes.

    In units of 1 / `fine`, `per_log` of them for 1; `powers` are those of the rate (`mechanisms.named`).
    """
    n_classes, n_slots = seen.shape[1], first.shape[0] - 1
    total, here, there, left, right = scratch[0], scratch[1], scratch[2], scratch[3], scratch[4]
    for slot in range(n_slots):
        for h in range(seen.shape[0]):
            for k in range(n_classes):
                seen[h, k] = 0
        for k in range(n_classes):
            here[k] = 0
        for a in range(first[slot], first[slot + 1]):
            for e in range(begin[a], begin[a + 1]):
                g = moved[e]
                _see(table, g, sign[e], seen)
                for k in range(n_classes):
                    here[k] += sign[e] * alone[g, k]
            for k in range(n_classes):
                there[k] = total[k] - here[k]
            for other in range(n_slots):
                for k in range(n_classes):
                    left[k] = right[k] = 0
                for c in range(first[other], first[other + 1]):
                    for e in range(begin[c], begin[c + 1]):
                        h, up = np.uint64(moved[e]), sign[e]
                        for k in range(n_classes):
                            left[k] += up * seen[h, k]
                            right[k] += up * (alone[h, k] - seen[h, k])
                    out[0, a, c] = _soft_leaves(left, here, powers, per_log, fine)
                    out[1, a, c] = _soft_leaves(right, there, powers, per_log, fine)
