"""Where numba keeps compiled kernels: a place that only this user can write, and always some place.

Numba stores machine code beside the modules, or else in the user's cache directory, and loads it from there
without a question: who can write to that directory can run code in every process that imports dpforest. Where
neither can be written (a read-only installation, a user without a home), numba gives up when a kernel is
defined; a directory of this process alone takes their place then, and kernels are compiled once per process.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path


def provide_cache(environment: Mapping[str, str] = os.environ) -> Path | None:
    """Give numba a directory if it would find none, before it is imported.

    Parameters
    ----------
    environment : mapping
        Of the process.

    Returns
    -------
    Path or None
        The directory that was made, removed when the process ends; None if none was needed.
    """
    if environment.get("NUMBA_CACHE_DIR") or "numba" in sys.modules:
        return None
    places = [Path(__file__).parent / "__pycache__", _user_cache(environment)]
    if any(place is not None and _can_be_written(place) for place in places):
        return None
    directory = Path(tempfile.mkdtemp(prefix="dpforest-compiled-"))  # for this user alone
    os.environ["NUMBA_CACHE_DIR"] = str(directory)  # worker processes inherit it
    atexit.register(_remove, directory, os.getpid())
    return directory


def _user_cache(environment: Mapping[str, str]) -> Path | None:
    if sys.platform == "linux" and environment.get("XDG_CACHE_HOME"):
        return Path(environment["XDG_CACHE_HOME"])
    home = environment.get("HOME") or os.path.expanduser("~")
    return None if home.startswith("~") else Path(home) / ".cache"


def _can_be_written(place: Path) -> bool:
    try:  # as numba does: rights alone do not tell whether a file system takes files
        place.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=place).close()
    except OSError:
        return False
    return True


def _remove(directory: Path, owner: int) -> None:
    if os.getpid() == owner:
        shutil.rmtree(directory, ignore_errors=True)
