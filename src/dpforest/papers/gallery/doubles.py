"""What the last bits of a double betray: Laplace noise and thresholds in floating point.

Mironov (2012): a generator makes one of 2**53 uniform numbers, and the arithmetic after it is deterministic.
So a count plus noise, or a point between two values, takes only some of the doubles, and the private number
decides which. The attack finds, for every output, whether any of the 2**53 uniform numbers leads to it;
outputs without one are impossible.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dpforest._arrays import FloatArray, IntArray
from dpforest.mechanisms import (
    RandomWords,
    Rate,
    discrete_laplace,
    discrete_laplace_log_pmf,
    exponential,
    quantile_range,
    quantile_utilities,
)
from dpforest.papers.gallery import rigorous
from dpforest.papers.gallery.case import Case, Measured, make_case
from dpforest.papers.published.domain import Domain
from dpforest.papers.published.median_splits import median_by_length
from dpforest.papers.published.partitioning import Labelled, distribute_labels
from dpforest.papers.published.random_trees import random_tree
from dpforest.schema import Numeric

__all__ = ["bit_attacks", "reachable_counts", "reachable_thresholds"]

UNIFORMS = 2**53
LARGEST_ROUNDING = 4  # steps of 2**-53; see `reachable_counts`

BEFORE, NEW = [0.3, 900.0, 950.0], 0.3000001
LOW, HIGH = -100.0, 1000.0


def _last_not_above(outputs: FloatArray, value_of: Callable[[IntArray], FloatArray]) -> IntArray:
    """Largest number of the uniform grid whose value does not exceed each output; value_of must not fall."""
    low, high = np.ones(len(outputs), dtype=np.int64), np.full(len(outputs), UNIFORMS - 1)
    while (high > low).any():
        middle = low + (high - low + 1) // 2
        fits = value_of(middle) <= outputs
        low, high = np.where(fits, middle, low), np.where(fits, high, middle - 1)
    return low


# --- noise ---------------------------------------------------------------------------------------------


def reachable_counts(outputs: FloatArray, count: float, scale: float) -> NDArray[np.bool_]:
    """Tell which outputs numpy can make of a count plus Laplace noise.

    numpy draws u = k 2**-53 and returns count + scale log(2u) below 1/2, count - scale log(2 - 2u) above.
    Both rise with k, up to the rounding of the logarithm, so the search is a bisection. It uses numpy's
    vectorised logarithm, which may differ by a rounding from the C library's that the generator calls; hence
    the last step tries all k nearby with the latter.

    Parameters
    ----------
    outputs : ndarray
        Released numbers.
    count : float
        The private count.
    scale : float
        Scale of the noise.

    Returns
    -------
    ndarray of bool
    """

    def value(k: IntArray, log: Callable[[FloatArray], FloatArray]) -> FloatArray:
        u = k * 2.0**-53
        lower = u < 0.5
        noise = scale * log(np.where(lower, u + u, 2.0 - u - u))
        return np.where(lower, count + noise, count - noise)

    c_log = np.vectorize(math.log, otypes=[np.float64])
    found = _last_not_above(outputs, lambda k: value(k, np.log))
    steps = found + np.arange(-LARGEST_ROUNDING, LARGEST_ROUNDING + 1)[:, None]
    values = value(np.clip(steps, 1, UNIFORMS - 1), c_log)
    return np.asarray((values == outputs).any(axis=0))


def _noisy_empty_leaves(n_draws: int) -> FloatArray:
    """Class counts of the empty leaves of one published tree, with noise of scale 1."""
    rng = np.random.default_rng(7)
    domain = Domain(np.zeros(1), np.ones(1), np.zeros(1, int), n_classes=2)
    tree = random_tree(domain, math.ceil(math.log2(n_draws)), rng)
    nobody = Labelled(np.empty((0, 1)), np.empty(0, dtype=np.int64))
    counts: FloatArray = distribute_labels(tree, nobody, domain, 1.0, rng).values[tree.leaves, 0]
    return counts[:n_draws]


def _published_noise(n_draws: int) -> Measured:
    outputs = _noisy_empty_leaves(n_draws)
    impossible = 1 - reachable_counts(outputs, 1.0, 1.0).mean()
    return Measured(
        math.inf if impossible else 0.0,
        note=f"{impossible:.0%} of the outputs for count 0 are impossible for count 1",
        runs=n_draws,
    )


def _repaired_noise(n_draws: int) -> Measured:
    rate = Rate.floor(Fraction(1))
    outputs = discrete_laplace(np.zeros(n_draws, dtype=np.int64), rate, RandomWords.seeded(7))
    impossible = 1 - np.isfinite(discrete_laplace_log_pmf(outputs - 1, rate)).mean()
    return Measured(
        math.inf if impossible else rigorous.count_loss([0], [1], rate),
        event="the worst of all whole numbers",
        note=f"every whole number is possible for every count; {impossible:.0%} of the outputs were not",
        runs=n_draws,
    )


# --- thresholds ----------------------------------------------------------------------------------------


def reachable_thresholds(outputs: FloatArray, low: float, high: float) -> NDArray[np.bool_]:
    """Tell which outputs low + (high - low) u can be for one of the 2**53 uniform numbers u.

    Products and sums are rounded correctly, so they never fall as u rises, and the bisection is a proof.

    Parameters
    ----------
    outputs : ndarray
        Released thresholds.
    low, high : float
        The two private values between which a threshold is drawn.

    Returns
    -------
    ndarray of bool
    """

    def value(k: IntArray) -> FloatArray:
        return np.asarray(low + (high - low) * (k * 2.0**-53))

    return np.asarray((value(_last_not_above(outputs, value)) == outputs) | (outputs == low))


def _published_thresholds(n_draws: int) -> Measured:
    rng, values = np.random.default_rng(3), np.array(BEFORE)
    outputs = np.array([median_by_length(values, LOW, HIGH, 1.0, rng) for _ in range(n_draws)])
    ends = [LOW, *sorted([*BEFORE, NEW]), HIGH]
    possible = np.any([reachable_thresholds(outputs, low, high) for low, high in pairwise(ends)], axis=0)
    impossible = 1 - possible.mean()
    return Measured(
        math.inf if impossible else 0.0,
        note=f"{impossible:.0%} of the thresholds without the new row are impossible with it",
        runs=n_draws,
    )


def _repaired_thresholds(n_draws: int) -> Measured:
    feature = Numeric(LOW, HIGH)
    after = sorted([*BEFORE, NEW])
    counts = np.bincount([feature.cell_of(value) for value in BEFORE], minlength=feature.n_cells)
    scores, base = quantile_utilities(counts[None], [0], [feature.n_cells - 1])
    rate = Rate.floor(Fraction(1, quantile_range()))
    outputs = exponential(np.tile(scores, (n_draws, 1)), base, rate, RandomWords.seeded(3))
    possible = np.isfinite(rigorous.median_log_pmf(feature, after, Fraction(1)))
    return Measured(
        rigorous.median_loss(feature, BEFORE, after, Fraction(1)),
        event="the worst of all thresholds of the public grid",
        note=(
            f"{possible.sum()} of {len(possible)} borders of the grid are possible with both tables; "
            f"{1 - possible[outputs].mean():.0%} of the outputs were not"
        ),
        runs=n_draws,
    )


def bit_attacks(n_draws: int) -> tuple[Case, ...]:
    """Return the cases of this module.

    Parameters
    ----------
    n_draws : int
        Outputs that are tested bit by bit.
    """
    return (
        make_case(
            "Laplace noise in doubles",
            paper="all five papers, as anyone would program them; Mironov 2012",
            claims="A count plus Laplace noise of scale 1/epsilon costs epsilon.",
            claim=1.0,
            pair="an empty leaf, and a leaf with one row",
            event="a double that no uniform number leads to when the count is 1",
            published=lambda: _published_noise(n_draws),
            repaired=lambda: _repaired_noise(n_draws),
        ),
        make_case(
            "thresholds in doubles",
            paper="Consul and Williamson 2020 and 2021, as anyone would program them",
            claims="A uniform point of the chosen interval between two values adds nothing to the cost.",
            claim=1.0,
            pair="{0.3, 900, 950} in [-100, 1000], and the same with 0.3000001",
            event="a double that no uniform number leads to from the intervals of the larger table",
            published=lambda: _published_thresholds(n_draws),
            repaired=lambda: _repaired_thresholds(n_draws),
        ),
    )
