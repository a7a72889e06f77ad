"""Bet on rules as runs come in: each is found in the runs before it, and all runs after the first ones count.

`trial` feeds in batches of runs with both tables of a pair. The bound at the end is honest whatever the
search did and whenever it stopped; see `evidence`.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field

from dpforest.audit.columns import Reader, Runs
from dpforest.audit.events import Rule, find_rule
from dpforest.audit.evidence import Guesses, log_winnings, loss_lower_bound


@dataclass
class Wagers:
    """What was guessed so far about one pair of tables.

    Parameters
    ----------
    alpha : float
        Probability that the bound on the loss is above the truth.
    delta : float
        Of the promise.
    without : set of str
        Readings that rules do not look at.
    """

    alpha: float
    delta: float = 0.0
    without: Set[str] = frozenset()
    past: tuple[Runs, Runs] = field(default_factory=lambda: (Runs(0, {}), Runs(0, {})))
    guesses: list[Guesses] = field(default_factory=list)
    rule: Rule = Rule(None, None)  # noqa: RUF009, it is frozen
    reader: Reader = Reader(())  # noqa: RUF009

    def find(self, ahead: int) -> float:
        """Find a rule for so many runs to come, and return the bound to hope for."""
        self.reader = Reader.learn(*self.past, self.without)
        first, second = (self.reader.matrix(runs) for runs in self.past)
        self.rule, hope = find_rule(first, second, self.reader.columns, ahead, self.alpha, self.delta)
        return hope

    def play(self, first: Runs, second: Runs) -> None:
        """Use the rule on new runs, as many with either table."""
        new = [runs.part(0, min(first.number, second.number)) for runs in (first, second)]
        if new[0].number:
            self.guesses.append(self.rule.judge(*(self.reader.matrix(runs) for runs in new)))
        self.watch(*new)

    def watch(self, first: Runs, second: Runs) -> None:
        """Learn from runs without having guessed."""
        self.past = self.past[0] + first, self.past[1] + second

    def winnings(self, claim: float) -> float:
        """Return the logarithm of what a bet of 1 against the claim has become."""
        return float(log_winnings(self.guesses, claim, self.delta)[0])

    def loss(self) -> float:
        """Return the bound on the loss."""
        return loss_lower_bound(self.guesses, self.alpha, self.delta)
