"""Work that threads share: in order, no more at a time than allowed, and nothing released depends on them."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from sklearn.base import clone

from dpforest import _threads
from dpforest._curator import queries
from dpforest._rows import memory, siblings
from dpforest.mechanisms import RandomWords, Rate, selection, splits
from tests.forests.conftest import fit, patients_table
from tests.rows.test_stored import MODELS, assert_same


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize("n_items", [0, 1, 4, 11])
def test_parts_are_all_items_in_order(n_items, n_threads):
    parts = _threads.in_parts(lambda begin, end: list(range(begin, end)), n_items, n_threads, least=2)
    assert [item for part in parts for item in part] == list(range(n_items))
    assert len(parts) == max(1, min(n_threads, n_items // 2))


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_values_come_in_the_order_of_items_however_long_they_take(n_threads):
    under_way, most = set(), [0]

    def slow(item):
        under_way.add(threading.get_ident())
        most[0] = max(most[0], len(under_way))
        time.sleep(0.001 * (item * 7 % 5))
        under_way.discard(threading.get_ident())
        return item

    taken = []
    items = (taken.append(item) or item for item in range(30))
    for used, value in enumerate(_threads.ahead(slow, items, n_threads)):
        assert value == used
        assert len(taken) - used <= n_threads + 1  # items and what comes of them take memory
    assert used == 29
    assert most[0] <= n_threads


@pytest.mark.parametrize("n_threads", [1, 3])
def test_what_fails_in_a_thread_fails_here(n_threads):
    def failing(item):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(_threads.ahead(failing, range(9), n_threads))
    with pytest.raises(ZeroDivisionError):
        _threads.in_parts(lambda begin, end: failing(begin), 9, n_threads)


def test_nobody_leaves_while_threads_work_for_him():
    ended = []

    def work(begin, end):
        if begin == 0:
            raise KeyboardInterrupt
        time.sleep(0.05)
        ended.append(begin)

    for _ in range(5):
        began = len(ended)
        with pytest.raises(KeyboardInterrupt):
            _threads.in_parts(work, 3, 3)
        now = list(ended)
        time.sleep(0.12)
        assert ended == now, "a thread went on"
        assert began <= len(now)


def test_a_generator_that_is_left_early_leaves_no_work_behind():
    ended = []

    def slow(item):
        time.sleep(0.02)
        ended.append(item)
        return item

    for value in _threads.ahead(slow, range(30), 3):
        if value == 2:
            break
    now = list(ended)
    time.sleep(0.1)
    assert ended == now
    assert len(ended) < 10


def test_work_that_is_shared_may_share_its_own():
    """With as many threads as there are, none of which must wait for another for ever."""

    def inner(begin, end):
        time.sleep(0.001)
        return end - begin

    def outer(begin, end):
        return sum(sum(_threads.in_parts(inner, 8, 4)) for _ in range(begin, end))

    assert sum(_threads.in_parts(outer, 12, 4)) == 12 * 8


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_starts_threads_of_its_own():
    def together():
        both = threading.Barrier(2)
        return _threads.in_parts(lambda begin, end: both.wait(10) >= 0, 2, 2) == [True, True]

    assert together()
    child = os.fork()
    if child == 0:
        signal.alarm(30)  # ends it if it hangs
        try:
            os._exit(0 if together() else 1)
        except threading.BrokenBarrierError:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0


def test_small_arrays_of_two_threads_share_no_line_of_memory():
    arrays = [_threads.zeros((2, 2), np.int64) for _ in range(9)]
    assert np.diff(np.sort([array.ctypes.data for array in arrays])).min() >= 128


def test_choices_do_not_depend_on_threads(monkeypatch):
    """Neither do those that float64 cannot decide, which take more words."""
    monkeypatch.setattr(selection, "_LEAST_CANDIDATES", 1)
    rng = np.random.default_rng(0)
    scores, base = rng.integers(-9, 9, (200, 6)), rng.integers(0, 3, (200, 6))
    base[7] = 0
    for slack in (2.0**-50, 0.02):
        chosen = [
            selection.choose(scores, base, Rate(1, 2), RandomWords.seeded(1), slack, n_threads)
            for n_threads in (1, 2, 7)
        ]
        np.testing.assert_array_equal(chosen[1], chosen[0])
        np.testing.assert_array_equal(chosen[2], chosen[0])


@pytest.mark.filterwarnings("ignore::dpforest.privacy.PrivacyLeakWarning")
@pytest.mark.parametrize("name", sorted(MODELS))
def test_models_do_not_depend_on_threads(name, monkeypatch):
    """With every limit so low that a few hundred rows are shared."""
    monkeypatch.setattr(selection, "_LEAST_CANDIDATES", 1)
    monkeypatch.setattr(splits, "_LEAST_CELLS", 1)
    monkeypatch.setattr(memory, "BLOCK_ROWS", 100)
    monkeypatch.setattr(memory, "ENTRIES_OF_A_THREAD", 1)
    monkeypatch.setattr(queries, "CHUNK_ENTRIES", 64)
    monkeypatch.setattr(siblings, "_NODES", 2)
    patients = patients_table(500)
    alone, shared = (fit(clone(MODELS[name]), patients, random_state=3, n_jobs=n_jobs) for n_jobs in (1, 3))
    assert_same(alone, shared)
