"""The exact auditor: where the probability of every output can be computed, compare all neighbouring tables.

Nothing is sampled, so nothing is uncertain: a violation is a proof, with the two tables and the outcome in
hand. A clean result covers the tables that were tried and no others; flaws that need many rows hide from
small domains.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpforest.audit.pairs import neighbours
from dpforest.audit.result import AuditResult
from dpforest.privacy import NeighboringRelation

Record = TypeVar("Record", bound=Hashable)
LogProbabilities = Mapping[Any, float] | NDArray[np.float64]
SHOWN_OUTPUTS = 4


def audit_exact(
    log_pmf: Callable[[tuple[Record, ...]], LogProbabilities],
    domain: Sequence[Record] = (),
    max_rows: int = 3,
    *,
    claim: float,
    delta: float = 0.0,
    relation: NeighboringRelation = NeighboringRelation.ADD_OR_REMOVE_ONE,
    ordered: bool = False,
    pairs: Iterable[tuple[Sequence[Record], Sequence[Record]]] | None = None,
    name: str | None = None,
) -> AuditResult:
    """Compute the privacy loss on all neighbouring small tables, and report the worst.

    Parameters
    ----------
    log_pmf : callable
        Takes a table, a tuple of records, and returns the log-probability of every output: a mapping from
        outputs, or an array whose positions are the outputs.
    domain : sequence of hashable
        All records that may occur.
    max_rows : int, default=3
        Rows of the larger table.
    claim : float
        The promised epsilon.
    delta : float, default=0.0
        The promised delta. The loss is then the smallest epsilon for which (epsilon, delta) holds, and all
        outputs must be listed; without delta those of interest are enough.
    relation : NeighboringRelation
        ADD_OR_REMOVE_ONE or REPLACE_ONE.
    ordered : bool, default=False
        Try all orders of the rows and all places of the new one, for code that looks at the order.
    pairs : iterable of two tables, optional
        Neighbours to try instead of all over the domain.
    name : str, optional
        How the result calls it.

    Returns
    -------
    AuditResult
        With ``how="exact"`` and confidence 1. The loss is infinite if an output is possible with one table
        and impossible with the other.

    Examples
    --------
    A count with noise of rate 1, and one that is released as it is:

    >>> import numpy as np
    >>> from dpforest.audit import audit_exact
    >>> from dpforest.mechanisms import Rate, discrete_laplace_log_pmf
    >>> outputs = np.arange(-2, 6)
    >>> noisy = lambda rows: discrete_laplace_log_pmf(outputs - len(rows), Rate.floor(1))
    >>> audit_exact(noisy, domain="ab", max_rows=3, claim=1.0).loss
    1.0
    >>> print(audit_exact(lambda rows: {len(rows): 0.0}, "ab", 1, claim=1.0, name="raw count"))
    raw count: violation found.
      It promises that one person changes the probability of any outcome by a factor of at most 2.718
      (epsilon = 1). The outcome "output 0" changes by a factor of infinity (possible with one table,
      impossible with the other) (epsilon = inf) between these tables: no rows, and 'a'.
      Computed from exact probabilities.
    """
    known: dict[tuple[Record, ...], LogProbabilities] = {}

    def probabilities(rows: Sequence[Record]) -> LogProbabilities:
        key = tuple(rows)
        if key not in known:
            known[key] = log_pmf(key)
        return known[key]

    tried = neighbours(domain, max_rows, relation, ordered) if pairs is None else pairs
    worst, worst_pair, worst_event = -math.inf, "none", "none"
    for first, second in tried:
        before, after = _aligned(probabilities(first), probabilities(second))
        for p, q in ((before, after), (after, before)):
            loss, outputs = _loss(p.values, q.values, delta)
            if loss > worst:
                worst, worst_event = loss, p.words(outputs)
                worst_pair = f"{_words(first)}, and {_words(second)}"
    if worst == -math.inf:
        raise ValueError("No neighbouring tables to compare; give a domain with max_rows >= 1, or pairs.")
    called = name or str(getattr(log_pmf, "__name__", "mechanism"))
    return AuditResult(called, claim, max(worst, 0.0), "exact", 1.0, worst_pair, worst_event, delta=delta)


class _Distribution:
    """Log-probabilities in an array, and what their positions stand for."""

    def __init__(self, values: NDArray[np.float64], outputs: Sequence[Any]) -> None:
        self.values = values
        self.outputs = outputs

    def words(self, chosen: NDArray[np.intp]) -> str:
        shown = ", ".join(str(self.outputs[i]) for i in chosen[:SHOWN_OUTPUTS])
        more = f" or {len(chosen) - SHOWN_OUTPUTS} others" if len(chosen) > SHOWN_OUTPUTS else ""
        return f"output {shown}{more}"


def _aligned(first: LogProbabilities, second: LogProbabilities) -> tuple[_Distribution, _Distribution]:
    """Give both distributions the same outputs in the same order."""
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        outputs: Sequence[Any] = list(dict.fromkeys([*first, *second]))
        a, b = (np.array([pmf.get(x, -math.inf) for x in outputs], np.float64) for pmf in (first, second))
    else:
        a, b = (np.asarray(pmf, np.float64) for pmf in (first, second))
        if a.shape != b.shape:
            raise ValueError(f"Arrays of log-probabilities must have one shape, got {a.shape} and {b.shape}.")
        outputs = list(np.ndindex(a.shape)) if a.ndim > 1 else range(a.size)
        a, b = a.ravel(), b.ravel()
    return _Distribution(a, outputs), _Distribution(b, outputs)


def _loss(p: NDArray[np.float64], q: NDArray[np.float64], delta: float) -> tuple[float, NDArray[np.intp]]:
    """Return the smallest epsilon with P(E) <= e**epsilon Q(E) + delta for all E, and the E that needs it.

    Of all sets with the same Q(E), those of the outputs with the largest ratios have the largest P(E), so it
    is enough to look at these; with delta = 0 the first output alone is the worst.
    """
    possible = np.flatnonzero(p > -math.inf)
    ratio = p[possible] - q[possible]  # infinite where q is impossible
    if delta == 0.0:
        at = int(ratio.argmax())
        return float(ratio[at]), possible[at : at + 1]
    order = possible[np.argsort(-ratio, kind="stable")]
    inside, outside = np.cumsum(np.exp(p[order])), np.cumsum(np.exp(q[order]))
    with np.errstate(divide="ignore"):
        losses = np.where(
            inside > delta, np.log(np.maximum(inside - delta, 0.0)) - np.log(outside), -math.inf
        )
    at = int(losses.argmax())
    return float(losses[at]), order[: at + 1]


def _words(rows: Sequence[Any]) -> str:
    """Write a table for people, repeated rows once."""
    if not rows:
        return "no rows"
    groups: list[tuple[Any, int]] = []
    for row in rows:
        if groups and groups[-1][0] == row:
            groups[-1] = (row, groups[-1][1] + 1)
        else:
            groups.append((row, 1))
    return ", ".join(f"{row!r}" if n == 1 else f"{n} x {row!r}" for row, n in groups)
