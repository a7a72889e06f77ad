"""Majority labels of random decision trees: Fletcher and Islam (2017) and the addendum of 2021.

"Differentially private random decision forests using smooth sensitivity". A leaf with class counts
releases one label. The paper scores the majority label 1 and the others 0 and divides by a smooth
sensitivity (Theorem 1, Table 2); the addendum withdraws that in favour of the counts themselves (Tables 5
and 6). Theorem 2 gives the depth of the trees (Table 4). Smooth sensitivity in the exponential mechanism
is not private: see ``smooth_mechanism_loss``.

The gain that Section 4.2 (equation 14) sees in giving each of T trees its own rows is an artefact of
that: with scores that are counts, T disjoint parts at epsilon and all rows at epsilon / T have the same
exponent ``epsilon * count / T``.
"""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from dpforest.forests.depths import depth_that_tests_half
from dpforest.papers.theory.checks import require
from dpforest.papers.theory.noise import exponential_mechanism_pmf, permute_and_flip_pmf

LabelMechanism = Literal["smooth", "exponential", "permute_and_flip"]


def smooth_sensitivity(gap: int, epsilon: float, *, as_published: bool = False) -> float:
    """Theorem 1 and Table 2: smooth sensitivity of the 0/1 majority score of a leaf.

    Printed: ``exp(-j epsilon)``. It is off by one: at gap 1 one more record of the runner-up makes a tie,
    both then score 1, so the local sensitivity is already 1 there and the smooth sensitivity is
    ``exp(-(j-1) epsilon)`` for j >= 1, and 1 for j = 0. Even the right value does not make the
    exponential mechanism private.

    Table 2 agrees with the printed formula; the cells 0.99004, 0.95122 and 0.90483 are cut off, the
    others rounded.

    Parameters
    ----------
    gap : int
        j, the difference of the two largest class counts.
    epsilon : float
        Budget of the label.
    as_published : bool
        Return the printed formula.

    Examples
    --------
    >>> round(smooth_sensitivity(5, 0.1, as_published=True), 5)
    0.60653
    >>> smooth_sensitivity(1, 0.1)
    1.0
    """
    require(gap >= 0 and epsilon > 0, "gap must be non-negative and epsilon positive")
    distance = gap if as_published else max(gap - 1, 0)
    return math.exp(-distance * epsilon)


def smooth_mechanism_loss(gap: int, epsilon: float, *, as_published: bool = True) -> float:
    """Privacy loss of Theorem 1's mechanism on two neighbouring leaves with two classes.

    The log-ratio of the probabilities of the minority label at gap j and, one majority record later, at
    gap j + 1. Any value above epsilon refutes the claim of epsilon-DP. The minority label has probability
    ``1 / (1 + exp(epsilon / (2 S)))``, and as S falls geometrically the exponent explodes: at epsilon 1
    the loss is 6.3 at gap 2 and 17 at gap 3, at epsilon 0.1 it is 2.1 at gap 60. It has no upper bound,
    so the addendum's guess that the true cost may be twice the stated one is far too kind.
    ``as_published=False`` uses the right smooth sensitivity: the same happens one record later.

    Examples
    --------
    >>> round(smooth_mechanism_loss(2, 1.0), 2), round(smooth_mechanism_loss(3, 1.0), 1)
    (6.32, 17.3)
    >>> smooth_mechanism_loss(3, 1.0, as_published=False) == smooth_mechanism_loss(2, 1.0)
    True
    """

    def log_minority(current_gap: int) -> float:
        exponent = epsilon / (2 * smooth_sensitivity(current_gap, epsilon, as_published=as_published))
        return -float(np.logaddexp(0.0, exponent))

    return log_minority(gap) - log_minority(gap + 1)


def label_probabilities(
    counts: Sequence[int], epsilon: float, mechanism: LabelMechanism = "permute_and_flip"
) -> npt.NDArray[np.float64]:
    """Tables 5 and 6: probability of releasing each class label of a leaf.

    ``"smooth"``
        The paper's mechanism as published: score 1 for every label with the largest count, exponent
        ``epsilon / (2 exp(-j epsilon))``. Not private.
    ``"exponential"``
        The addendum's formula ``exp(epsilon * count)``, as in Table 6. Epsilon-DP under add/remove, as
        counts are monotone; under replace-one it costs 2 epsilon.
    ``"permute_and_flip"``
        What the addendum describes in words, "report one-sided noisy arg-max": exponential noise of rate
        epsilon on every count. That mechanism *is* permute-and-flip, not the exponential mechanism the
        addendum takes it for: counts (5, 10) at epsilon 0.1 give 0.697 instead of Table 6's 0.622. Also
        epsilon-DP, and never less accurate.

    Table 6's "original" column follows the paper's formula (93.8 is cut off from 93.88); the addendum's
    equation 18, for counts (5, 10), uses the sensitivity 0.36 of gap 10 instead of 0.61 and so disagrees
    with its own table.

    Parameters
    ----------
    counts : sequence of int
        Class counts of the leaf.
    epsilon : float
        Budget of the label.
    mechanism : {"smooth", "exponential", "permute_and_flip"}
        Which of the three.

    Examples
    --------
    >>> label_probabilities([5, 10], 0.1, "smooth").round(3).tolist()
    [0.479, 0.521]
    >>> label_probabilities([5, 10], 0.1, "exponential").round(3).tolist()
    [0.378, 0.622]
    >>> label_probabilities([5, 10], 0.1, "permute_and_flip").round(3).tolist()
    [0.303, 0.697]
    """
    frequency = np.asarray(counts, dtype=np.float64)
    require(frequency.ndim == 1 and frequency.size >= 2, "counts must list at least two classes")
    require(epsilon > 0, "epsilon must be positive")
    if mechanism == "exponential":
        return exponential_mechanism_pmf(frequency, epsilon)
    if mechanism == "permute_and_flip":
        return permute_and_flip_pmf(frequency, epsilon)
    require(mechanism == "smooth", "mechanism must be 'smooth', 'exponential' or 'permute_and_flip'")
    runner_up, largest = np.sort(frequency)[-2:]
    sensitivity = smooth_sensitivity(int(largest - runner_up), epsilon, as_published=True)
    return exponential_mechanism_pmf((frequency == largest).astype(np.float64), epsilon / (2 * sensitivity))


def expected_untested_features(n_continuous: int, depth: int, n_discrete: int = 0) -> float:
    """Theorem 2: expected number of features never tested on a root-to-leaf path of the given depth.

    For continuous features only, drawn with replacement, it is the printed ``s ((s-1)/s)**d``. The paper
    has no formula for mixtures; here a discrete feature leaves the urn once tested, as its Algorithm 2
    does, and the expectation is computed exactly over the number of discrete features tested so far.

    Examples
    --------
    >>> round(expected_untested_features(5, depth=4), 3)
    2.048
    >>> round(expected_untested_features(6, depth=8, n_discrete=8), 2)
    6.97
    """
    require(
        n_continuous >= 0 and n_discrete >= 0 and depth >= 0, "feature numbers and depth must not be negative"
    )
    tested = np.zeros(n_discrete + 1)  # probability that so many discrete features have been tested
    tested[0] = 1.0
    one_spared = tested.copy()  # the same, together with one given continuous feature never being drawn
    for _ in range(depth):
        next_tested, next_spared = np.zeros_like(tested), np.zeros_like(tested)
        for used in range(n_discrete + 1):
            left = n_continuous + n_discrete - used
            if left == 0:  # nothing to test any more: the path ends
                next_tested[used] += tested[used]
                continue
            next_tested[used] += tested[used] * n_continuous / left
            next_spared[used] += one_spared[used] * max(n_continuous - 1, 0) / left
            if used < n_discrete:
                next_tested[used + 1] += tested[used] * (n_discrete - used) / left
                next_spared[used + 1] += one_spared[used] * (n_discrete - used) / left
        tested, one_spared = next_tested, next_spared
    untested_discrete = n_discrete - float(tested @ np.arange(n_discrete + 1))
    return n_continuous * float(one_spared.sum()) + untested_discrete


def tree_depth(n_continuous: int, n_discrete: int = 0, *, as_tabulated: bool = False) -> int:
    """Theorem 2, equation 16: the depth at which fewer than half of the continuous features remain untested.

    The smallest d with ``s ((s-1)/s)**d < s/2``, plus half the discrete features (rounded down). Equation
    16 as written, the arg-min of a quantity that falls with d, would be infinite; the text means the
    smallest such d.

    Table 4 has one level more wherever there are continuous features, as a loop does that counts before
    it tests; ``as_tabulated=True`` gives the table. For its mixed data set (Adult, 6 continuous and 8
    discrete) the exact ``expected_untested_features`` first falls below half at depth 8, which is this
    function's value, where the table has 9.

    Examples
    --------
    >>> tree_depth(10), tree_depth(6, 8), tree_depth(0, 22)
    (7, 8, 11)
    >>> [tree_depth(s, r, as_tabulated=True) for s, r in ((10, 0), (6, 8), (0, 22))]
    [8, 9, 11]
    """
    require(n_continuous >= 0 and n_discrete >= 0, "feature numbers must not be negative")
    return depth_that_tests_half(n_continuous, n_discrete) + int(as_tabulated and n_continuous > 0)
