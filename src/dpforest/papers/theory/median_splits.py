"""One private median split: the results of Consul and Williamson (2021).

"Balance is key: private median splits yield high-utility random trees". A node holds n records of one
continuous attribute with public range; the exponential mechanism draws a threshold r with density
proportional to ``exp(-(epsilon/2) * |left - right|)``, which is epsilon-DP under add/remove of one
record. ``left_count_pmf`` is that mechanism, exactly; Theorems 1 and 2 bound what an unbalanced split
costs, Theorem 3 and Corollary 3.1 how likely it is. The sensitivities of their Appendix A close the
module. Whole trees are in ``median_trees``.
"""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dpforest.papers.theory.checks import require
from dpforest.papers.theory.noise import laplace_argmax_error

# The largest value of g * laplace_argmax_error(g, 1), attained at g = sqrt(2): what noise can cost one leaf.
_WORST_FLIP_COST = (0.5 + math.sqrt(2) / 2) * math.exp(-math.sqrt(2))


def left_count_pmf(
    values: Sequence[float] | npt.NDArray[np.float64], low: float, high: float, epsilon: float
) -> npt.NDArray[np.float64]:
    """Exact distribution of the number of records left of the private median (Section 3.1).

    Entry i is the probability that the threshold falls between the i-th and the (i+1)-th smallest value:
    the length of that interval times ``exp(-epsilon * |i - n/2|)``, normalised. ``epsilon=0`` is the
    uniformly random split.

    Parameters
    ----------
    values : sequence of float
        The attribute of the node's records, inside the public range.
    low, high : float
        The public range.
    epsilon : float
        Budget of the split.

    Examples
    --------
    >>> left_count_pmf([0.2, 0.4, 0.6, 0.8], 0, 1, epsilon=1).round(3).tolist()
    [0.067, 0.183, 0.498, 0.183, 0.067]
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    require(low < high and epsilon >= 0, "low must be below high and epsilon non-negative")
    require(
        ordered.size == 0 or (ordered[0] >= low and ordered[-1] <= high), "values must lie in [low, high]"
    )
    lengths = np.diff(np.concatenate(([low], ordered, [high])))
    distance = np.abs(np.arange(ordered.size + 1) - ordered.size / 2)
    reachable = lengths > 0
    logits = np.full(lengths.size, -np.inf)
    logits[reachable] = np.log(lengths[reachable]) - epsilon * distance[reachable]
    weights = np.exp(logits - logits.max())
    pmf: npt.NDArray[np.float64] = weights / weights.sum()
    return pmf


def regression_loss_bound(
    n_records: int, smaller_side: int, bound: float, epsilon_leaf: float, *, as_published: bool = False
) -> float:
    """Theorem 1: extra squared error of an unbalanced split with noisy leaf means over the exact median.

    Holds, in expectation over the leaf noise, whenever the smaller side holds more than ``smaller_side``
    records. The printed bound ``4 B**2 n - 8 B**2 t + 16 B**2 / (epsilon**2 t)`` is true but counts the
    moved records twice: removing records never raises a side's squared error and adding one raises it by
    less than ``(2B)**2``, so moving at most n/2 - t records costs ``4 B**2 (n/2 - t)`` in all, and the
    noise of two sides of sizes a + b = n costs ``8 B**2 / epsilon**2 * (1/a + 1/b)``. That smaller bound
    is the default.

    The leaf mean it speaks of, with Laplace noise of scale ``2B / (size * epsilon)``, is not private
    because the scale reveals the size; for the private leaf see
    ``noise.soft_histogram_squared_error_bound``.

    Parameters
    ----------
    n_records : int
        Records in the node, n.
    smaller_side : int
        The theorem's t, ``0 < t < n/2``.
    bound : float
        B, with every target in [-B, B].
    epsilon_leaf : float
        Budget of a leaf mean.
    as_published : bool
        Return the printed formula.

    Examples
    --------
    >>> round(regression_loss_bound(100, 40, 1.0, 0.5), 2)
    41.33
    >>> round(regression_loss_bound(100, 40, 1.0, 0.5, as_published=True), 2)
    81.6
    """
    require(0 < smaller_side < n_records / 2, "smaller_side must lie strictly between 0 and n_records / 2")
    require(bound > 0 and epsilon_leaf > 0, "bound and epsilon_leaf must be positive")
    moved, noise = n_records / 2 - smaller_side, 8 * (bound / epsilon_leaf) ** 2
    if as_published:
        return 8 * bound**2 * moved + 2 * noise / smaller_side
    return 4 * bound**2 * moved + noise * (1 / smaller_side + 1 / (n_records - smaller_side))


def accuracy_loss_bound(
    n_records: int,
    smaller_side: int,
    epsilon_leaf: float,
    purity: float | None = None,
    *,
    as_published: bool = False,
) -> float:
    """Theorem 2: accuracy lost by an unbalanced split with noisy class counts, two classes.

    False as printed: its proof bounds the labels flipped by noise but not the accuracy lost because the
    private split is a different split. With 400 records sorted as 200 of one class and 200 of the other,
    a split at 100 has accuracy 3/4 where the median has 1; at epsilon 1, t = 99 and purity 2/3 the
    printed bound is 4e-14.

    Corrected: moving at most n/2 - t records across the threshold makes at most that many more wrong, so
    ``1/2 - t/n`` must be added; it is attained in the example. The flips cost the sum over the two leaves
    of ``gap * laplace_argmax_error(gap) / n``, where gap is the difference of the class counts. With a
    purity theta this is at most the printed expression; without any assumption it is at most ``0.587 /
    (epsilon n)``, because ``x (1/2 + x/4) exp(-x)`` never exceeds 0.2935. The smaller of the two is used.

    Parameters
    ----------
    n_records, smaller_side
        As in ``regression_loss_bound``: the smaller side holds more than ``smaller_side`` records.
    epsilon_leaf : float
        Budget of the class counts, each with Laplace(1/epsilon) noise.
    purity : float, optional
        The least share of the majority class in a leaf of the private split, at least 1/2. Needed for the
        printed formula.
    as_published : bool
        Return the printed formula.

    Examples
    --------
    >>> round(accuracy_loss_bound(400, 99, 1.0, 2 / 3), 4)
    0.2525
    >>> accuracy_loss_bound(400, 99, 1.0, 2 / 3, as_published=True) < 1e-13
    True
    """
    require(0 < smaller_side < n_records / 2, "smaller_side must lie strictly between 0 and n_records / 2")
    require(purity is None or 0.5 <= purity <= 1, "purity must lie in [1/2, 1]")
    flips = 1.0
    if purity is not None:
        flips = laplace_argmax_error(smaller_side * (2 * purity - 1), epsilon_leaf)
    if as_published:
        require(purity is not None, "the printed bound needs purity")
        return flips
    return 0.5 - smaller_side / n_records + min(flips, 2 * _WORST_FLIP_COST / (epsilon_leaf * n_records))


def balanced_split_probability(spread: float, width: float, epsilon: float, *, slack: int = 0) -> float:
    """Theorem 3: least probability that the private median leaves enough records on both sides.

    If the ``n - 2t`` centremost records cover a length ``spread`` inside a range of length ``width``, the
    smaller side holds more than ``t`` records with at least the returned probability, ``spread / (width
    e**-epsilon + spread (1 - e**-epsilon))``. The printed conclusion says "at least t", one fewer than
    the proof gives. The range must be public: taken from the data it voids privacy.

    ``slack`` generalises it by the same proof: thresholds s further ranks out weigh another factor
    ``e**-epsilon`` per rank, so the smaller side holds more than ``t - slack`` records with the
    probability at budget ``(1 + slack) * epsilon``.

    No statement can do without ``spread``: 20 records inside a length of 1e-6 of the unit range are left
    unsplit with probability 0.997 at epsilon 1.

    Examples
    --------
    >>> round(balanced_split_probability(0.5, 1.0, epsilon=1.0), 3)
    0.731
    >>> round(balanced_split_probability(0.5, 1.0, epsilon=1.0, slack=4), 3)
    0.993
    """
    require(0 <= spread <= width and width > 0, "spread must lie in [0, width] and width be positive")
    require(epsilon >= 0 and slack >= 0, "epsilon and slack must be non-negative")
    damping = math.exp(-epsilon * (1 + slack))
    return spread / ((width - spread) * damping + spread)


def random_split_balance_probability(spread: float, width: float) -> float:
    """Corollary 3.1: the same probability for a uniformly random threshold, ``spread / width``, now exactly.

    It is the value of ``balanced_split_probability`` at epsilon 0, and that function increases with
    epsilon: private medians are never less balanced than random splits. The corollary holds as printed
    when ``spread`` is the true length covered by the centremost records; for every t the comparison is a
    likelihood-ratio ordering.

    Examples
    --------
    >>> random_split_balance_probability(0.5, 1.0)
    0.5
    """
    return balanced_split_probability(spread, width, epsilon=0.0)


def mean_change(n_records: int, width: float) -> float:
    """Appendix A.1: a mean of n targets moves by at most ``width / n`` when one of them is removed.

    True, but a local sensitivity: it depends on the private n, so Laplace noise of scale ``width / (n
    epsilon)`` is not epsilon-DP (see ``noise.published_leaf_mean_variance``).

    Examples
    --------
    >>> mean_change(50, 2.0)
    0.04
    """
    require(n_records > 1, "n_records must exceed 1")
    return width / n_records


def mean_squared_error_change(
    n_records: int, bound: float, *, as_published: bool = False
) -> tuple[float, float]:
    """Appendix A.2: range of the change of the variance of n targets in [-B, B] when the n-th is added.

    Printed: at most ``4 B**2 / n`` either way. The exact range is ``[-B**2 / n, 4 B**2 (n - 1) / n**2]``:
    with m the mean and S the squared error of the first n - 1, the change is ``(n-1)/n**2 (y - m)**2 - S
    / (n (n-1))``. Used with the private n in the exponent the n cancels, ``n * MSE = SSE``, and the
    selection is private; see ``squared_error_change`` for the sharper constant. If the score is the
    unweighted mean of the two children's variances nothing cancels: with n = 100 and epsilon 1 one record
    changes a probability by a factor e**5.37.

    Examples
    --------
    >>> mean_squared_error_change(10, 1.0)
    (-0.1, 0.36)
    >>> mean_squared_error_change(10, 1.0, as_published=True)
    (-0.4, 0.4)
    """
    require(n_records > 1 and bound > 0, "n_records must exceed 1 and bound be positive")
    if as_published:
        return -4 * bound**2 / n_records, 4 * bound**2 / n_records
    return -(bound**2) / n_records, 4 * bound**2 * (n_records - 1) / n_records**2


def squared_error_change(n_records: int, width: float) -> tuple[float, float]:
    """Range of the change of the squared error of ``n_records`` targets when one more is added.

    ``SSE(S + y) - SSE(S) = n/(n+1) (y - mean)**2``, so the change lies in ``[0, width**2 n/(n+1)]``:
    never negative and below ``width**2`` whatever n is. Monotone utilities need no factor 2, so the
    exponential mechanism may use ``exp(-epsilon SSE / width**2)``: twice the printed strength for targets
    in [-B, B], eight times for targets in [0, B].

    Examples
    --------
    >>> squared_error_change(9, 1.0)
    (0.0, 0.9)
    """
    require(n_records >= 0 and width > 0, "n_records must be non-negative and width positive")
    return 0.0, width**2 * n_records / (n_records + 1)
