"""Questions about gradients, for boosting; see `queries` for the rules that all questions follow.

`Curator` inherits these methods; callers are in `dpforest._boosting`. Rows carry a score that only released
values add to. The gradient g of a row, and its Hessian h, are integer functions of the row and its score (see
`dpforest._rows.scores`), with Euclidean lengths of at most U (the unit) and, for h / 2, at most U / 2.
Which rows are compared never matters: on neighbouring tables, after the same answers, all rows but one have
the same scores and hence the same gradients, so what one row adds is all that a table can move by.

==================== ============================================== ========================================
question             a row adds                                     moves by at most
==================== ============================================== ========================================
marginals            1 to one group of cells of every feature       L2 squared: number of features F
target_total         a whole number from -U to U                    L2 squared: U^2
gradient_sums        g times phi, with |g|^2 |phi|^2 <= U^2 R       L2 squared: U^2 R
feature_products     5 phi_a^2 and 7 phi_a phi_b for a < b,         L2 squared: 25 R^2, because 49 < 2 * 25
                     with |phi|^2 <= R                              and (|phi|^2)^2 sums phi_a^2 phi_b^2 over
                                                                    all (a, b), in both orders
step_length          (g . d, h . d^2), clipped to [-U, U] and       L2 squared: U^2 + (0.7 U)^2
                     [0, 0.7 U]
best_cuts            g to the left or the right child of one node   W = 2 U: each length by U, up or down, and
                                                                    so its floor, because U is whole
node_sums            (g, h / 2) to one node                         L2 squared: U^2 + (U / 2)^2
target_place,        1 to one part of a range                       W of a quantile
residual_quantile
==================== ============================================== ========================================

R bounds the squared length of a row's features, a whole number. These are questions of zCDP only: noise is
Gaussian and choices are exponential mechanisms.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpforest._curator.observer import Observer, question
from dpforest._curator.payment import EXPONENTIAL, Noisy, Payments
from dpforest._curator.sums import Block
from dpforest._rows import Grid, Rows
from dpforest._rows.gradients import (
    CellTotals,
    ColumnSums,
    FeatureProducts,
    GradientSums,
    NodeSums,
    ResidualCounts,
    StepSums,
    TargetPlaces,
    TargetSum,
    fold_by_columns,
)
from dpforest._rows.scores import LARGEST_UNIT, TARGET_SPAN, Columns, Scores, clip_and_curvature
from dpforest.mechanisms import quantile_range, quantile_utilities
from dpforest.privacy import BudgetPlan, Kind, NeighboringRelation, PrivacyError, Query
from dpforest.schema import Classes, Schema

QUANTILE_PARTS = 1000
MOST_CLASSES = 1000  # beyond, squared lengths of sums could not be told exactly
LARGEST_FEATURE_UNIT = 64  # features below 4 are then below 2**8
LARGEST_NOISE = 2.0**24  # standard deviations that can be drawn
NO_L1 = 1  # L1 norms do not matter: these questions are sold under zCDP only

Ints = NDArray[np.int64]


class Feature(NamedTuple):
    """Coordinates of a row that follow from one feature: line i of `values` is for cell i, released."""

    feature: int
    values: NDArray[np.float64]


class Released(NamedTuple):
    """Released numbers and the standard deviation of their noise, both in units that the caller knows."""

    values: NDArray[np.float64]
    noise_sd: float


def fitting_unit(length: float, rho: float, largest: int) -> int:
    """Largest power of two, up to `largest`, in which noise for one row of a length can be drawn.

    Examples
    --------
    >>> fitting_unit(1.0, 0.01, 4096), fitting_unit(1000.0, 1e-8, 4096)
    (4096, 2)
    """
    unit = largest
    while unit > 2 and unit * length > LARGEST_NOISE * (2 * rho) ** 0.5:
        unit //= 2
    return unit


def gradient_unit(plan: BudgetPlan, n_features: int) -> int:
    """Return what a gradient of length 1 is as a whole number.

    Questions about gradients alone cost a thousandth of the budget or more. Gradients times features, whose
    squared length is below 2 per feature and which are halves at the coarsest, cost a twentieth.
    """
    rho, length = float(plan.total), 2 * (2 * n_features) ** 0.5
    return min(fitting_unit(2.0, rho / 1000, LARGEST_UNIT), fitting_unit(length, rho / 20, LARGEST_UNIT))


class GradientQueries:
    """The part of the curator that answers about gradients."""

    schema: Schema
    _rows: Rows
    _grid: Grid
    _pay: Payments
    _observer: Observer | None
    _scores: Scores  # released values only: what every row's score is made of

    @question
    def score_rows(self) -> None:
        """Give every row with a known target a score of 0; nothing is released or charged."""
        plan, target = self._pay.ledger.plan, self.schema.target
        if plan.currency != "zcdp" or plan.relation is NeighboringRelation.LABEL_CHANGE:
            raise PrivacyError("Gradients are priced in zCDP, for rows that come or go: give delta.")
        n_classes = self.schema.classes.n_classes if isinstance(target, Classes) else None
        if n_classes is not None and n_classes > MOST_CLASSES:
            raise ValueError(f"Boosting takes up to {MOST_CLASSES} classes.")
        unit = gradient_unit(plan, self.schema.n_features)
        levels = self.schema.range.levels if n_classes is None else 1
        self._scores = Scores(self._grid, n_classes, levels, unit)

    # --- what is known before --------------------------------------------------------------------------

    @question
    def known_targets(self, pool: str) -> Noisy:
        """Release the noisy number of rows with a known target, as an array of one."""
        noise = self._pay.for_noise(pool, Fraction(1), Query(Kind.ROW_COUNT), 1, NO_L1, 1)
        return noise(self._rows.fold(TargetPlaces(self._scores, 1)))

    @question
    def marginals(
        self, pool: str, share: Fraction, groups: Sequence[NDArray[np.intp]], query: Query
    ) -> tuple[list[NDArray[np.float64]], float]:
        """Release how many rows fall in each group of cells of every feature, and the noise of the counts.

        ``groups[feature][cell]`` is the group of a cell; groups are numbered from 0.
        """
        n_features = self.schema.n_features
        noise = self._pay.for_noise(pool, share, query, 1, NO_L1, n_features)
        counts = self._rows.fold(CellTotals(self._scores))
        sizes = [int(group.max()) + 1 for group in groups]
        exact = np.zeros(sum(sizes), np.int64)
        ends = np.cumsum(sizes)
        for line, group, end, size in zip(counts, groups, ends, sizes, strict=True):
            np.add.at(exact, end - size + group, line[: len(group)])
        released = _in_units(noise(exact), 1.0)
        return np.split(released.values, ends[:-1]), released.noise_sd

    @question
    def target_total(self, pool: str, share: Fraction, low: int, high: int, query: Query) -> Released:
        """Release the sum of where targets lie in [low, high] (parts of TARGET_SPAN), from -1 to 1."""
        unit = self._scores.unit
        noise = self._pay.for_noise(pool, share, query, 1, NO_L1, unit**2)
        return _in_units(noise(self._rows.fold(TargetSum(self._scores, low, high))), float(unit))

    @question
    def target_place(
        self, pool: str, share: Fraction, parts: int, quantile: int, base: Ints, query: Query
    ) -> int:
        """Release which of `parts` equal parts of the target's range ends near a quantile of the rows.

        The quantile is in units of 1 / QUANTILE_PARTS. `base` holds public or released weights.
        """
        score_range = quantile_range(quantile, QUANTILE_PARTS)
        choose = self._pay.for_choice(pool, share, query, 1, score_range, EXPONENTIAL)
        counts = self._rows.fold(TargetPlaces(self._scores, parts))
        scores, allowed = quantile_utilities(counts[None], [0], [parts - 1], quantile, QUANTILE_PARTS)
        return int(choose(scores, allowed * base)[0])

    @question
    def residual_quantile(
        self, pool: str, share: Fraction, quantile: int, borders: Ints, base: Ints, query: Query
    ) -> int:
        """Release the border, of rising ones, that about a quantile of the absolute residuals stay below.

        `base` holds public or released weights of the borders.
        """
        score_range = quantile_range(quantile, QUANTILE_PARTS)
        choose = self._pay.for_choice(pool, share, query, 1, score_range, EXPONENTIAL)
        counts = self._rows.fold(ResidualCounts(self._scores, borders))
        scores, allowed = quantile_utilities(counts[None], [0], [len(borders)], quantile, QUANTILE_PARTS)
        return int(choose(scores, allowed * np.append(base, 0))[0])

    # --- scores: nothing is released or charged --------------------------------------------------------

    @question
    def add_constant(self, scores: Ints) -> None:
        """Add released numbers to the scores of all rows."""
        self._scores = self._scores.plus_constant(scores)

    @question
    def add_table(self, table: NDArray[np.int32]) -> None:
        """Add released numbers by (feature, cell, output), summed over features, to the scores."""
        self._scores = self._scores.plus_table(table)

    @question
    def set_clip(self, clip: int) -> None:
        """Set where residuals of numbers are clipped, from released values."""
        self._scores = self._scores.clipped_at(clip)

    @question
    def begin_tree(self, columns: Columns) -> None:
        """Put all rows into the root of a new tree that may cut some columns, made of released values."""
        self._scores = self._scores.new_tree(columns)

    @question
    def split_nodes(self, column: Ints, cut: Ints) -> None:
        """Send the rows of every node to its children by released cuts."""
        self._scores = self._scores.split(column, cut)

    @question
    def add_values(self, values: NDArray[np.int32]) -> None:
        """Add released values of the nodes to the scores of their rows."""
        self._scores = self._scores.plus_values(values)

    # --- linear parts ----------------------------------------------------------------------------------

    @question
    def gradient_sums(
        self, pool: str, share: Fraction, features: Sequence[Feature], longest: float, query: Query
    ) -> Released:
        """Release the sums of gradient times feature, for all coordinates of the features and all outputs.

        Rows whose squared length is above `longest` add less, in proportion.
        """
        unit = self._scores.unit
        rho = float(self._pay.ledger.plan.amount(pool) * share)
        one = fitting_unit(unit * longest**0.5, rho, LARGEST_FEATURE_UNIT)
        whole = int(longest * one**2)
        noise = self._pay.for_noise(pool, share, query, 1, NO_L1, unit**2 * whole)
        blocks = _whole_blocks(features, one)
        norms = np.zeros(self._scores.shape[:2], np.int64)
        for block in blocks:
            norms[block.feature, : len(block.values)] += (block.values**2).sum(axis=1)
        table = self._rows.fold(GradientSums(self._scores, norms, whole))
        exact = [block.values.T @ table[block.feature, : len(block.values)] for block in blocks]
        return _in_units(noise(np.concatenate(exact)), float(unit * one))

    @question
    def feature_products(
        self, pool: str, share: Fraction, features: Sequence[Feature], longest: float, query: Query
    ) -> Released:
        """Release the sums of products of all pairs of coordinates, symmetric.

        The noise told is that of products of two different coordinates; squares have 1.4 times as much.
        """
        rho = float(self._pay.ledger.plan.amount(pool) * share)
        one = LARGEST_FEATURE_UNIT
        while one > 2 and fitting_unit(5 * longest, rho, one**2) < one**2:
            one //= 2
        whole = int(longest * one**2)
        noise = self._pay.for_noise(pool, share, query, 1, NO_L1, 25 * whole**2)
        blocks = _whole_blocks(features, one)
        at = np.array([block.feature for block in blocks], np.int64)
        table = FeatureProducts(self._scores, at, [block.values for block in blocks], whole)
        exact = self._rows.fold(table)
        upper = np.triu_indices(len(exact))
        weight = np.where(upper[0] == upper[1], 5, 7)
        answer = _in_units(noise(exact[upper] * weight), float(one**2))
        released = np.zeros(exact.shape)
        released[upper] = answer.values / weight
        return Released(released + np.triu(released, 1).T, answer.noise_sd / 7)

    @question
    def step_length(
        self, pool: str, share: Fraction, table: NDArray[np.int32], reach: float, query: Query
    ) -> tuple[Released, Released]:
        """Release the summed slope and curvature along a step that is given as `table` for `add_table`.

        Each row's slope is clipped to what a gradient of length 1 has along a step of length `reach`, and its
        curvature likewise. Both answers are in these units.
        """
        top = self._scores.unit
        lower = 7 * top // 10
        noise = self._pay.for_noise(pool, share, query, 1, NO_L1, top**2 + lower**2)
        sums, sd = noise(self._rows.fold(StepSums(self._scores, table, reach, lower)))
        slope, bend = (_in_units(Noisy(sums[k : k + 1], sd), float((top, lower)[k])) for k in (0, 1))
        return slope, bend

    # --- trees -----------------------------------------------------------------------------------------

    @question
    def best_cuts(self, pool: str, share: Fraction, weights: Ints, query: Query) -> tuple[Ints, Ints]:
        """Release a column and a cut of it in every node: one choice among all cuts of all columns.

        The score of a cut is the length of the gradients' sum on its left plus that on its right. `weights`
        holds a public or released base weight for every column.
        """
        choose = self._pay.for_choice(pool, share, query, 1, 2 * self._scores.unit, EXPONENTIAL)
        from dpforest._curator import _gradients

        asked = ColumnSums(self._scores)
        n_columns, n_nodes, n_codes, _ = asked.shape
        columns = self._scores.columns
        assert columns is not None
        scores = np.zeros((n_nodes, n_columns, n_codes), np.int64)
        for some, table in fold_by_columns(self._rows, asked):
            _gradients.cut_scores(table, columns.by_code[some], columns.n_codes[some], scores[:, some])
        base = cut_weights(columns, weights).reshape(1, -1)
        base = np.broadcast_to(base, (n_nodes, n_columns * n_codes))
        chosen = choose(scores.reshape(n_nodes, -1), np.ascontiguousarray(base))
        column, cut = np.divmod(np.maximum(chosen, 0), n_codes)
        return column, cut

    @question
    def node_sums(self, pool: str, share: Fraction, query: Query) -> Released:
        """Release the sums of gradients and Hessians of all nodes, shape (n_nodes, 2, n_outputs).

        In units of the longest gradient, and of half the typical Hessian.
        """
        unit = self._scores.unit
        half = unit // 2
        noise = self._pay.for_noise(pool, share, query, 1, NO_L1, unit**2 + half**2)
        return _in_units(noise(self._rows.fold(NodeSums(self._scores))), float(unit))

    # --- what is public about scores -------------------------------------------------------------------

    @property
    def n_outputs(self) -> int:
        """Scores of a row: 1 for numbers and for two classes, else one for every class."""
        return self._scores.n_outputs

    @property
    def gradient_scales(self) -> tuple[float, float]:
        """Length of a gradient and size of a Hessian that stand for 1; for numbers both are 1."""
        return clip_and_curvature(self._scores.loss)

    @property
    def is_noiseless(self) -> bool:
        """Whether answers are exact, and the fit void of any promise."""
        return self._pay.is_noiseless


def _in_units(answer: Noisy, one: float) -> Released:
    """Divide an answer by what stands for 1; without noise, formulas take next to nothing for it."""
    return Released(answer.values / one, max(answer.sd, 1e-9) / one)


def _whole_blocks(features: Sequence[Feature], one: int) -> list[Block]:
    """Round features to whole multiples of 1 / `one`; lengths are checked row by row, on what comes out."""
    return [Block(at, np.rint(values * one).astype(np.int64)) for at, values in features]


def cut_weights(columns: Columns, weights: Ints) -> Ints:
    """Spread the base weight of every column over its cuts, at least 1 for each; shape (column, code).

    Examples
    --------
    >>> from dpforest._structure.pairs import Pairs
    >>> nothing = Pairs(np.zeros((2, 3), np.int32), np.zeros((0, 4), np.int32), np.zeros(0, np.int32))
    >>> n_codes, by_code = np.array([3, 3]), np.array([False, True])
    >>> columns = Columns(np.zeros((2, 3), np.uint8), n_codes, by_code, nothing)
    >>> cut_weights(columns, np.array([100, 30]))
    array([[50, 50,  0],
           [10, 10, 10]])
    """
    n_cuts = np.where(columns.by_code, columns.n_codes, columns.n_codes - 1)
    each = np.maximum(weights // np.maximum(n_cuts, 1), 1)
    is_cut = np.arange(columns.n_codes.max()) < n_cuts[:, None]
    return np.where(is_cut, each[:, None], 0)


__all__ = ["TARGET_SPAN", "Columns", "Feature", "GradientQueries", "Released", "fitting_unit"]
