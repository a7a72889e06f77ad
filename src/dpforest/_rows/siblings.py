"""Tables of a level from those of the level above: count the right children, and subtract.

Every row of a node is in one of its two children. Where every node of both levels is asked about all
features, the table of a left child is therefore its parent's less its sibling's: exactly, because all are
whole numbers. So only rows that went right are counted, which is half of the work, more or less. Which ones
are counted does not depend on rows; right, because a node that cannot be cut sends everything left.

Nodes ask about their features in an order of their own. Tables are counted and remembered in the order of the
features, and put into that of the nodes a few nodes at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpforest._rows.rows import Rows
from dpforest._rows.tables import MAX_TABLE_ENTRIES, CellCounts, CellMoments, fold_by_nodes

_FEW_ENTRIES = 2**20
_NODES = 16  # of which a copy is made at a time


class _Level(NamedTuple):
    """A table, what it told, and the splits that brought rows to its nodes, as they were."""

    table: CellCounts | CellMoments
    splits: tuple[NDArray[Any], ...]
    counts: NDArray[Any]


class Siblings:
    """Remembers the table of one level, private as the rows are, for the next.

    Parameters
    ----------
    rows : Rows
        What is counted.
    """

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._above: _Level | None = None

    def fold(self, table: CellCounts | CellMoments) -> Iterator[tuple[slice, NDArray[Any]]]:
        """Fold a group of nodes at a time; see `fold_by_nodes`."""
        n_columns, asked = len(table.grid.n_cells), table.asked.reshape(-1, table.asked.shape[2])
        asks_all = asked.shape[1] == n_columns and (np.sort(asked, axis=1) == np.arange(n_columns)).all()
        if not asks_all or int(np.prod(table.shape)) > MAX_TABLE_ENTRIES:
            yield from fold_by_nodes(self._rows, table)
            return
        above, self._above = self._above, None
        table = replace(table, asked=np.sort(table.asked, axis=2))
        parents = above.counts if above is not None and _is_next(table, above) else None
        counted = self._rows.fold(table if parents is None else replace(table, right_only=True))
        # a forest may be grown on, but keeping a wide table in the hope of it would not do
        is_last = table.level + 1 == table.trees.depth and int(np.prod(table.shape)) > _FEW_ENTRIES
        whole = counted if parents is None or is_last else np.empty(table.shape, counted.dtype)
        for first in range(0, len(asked), _NODES):
            nodes = slice(first, min(first + _NODES, len(asked)))
            counts = counted[nodes] if parents is None else _children(counted, parents, nodes)
            if whole is not counted:
                whole[nodes] = counts
            yield nodes, counts[np.arange(len(counts))[:, None], asked[nodes]]
        if not is_last:
            self._above = _Level(table, _splits_to(table, table.level), whole)


def _is_next(table: CellCounts | CellMoments, above: _Level) -> bool:
    """Tell whether a table is about the children of the nodes above, the same features and the same rows."""
    other = above.table
    same = type(table) is type(other) and table.level == other.level + 1
    same = same and table.assignment is other.assignment and table.residual is other.residual
    same = same and table.width == other.width and table.tells == other.tells
    return same and all(map(np.array_equal, _splits_to(table, other.level), above.splits))


def _splits_to(table: CellCounts | CellMoments, level: int) -> tuple[NDArray[Any], ...]:
    """Copy the splits above a level: a grower fills those below into the very arrays."""
    trees, above = table.trees, slice(0, 2**level - 1)
    return trees.feature[:, above].copy(), trees.threshold[:, above].copy(), trees.left_sets


def _children(right: NDArray[Any], parents: NDArray[Any], nodes: slice) -> NDArray[Any]:
    """Return the tables of some children, an even number: those on the right are known."""
    pairs = slice(nodes.start // 2, nodes.stop // 2)
    both = np.empty((nodes.stop - nodes.start, *right.shape[1:]), right.dtype)
    both[1::2] = right[pairs]
    both[::2] = parents[pairs] - right[pairs]
    return both
