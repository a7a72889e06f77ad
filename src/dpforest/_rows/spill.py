"""A private file for rows that memory has no room for.

The file has no name from the start (`O_TMPFILE`, or unlinked at once where a system has no such thing; on
Windows it is deleted when it is closed), and only its owner may open it. So it is gone with the process,
however that ends, and there is nothing to clean up at the next start. Arrays in it are mapped into memory:
the system writes them to disk when it needs the room, and `Slot.let_go` gives their pages back at once.
"""

from __future__ import annotations

import mmap
import os
import tempfile
import threading
import weakref
from typing import Any

import numpy as np
from numpy.typing import NDArray

# The file grows by so much at a time: large enough for few maps, small enough to waste little.
SEGMENT = 2**26


class Slot:
    """A part of the file that holds one array.

    Parameters
    ----------
    segment : mmap
        The map that it is in.
    start : int
        Where it begins there: at a page.
    size : int
        Bytes: whole pages.
    """

    def __init__(self, segment: mmap.mmap, start: int, size: int) -> None:
        self._segment, self._start, self.size = segment, start, size

    def put(self, array: NDArray[Any]) -> NDArray[Any]:
        """Copy an array, which must fit, into the file and return the copy."""
        flat = np.frombuffer(self._segment, array.dtype, array.size, self._start)
        kept = flat.reshape(array.shape)
        kept[...] = array
        return kept

    def let_go(self) -> None:
        """Give the memory back; what the array holds stays in the file."""
        if hasattr(mmap, "MADV_DONTNEED"):
            self._segment.madvise(mmap.MADV_DONTNEED, self._start, self.size)


class SpillFile:
    """A nameless file that arrays are moved to, made when it is first needed."""

    def __init__(self) -> None:
        self._file: Any = None
        self._segment: mmap.mmap | None = None
        self._used = 0
        self._lock = threading.Lock()

    def reserve(self, n_bytes: int) -> Slot:
        """Find room for an array.

        Raises
        ------
        OSError
            If the disk is full: blocks are taken when the file grows, so that no write to a map can fail.
        """
        size = max(1, -(-n_bytes // mmap.PAGESIZE)) * mmap.PAGESIZE
        with self._lock:
            if self._segment is None or self._used + size > len(self._segment):
                self._segment, self._used = self._grown(max(size, SEGMENT)), 0
            start, self._used = self._used, self._used + size
            return Slot(self._segment, start, size)

    def _grown(self, size: int) -> mmap.mmap:
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="dpforest-")  # noqa: SIM115
            weakref.finalize(self, self._file.close)  # maps and their arrays have handles of their own
        handle = self._file.fileno()
        end = os.fstat(handle).st_size
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(handle, end, size)
        else:
            os.truncate(handle, end + size)
        return mmap.mmap(handle, size, offset=end)
