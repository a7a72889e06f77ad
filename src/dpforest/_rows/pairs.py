"""Tables by two columns at once: what two levels of a tree, chosen together, are judged by.

Cells are put into public groups, a few for every column and node, because a table by all pairs of cells would
have no room. A row adds 1 to every pair of its groups, so a table of G groups has G**2 entries for each node
and class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest._rows.rows import Block
from dpforest._rows.tables import _Walked


@dataclass(frozen=True, eq=False, kw_only=True)
class PairCounts(_Walked):
    """Rows with a known target by (node, group, group, code), the first group being in no later a slot.

    Parameters
    ----------
    columns : ndarray of shape (n_slots,), int64
        Columns that are looked at.
    groups : ndarray of shape (2**level, n_slots, n_cells), int32
        Group of every cell of these columns in every node, numbered through the slots: those of a slot begin
        where those of the slot before end, and are the same numbers in all nodes.
    n_groups : int
        Groups of a node.
    """

    columns: NDArray[np.int64]
    groups: NDArray[np.int32]
    n_groups: int
    counts_rows = True  # these tables are wide: 32 bits make them half as large

    def __post_init__(self) -> None:
        super().__post_init__()
        n_cells = np.array(self.grid.n_cells)
        if self.trees.n_trees != 1 or self.assignment is not None:
            raise ValueError("Pairs are counted in one tree that holds all rows.")
        if self.columns.min() < 0 or self.columns.max() >= len(n_cells):
            raise ValueError("Pairs are counted in columns of the table.")
        nodes, slots, width = self.groups.shape
        if (nodes, slots) != (2**self.level, len(self.columns)) or width < n_cells[self.columns].max():
            raise ValueError("Every cell of every column needs a group in every node.")
        if self.groups.min() < 0 or self.groups.max() >= self.n_groups:
            raise ValueError("A group is none of those that the table has.")

    @property
    def shape(self) -> tuple[int, ...]:
        """Nodes by groups by groups by codes."""
        return (2**self.level, self.n_groups, self.n_groups, self.grid.n_codes)

    def add(self, block: Block, out: NDArray[Any]) -> None:
        """Add the rows of a block."""
        from dpforest._rows import _kernels

        target = self._target(block)
        for nodes in self._nodes(block):
            # one node's part of the table at a time is in the cache
            rows = np.flatnonzero(target >= 0)
            order = rows[np.argsort(nodes[rows], kind="stable")]
            found = np.empty(len(self.columns), np.int64)
            _kernels.pair_counts(block.cells, target, nodes, order, self.columns, self.groups, found, out)
