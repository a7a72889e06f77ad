"""Questions about sums over rows of bounded public functions, for linear predictors; see `queries`.

`Curator` inherits these methods; callers are in `dpforest._linear`. A `Block` is a public function of one
feature: a row adds the line of its cell. No line has an L1 norm above `bound`, so one row moves no block by
more, whatever the number of blocks: that is what the noise of `dpforest.mechanisms.block_norm` needs. Each
row is of one class, so sums by class cost what sums over all rows cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpforest._curator.observer import Observer, question
from dpforest._curator.payment import EXPONENTIAL, Payments
from dpforest._rows import (
    MAX_PER_ROW,
    MAX_TREES,
    MIXTURE_UNIT,
    Assignment,
    By,
    CellCounts,
    Grid,
    MixtureScores,
    Products,
    Residual,
    Rows,
    TargetCounts,
    fold_by_nodes,
)
from dpforest._structure import FlatTrees
from dpforest.mechanisms import quantile_range, quantile_utilities
from dpforest.privacy import Kind, NeighboringRelation, PrivacyError, Query
from dpforest.schema import Schema


class Block(NamedTuple):
    """A public function of one feature: row i of `values` is what a row in cell i adds."""

    feature: int
    values: NDArray[np.int64]


class Sums(NamedTuple):
    """Released sums and the variance of their noise, coordinate by coordinate."""

    sums: NDArray[np.int64]
    variance: NDArray[np.float64]


class SumQueries:
    """The part of the curator that answers about sums."""

    schema: Schema
    _rows: Rows
    _grid: Grid
    _pay: Payments
    _observer: Observer | None
    _residual: Residual | None  # what was subtracted from targets

    def _scatter(self, n_parts: int) -> Assignment:
        """Put each row in one of some parts, drawn secretly and independently."""
        raise NotImplementedError

    def _demand_row_privacy(self) -> None:
        """Refuse label privacy: a changed label moves two classes, and the query pays for one."""
        if self._pay.ledger.plan.relation is NeighboringRelation.LABEL_CHANGE:
            raise PrivacyError("This is priced for rows that come or go, not for labels that change.")

    @question
    def lookup_sums(
        self, pool: str, share: Fraction, query: Query, blocks: Sequence[Block], bound: int, by_class: bool
    ) -> Sums:
        """Release the noisy sums of all blocks over all rows, or over the rows of each class.

        Returns
        -------
        Sums
            Of shape (n_classes or 1, coordinates of all blocks).
        """
        self._demand_row_privacy()
        _check_bound(blocks, bound, bound)
        widths = [block.values.shape[1] for block in blocks]
        noise, variance = self._pay.for_sums(pool, share, query, widths, bound)
        asked = np.arange(self.schema.n_features, dtype=np.int32)[None, None]
        nothing = FlatTrees.unsplit(1, 0)
        by = By.TARGET if by_class else By.NOTHING
        width = int(self.schema.n_cells.max())
        table = CellCounts(self._grid, nothing, 0, None, self._residual, asked=asked, width=width, by=by)
        counts = np.concatenate([part for _, part in fold_by_nodes(self._rows, table)])[0].astype(np.int64)
        sums = [block.values.T @ counts[block.feature, : len(block.values)] for block in blocks]
        return Sums(noise(np.concatenate(sums).T), variance)

    @question
    def product_sums(
        self, pool: str, share: Fraction, query: Query, blocks: Sequence[Block], bound: int
    ) -> Sums:
        """Release the noisy sums of the products of any two blocks of one coordinate, also with themselves.

        Returns
        -------
        Sums
            Of shape (n_blocks, n_blocks), symmetric: every product is released once.
        """
        self._demand_row_privacy()
        _check_bound(blocks, bound, bound**2)
        upper = np.triu_indices(len(blocks))
        noise, variance = self._pay.for_sums(pool, share, query, [1] * len(upper[0]), bound**2)
        features = np.array([block.feature for block in blocks])
        exact = self._rows.fold(Products(self._grid, features, [block.values[:, 0] for block in blocks]))
        sums, spread = np.zeros_like(exact), np.zeros(exact.shape)
        sums[upper], spread[upper] = noise(exact[upper][None])[0], variance
        return Sums(_mirror(sums), _mirror(spread))

    @question
    def target_quantile(
        self,
        pool: str,
        share: Fraction,
        query: Query,
        numerator: int,
        denominator: int,
        base: NDArray[np.int64] | None = None,
        around: int | None = None,
    ) -> int:
        """Release a level of the target that about numerator / denominator of the rows do not exceed.

        Exponential mechanism on the distance in rows, scaled by the denominator: see
        `dpforest.mechanisms.quantile_range` for W. `base` holds positive weights of all levels, which must
        follow from released values; all are alike without it. With `around`, a released level, it is the
        distance of a row's target to that level which is not exceeded: still one number for every row.
        """
        self._demand_row_privacy()
        if around is not None and not 0 <= around <= self.schema.range.levels:
            raise ValueError("distances are measured from a level of the target.")
        score_range = quantile_range(numerator, denominator)
        choose = self._pay.for_choice(pool, share, query, 1, score_range, EXPONENTIAL)
        counts = self._rows.fold(TargetCounts(self._grid, self._residual))[None]
        last = counts.shape[1] - 1
        if around is not None:
            by_level, counts = counts, np.zeros_like(counts)
            np.add.at(counts[0], np.abs(np.arange(last + 1) - around), by_level[0])
        scores, allowed = quantile_utilities(counts, [0], [last], numerator, denominator)
        return int(choose(scores, allowed if base is None else allowed * base)[0])

    @question
    def subtract(
        self,
        low: float,
        high: float,
        constant: float = 0.0,
        tree: FlatTrees | None = None,
        leaves: NDArray[np.float64] | None = None,
        table: NDArray[np.int64] | None = None,
    ) -> None:
        """Replace every row's target by what released values leave of it, between `low` and `high`.

        Both are in levels of the schema, and become the first and last level of the new target, to which
        anything beyond is moved. A `constant`, the value of the row's leaf in a `tree`, or the sum over
        features of a `table` (see `dpforest._structure.additive`) adds to what was subtracted before. A row's
        new target follows from the row and released values alone, so nothing is released and neighbours stay
        neighbours.
        """
        before = self._residual or Residual(self._grid, self.schema.range.levels)
        self._residual = before.then(low, high, constant, tree, leaves, table)

    @question
    def best_mixture(
        self,
        pool: str,
        share: Fraction,
        trees: FlatTrees,
        prior: NDArray[np.float64],
        leaf_scores: NDArray[np.float64],
        tables: NDArray[np.float64],
        weights: NDArray[np.float64],
        table_of: NDArray[np.int64],
        likely: NDArray[np.int64],
        one_in: int = 1,
    ) -> int:
        """Release which mixture of released scores predicts the classes of the rows best.

        Exponential mechanism on a sum over rows: half for a highest score that is of the row's class, and up
        to half for a probability close to it (Brier score; see `MixtureScores`). One more row adds a whole
        number between 0 and `MIXTURE_UNIT` to each of these sums: W = MIXTURE_UNIT.

        Parameters
        ----------
        pool, share
            What pays.
        trees : FlatTrees
            One released tree.
        prior : ndarray of shape (n_classes,)
            Released score of every row.
        leaf_scores : ndarray of shape (n_leaves, 1 or n_classes, n_classes)
            Released score of each leaf, the same for all rows or by the class of the row.
        tables : ndarray of shape (n_tables, n_features, n_cells, n_classes)
            Released scores that are sums over features.
        weights : ndarray of shape (n_candidates, 2)
            What each candidate multiplies the leaf's and the table's scores with.
        table_of : ndarray of shape (n_candidates,)
            Which table each candidate takes.
        likely : ndarray of shape (n_candidates,)
            Positive base weight of each candidate, public: how likely it is best before any row is seen.
        one_in : int
            Judge by one row in so many, each drawn by a secret coin of its own: quicker where rows are
            plenty. The price is that of all rows.
        """
        self._demand_row_privacy()
        asked = MixtureScores(
            self._grid,
            trees,
            trees.depth,
            prior=prior,
            leaf_scores=leaf_scores,
            tables=tables,
            weights=weights,
            table_of=table_of,
        )
        if likely.shape != table_of.shape or likely.min() < 1:
            raise ValueError("Every candidate needs a positive base weight.")
        choose = self._pay.for_choice(pool, share, Query(Kind.PART_WEIGHTS), 1, MIXTURE_UNIT, EXPONENTIAL)
        if one_in > 1:
            asked = replace(asked, sample=self._scatter(min(one_in, MAX_TREES)))
        return int(choose(self._rows.fold(asked)[None], likely[None])[0])


def _mirror(upper: NDArray[Any]) -> NDArray[Any]:
    """Copy the part above the diagonal below it."""
    mirrored: NDArray[Any] = upper + np.triu(upper, 1).T
    return mirrored


def _check_bound(blocks: Sequence[Block], bound: int, per_row: int) -> None:
    if per_row > MAX_PER_ROW:
        raise ValueError("A bound is beyond what sums of 2**40 rows have room for.")
    for block in blocks:
        if np.abs(block.values).sum(axis=1).max() > bound:
            raise ValueError(f"A block of feature {block.feature} exceeds its bound {bound}.")
