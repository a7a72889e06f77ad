"""Files that are either complete or not there, and that leave nothing behind when a process is killed."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from contextlib import nullcontext, suppress
from pathlib import Path


def write_file(
    path: str | os.PathLike[str],
    data: bytes | Iterable[bytes],
    *,
    mode: int = 0o666,
    replace: bool = True,
) -> None:
    """Write a whole file in one step. A link at its place is replaced, never followed.

    Parameters
    ----------
    path : str or path
        Where to.
    data : bytes or iterable of bytes
        What to write; if making it fails, no file is written.
    mode : int
        Who may read and write it, less what the process forbids.
    replace : bool
        Whether an existing file is replaced; if not, it is an error.
    """
    target = Path(path)
    aside = target.with_name(f".{target.name[:200]}.{secrets.token_hex(4)}")
    handle = _nameless(target.parent, mode)
    nameless = handle is not None
    try:
        if handle is None:  # a system, or a file system, that has only files with names
            handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        _write(handle, data)
        if nameless:
            # Nothing has a name until here. Names are given by one system call, or by two that replace.
            if not os.path.lexists(target) or not replace:
                with suppress(FileExistsError) if replace else nullcontext():
                    _name(handle, target)
                    _force_names(target.parent)
                    return
            _name(handle, aside)
        if replace:
            aside.replace(target)
        else:
            os.link(aside, target)
        _force_names(target.parent)
    finally:
        if handle is not None:
            os.close(handle)
        with suppress(OSError):
            aside.unlink(missing_ok=True)


def _name(handle: int, path: Path) -> None:
    # A directory, though not needed, makes Python use the call that follows the link in /proc.
    os.link(f"/proc/self/fd/{handle}", path, src_dir_fd=handle, follow_symlinks=True)


def _force_names(folder: Path) -> None:
    """Force the names of files to disk, where that can be done: a power failure must not take them back."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _nameless(folder: Path, mode: int) -> int | None:
    if not hasattr(os, "O_TMPFILE") or not os.path.isdir("/proc/self/fd"):
        return None
    try:
        return os.open(folder, os.O_TMPFILE | os.O_WRONLY, mode)
    except OSError:
        return None


def _write(handle: int, data: bytes | Iterable[bytes]) -> None:
    for part in [data] if isinstance(data, bytes) else data:
        view = memoryview(part)
        while view:
            view = view[os.write(handle, view) :]
    os.fsync(handle)
