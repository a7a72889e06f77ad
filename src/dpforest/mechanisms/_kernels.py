"""Compiled samplers, the innermost part of the room. Importing it imports numba, so callers do it late.

Everything but `inverse_cdf` is integer arithmetic only. The samplers read words at `pos` and return the new
position. Behind the end of the tape words read as zero while the position goes on, so `pos > words.size` says
"the tape is too short, the value is void"; every loop stops then, and the outer kernels hand the unfinished
item back to RandomWords.run.

From the bottom up: next_word -> uniform_below -> bernoulli_exp -> laplace_noise -> the outer kernels
add_laplace, add_gaussian, permute_and_flip. Exact Bernoulli(exp(-x)), discrete Laplace and discrete Gaussian
follow Canonne, Kamath and Steinke (2020), algorithms 1 to 3.

Integers that take part in products are uint64 throughout: numba turns uint64 + int64 into float64.
"""

from __future__ import annotations

import math

import numpy as np

from dpforest._arrays import FloatArray, IntArray, WordArray
from dpforest._jit import inlined, kernel, part

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_SIXTEEN = np.uint64(16)
_LOW_16_BITS = np.uint64(0xFFFF)
_LARGEST_PRODUCT = np.uint64(2**62)
_LARGEST_NOISE = np.uint64(2**63 - 1)
_FEW_TURNS = np.uint64(2**12)
LARGEST_RELEASED = np.int64(2**62)

# Results of inverse_cdf that are not an index.
NO_CANDIDATE = -1
UNDECIDED = -2


@inlined
def next_word(words: WordArray, pos: int) -> tuple[np.uint64, int]:
    """Return the word at pos, zero behind the end."""
    if pos < words.size:
        return words[pos], pos + 1
    return _ZERO, pos + 1


@part
def uniform_below(words: WordArray, pos: int, m: np.uint64) -> tuple[np.uint64, int]:
    """Uniform in 0..m-1. The lowest 2**64 mod m words are rejected; the others are whole rounds of 0..m-1."""
    while True:
        word, pos = next_word(words, pos)
        # 2**64 mod m is below m, so the division for it is needed only when word < m.
        if word >= m or word >= (_ZERO - m) % m or pos > words.size:
            return word % m, pos


@inlined
def bernoulli_exp_minus_one(words: WordArray, pos: int) -> tuple[bool, int]:
    """Bernoulli(exp(-1)): the first k >= 2 whose Bernoulli(1/k) fails is odd with chance 1/2! - 1/3! + ..."""
    k = _ONE
    while pos <= words.size:
        k += _ONE
        draw, pos = uniform_below(words, pos, k)
        if draw != _ZERO:
            break
    return (k & _ONE) == _ONE, pos


@inlined
def bernoulli_exp_fraction(words: WordArray, pos: int, top: np.uint64, bottom: np.uint64) -> tuple[bool, int]:
    """Bernoulli(exp(-top/bottom)) for top <= bottom: as above with Bernoulli(top / (bottom k)), k >= 1.

    That trial is Bernoulli(1/k) and Bernoulli(top/bottom): no product that could overflow as k grows.
    """
    k = _ONE
    while top > _ZERO and pos <= words.size:
        if k > _ONE:
            draw, pos = uniform_below(words, pos, k)
            if draw != _ZERO:
                break
        draw, pos = uniform_below(words, pos, bottom)
        if draw >= top:
            break
        k += _ONE
    return (k & _ONE) == _ONE, pos


@part
def bernoulli_exp(
    words: WordArray, pos: int, a: np.uint64, b: np.uint64, bottom: np.uint64
) -> tuple[bool, int]:
    """Bernoulli(exp(-a b / bottom)) for any a < 2**64 and b, bottom <= 2**62.

    a b may need 126 bits. exp(-(a1 + a2) b / bottom) is a product, so a is cut into parts whose product with
    b fits in 62 bits and one Bernoulli after the other must succeed. That does not make it slow: with the
    bottoms in use (<= 2**51) a full part is an exponent of at least 2**10 and fails at once.
    """
    if b == _ZERO:
        return True, pos
    step = _LARGEST_PRODUCT // b
    while a > _ZERO and pos <= words.size:
        part = min(a, step)
        a -= part
        whole = part * b // bottom
        rest = part * b - whole * bottom
        success = True
        while success and whole > _ZERO and pos <= words.size:
            success, pos = bernoulli_exp_minus_one(words, pos)
            whole -= _ONE
        if success:
            success, pos = bernoulli_exp_fraction(words, pos, rest, bottom)
        if not success:
            return False, pos
    return True, pos


@inlined
def _noise_size(turns: np.uint64, low: np.uint64, num: np.uint64, den: np.uint64) -> np.int64:
    """Return (turns * den + low) // num, or 2**63 - 1 where that is more; num < 2**30, low < den <= 2**50.

    den is divided first. Up to 2**12 turns, which have probability exp(-1) each, the products are at most
    2**62. For more, what turns * (den % num) adds is divided by parts (turns = a num + b), at most `turns`.
    """
    each, over = den // num, den % num
    if turns <= _FEW_TURNS:
        return np.int64(turns * each + (turns * over + low) // num)
    added = turns // num * over + (turns % num * over + low) // num
    if each > _ZERO and turns > (_LARGEST_NOISE - added) // each:
        return np.int64(_LARGEST_NOISE)
    return np.int64(turns * each + added)


@inlined
def laplace_noise(words: WordArray, pos: int, num: np.uint64, den: np.uint64) -> tuple[np.int64, int]:
    """Noise with pmf proportional to exp(-|k| num/den).

    turns * den + low has a geometric distribution with ratio exp(-1/den): low is accepted with exp(-low/den),
    each further turn has probability exp(-1). Division by num gives ratio exp(-num/den). The sign comes with
    low; minus zero is rejected, otherwise zero would count twice.
    """
    while pos <= words.size:
        draw, pos = uniform_below(words, pos, den + den)
        low = draw >> _ONE
        negative = (draw & _ONE) == _ONE
        accepted, pos = bernoulli_exp_fraction(words, pos, low, den)
        if accepted:
            turns = _ZERO
            while True:
                again, pos = bernoulli_exp_minus_one(words, pos)
                if not again or pos > words.size:
                    break
                turns += _ONE
            size = _noise_size(turns, low, num, den)
            if not negative:
                return size, pos
            if size > 0:
                return -size, pos
    return np.int64(0), pos


@inlined
def _held_sum(value: np.int64, noise: np.int64) -> np.int64:
    """Return value + noise, both held between -2**62 and 2**62, for any value and abs(noise) < 2**63.

    Holding the value brings neighbours no further apart, and holding the sum is post-processing: both cost no
    privacy. Noise of 2**63 - 1 may stand for more, but every value then gives 2**62.
    """
    held = min(max(value, -LARGEST_RELEASED + 1), LARGEST_RELEASED - 1)
    if noise > LARGEST_RELEASED - held:
        return LARGEST_RELEASED
    if noise < -LARGEST_RELEASED - held:
        return -LARGEST_RELEASED
    return held + noise


@kernel
def add_laplace(
    words: WordArray, first: int, values: IntArray, num: int, den: int, out: IntArray
) -> tuple[int, np.int64]:
    """Put values + discrete Laplace noise of rate num/den into out."""
    pos = np.int64(0)
    for item in range(first, values.size):
        noise, after = laplace_noise(words, pos, np.uint64(num), np.uint64(den))
        if after > words.size:
            return item, pos
        out[item] = _held_sum(values[item], noise)
        pos = after
    return values.size, pos


@kernel
def add_gaussian(
    words: WordArray, first: int, values: IntArray, top: int, bottom: int, out: IntArray
) -> tuple[int, np.int64]:
    """Put values + discrete Gaussian noise of standard deviation top/bottom into out.

    With s = top/bottom: noise k of pmf exp(-|k|/s) is accepted with exp(-(|k| - s)**2 / (2 s**2)); the
    product is proportional to exp(-k**2 / (2 s**2)). In integers the exponent is (bottom |k| - top)**2 / (2
    top**2). top <= 2**25, so 2 top**2 <= 2**51, and bottom |k| reaches 2**62 only when |k| >= 2**37 s. That
    takes 2**37 turns of `laplace_noise` in one item, hence a tape of 2**37 words: no memory holds it, and it
    has probability exp(-2**37).
    """
    pos = np.int64(0)
    rate_num, rate_den = np.uint64(bottom), np.uint64(top)
    for item in range(first, values.size):
        after = pos
        accepted = False
        noise = np.int64(0)
        while not accepted and after <= words.size:
            noise, after = laplace_noise(words, after, rate_num, rate_den)
            distance = np.uint64(abs(bottom * abs(noise) - top))
            accepted, after = bernoulli_exp(words, after, distance, distance, np.uint64(2 * top * top))
        if after > words.size:
            return item, pos
        out[item] = _held_sum(values[item], noise)
        pos = after
    return values.size, pos


@kernel
def permute_and_flip(
    words: WordArray, first: int, utilities: IntArray, num: int, den: int, out: IntArray
) -> tuple[int, np.int64]:
    """Visit candidates in random order; take one with probability exp(-(best - utility) num/den)."""
    pos = np.int64(0)
    rows, m = utilities.shape
    order = np.empty(m, dtype=np.int64)
    for row in range(first, rows):
        best = utilities[row, 0]
        for i in range(m):
            order[i] = i
            best = max(best, utilities[row, i])
        after = pos
        accepted = False
        visited = 0
        while not accepted and after <= words.size:
            # One step of Fisher and Yates: the permutation is drawn only as far as it is needed. The best
            # candidate is always accepted, so the walk ends inside the permutation.
            draw, after = uniform_below(words, after, np.uint64(m - visited))
            chosen = visited + np.int64(draw)
            out[row] = order[chosen]
            order[chosen] = order[visited]
            visited += 1
            gap = np.uint64(best) - np.uint64(utilities[row, out[row]])
            accepted, after = bernoulli_exp(words, after, gap, np.uint64(num), np.uint64(den))
        if after > words.size:
            return row, pos
        pos = after
    return rows, pos


@kernel
def inverse_cdf(
    words: WordArray,
    utilities: IntArray,
    base: IntArray,
    rate: float,
    slack: float,
    cumulative: FloatArray,
    out: IntArray,
) -> None:
    """Put the index of the exponential mechanism into out, one word per row; see selection.py for the bound.

    base has one row for all or one per row. Where float64 cannot be sure, out is UNDECIDED.
    """
    rows, m = utilities.shape
    shared = base.shape[0] == 1
    for row in range(rows):
        weigh = 0 if shared else row
        # 1. The best utility, from which exponents are taken (none is above 0), and the range of candidates.
        first, last = -1, -1
        best = np.int64(0)
        for i in range(m):
            if base[weigh, i] > 0:
                if first < 0 or utilities[row, i] > best:
                    best = utilities[row, i]
                if first < 0:
                    first = i
                last = i
        if first < 0:
            out[row] = NO_CANDIDATE
            continue
        # 2. Cumulative weights C_i = sum of base_j exp(-rate (best - u_j)) over j <= i; C_last is the total.
        total, base_total = 0.0, 0.0
        known_gap, known_exp = _ZERO, 1.0
        for i in range(first, last + 1):
            if base[weigh, i] > 0:
                gap = np.uint64(best) - np.uint64(utilities[row, i])
                if gap != known_gap:  # neighbours are often equal, and exp is the dearest step
                    known_gap = gap
                    exponent = rate * np.float64(gap)
                    known_exp = math.exp(-exponent) if exponent < 745.0 else 0.0
                total += np.float64(base[weigh, i]) * known_exp
                base_total += np.float64(base[weigh, i])
            cumulative[i] = total
        # 3. A word gives the first 64 bits of U; step i is taken if C_{i-1} <= U C_last < C_i. `error` is the
        # distance at which no rounding, nor any further bit of U, changes that (derived in selection.py).
        error = slack * (base_total + (m + 16) * total)
        target = np.float64(words[row]) * 2.0**-64 * total
        i = first
        while i <= last and cumulative[i] <= target:
            i += 1
        # 4. A step whose borders are both further away is the true one; else the exact decision takes over.
        certain = i <= last
        if certain and i > first:
            certain = target - cumulative[i - 1] > error
        if certain and i < last:
            certain = cumulative[i] - target > error
        out[row] = i if certain else UNDECIDED


@kernel
def soft_best(left: IntArray, right: IntArray, base: IntArray, rate: float, unit: int, out: IntArray) -> None:
    """Put unit / rate (ln Z_left(a) + ln Z_right(a)), rounded down, into out; see nested.py for the bound.

    Sums are taken relative to their largest term, whose exponent is kept apart as a whole number.
    """
    rows, m = base.shape
    for row in range(rows):
        for a in range(m):
            if base[row, a] == 0:
                continue
            best_left, best_right, found = np.int64(0), np.int64(0), False
            for b in range(m):
                if base[row, b] > 0:
                    if not found or left[row, a, b] > best_left:
                        best_left = left[row, a, b]
                    if not found or right[row, a, b] > best_right:
                        best_right = right[row, a, b]
                    found = True
            of_left, of_right = 0.0, 0.0
            known_left, known_right, exp_left, exp_right = np.int64(0), np.int64(0), 1.0, 1.0
            for b in range(m):
                if base[row, b] > 0:
                    weight = np.float64(base[row, b])
                    gap = best_left - left[row, a, b]
                    if gap != known_left:  # neighbours are often equal, and exp is the dearest step
                        known_left, exponent = gap, rate * np.float64(gap)
                        exp_left = math.exp(-exponent) if exponent < 745.0 else 0.0
                    of_left += weight * exp_left
                    gap = best_right - right[row, a, b]
                    if gap != known_right:
                        known_right, exponent = gap, rate * np.float64(gap)
                        exp_right = math.exp(-exponent) if exponent < 745.0 else 0.0
                    of_right += weight * exp_right
            rest = unit / rate * (math.log(of_left) + math.log(of_right))
            out[row, a] = unit * (best_left + best_right) + np.int64(math.floor(rest))


@kernel
def quantile_utilities(
    counts: IntArray,
    low: IntArray,
    high: IntArray,
    numerator: int,
    denominator: int,
    utilities: IntArray,
    base: IntArray,
) -> None:
    """Fill utilities -|denominator * left - numerator * all| and base 1 for thresholds low..high-1."""
    rows, cells = counts.shape
    for row in range(rows):
        everything = np.int64(0)
        for cell in range(low[row], high[row] + 1):
            everything += counts[row, cell]
        left = np.int64(0)
        for cell in range(cells):
            if low[row] <= cell < high[row]:
                left += counts[row, cell]
                utilities[row, cell] = -abs(denominator * left - numerator * everything)
                base[row, cell] = 1
            else:
                utilities[row, cell] = 0
                base[row, cell] = 0


@kernel
def uniform_words(words: WordArray, first: int, m: int, out: IntArray) -> tuple[int, np.int64]:
    """Fill out with uniform integers below m, one word each unless rejected."""
    pos = np.int64(0)
    for item in range(first, out.size):
        draw, after = uniform_below(words, pos, np.uint64(m))
        if after > words.size:
            return item, pos
        out[item] = np.int64(draw)
        pos = after
    return out.size, pos


@kernel
def uniform_pieces(words: WordArray, first: int, m: int, out: IntArray) -> tuple[int, int]:
    """Fill out with uniform integers below m <= 2**16 from quarters of words.

    piece * m falls in m intervals of length 2**16. Of each the lowest 2**16 mod m places are rejected, which
    leaves every interval equally many pieces (Lemire 2019). A rejected piece carries nothing over to the
    next, so a cut of the tape is never inside an item.
    """
    item = first
    wide = np.uint64(m)
    rejected = np.uint64(65_536 % m)
    for pos in range(words.size):
        word = words[pos]
        for _ in range(4):
            product = (word & _LOW_16_BITS) * wide
            word >>= _SIXTEEN
            if (product & _LOW_16_BITS) >= rejected:
                out[item] = np.int64(product >> _SIXTEEN)
                item += 1
                if item == out.size:
                    return item, pos + 1
    return item, words.size
