"""Directories for budgets that end with a process; what killed processes left is removed by the next one.

A directory belongs to its maker while the maker, or a fork of it, holds the lock on the file ``owner`` in it;
the operating system takes the lock away from the dead. So whoever gets the lock may remove the directory.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows has no such locks: nothing is removed there but one's own
    fcntl = None  # type: ignore[assignment]

PREFIX = "dpforest-budget-"
_OWNER = "owner"


def temporary_directory() -> tuple[Path, Callable[[object], None]]:
    """Make a directory that only this user can read.

    Returns
    -------
    directory, keep_until
        The directory, and a function that takes the object with which it ends.
    """
    _remove_left_behind(Path(tempfile.gettempdir()))
    directory = Path(tempfile.mkdtemp(prefix=PREFIX))
    lock = _lock(directory / f"{_OWNER}.new")
    if lock >= 0:  # visible to others only once it is locked
        (directory / f"{_OWNER}.new").rename(directory / _OWNER)

    def keep_until(end: object) -> None:
        weakref.finalize(end, _remove_if_owner, directory, lock, os.getpid())

    return directory, keep_until


def _lock(path: Path) -> int:
    """Hold the lock of a file; -1 if somebody else does, or there are no locks."""
    if fcntl is None:
        return -1
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError:
        return -1
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return -1
    return handle


def _remove_left_behind(folder: Path) -> None:
    for directory in folder.glob(f"{PREFIX}*"):
        with suppress(OSError):  # somebody else was faster
            # One that has no owner file yet is being made at this moment.
            if directory.stat().st_uid != os.geteuid() or not (directory / _OWNER).exists():
                continue
            lock = _lock(directory / _OWNER)
            if lock >= 0:
                shutil.rmtree(directory, ignore_errors=True)
                os.close(lock)


def _remove_if_owner(directory: Path, lock: int, owner: int) -> None:
    # A forked child inherits the finalizer but not the right to end the parent's budget.
    if os.getpid() == owner:
        shutil.rmtree(directory, ignore_errors=True)
    if lock >= 0:
        os.close(lock)
