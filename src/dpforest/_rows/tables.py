"""The tables that trees and sums are made of; see `rows` for what a spec is.

Each spec checks its public arrays when it is made, because kernels do not check their indices. Tables by node
can be wide: `fold_by_nodes` is the one place that asks for them a group of nodes at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpforest._rows.limits import COARSE_LEVELS, ERROR_LEVELS, MIXTURE_UNIT
from dpforest._rows.residuals import Residual
from dpforest._rows.rows import Assignment, Block, Grid, Rows
from dpforest._rows.walks import Way, check_walk
from dpforest._structure import FlatTrees
from dpforest._threads import zeros

# Tables of one pass stay below this many entries; wider levels take one pass per group of nodes.
MAX_TABLE_ENTRIES = 2**25
_LINE = 64  # bytes that come from memory together
SHARE_UNIT = 4096  # shares of classes are whole multiples of 1 / SHARE_UNIT where mixtures are scored
NO_LIMIT = 2**62  # no sum of squares of a row's values comes near it
MOST_OF_SCORE = 2.0**40  # of one score: no sum of them leaves what an index can be made of
_NO_CODES = np.empty(0, np.int32)


class By(Enum):
    """What the last axis of a table tells apart."""

    NOTHING = "every row counts once"
    TARGET = "the target's codes, of rows where it is known"
    UNLABELLED = "nothing, among rows without a known target"
    COARSE_TARGET = "the target's codes cut down to COARSE_LEVELS"


@dataclass(frozen=True, eq=False)
class _Spec:
    """What all specs have; see `TableSpec`."""

    grid: Grid
    counts_rows: ClassVar[bool] = False


@dataclass(frozen=True, eq=False)
class RowCount(_Spec):
    """The number of rows, labelled or not."""

    shape: ClassVar[tuple[int, ...]] = (1,)

    def add(self, block: Block, out: NDArray[Any]) -> None:
        """Add the rows of a block."""
        out[0] += len(block.cells)


@dataclass(frozen=True, eq=False)
class TargetCounts(_Spec):
    """Rows by code of the target, or of what is left of it."""

    residual: Residual | None = None

    def __post_init__(self) -> None:
        _check_residual(self.residual, self.grid)

    @property
    def shape(self) -> tuple[int, ...]:
        """One entry per code."""
        return (self.grid.n_codes,)

    def add(self, block: Block, out: NDArray[Any]) -> None:
        """Add the rows of a block."""
        target = _target(block, self.residual)
        out += np.bincount(target[target >= 0], minlength=self.grid.n_codes).astype(out.dtype)


@dataclass(frozen=True, eq=False)
class LabelSums(_Spec):
    """Sums of a line of public weights per row, by class; shape (terms, classes).

    ``weights[i]`` belongs to row i of the table, and no entry is beyond `MAX_PER_ROW`; rows without a label
    add nothing.
    """

    weights: NDArray[np.int32]

    @property
    def shape(self) -> tuple[int, ...]:
        """Terms by classes."""
        return (self.weights.shape[1], self.grid.n_codes)

    def add(self, block: Block, out: NDArray[Any]) -> None:
        """Add the rows of a block."""
        weights = self.weights[block.first : block.first + len(block.cells)]
        if len(weights) != len(block.cells):
            raise ValueError("weights must have one line for every row.")
        for code in range(self.grid.n_codes):
            out[:, code] += weights[block.target == code].sum(axis=0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Products(_Spec):
    """Sums of ``values[i][cell of features[i]] * values[j][cell of features[j]]`` over rows, for i <= j.

    No product is beyond `MAX_PER_ROW`: the doubles in which 2**20 rows at a time are added end at 2**53.
    """

    features: NDArray[np.int64]
    values: Sequence[NDArray[np.int64]]

    def __post_init__(self) -> None:
        n_cells = self.grid.n_cells
        if any(len(value) < n_cells[at] for at, value in zip(self.features, self.values, strict=True)):
            raise ValueError("Every cell of a feature needs a value.")

    @property
    def shape(self) -> tuple[int, ...]:
        """Values by values; only what is not below the diagonal is filled."""
        return (len(self.values), len(self.values))

    def add(self, block: Block, out: NDArray[Any]) -> None:
        """Add the rows of a block."""
        from dpforest._rows import _gradients

        starts = np.cumsum([0, *map(len, self.values[:-1])])
        one_each, flat = np.ones(len(starts), np.int64), np.concatenate(self.values)
        _gradients.products(block.cells, self.features, starts, one_each, flat, NO_LIMIT, out)


@dataclass(frozen=True, eq=False)
class _Walked(_Spec):
    """Tables of rows that walk through trees.

    Parameters
    ----------
    grid : Grid
        The grid of the rows.
    trees : FlatTrees
        Released splits.
    level : int
        Level at which rows are counted.
    assignment : Assignment or None
        The tree of every row; None if every row is in every tree.
    residual : Residual or None
        What the target is, if it is not the original one.
    """

    trees: FlatTrees
    level: int
    assignment: Assignment | None = None
    residual: Residual | None = None

    def __post_init__(self) -> None:
        check_walk(self.trees, self.level, self.grid, self.assignment)
        _check_residual(self.residual, self.grid)

    @cached_property
    def _way(self) -> Way:
        return Way(self.trees, self.level, self.assignment)

    def _nodes(self, block: Block) -> Iterator[NDArray[Any]]:
        """Yield the node of every row, for one tree after the other if rows are in all; see `Way.nodes`."""
        return self._way.nodes(block, range(self.trees.n_trees))

    def _target(self, block: Block) -> NDArray[np.int32]:
        return _target(block, self.residual)


class LeafCounts(_Walked):
    """Rows by (tree, node, code of the target)."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Trees by nodes by codes."""
        return (self.trees.n_trees, 2**self.level, self.grid.n_codes)

    def add(self, block: Block, out: NDArray[Any]) -> None:
        """Add the rows of a block."""
        from dpforest._rows import _kernels

        for nodes in self._nodes(block):
            _kernels.leaf_counts(self._target(block), nodes, out.reshape(-1, self.grid.n_codes))


class LeafSums(_Walked):
    """Rows with a known target, and their summed targets, by (tree, node)."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Trees by nodes by 2."""
        return (self.trees.n_trees, 2**self.level, 2)

    def add(self, block: Block, out: NDArray[Any]) -> None:
        """Add the rows of a block."""
        from dpforest._rows import _kernels

        for nodes in self._nodes(block):
            _kernels.leaf_sums(self._target(block), nodes, out.reshape(-1, 2))


@dataclass(frozen=True, eq=False, kw_only=True)
class MixtureScores(_Walked):
    """What each line of weights is worth, row by row; see `Curator.best_mixture`.

    A row adds half of `MIXTURE_UNIT` where its class has the highest score, and up to half of it by how close
    the softmax q of the scores comes to its class y: (1 + 2 q_y - sum of q_k squared) / 4, between 0 and 1/2.
    With `sample`, rows that it puts in part 0 are judged, and no others.
    """

    prior: NDArray[np.float64]
    leaf_scores: NDArray[np.float64]
    tables: NDArray[np.float64]
    weights: NDArray[np.float64]
    table_of: NDArray[np.int64]
    sample: Assignment | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        n_tables, n_features, n_cells, n_classes = self.tables.shape
        n_codes, trees = self.grid.n_codes, self.trees
        of_leaves = [(2**self.level, n, n_classes) for n in (1, n_classes)]
        shapes = trees.n_trees, len(self.prior), len(self.table_of), n_codes
        if shapes != (1, n_classes, len(self.weights), n_classes) or self.leaf_scores.shape not in of_leaves:
            raise ValueError("The scores do not fit each other or the tree.")
        wide = self.grid.n_cells
        narrow = n_features > len(wide) or n_cells < max(wide[:n_features])
        if narrow or self.table_of.min() < 0 or self.table_of.max() >= n_tables:
            raise ValueError("The tables of scores do not fit the table of rows.")
        given = self.prior, self.leaf_scores, self.tables, self.weights
        if not all(np.abs(scores).max(initial=0.0) < MOST_OF_SCORE for scores in given):  # false of nan, too
            raise ValueError("The scores do not fit the table of powers.")

    @property
    def shape(self) -> tuple[int, ...]:
        """One entry per line of weights."""
        return (len(self.weights),)

    def add(self, block: Block, out: NDArray[Any]) -> None:
        """Add the rows of a block."""
        from dpforest._rows import _kernels

        scores = (self.prior, self.leaf_scores, self.tables, self.weights, self.table_of)
        (nodes,) = self._nodes(block)
        rows = block.cells, self._target(block), nodes
        if self.sample is not None:
            judged = self.sample.of(block.first, len(nodes)) == 0
            rows = tuple(values[judged] for values in rows)
        n_tables, *_, n_classes = self.tables.shape
        sums = zeros((n_tables, n_classes), np.float64)
        if n_classes == 2:
            _kernels.two_class_mixture_scores(*rows, *scores, _worth(), sums, out)
            return
        scratch = sums, zeros(n_classes, np.float64), zeros(n_classes, np.int64)
        _kernels.mixture_scores(*rows, *scores, _powers(), SHARE_UNIT, *scratch, out)


@lru_cache(maxsize=1)
def _powers() -> NDArray[np.int64]:
    """Whole numbers in proportion to exp(-i / STEPS); the last, for all further steps, is 0."""
    from dpforest._rows._kernels import STEPS

    return np.append(np.rint(2**20 * np.exp(-np.arange(12 * STEPS) / STEPS)).astype(np.int64), 0)


@lru_cache(maxsize=1)
def _worth() -> NDArray[np.int64]:
    """Tell what two classes so many steps apart are worth to a row of the lower and of the higher one.

    The same operations as for several classes (`_kernels.mixture_scores`): one table instead of a division
    for every row and line of weights.
    """
    powers, one = _powers(), SHARE_UNIT
    part_of = one / (powers[0] + powers)
    low, high = ((power * part_of).astype(np.int64) for power in (powers, powers[0]))
    own = np.stack([low, high])
    brier = (one * one + 2 * one * own - (low * low + high * high)) // (one * one // (MIXTURE_UNIT // 4))
    half: int = MIXTURE_UNIT // 2
    worth: NDArray[np.int64] = np.clip(brier, 0, half) + np.array([[0], [half]])
    return worth


@dataclass(frozen=True, eq=False, kw_only=True)
class _ByCell(_Walked):
    """Tables by (node, slot, cell, ...), for some of the nodes of a level.

    Parameters
    ----------
    asked : ndarray of shape (n_trees, 2**level, n_slots), int32
        Features to tabulate in each node.
    width : int
        Cells that the table has room for; no feature that is asked about has more.
    nodes : slice, optional
        Nodes that the table has, numbered through all trees; by default all.
    right_only : bool, default=False
        Leave out left children, and number the right ones as their parents; see `siblings`.
    """

    asked: NDArray[np.int32]
    width: int
    nodes: slice | None = None
    right_only: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        n_cells = np.array(self.grid.n_cells)
        wrong = self.asked.shape[:2] != (self.trees.n_trees, 2**self.level)
        if wrong or self.asked.min() < 0 or self.asked.max() >= len(n_cells):
            raise ValueError("Every node needs features of the table to ask about.")
        if self.width < n_cells[self.asked].max():
            raise ValueError("The table is narrower than a feature that is asked about.")
        if not 0 <= self.here.start < self.here.stop <= self._n_nodes or self.right_only > self.level:
            raise ValueError("The table asks about nodes that the level has not.")

    @property
    def shape(self) -> tuple[int, ...]:
        """Nodes by slots by cells by what is told apart."""
        here = self.here
        return (here.stop - here.start, self.asked.shape[2], self.width, self._last_axis)

    @property
    def here(self) -> slice:
        """Nodes that the table has."""
        return slice(0, self._n_nodes) if self.nodes is None else self.nodes

    @property
    def _n_nodes(self) -> int:
        n_nodes: int = self.trees.n_trees * 2**self.level
        return n_nodes // 2 if self.right_only else n_nodes

    @property
    def _last_axis(self) -> int:
        raise NotImplementedError

    def _nodes(self, block: Block) -> Iterator[NDArray[Any]]:
        """Yield the node of every row in the trees that have nodes of this table."""
        here, right = self.here, int(self.right_only)
        first, last = (node << right >> self.level for node in (here.start, here.stop - 1))
        return self._way.nodes(block, range(first, last + 1))

    @cached_property
    def _asked(self) -> NDArray[np.int32]:
        """Features of every node of the table."""
        asked = self.asked.reshape(-1, self.asked.shape[2])
        return np.ascontiguousarray((asked[1::2] if self.right_only else asked)[self.here])

    def _by_node(
        self, block: Block, nodes: NDArray[Any], codes: NDArray[np.int32]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32], int]:
        """Order the rows that count by node: then one node's part of the table at a time is in the cache.

        Returns the order, where the rows of every node of the table end, and the last arguments of kernels.
        """
        first, n_nodes = self.here.start, self.here.stop - self.here.start
        places = nodes >> 1 if self.right_only else nodes
        counts = (nodes & 1).astype(np.bool_) if self.right_only else np.ones(len(nodes), np.bool_)
        if n_nodes < self._n_nodes:
            counts &= (places >= first) & (places < first + n_nodes)
        if codes.size:
            counts &= codes >= 0
        rows = np.flatnonzero(counts)
        # of 16 bits numbers are sorted several times faster
        at = (places[rows] - first).astype(np.uint16 if n_nodes <= 2**16 else np.int64)
        ends = np.cumsum(np.bincount(at, minlength=n_nodes))
        order = rows if n_nodes == 1 else rows[np.argsort(at, kind="stable")]
        return order, ends, self._asked, self._lines(block.cells)

    def _lines(self, cells: NDArray[Any]) -> int:
        """Columns in a line of memory if every node asks about the first ones in their order, else 0."""
        return _LINE // cells.itemsize if self._asks_first else 0

    @cached_property
    def _asks_first(self) -> bool:  # the same for all blocks and trees
        return bool((self._asked == np.arange(self._asked.shape[1])).all())


@dataclass(frozen=True, eq=False, kw_only=True)
class CellCounts(_ByCell):
    """Rows by (node, slot, cell, code).

    Parameters
    ----------
    by : By
        What the last axis tells apart.
    """

    by: By = By.NOTHING
    counts_rows = True  # these tables are wide: 32 bits make them half as large

    @property
    def tells(self) -> By:
        """What it tells of a row."""
        return self.by

    @property
    def _last_axis(self) -> int:
        return {By.TARGET: self.grid.n_codes, By.COARSE_TARGET: COARSE_LEVELS}.get(self.by, 1)

    def add(self, block: Block, out: NDArray[Any]) -> None:
        """Add the rows of a block."""
        from dpforest._rows import _kernels

        codes = self._codes(block)
        for nodes in self._nodes(block):
            if out.shape[1] == out.shape[3] == 1 and not self.right_only:
                of_table = self._asked[:, 0], self.here.start, out[:, 0, :, 0]
                _kernels.one_cell_counts(block.cells, codes, nodes, *of_table)
            else:
                _kernels.cell_counts(block.cells, codes, *self._by_node(block, nodes, codes), out)

    def _codes(self, block: Block) -> NDArray[np.int32]:
        """Code of every row; negative: leave the row out; none at all: every row has code 0."""
        if self.by is By.NOTHING:
            return _NO_CODES
        target = self._target(block)
        if self.by is By.UNLABELLED:
            return np.where(target < 0, 0, -1).astype(np.int32)
        if self.by is By.TARGET:
            return target
        return target * COARSE_LEVELS // self.grid.n_codes  # at most 2**21 on the way; -1 stays negative


@dataclass(frozen=True, eq=False, kw_only=True)
class CellMoments(_ByCell):
    """Rows with a known target and their summed targets, by (node, slot, cell); with squares also these.

    Where squares are summed, targets of more than `ERROR_LEVELS` levels are cut down to so many: finer
    squares could leave 64 bits.
    """

    squares: bool = False

    @property
    def tells(self) -> bool:
        """What it tells of a row."""
        return self.squares

    @property
    def _last_axis(self) -> int:
        return 3 if self.squares else 2

    def add(self, block: Block, out: NDArray[Any]) -> None:
        """Add the rows of a block."""
        from dpforest._rows import _kernels

        levels, target = self.grid.n_codes - 1, self._target(block)
        if self.squares and levels > ERROR_LEVELS:
            target = target * ERROR_LEVELS // levels  # at most 2**27 on the way; -1 stays negative
        for nodes in self._nodes(block):
            _kernels.cell_moments(block.cells, target, *self._by_node(block, nodes, target), out)


def fold_by_nodes(rows: Rows, table: CellCounts | CellMoments) -> Iterator[tuple[slice, NDArray[Any]]]:
    """Fold a group of nodes at a time, none with more than `MAX_TABLE_ENTRIES` entries unless one node has.

    Yields
    ------
    nodes : slice
        Nodes of the group, numbered through all trees.
    counts : ndarray of shape (nodes in group, n_slots, n_cells, ...)
        Their part of the table.
    """
    n_nodes, *of_node = table.shape
    size = max(1, MAX_TABLE_ENTRIES // int(np.prod(of_node)))
    for first in range(0, n_nodes, size):
        nodes = slice(first, min(first + size, n_nodes))
        yield nodes, rows.fold(replace(table, nodes=nodes))


def _check_residual(residual: Residual | None, grid: Grid) -> None:
    if residual is not None and residual.grid != grid:
        raise ValueError("What is left of targets belongs to rows of another grid.")


def _target(block: Block, residual: Residual | None) -> NDArray[np.int32]:
    """Target of every row, or what is left of it."""
    if residual is None:
        return block.target
    left: NDArray[np.int32] = block.run(residual)
    return left
