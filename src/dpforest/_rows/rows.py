"""What rows are to the rest: something that folds itself into a table of whole numbers.

Every question of this library asks "how many rows fall where?", or adds up whole numbers over rows. So rows
need one method, `Rows.fold`, and a `TableSpec` says what is to be added: a small value that can be pickled,
knows the shape of its table and adds one `Block` of rows to it. Sums of whole numbers do not depend on order:
blocks may lie in memory, in files or on other machines, be counted at once or one after the other, and be
counted anew after a failure, and the table is the same to the last bit. Noise is drawn once, afterwards,
where the sum is.

For that, whatever a row adds follows from the row, its number in the table and the spec, never from its block
or from state that a pass left behind. What a spec needs of earlier answers it carries with it: released
trees, the `Assignment` of rows to trees and the `Program` that says what released values left of targets. A
block may remember (`Block.kept`) what it worked out before; if it cannot, it works it out again. What it was
made of is known by identity, which outlasts the way to a worker (`identity`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Value = TypeVar("Value")
EVERY_TREE = np.empty(0, np.uint16)


class Grid(NamedTuple):
    """Which cells and codes there can be; public.

    Parameters
    ----------
    n_cells : tuple of int
        Cells of every column.
    n_codes : int
        Codes of the target.
    """

    n_cells: tuple[int, ...]
    n_codes: int

    @classmethod
    def of(cls, n_cells: Any, n_codes: int) -> Grid:
        """Make a grid of an array of numbers of cells."""
        return cls(tuple(int(n) for n in n_cells), int(n_codes))

    def check(self, cells: NDArray[Any], target: NDArray[Any]) -> None:
        """Refuse rows, as a whole, of which one has a cell or code that was not declared.

        What encodes rows never makes one. Kernels do not check their indices, so all rows must come this way.
        """
        if cells.shape != (len(target), len(self.n_cells)) or cells.dtype.kind != "u":
            raise RuntimeError("The encoded rows do not have the shape of the schema; nothing was counted.")
        unknown = target.min(initial=-1) < -1 or target.max(initial=-1) >= self.n_codes
        # The largest cell of all is found quickly, and tells enough unless columns differ in their cells.
        beyond = (
            cells.max(initial=0) >= min(self.n_cells, default=1) and (cells.max(axis=0) >= self.n_cells).any()
        )
        if unknown or beyond:
            raise RuntimeError("The encoded rows do not fit the grid of the schema; nothing was counted.")


class Assignment(Protocol):
    """Which tree each row is in: a secret function of the row's number in the table, pickled with a spec."""

    @property
    def n_trees(self) -> int:
        """Trees that rows are scattered over."""

    def of(self, first: int, n: int) -> NDArray[np.uint16]:
        """Return the trees of rows `first` to ``first + n - 1``; the same whenever it is asked."""


class Program(Protocol):
    """What released values leave of the rows of a block: a function of each row and of these values alone."""

    def run(self, block: Block) -> Any:
        """Work it out for all rows."""


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows that follow each other in the table.

    Parameters
    ----------
    cells : ndarray of shape (n_rows, n_columns), unsigned integers
        Encoded features.
    target : ndarray of shape (n_rows,), int32
        Class codes or fixed-point targets; -1 where unknown.
    first : int
        Number of the first of these rows in the table, which is their identity: the same on every pass.
    kept : dict, optional
        Where to remember what was worked out of the rows; without it nothing is remembered.
    """

    cells: NDArray[Any]
    target: NDArray[np.int32]
    first: int
    kept: dict[str, Any] | None = field(default=None, repr=False)

    def trees(self, assignment: Assignment | None) -> NDArray[np.uint16]:
        """Tree of every row; empty without an assignment, when every row is in every tree."""
        if assignment is None:
            return EVERY_TREE
        return self.remember("trees", assignment, self._trees)

    def _trees(self, assignment: Assignment) -> NDArray[np.uint16]:
        trees = assignment.of(self.first, len(self.cells))
        if len(trees) != len(self.cells) or trees.max(initial=0) >= assignment.n_trees:
            raise RuntimeError("Every row needs one of the trees.")
        return trees

    def run(self, program: Program) -> Any:
        """Work out a program, or remember what came of it."""
        return self.remember(type(program).__name__, program, lambda program: program.run(self))

    def remember(self, name: str, source: Any, make: Callable[[Any], Value]) -> Value:
        """Return ``make(source)``, from memory if the block made it of this very `source` before."""
        if self.kept is None:
            return make(source)
        if name not in self.kept or self.kept[name][0] is not source:
            self.kept[name] = source, make(source)
        value: Value = self.kept[name][1]
        return value


class TableSpec(Protocol):
    """A table of whole numbers that adds up over rows; frozen, and pickled to wherever the rows are."""

    @property
    def grid(self) -> Grid:
        """The grid of the rows that it can be asked about."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the table."""

    @property
    def counts_rows(self) -> bool:
        """Whether no row adds more than 1 to an entry: then 2**30 rows can be added in 32 bits."""

    def add(self, block: Block, out: NDArray[Any]) -> None:
        """Add the rows of a block to a table of this shape, of int64 or, if it counts rows, of int32."""


class Rows(Protocol):
    """Private rows, wherever they are. All that may be asked of them is a sum over all of them.

    They were checked against their grid and are no more than `MAX_ROWS`, or they are refused when they are
    taken, before anything is charged: no sum leaves 64 bits then (see `limits`).
    """

    @property
    def grid(self) -> Grid:
        """The grid that every row was checked against."""

    def fold(self, table: TableSpec) -> NDArray[Any]:
        """Return the exact sum over all rows, each added once; private.

        As int64; a table that counts rows may be int32 if there are at most 2**30 of them.
        """


@runtime_checkable
class WholeRows(Rows, Protocol):
    """Rows that can also be had as a whole; where only labels are private, some estimators need that."""

    def cells(self) -> NDArray[Any]:
        """Cells of all rows."""

    def is_labelled(self) -> NDArray[np.bool_]:
        """Which rows have a known target."""
