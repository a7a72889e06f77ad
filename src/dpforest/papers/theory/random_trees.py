"""Forests of data-independent trees: Bojarski, Choromanska, Choromanski, LeCun (2014), Theorems 5.1 to 5.5.

"Differentially- and non-differentially-private random decision trees". k trees of height h are drawn
independently of the data; labels are binary. The *weight* of a record is the average, over all trees, of
the share of its own label in its leaf; its *goodness* is the share of trees whose leaf majority is its
label; ``tree_error`` is the average error of a single tree with the leaf majorities. Votes are combined
by ``"majority"`` of the trees' labels, by the ``"threshold"`` 1/2 on the averaged leaf shares, or by
drawing the label with that averaged ``"probability"``.

"Empirical" error is on the training set, "generalization" error on an independent test set of the same
size n, goodness and weight being taken on that set. Leaves with fewer than ``light_share * n / 2**h``
records (the paper's K is 1 / light_share) are dropped in the proofs; they hold at most ``light_share`` of
the records.

``private_random_trees`` holds the theorems with noise and uses the bounds of this module.
"""

import math
from typing import Literal

from dpforest.papers.theory.checks import require

Voting = Literal["majority", "threshold", "probability"]


def check_voting(voting: str) -> None:
    """Refuse anything but the paper's three rules.

    Examples
    --------
    >>> check_voting("threshold")
    """
    require(
        voting in ("majority", "threshold", "probability"),
        "voting must be 'majority', 'threshold' or 'probability'",
    )


def average_goodness(tree_error: float) -> float:
    """Theorem 5.1: the average goodness of a record is at least ``1 - tree_error``; in fact it is equal.

    Examples
    --------
    >>> average_goodness(0.2)
    0.8
    """
    require(0 <= tree_error <= 0.5, "tree_error must lie in [0, 1/2]")
    return 1 - tree_error


def average_weight(tree_error: float, light_share: float = 0.0) -> float:
    """Theorem 5.2: the average weight of a record is at least ``e**2 + (1-e)**2``, e being 1 - tree_error.

    With a ``light_share`` it bounds the average weight when light leaves count as 0. The supplement uses
    Theorem 5.2 with the tree error raised by 1/K there. That is wrong: above a tree error of 1 -
    sqrt(1/2) = 0.293 the true value can be lower (0.3 and K = 5: 0.425 against 0.5), and once the sum
    exceeds 1/2 the formula even improves with more error. Corrected: heavy leaves hold a share p >= 1 -
    light_share and at least ``p - tree_error`` of the correct records; the sum ``p - 2a + 2a**2/p`` over
    a and p is least at ``p = 1 - light_share`` and ``a = max(p - tree_error, p/2)``.

    Examples
    --------
    >>> round(average_weight(0.2), 3), round(average_weight(0.3, 0.2), 3)
    (0.68, 0.425)
    """
    require(0 <= tree_error <= 0.5, "tree_error must lie in [0, 1/2]")
    require(0 <= light_share < 1, "light_share must lie in [0, 1)")
    heavy = 1 - light_share
    correct = max(heavy - tree_error, heavy / 2)
    return heavy - 2 * correct + 2 * correct**2 / heavy


def good_record_share(tree_error: float, level: float, voting: Voting) -> float:
    """Theorems 5.3 and 5.6: least share mu of records whose goodness or weight is at least ``level``.

    Markov's inequality on Theorem 5.1 (majority) or 5.2 (the other two): ``1 - (1 - average) / (1 - level)``.

    Examples
    --------
    >>> round(good_record_share(0.1, level=0.6, voting="majority"), 3)
    0.75
    >>> round(good_record_share(0.1, level=0.6, voting="threshold"), 3)
    0.55
    """
    check_voting(voting)
    require(0.5 <= level < 1, "level must lie in [1/2, 1)")
    average = average_goodness(tree_error) if voting == "majority" else average_weight(tree_error)
    return max(0.0, 1 - (1 - average) / (1 - level))


def trees_needed(n_records: int, delta: float, exponent: float = 1.0, *, generalization: bool = False) -> int:
    """Theorems 5.3 to 5.5: number of trees for which all good records are classified correctly.

    ``(1 + C) log(n) / (2 delta**2)``, rounded up, fails with probability at most ``n**-C``, C the
    ``exponent``; for the generalization error delta is halved.

    Examples
    --------
    >>> trees_needed(1000, 0.1), trees_needed(1000, 0.1, generalization=True)
    (691, 2764)
    """
    require(
        n_records >= 2 and 0 < delta < 0.5 and exponent > 0,
        "need n_records >= 2, 0 < delta < 1/2, exponent > 0",
    )
    margin = delta / 2 if generalization else delta
    return math.ceil((1 + exponent) * math.log(n_records) / (2 * margin**2))


def leaf_count_failure(n_records: int, n_trees: int, height: int, delta: float, light_share: float) -> float:
    """Section 9.4: probability that some leaf's counts differ too much between training and test set.

    ``2**(h+3) k exp(-2 n phi**2)`` with ``phi = delta light_share / (2 (4 + delta) 2**h)``; otherwise the
    label shares of every heavy leaf differ by at most delta/2. Holds (Hoeffding and a union bound over
    the leaves).

    Examples
    --------
    >>> leaf_count_failure(10**8, 100, 2, 0.2, 0.1) < 1e-8
    True
    """
    require(0 < delta < 1 and 0 < light_share < 1, "delta and light_share must lie in (0, 1)")
    phi = delta * light_share / (2 * (4 + delta) * 2.0**height)
    return min(1.0, 2.0 ** (height + 3) * n_trees * math.exp(-2 * n_records * phi**2))


def quotient_or_one(numerator: float, denominator: float) -> float:
    """Turn a Markov quotient into an error bound: 1, which says nothing, if the denominator is not positive.

    Examples
    --------
    >>> quotient_or_one(0.1, 0.4), quotient_or_one(0.1, -0.1)
    (0.25, 1.0)
    """
    return min(1.0, numerator / denominator) if denominator > 0 else 1.0


def empirical_error_bound(tree_error: float, delta: float, voting: Voting, slack: float = 0.0) -> float:
    """Theorems 5.4 and 5.5: training error of the forest, with the probability of ``empirical_confidence``.

    Majority ``eps / (1/2 - delta)``, threshold ``(2 eps - 2 eps**2) / (1/2 - delta)``, probability
    ``2 eps - 2 eps**2 + delta + slack``, eps the tree error and slack the paper's c. All three hold.

    Examples
    --------
    >>> rules = ("majority", "threshold", "probability")
    >>> [round(empirical_error_bound(0.1, 0.1, rule, slack=0.05), 3) for rule in rules]
    [0.25, 0.45, 0.33]
    """
    check_voting(voting)
    require(0 < delta < 0.5 and slack >= 0, "need 0 < delta < 1/2 and slack >= 0")
    if voting == "majority":
        return quotient_or_one(1 - average_goodness(tree_error), 0.5 - delta)
    loss = 1 - average_weight(tree_error)
    return quotient_or_one(loss, 0.5 - delta) if voting == "threshold" else min(1.0, loss + delta + slack)


def generalization_error_bound(
    tree_error: float,
    delta: float,
    light_share: float,
    voting: Voting,
    slack: float = 0.0,
    *,
    as_published: bool = False,
) -> float:
    """Theorems 5.4 and 5.5: test error of the forest, with the probability of ``generalization_confidence``.

    Printed: the empirical formulas with the tree error raised by ``1/K = light_share``. Two things are wrong.

    Majority: false. Goodness on the test set says nothing when leaves are nearly balanced, because the
    training majority may be the other label. With coin-flip labels and one leaf, the records of the test
    majority have goodness 1 and the printed error is their complement's share, but the training majority
    is the other label half of the time. Corrected by asking for leaves whose majority exceeds 1/2 +
    delta/2, which costs at most the share ``eps / (1/2 - delta/2)`` in goodness.

    Threshold and probability: the light leaves are treated wrongly, see ``average_weight``. With tree
    error 1/2, that is labels nobody can predict, and K = 2 the printed Theorem 5.5 promises a test error
    of delta + slack.

    Parameters
    ----------
    tree_error : float
        Average error of a single tree on the test set.
    delta : float
        Margin.
    light_share : float
        1/K.
    voting : {"majority", "threshold", "probability"}
        Voting rule.
    slack : float
        The paper's c, for ``"probability"`` only.
    as_published : bool
        Return the printed formula.

    Examples
    --------
    >>> round(generalization_error_bound(0.05, 0.1, 0.025, "threshold"), 3)
    0.3
    >>> round(generalization_error_bound(0.5, 0.1, 0.5, "probability", 0.05, as_published=True), 3)
    0.15
    """
    check_voting(voting)
    require(0 < delta < 0.5 and slack >= 0, "need 0 < delta < 1/2 and slack >= 0")
    require(
        0 <= tree_error <= 0.5 and 0 < light_share < 1,
        "need tree_error in [0, 1/2] and light_share in (0, 1)",
    )
    raised = tree_error + light_share
    if voting == "majority":
        if as_published:
            return quotient_or_one(raised, 0.5 - delta)
        return majority_with_margin(tree_error, light_share, delta, margin=delta / 2)
    loss = 2 * raised - 2 * raised**2 if as_published else 1 - average_weight(tree_error, light_share)
    return quotient_or_one(loss, 0.5 - delta) if voting == "threshold" else min(1.0, loss + delta + slack)


def majority_with_margin(tree_error: float, light_share: float, delta: float, margin: float) -> float:
    """Error bound for majority voting when only leaves with a clear majority count as good.

    Leaves whose majority is at most 1/2 + margin hold a share q of the records with ``q (1/2 - margin) <=
    tree_error``; not counting them lowers the average goodness to ``1 - tree_error / (1/2 - margin)``,
    and light leaves cost ``light_share`` more. Markov's inequality at 1/2 + delta gives the bound.

    Examples
    --------
    >>> round(majority_with_margin(0.05, 0.025, 0.1, 0.05), 3)
    0.34
    """
    return quotient_or_one(tree_error / (0.5 - margin) + light_share, 0.5 - delta)


def union_confidence(n_records: int, failure_per_record: float, slack: float | None = None) -> float:
    """Probability that no record fails, by the union bound, and that the label draws stay within ``slack``.

    The second part, ``1 - exp(-2 n slack**2)`` by Hoeffding's inequality, is for probability voting only.

    Examples
    --------
    >>> union_confidence(1000, 1e-5)
    0.99
    """
    draws = 1.0 if slack is None else -math.expm1(-2 * n_records * slack**2)
    return max(0.0, 1 - n_records * failure_per_record) * draws


def empirical_confidence(n_records: int, n_trees: int, delta: float, slack: float | None = None) -> float:
    """Theorems 5.3 to 5.5: probability with which ``empirical_error_bound`` holds.

    ``1 - n exp(-2 k delta**2)``, which is ``1 - n**-C`` at ``trees_needed``; times ``1 - exp(-2 n
    slack**2)`` for probability voting. Theorem 5.5 prints the tree error in place of the slack there,
    against its own proof; that is false: with coin-flip labels, tree error 1/2, n = 100 and delta = slack
    = 0.001 the error exceeds the bound with probability 0.46, and the printed failure probability is
    below 1e-21.

    Examples
    --------
    >>> empirical_confidence(1000, trees_needed(1000, 0.1), 0.1) >= 0.999
    True
    """
    require(n_records >= 1 and n_trees >= 1 and 0 < delta < 0.5, "need positive numbers and 0 < delta < 1/2")
    return union_confidence(n_records, math.exp(-2 * n_trees * delta**2), slack)


def generalization_confidence(
    n_records: int, n_trees: int, height: int, delta: float, light_share: float, slack: float | None = None
) -> float:
    """Theorems 5.3 to 5.5: probability with which ``generalization_error_bound`` holds.

    The empirical one with delta halved, minus ``leaf_count_failure``.

    Examples
    --------
    >>> generalization_confidence(10**9, 5000, 2, 0.2, 0.1) > 0.999
    True
    """
    base = empirical_confidence(n_records, n_trees, delta / 2, slack)
    return max(0.0, base - leaf_count_failure(n_records, n_trees, height, delta, light_share))
