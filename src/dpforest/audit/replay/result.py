"""What a replay found, as an object that shows itself in words."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from html import escape
from textwrap import wrap
from typing import Any, NamedTuple

from dpforest.audit.result import VIOLATION

NO_VIOLATION = "no violation found on these tables"


class Finding(NamedTuple):
    """One way in which a neighbour can be told apart without any noise in between.

    Attributes
    ----------
    kind : str
        "question" (another one, in another order, or about other things), "amount", "candidates", "movement",
        "price", "total", "message", "failure" or "release".
    where : str
        The question, look, message or attribute.
    what : str
        What is wrong with it, without any value of a row.
    neighbour : str
        The neighbouring table on which it showed.
    """

    kind: str
    where: str
    what: str
    neighbour: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.where}: {self.what} ({self.neighbour})"


@dataclass(frozen=True)
class ReplayResult:
    """What replaying a fit on neighbouring tables found.

    Parameters
    ----------
    name : str
        What was audited.
    claim : float
        The epsilon that is promised, or with delta > 0 the rho of zero-concentrated privacy behind it.
    loss : float
        The most that the movements of all tables cost on one of the neighbours, in the same currency.
    currency : {"epsilon", "rho"}
        Which one.
    questions : int
        How many questions the fit asked.
    paid : int
        How many of them were paid for: queries to private tables.
    neighbours : tuple of str
        The neighbouring tables, in words.
    findings : tuple of Finding
        What gives a neighbour away.

    Examples
    --------
    >>> kept = ReplayResult("a forest", 1.0, 0.5, "epsilon", 3, 2, ("one row more, in front",), ())
    >>> kept.verdict
    'no violation found on these tables'
    >>> print(kept)
    a forest: no violation found on these tables.
      3 questions, 2 of them paid for, were replayed on 1 neighbouring table with the
      answers of the first fit. Questions, amounts, candidates, messages and the released model were the
      same; no table moved further than was paid for. The movements cost at most epsilon = 0.5 of 1.
    """

    name: str
    claim: float
    loss: float
    currency: str
    questions: int
    paid: int
    neighbours: tuple[str, ...]
    findings: tuple[Finding, ...]

    @property
    def violation(self) -> bool:
        """Whether a neighbour can be told apart, or moves a table further than was paid for."""
        return bool(self.findings)

    @property
    def verdict(self) -> str:
        """What may be concluded: a violation was found, or none on these tables, which proves nothing."""
        return VIOLATION if self.violation else NO_VIOLATION

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dictionary."""
        findings = [finding._asdict() for finding in self.findings]
        return {**asdict(self), "findings": findings, "verdict": self.verdict}

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.verdict}.", self._story(), *map(str, self.findings)]
        return "\n  ".join(line for text in lines for line in wrap(text, 100))

    def _story(self) -> str:
        n = len(self.neighbours)
        tables = "1 neighbouring table" if n == 1 else f"{n} neighbouring tables"
        done = (
            f"{self.questions} questions, {self.paid} of them paid for, were replayed on "
            f"{tables} with the answers of the first fit."
        )
        if self.violation:
            return f"{done} What differs beyond the noise, or moved further than was paid for:"
        return (
            f"{done} Questions, amounts, candidates, messages and the released model were the same; no table "
            "moved further than was paid for. "
            f"The movements cost at most {self.currency} = {self.loss:.4g} of {self.claim:.4g}."
        )

    def _repr_html_(self) -> str:
        colour = "firebrick" if self.violation else "black"
        return f'<pre style="color: {colour}">{escape(str(self))}</pre>'
