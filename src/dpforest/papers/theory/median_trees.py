"""A whole tree of noisy medians: the results of Consul and Williamson (2020).

"Differentially private median forests for regression and classification", the first version of the paper
behind ``median_splits``. A tree of depth d over n records, n a multiple of 2**d, is compared with the
tree of exact medians on the same attributes. There a split sends j of c records left with probability
proportional to ``exp(-epsilon * |j - c/2|)``, regardless of the gaps between the values.

That index mechanism is itself not private (drawing a threshold between two records that lie 2e-6 apart in
the unit range gives a log-ratio of 12.6 at epsilon 1), and for the private one, weighted by interval
lengths, no bound on counts holds without an assumption on the spread: use
``median_splits.balanced_split_probability`` there.
"""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dpforest.papers.theory.checks import require
from dpforest.papers.theory.noise import discrete_laplace_variance

# The authors' beta: 1 / (1 - x) <= exp(2 x) for 0 <= x <= beta**2 (true up to 0.797; beta**2 is 0.757).
_BETA = math.sqrt((math.sqrt(1 - 2 / math.e) + 1) / 2)


def leaf_loss_change(path_deviations: Sequence[float], bound: float, *, as_published: bool = False) -> float:
    """Theorem 1: how much a leaf's squared error can change when the medians above it are noisy.

    False as printed for depth 2 and more: it claims ``4 B**2 t`` when the leaf's *size* is off by at most
    t, but a leaf of the right size may hold other records. With 16 sorted records, a root split at 12 and
    a left split at 8, the second leaf holds records 9 to 12 instead of 5 to 8: t = 0, yet its squared
    error may be 0 in one tree and 4 B**2 in the other.

    Corrected: ``4 B**2`` times the sum of the deviations of the node counts along the path. Proof: let a
    and b be the numbers of records missing from and foreign to the node at some level, and tau the
    deviation of its count (b - a = tau). If the private threshold keeps more of the parent than the exact
    one, the child misses no more than the parent did and has tau more foreign ones; otherwise the roles
    are exchanged. So max(a, b) grows by at most |tau| per level, and each foreign or missing record is
    worth less than ``(2B)**2`` of squared error. At depth 1 this is the printed bound.

    Parameters
    ----------
    path_deviations : sequence of float
        ``|count - n / 2**level|`` of the nodes from level 1 down to the leaf.
    bound : float
        B, with every target in [-B, B].
    as_published : bool
        Return the printed formula, which looks at the leaf's own deviation only.

    Examples
    --------
    >>> leaf_loss_change([4, 0], 1.0)
    16.0
    >>> leaf_loss_change([4, 0], 1.0, as_published=True)
    0.0
    """
    require(len(path_deviations) > 0 and bound > 0, "the path must not be empty and bound be positive")
    relevant = path_deviations[-1:] if as_published else path_deviations
    return 4.0 * bound**2 * math.fsum(abs(deviation) for deviation in relevant)


def tree_loss_change(depth: int, leaf_deviation: float, bound: float, *, as_published: bool = False) -> float:
    """Corollary 1.1: how much the tree's squared error can change if every leaf size is off by at most t.

    Printed: ``2**(d+2) B**2 t``. True for depth 1 and 2, false from depth 3: cut eight equal runs of
    sorted records with alternating targets -B, B at boundaries moved by 1, 2, 3, 4, 3, 2, 1 records.
    Every leaf is off by 1, the exact tree has no error, and the noisy one has 63.1 B**2 with runs of 200,
    against the printed 32 B**2.

    Corrected: ``4 B**2`` times the number M of records that can change leaf. A level-l node is off by at
    most ``2**(d-l) t``, and the threshold of a node that misses a and has b foreign records moves past at
    most ``min(a, b) + 2**(d-l) t`` records. Below the root one of a, b is 0, later their sum over a level
    is the number moved so far: ``M <= (3 * 4**(d-1) / 2 - 2**(d-1)) t`` for d >= 2, and t for d = 1.

    Examples
    --------
    >>> [tree_loss_change(d, 1, 1.0) for d in (1, 2, 3)]
    [4.0, 16.0, 80.0]
    >>> [tree_loss_change(d, 1, 1.0, as_published=True) for d in (1, 2, 3)]
    [8.0, 16.0, 32.0]
    """
    require(
        depth >= 1 and leaf_deviation >= 0 and bound > 0, "need depth >= 1, leaf_deviation >= 0, bound > 0"
    )
    if as_published:
        moved = 2.0**depth
    else:
        moved = 1.0 if depth == 1 else 1.5 * 4.0 ** (depth - 1) - 2.0 ** (depth - 1)
    return 4.0 * bound**2 * moved * leaf_deviation


def _depth_factor(depth: int) -> float:
    """Sum of 4**-k for k below depth: a deviation halves at every level below the split that caused it."""
    return 4 * (1 - 4.0**-depth) / 3


def _check_tail(deviation: float, depth: int, epsilon: float) -> None:
    require(deviation > 0 and depth >= 1 and epsilon > 0, "deviation, depth and epsilon must be positive")


def leaf_count_tail_chebyshev(
    deviation: float, depth: int, epsilon: float, *, as_published: bool = False
) -> float:
    """Theorem 2, first bound: Chebyshev for ``P(|leaf count - n / 2**d| >= deviation)``.

    The paper replaces each split's integer noise by a Laplace variable of scale ``1/epsilon``, for which
    ``gamma / (epsilon t)**2`` with ``gamma = 8 (1 - 4**-d) / 3`` is right. Integers need a condition or a
    correction: a node with an odd count cannot split evenly. With 5 records, depth 1 and epsilon 8 every
    split is off by at least 1/2, where the printed bound says 0.125. If c is odd the noise is a discrete
    Laplace variable plus a fair coin of +-1/2, so its variance is at most ``1 / (2 sinh(epsilon/2)**2) +
    1/4``; the default uses that and holds for every n. No violation of the printed bound is known for n a
    multiple of 2**d.

    Examples
    --------
    >>> round(leaf_count_tail_chebyshev(5, 3, 1.0, as_published=True), 3)
    0.105
    >>> round(leaf_count_tail_chebyshev(5, 3, 1.0), 3)
    0.11
    """
    _check_tail(deviation, depth, epsilon)
    per_split = 2 / epsilon**2 if as_published else discrete_laplace_variance(epsilon) + 0.25
    return min(1.0, _depth_factor(depth) * per_split / deviation**2)


def leaf_count_tail_subexponential(
    deviation: float, depth: int, epsilon: float, *, as_published: bool = False
) -> float:
    """Theorem 2, second bound: sub-exponential tail of ``|leaf count - n / 2**d|``.

    Printed: the larger of ``2 exp(-(epsilon t)**2 / (4 gamma))`` and ``2 exp(-epsilon beta t / 2)``,
    right in the paper's Laplace model. The discrete Laplace moment generating function is below the
    continuous one, and the coin of an odd node multiplies it by at most ``exp(s**2 / 8)``; the default
    adds that to the variance proxy and holds for every n.

    Examples
    --------
    >>> round(leaf_count_tail_subexponential(20, 3, 1.0), 5)
    0.00033
    """
    _check_tail(deviation, depth, epsilon)
    proxy = _depth_factor(depth) * (4 / epsilon**2 + (0.0 if as_published else 0.25))
    rate = epsilon * _BETA
    if deviation <= proxy * rate:
        return min(1.0, 2 * math.exp(-(deviation**2) / (2 * proxy)))
    return min(1.0, 2 * math.exp(-deviation * rate / 2))


def leaf_count_tail(deviation: float, depth: int, epsilon: float, *, as_published: bool = False) -> float:
    """Theorem 2: the tighter of the two bounds on ``P(|leaf count - n / 2**d| >= deviation)``.

    The appendix says Chebyshev is the tighter one for ``t epsilon / sqrt(gamma)`` between 0.76 and 3.61.
    The upper end forgets that the other bound has left its Gaussian part by then; at depth 10 it is 6.04.

    Examples
    --------
    >>> leaf_count_tail(5, 3, 1.0) == leaf_count_tail_chebyshev(5, 3, 1.0)
    True
    >>> leaf_count_tail(20, 3, 1.0) == leaf_count_tail_subexponential(20, 3, 1.0)
    True
    """
    return min(
        leaf_count_tail_chebyshev(deviation, depth, epsilon, as_published=as_published),
        leaf_count_tail_subexponential(deviation, depth, epsilon, as_published=as_published),
    )


def leaf_count_tail_laplace_model(deviation: float, depth: int, epsilon: float) -> float:
    """Exact tail in the Laplace model behind Theorem 2, sharper than both printed bounds.

    The deviation is a sum of Laplace variables of scales ``b_i = 2**-i / epsilon``, i < d. Their scales
    differ, so partial fractions of the characteristic function give the tail as the sum of ``c_i exp(-t /
    b_i)``, ``c_i`` the product over j != i of ``b_i**2 / (b_i**2 - b_j**2)``.

    Examples
    --------
    >>> round(leaf_count_tail_laplace_model(5, 3, 1.0), 4)
    0.0096
    >>> round(leaf_count_tail(5, 3, 1.0, as_published=True), 4)
    0.105
    """
    _check_tail(deviation, depth, epsilon)
    squares = [4.0**-i for i in range(depth)]
    tail = 0.0
    for i, square in enumerate(squares):
        coefficient = math.prod(square / (square - other) for j, other in enumerate(squares) if j != i)
        tail += coefficient * math.exp(-deviation * epsilon * 2.0**i)
    return tail


def leaf_count_pmf(n_records: int, depth: int, epsilon: float) -> npt.NDArray[np.float64]:
    """Exact distribution of a leaf's count in a depth-d tree of the index mechanism.

    Entry c is the probability of c records, by applying the split ``P(j | c)`` proportional to
    ``exp(-epsilon |j - c/2|)``, j = 0..c, level by level. Costs ``depth * n_records**2`` operations.

    Examples
    --------
    >>> leaf_count_pmf(4, 1, 1.0).round(3).tolist()
    [0.067, 0.183, 0.498, 0.183, 0.067]
    """
    require(
        n_records >= 0 and depth >= 0 and epsilon > 0,
        "n_records and depth must not be negative, epsilon positive",
    )
    counts = np.arange(n_records + 1)
    distance = np.abs(counts[np.newaxis, :] - counts[:, np.newaxis] / 2)
    weights = np.where(counts[np.newaxis, :] <= counts[:, np.newaxis], np.exp(-epsilon * distance), 0.0)
    split = weights / weights.sum(axis=1, keepdims=True)
    pmf: npt.NDArray[np.float64] = np.zeros(n_records + 1)
    pmf[n_records] = 1.0
    for _ in range(depth):
        pmf = pmf @ split
    return pmf


def tree_loss_bound(
    n_records: int,
    depth: int,
    deviation: float,
    bound: float,
    epsilon_leaf: float,
    *,
    as_published: bool = False,
) -> float:
    """Theorem 3: extra squared error of the private tree with noisy leaf means, targets in [-B, B].

    Printed: ``(2 B**2 t + R**2 / (epsilon**2 (n/2**d - t))) 2**(d+1)`` with R = 2B here, with the
    probability of ``tree_loss_confidence``. Its proof rests on Corollary 1.1, false from depth 3 on, so
    from there on it is unproved.

    Corrected: if *every* node, not only every leaf, is off by at most t, then M, the number of records in
    a wrong leaf, satisfies ``M_l <= 2 M_(l-1) + 2**(l-1) t`` level by level (see ``tree_loss_change``),
    hence ``d 2**(d-1) t`` in all, each worth ``4 B**2``. The noise term is the printed one; its leaf mean
    is not private because its scale reveals the leaf's size.

    Examples
    --------
    >>> round(tree_loss_bound(1024, 3, 10, 1.0, 1.0), 1)
    480.5
    >>> round(tree_loss_bound(1024, 3, 10, 1.0, 1.0, as_published=True), 1)
    320.5
    """
    share = n_records / 2.0**depth
    require(
        depth >= 1 and 0 < deviation < share,
        "need depth >= 1 and deviation between 0 and n_records / 2**depth",
    )
    require(bound > 0 and epsilon_leaf > 0, "bound and epsilon_leaf must be positive")
    noise = 2.0 ** (depth + 1) * (2 * bound / epsilon_leaf) ** 2 / (share - deviation)
    moved = 2.0**depth if as_published else depth * 2.0 ** (depth - 1)
    return 4 * bound**2 * moved * deviation + noise


def tree_loss_confidence(
    deviation: float, depth: int, epsilon_split: float, *, as_published: bool = False
) -> float:
    """Theorem 3: the probability with which ``tree_loss_bound`` holds.

    Printed: ``1 - zeta`` if a leaf's tail is at most ``2**(1-d) zeta``. The proof needs all leaves within
    t on *both* sides for the split part but spends the union bound on one side only, so ``1 - 2 zeta`` is
    what it gives for d >= 2. Corrected: one minus the tails of all nodes, level by level (the root's two
    children are off together).

    Examples
    --------
    >>> round(tree_loss_confidence(20, 3, 1.0), 4)
    0.9957
    >>> round(tree_loss_confidence(20, 3, 1.0, as_published=True), 4)
    0.9987
    """
    if as_published:
        return max(
            0.0, 1 - 2.0 ** (depth - 1) * leaf_count_tail(deviation, depth, epsilon_split, as_published=True)
        )
    failure = math.fsum(
        (2**level if level > 1 else 1) * leaf_count_tail(deviation, level, epsilon_split)
        for level in range(1, depth + 1)
    )
    return max(0.0, 1 - failure)
