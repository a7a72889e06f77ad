"""Forests of data-independent trees with noisy leaves: Bojarski et al. (2014), Theorems 5.6 to 5.9.

Every record is in one leaf of each of the k trees, so one record changes k counts by 1: Laplace noise of
scale ``k / epsilon`` on every class count makes the forest epsilon-DP (their eta is our epsilon).
Notation as in ``random_trees``.

The private theorems are false for the paper's Algorithm 2. If a noisy count is negative it draws the
leaf's share uniformly from [0, 1], so half of all *pure* leaves, whose other count is 0 plus noise, are
replaced by a coin. The proofs overlook this. Replacing a negative count by 0 instead, which costs no
privacy, repairs them; every default here assumes it.
"""

import math
from typing import NamedTuple

from scipy.optimize import brentq

from dpforest.papers.theory.checks import require
from dpforest.papers.theory.random_trees import (
    Voting,
    average_weight,
    check_voting,
    leaf_count_failure,
    majority_with_margin,
    quotient_or_one,
    union_confidence,
)

# Constants of Theorems 5.7 and 5.9.
_DELTA, _LIGHT_SHARE, _SLACK = 0.1, 1 / 40, 0.05


class ErrorBound(NamedTuple):
    """A bound on the fraction of misclassified records and the least probability with which it holds."""

    error: float
    probability: float


def laplace_scale(n_trees: int, epsilon: float) -> float:
    """Section 5.2: the scale of the Laplace noise on every leaf count, ``n_trees / epsilon``.

    The paper's notation allows three readings, only this one private at epsilon. Its Algorithm 2 writes
    epsilon/k where the proof has k/epsilon, and its "Laplace with standard deviation k/epsilon" would be
    a scale smaller by sqrt(2).

    Examples
    --------
    >>> laplace_scale(10, 0.5)
    20.0
    """
    require(n_trees >= 1 and epsilon > 0, "n_trees and epsilon must be positive")
    return n_trees / epsilon


def privacy_loss(n_trees: int, scale: float) -> float:
    """Privacy loss under add/remove of k noisy leaf histograms at a given Laplace scale: ``n_trees / scale``.

    Examples
    --------
    The paper's experiment, 21 trees at 0.137: noise of standard deviation k/epsilon, then of scale epsilon/k.

    >>> round(privacy_loss(21, 21 / 0.137 / 2**0.5), 3), round(privacy_loss(21, 0.137 / 21))
    (0.194, 3219)
    """
    require(n_trees >= 1 and scale > 0, "n_trees and scale must be positive")
    return n_trees / scale


def private_error_bound(
    tree_error: float,
    delta: float,
    light_share: float,
    voting: Voting,
    slack: float = 0.0,
    *,
    generalization: bool = False,
    as_published: bool = False,
) -> float:
    """Theorems 5.6 and 5.8: error of the private forest, with the probability of ``private_confidence``.

    Printed, with eps the tree error and s = light_share (2 light_share for the generalization error):
    majority ``eps / (1/2 - delta - s)``, threshold ``(2 eps - 2 eps**2) / (1/2 - delta - s)``,
    probability ``2 (eps + s) - 2 (eps + s)**2 + delta + slack``.

    Counterexamples under Algorithm 2 (negative count, uniform share). Attributes of which 60 % equal the
    label and the rest are constant, height 1, 5 % positive records: every positive record has goodness
    0.6 and weight 0.62, so with delta = 0.06 and K = 25 the majority and threshold forests should make no
    error, with probability 0.9999 at n = 1e11, epsilon 1 and 20,000 trees. But a positive record gets an
    average share of 0.47 and 45 % of the votes: all of them are misclassified. With all attributes equal
    to the label, probability voting errs in 25 % of the cases where 2/K + delta + slack is promised.

    With negative counts set to 0: threshold and probability follow from ``average_weight`` with light
    leaves dropped (the printed raising of the tree error by 1/K is wrong there too, see that function).
    Majority needs a margin, because noise flips leaves that are nearly balanced: noise of at most
    ``delta/24`` of the leaf cannot flip a majority above 1/2 + delta/24; for the generalization error,
    where label shares also move by delta/2, above 1/2 + 0.55 delta.

    Parameters
    ----------
    tree_error, delta, light_share, voting, slack
        As in ``random_trees.generalization_error_bound``.
    generalization : bool
        Bound the test error instead of the training error.
    as_published : bool
        Return the printed formula.

    Examples
    --------
    >>> round(private_error_bound(0.05, 0.1, 0.025, "threshold"), 3)
    0.253
    >>> round(private_error_bound(0.0, 0.1, 0.025, "probability", 0.05, as_published=True), 3)
    0.199
    """
    check_voting(voting)
    require(0 < delta < 0.5 and slack >= 0, "need 0 < delta < 1/2 and slack >= 0")
    require(
        0 <= tree_error <= 0.5 and 0 < light_share < 1,
        "need tree_error in [0, 1/2] and light_share in (0, 1)",
    )
    if as_published:
        dropped = (2 if generalization else 1) * light_share
        if voting == "majority":
            return quotient_or_one(tree_error, 0.5 - delta - dropped)
        if voting == "threshold":
            return quotient_or_one(2 * tree_error - 2 * tree_error**2, 0.5 - delta - dropped)
        raised = tree_error + dropped
        return min(1.0, 2 * raised - 2 * raised**2 + delta + slack)
    if voting == "majority":
        margin = 0.55 * delta if generalization else delta / 24
        return majority_with_margin(tree_error, light_share, delta, margin)
    loss = 1 - average_weight(tree_error, light_share)
    if voting == "probability":
        return min(1.0, loss + delta + slack)
    # A weight of 1/2 + delta + light_share is still 1/2 + delta without light leaves: a second valid route.
    return min(
        quotient_or_one(loss, 0.5 - delta),
        quotient_or_one(1 - average_weight(tree_error), 0.5 - delta - light_share),
    )


def private_confidence(
    n_records: int,
    n_trees: int,
    height: int,
    epsilon: float,
    delta: float,
    light_share: float,
    slack: float | None = None,
    *,
    generalization: bool = False,
    as_published: bool = False,
) -> float:
    """Theorems 5.6 and 5.8: probability with which ``private_error_bound`` holds.

    Printed: ``1 - n (exp(-k delta**2 / 2) + exp(-k/2) + k exp(-lambda n epsilon / k))`` with ``lambda =
    delta light_share / (24 * 2**h)``, while the supplement proves it with the square root of n in the
    last exponent. Neither detour is needed: if both noises of a heavy leaf stay below delta/24 of it, its
    share moves by at most delta/23 for sure. So the default is ``1 - n (exp(-k delta**2 / 2) + 2 k
    exp(-lambda n epsilon / k))``.

    For the generalization error the printed budget of delta is overdrawn (delta/2 for the choice of
    trees, delta/2 between training and test, and the noise); the default uses ``exp(-k delta**2 / 8)``
    there, which leaves room for all three.

    Examples
    --------
    >>> round(private_confidence(10**10, 10_000, 1, 1.0, 0.08, 1 / 25), 4)
    0.9999
    """
    require(
        n_records >= 1 and n_trees >= 1 and epsilon > 0, "n_records, n_trees and epsilon must be positive"
    )
    require(0 < delta < 0.5 and 0 < light_share < 1, "need 0 < delta < 1/2 and light_share in (0, 1)")
    rate = delta * light_share / (24 * 2.0**height)
    noise = n_trees * math.exp(-rate * n_records * epsilon / n_trees)
    if as_published:
        failure = math.exp(-n_trees * delta**2 / 2) + math.exp(-n_trees / 2) + noise
    else:
        failure = math.exp(-n_trees * delta**2 / (8 if generalization else 2)) + 2 * noise
    confidence = union_confidence(n_records, failure, slack)
    if generalization:
        confidence -= leaf_count_failure(n_records, n_trees, height, delta, light_share)
    return max(0.0, confidence)


def optimal_number_of_trees(
    n_records: int, height: int, epsilon: float, *, as_published: bool = False
) -> int:
    """Theorems 5.7 and 5.9: the number of trees with the least failure probability at delta = 1/10, K = 40.

    Minimises ``exp(-k/200) + 2 k exp(-gamma N epsilon / k)`` over k >= 1, ``gamma = 1 / (9600 * 2**h)``,
    with N = sqrt(n) as printed or N = n as ``private_confidence`` shows to suffice. The function is
    convex in k, so the root of its derivative is rounded to the better neighbour.

    Examples
    --------
    >>> optimal_number_of_trees(10**10, 1, 1.0), optimal_number_of_trees(10**10, 1, 1.0, as_published=True)
    (9251, 1)
    """
    require(n_records >= 1 and height >= 0 and epsilon > 0, "n_records and epsilon must be positive")
    size = math.sqrt(n_records) if as_published else float(n_records)
    strength = size * epsilon / (9600 * 2.0**height)

    def slope(trees: float) -> float:
        load = strength / trees
        return 2 * math.exp(-load) * (1 + load) - math.exp(-trees / 200) / 200

    if slope(1.0) >= 0:
        return 1
    below = math.floor(float(brentq(slope, 1.0, strength)))
    return min(
        (below, below + 1), key=lambda trees: math.exp(-trees / 200) + 2 * trees * math.exp(-strength / trees)
    )


def optimal_forest_bound(
    tree_error: float,
    n_records: int,
    height: int,
    epsilon: float,
    voting: Voting,
    *,
    as_published: bool = False,
) -> ErrorBound:
    """Theorems 5.7 (threshold) and 5.9 (probability): training error with the optimal number of trees.

    Printed: threshold ``1/8 + 9/2 eps - 5 eps**2``, probability ``1/5 + 19/10 eps - 2 eps**2``. Inserting
    delta = 1/10, K = 40 into the supplement's own formula gives ``39/320 + 19/4 eps - 5 eps**2`` for the
    first, so 9/2 is a slip of arithmetic; and with all leaves pure (eps near 0) Algorithm 2 with
    probability voting errs in 1/4 of the cases, above the printed 1/5. The default is
    ``private_error_bound`` at the same constants, for negative counts set to 0, and also covers majority
    voting.

    The printed probabilities are of no practical use: because of the square root of n, at height 1 and
    epsilon 1 they are zero up to n = 1e20. The default becomes positive near n = 3e9. (Theorem 5.9 also
    misplaces a bracket: the factor ``1 - exp(-n/200)`` belongs to the whole probability.)

    Examples
    --------
    >>> bound = optimal_forest_bound(0.02, 10**10, 1, 1.0, "threshold")
    >>> round(bound.error, 3), round(bound.probability, 6)
    (0.105, 1.0)
    >>> optimal_forest_bound(0.02, 10**10, 1, 1.0, "threshold", as_published=True).probability
    0.0
    """
    check_voting(voting)
    trees = optimal_number_of_trees(n_records, height, epsilon, as_published=as_published)
    slack = _SLACK if voting == "probability" else None
    if not as_published:
        return ErrorBound(
            private_error_bound(tree_error, _DELTA, _LIGHT_SHARE, voting, slack or 0.0),
            private_confidence(n_records, trees, height, epsilon, _DELTA, _LIGHT_SHARE, slack),
        )
    require(voting != "majority", "the paper prints no such bound for majority voting")
    noise = 2 * trees * math.exp(-math.sqrt(n_records) * epsilon / (9600 * 2.0**height) / trees)
    failure = n_records * (math.exp(-trees / 200) + noise + math.exp(-n_records / 2))
    if voting == "threshold":
        return ErrorBound(min(1.0, 1 / 8 + 4.5 * tree_error - 5 * tree_error**2), max(0.0, 1 - failure))
    failure *= -math.expm1(-n_records / 200)
    return ErrorBound(min(1.0, 1 / 5 + 1.9 * tree_error - 2 * tree_error**2), max(0.0, 1 - failure))
