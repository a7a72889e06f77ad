"""Which tree each row is in: drawn exactly uniformly, row by row, and drawn alike whenever it is asked.

Rows are read many times, perhaps in other blocks or on other machines, and need not keep a list of their
trees: a secret key stands for the whole draw. Whoever does not know the key cannot tell the trees from
independent uniform ones, and that is what the composition of disjoint trees needs (see `queries`); so the key
is drawn anew for every fit, on a tape of its own beside the noise, and goes away with the curator. It is in
no model, message or ledger. Trees and their sizes are never released either.

A row's identity is its number in the table. The numbers are cut into blocks of a public size, and each block
has a tape of its own, made of the key and the number of the block, on which rejection makes the draws exact.
So a pass can begin at any block.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest._rows import MAX_TREES, Assignment, Lasting
from dpforest.mechanisms import RandomWords

KEYED_ROWS = 2**15  # rows of one tape; another number would draw other trees


@dataclass(frozen=True, eq=False)
class KeyedTrees(Lasting):
    """Trees of rows by a key.

    Parameters
    ----------
    n_trees : int
        Trees to draw from.
    key : bytes
        32 uniform secret bytes.

    Examples
    --------
    >>> trees = KeyedTrees(5, bytes(32))
    >>> bool((trees.of(0, 4)[2:] == trees.of(2, 2)).all())
    True
    """

    n_trees: int
    key: bytes = field(repr=False)

    def __post_init__(self) -> None:
        _check_number(self.n_trees)

    @classmethod
    def draw(cls, n_trees: int, words: RandomWords) -> KeyedTrees:
        """Draw a fresh key."""
        return cls(n_trees, words.take(4).tobytes())

    def of(self, first: int, n: int) -> NDArray[np.uint16]:
        """Return the trees of rows `first` to ``first + n - 1``."""
        drawn = np.empty(n, np.uint16)
        for block in range(first // KEYED_ROWS, -(-(first + n) // KEYED_ROWS)):
            start = block * KEYED_ROWS
            begin, end = max(first, start), min(first + n, start + KEYED_ROWS)
            tape = RandomWords.keyed(self.key, block)
            drawn[begin - first : end - first] = tape.uniform_below(self.n_trees, end - start)[
                begin - start :
            ]
        return drawn


@dataclass(frozen=True, eq=False)
class GivenTrees:
    """Trees of rows as an auditor gave them, for a fit that promises nothing.

    Parameters
    ----------
    n_trees : int
        Number of trees.
    trees : ndarray of shape (n_rows,)
        The tree of each row.
    """

    n_trees: int
    trees: NDArray[np.int64] = field(repr=False)

    def __post_init__(self) -> None:
        _check_number(self.n_trees)
        if self.trees.min(initial=0) < 0 or self.trees.max(initial=0) >= self.n_trees:
            raise RuntimeError("Every row needs one of the trees.")

    def of(self, first: int, n: int) -> NDArray[np.uint16]:
        """Return the trees of rows `first` to ``first + n - 1``."""
        return self.trees[first : first + n].astype(np.uint16)


@dataclass(frozen=True, eq=False)
class Part:
    """Rows that are held out, or those that are not, each by a secret coin of its own.

    A row is in one of the two parts, and no row changes the part of another: what is asked of one part costs
    nothing in the other.

    Parameters
    ----------
    folds : Assignment
        The fold of each row; fold 0 is held out.
    held_out : bool
        Whether these are the rows of fold 0 or all others.

    Examples
    --------
    >>> rows = [(np.arange(6)[:, None], np.arange(6, dtype=np.int32))]
    >>> folds = GivenTrees(3, np.array([0, 1, 2, 0, 1, 2]))
    >>> [target.tolist() for held_out in (True, False) for _, target in Part(folds, held_out).of(rows)]
    [[0, 3], [1, 2, 4, 5]]
    """

    folds: Assignment
    held_out: bool

    def of(
        self, blocks: Iterable[tuple[NDArray[Any], NDArray[np.int32]]]
    ) -> Iterator[tuple[NDArray[Any], NDArray[np.int32]]]:
        """Yield what these rows are of blocks of all rows."""
        first = 0
        for cells, target in blocks:
            kept = (self.folds.of(first, len(target)) == 0) == self.held_out
            yield cells[kept], target[kept]
            first += len(target)


def _check_number(n_trees: int) -> None:
    if not 1 <= n_trees <= MAX_TREES:
        raise ValueError(f"Rows can be scattered over 1 to {MAX_TREES} trees, got {n_trees}.")
