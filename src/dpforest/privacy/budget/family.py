"""What a process tells its children: which accountants pay inside its ``with`` blocks.

An estimator that is made in a worker process knows nothing of the block that its parent is in. So the parent
leaves a note, named after itself, in a directory that only its user can read; a process whose threads have
entered nothing looks whether its parent has. A note holds handles on budgets, as pickles of accountants do,
and when its writer was started, so that nobody takes it for that of a later process of the same number.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import stat
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpforest.privacy.errors import PrivacyError

if TYPE_CHECKING:
    from dpforest.privacy.budget.accountant import BudgetAccountant

_PREFIX = "dpforest-entered-"


def tell_children(accountants: Sequence[BudgetAccountant]) -> None:
    """Leave a note for processes that this one starts, or take it back if there is nothing to tell.

    Parameters
    ----------
    accountants : sequence of BudgetAccountant
        Who pays inside the blocks of this process.
    """
    note = _directory() / str(os.getpid())
    try:
        if not accountants:
            note.unlink(missing_ok=True)
            return
        note.parent.mkdir(mode=0o700, exist_ok=True)
        if not _is_own(note.parent.lstat()):
            raise PermissionError(f"{note.parent} belongs to somebody else")
        fresh = note.with_name(f"{note.name}.{os.urandom(8).hex()}")
        fresh.write_bytes(pickle.dumps((_started(os.getpid()), list(accountants))))
        fresh.replace(note)
    except OSError as problem:
        raise PrivacyError(
            f"worker processes cannot be told who pays inside this block ({problem}): give estimators their "
            "accountant as a parameter instead."
        ) from problem


def told_by_parents() -> list[BudgetAccountant]:
    """Return the accountants of the blocks in which the parents of this process are."""
    parent = multiprocessing.parent_process()
    parents = {os.getppid(), *([] if parent is None or parent.pid is None else [parent.pid])}
    return [accountant for process in sorted(parents) for accountant in _read_note(process)]


def _read_note(process: int) -> list[BudgetAccountant]:
    note = _directory() / str(process)
    try:
        if not _is_own(note.parent.lstat()) or not _is_own(note.lstat()):
            return []
        started, accountants = pickle.loads(note.read_bytes())  # noqa: S301 - written by this user alone
    except FileNotFoundError:
        return []
    return accountants if started == _started(process) else []


def _directory() -> Path:
    return Path(tempfile.gettempdir()) / f"{_PREFIX}{_user()}"


def _user() -> Any:
    return os.geteuid() if hasattr(os, "geteuid") else "user"


def _is_own(found: os.stat_result) -> bool:
    """Whether a file or directory belongs to this user, and is no link."""
    return not stat.S_ISLNK(found.st_mode) and (not hasattr(os, "geteuid") or found.st_uid == os.geteuid())


def _started(process: int) -> str:
    """When a process was started, where the system tells."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
