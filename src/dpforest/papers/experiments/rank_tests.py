"""Rank tests between methods, as the papers ran them: from the values of single repeats.

Fletcher and Islam (2017, Section 5.2) use Wilcoxon's signed-rank test, which pairs the repeats of a split;
Huang, Lei and Kaban (2022, Section 6.2) the Mann-Whitney U test, which does not. `report` writes what
they find.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from dpforest.papers.experiments.experiment import Cell, Experiment, RankTest
from dpforest.papers.experiments.methods import AS_PUBLISHED, find
from dpforest.papers.experiments.metrics import find_metric
from dpforest.papers.experiments.summary import Summary, pairs

__all__ = ["RankOutcome", "rank_outcomes", "rank_p_value"]

LEVEL = 0.05


class RankOutcome(NamedTuple):
    """One method against another on one dataset, at one budget and setting.

    Parameters
    ----------
    dataset, other : str
        Where, and against whom.
    gain : float
        Difference of the means, positive where the main method is better.
    p_value : float
        Two-sided.
    """

    dataset: str
    other: str
    gain: float
    p_value: float

    @property
    def sign(self) -> int:
        """1 if significantly better, -1 if significantly worse, else 0."""
        return int(np.sign(self.gain)) if self.p_value < LEVEL else 0


def rank_p_value(test: str, first: Iterable[float], second: Iterable[float]) -> float:
    """Return the two-sided p-value of a rank test.

    Parameters
    ----------
    test : {"Wilcoxon", "Mann-Whitney"}
        The first pairs the values.
    first, second : iterable of float
        Values of the repeats.

    Examples
    --------
    >>> rank_p_value("Wilcoxon", [1, 2, 3, 4, 5, 6], [0, 0, 0, 0, 0, 0])
    0.03125
    >>> round(rank_p_value("Mann-Whitney", [1, 2, 3, 4], [5, 6, 7, 8]), 5)
    0.02857
    """
    from scipy.stats import mannwhitneyu, wilcoxon

    ours, theirs = np.array(list(first), float), np.array(list(second), float)
    if np.array_equal(ours, theirs):
        return 1.0
    found = wilcoxon(ours, theirs) if test == "Wilcoxon" else mannwhitneyu(ours, theirs)
    return float(found.pvalue)


def rank_outcomes(experiment: Experiment, summaries: Mapping[Cell, Summary]) -> list[RankOutcome]:
    """Test the main method of an experiment against every other, each in the paper's own form.

    Parameters
    ----------
    experiment : Experiment
        With a `rank_test`.
    summaries : mapping of Cell to Summary
        What was run; those without single values are left out.

    Returns
    -------
    list of RankOutcome
    """
    if experiment.rank_test is None:
        return []
    test, main = experiment.rank_test
    sign = -1.0 if find_metric(experiment.metric).better == "lower" else 1.0
    outcomes = []
    for cell, ours in summaries.items():
        if cell.method != _form(main):
            continue
        for other in experiment.methods:
            found = (
                summaries.get(Cell(cell.dataset, _form(other), epsilon, cell.setting))
                for epsilon in (cell.epsilon, math.inf)
            )
            theirs = next((one for one in found if one is not None), None)
            first, second = pairs(ours, theirs) if theirs is not None else ((), ())
            if other == main or len(first) < 2:
                continue
            gain = sign * float(np.mean(first) - np.mean(second))
            outcomes.append(RankOutcome(cell.dataset, other, gain, rank_p_value(test, first, second)))
    return outcomes


def rank_note(rank_test: RankTest, outcomes: list[RankOutcome]) -> str:
    """Put the outcomes into a sentence."""
    test, main = rank_test
    told = []
    for other in dict.fromkeys(outcome.other for outcome in outcomes):
        signs = [outcome.sign for outcome in outcomes if outcome.other == other]
        told.append(f"than {other} on {signs.count(1)} of {len(signs)} (worse on {signs.count(-1)})")
    return f"{test} test at 5 %: {main} is significantly better {', '.join(told)}." if told else ""


def _form(name: str) -> str:
    return name + AS_PUBLISHED if find(name + AS_PUBLISHED) is not None else name
