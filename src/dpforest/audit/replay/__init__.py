"""The replay auditor: see `auditing` for the idea and the function.

`watching` holds the two observers of the curator, `movement` measures private tables, `running` fits and
catches messages, `facts` compares what is public, `neighbours` makes the tables, `result` says what was
found, `cases` covers every estimator.
"""

from dpforest.audit.replay.auditing import audit_replay
from dpforest.audit.replay.result import Finding, ReplayResult

__all__ = ["Finding", "ReplayResult", "audit_replay"]
