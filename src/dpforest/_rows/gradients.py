"""The tables that boosting is made of: sums over rows of integer functions of their scores; see `scores`.

Each spec checks its public arrays when it is made, because kernels do not check their indices.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpforest._rows.rows import Block, Grid, Rows
from dpforest._rows.scores import SQUARED, TARGET_SPAN, Ints, ScoredBlock, Scores

MAX_TABLE_ENTRIES = 2**24  # tables by column take one pass per group of columns
MOST_OF_FEATURE = 2**8  # features are smaller: products and their sums are then exact in doubles


@dataclass(frozen=True, eq=False)
class _Scored:
    """What all specs of this file have."""

    scores: Scores
    counts_rows: ClassVar[bool] = False

    @property
    def grid(self) -> Grid:
        """The grid of the rows."""
        return self.scores.grid

    def _rows(self, block: Block) -> ScoredBlock:
        return self.scores.run(block)


@dataclass(frozen=True, eq=False)
class CellTotals(_Scored):
    """Rows with a known target by (feature, cell)."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Features by cells."""
        return self.scores.shape[:2]

    def add(self, block: Block, out: NDArray[Any]) -> None:
        """Add the rows of a block."""
        from dpforest._rows import _gradients

        _gradients.cell_counts(self._rows(block).cells, out)


@dataclass(frozen=True, eq=False)
class TargetPlaces(_Scored):
    """Rows by the place of a numeric target in some equal parts of its range."""

    n_parts: int

    @property
    def shape(self) -> tuple[int, ...]:
        """One entry per part."""
        return (self.n_parts,)

    def add(self, block: Block, out: NDArray[Any]) -> None:
        """Add the rows of a block."""
        places = self._rows(block).target * self.n_parts // (TARGET_SPAN + 1)
        out += np.bincount(places, minlength=self.n_parts)


@dataclass(frozen=True, eq=False)
class TargetSum(_Scored):
    """Sum of where numeric targets lie in [low, high], from -unit to unit; those beyond are at its ends."""

    low: int
    high: int
    shape: ClassVar[tuple[int, ...]] = (1,)

    def __post_init__(self) -> None:
        if not 0 <= self.low < self.high <= TARGET_SPAN or self.scores.loss != SQUARED:
            raise ValueError("Numeric targets lie between 0 and TARGET_SPAN.")

    def add(self, block: Block, out: NDArray[Any]) -> None:
        """Add the rows of a block."""
        unit, target = self.scores.unit, self._rows(block).target
        away = 2 * np.clip(target, self.low, self.high) - self.low - self.high  # below 2**22, times 2**12
        out[0] += np.clip(away * unit // (self.high - self.low), -unit, unit).sum()


@dataclass(frozen=True, eq=False)
class ResidualCounts(_Scored):
    """Rows by how many of the rising borders the size of their residual reaches."""

    borders: Ints

    @property
    def shape(self) -> tuple[int, ...]:
        """One entry more than borders."""
        return (len(self.borders) + 1,)

    def add(self, block: Block, out: NDArray[Any]) -> None:
        """Add the rows of a block."""
        from dpforest._rows import _gradients

        rows = self._rows(block)
        _gradients.residual_counts(rows.scores, rows.target, self.borders, out)


@dataclass(frozen=True, eq=False)
class GradientSums(_Scored):
    """Sums of gradients by (feature, cell, output), shortened for rows whose features are long.

    No row adds a gradient of squared length L where its features, whose squared length S is the sum of
    ``norms[feature, cell]``, make ``L * S`` more than ``unit**2 * longest``.
    """

    norms: Ints
    longest: int

    def __post_init__(self) -> None:
        if self.norms.shape != self.scores.shape[:2] or self.norms.min() < 0 or self.longest < 1:
            raise ValueError("Every cell of a feature needs a squared length.")

    @property
    def shape(self) -> tuple[int, ...]:
        """Features by cells by outputs."""
        return self.scores.shape

    def add(self, block: Block, out: NDArray[Any]) -> None:
        """Add the rows of a block."""
        from dpforest._rows import _gradients

        rows = self._rows(block)
        g = self.scores.gradients(rows)[0].copy()
        _gradients.shorten_for(rows.cells, self.norms, self.longest, self.scores.unit, g)
        _gradients.cell_sums(rows.cells, g, out)


@dataclass(frozen=True, eq=False)
class FeatureProducts(_Scored):
    """Sums of the products of any two coordinates of the rows' features; only above the diagonal.

    ``values[i][cell]`` are the coordinates of ``features[i]`` in a cell. No row is longer than `longest`.
    """

    features: Ints
    values: Sequence[Ints]
    longest: int

    def __post_init__(self) -> None:
        n_cells = self.grid.n_cells
        for at, block in zip(self.features, self.values, strict=True):
            if len(block) < n_cells[at] or np.abs(block).max(initial=0) >= MOST_OF_FEATURE:
                raise ValueError("Every cell of a feature needs coordinates, and none may be too large.")

    @property
    def shape(self) -> tuple[int, ...]:
        """Coordinates by coordinates."""
        return (sum(block.shape[1] for block in self.values),) * 2

    def add(self, block: Block, out: NDArray[Any]) -> None:
        """Add the rows of a block."""
        from dpforest._rows import _gradients

        widths = np.array([part.shape[1] for part in self.values], np.int64)
        starts = np.concatenate([[0], np.cumsum([part.size for part in self.values])[:-1]]).astype(np.int64)
        flat = np.concatenate([part.ravel() for part in self.values])
        _gradients.products(self._rows(block).cells, self.features, starts, widths, flat, self.longest, out)


@dataclass(frozen=True, eq=False)
class StepSums(_Scored):
    """Sums of the slopes and curvatures along a step, clipped row by row; see the kernel.

    The step is what ``table[feature, cell, output]`` adds to the scores, in units of `reach`.
    """

    table: NDArray[np.int32]
    reach: float
    lower: int
    shape: ClassVar[tuple[int, ...]] = (2,)

    def __post_init__(self) -> None:
        if self.table.shape != self.scores.shape or not self.reach > 0 or self.lower < 0:
            raise ValueError("A step needs a value for every cell, and a length.")

    def add(self, block: Block, out: NDArray[Any]) -> None:
        """Add the rows of a block."""
        from dpforest._rows import _gradients

        rows, unit = self._rows(block), self.scores.unit
        gradients = self.scores.gradients(rows)
        _gradients.step_sums(rows.cells, self.table, *gradients, self.reach, unit, self.lower, out)


@dataclass(frozen=True, eq=False)
class ColumnSums(_Scored):
    """Sums of gradients by (column, node, code, output), for some columns."""

    some: slice | None = None

    def __post_init__(self) -> None:
        if self.scores.columns is None or self.scores.n_nodes < 1:
            raise ValueError("There is no tree that could be cut.")

    @property
    def here(self) -> slice:
        """Columns that the table has."""
        return slice(0, self._n_columns) if self.some is None else self.some

    @property
    def _n_columns(self) -> int:
        return 0 if self.scores.columns is None else len(self.scores.columns.n_codes)

    @property
    def shape(self) -> tuple[int, ...]:
        """Columns by nodes by codes by outputs."""
        scores, here = self.scores, self.here
        n_codes = 0 if scores.columns is None else int(scores.columns.n_codes.max())
        return here.stop - here.start, scores.n_nodes, n_codes, scores.n_outputs

    def add(self, block: Block, out: NDArray[Any]) -> None:
        """Add the rows of a block."""
        from dpforest._rows import _gradients

        rows = self._rows(block)
        g = self.scores.gradients(rows)[0]
        _gradients.column_sums(rows.codes[self.here], rows.node_of, g, out)


@dataclass(frozen=True, eq=False)
class NodeSums(_Scored):
    """Sums of gradients and half Hessians by (node, which, output)."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Nodes by 2 by outputs."""
        return self.scores.n_nodes, 2, self.scores.n_outputs

    def add(self, block: Block, out: NDArray[Any]) -> None:
        """Add the rows of a block."""
        from dpforest._rows import _gradients

        rows = self._rows(block)
        _gradients.node_sums(rows.node_of, *self.scores.gradients(rows), out)


def fold_by_columns(rows: Rows, table: ColumnSums) -> Iterator[tuple[slice, Ints]]:
    """Fold a group of columns at a time, none with more than `MAX_TABLE_ENTRIES` entries unless one has."""
    n_columns, *of_column = table.shape
    size = max(1, MAX_TABLE_ENTRIES // int(np.prod(of_column)))
    for first in range(0, n_columns, size):
        some = slice(first, min(first + size, n_columns))
        yield some, rows.fold(replace(table, some=some))
