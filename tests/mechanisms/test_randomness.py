"""The tape: repeatable when seeded, never copied, and the samplers do not care where it is cut."""

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from dpforest.mechanisms import (
    RandomWords,
    Rate,
    _kernels,
    discrete_gaussian,
    discrete_laplace,
    permute_and_flip,
    randomness,
)

from .conftest import ALARM, chi_square_p

SAMPLERS: dict[str, Callable[[RandomWords], np.ndarray]] = {
    "laplace": lambda words: discrete_laplace(np.arange(300), Rate.floor(Fraction(1, 30)), words),
    "gaussian": lambda words: discrete_gaussian(np.arange(300), Fraction(40, 3), words),
    "permute_and_flip": lambda words: permute_and_flip(np.arange(600).reshape(60, 10), Rate(1, 1), words),
    "small uniform": lambda words: words.uniform_below(40_000, 300),
    "large uniform": lambda words: words.uniform_below(3 * 2**61, 300),
}


def bytes_from(words: list[int]) -> Callable[[int], bytes]:
    """Return a byte source that plays the given words and then fails."""
    data = np.array(words, dtype="<u8").tobytes()
    position = 0

    def read(n: int) -> bytes:
        nonlocal position
        position += n
        return data[position - n : position]

    return read


def test_seeded_words_are_repeatable_however_they_are_read() -> None:
    whole = RandomWords.seeded(7).take(3000)
    words = RandomWords.seeded(7)
    parts = np.concatenate([words.take(n) for n in (1, 0, 2, 700, 2297)])
    assert np.array_equal(whole, parts)
    assert not np.array_equal(whole, RandomWords.seeded(8).take(3000))
    assert np.unique(whole).size == whole.size


def test_system_words_differ_each_time() -> None:
    assert not np.array_equal(RandomWords.system().take(4), RandomWords.system().take(4))
    assert not np.array_equal(RandomWords().fork("a").take(4), RandomWords().fork("a").take(4))


def test_forks_are_separate_from_each_other_and_from_the_parent() -> None:
    parent = RandomWords.seeded(7)
    tapes = [parent.fork("a"), parent.fork("b"), parent, RandomWords.seeded(7).fork("a").fork("b")]
    seen = np.concatenate([tape.take(1000) for tape in tapes])
    assert np.unique(seen).size == seen.size


def test_a_fork_depends_on_its_label_only() -> None:
    early = RandomWords.seeded(7)
    late = RandomWords.seeded(7)
    late.take(100)
    late.fork("other")
    assert np.array_equal(early.fork("a").take(9), late.fork("a").take(9))


def test_a_label_serves_once() -> None:
    words = RandomWords.seeded(7)
    words.fork("leaves")
    with pytest.raises(ValueError, match="leaves"):
        words.fork("leaves")


@pytest.mark.parametrize("duplicate", [pickle.dumps, copy.copy, copy.deepcopy])
@pytest.mark.parametrize("words", [RandomWords.system(), RandomWords.seeded(1)])
def test_the_tape_cannot_be_stored_or_copied(
    duplicate: Callable[[object], object], words: RandomWords
) -> None:
    with pytest.raises(TypeError, match="fork"):
        duplicate(words)


def test_a_source_that_runs_dry_is_an_error_not_short_noise() -> None:
    with pytest.raises(RuntimeError, match="bytes"):
        RandomWords(bytes_from([1, 2])).take(3)


@pytest.mark.parametrize("name", SAMPLERS)
def test_results_do_not_depend_on_where_the_tape_is_cut(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = SAMPLERS[name](RandomWords.seeded(3))
    original = RandomWords.run
    for items, words_per_item in [(1, 1), (1, 0), (7, 0.5), (100, 3)]:
        monkeypatch.setattr(randomness, "_ITEMS_PER_TAPE", items)
        monkeypatch.setattr(
            RandomWords,
            "run",
            lambda self, kernel, n, _, *args, w=words_per_item: original(self, kernel, n, w, *args),
        )
        assert np.array_equal(SAMPLERS[name](RandomWords.seeded(3)), wanted)


def test_dropping_words_that_were_looked_at_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: a driver that starts an unfinished item on fresh words."""

    def forgetful(self: RandomWords, kernel: Callable, n: int, _: float, *args: object) -> None:
        item = 0
        while item < n:
            item, _used = kernel(self.take(8), item, *args)

    wanted = discrete_laplace(np.zeros(20_000, dtype=int), Rate.floor(Fraction(1, 3)), RandomWords.seeded(3))
    monkeypatch.setattr(RandomWords, "run", forgetful)
    biased = discrete_laplace(np.zeros(20_000, dtype=int), Rate.floor(Fraction(1, 3)), RandomWords.seeded(3))
    assert not np.array_equal(biased, wanted)
    assert np.abs(biased).mean() < 0.95 * np.abs(wanted).mean()  # too little noise, as `run` warns


@pytest.mark.parametrize("words", [[], [0] * 50, [2**64 - 1] * 2])
def test_kernels_stop_at_the_end_of_the_tape(words: list[int]) -> None:
    """Zero words make every trial succeed, the longest run there is."""
    tape = np.array(words, dtype=np.uint64)
    values = np.zeros((5, 3), dtype=np.int64)
    values[:, 0] = -(2**40)
    flat, out = values.reshape(-1), np.zeros(15, dtype=np.int64)
    assert _kernels.add_laplace(tape, 2, flat, 1, 2**30, out) == (2, 0)
    assert _kernels.add_gaussian(tape, 2, flat, 2**24, 2**20, out) == (2, 0)
    item, used = _kernels.permute_and_flip(tape, 2, values, 1, 2**45, out)
    assert 2 <= item <= 5
    assert used <= tape.size
    assert _kernels.uniform_words(tape[:0], 2, 7, out) == (2, 0)


@pytest.mark.parametrize("m", [1, 2, 3, 10, 1000, 40_000, 65_535, 65_536])
def test_small_uniform_integers_are_exactly_uniform(m: int) -> None:
    """All 65536 pieces once: every value must come out equally often."""
    pieces = np.arange(65_536, dtype="<u2").view("<u8").astype(np.uint64)
    out = np.empty(65_536 - 65_536 % m, dtype=np.int64)
    assert _kernels.uniform_pieces(pieces, 0, m, out)[0] == out.size
    assert np.array_equal(np.bincount(out, minlength=m), np.full(m, 65_536 // m))


@pytest.mark.parametrize("m", [65_537, 3 * 2**61, 2**62 + 1, 2**63 - 1])
def test_large_uniform_integers_reject_the_incomplete_round(m: int) -> None:
    surplus = 2**64 % m
    # Words below the surplus are passed over, the others are reduced modulo m.
    words = RandomWords(bytes_from([surplus - 1, surplus, 0, 2**64 - 1, surplus + 1, 0, 0, 0]))
    assert words.uniform_below(m, 3).tolist() == [surplus % m, (2**64 - 1) % m, (surplus + 1) % m]


@pytest.mark.parametrize("m", [7, 100_003])
@pytest.mark.parametrize("words", [RandomWords.seeded(5), RandomWords.system()])
def test_uniform_integers_look_uniform(m: int, words: RandomWords) -> None:
    drawn = words.uniform_below(m, 200_000)
    cells = np.bincount(drawn * 7 // m, minlength=7)
    bounds = -(-np.arange(8) * m // 7)
    assert chi_square_p(cells, 200_000 * np.diff(bounds) / m) > ALARM


def test_uniform_below_refuses_an_empty_or_too_wide_range() -> None:
    for m in (0, 2**63):
        with pytest.raises(ValueError, match="uniform_below"):
            RandomWords.seeded(1).uniform_below(m, 1)


def test_importing_the_room_does_not_import_numba() -> None:
    code = "import dpforest.mechanisms, sys; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
