"""What goes into a store and what comes out: a request for budget, and a grant with what became of it.

The accountant makes a `Request`; the store writes it as an entry of the chain (`records`) and gives it back,
together with its settlement, as a `Spend`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from dpforest.privacy.budget.records import Entry, State, check_text
from dpforest.privacy.composition import Cost
from dpforest.privacy.plan import BudgetPlan
from dpforest.privacy.relation import NeighboringRelation


@dataclass(frozen=True)
class Request:
    """A charge that is asked for.

    Parameters
    ----------
    cost : Cost
        Per person.
    relation : NeighboringRelation
        Which tables count as neighbours.
    max_rows_per_person : int
        How many rows one person holds at most.
    label : str
        The caller's note.
    plan : BudgetPlan or None
        How it is divided, if it is a plan.
    name : str or None
        What the charge is called; a second one of that name is refused.
    analyst, purpose : str
        Who asks and what for; public, like the label.
    """

    cost: Cost
    relation: NeighboringRelation
    max_rows_per_person: int
    label: str = ""
    plan: BudgetPlan | None = None
    name: str | None = None
    analyst: str = ""
    purpose: str = ""

    def __post_init__(self) -> None:
        for what in ("label", "analyst", "purpose"):
            check_text(getattr(self, what), what)
        if self.name is not None:
            check_text(self.name, "the name of a charge")
            if not self.name:
                raise ValueError("the name of a charge must not be empty.")


@dataclass(frozen=True)
class Spend:
    """One grant of budget and what became of it, as it is recorded.

    Parameters
    ----------
    number : int
        Its place in the dataset's chain.
    state : {"reserved", "spent", "failed", "repaired"}
        ``"reserved"`` while the queries are asked, and for ever if the process that asked them died. All
        count in full.
    label : str
        The caller's note.
    cost : Cost
        Per person.
    relation : NeighboringRelation
        Which tables count as neighbours.
    max_rows_per_person : int
        How many rows one person holds at most.
    who, when : str
        Which login asked, and when (UTC).
    settled : str or None
        When it was settled (UTC).
    plan : dict or None
        How it was divided, with exact fractions as text.
    queries : tuple of dict
        Every query that was made, as the ledger shows it.
    name : str or None
        What the charge is called.
    analyst, purpose : str
        Who asked and what for, in their own words.
    hash : str
        Of its entry, as in receipts.
    """

    number: int
    state: State
    label: str
    cost: Cost
    relation: NeighboringRelation
    max_rows_per_person: int
    who: str
    when: str
    settled: str | None = None
    plan: dict[str, Any] | None = None
    queries: tuple[dict[str, Any], ...] = ()
    name: str | None = None
    analyst: str = ""
    purpose: str = ""
    hash: str = ""

    @classmethod
    def from_entry(cls, entry: Entry) -> Spend:
        """Read a charge, as it is before its settlement."""
        return cls(
            entry.number,
            entry.state,
            entry.label,
            entry.cost,
            NeighboringRelation(entry.relation),
            entry.max_rows_per_person,
            entry.who,
            entry.at,
            plan=_document(entry.plan),
            name=entry.name,
            analyst=entry.analyst,
            purpose=entry.purpose,
            hash=entry.hash,
        )

    def settled_by(self, entry: Entry) -> Spend:
        """Return the charge as its settlement left it."""
        queries = tuple(_document(entry.queries) or ())
        return replace(self, state=entry.state, settled=entry.at, queries=queries)

    def pays_for(self, plan: BudgetPlan) -> bool:
        """Whether it was made for this very plan, or, before a search knew its winner, for its outline.

        Parameters
        ----------
        plan : BudgetPlan
            Of a model, or of a fit to be made.
        """
        try:
            return self.plan is not None and BudgetPlan.from_dict(self.plan) in (plan, plan.outline())
        except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RuntimeError):
            return False  # another program wrote it, and it is no plan

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dictionary; costs are exact fractions as text."""
        epsilon = None if self.cost.epsilon is None else str(self.cost.epsilon)
        return {
            "number": self.number,
            "state": self.state,
            "name": self.name,
            "label": self.label,
            "analyst": self.analyst,
            "purpose": self.purpose,
            "epsilon": epsilon,
            "rho": str(self.cost.rho),
            "delta": str(self.cost.delta),
            "relation": self.relation.value,
            "max_rows_per_person": self.max_rows_per_person,
            "who": self.who,
            "when": self.when,
            "settled": self.settled,
            "plan": self.plan,
            "queries": list(self.queries),
            "hash": self.hash,
        }


def _document(text: str | None) -> Any:
    """Read JSON that another program may have written; what cannot be read is left out."""
    try:
        return None if text is None else json.loads(text)
    except (ValueError, RecursionError):
        return None
