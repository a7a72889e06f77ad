"""Measure what a released model really leaks, and compare it with what was promised."""

from dpforest.audit.result import AuditReport, AuditResult
from dpforest.audit.statistical import audit, audit_every, audit_samples

__all__ = ["AuditReport", "AuditResult", "audit", "audit_every", "audit_samples"]
