"""Private medians by rank and geometric budgets: Huang, Lei and Kaban (2022).

"Noise-efficient learning of differentially private partitioning machine ensembles", equations 5 to 7. A
node draws its threshold from a candidate list by the exponential mechanism on ranks, and the levels of a
tree share the structure budget in growing portions. Privacy needs three things the paper's algorithms
break: a public range for the candidates (theirs is the data's minimum and maximum: a new largest value
makes impossible thresholds possible), a fixed depth (stopping at ten records reveals the eleventh), and
the level budgets of ``level_budgets`` actually used (Algorithm 1 hands the whole budget to every level,
so a path of depth k costs k times as much).
"""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dpforest.papers.theory.checks import require
from dpforest.papers.theory.noise import exponential_mechanism_pmf


def rank_utility(rank: int, n_records: int) -> float:
    """Section 4: utility of a candidate threshold, minus the distance of its rank from the middle.

    ``rank`` counts the records no larger than the candidate; for a category, the records equal to it. One
    record more or less changes the utility by exactly 1/2, up or down, so the sensitivity 1/2 of the
    paper is right and cannot be halved by monotonicity. Equal to minus half of ``|left - right|`` as used
    by Consul and Williamson (2021).

    Examples
    --------
    >>> rank_utility(3, 10)
    -2.0
    """
    require(0 <= rank <= n_records, "rank must lie between 0 and n_records")
    return -abs(rank - n_records / 2)


def candidate_probabilities(
    values: Sequence[float] | npt.NDArray[np.float64],
    candidates: Sequence[float] | npt.NDArray[np.float64],
    epsilon: float,
) -> npt.NDArray[np.float64]:
    """Equation 5: probability of each candidate threshold, proportional to ``exp(epsilon * rank_utility)``.

    Epsilon-DP under add/remove of one record, 2 epsilon under replace-one, provided the candidates do not
    depend on the records. The paper draws them between the smallest and largest value: eleven zeros give
    a threshold of 0 with probability 1, and one more record at 1 gives a positive one with probability 1.

    Examples
    --------
    >>> candidate_probabilities([0.1, 0.2, 0.8, 0.9], [0.15, 0.5, 0.85], 1.0).round(3).tolist()
    [0.212, 0.576, 0.212]
    """
    require(epsilon > 0, "epsilon must be positive")
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    ranks = np.searchsorted(ordered, np.asarray(candidates, dtype=np.float64), side="right")
    return exponential_mechanism_pmf(-np.abs(ranks - ordered.size / 2), epsilon)


def rank_error_bound(n_candidates: int, epsilon: float, failure: float) -> float:
    """How much further from the middle rank than the best candidate the private median falls, at most.

    Exceeded with probability at most ``failure``: candidates worse by z weigh at most ``n_candidates *
    exp(-epsilon z)`` together against 1 for the best, so ``z = log(n_candidates / failure) / epsilon``.
    The paper uses this mechanism without a bound; the result is McSherry and Talwar's (2007) with
    sensitivity 1/2.

    Examples
    --------
    >>> round(rank_error_bound(100, 1.0, 0.05), 2)
    7.6
    """
    require(
        n_candidates >= 1 and epsilon > 0 and 0 < failure <= 1,
        "need n_candidates >= 1, epsilon > 0, 0 < failure <= 1",
    )
    return math.log(n_candidates / failure) / epsilon


def first_level_share(depth: int, ratio: float = 1.5) -> float:
    """Equation 7: the root's share C of the structure budget when shares grow by ``ratio`` per level.

    ``(ratio - 1) / (ratio**k - 1)``, the paper's ``1 / (2 (3/2)**k - 2)`` at 3/2, and ``1/k`` at ratio 1.

    Examples
    --------
    >>> round(first_level_share(5), 4), first_level_share(4, ratio=1.0)
    (0.0758, 0.25)
    """
    require(depth >= 1 and ratio > 0, "depth must be at least 1 and ratio positive")
    growth = math.log(ratio)
    # expm1 keeps the quotient accurate near ratio 1, where both differences cancel.
    return 1 / depth if growth == 0 else math.expm1(growth) / math.expm1(depth * growth)


def level_budgets(epsilon: float, depth: int, ratio: float = 1.5) -> npt.NDArray[np.float64]:
    """Equations 6 and 7: budgets of the levels 0..depth-1, growing by ``ratio`` and adding up to ``epsilon``.

    The sum over a path is the cost of the structure, because the nodes of a level hold different records.

    The ratio 3/2 comes from "twice the records times an expected distance of 1/3". The factor 1/3 is the
    same for parent and child and cancels: utilities are counts, a parent has twice the child's, so equal
    exponents at every level would take ratio 2. The choice 3/2 is a compromise and not an optimum; any
    positive ratio keeps the total.

    Examples
    --------
    >>> level_budgets(1.0, 3).round(4).tolist()
    [0.2105, 0.3158, 0.4737]
    >>> float(level_budgets(2.0, 10).sum().round(12))
    2.0
    """
    require(epsilon > 0, "epsilon must be positive")
    levels = np.arange(depth, dtype=np.float64)
    budgets: npt.NDArray[np.float64] = epsilon * first_level_share(depth, ratio) * np.power(ratio, levels)
    return budgets
