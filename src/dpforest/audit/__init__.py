"""Measure what a released model really leaks, and compare it with what was promised.

`replay` freezes the answers of a fit and compares everything else on neighbouring tables (`ReplayResult`).
Four auditors give an `AuditResult` (`result`): `exact` computes probabilities on all small neighbouring
tables, `statistical` runs any estimator as a black box on `pairs` of tables, `one_run` needs a single fit,
`ledger` compares charges with mechanisms. `subjects` lists our own estimators, `gallery` (with `cases`) the
papers' broken promises.

How `statistical` works: `fitting` runs a subject once and `running` often, `observe` reads what was released
as `readings`, which become `columns`; `scouting` finds the pair of tables to look at, `events` (with
`scores`) the outcomes that give a table away, `wagers` bets on them, `evidence` says what the winnings prove,
`trial` puts all that together.
"""

from typing import TYPE_CHECKING, Any

from dpforest.audit.exact import audit_exact
from dpforest.audit.fitting import CannotAuditError
from dpforest.audit.ledger import audit_ledger
from dpforest.audit.one_run import audit_one_run
from dpforest.audit.pairs import NeighbourPair, neighbours, presets
from dpforest.audit.replay import ReplayResult, audit_replay
from dpforest.audit.result import AuditReport, AuditResult
from dpforest.audit.statistical import audit, audit_every, audit_samples
from dpforest.audit.subjects import every_estimator

if TYPE_CHECKING:
    from dpforest.papers.gallery.run import gallery

__all__ = [
    "AuditReport",
    "AuditResult",
    "CannotAuditError",
    "NeighbourPair",
    "ReplayResult",
    "audit",
    "audit_every",
    "audit_exact",
    "audit_ledger",
    "audit_one_run",
    "audit_replay",
    "audit_samples",
    "every_estimator",
    "gallery",
    "neighbours",
    "presets",
]


def __getattr__(name: str) -> Any:
    """Reach the papers' broken promises when they are asked for: they are research, and load a lot of it."""
    if name == "gallery":
        from dpforest.papers.gallery.run import gallery

        return gallery
    raise AttributeError(f"module 'dpforest.audit' has no attribute {name!r}")
