"""How many private runs there are, when only the best of them is released: a secret random number.

`dpforest.search` draws it. Why the best of so many runs costs little more than one
---------------------------------------------------------------------------------
Let Q(y) be the probability that one run, which is epsilon-DP, gives y; a run has a score, and the best of K
independent runs is released, the first of them where several are best. Let a and b be the probabilities that
the score of a run is below, and not above, the score of y; F(x) = E x^K.
1. The highest score is that of y with probability F(b) - F(a); which of the runs with this score comes first
   does not depend on what else they gave. So P(y) = Q(y) (F(b) - F(a)) / (b - a), which is Q(y) times the
   mean of F'(a + u (b - a)) over u in [0, 1].
2. With the law below F'(x) is proportional to (1 - (1 - gamma) x)^-(1 + eta) (binomial series), and
   1 - (1 - gamma) x = gamma + (1 - gamma) (1 - x).
3. At x = a + u (b - a), 1 - x = (1 - u) (1 - a) + u (1 - b). 1 - a and 1 - b are probabilities of sets of
   outputs of one run, so a neighbour changes them, hence 1 - x and 2., by a factor of at most e^epsilon.
4. So F' changes by at most e^((1 + eta) epsilon), Q(y) by e^epsilon, P(y) by e^((2 + eta) epsilon). QED
A number that is fixed, or stopped by a clock, or known to anybody, would not do: the best of k runs at a
fixed k can cost k epsilon. (Liu and Talwar 2019 for eta = 1; Papernot and Steinke 2022 for all eta > -1.)
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from dpforest._arrays import FloatArray
from dpforest.mechanisms._arrays import as_int64
from dpforest.mechanisms.randomness import RandomWords

_GAMMA_BITS = 30


def random_runs(eta: Fraction, gamma: Fraction, words: RandomWords) -> int:
    """Draw the number of runs from the truncated negative binomial distribution, exactly.

    Its weights are w(1) = 1 and w(k + 1) = w(k) (1 - gamma) (k + eta) / (k + 1): geometric for eta = 1,
    logarithmic for eta = 0.

    Parameters
    ----------
    eta : Fraction
        Above -1, up to 1. Releasing the best run costs 2 + eta times what one run costs.
    gamma : Fraction
        In (0, 1]; the smaller, the more runs.
    words : RandomWords
        Randomness.

    Returns
    -------
    int
        1 or more; to be kept secret.

    Notes
    -----
    A number begins at 1 and grows with probability 1 - gamma; every time it does, it also passes a coin of
    probability (k + eta) / (k + 1), or all begins anew. So k comes out with probability proportional to
    gamma w(k). Coins are whole numbers below their denominators.

    Examples
    --------
    >>> random_runs(Fraction(0), Fraction(1, 30), RandomWords.seeded(4))
    2
    """
    _check(eta, gamma)
    runs = 1
    while not _coin(gamma, words):
        runs = runs + 1 if _coin((runs + eta) / (runs + 1), words) else 1
    return runs


def random_runs_log_pmf(k: npt.ArrayLike, eta: Fraction, gamma: Fraction) -> FloatArray:
    """Logarithm of the probability of k runs in `random_runs`.

    The weights sum to (gamma^-eta - 1) / (eta (1 - gamma)), for eta = 0 to ln(1 / gamma) / (1 - gamma).

    Parameters
    ----------
    k : array of int
        Numbers of runs, 1 or more.
    eta, gamma : Fraction
        As in `random_runs`.

    Returns
    -------
    ndarray of float64

    Examples
    --------
    >>> round(float(np.exp(random_runs_log_pmf(range(1, 2000), Fraction(-1, 2), Fraction(1, 50))).sum()), 12)
    1.0
    """
    _check(eta, gamma)
    runs = as_int64("k", k).astype(np.float64)
    if gamma == 1:
        return np.where(runs == 1, 0.0, -np.inf)
    e, log_gamma, stay = float(eta), math.log(gamma), 1 - float(gamma)
    total = -log_gamma / stay if eta == 0 else math.expm1(-e * log_gamma) / (e * stay)
    weights = (runs - 1) * math.log(stay) + gammaln(runs + e) - gammaln(1 + e) - gammaln(runs + 1)
    return np.asarray(weights - math.log(total))


def mean_runs(eta: Fraction, gamma: Fraction) -> float:
    """Mean of the number of runs.

    Parameters
    ----------
    eta, gamma : Fraction
        As in `random_runs`.

    Examples
    --------
    >>> mean_runs(Fraction(1), Fraction(1, 8))
    8.0
    """
    _check(eta, gamma)
    if gamma == 1:
        return 1.0
    e, g = float(eta), float(gamma)
    return (1 - g) / (g * (-math.expm1(e * math.log(g)) / e if eta else -math.log(g)))


def gamma_for(eta: Fraction, expected_runs: float) -> Fraction:
    """Return the gamma, in units of 2**-30, whose mean number of runs is about the one wanted.

    Any gamma is as private as any other, so nothing hangs on rounding.

    Parameters
    ----------
    eta : Fraction
        As in `random_runs`.
    expected_runs : float
        1 or more.

    Examples
    --------
    >>> round(mean_runs(Fraction(0), gamma_for(Fraction(0), 12.5)), 3)
    12.5
    """
    low, high = 1, 2**_GAMMA_BITS  # the mean falls with gamma
    while high - low > 1:
        middle = (low + high) // 2
        if mean_runs(eta, Fraction(middle, 2**_GAMMA_BITS)) >= expected_runs:
            low = middle
        else:
            high = middle
    return Fraction(high if expected_runs <= 1 else low, 2**_GAMMA_BITS)


def _coin(chance: Fraction, words: RandomWords) -> bool:
    return int(words.uniform_below(chance.denominator, 1)[0]) < chance.numerator


def _check(eta: Fraction, gamma: Fraction) -> None:
    if not -1 < eta <= 1 or not 0 < gamma <= 1:
        raise ValueError(f"eta must lie in (-1, 1] and gamma in (0, 1], got {eta} and {gamma}.")
