"""One trial of one promise: scout the pairs, bet on the best, and put what was found into a result.

`statistical` sets trials up; the parts are in `scouting`, `wagers` and `evidence`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from dpforest.audit.evidence import runs_that_suffice
from dpforest.audit.result import AuditResult
from dpforest.audit.running import Runner
from dpforest.audit.scouting import Finding, Plan, Scouted, scout
from dpforest.audit.wagers import Wagers

INTERRUPTED = "interrupted"
SUSPICION = 0.0  # logarithm of the winnings that make it worthwhile to go on


@dataclass(frozen=True)
class Promise:
    """What is audited and what it claims.

    Parameters
    ----------
    name : str
        How the result calls it.
    claim, delta : float
        The promise.
    confidence : float
        Probability that the reported loss is not above the true one.
    """

    name: str
    claim: float
    delta: float
    confidence: float

    @property
    def alpha(self) -> float:
        """Probability of a false alarm."""
        return 1 - self.confidence

    def result(self, wagers: Wagers, pair: str, runs: int, note: str = "") -> AuditResult:
        """Return the result of some bets."""
        loss, event = wagers.loss(), str(wagers.rule)
        return AuditResult(
            self.name, self.claim, loss, "statistical", self.confidence, pair, event, runs, self.delta, note
        )


@dataclass
class Trial:
    """The audit of one subject.

    Parameters
    ----------
    promise : Promise
        What is tested.
    runner : Runner
        Runs the subject on its pairs.
    plan : Plan
        How many runs.
    """

    promise: Promise
    runner: Runner
    plan: Plan

    def result(self, max_runs: int) -> AuditResult:
        """Run everything; up to `max_runs` if the evidence is there but not yet enough."""
        scouted = scout(self.runner, self.plan, self.promise.delta)
        alpha = self.promise.alpha
        if scouted.findings and scouted.best is not None:
            alpha /= 2  # two tests, either of which may find a violation
        if scouted.best is None and not scouted.findings:
            note = f"{INTERRUPTED} before any outcome was tested"
            return self.promise.result(Wagers(alpha), self.runner.pairs[0].words, 0, note)
        main = None
        if scouted.best is not None:
            main = self._bet(scouted, alpha, max_runs)
            if main.violation or self.runner.interrupted or not scouted.findings:
                return main
        loud = self._confirm(scouted.findings[0], alpha)
        return loud if main is None or loud.violation else main

    def _bet(self, scouted: Scouted, alpha: float, max_runs: int) -> AuditResult:
        """Guess the table of runs on the best pair."""
        assert scouted.best is not None
        wagers = Wagers(alpha, self.promise.delta, scouted.without, scouted.past)
        claim, batches = self.promise.claim, list(self.plan.batches)
        while batches and not self.runner.interrupted:
            runs = batches.pop(0)
            # A rule for all runs to come, since all of them count: one that seldom guesses, but then well,
            # may look worse in a batch than one that always guesses and can never win.
            wagers.find(max(2 * runs, max_runs - self.runner.done))
            wagers.play(*self.runner.run([scouted.best], runs)[0])
            room = (max_runs - self.runner.done) // 2
            if not batches and room > 0 and wagers.loss() <= claim and self._is_suspicious(wagers, room):
                batches = [min(runs, room)]
        pair = self.runner.pairs[scouted.best].words
        result = self.promise.result(wagers, pair, self.runner.done)
        return replace(result, note="; ".join(self._notes(scouted, wagers, result)))

    def _is_suspicious(self, wagers: Wagers, room: int) -> bool:
        """Tell whether it is worthwhile to go on with up to so many runs with either table.

        Bets were won; or they were not, because the first rules were found in too few runs, but a rule found
        in all of them promises more.
        """
        claim = self.promise.claim
        return wagers.winnings(claim) > SUSPICION or replace(wagers).find(2 * room) > claim

    def _confirm(self, finding: Finding, alpha: float) -> AuditResult:
        """Test whether a failure or warning comes with one table only."""
        wagers = Wagers(alpha, self.promise.delta, rule=finding.rule, reader=finding.reader)
        enough = runs_that_suffice(self.promise.claim, alpha, self.promise.delta)
        runs = max(self.plan.batches[0], min(math.ceil(enough / 2), sum(self.plan.batches)))
        wagers.play(*self.runner.run([finding.pair], runs)[0])
        return self.promise.result(wagers, self.runner.pairs[finding.pair].words, self.runner.done)

    def _notes(self, scouted: Scouted, wagers: Wagers, result: AuditResult) -> list[str]:
        """Say what else the reader must know."""
        notes = []
        tested = sum(guesses.runs for guesses in wagers.guesses)
        if self.runner.interrupted:
            past = wagers.past[0].number + wagers.past[1].number
            planned = past - tested + 2 * sum(self.plan.batches)
            notes.append(
                f"{INTERRUPTED} after {past:,} of {planned:,} runs on this pair" if tested
                else f"{INTERRUPTED} before any outcome was tested"
            )  # fmt: skip
        enough = runs_that_suffice(self.promise.claim, wagers.alpha, self.promise.delta)
        if tested < enough and not self.runner.interrupted:
            total = Plan.fewest(len(self.runner.pairs), enough)
            notes.append(f"with so few runs no outcome could have shown a violation; {total:,} suffice")
        if scouted.findings:
            loud = scouted.findings[0]
            notes.append(f'besides, "{loud.rule}" tells apart: {self.runner.pairs[loud.pair].words}')
        if scouted.left_out:
            notes.append(f"{scouted.left_out} pairs were left out, on which every fit failed")
        return notes
