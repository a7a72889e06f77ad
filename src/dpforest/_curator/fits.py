"""The question for scores that are fitted to the rows; see `queries` for the rules that all questions follow.

`Curator` inherits it; callers are in `dpforest._linear`. Scores of a row are sums over features of a public
function of its cell, the lines of `Block`s, times weights. The weights that minimise a convex loss of the
rows (`dpforest._rows.pulls`) plus a random linear term and a ridge are released: one charge, however many
passes over the rows the search takes (`dpforest.mechanisms.objective` has the proof).

What one row adds to the gradient by the weights is its pull at the scores times the lines of its cells. With
lines of L1 norm at most ONE, in units of 1 / ONE:

* the sum over outputs of the largest L1 norm of a block is at most the L1 norm of the pull, `Loss.reach`;
* the trace of its second derivative is at most `Loss.bend` times the squared length of all its lines, which
  is at most L = sum over features of the largest squared length of a feature's lines together.

How exact the gradient is, for tables of up to N = `MAX_FITTED_ROWS` rows (`_inexact`); larger ones are
refused:

* a score is a sum of whole numbers in units of 2**-bits, one per block, each cut by less than a unit. A pull
  moves by at most `Loss.bend` times what the scores do, and is off by `pull_error` because it is computed.
  Times the length of a row's lines, sqrt(L), and N.
* sums of pulls and their products with lines are whole numbers, exact: N pulls of 2**26 times ONE are 2**62.
* the two halves of these become doubles and are added: off by 3 units of 2**-53 of N reach sqrt(L).

A fit to a sample costs no less: given the secret coins of all rows, the one row that differs is in the
sample, and the argument holds as it stands, or it is not, and the answers are alike; then average over the
coins.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from dpforest._curator.observer import Observer, question
from dpforest._curator.payment import Payments
from dpforest._curator.sums import Block
from dpforest._rows import MAX_FITTED_ROWS, MAX_TREES, Assignment, Grid, Residual, Rows
from dpforest._rows.pulls import PULL_BITS, Bends, Loss, Pulls, pull_error
from dpforest.mechanisms import LONGEST, POSITION_BITS, Problem, terms
from dpforest.privacy import NeighboringRelation, PrivacyError, Query
from dpforest.schema import Classes, Schema

ONE = 64  # what stands for 1 in the lines of blocks
SAMPLED_ROWS = 10_000  # that steer the search, at most ...
PRODUCTS_TO_STEER = 500_000_000  # ... and so many products of their blocks
_MOST_PRODUCTS = 3000  # coordinates: with more, only their squares steer it
_HALF = POSITION_BITS - 36  # lower bits of a position


class Wanted(NamedTuple):
    """Scores that numbers are to have: (y - zero) / width."""

    zero: float
    width: float


class FitQueries:
    """The part of the curator that fits scores."""

    schema: Schema
    _rows: Rows
    _grid: Grid
    _pay: Payments
    _observer: Observer | None
    _residual: Residual | None

    def _scatter(self, n_parts: int) -> Assignment:
        """Put each row in one of some parts, drawn secretly and independently."""
        raise NotImplementedError

    def _n_rows(self) -> int:
        """Count all rows; private."""
        raise NotImplementedError

    @staticmethod
    def can_fit(schema: Schema, epsilon: Fraction, blocks: Sequence[Block]) -> bool:
        """Tell whether an epsilon is not too small to fit the weights of blocks; no row is asked."""
        try:
            terms(_Fit(_loss_of(schema), blocks, schema).problem, epsilon)
        except ValueError:
            return False
        return True

    @question
    def fitted_weights(
        self,
        pool: str,
        share: Fraction,
        query: Query,
        blocks: Sequence[Block],
        rows: float,
        wanted: Wanted | None = None,
        one_in: int = 1,
    ) -> NDArray[np.float64]:
        """Release the weights of all coordinates of the blocks that fit the scores to the target.

        Parameters
        ----------
        pool, share, query
            What pays, and for what.
        blocks : sequence of Block
            Public functions of features, by feature; no line has an L1 norm above `ONE`.
        rows : float
            Released number of rows: how many of them steer the search depends on it.
        wanted : Wanted, optional
            For numbers; from released values.
        one_in : int
            Fit to one row in so many, each drawn by a secret coin of its own: quicker where rows are plenty.
            The price is that of all rows.

        Returns
        -------
        ndarray of shape (coordinates of all blocks, n_outputs)
            For two classes and for numbers there is one output; for numbers, scores are in units of `wanted`.
        """
        if self._pay.ledger.plan.relation is NeighboringRelation.LABEL_CHANGE:
            raise PrivacyError("This is priced for rows that come or go, not for labels that change.")
        loss = _loss_of(self.schema)
        if (loss is Loss.NUMBERS) != (wanted is not None):
            raise ValueError("Numbers need wanted scores, classes have none.")
        if wanted is not None and not wanted.width > 0:
            raise ValueError("Scores of numbers need a width above 0.")
        fit = _Fit(loss, blocks, self.schema)
        if self._n_rows() > MAX_FITTED_ROWS:
            raise ValueError("Scores are fitted to tables of at most 2**30 rows (_rows.MAX_FITTED_ROWS).")
        bought = self._pay.for_fit(pool, share, query, fit.problem)
        asked = Pulls(self._grid, loss, fit.scores(fit.nothing), fit.bits, self._residual)
        one_in = min(one_in, MAX_TREES)  # parts that rows can be put in
        if one_in > 1:
            asked = replace(asked, sample=self._scatter(one_in))
        steered_by = min(max(int(rows / fit.rows_to_steer), 1), MAX_TREES)
        sample = self._scatter(steered_by) if steered_by > 1 else None
        if wanted is not None:
            asked = replace(asked, zero=wanted.zero, per_level=1 / wanted.width)

        fold = self._rows.fold
        weights, grid = bought.minimum(
            lambda at: fit.along_lines(fold(fit.pulls_at(asked, at))),
            lambda at: fit.rough_inverse(
                fold(fit.bends_at(asked, at, sample)), steered_by / one_in, bought.ridge
            ),
        )
        return np.ldexp(weights.astype(np.float64), -grid)


class _Fit:
    """What is public about fitting weights of blocks: positions to scores, pulls to gradients."""

    def __init__(self, loss: Loss, blocks: Sequence[Block], schema: Schema) -> None:
        if any(np.abs(block.values).sum(axis=1).max() > ONE for block in blocks):
            raise ValueError("A line of a block is longer than 1.")
        n_classes = 2 if loss is Loss.NUMBERS else len(schema.classes.labels)
        self.loss, self.blocks, self.n_outputs = loss, blocks, loss.n_outputs(n_classes)
        self.n_features, self.n_cells = schema.n_features, int(schema.n_cells[: schema.n_features].max())
        self.widths = [block.values.shape[1] for block in blocks]
        self.ends = np.cumsum(self.widths)
        # |score| <= |w| |lines| < LONGEST sqrt(number of blocks), in 62 bits
        largest = math.ceil(math.log2(LONGEST * math.sqrt(len(blocks)) + len(blocks)))
        self.bits = min(61 - largest, PULL_BITS + 2)
        if self.bits < POSITION_BITS + 6 - _HALF:
            raise ValueError("There are too many blocks.")
        longest = np.zeros((self.n_features, self.n_cells), np.int64)
        for block in blocks:
            longest[block.feature, : len(block.values)] += (block.values**2).sum(axis=1)
        self.squared_length = Fraction(int(longest.max(axis=1).sum()), ONE**2)
        self.problem = Problem(
            blocks=tuple(self.widths),
            n_outputs=self.n_outputs,
            reach=loss.reach,
            bend=loss.bend(self.n_outputs) * self.squared_length,
            rows=MAX_FITTED_ROWS,
            inexact=self._inexact(),
        )

    @property
    def rows_to_steer(self) -> int:
        """Rows whose products steer the search: a row takes time in proportion to the squared blocks."""
        return min(max(PRODUCTS_TO_STEER // len(self.blocks) ** 2, SAMPLED_ROWS // 10), SAMPLED_ROWS)

    @property
    def nothing(self) -> NDArray[np.int64]:
        """The position at which all weights are 0."""
        return np.zeros((sum(self.widths), self.n_outputs), np.int64)

    def scores(self, at: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return what every cell adds to the scores, in units of 2**-bits, for weights in whole numbers.

        Lines times positions are in units of 2**-(POSITION_BITS + 6), too long for 64 bits: upper and lower
        bits of a position are multiplied on their own (below 2**48 and 2**26), and cut to whole units.
        """
        high, low = at >> _HALF, at & (2**_HALF - 1)
        cut = POSITION_BITS + 6 - self.bits  # 10 to 20
        table = np.zeros((self.n_features, self.n_cells, self.n_outputs), np.int64)
        for block, end, width in zip(self.blocks, self.ends, self.widths, strict=True):
            some = slice(end - width, end)
            whole = ((block.values @ high[some]) << (_HALF - cut)) + ((block.values @ low[some]) >> cut)
            table[block.feature, : len(block.values)] += whole
        return table

    def pulls_at(self, asked: Pulls, at: NDArray[np.int64]) -> Pulls:
        """Ask for pulls at other weights."""
        return replace(asked, table=self.scores(at))

    def bends_at(self, asked: Pulls, at: NDArray[np.int64], sample: Assignment | None) -> Bends:
        """Ask what steers the search."""
        features, values = [block.feature for block in self.blocks], [block.values for block in self.blocks]
        return Bends(asked.grid, self.pulls_at(asked, at), features, values, sample)

    def along_lines(self, pulls: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the gradient by the weights from sums of pulls in two halves."""
        found = [
            np.ldexp((block.values.T @ upper).astype(np.float64), 24) + (block.values.T @ lower)
            for block in self.blocks
            for upper, lower in [pulls[:, block.feature, : len(block.values)]]
        ]
        summed: NDArray[np.float64] = np.ldexp(np.concatenate(found), -PULL_BITS - 6)
        return summed

    def rough_inverse(
        self, bends: NDArray[np.int64], weight: float, ridge: float
    ) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
        """Return an approximate inverse of the second derivative of the objective."""
        known = np.tril(bends) * (weight / (64.0 * ONE**2 * self.n_outputs))
        if len(known) > _MOST_PRODUCTS:
            diagonal = np.diag(known)[:, None] + ridge
            return lambda gradient: gradient / diagonal
        known = known + np.tril(known, -1).T
        known[np.diag_indices(len(known))] += ridge
        try:
            factor = cho_factor(known, lower=True)
        except LinAlgError:  # next to singular; to fail would tell so
            return lambda gradient: gradient / np.diag(known)[:, None]
        return lambda gradient: cho_solve(factor, gradient)

    def _inexact(self) -> float:
        length = math.sqrt(self.squared_length)
        cut = len(self.blocks) * 2.0**-self.bits * math.sqrt(self.n_outputs)
        of_pull = cut * float(self.loss.bend(self.n_outputs)) + pull_error(self.loss, self.n_outputs)
        of_adding = 3 * 2.0**-53 * float(self.loss.reach)
        return 1.01 * MAX_FITTED_ROWS * length * (of_pull + of_adding)


def _loss_of(schema: Schema) -> Loss:
    """Return the loss that goes with the target."""
    if not isinstance(schema.target, Classes):
        return Loss.NUMBERS
    return Loss.TWO_CLASSES if len(schema.classes.labels) == 2 else Loss.SEVERAL_CLASSES
