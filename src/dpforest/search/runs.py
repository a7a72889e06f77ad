"""One run, the best of several, and the model that is made of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeVar

from dpforest._curator import Curator, Part, PrivateTable
from dpforest._rows import Assignment
from dpforest.estimates.metrics import METRICS
from dpforest.estimates.scores import ask, metric_for
from dpforest.forests.base import PrivateForest
from dpforest.forests.release import PrivateRelease, Settings
from dpforest.mechanisms import RandomWords
from dpforest.privacy import BudgetPlan, Event, Kind, Ledger, Query, Receipt
from dpforest.privacy.exact import float_at_least
from dpforest.search.candidates import CHOICE, SCORE, Candidate, plan_for

MECHANISM = "best of a random number of runs"
Run = TypeVar("Run")


@dataclass(frozen=True, eq=False)
class Scored:
    """All that a run gives: a model, what it scored, and what was asked for that."""

    candidate: int
    release: PrivateRelease
    score: float
    asked: Event
    is_loss: bool

    @property
    def worth(self) -> float:
        """The score where higher is better."""
        return -self.score if self.is_loss else self.score


@dataclass(frozen=True, eq=False)
class Trial:
    """How a run is made: train on some rows, score on the others, each at the epsilon of one run.

    Parameters
    ----------
    X, y : data
        Private rows.
    folds : Assignment
        The fold of every row, drawn once for all runs; fold 0 is held out.
    metric : str
        What is scored.
    largest : float or None
        Loss to which single rows are clipped.
    plan : BudgetPlan
        What the score may spend, in a pool `SCORE`.
    """

    X: Any
    y: Any
    folds: Assignment
    metric: str
    largest: float | None
    plan: BudgetPlan

    def __call__(self, place: int, candidate: Candidate, words: RandomWords) -> Scored:
        """Run one candidate."""
        model = candidate.model
        release = model._unfitted_copy()._trained_on(self.X, self.y, Part(self.folds, held_out=False))
        fitted = model._unfitted_copy()._keep(release)
        held_out = PrivateTable(
            self.X, self.y, release.schema, model._n_threads(), Part(self.folds, held_out=True)
        )
        with Curator(held_out, self.plan, words) as curator:
            score, _, _ = ask(curator, metric_for(fitted, self.metric, self.largest), self.metric)
        assert isinstance(release, PrivateRelease)  # candidates that are not private are refused
        asked, is_loss = curator.ledger.events[0], METRICS[self.metric].is_sum
        return Scored(place, release, float(score), asked, is_loss)


def best_of(run: Callable[[], Run], n_runs: int, worth: Callable[[Run], float]) -> Run:
    """Return the first of the best runs, and forget the others."""
    best = run()
    for _ in range(n_runs - 1):
        other = run()
        if worth(other) > worth(best):
            best = other
    return best


def ledger_of(best: Scored, total: Fraction, eta: Fraction, public: dict[str, Any]) -> Ledger:
    """Write down what the search cost: the questions of the winning run, and the choice of it.

    Parameters
    ----------
    best : Scored
        The winner.
    total, eta
        As in `plan_for`.
    public : dict
        What else is public about the choice.
    """
    ledger = Ledger(plan_for(best.release.ledger.plan, total, eta))
    for event in best.release.ledger:
        part = event.cost / ledger.plan.amount(event.pool)
        ledger.charge(event.pool, part, event.mechanism, event.query, event.parameters)
    ledger.charge(SCORE, 1, best.asked.mechanism, best.asked.query, best.asked.parameters)
    ledger.charge(CHOICE, 1, MECHANISM, Query(Kind.BEST_RUN), public)
    ledger.freeze()
    return ledger


def model_of(
    best: Scored, candidate: Candidate, ledger: Ledger, receipt: Receipt | None, accountant: Any
) -> PrivateForest:
    """Return the winner as a model that states what the whole search cost."""
    epsilon = float_at_least(ledger.plan.epsilon)
    release = replace(
        best.release,
        settings=Settings(
            {**best.release.settings.parameters, "epsilon": epsilon}, best.release.settings.declared
        ),
        guarantee=ledger.plan.guarantee,
        ledger=ledger,
        receipt=receipt,
    )
    model = candidate.model._unfitted_copy()
    model.set_params(epsilon=epsilon, accountant=accountant)
    return model._keep(release)
