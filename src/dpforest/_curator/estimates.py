"""Questions about whole columns and about how well a released model does; see `queries` for the rules.

`Curator` inherits these methods; callers are in `dpforest.estimates`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dpforest._curator.observer import Observer, question
from dpforest._curator.payment import Noisy, Payments
from dpforest._curator.values import TARGET
from dpforest._rows import MAX_PER_ROW, Block, CellCounts, Grid, Rows, TargetCounts, fold_by_nodes
from dpforest._structure import FlatTrees
from dpforest.privacy import Query
from dpforest.schema import Schema


class Named(NamedTuple):
    """Values that were named, with their noisy counts, in the order of their names."""

    names: tuple[str, ...]
    counts: tuple[int, ...]
    threshold: int
    sd: float


class Scorer(Protocol):
    """A public function of one row: what it says of a row must not depend on other rows."""

    def __call__(self, cells: NDArray[Any], target: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return a whole number from 0 for every row, or -1 to leave it out."""


@dataclass(frozen=True, eq=False)
class _Scored:
    """Rows by what a scorer says of them; a table as in `dpforest._rows.tables`.

    A sum of levels stays below `MAX_ROWS` times `MAX_PER_ROW`, as all sums do.
    """

    grid: Grid
    scorer: Scorer
    n_bins: int
    counts_rows: ClassVar[bool] = False

    @property
    def shape(self) -> tuple[int, ...]:
        """One entry per bin."""
        return (self.n_bins,)

    def add(self, block: Block, out: NDArray[Any]) -> None:
        """Add the rows of a block."""
        said = np.asarray(self.scorer(block.cells, block.target))
        if said.shape != block.target.shape or said.dtype.kind != "i":
            raise RuntimeError("A scorer says one whole number of every row; nothing was counted.")
        if said.min(initial=-1) < -1 or said.max(initial=-1) >= self.n_bins:
            raise RuntimeError("A scorer left its range; nothing was counted.")
        out += np.bincount(said[said >= 0], minlength=self.n_bins)


class EstimateQueries:
    """The part of the curator that answers about columns and scores."""

    schema: Schema
    _rows: Rows
    _grid: Grid
    _pay: Payments
    _observer: Observer | None
    _values: dict[int, Counter[str]]

    def _demand_row_privacy(self) -> None:
        raise NotImplementedError

    @question
    def group_counts(
        self, pool: str, share: Fraction, query: Query, groups: Mapping[int, NDArray[np.int64]]
    ) -> Noisy:
        """Release how many rows are in each of the groups into which cells of some columns are put.

        A row adds 1 to at most one group of every column: the L1 norm and the squared L2 norm of what it adds
        are at most the number of columns.

        Parameters
        ----------
        pool, share, query
            What pays, and what for.
        groups : mapping
            From columns, `TARGET` for the target, to the public group of each cell (or code), from 0; -1
            leaves a cell out.

        Returns
        -------
        Noisy
            Of shape (columns, most groups of a column).
        """
        self._demand_row_privacy()
        self._check_groups(groups)
        noise = self._pay.for_noise(pool, share, query, 1, l1=len(groups), l2_squared=len(groups))
        width = 1 + max(int(of_cell.max()) for of_cell in groups.values())
        counts = np.zeros((len(groups), width), np.int64)
        for line, (column, of_cell) in zip(counts, groups.items(), strict=True):
            kept = of_cell >= 0
            np.add.at(line, of_cell[kept], self._cells_of(column)[kept])
        return noise(counts)

    @question
    def common_values(
        self, pool: str, share: Fraction, query: Query, columns: list[int], delta: Fraction
    ) -> dict[int, Named]:
        """Name the values of columns that many rows hold, with noisy counts.

        Only values that some row holds get a noisy count, and are named if it reaches a public threshold;
        see `Payments.for_naming` for why that is private.

        Parameters
        ----------
        pool, share, query
            What pays, and what for.
        columns : list of int
            Columns whose values are counted, `TARGET` for the target.
        delta : Fraction
            How likely, at most, a value that one person alone holds is named.
        """
        self._demand_row_privacy()
        noise, threshold = self._pay.for_naming(pool, share, query, len(columns), delta)
        found = {}
        for column in columns:
            names = sorted(self._values[column])
            counts = np.array([self._values[column][name] for name in names], np.int64)
            noisy = noise(counts)
            kept = np.flatnonzero(noisy.values >= threshold)
            said = tuple(int(noisy.values[place]) for place in kept)
            found[column] = Named(tuple(names[place] for place in kept), said, threshold, noisy.sd)
        return found

    @question
    def scored_counts(self, pool: str, share: Fraction, query: Query, scorer: Scorer, n_bins: int) -> Noisy:
        """Release how many rows a public function of a row and its target puts into each of some bins.

        A row is in one bin or in none: it changes one count by 1.
        """
        self._demand_row_privacy()
        noise = self._pay.for_noise(pool, share, query, 1, l1=1, l2_squared=1)
        return noise(self._rows.fold(_Scored(self._grid, scorer, n_bins)))

    @question
    def scored_sums(self, pool: str, share: Fraction, query: Query, scorer: Scorer, levels: int) -> Noisy:
        """Release the sums of (g, G - g), g what a public function says of a row, from 0 to G = `levels`.

        The two numbers that a row adds sum to G, which bounds both its L1 and its L2 norm. The mean of g is
        G * first / (first + second).
        """
        self._demand_row_privacy()
        if not 1 <= levels <= MAX_PER_ROW:
            raise ValueError("A row adds at least 1 and at most MAX_PER_ROW.")
        noise = self._pay.for_noise(pool, share, query, 1, l1=levels, l2_squared=levels**2)
        by_level = self._rows.fold(_Scored(self._grid, scorer, levels + 1))
        level = np.arange(levels + 1)
        return noise(np.array([by_level @ level, by_level @ (levels - level)]))

    def _cells_of(self, column: int) -> NDArray[np.int64]:
        """Count the rows of each cell of a column, or of each code of the target."""
        if column == TARGET:
            return self._rows.fold(TargetCounts(self._grid)).astype(np.int64)
        n_cells = self._grid.n_cells[column]
        asked = np.full((1, 1, 1), column, np.int32)
        table = CellCounts(self._grid, FlatTrees.unsplit(1, 0), 0, asked=asked, width=n_cells)
        return np.concatenate([part for _, part in fold_by_nodes(self._rows, table)]).ravel().astype(np.int64)

    def _check_groups(self, groups: Mapping[int, NDArray[np.int64]]) -> None:
        """Refuse groups that do not fit the grid, or none at all, before anything is charged."""
        if not groups or max(int(of_cell.max()) for of_cell in groups.values()) < 0:
            raise ValueError("Groups of at least one column are needed.")
        for column, of_cell in groups.items():
            n_cells = self._grid.n_codes if column == TARGET else self._grid.n_cells[column]
            if len(of_cell) != n_cells:
                raise ValueError("Every cell of a column needs a group.")
