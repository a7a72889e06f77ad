"""Exact private selection from a finite public list: exponential mechanism and permute-and-flip.

`splits` has the utilities of thresholds and category subsets; leaf labels come from `permute_and_flip`.
The compiled parts are in `_kernels`, the arbitrary-precision decision in `_exact_choice`.

The range lemma
---------------
Let u(D, r) be the utility of candidate r. If for all neighbouring tables D, D' there is an interval [lo, hi]
of length at most W that contains u(D', r) - u(D, r) for every candidate r, then drawing r with probability
proportional to base(r) * exp(epsilon * u(D, r) / W) is epsilon-differentially private, for any base that does
not depend on the data. Proof, with d(r) = u(D', r) - u(D, r) and c = epsilon / W:
1. P'(r) / P(r) = exp(c d(r)) / E[exp(c d(R))], where R is drawn from P.
2. Numerator and denominator both lie in [exp(c lo), exp(c hi)].
3. So the ratio lies in [exp(-c W), exp(c W)] = [exp(-epsilon), exp(epsilon)]. QED
A utility that a new row can only raise, by at most s, has W = s; one that can move by s up or down has
W = 2 s. The rate of both functions below is epsilon / W. Permute-and-flip is epsilon-differentially private
under the same condition (McKenna and Sheldon 2020); it is the maximum of utility plus exponential noise (Ding
et al. 2021).

Why the exponential mechanism is exact here
-------------------------------------------
The index is the inverse of the distribution function at a uniform real U, of which one word gives the first
64 bits. float64 may decide only if no real U with these bits, and no error within the bound below, can change
the index. Otherwise (about once in 10**9 rows) `_exact_choice` decides with more bits of U. So the index is
that of exact arithmetic for every tape, and tiny probabilities are not rounded to zero.

Bound, with h = 2**-53, m candidates, B = sum of base, S = computed sum of weights, w = base * exp(-x):
1. The rate is a float64 exactly; best - utility becomes one with relative error h, the product adds h:
   relative error 2.01 h of x. Because x exp(-x) <= 1/e, exp changes by at most 0.75 h in absolute terms.
2. exp itself within 8 units in the last place: 16 h relative, which leaves room for vector math libraries.
   base to float and the product with it: 2 h more. Cutting off at x >= 745, or underflow: below 2**-1000.
3. Summation: (m - 1) h S. So each cumulative sum is off by at most E = (0.76 B + (m + 18) S) h.
4. The target U S is off by E, by 2 h S from converting the word and multiplying, and by 2**-64 S because U
   has more bits than the word; the comparing subtraction costs h S.
The sum of 3 for a boundary and 4 for the target is below (1.6 B + (2 m + 40) S) h. The kernel demands a
distance of (B + (m + 16) S) 2**-50 = (8 B + (8 m + 128) S) h, three times as much at least.

How long a draw takes depends on the data; timing is not protected.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpforest._arrays import FloatArray, IntArray
from dpforest._threads import in_parts
from dpforest.mechanisms._arrays import as_int64, gaps_below_best
from dpforest.mechanisms._exact_choice import exact_choice
from dpforest.mechanisms.randomness import RandomWords
from dpforest.mechanisms.rates import Rate

_SLACK = 2.0**-50
_LEAST_CANDIDATES = 2**17  # of a thread: weighing so many takes as long as starting it


def exponential(
    utilities: npt.ArrayLike, base: npt.ArrayLike, rate: Rate, words: RandomWords, n_threads: int = 1
) -> IntArray:
    """Draw one candidate per row with probability proportional to base * exp(rate * utility), exactly.

    Parameters
    ----------
    utilities : array of int, shape (rows, m)
        Any int64 values.
    base : array of int, shape (rows, m) or (m,)
        Public base measure, not negative; 0 means not a candidate.
    rate : Rate
        epsilon / W, W the range of the utility (see the module's range lemma).
    words : RandomWords
        Randomness.
    n_threads : int, default=1
        Threads that share the rows; what is chosen does not depend on them.

    Returns
    -------
    ndarray of int64, shape (rows,)
        Index of the chosen candidate in each row.

    Raises
    ------
    ValueError
        If a row has no candidate. Only the public base decides this.

    Examples
    --------
    >>> exponential([[0, 50, 0], [90, 0, 0]], [1, 1, 1], Rate(1, 0), RandomWords.seeded(0))
    array([1, 0])
    """
    table, measure = _checked(utilities, base)
    chosen = choose(table, measure, rate, words, n_threads=n_threads)
    if (chosen < 0).any():
        raise ValueError("A row has base 0 everywhere; leave rows without a candidate out.")
    return chosen


def choose(
    utilities: IntArray,
    base: IntArray,
    rate: Rate,
    words: RandomWords,
    slack: float = _SLACK,
    n_threads: int = 1,
) -> IntArray:
    """Like `exponential` on checked arrays (base 2-d, one row or as many as utilities); -1 without candidate.

    Every row takes one word, candidates or not; then undecided rows take more, one after the other, so that
    no word depends on threads. Tests raise `slack`, the factor of the error bound, to send rows to the exact
    decision.
    """
    from dpforest.mechanisms import _kernels

    first_words = words.take(utilities.shape[0])
    chosen = np.empty(utilities.shape[0], dtype=np.int64)
    is_shared = base.shape[0] == 1

    def decide(begin: int, end: int) -> None:
        some = slice(begin, end)
        measure = base if is_shared else base[some]
        scratch = np.empty(utilities.shape[1])
        rows = first_words[some], utilities[some], measure
        _kernels.inverse_cdf(*rows, float(rate), slack, scratch, chosen[some])

    least = max(1, _LEAST_CANDIDATES // max(1, utilities.shape[1]))
    in_parts(decide, utilities.shape[0], n_threads, least)
    for row in np.flatnonzero(chosen == _kernels.UNDECIDED):
        measure = base[0 if is_shared else row].tolist()
        chosen[row] = exact_choice(utilities[row].tolist(), measure, rate, int(first_words[row]), words)
    return chosen


def exponential_log_pmf(utilities: npt.ArrayLike, base: npt.ArrayLike, rate: Rate) -> FloatArray:
    """Logarithm of the probability of each candidate in `exponential`.

    Parameters
    ----------
    utilities : array of int, shape (rows, m)
        Utilities.
    base : array of int, shape (rows, m) or (m,)
        Base measure.
    rate : Rate
        Rate.

    Returns
    -------
    ndarray of float64, shape (rows, m)
        Minus infinity where base is 0.

    Examples
    --------
    >>> np.exp(exponential_log_pmf([[3, 3, 0]], [1, 3, 0], Rate(1, 0)))
    array([[0.25, 0.75, 0.  ]])
    """
    table, measure = _checked(utilities, base)
    candidate = np.broadcast_to(measure > 0, table.shape)
    best = np.where(candidate, table, np.iinfo(np.int64).min).max(axis=1, keepdims=True)
    gaps = gaps_below_best(table, best).astype(np.float64)
    log_base = np.log(np.maximum(measure, 1), dtype=np.float64)
    log_weights = np.where(candidate, log_base - float(rate) * gaps, -np.inf)
    return np.asarray(log_weights - np.logaddexp.reduce(log_weights, axis=1, keepdims=True))


def permute_and_flip(utilities: npt.ArrayLike, rate: Rate, words: RandomWords) -> IntArray:
    """Draw one candidate per row by permute-and-flip, exactly.

    It is never worse than the exponential mechanism at the same rate. Candidates are visited in random order
    and taken with probability exp(-rate (best - utility)).

    Parameters
    ----------
    utilities : array of int, shape (rows, m)
        Any int64 values; all m are candidates, m >= 1.
    rate : Rate
        epsilon / W, W the range of the utility (1 for class counts).
    words : RandomWords
        Randomness.

    Returns
    -------
    ndarray of int64, shape (rows,)
        Index of the chosen candidate in each row.

    References
    ----------
    McKenna and Sheldon (2020), Permute-and-flip: a new mechanism for differentially private selection.

    Examples
    --------
    >>> permute_and_flip([[0, 50, 0], [90, 0, 0]], Rate(1, 0), RandomWords.seeded(0))
    array([1, 0])
    """
    from dpforest.mechanisms import _kernels

    table = _candidates(utilities)
    rows, m = table.shape
    out = np.empty(rows, dtype=np.int64)
    words.run(_kernels.permute_and_flip, rows, m + 4, table, rate.num, rate.denominator, out)
    return out


def permute_and_flip_log_pmf(utilities: npt.ArrayLike, rate: Rate) -> FloatArray:
    """Logarithm of the probability of each candidate in `permute_and_flip`.

    Give every candidate an independent uniform arrival time: r is chosen if it arrives at t, is accepted
    (p_r) and no other was accepted before, P(r) = p_r * integral over t in [0, 1] of the product of 1 - t p_s
    over s != r. The integrand is a polynomial of degree m - 1, for which m / 2 Gauss-Legendre points are
    exact.

    Parameters
    ----------
    utilities : array of int, shape (rows, m)
        Utilities, m up to some hundreds.
    rate : Rate
        Rate.

    Returns
    -------
    ndarray of float64, shape (rows, m)

    Examples
    --------
    >>> np.exp(permute_and_flip_log_pmf([[5, 5, 5, 5]], Rate(1, 0)))
    array([[0.25, 0.25, 0.25, 0.25]])
    """
    table = _candidates(utilities)
    m = table.shape[1]
    log_accept = -float(rate) * gaps_below_best(table, table.max(axis=1, keepdims=True)).astype(np.float64)
    nodes, node_weights = np.polynomial.legendre.leggauss(m // 2 + 1)
    times, time_weights = (nodes + 1) / 2, node_weights / 2
    log_kept = np.log1p(-times * np.exp(log_accept)[:, :, None])
    others = np.exp(log_kept.sum(axis=1, keepdims=True) - log_kept)
    return np.asarray(log_accept + np.log(others @ time_weights))


def _candidates(utilities: npt.ArrayLike) -> IntArray:
    table = as_int64("utilities", utilities, ndim=2)
    if table.shape[1] == 0:
        raise ValueError("utilities has no column; a selection needs at least one candidate.")
    return table


def _checked(utilities: npt.ArrayLike, base: npt.ArrayLike) -> tuple[IntArray, IntArray]:
    table, measure = _candidates(utilities), as_int64("base", base)
    if measure.ndim == 1:
        measure = measure[None, :]
    if measure.shape not in (table.shape, (1, table.shape[1])):
        raise ValueError(f"base has shape {measure.shape}, utilities {table.shape}; one base per candidate.")
    if (measure < 0).any():
        raise ValueError("base must not be negative.")
    return table, measure
