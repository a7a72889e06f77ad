"""What makes a split balanced, for many nodes at once: quantile thresholds and subsets of categories.

Both are chosen by the exponential mechanism (`selection`) with a utility of counts: how far a split is from
the wanted share of rows on its left. The candidates, the boxes of the nodes and the members are public; the
counts are private. A node without candidate has base measure 0 everywhere, which is public too.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dpforest._arrays import FloatArray, IntArray
from dpforest._threads import in_parts
from dpforest.mechanisms._arrays import as_int64
from dpforest.mechanisms.randomness import RandomWords
from dpforest.mechanisms.rates import Rate
from dpforest.mechanisms.selection import exponential_log_pmf

_BALANCE_RANGE = 2  # one row moves left - right by 1, up or down
_LEAST_CELLS = 2**16  # of a thread: to add up so many takes as long as starting it


def quantile_range(numerator: int = 1, denominator: int = 2) -> int:
    """Range W of the quantile utility when one row is added or removed.

    A row on the left of a threshold moves denominator * left - numerator * all by denominator - numerator,
    one on the right by -numerator; the absolute value moves by no more, up or down.

    Parameters
    ----------
    numerator, denominator : int
        The quantile as a fraction, 0 < numerator < denominator <= 2**20.

    Returns
    -------
    int

    Examples
    --------
    >>> quantile_range(1, 2), quantile_range(1, 4)
    (2, 6)
    """
    if not 0 < numerator < denominator <= 2**20:
        raise ValueError(
            f"A quantile needs 0 < numerator < denominator <= 2**20, got {numerator}/{denominator}."
        )
    return 2 * max(numerator, denominator - numerator)


def quantile_utilities(
    counts: npt.ArrayLike,
    low: npt.ArrayLike,
    high: npt.ArrayLike,
    numerator: int = 1,
    denominator: int = 2,
    n_threads: int = 1,
) -> tuple[IntArray, IntArray]:
    """Return utility and base measure of every threshold.

    Parameters
    ----------
    counts : array of int, shape (rows, cells)
        Rows of data per cell of the public grid; what lies outside the box is ignored. A box holds fewer than
        2**42 rows of data.
    low, high : array of int, shape (rows,)
        First and last cell of the node's box.
    numerator, denominator : int
        The quantile as a fraction.
    n_threads : int, default=1
        Threads that share the rows.

    Returns
    -------
    utilities : ndarray of int64, shape (rows, cells)
        -abs(denominator * left - numerator * all) for threshold t, left counting the cells low..t.
    base : ndarray of int64, shape (rows, cells)
        1 for the thresholds low..high-1, else 0.

    Examples
    --------
    >>> utilities, base = quantile_utilities([[4, 1, 1, 2]], [0], [3])
    >>> utilities, base
    (array([[ 0, -2, -4,  0]]), array([[1, 1, 1, 0]]))
    """
    from dpforest.mechanisms import _kernels

    quantile_range(numerator, denominator)
    table = as_int64("counts", counts, ndim=2)
    first, last = as_int64("low", low, ndim=1), as_int64("high", high, ndim=1)
    rows, cells = table.shape
    if first.size != rows or last.size != rows:
        raise ValueError(f"low and high need one entry per row of counts ({rows}).")
    if rows and (min(first.min(), last.min()) < 0 or max(first.max(), last.max()) >= cells):
        raise ValueError(f"low and high must be cells between 0 and {cells - 1}.")
    utilities, base = np.empty_like(table), np.empty_like(table)

    def fill(begin: int, end: int) -> None:
        some = slice(begin, end)
        rows = table[some], first[some], last[some]
        _kernels.quantile_utilities(*rows, numerator, denominator, utilities[some], base[some])

    in_parts(fill, rows, n_threads, max(1, _LEAST_CELLS // max(1, cells)))
    return utilities, base


def quantile_log_pmf(
    counts: npt.ArrayLike,
    low: npt.ArrayLike,
    high: npt.ArrayLike,
    epsilon: Fraction,
    numerator: int = 1,
    denominator: int = 2,
) -> FloatArray:
    """Logarithm of the probability of every threshold at epsilon; each box needs two cells or more.

    Parameters
    ----------
    counts, low, high, numerator, denominator
        As in `quantile_utilities`; the median by default.
    epsilon : Fraction
        Privacy loss: the rate is Rate.floor(epsilon / quantile_range(numerator, denominator)).

    Returns
    -------
    ndarray of float64, shape (rows, cells)

    Examples
    --------
    >>> np.exp(quantile_log_pmf([[0, 0, 0]], [0], [2], Fraction(1)))
    array([[0.5, 0.5, 0. ]])
    """
    utilities, base = quantile_utilities(counts, low, high, numerator, denominator)
    return exponential_log_pmf(utilities, base, Rate.floor(epsilon / quantile_range(numerator, denominator)))


def subset_candidates(n_cells: int, words: RandomWords, limit: int = 512) -> npt.NDArray[np.uint8]:
    """Public list of left sets for a feature with n_cells categories.

    A set and its complement make the same split, so category 0 always stays on the right. If there are more
    than `limit` splits, a random choice of `limit` different ones; the coins are public, no data is involved.

    Parameters
    ----------
    n_cells : int
        Number of categories, at least 1.
    words : RandomWords
        Randomness of the choice.
    limit : int, default=512
        Longest list.

    Returns
    -------
    ndarray of uint8, shape (candidates, n_cells)
        1 where a category goes left.

    Examples
    --------
    >>> subset_candidates(3, RandomWords.seeded(0))
    array([[0, 1, 0],
           [0, 0, 1],
           [0, 1, 1]], dtype=uint8)
    """
    if n_cells < 1 or limit < 1:
        raise ValueError(f"n_cells and limit must be positive, got {n_cells} and {limit}.")
    free = n_cells - 1
    n_splits = 2**free - 1
    if n_splits <= limit:
        sets = list(range(1, n_splits + 1))
    else:
        words_per_set = -(-free // 64)
        found: dict[int, None] = {}  # a dict keeps the order of drawing
        while len(found) < limit:
            drawn = int.from_bytes(words.take(words_per_set).tobytes(), "little") & n_splits
            if drawn:
                found[drawn] = None
        sets = list(found)
    out = np.zeros((len(sets), n_cells), dtype=np.uint8)
    for row, members in zip(out, sets, strict=True):
        packed = np.frombuffer(members.to_bytes(-(-free // 8), "little"), np.uint8)
        row[1:] = np.unpackbits(packed, count=free, bitorder="little")
    return out


def subset_utilities(
    counts: npt.ArrayLike, members: npt.ArrayLike, candidates: npt.ArrayLike
) -> tuple[IntArray, IntArray]:
    """Return utility and base measure of every candidate left set.

    Parameters
    ----------
    counts : array of int, shape (rows, cells)
        Rows of data per category; categories outside the box are ignored. A box holds fewer than 2**42 rows.
    members : array of bool, shape (rows, cells)
        Categories in the node's box (public).
    candidates : array of 0 and 1, shape (n_candidates, cells)
        From `subset_candidates`.

    Returns
    -------
    utilities : ndarray of int64, shape (rows, n_candidates)
        -abs(left - right); one row of data moves it by 1, up or down, so its range is 2.
    base : ndarray of int64, shape (rows, n_candidates)
        1 if the candidate leaves categories of the box on both sides, else 0.

    Examples
    --------
    >>> subset_utilities([[5, 3, 2]], [[True, True, True]], [[0, 1, 0], [0, 1, 1]])
    (array([[-4,  0]]), array([[1, 1]]))
    """
    inside = as_int64("members", members, ndim=2)
    sets = as_int64("candidates", candidates, ndim=2)
    table = as_int64("counts", counts, ndim=2)
    if table.shape != inside.shape or sets.shape[1] != table.shape[1]:
        raise ValueError(
            "counts, members and candidates must agree on the cells, counts and members on rows."
        )
    table = table * inside
    left, members_left = _products(table, sets), _products(inside, sets)
    utilities = -np.abs(2 * left - table.sum(axis=1, keepdims=True))
    base = (members_left > 0) & (members_left < inside.sum(axis=1, keepdims=True))
    return utilities, base.astype(np.int64)


def _products(table: IntArray, sets: IntArray) -> IntArray:
    """Return table @ sets.T by way of float64: faster, and exact while the sums stay below 2**53."""
    return (table.astype(np.float64) @ sets.T.astype(np.float64)).astype(np.int64)


def balanced_subset_log_pmf(
    counts: npt.ArrayLike, members: npt.ArrayLike, candidates: npt.ArrayLike, epsilon: Fraction
) -> FloatArray:
    """Logarithm of the probability of every candidate at epsilon; each box must have one.

    Parameters
    ----------
    counts, members, candidates
        As in `subset_utilities`.
    epsilon : Fraction
        Privacy loss: the rate is Rate.floor(epsilon / 2).

    Returns
    -------
    ndarray of float64, shape (rows, n_candidates)

    Examples
    --------
    >>> np.exp(balanced_subset_log_pmf([[0, 0]], [[True, True]], [[0, 1]], Fraction(1)))
    array([[1.]])
    """
    utilities, base = subset_utilities(counts, members, candidates)
    return exponential_log_pmf(utilities, base, Rate.floor(epsilon / _BALANCE_RANGE))
