"""Regression leaves: a mean whose noise shrinks with the private number of rows.

Consul and Williamson, 2020 and 2021. The published noise is that of `dpforest.papers.published.leaves`;
repaired,
a leaf releases the sums of y and of its distance to the upper bound.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy import stats

from dpforest.mechanisms import Rate
from dpforest.papers.gallery import rigorous
from dpforest.papers.gallery.case import Case, Measured, log_ratio, make_case
from dpforest.papers.published.domain import Domain
from dpforest.papers.published.leaves import mean_noise_scale, noisy_means
from dpforest.papers.published.trees import grow
from dpforest.schema import Range

__all__ = ["CASES", "beyond_loss", "clamped_loss", "soft_histogram_loss"]

TARGET = Range(-1, 1)
WIDTH = TARGET.high - TARGET.low
PAPER = "Consul and Williamson 2020 and 2021, regression leaves"


def _scales(epsilon: float, *counts: float) -> list[float]:
    return [float(scale) for scale in mean_noise_scale(np.array(counts), WIDTH, epsilon)]


def beyond_loss(limit: float, epsilon: float) -> float:
    """Return the loss of {0} against {0, 0} when the released mean exceeds a limit.

    Examples
    --------
    >>> round(beyond_loss(10.0, 1.0), 9), round(beyond_loss(20.0, 1.0), 9)
    (5.0, 10.0)
    """
    one, two = (stats.laplace.logsf(limit, scale=scale) for scale in _scales(epsilon, 1.0, 2.0))
    return float(one - two)


def clamped_loss(epsilon: float) -> float:
    """Return the loss of {1} against {1, -1} for a released mean near 0, where clamping changes nothing.

    Examples
    --------
    >>> round(clamped_loss(0.1), 3), round(clamped_loss(1.0), 3)
    (0.743, 1.193)
    """
    one, two = _scales(epsilon, 1.0, 2.0)
    return float(stats.laplace.logpdf(0.0, 0.0, two) - stats.laplace.logpdf(0.0, 1.0, one))


def soft_histogram_loss(before: list[float], after: list[float], epsilon: Fraction) -> float:
    """Return the loss of a leaf of this library: noisy sums of (y, G - y), y in G fixed-point levels."""

    def sums(targets: list[float]) -> list[int]:
        levels = TARGET.encode(targets) if targets else np.empty(0, dtype=np.int32)
        return [int(levels.sum()), int((TARGET.levels - levels).sum())]

    return rigorous.count_loss(sums(before), sums(after), Rate.floor(epsilon / TARGET.levels))


def _repaired(before: list[float], after: list[float], epsilon: Fraction = Fraction(1)) -> Measured:
    loss = soft_histogram_loss(before, after, epsilon)
    return Measured(loss, event="the worst of all pairs of noisy sums")


def _published_empty() -> Measured:
    """Draw from the published leaf; an empty one is a uniform draw from the range of the target."""
    runs, rng = 1000, np.random.default_rng(0)
    domain = Domain(np.zeros(1), np.ones(1), np.zeros(1, int), target_low=TARGET.low, target_high=TARGET.high)
    outside = []
    for targets in ([], [0.0]):
        X, y = np.zeros((len(targets), 1)), np.array(targets)
        root = grow(X, domain, lambda *_: None, closed=False)
        draws = [noisy_means(root, X, y, (-1.0, 1.0), WIDTH, 1.0, rng)[0, 0] for _ in range(runs)]
        outside.append(float(np.mean(np.abs(draws) > 1)))
    return Measured(
        log_ratio(*outside),
        note=f"impossible without the row, probability {2 * stats.laplace.sf(1.0, scale=WIDTH):.3f} with it",
        runs=runs,
    )


CASES: tuple[Case, ...] = (
    make_case(
        "noise on a leaf mean",
        paper=PAPER,
        claims="Laplace noise of scale range/(N epsilon) on the mean of a leaf's N targets costs epsilon.",
        claim=1.0,
        pair="a leaf with targets {0}, and with {0, 0}; range [-1, 1]",
        event="the released mean exceeds 10",
        published=lambda: Measured(beyond_loss(10.0, 1.0), note="t/2 beyond t: no bound at all"),
        repaired=lambda: _repaired([0.0], [0.0, 0.0]),
    ),
    make_case(
        "noise on a clamped leaf mean",
        paper=PAPER,
        claims="Such a noisy mean, clamped to the range of the target, costs epsilon.",
        claim=0.1,
        pair="a leaf with targets {1}, and with {1, -1}; range [-1, 1]",
        event="the released mean lies in a small interval around 0",
        published=lambda: Measured(clamped_loss(0.1), note=f"{clamped_loss(1.0):.2f} for a claimed 1"),
        repaired=lambda: _repaired([1.0], [1.0, -1.0], Fraction(1, 10)),
    ),
    make_case(
        "empty leaf",
        paper=f"{PAPER}, empty leaves as in the authors' code",
        claims="A leaf without rows needs no noise: it gets a uniform draw from the range.",
        claim=1.0,
        pair="a leaf without rows, and with target {0}; range [-1, 1]",
        event="the released mean lies outside [-1, 1]",
        published=_published_empty,
        repaired=lambda: _repaired([], [0.0]),
    ),
)
"""Cases of regression leaves."""
