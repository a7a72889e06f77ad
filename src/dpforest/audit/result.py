"""What an audit found: one result, or a report of many, as objects that show themselves in words.

Made by the auditors (`exact`, `statistical`, `one_run`, `ledger`) and by the gallery; read by people, the
command line and the tests. An audit can prove that a promise is broken. It can never prove that one is kept,
so no word here says "private": a clean result is "no violation found at this confidence".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from html import escape
from importlib import import_module
from textwrap import wrap
from typing import Any, Literal

# exact losses are differences of double-precision logarithms
ROUNDING = 1e-9

VIOLATION = "violation found"
NO_VIOLATION = "no violation found at this confidence"


@dataclass(frozen=True)
class AuditResult:
    """What one audit of one promise found.

    Parameters
    ----------
    name : str
        What was audited.
    claim : float
        The epsilon that is promised; infinite if nothing is.
    loss : float
        Privacy loss that was found: with `how="exact"` the loss on the worst pair that was tried, otherwise
        a lower bound on the loss that holds with probability `confidence`.
    how : {"exact", "statistical", "one run"}
        Which auditor found it.
    confidence : float
        Probability that `loss` is not above the true loss; 1 for exact results.
    pair : str
        The two neighbouring tables, in words.
    event : str
        The set of outputs whose probability gives the two tables away, in words.
    runs : int, default=0
        How many times the audited thing was run; 0 if its probabilities were computed.
    delta : float, default=0.0
        The promised delta, taken off the probability of the event before the loss is computed.
    note : str, default=""
        Anything else the reader must know, such as an interruption.

    Examples
    --------
    >>> result = AuditResult("halved noise", claim=1.0, loss=1.62, how="statistical", confidence=0.999999,
    ...                      pair="no row, and one row", event="count >= 3", runs=20_000)
    >>> result.verdict
    'violation found'
    >>> print(result)
    halved noise: violation found.
      It promises that one person changes the probability of any outcome by a factor of at most 2.718
      (epsilon = 1). Guesses by "count >= 3" show an outcome that changes by a factor of at least 5.053
      (epsilon >= 1.62) between these tables: no row, and one row.
      Found in 20,000 runs; the chance that a kept promise looks broken is at most 1e-06.
    """

    name: str
    claim: float
    loss: float
    how: Literal["exact", "statistical", "one run"]
    confidence: float
    pair: str
    event: str
    runs: int = 0
    delta: float = 0.0
    note: str = ""

    @property
    def violation(self) -> bool:
        """Whether more was lost than promised."""
        return self.loss > self.claim + (ROUNDING if self.how == "exact" else 0.0)

    @property
    def verdict(self) -> str:
        """What may be concluded: a violation was found, or none was found, which proves nothing."""
        return VIOLATION if self.violation else NO_VIOLATION

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dictionary; infinite numbers are written as text."""
        record = {field.name: getattr(self, field.name) for field in fields(self)}
        for name in ("claim", "loss"):
            if math.isinf(record[name]):
                record[name] = str(record[name])
        return {**record, "verdict": self.verdict}

    def to_frame(self) -> Any:
        """Return a pandas DataFrame of one row; pandas must be installed."""
        return AuditReport([self]).to_frame()

    def plot(self, ax: Any = None) -> Any:
        """Draw the loss against the claim; matplotlib must be installed.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib Axes
        """
        return AuditReport([self]).plot(ax)

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.verdict}.", *self._story()]
        if self.note:
            lines.append(f"{self.note[0].upper()}{self.note[1:].rstrip('.')}.")
        return "\n  ".join(line for text in lines for line in wrap(text, 100))

    def _story(self) -> list[str]:
        delta = f", delta = {self.delta:g}" if self.delta else ""
        if math.isinf(self.claim):
            promise = "It promises nothing."
        else:
            promise = (
                "It promises that one person changes the probability of any outcome by a factor of at most "
                f"{_factor(self.claim)} (epsilon = {self.claim:.4g}{delta})."
            )
        if self.loss > 0:
            least, sign = ("", "=") if self.how == "exact" else ("at least ", ">=")
            which = f'The outcome "{self.event}"'
            if self.how == "statistical":  # a rule may guess by two outcomes
                which = f'Guesses by "{self.event}" show an outcome that'
            found = (
                f"{which} changes by a factor of {least}{_factor(self.loss)} (epsilon {sign} "
                f"{_number(self.loss)}) between these tables: {self.pair}."
            )
        else:
            found = f"No outcome was seen to change between these tables: {self.pair}."
        return [f"{promise} {found}", self._certainty()]

    def _certainty(self) -> str:
        if self.how == "exact":
            certainty = "Computed from exact probabilities"
            return f"{certainty}." if self.violation else f"{certainty}; other tables may lose more."
        risk = f"the chance that a kept promise looks broken is at most {1 - self.confidence:.1g}"
        counted = "one run" if self.how == "one run" else f"{self.runs:,} runs"
        if self.violation:
            return f"Found in {counted}; {risk}."
        return f"After {counted}; {risk}. This proves nothing: other tables or outcomes may lose more."

    def _repr_html_(self) -> str:
        colour = "firebrick" if self.violation else "black"
        return f'<pre style="color: {colour}">{escape(str(self))}</pre>'


class AuditReport:
    """Many audit results, in the order in which they were found.

    Parameters
    ----------
    results : iterable of AuditResult
        The results.
    interrupted : bool, default=False
        Whether the audit was stopped before all cases were done.

    Examples
    --------
    >>> kept = AuditResult("count", 1.0, 1.0, "exact", 1.0, "0 rows, and 1", "count = 0")
    >>> broken = AuditResult("mean", 1.0, math.inf, "exact", 1.0, "0 rows, and 1", "mean = 0")
    >>> report = AuditReport([kept, broken])
    >>> [result.name for result in report.violations]
    ['mean']
    >>> print(report)
    name   claim  loss  how    verdict
    count      1     1  exact  no violation found at this confidence
    mean       1   inf  exact  violation found
    violations found: 1 of 2
    """

    def __init__(self, results: Iterable[AuditResult] = (), interrupted: bool = False) -> None:
        self.results = tuple(results)
        self.interrupted = interrupted

    @property
    def violations(self) -> tuple[AuditResult, ...]:
        """The results that found a broken promise."""
        return tuple(result for result in self.results if result.violation)

    def to_records(self) -> list[dict[str, Any]]:
        """Return one JSON-ready dictionary per result."""
        return [result.to_dict() for result in self.results]

    def to_frame(self) -> Any:
        """Return one row per result as a pandas DataFrame; pandas must be installed."""
        columns = [*(field.name for field in fields(AuditResult)), "verdict"]
        records = [
            {name: getattr(result, name) for name in columns}  # as numbers, where to_dict writes text
            for result in self.results
        ]
        return _optional("pandas", "frames").DataFrame(records, columns=columns)

    def plot(self, ax: Any = None) -> Any:
        """Draw the loss of each case as a bar and its claim as a line; matplotlib must be installed.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib Axes
        """
        pyplot = _optional("matplotlib.pyplot", "plots")
        if ax is None:
            _, ax = pyplot.subplots(figsize=(8, 1.2 + 0.35 * len(self.results)), layout="constrained")
        finite = [x for r in self.results for x in (r.claim, r.loss) if math.isfinite(x)]
        edge = 1.15 * max([1.0, *finite])  # infinite losses run to the edge of the picture
        for row, result in enumerate(self.results):
            colour = "firebrick" if result.violation else "steelblue"
            ax.barh(row, min(max(result.loss, 0.0), edge), color=colour, height=0.6)
            if math.isfinite(result.claim):
                ax.vlines(result.claim, row - 0.4, row + 0.4, color="black")
        ax.set_yticks(range(len(self.results)), [result.name for result in self.results])
        ax.invert_yaxis()
        ax.set_xlim(0, edge)
        ax.set_xlabel("epsilon: found (bar, red if a violation) and promised (line)")
        return ax

    def __iter__(self) -> Iterator[AuditResult]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def __getitem__(self, index: int) -> AuditResult:
        return self.results[index]

    def __add__(self, other: AuditReport) -> AuditReport:
        return AuditReport([*self.results, *other.results], self.interrupted or other.interrupted)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AuditReport):
            return NotImplemented
        return (self.results, self.interrupted) == (other.results, other.interrupted)

    def __hash__(self) -> int:
        return hash((self.results, self.interrupted))

    def __repr__(self) -> str:
        return f"<AuditReport of {len(self)} results: {self._summary()}>"

    def __str__(self) -> str:
        rows = [["name", "claim", "loss", "how", "verdict"]]
        rows += [
            [r.name, _number(r.claim), _number(r.loss), r.how, r.verdict + (" *" if r.note else "")]
            for r in self.results
        ]
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        lines = []
        for row in rows:
            cells = [
                cell.rjust(width) if column in (1, 2) else cell.ljust(width)
                for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            ]
            lines.append("  ".join(cells).rstrip())
        notes = [f"* {r.name}: {r.note}" for r in self.results if r.note]
        return "\n".join([*lines, *notes, self._summary()])

    def _summary(self) -> str:
        stopped = " (interrupted)" if self.interrupted else ""
        return f"violations found: {len(self.violations)} of {len(self)}{stopped}"


def _factor(loss: float) -> str:
    """Write e**loss for people."""
    if math.isinf(loss):
        return "infinity (possible with one table, impossible with the other)"
    return f"{math.exp(loss):.4g}" if loss < 20 else f"e^{loss:.4g}"


def _number(value: float) -> str:
    return f"{value:.3g}"


def _optional(module: str, extra: str) -> Any:
    """Import a package that only views need."""
    try:
        return import_module(module)
    except ImportError as missing:
        name = module.split(".")[0]
        raise ImportError(
            f"this needs {name}: install it with `pip install 'dpforest[{extra}]'`."
        ) from missing
