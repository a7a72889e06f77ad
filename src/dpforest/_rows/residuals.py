"""What is left of a numeric target after released values were subtracted: a program that blocks run."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpforest._rows.identity import Lasting
from dpforest._rows.rows import Block, Grid
from dpforest._rows.walks import check_walk
from dpforest._structure import FlatTrees
from dpforest._structure.additive import UNIT


@dataclass(frozen=True, eq=False)
class Step(Lasting):
    """What is subtracted from every row, in levels.

    A constant, the value of its leaf in a tree, and the sum over features of the values of its cells, which
    are whole multiples of 1 / UNIT.
    """

    constant: float
    tree: FlatTrees | None = None
    leaves: NDArray[np.float64] | None = None
    table: NDArray[np.int64] | None = None


@dataclass(frozen=True, eq=False)
class Residual(Lasting):
    """New targets, made of what steps of released values leave of the old ones.

    What is left of a row's target, moved into [low, high], becomes a whole number from 0 to `levels`. Doubles
    decide it, but only those of one row, in a fixed order: it is the same in every block, and clipped as an
    integer.

    Parameters
    ----------
    grid : Grid
        The grid of the rows.
    levels : int
        Levels of the new target.
    low, high : float
        What its first and last level stand for, in levels of the old one.
    steps : tuple of Step
        What is subtracted, in this order.
    """

    grid: Grid
    levels: int
    low: float = 0.0
    high: float = 1.0
    steps: tuple[Step, ...] = ()

    def __post_init__(self) -> None:
        if not 0 < self.levels < self.grid.n_codes:
            raise ValueError("The new target has levels that the old one has not.")

    def then(
        self,
        low: float,
        high: float,
        constant: float,
        tree: FlatTrees | None,
        leaves: NDArray[np.float64] | None,
        table: NDArray[np.int64] | None = None,
    ) -> Residual:
        """Return the program with one more step and another range."""
        if table is not None:
            n_cells = self.grid.n_cells[: len(table)]
            if len(n_cells) != len(table) or table.shape[1] < max(n_cells):
                raise ValueError("Every cell of a feature needs a value.")
        if tree is not None:
            check_walk(tree, tree.depth, self.grid)
            if leaves is None or len(leaves) != tree.n_leaves:
                raise ValueError("Every leaf needs a value.")
        return replace(self, low=low, high=high, steps=(*self.steps, Step(constant, tree, leaves, table)))

    def run(self, block: Block) -> NDArray[np.int32]:
        """Return the new target of every row; -1 where the old one is unknown."""
        left = self._left(block)
        scaled = np.clip(np.rint((left - self.low) * (self.levels / (self.high - self.low))), 0, self.levels)
        return np.where(np.isnan(scaled), -1, scaled).astype(np.int32)

    def _left(self, block: Block) -> NDArray[np.float64]:
        """Old targets less all steps; a block that remembers the first steps goes on from there."""
        kept: tuple[tuple[Step, ...], NDArray[np.float64]] | None = (block.kept or {}).get("left")
        done, left = ((), np.where(block.target < 0, np.nan, block.target)) if kept is None else kept
        if [id(step) for step in done] != [id(step) for step in self.steps[: len(done)]]:
            done, left = (), np.where(block.target < 0, np.nan, block.target)
        for step in self.steps[len(done) :]:
            _subtract(step, block, left)
        if block.kept is not None:
            block.kept["left"] = self.steps, left
        return left


def _subtract(step: Step, block: Block, left: NDArray[np.float64]) -> None:
    from dpforest._rows import _kernels

    left -= step.constant
    if step.table is not None:
        _kernels.subtract_table(block.cells, step.table, UNIT, left)
    if step.tree is not None:
        tree = step.tree
        splits = (tree.feature, tree.threshold, tree.left_sets, tree.depth)
        _kernels.subtract_leaves(block.cells, *splits, step.leaves, left)
