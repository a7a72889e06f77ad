"""One exponential mechanism over three choices that hang together: a first one, and two that depend on it.

Why
---
A tree that is grown level by level pays for every level. But the utility of two levels together, the rows
that their four leaves would name correctly, moves by no more than that of one: a row is in one leaf. So a cut
`a` of a node and the cuts `b` and `c` of its two children can be chosen *together*, by

    P(a, b, c) proportional to base(a) base(b) base(c) exp(rate (left(a, b) + right(a, c))),

for the price of one level, and the first cut is judged by what the next ones can make of it. There are m**3
candidates, but nobody has to write them down: with the sums

    Z_left(a) = sum over b of base(b) exp(rate left(a, b)),   Z_right(a) likewise over c,

`a` has probability proportional to base(a) Z_left(a) Z_right(a), and then b and c are two ordinary
exponential mechanisms.

Why it is private although the sums are rounded
-----------------------------------------------
`a` is drawn by `selection.exponential`, exactly, with the whole number

    s(a) = floor of UNIT / rate (ln Z_left(a) + ln Z_right(a))

as its utility, at rate / UNIT. Let theta(a) be what rounding took away, in units of the score: s(a) / UNIT =
(ln Z_left(a) + ln Z_right(a)) / rate - theta(a). Then

    P(a, b, c) = base(a) base(b) base(c) exp(rate (left(a, b) + right(a, c) - theta(a))) / a constant,

because the sums Z cancel when b and c are drawn, and exactly so, whatever float64 made of the first one: this
*is* an exponential mechanism, with utility left + right - theta. If a row moves left(a, b) + right(a, c)
inside an interval of length W, the same for all (a, b, c), then it moves this utility inside one of length
W + 2 w, w the width of the interval in which all theta lie. Floor alone makes w = 1 / UNIT, and an error of t
/ UNIT in the logarithms makes w = (1 + 2 t) / UNIT. `nested_range` allows t = 1/2; the range lemma
(`selection`) does the rest: rate times nested_range(W) / UNIT is what it costs.

How wrong the logarithms can be, with h = 2**-53, m candidates, B the sum of base and least the smallest of
it: the bound of `selection` gives a computed Z, relative to its largest term, an absolute error of at most
(0.76 B + (m + 18) S) h, where S >= least is that sum. So ln S is off by (0.76 B / least + m + 18) h and
the rounding of the logarithm itself, at most 64 of them large: below (B / least + m + 100) h. Twice that,
times UNIT / rate, and 4 roundings more of a number below 2**-10 / h, is to be less than 1/2. `_error` is four
times as much, must be less than 1/2, and depends on nothing but base and rate: a rate that is too small is
refused whatever the rows are.

Rivals
------
Candidates of another kind, that nothing hangs on, can stand in the same list: a rival r with utility u(r) is
weighed with the first choices, at UNIT u(r) + shift. The shift is public and the same for all rivals, so the
utilities move with the rows as u does, and theirs has no theta. If a row moves left(a, b) + right(a, c) of
all (a, b, c) and u(r) of all r inside one interval of length W, what was said above holds as it stands: which
kind is better is found out for the price of the choice itself. `rival_shift` makes all rivals together `odds`
times as likely as all (a, b, c) together, where no row says otherwise: the latter have weight A B**2, A = B
the sum of base, and each of k rivals has exp(rate shift / UNIT).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from dpforest._arrays import FloatArray, IntArray
from dpforest._threads import in_parts
from dpforest.mechanisms._arrays import as_int64
from dpforest.mechanisms.randomness import RandomWords
from dpforest.mechanisms.rates import Rate
from dpforest.mechanisms.selection import choose, exponential_log_pmf

NESTED_UNIT = 2**12
SMALLEST_NESTED_RATE = Rate(1, 13)  # at which bases of 2**23 times their least weight can be used
_MOST_ERROR = 0.5


def nested_range(score_range: Any) -> Any:
    """Range of the utility that decides, in units of 1 / NESTED_UNIT, for scores of a given range W.

    Whole numbers, or arrays of them.

    Examples
    --------
    >>> nested_range(1) / NESTED_UNIT
    1.0009765625
    """
    return NESTED_UNIT * score_range + 4


def nested_exponential(
    left: npt.ArrayLike,
    right: npt.ArrayLike,
    base: npt.ArrayLike,
    rate: Rate,
    words: RandomWords,
    n_threads: int = 1,
) -> IntArray:
    """Draw candidates (a, b, c) of every row by base(a) base(b) base(c) exp(rate (left(a, b) + right(a, c))).

    Parameters
    ----------
    left, right : array of int, shape (rows, m, m)
        Utilities between -2**48 and 2**48.
    base : array of int, shape (rows, m)
        Public base measure, not negative; 0 means not a candidate, neither for a nor for b or c.
    rate : Rate
        epsilon NESTED_UNIT / nested_range(W), W the range of left + right.
    words : RandomWords
        Randomness.
    n_threads : int, default=1
        Threads that share the rows; what is chosen does not depend on them.

    Returns
    -------
    ndarray of int64, shape (rows, 3)
        Indices of the three; -1 where a row has no candidate, which only the public base decides.

    Raises
    ------
    ValueError
        If shapes do not fit, or the rate is too small for this base.

    Examples
    --------
    >>> left = [[[0, 0], [50, 0]]]
    >>> right = [[[0, 0], [0, 50]]]
    >>> nested_exponential(left, right, [[1, 1]], Rate(1, 0), RandomWords.seeded(0))
    array([[1, 0, 1]])
    """
    return draw_nested(left, right, base, rate, words, n_threads)


def draw_nested(
    left: npt.ArrayLike,
    right: npt.ArrayLike,
    base: npt.ArrayLike,
    rate: Rate,
    words: RandomWords,
    n_threads: int = 1,
    fine: int = 1,
) -> IntArray:
    """Draw as `nested_exponential` does, with utilities in units of 1 / fine, a power of 2; see `named`.

    They lie between -2**48 fine and 2**48 fine, within 2**62 in the units of the first choice.
    """
    one, other, measure = _checked(left, right, base, rate)
    soft = soft_best(one, other, measure, rate, n_threads, fine)
    first = choose(soft, measure, _finer(rate, NESTED_UNIT), words, n_threads=n_threads)
    return _with_the_others(first, one, other, measure, _finer(rate, fine), words, n_threads)


def _finer(rate: Rate, unit: int) -> Rate:
    """Rate per 1 / unit, a power of 2."""
    return Rate(rate.num, rate.shift + unit.bit_length() - 1)


def nested_or_rival(
    left: npt.ArrayLike,
    right: npt.ArrayLike,
    base: npt.ArrayLike,
    rate: Rate,
    rivals: npt.ArrayLike,
    odds: float,
    words: RandomWords,
    n_threads: int = 1,
) -> IntArray:
    """Draw candidates (a, b, c) as `nested_exponential` does, or a rival of theirs.

    Parameters
    ----------
    left, right, base, rate
        As there; W is the range of left + right and of the rivals together.
    rivals : array of int, shape (rows, k)
        Utilities of the rivals, between -2**48 and 2**48.
    odds : float
        How likely rivals are, against all (a, b, c), where no row says otherwise; public.
    words, n_threads
        As there.

    Returns
    -------
    ndarray of int64, shape (rows, 3)
        Indices of the three, or m + r and twice -1 for rival r.

    Examples
    --------
    >>> nothing = np.zeros((1, 2, 2), np.int64)
    >>> nested_or_rival(nothing, nothing, [[1, 1]], Rate(1, 0), [[0, 90, 0]], 1.0, RandomWords.seeded(0))
    array([[ 3, -1, -1]])
    """
    one, other, measure = _checked(left, right, base, rate)
    soft, wide = _beside_rivals(soft_best(one, other, measure, rate, n_threads), measure, rivals, odds, rate)
    first = choose(soft, wide, _finer(rate, NESTED_UNIT), words, n_threads=n_threads)
    is_rival = first >= measure.shape[1]
    found = _with_the_others(np.where(is_rival, 0, first), one, other, measure, rate, words, n_threads)
    found[is_rival] = -1
    found[:, 0] = first
    return found


def rival_shift(base: IntArray, n_rivals: int, odds: float, rate: Rate) -> IntArray:
    """Return what is added to the utilities of rivals, in units of 1 / NESTED_UNIT, for every row.

    Examples
    --------
    >>> rival_shift(np.array([[1, 1]]), 8, 1.0, Rate(1, 0)), rival_shift(np.array([[1]]), 1, 1.0, Rate(1, 0))
    (array([0]), array([0]))
    """
    weight = 3 * np.log(np.maximum(base.sum(axis=1, dtype=np.float64), 1.0)) + math.log(odds / n_rivals)
    shift: IntArray = np.floor(NESTED_UNIT / float(rate) * weight).astype(np.int64)
    return shift


def _beside_rivals(
    soft: IntArray, base: IntArray, rivals: npt.ArrayLike, odds: float, rate: Rate
) -> tuple[IntArray, IntArray]:
    """Utilities and base weights of first choices and rivals, in one list."""
    table = as_int64("rivals", rivals, ndim=2)
    if len(table) != len(base) or not table.shape[1]:
        raise ValueError(f"rivals need {len(base)} rows and a column, got shape {table.shape}.")
    if not 0 < odds < math.inf:
        raise ValueError("odds must be positive.")
    shifted = NESTED_UNIT * table + rival_shift(base, table.shape[1], odds, rate)[:, None]
    return np.hstack([soft, shifted]), np.hstack([base, np.ones_like(table)])


def _with_the_others(
    first: IntArray,
    left: IntArray,
    right: IntArray,
    base: IntArray,
    rate: Rate,
    words: RandomWords,
    n_threads: int,
) -> IntArray:
    """Draw b and c of every row, given a."""
    rows = np.arange(len(first))
    of_first = np.ascontiguousarray(left[rows, first]), np.ascontiguousarray(right[rows, first])
    second, third = (choose(some, base, rate, words, n_threads=n_threads) for some in of_first)
    return np.stack([first, second, third], axis=1)


def soft_best(
    left: IntArray, right: IntArray, base: IntArray, rate: Rate, n_threads: int = 1, fine: int = 1
) -> IntArray:
    """Return s(a) of every candidate, shape (rows, m); 0 where it is none. Utilities are in 1 / fine."""
    from dpforest.mechanisms import _kernels

    out = np.zeros(base.shape, np.int64)

    def fill(begin: int, end: int) -> None:
        some = slice(begin, end)
        sides = left[some], right[some], base[some]
        _kernels.soft_best(*sides, float(_finer(rate, fine)), NESTED_UNIT // fine, out[some])

    in_parts(fill, len(base), n_threads)
    return out


def nested_log_pmf(
    left: npt.ArrayLike, right: npt.ArrayLike, base: npt.ArrayLike, rate: Rate, fine: int = 1
) -> FloatArray:
    """Logarithm of the probability of every (a, b, c), shape (rows, m, m, m); utilities in units of 1 / fine.

    Examples
    --------
    >>> nothing = np.zeros((1, 2, 2), np.int64)
    >>> round(float(np.exp(nested_log_pmf(nothing, nothing, [[1, 3]], Rate(1, 0)))[0, 1, 1, 1]), 6)
    0.421875
    """
    one, other, measure = _checked(left, right, base, rate)
    soft = soft_best(one, other, measure, rate, fine=fine)
    of_first = exponential_log_pmf(soft, measure, _finer(rate, NESTED_UNIT))
    return _log_pmf_of_all(of_first, one, other, measure, _finer(rate, fine))


def nested_or_rival_log_pmf(
    left: npt.ArrayLike,
    right: npt.ArrayLike,
    base: npt.ArrayLike,
    rate: Rate,
    rivals: npt.ArrayLike,
    odds: float,
) -> tuple[FloatArray, FloatArray]:
    """Logarithm of the probability of every (a, b, c), and of every rival, shape (rows, k).

    Examples
    --------
    >>> nothing = np.zeros((1, 2, 2), np.int64)
    >>> found = nested_or_rival_log_pmf(nothing, nothing, [[1, 3]], Rate(1, 0), [[0, 0]], 1.0)
    >>> [round(float(np.exp(some).sum()), 3) for some in found]
    [0.5, 0.5]
    """
    one, other, measure = _checked(left, right, base, rate)
    soft, wide = _beside_rivals(soft_best(one, other, measure, rate), measure, rivals, odds, rate)
    of_first = exponential_log_pmf(soft, wide, _finer(rate, NESTED_UNIT))
    m = measure.shape[1]
    return _log_pmf_of_all(of_first[:, :m], one, other, measure, rate), of_first[:, m:]


def _log_pmf_of_all(
    of_first: FloatArray, left: IntArray, right: IntArray, base: IntArray, rate: Rate
) -> FloatArray:
    """Log pmf of (a, b, c) from that of a."""
    rows, m, _ = left.shape
    wide = np.repeat(base, m, axis=0)
    of_second, of_third = (
        exponential_log_pmf(some.reshape(rows * m, m), wide, rate).reshape(rows, m, m)
        for some in (left, right)
    )
    return np.asarray(of_first[:, :, None, None] + of_second[:, :, :, None] + of_third[:, :, None, :])


def nested_can_choose(base: npt.ArrayLike, rate: Rate) -> bool:
    """Tell whether rates as small as this one can be used with this base; see the module.

    Examples
    --------
    >>> nested_can_choose([[1, 1]], Rate(1, 13)), nested_can_choose([[1, 1]], Rate(1, 14))
    (True, False)
    """
    return (
        rate.value >= SMALLEST_NESTED_RATE.value
        and _error(as_int64("base", base, ndim=2), rate) < _MOST_ERROR
    )


def _error(base: IntArray, rate: Rate) -> float:
    """How far s(a) may be from what exact arithmetic says before it is rounded down, generously."""
    least = np.where(base > 0, base, np.iinfo(np.int64).max).min(axis=1, initial=np.iinfo(np.int64).max)
    spread = float((base.sum(axis=1, dtype=np.float64) / np.maximum(least, 1)).max(initial=1.0))
    candidates = spread + float(base.shape[1]) + 100
    return NESTED_UNIT / float(rate) * 8 * candidates * 2.0**-53 + 2.0**-8


def _checked(
    left: npt.ArrayLike, right: npt.ArrayLike, base: npt.ArrayLike, rate: Rate
) -> tuple[IntArray, IntArray, IntArray]:
    one, other = (as_int64(name, table, ndim=3) for name, table in (("left", left), ("right", right)))
    measure = as_int64("base", base, ndim=2)
    rows, m = measure.shape
    if one.shape != (rows, m, m) or other.shape != one.shape:
        raise ValueError(f"left and right need shape {(rows, m, m)}, got {one.shape} and {other.shape}.")
    if (measure < 0).any():
        raise ValueError("base must not be negative.")
    if not nested_can_choose(measure, rate):
        raise ValueError("The rate is too small for a nested choice; choose one level at a time.")
    return one, other, measure
