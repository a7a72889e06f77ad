"""What a released model promises, in one small object.

Made by a `BudgetPlan` (its ``guarantee``), voided by whoever breaks a premise (a domain taken from the
data, a fixed random seed, a mechanism run as published although it is broken), stored in every fitted
model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from html import escape
from typing import Literal, cast

from dpforest.privacy.exact import read_delta, read_epsilon, short
from dpforest.privacy.relation import ONE_ROW_PER_PERSON, NeighboringRelation


@dataclass(frozen=True, repr=False)
class PrivacyGuarantee:
    """A promise of (epsilon, delta)-differential privacy, or the statement that there is none.

    Parameters
    ----------
    epsilon, delta : float
        What the mechanisms were run at. `epsilon` may be infinite only if the guarantee is void.
    relation : NeighboringRelation
        Which tables count as neighbours.
    unit : str
        How many rows one person holds at most; the promise is for the person.
    status : {"proven", "void"}
        ``"void"`` promises nothing, whatever epsilon says.
    reason : str
        Why it is void; empty if and only if it is proven.

    Examples
    --------
    >>> promise = PrivacyGuarantee(1.0, 0.0, NeighboringRelation.ADD_OR_REMOVE_ONE)
    >>> promise
    PrivacyGuarantee(epsilon=1.0, delta=0.0, relation=ADD_OR_REMOVE_ONE, unit='1 row per person',
                     status='proven')
    >>> print(promise)
    epsilon = 1, delta = 0 for adding or removing one row (1 row per person)
    >>> print(promise.voided("bounds were taken from the data").voided("fixed seed"))
    VOID: bounds were taken from the data; fixed seed. Run at epsilon = 1, delta = 0, but nothing is promised.
    """

    epsilon: float
    delta: float
    relation: NeighboringRelation
    unit: str = ONE_ROW_PER_PERSON
    status: Literal["proven", "void"] = "proven"
    reason: str = ""

    def __post_init__(self) -> None:
        if self.status not in ("proven", "void"):
            raise ValueError(f"status must be 'proven' or 'void', got {self.status!r}.")
        if bool(self.reason) == self.is_proven:
            raise ValueError(
                "a void guarantee must give its reason and a proven one has none, "
                f"got status={self.status!r} with reason={self.reason!r}."
            )
        if not isinstance(self.relation, NeighboringRelation):
            raise TypeError(f"relation must be a NeighboringRelation, got {type(self.relation).__name__}.")
        if self.is_proven or self.epsilon != math.inf:
            read_epsilon(self.epsilon)
        read_delta(self.delta)

    @property
    def is_proven(self) -> bool:
        """Whether anything is promised."""
        return self.status == "proven"

    def voided(self, reason: str) -> PrivacyGuarantee:
        """Return a void copy; reasons given earlier are kept.

        Parameters
        ----------
        reason : str
            What broke the promise, in words for the user.
        """
        reasons = [self.reason] if self.reason else []
        if reason not in self.reason.split("; "):
            reasons.append(reason)
        return replace(self, status="void", reason="; ".join(reasons))

    def to_dict(self) -> dict[str, str | float]:
        """Return a JSON-ready dictionary; an infinite epsilon is written as the text ``"inf"``."""
        return {
            "epsilon": "inf" if math.isinf(self.epsilon) else self.epsilon,
            "delta": self.delta,
            "relation": self.relation.value,
            "unit": self.unit,
            "status": self.status,
            "reason": self.reason,
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, str | float]) -> PrivacyGuarantee:
        """Rebuild what `to_dict` wrote.

        Parameters
        ----------
        record : mapping
            The dictionary.
        """
        return cls(
            epsilon=float(record["epsilon"]),
            delta=float(record["delta"]),
            relation=NeighboringRelation(record["relation"]),
            unit=str(record["unit"]),
            status=cast(Literal["proven", "void"], record["status"]),  # checked on construction
            reason=str(record["reason"]),
        )

    def __str__(self) -> str:
        numbers = f"epsilon = {short(self.epsilon)}, delta = {short(self.delta)}"
        if self.is_proven:
            return f"{numbers} for {self.relation.phrase(self.unit)} ({self.unit})"
        return f"VOID: {self.reason}. Run at {numbers}, but nothing is promised."

    def __repr__(self) -> str:
        reason = f", reason={self.reason!r}" if self.reason else ""
        return (
            f"PrivacyGuarantee(epsilon={self.epsilon!r}, delta={self.delta!r}, relation={self.relation!r}, "
            f"unit={self.unit!r}, status={self.status!r}{reason})"
        )

    def _repr_html_(self) -> str:
        colour = "green" if self.is_proven else "firebrick"
        return f'<span style="color: {colour}"><b>privacy</b>: {escape(str(self))}</span>'
