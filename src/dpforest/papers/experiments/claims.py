"""What papers say in words about their results, as data, and whether our runs bear it out.

A claim compares sides, each a method (or a setting of one), on the datasets and budgets of an experiment; it
is judged from the kept results as a figure is, by differences beyond two standard errors. `tables/_claims.py`
lists the claims; `page` shows them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Literal, NamedTuple

from dpforest.papers.experiments.catalogue import find_experiment
from dpforest.papers.experiments.experiment import Cell, Setting, setting_key
from dpforest.papers.experiments.metrics import Metric, find_metric
from dpforest.papers.experiments.summary import ERRORS_ALLOWED, FEWEST_REPEATS, Summary, pairs

__all__ = ["Claim", "Finding", "Side", "judge"]

LITTLE_POINTS, LITTLE_PART = 0.01, 0.05  # a gain below a point, or a twentieth of the figure, is none


class Side(NamedTuple):
    """A method, in one of its settings, at a budget of its own if the claim compares budgets."""

    method: str
    setting: Setting | None = None
    epsilon: float | None = None


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper: some sides are better than others.

    Parameters
    ----------
    place, says : str
        Where it stands, and what it says.
    experiment : str
        Name of the experiment that can tell.
    better, worse : tuple of Side
        Every one of the first is said to beat every one of the second.
    scope : {"everywhere", "mostly"}
        On all datasets and budgets, or on more than half of them.
    epsilons : tuple of float, optional
        Budgets that it speaks of; all if not given.
    datasets : tuple of str, optional
        Datasets that it speaks of; all if not given.
    largest : float, optional
        The largest difference that it names, which some dataset must come up to.
    no_worse : bool, default=False
        Whether the first are only said to be as good as the second: to be worse by little at most.
    """

    place: str
    says: str
    experiment: str
    better: tuple[Side, ...]
    worse: tuple[Side, ...]
    scope: Literal["everywhere", "mostly"] = "everywhere"
    epsilons: tuple[float, ...] | None = None
    datasets: tuple[str, ...] | None = None
    largest: float | None = None
    no_worse: bool = False


class Finding(NamedTuple):
    """What became of a claim.

    Parameters
    ----------
    measured : str
        Wins, losses and the range of differences.
    verdict : str
        "holds", "does not hold", "cannot tell" or "not run".
    """

    measured: str
    verdict: str


def judge(claim: Claim, kept: Callable[[str], Mapping[Cell, Summary]]) -> Finding:
    """Judge a claim by kept results.

    Parameters
    ----------
    claim : Claim
        What is claimed.
    kept : callable
        From the name of an experiment to its summaries.

    Returns
    -------
    Finding
    """
    summaries, experiment = kept(claim.experiment), find_experiment(claim.experiment)
    metric, formula = find_metric(experiment.metric), experiment.compute is not None
    places = {
        (cell.dataset, cell.epsilon)
        for cell in summaries
        if not math.isinf(cell.epsilon)
        and (claim.epsilons is None or cell.epsilon in claim.epsilons)
        and (claim.datasets is None or cell.dataset in claim.datasets)
    }
    found = [list(_gains(claim, place, summaries, metric, formula)) for place in sorted(places)]
    found = [gains for gains in found if len(gains) == len(claim.better) * len(claim.worse)]
    if not found:
        return Finding("", "not run")
    wins = sum(all(gain.as_good if claim.no_worse else gain.won for gain in gains) for gains in found)
    losses = sum(any(gain.lost for gain in gains) for gains in found)
    ties = sum(any(gain.tied for gain in gains) and not any(gain.lost for gain in gains) for gains in found)
    ties *= not claim.no_worse
    ends = [min(gain.size for gain in gains) for gains in found]
    told = f"{wins} of {len(found)} clearly, {losses} the other way" + (f", {ties} the same" if ties else "")
    told += f"; {_range(min(ends), max(ends), metric)}"
    most = max(min(gain.size + gain.chance for gain in gains) for gains in found)
    if claim.largest is not None and most < claim.largest:
        return Finding(told, "does not hold")
    return Finding(told, _verdict(claim.scope, wins, losses + ties, len(found)))


def _verdict(scope: str, wins: int, failures: int, n: int) -> str:
    if scope == "everywhere":
        return "does not hold" if failures else "holds" if wins == n else "cannot tell"
    if 2 * wins > n:
        return "holds"
    return "does not hold" if 2 * failures >= n else "cannot tell"


class _Gain(NamedTuple):
    """By how much one side is better than another, what of it may be chance, and what would be little."""

    size: float
    chance: float
    little: float

    @property
    def won(self) -> bool:
        return self.size > self.chance

    @property
    def lost(self) -> bool:
        return self.size < -self.chance

    @property
    def as_good(self) -> bool:
        """Whether it is clear that nothing is lost, or little."""
        return self.size - self.chance > -self.little and not self.lost

    @property
    def tied(self) -> bool:
        """Whether there is no clear difference, and none that would matter can have been overlooked."""
        return abs(self.size) <= self.chance and self.size + self.chance < self.little


def _gains(
    claim: Claim, place: tuple[str, float], summaries: Mapping[Cell, Summary], metric: Metric, formula: bool
) -> Iterator[_Gain]:
    """Yield by how much each side that should be better is so."""
    sign = -1.0 if metric.better == "lower" else 1.0
    for first in claim.better:
        for second in claim.worse:
            ours, theirs = (_find(side, place, summaries) for side in (first, second))
            if ours is not None and theirs is not None:
                difference, chance = _difference(ours, theirs)
                little = LITTLE_POINTS if metric.percent else LITTLE_PART * abs(theirs.mean)
                yield _Gain(sign * difference, 0.0 if formula else chance, little)


def _find(side: Side, place: tuple[str, float], summaries: Mapping[Cell, Summary]) -> Summary | None:
    key = setting_key(side.setting or {})
    budget = place[1] if side.epsilon is None else side.epsilon
    found = (summaries.get(Cell(place[0], side.method, epsilon, key)) for epsilon in (budget, math.inf))
    return next((one for one in found if one is not None and one.repeats), None)


def _difference(ours: Summary, theirs: Summary) -> tuple[float, float]:
    """Return a difference and two standard errors of it, more for few repeats; single repeats say nothing.

    Repeats had the same rows to learn from and to predict. Where their values were kept, differences are
    taken repeat by repeat, and what the choice of rows does to both is no error.
    """
    from scipy.stats import norm, t

    first, second = pairs(ours, theirs)
    if len(first) >= FEWEST_REPEATS:
        gains = [one - other for one, other in zip(first, second, strict=True)]
        freedom, mean, error = len(gains) - 1, fmean(gains), stdev(gains) / math.sqrt(len(gains))
    else:
        freedom, mean = ours.repeats + theirs.repeats - 2, ours.mean - theirs.mean
        error = math.hypot(ours.standard_error, theirs.standard_error)
    if math.isnan(error):
        return mean, math.inf
    return mean, float(t.ppf(norm.cdf(ERRORS_ALLOWED), freedom)) * error


def _range(low: float, high: float, metric: Metric) -> str:
    if metric.percent:
        return f"{100 * low:+.1f} to {100 * high:+.1f} points"
    return f"{low:+.2g} to {high:+.2g}"
