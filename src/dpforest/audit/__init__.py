"""Measure what a released model really leaks, and compare it with what was promised."""

from dpforest.audit.result import AuditReport, AuditResult

__all__ = ["AuditReport", "AuditResult"]
