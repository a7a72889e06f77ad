"""Which pair of tables to bet on: a few runs on every pair, some more on the best ones.

Nothing is concluded here. Pairs on which a fit fails are put aside: that it fails with one table and not with
the other is a finding of its own, and must not hide what fits release where they succeed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass, field
from typing import NamedTuple

from dpforest.audit.columns import Reader, Runs
from dpforest.audit.events import Rule, find_rule
from dpforest.audit.fitting import FIT, MESSAGES, OBSERVER, SAID, CannotAuditError
from dpforest.audit.running import Runner
from dpforest.audit.wagers import Wagers

ALPHA = 0.05  # for comparing pairs
SCOUTING, FIRST_ROUND, KEPT = (
    0.4,
    0.6,
    4,
)  # part of the runs, of these in the first round, one in so many kept
LEARNING = 1 / 8  # part of the runs if there is one pair only
FEWEST = 2  # runs per table


class Plan(NamedTuple):
    """Runs per table.

    Parameters
    ----------
    first, again : int
        On every pair, and on each of those that look best.
    kept : int
        How many these are.
    batches : tuple of int
        On the best pair, each with a rule found in all runs before.
    """

    first: int
    again: int
    kept: int
    batches: tuple[int, ...]

    @classmethod
    def of(cls, runs: int, n_pairs: int) -> Plan:
        """Divide the runs.

        Examples
        --------
        >>> Plan.of(500, n_pairs=12)
        Plan(first=5, again=13, kept=3, batches=(21, 43, 87))
        >>> Plan.of(100, n_pairs=12)
        Traceback (most recent call last):
        ValueError: 100 runs are too few for 12 pairs of tables; 200 suffice.
        """
        enough = cls.fewest(n_pairs)
        if runs < enough:
            pairs = "a pair" if n_pairs == 1 else f"{n_pairs} pairs"
            raise ValueError(f"{runs} runs are too few for {pairs} of tables; {enough} suffice.")
        return cls._divide(runs, n_pairs)

    @classmethod
    def fewest(cls, n_pairs: int, guesses: int = 0) -> int:
        """Return how many runs there must be at least, so that so many of them are guessed.

        Examples
        --------
        >>> Plan.fewest(12), Plan.fewest(12, guesses=52), Plan.fewest(12, guesses=2482)
        (200, 200, 4096)
        """
        enough = guesses
        while True:
            plan = cls._divide(enough, n_pairs)
            if min(plan.first, *plan.batches) >= FEWEST and 2 * sum(plan.batches) >= guesses:
                return enough
            enough += 1

    @classmethod
    def _divide(cls, runs: int, n_pairs: int) -> Plan:
        half = runs // 2
        kept = math.ceil(n_pairs / KEPT)
        if n_pairs == 1:
            first, again = int(half * LEARNING), 0
        elif kept == 1:
            first, again = int(half * SCOUTING / n_pairs), 0
        else:
            first = int(half * SCOUTING * FIRST_ROUND / n_pairs)
            again = int(half * SCOUTING * (1 - FIRST_ROUND) / kept)
        left = half - first * n_pairs - again * kept
        return cls(first, again, kept, (left // 7, left * 2 // 7, left - left // 7 - left * 2 // 7))

    @property
    def total(self) -> int:
        """Runs with both tables after the first round."""
        return 2 * (self.again * self.kept + sum(self.batches))


@dataclass(frozen=True)
class Finding:
    """What a fit says aloud with one table and never with the other.

    Parameters
    ----------
    pair : int
        Where.
    rule : Rule
        What, as a rule that guesses the table by it.
    reader : Reader
        The columns that the rule is about.
    """

    pair: int
    rule: Rule
    reader: Reader


@dataclass
class Scouted:
    """What is known of the pairs after a few runs.

    Parameters
    ----------
    best : int or None
        The pair to bet on; None if all pairs were put aside.
    past : two Runs
        Its runs so far.
    without : set of str
        Readings that are findings already.
    findings : list of Finding
        Pairs that differ in failures or warnings.
    left_out : int
        Pairs with both tables of which every run failed.
    """

    best: int | None = None
    past: tuple[Runs, Runs] = field(default_factory=lambda: (Runs(0, {}), Runs(0, {})))
    without: Set[str] = frozenset()
    findings: list[Finding] = field(default_factory=list)
    left_out: int = 0


def scout(runner: Runner, plan: Plan, delta: float) -> Scouted:
    """Find the pair to bet on.

    Parameters
    ----------
    runner : Runner
        Runs the subject on its pairs.
    plan : Plan
        How many runs.
    delta : float
        Of the promise.

    Returns
    -------
    Scouted
    """
    everything = range(len(runner.pairs))
    found = Scouted()
    past = dict(zip(everything, runner.run(everything, plan.first), strict=True))
    if runner.interrupted:
        return found
    without = {at: _loud(found, at, *past[at]) for at in everything}
    failing = {finding.pair for finding in found.findings} & {
        at for at in everything if _fails(past[at], any)
    }
    usable = [at for at in everything if at not in failing and not _fails(past[at], all)]
    if not usable and not found.findings:
        raise CannotAuditError(
            f"Cannot be audited, because with both tables of every pair {_failure(past[0][0])}. Give tables "
            "that it takes (pair=((X, y), (X, y)) or schema=Schema(...)), or repair it."
        )
    found.left_out = len(everything) - len(usable) - len(failing)
    hopes = {at: _hope(past[at], without[at], plan, delta) for at in usable}
    best = sorted(usable, key=lambda at: -hopes[at])[: plan.kept]
    if len(best) > 1 and plan.again:
        for at, more in zip(best, runner.run(best, plan.again), strict=True):
            past[at] = past[at][0] + more[0], past[at][1] + more[1]
        hopes = {at: _hope(past[at], without[at], plan, delta) for at in best}
    if best:
        found.best = max(best, key=lambda at: hopes[at])
        found.past, found.without = past[found.best], without[found.best]
    return found


def _hope(past: tuple[Runs, Runs], without: Set[str], plan: Plan, delta: float) -> float:
    wagers = Wagers(ALPHA, delta, without, past)
    return wagers.find(2 * sum(plan.batches))


def _fails(past: tuple[Runs, Runs], some: Callable[[Iterable[bool]], bool]) -> bool:
    """Tell whether with some (any or all) of the tables nothing was ever released."""
    return some(
        all(fit or seen for fit, seen in zip(runs.phrases(FIT), runs.phrases(OBSERVER), strict=True))
        for runs in past
    )


def _failure(runs: Runs) -> str:
    """Describe how the first run failed."""
    what = FIT if runs.phrases(FIT)[0] else OBSERVER
    return f"{what} {runs.phrases(what)[0]}: {runs.phrases(f'message of {what}')[0].removeprefix('= ')}"


def _loud(found: Scouted, at: int, first: Runs, second: Runs) -> Set[str]:
    """Note failures and warnings that tell two tables apart in every run; return readings to leave out."""
    reader = Reader.learn(first, second, (set(first.readings) | set(second.readings)) - set(SAID))
    matrices = [reader.matrix(runs) for runs in (first, second)]
    rule, _ = find_rule(matrices[0], matrices[1], reader.columns, 1000, ALPHA)
    guesses = rule.judge(matrices[0], matrices[1])
    if guesses.right < guesses.runs:
        return MESSAGES
    found.findings.append(Finding(at, rule, reader))
    return MESSAGES | set(SAID)
