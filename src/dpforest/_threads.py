"""Work that threads share. Kernels are serial and let go of the interpreter lock, so that is all they need.

Nothing that is released depends on the number of threads: parts and items do not know of each other, what
comes of them is handed back in their order, and no random word is drawn here.

Threads are started once and wait for more: a fit shares hundreds of steps of a few milliseconds, and to start
one takes a tenth of that. Whoever would wait for a piece of work that no thread has begun does it himself, so
that nobody waits for ever, even if work that is shared shares its own. Nobody leaves, not by an exception
either, while threads still work for him.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from itertools import islice, pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

Item = TypeVar("Item")
Value = TypeVar("Value")
_ROOM = 256  # bytes; cores fetch one or two lines of 64 at a time
_POOLS: dict[int, ThreadPoolExecutor] = {}  # by their threads
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_POOLS.clear)  # a new process has no threads but one


def in_parts(work: Callable[[int, int], Value], n_items: int, n_threads: int, least: int = 1) -> list[Value]:
    """Cut items into parts, one for each thread, and return what comes of them.

    Parameters
    ----------
    work : callable
        Takes a part, items `begin` to ``end - 1``.
    n_items : int
        Number of items.
    n_threads : int
        Threads, of which this one is the first.
    least : int
        Items of a part: to wake a thread takes some hundredths of a millisecond.

    Examples
    --------
    >>> in_parts(lambda begin, end: list(range(begin, end)), 5, 2)
    [[0, 1], [2, 3, 4]]
    """
    n_parts = max(1, min(n_threads, n_items // least))
    if n_parts == 1:
        return [work(0, n_items)]
    borders = [n_items * part // n_parts for part in range(n_parts + 1)]
    parts = list(pairwise(borders))[1:]
    others: list[Future[Value]] = []
    try:
        for part in parts:
            others.append(_pool(n_parts - 1).submit(work, *part))
        found = [work(0, borders[1])]
        for part, other in zip(parts, others, strict=True):
            found.append(work(*part) if other.cancel() else other.result())
        return found
    finally:
        _end(others)


def ahead(work: Callable[[Item], Value], items: Iterable[Item], n_threads: int) -> Iterator[Value]:
    """Yield what comes of items, in their order, while threads work at those behind.

    Items are taken, and values used, by this thread. Whenever it would have to wait it works at an item too,
    so that no more threads than were asked for are at work. At most one item more than threads is under way.

    Examples
    --------
    >>> list(ahead(str, range(3), 2))
    ['0', '1', '2']
    """
    if n_threads == 1:
        yield from map(work, items)
        return
    left, window = iter(items), deque[tuple[Item, Future[Value]]]()
    pool = _pool(n_threads - 1)
    try:
        while True:
            for item in islice(left, n_threads + 1 - len(window)):
                window.append((item, pool.submit(work, item)))
            if not window:
                return
            while not window[0][1].done() and _work_at_one(work, window):
                pass
            yield window.popleft()[1].result()
    finally:
        _end([value for _, value in window])


def _pool(n_threads: int) -> ThreadPoolExecutor:
    """Return threads that wait for work."""
    return _POOLS.setdefault(n_threads, ThreadPoolExecutor(n_threads, "dpforest"))


def _end(shared: list[Future[Value]]) -> None:
    """Take back what no thread has begun, and wait for what one has."""
    wait([value for value in shared if not value.cancel()])


def _work_at_one(work: Callable[[Item], Value], window: deque[tuple[Item, Future[Value]]]) -> bool:
    """Work at the first item that no thread has begun; tell whether there was one."""
    for place, (item, value) in enumerate(window):
        if value.cancel():
            done: Future[Value] = Future()
            done.set_result(work(item))
            window[place] = item, done
            return True
    return False


def zeros(shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return an array of zeros far enough from all others to be written by one thread while others write.

    Small arrays lie side by side, and cores that write to one line of memory wait for each other: two threads
    that fill a table of few entries each would be slower than one.

    Examples
    --------
    >>> zeros((2, 2), np.int32)
    array([[0, 0],
           [0, 0]], dtype=int32)
    """
    kind = np.dtype(dtype)
    room, size = _ROOM // kind.itemsize, int(np.prod(shape))
    return np.zeros(size + 2 * room, kind)[room : room + size].reshape(shape)
