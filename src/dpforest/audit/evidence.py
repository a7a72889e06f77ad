r"""What right guesses prove: bets against the promise, whose winnings bound the loss.

`wagers` fixes a rule that guesses from an output which of two tables was used, or abstains; then come new
runs, as many with either table. Let the rule guess the first table on a set of outputs E, and the second one
on a disjoint set F. A bettor who thinks that the loss is larger than epsilon by ln(m), m > 1, multiplies
their money with f = m (1 + e^epsilon) / (1 + m e^epsilon) for a right guess, with f / m for a wrong one, and
divides it by 1 + delta (f - 1) after every run.

Whoever keeps (epsilon, delta) does not make the bettor rich. With u = f - 1 we have 1 - f / m = e^epsilon u,
so one run with the first table (outputs P) and one with the second (outputs Q) multiply the money on average
with (1 + u (P(E) - e^epsilon P(F))) (1 + u (Q(F) - e^epsilon Q(E))). A product is at most the square of the
mean of its factors, and P(E) <= e^epsilon Q(E) + delta, Q(F) <= e^epsilon P(F) + delta: at most
(1 + delta u)^2. Money divided among several m, or kept until rules are better, and rules that were found in
earlier runs, change nothing about that: the money is a supermartingale that starts at 1. It ever reaches
1 / alpha with probability at most alpha (Ville), whenever one stops, goes on, or changes the rule. Compare
Steinke, Nasr and Jagielski (2023) for the bound on guesses, and Shafer (2021) for bets as tests.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dpforest._arrays import FloatArray

# by how much the bettors think that the loss exceeds the promise; the first bets nothing, the last everything
EXCESS = np.array([0.0, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.0, 3.0, 4.5, 6.5, math.inf])
# candidates for the bound, smallest first
EPSILONS = np.concatenate([np.arange(0.0, 5.0, 0.005), np.arange(5.0, 40.0, 0.05)])


class Guesses(NamedTuple):
    """Guesses of one rule in some runs, as many with either table.

    Parameters
    ----------
    right, wrong : int
        How many guesses were which; in the other runs the rule abstained.
    runs : int
        Runs with both tables together.
    """

    right: int
    wrong: int
    runs: int


def log_winnings(guesses: Sequence[Guesses], epsilon: float | FloatArray, delta: float = 0.0) -> FloatArray:
    """Return the logarithm of what a bettor has who bet 1 against (epsilon, delta).

    Parameters
    ----------
    guesses : sequence of Guesses
        Of rules that were each fixed before the runs that they are used in. Half of the money is bet from
        the first rule on, half of the rest from the second on, and so forth: first rules are often poor.
    epsilon : float or ndarray
        The promise, or several.
    delta : float, default=0.0
        Of the promise.

    Returns
    -------
    ndarray
        For each epsilon.

    Examples
    --------
    >>> log_winnings([Guesses(right=100, wrong=0, runs=100)], epsilon=1.0).round(1)
    array([29.1])
    >>> log_winnings([Guesses(right=73, wrong=27, runs=100)], epsilon=1.0).round(1)
    array([-0.4])
    """
    size = np.exp(np.atleast_1d(np.asarray(epsilon, np.float64)))[:, None]
    shrunk = np.exp(-EXCESS)  # 1 / m: finite where m is not
    right = (1 + size) / (shrunk + size)  # f, as above
    with np.errstate(divide="ignore"):
        wrong = np.log(right * shrunk)
    kept, played = 0.0, np.full((len(size), len(EXCESS)), -math.inf)  # logarithms
    for batch in guesses:
        kept -= math.log(2)
        played = np.logaddexp(played, kept - math.log(len(EXCESS)))
        lost = batch.wrong * wrong if batch.wrong else 0.0  # 0 * -inf is not a number
        played = played + batch.right * np.log(right) + lost - batch.runs * np.log1p(delta * (right - 1))
    return np.asarray(np.logaddexp(np.logaddexp.reduce(played, axis=1), kept))


def loss_lower_bound(guesses: Sequence[Guesses], alpha: float, delta: float = 0.0) -> float:
    """Lower bound on epsilon from guesses which of two tables was used.

    Parameters
    ----------
    guesses : sequence of Guesses
        As in `log_winnings`.
    alpha : float
        Probability that the bound is above the truth.
    delta : float, default=0.0
        Promised delta.

    Returns
    -------
    float
        The largest candidate that is refuted together with all smaller ones; 0 if there is none. If the true
        loss is epsilon, a larger bound means that the candidate next to epsilon was refuted, which has
        probability at most alpha.

    Examples
    --------
    >>> loss_lower_bound([Guesses(right=900, wrong=100, runs=1000)], alpha=0.05)
    1.85
    >>> loss_lower_bound([Guesses(right=510, wrong=490, runs=1000)], alpha=0.05)
    0.0
    """
    refuted = log_winnings(guesses, EPSILONS, delta) >= -math.log(alpha)
    first_kept = len(EPSILONS) if refuted.all() else int(refuted.argmin())
    return round(float(EPSILONS[max(first_kept - 1, 0)]), 3)


def runs_that_suffice(claim: float, alpha: float, delta: float = 0.0) -> int:
    """Fewest runs, with both tables together, that refute a claim if every guess is right.

    Parameters
    ----------
    claim, delta : float
        The promise.
    alpha : float
        Probability of a false alarm.

    Returns
    -------
    int
        0 if the claim is infinite, which nothing refutes; fewer than 2^40 otherwise, or 2^40.

    Examples
    --------
    >>> runs_that_suffice(1.0, alpha=1e-6), runs_that_suffice(5.0, alpha=1e-6)
    (52, 2482)
    """
    if math.isinf(claim):
        return 0
    above = EPSILONS[claim < EPSILONS]
    low, high = 0, 2**40
    while high - low > 2 and len(above):
        middle = (low + high) // 4 * 2  # as many runs with either table
        won = log_winnings([Guesses(middle, 0, middle)], above[:1], delta)[0]
        low, high = (low, middle) if won >= -math.log(alpha) else (middle, high)
    return high
