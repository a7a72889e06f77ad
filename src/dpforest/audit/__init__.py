"""Measure what a released model really leaks, and compare it with what was promised."""

from dpforest.audit.exact import audit_exact
from dpforest.audit.ledger import audit_ledger
from dpforest.audit.one_run import audit_one_run
from dpforest.audit.pairs import NeighbourPair, neighbours, presets
from dpforest.audit.result import AuditReport, AuditResult
from dpforest.audit.statistical import audit, audit_every, audit_samples

__all__ = [
    "AuditReport",
    "AuditResult",
    "NeighbourPair",
    "audit",
    "audit_every",
    "audit_exact",
    "audit_ledger",
    "audit_one_run",
    "audit_samples",
    "neighbours",
    "presets",
]
