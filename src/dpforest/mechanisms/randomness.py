"""The only source of randomness: an endless tape of uniform 64-bit words.

`noise`, `selection` and `splits` receive a RandomWords and read nothing else, so a test can put any byte
stream below the real samplers. `RandomWords.run` drives the compiled samplers of `_kernels` over the tape.
"""

from __future__ import annotations

import hashlib
import math
import operator
import os
from collections.abc import Callable
from typing import NoReturn

import numpy as np

from dpforest._arrays import IntArray, WordArray

_ITEMS_PER_TAPE = 65_536  # bounds the memory of one tape; the results do not depend on it
_BLOCK_BYTES = 4_096


class RandomWords:
    """An endless tape of independent uniform 64-bit words.

    Nothing read ahead is kept between calls, and the object refuses to be pickled or copied: two processes
    that shared unread words would add the same noise twice, and a stored tape would let anyone subtract the
    noise from a model. Fork it instead, once per thread or stage.

    Parameters
    ----------
    read_bytes : callable, default=os.urandom
        Called with a number of bytes, returns that many fresh uniform bytes.

    Examples
    --------
    >>> RandomWords.seeded(1).take(2)
    array([9487985722464019080, 5675490054525628653], dtype=uint64)
    >>> bool((RandomWords.system().take(2) == RandomWords.system().take(2)).all())
    False
    """

    def __init__(self, read_bytes: Callable[[int], bytes] = os.urandom) -> None:
        self._read_bytes = read_bytes
        self._labels: set[str] = set()

    @classmethod
    def system(cls) -> RandomWords:
        """Words of the operating system's cryptographic generator, the only ones with a privacy guarantee."""
        return cls(os.urandom)

    @classmethod
    def seeded(cls, seed: int) -> RandomWords:
        """Repeatable words for tests: SHAKE-256 of the seed in counter mode.

        Who knows the seed can subtract the noise, so a model fitted with it has no privacy guarantee.
        """
        return cls(_SeededBytes(_derive(b"seed", b"", str(operator.index(seed)))))

    @classmethod
    def keyed(cls, key: bytes, number: int) -> RandomWords:
        """Words that can be read again: SHAKE-256 of a key and a number, in counter mode.

        They look uniform and independent, also between numbers, to whoever does not know the key, so the key
        must be uniform, secret and used for one thing only.

        Parameters
        ----------
        key : bytes
            32 bytes.
        number : int
            Which of the tapes of this key.
        """
        if len(key) != 32:
            raise ValueError(f"A key has 32 bytes, got {len(key)}.")
        return cls(_SeededBytes(_derive(b"keys", key, str(operator.index(number)))))

    @property
    def is_seeded(self) -> bool:
        """Whether a seed makes the words repeatable, so that nothing made with them is private."""
        return isinstance(self._read_bytes, _SeededBytes)

    def fork(self, label: str) -> RandomWords:
        """Return a tape independent of this one, for another thread or stage.

        A seeded tape derives the new one from its key and the label alone, not from its position, so the
        order of reading does not matter. Each label serves once per tape: twice would repeat the same words.

        Parameters
        ----------
        label : str
            Name of the stage, different in every call.

        Returns
        -------
        RandomWords

        Examples
        --------
        >>> words = RandomWords.seeded(1)
        >>> bool(words.fork("leaves").take(1) == words.fork("splits").take(1))
        False
        """
        if label in self._labels:
            raise ValueError(f"The label {label!r} was used before and would repeat its words; add a number.")
        self._labels.add(label)
        source = self._read_bytes
        return RandomWords(source.fork(label) if isinstance(source, _SeededBytes) else source)

    def take(self, n: int) -> WordArray:
        """Return the next n words."""
        data = self._read_bytes(8 * n)
        if len(data) != 8 * n:
            raise RuntimeError(f"The random source returned {len(data)} bytes instead of {8 * n}.")
        return np.frombuffer(data, dtype="<u8").astype(np.uint64)

    def run(
        self, kernel: Callable[..., tuple[int, int]], n_items: int, words_per_item: float, *args: object
    ) -> None:
        """Drive a compiled sampler over n_items items.

        A kernel that meets the end of the tape inside an item returns that item and the position where the
        item started. The words it has already looked at are kept and the item is run again on them with fresh
        words behind. Dropping them and starting the item anew would prefer items that need few words, which
        is a bias: long runs of the samplers belong to particular outcomes. So the results depend on the
        sequence of words only, never on where the tape was cut. Words behind the last item were not looked
        at, hence may be dropped.

        Parameters
        ----------
        kernel : callable
            kernel(words, first_item, *args) -> (next_item, words_used); it writes its results into args.
        n_items : int
            Number of items; the kernel must know it too (from its arrays).
        words_per_item : float
            Estimate of the need. It changes the speed, never the results.
        *args : object
            Passed on.
        """
        item, used = 0, 0
        tape = np.empty(0, dtype=np.uint64)
        while item < n_items:
            kept = tape[used:]
            estimate = math.ceil(words_per_item * min(n_items - item, _ITEMS_PER_TAPE))
            # At least as many fresh words as kept ones: an item that needs many is met by doubling.
            fresh = max(estimate - kept.size, kept.size, 1)
            tape = np.concatenate([kept, self.take(fresh)])
            item, used = kernel(tape, item, *args)

    def uniform_below(self, m: int, size: int) -> IntArray:
        """Return exactly uniform integers in 0..m-1.

        Parameters
        ----------
        m : int
            Number of values, 1 <= m < 2**63. Up to 65536 one word serves up to four integers.
        size : int
            How many integers.

        Returns
        -------
        ndarray of int64, shape (size,)

        Examples
        --------
        >>> RandomWords.seeded(1).uniform_below(10, 5)
        array([1, 7, 0, 5, 1])
        """
        from dpforest.mechanisms import _kernels

        if not 1 <= m < 2**63:
            raise ValueError(f"uniform_below needs 1 <= m < 2**63, got {m}.")
        out = np.empty(size, dtype=np.int64)
        if m <= 65_536:
            self.run(_kernels.uniform_pieces, size, 0.25, m, out)
        else:
            self.run(_kernels.uniform_words, size, 1, m, out)
        return out

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Refuse pickle, copy and deepcopy."""
        raise TypeError(
            "RandomWords cannot be pickled or copied: a second copy of the tape would repeat the noise. "
            "Use fork(label) in the same process, or make a new one in the other process."
        )


class _SeededBytes:
    """SHAKE-256 in counter mode, a byte stream that does not depend on how it is cut into reads."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._counter = 0
        self._unread = b""

    def __call__(self, n: int) -> bytes:
        blocks = [self._unread]
        missing = n - len(self._unread)
        while missing > 0:
            block_input = b"block" + self._key + self._counter.to_bytes(8, "little")
            blocks.append(hashlib.shake_256(block_input).digest(_BLOCK_BYTES))
            self._counter += 1
            missing -= _BLOCK_BYTES
        data = b"".join(blocks)
        self._unread = data[n:]
        return data[:n]

    def fork(self, label: str) -> _SeededBytes:
        return _SeededBytes(_derive(b"fork", self._key, label))


def _derive(purpose: bytes, key: bytes, text: str) -> bytes:
    # purpose and key have fixed lengths, so different inputs never collide before hashing; "block" above has
    # a first letter of its own.
    return hashlib.shake_256(purpose + key + text.encode()).digest(32)
