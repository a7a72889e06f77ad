"""What goes into a store and what comes out: a request for budget, and a grant with what became of it.

The accountant makes a `Request`; the store writes it as an entry of the chain (`records`) and gives it back,
together with its settlement, as a `Spend`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from dpforest.privacy.composition import Cost
from dpforest.privacy.plan import BudgetPlan
from dpforest.privacy.records import Entry, State, check_text
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
    """

    cost: Cost
    relation: NeighboringRelation
    max_rows_per_person: int
    label: str = ""
    plan: BudgetPlan | None = None

    def __post_init__(self) -> None:
        check_text(self.label, "label")


@dataclass(frozen=True)
class Spend:
    """One grant of budget and what became of it, as it is recorded.

    Parameters
    ----------
    number : int
        Its place in the dataset's chain.
    state : {"reserved", "spent", "failed"}
        ``"reserved"`` while the looks are being made, and for ever if the process that made them died. All
        three count in full.
    label : str
        The caller's note.
    cost : Cost
        Per person.
    relation : NeighboringRelation
        Which tables count as neighbours.
    max_rows_per_person : int
        How many rows one person holds at most.
    who, when : str
        Who asked, and when (UTC).
    settled : str or None
        When it was settled (UTC).
    plan : dict or None
        How it was divided, with exact fractions as text.
    looks : tuple of dict
        Every look that was made, as the ledger shows it.
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
    looks: tuple[dict[str, Any], ...] = ()

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
            plan=None if entry.plan is None else json.loads(entry.plan),
        )

    def settled_by(self, entry: Entry) -> Spend:
        """Return the charge as its settlement left it."""
        looks = () if entry.looks is None else tuple(json.loads(entry.looks))
        return replace(self, state=entry.state, settled=entry.at, looks=looks)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dictionary; costs are exact fractions as text."""
        epsilon = None if self.cost.epsilon is None else str(self.cost.epsilon)
        return {
            "number": self.number,
            "state": self.state,
            "label": self.label,
            "epsilon": epsilon,
            "rho": str(self.cost.rho),
            "relation": self.relation.value,
            "max_rows_per_person": self.max_rows_per_person,
            "who": self.who,
            "when": self.when,
            "settled": self.settled,
            "plan": self.plan,
            "looks": list(self.looks),
        }
