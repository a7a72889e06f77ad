"""Kernels compile wherever the package is installed, and leave their code where only their user writes."""

import stat
import subprocess
import sys

import numpy as np

from dpforest import _compiled_code

READ_ONLY = """
import os, stat, sys
import tempfile
def refuse(*_, **__):
    raise OSError("read-only file system")
honest, tempfile.TemporaryFile = tempfile.TemporaryFile, refuse
import dpforest
tempfile.TemporaryFile = honest
import numba.core.caching as caching
for name in ("InTreeCacheLocator", "_InTreeCacheLocator"):  # the older name
    if hasattr(caching, name):
        getattr(caching, name).ensure_cache_path = refuse
import numpy as np
from dpforest import DiPriMeForestClassifier
model = DiPriMeForestClassifier(1, max_depth=1, bounds=(0, 1), classes=[0, 1])
model.fit(np.array([[0.5], [0.7]]), [0, 1])
place = os.environ["NUMBA_CACHE_DIR"]
print(place, oct(stat.S_IMODE(os.stat(place).st_mode)), model.guarantee_.status)
"""


def test_a_read_only_installation_without_a_home_works(tmp_path):
    environment = {"HOME": "/proc/no-such-home", "TMPDIR": str(tmp_path), "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", READ_ONLY], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    place, mode, status = done.stdout.split()
    assert place.startswith(str(tmp_path))
    assert (mode, status) == (oct(stat.S_IRWXU), "proven")
    assert not list(tmp_path.iterdir())  # it ended with the process


def test_nothing_is_made_where_numba_finds_a_place(monkeypatch):
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    assert _compiled_code.provide_cache({"NUMBA_CACHE_DIR": "/somewhere"}) is None
    monkeypatch.setattr(_compiled_code, "_can_be_written", lambda place: place.name == ".cache")
    assert _compiled_code.provide_cache({"HOME": "/home/somebody"}) is None


def test_compiling_is_told_once_and_only_if_there_is_any():
    from dpforest._jit import part, when_compiling

    @part
    def doubled(x):
        return 2 * x

    told = []
    for argument in (1, 1.5, np.uint8(1), 2):
        with when_compiling(lambda: told.append("now")):
            doubled(argument)
            doubled(np.float32(argument))  # a second compilation, the first time
    assert told == ["now"] * 3
