"""What a case of the gallery is: a claim, a pair of tables, and the loss of two mechanisms on that pair.

The other modules of this folder make cases with `make_case`, each from two functions without arguments that
return what they `Measured`; `gallery` runs them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpforest.audit.result import AuditResult

__all__ = ["Case", "Measured", "log_ratio", "make_case", "worst"]


@dataclass(frozen=True)
class Case:
    """One promise of a paper, broken by the paper's own form and kept by this library's.

    Parameters
    ----------
    name : str
        What goes wrong, in a few words.
    paper : str
        Who published it, and where in the paper.
    claims : str
        What is claimed, in words.
    pair : str
        Two neighbouring tables.
    event : str
        The set of outputs of the published form that tells the two tables apart.
    published, repaired : callable
        Audits of the published form and of this library's form, on the same pair.
    """

    name: str
    paper: str
    claims: str
    pair: str
    event: str
    published: Callable[[], AuditResult]
    repaired: Callable[[], AuditResult]


@dataclass(frozen=True)
class Measured:
    """What one function of a case found.

    Parameters
    ----------
    loss : float
        Logarithm of the largest ratio of probabilities.
    event : str, default=""
        The outputs that have it; those of the case if empty.
    note : str, default=""
        What else the reader must know.
    runs : int, default=0
        How often a sampler was run; 0 if all probabilities were computed.
    """

    loss: float
    event: str = ""
    note: str = ""
    runs: int = 0


def make_case(
    name: str,
    *,
    paper: str,
    claims: str,
    claim: float,
    pair: str,
    event: str,
    published: Callable[[], Measured],
    repaired: Callable[[], Measured],
) -> Case:
    """Put a case together; both results state the same claim and the same pair.

    All results are exact: their losses are computed from probabilities, or (a loss of infinity) follow from
    an output that was seen with one table and is impossible with the other.

    Parameters
    ----------
    name, paper, claims, pair, event
        As in `Case`.
    claim : float
        The claimed epsilon.
    published, repaired : callable
        Return what they measured.

    Returns
    -------
    Case
    """

    def audit(form: str, measure: Callable[[], Measured]) -> Callable[[], AuditResult]:
        def run() -> AuditResult:
            found = measure()
            return AuditResult(
                f"{name}, {form}",
                claim,
                found.loss,
                how="exact",
                confidence=1.0,
                pair=pair,
                event=found.event or event,
                runs=found.runs,
                note=found.note,
            )

        return run

    return Case(name, paper, claims, pair, event, audit("published", published), audit("repaired", repaired))


def log_ratio(chance: float, other: float) -> float:
    """Return the privacy loss of one event: the absolute difference of the logarithms of its probabilities.

    Examples
    --------
    >>> round(log_ratio(0.5, 0.1), 3), log_ratio(0.0, 0.1), log_ratio(0.0, 0.0)
    (1.609, inf, 0.0)
    """
    with np.errstate(divide="ignore"):
        return worst(np.log([chance]), np.log([other]))


def worst(log_pmf: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Return the privacy loss of a mechanism on a pair, from its log-probabilities of all single outputs.

    No set of outputs loses more than the worst single output. An output that only one table allows has an
    infinite loss; one that neither allows has none.

    Examples
    --------
    >>> round(worst(np.log([0.5, 0.5]), np.log([0.25, 0.75])), 3)
    0.693
    """
    possible = np.isfinite(log_pmf) | np.isfinite(other)
    return float(np.abs(log_pmf[possible] - other[possible]).max(initial=0.0))
