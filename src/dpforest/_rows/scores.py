"""Scores of rows, for boosting: a program of released steps that blocks run, and the gradients that follow.

A row's score is a whole number (one for every class, if there are more than two) that only released values
add to; its gradient is an integer function of the score and the target. Rows without a known target are left
out, each by its own target alone.

Widths. Scores stay below 2**30 (`Scores` checks what is added). A gradient is at most UNIT = 2**12 long and
there are at most 2**40 rows, so sums of gradients stay below 2**52, and sums of gradients times features
(below 2**8) below 2**60.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpforest._rows.identity import Lasting
from dpforest._rows.rows import Block, Grid
from dpforest._structure import Pairs

LOGISTIC, SOFTMAX, SQUARED = "two classes", "several classes", "numbers"
SCORE_BITS = 16  # scores of classes are whole multiples of 2**-16
TARGET_SPAN = 2**20  # what the public range of a numeric target becomes
LARGEST_UNIT = 2**12  # gradients are kept as int16
LARGEST_SCORE = 2**30  # scores are kept as int32
MOST_NODES = 2**15

_STEP_BITS = 8  # scores are looked up in steps of 2**-8 ...
_SHIFT = SCORE_BITS - _STEP_BITS
_HALF = 16 * 2**_STEP_BITS  # ... up to 16 on either side of 0
_ONE = 2**16  # shares of classes are whole multiples of 2**-16
_LONGEST_GRADIENT = {LOGISTIC: 0.5, SOFTMAX: 0.6}  # longer ones are clipped
_TYPICAL_CURVATURE = {LOGISTIC: 0.25, SOFTMAX: 0.39}  # what is a Hessian of 1: none of two classes is larger
_LEAST_CURVATURE = {LOGISTIC: 0.01, SOFTMAX: 0.002}

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Columns(Lasting):
    """How cells become the codes that trees cut; public, or made of released values.

    Parameters
    ----------
    codes : ndarray of uint8, shape (n_features, n_cells)
        Code of every cell of every feature.
    n_codes : ndarray of int64, shape (n_features + n_pairs,)
        Codes of every column.
    by_code : ndarray of bool, shape (n_features + n_pairs,)
        Columns that are cut into one code and the rest, instead of low and high codes.
    pairs : Pairs
        The columns behind the features.
    """

    codes: NDArray[np.uint8]
    n_codes: Ints
    by_code: NDArray[np.bool_]
    pairs: Pairs


class ScoredBlock:
    """Rows of a block that have a target, their scores, and their nodes in the tree that grows."""

    def __init__(self, block: Block, scores: Scores) -> None:
        known = block.target >= 0
        everything = bool(known.all())
        self.cells: NDArray[Any] = block.cells if everything else block.cells[known]
        self.target = (block.target if everything else block.target[known]).astype(np.int64)
        if scores.n_classes is None:
            self.target = self.target * TARGET_SPAN // scores.levels
        n_rows = len(self.cells)
        self.scores = np.zeros((n_rows, scores.n_outputs), np.int32)
        self.g, self.h = (np.zeros((n_rows, scores.n_outputs), np.int16) for _ in range(2))
        self.clip = 0  # level that the gradients were made for; 0 if scores have changed since
        self.node_of = np.zeros(n_rows, np.uint16)
        self.columns: Columns | None = None
        self.codes = np.empty((0, n_rows), np.uint8)


class Step(Protocol):
    """Something released that changes scores or nodes."""

    def take(self, rows: ScoredBlock) -> None:
        """Change them, row by row."""


@dataclass(frozen=True, eq=False)
class AddConstant(Lasting):
    """Add the same to the scores of all rows."""

    scores: Ints

    def take(self, rows: ScoredBlock) -> None:
        """Add it."""
        rows.scores += self.scores.astype(np.int32)
        rows.clip = 0


@dataclass(frozen=True, eq=False)
class AddTable(Lasting):
    """Add ``table[feature, cell, output]``, summed over features, to the scores."""

    table: NDArray[np.int32]

    def take(self, rows: ScoredBlock) -> None:
        """Add it."""
        from dpforest._rows import _gradients

        _gradients.add_table(rows.cells, self.table, rows.scores)
        rows.clip = 0


@dataclass(frozen=True, eq=False)
class AddValues(Lasting):
    """Add the value of its node to the scores of every row."""

    values: NDArray[np.int32]

    def take(self, rows: ScoredBlock) -> None:
        """Add it."""
        from dpforest._rows import _gradients

        _gradients.add_values(rows.node_of, self.values, rows.scores)
        rows.clip = 0


@dataclass(frozen=True, eq=False)
class BeginTree(Lasting):
    """Put all rows into the root, coded in the columns that the tree may cut."""

    columns: Columns

    def take(self, rows: ScoredBlock) -> None:
        """Do it; codes that are there already stay."""
        from dpforest._rows import _gradients

        rows.node_of[:] = 0
        if rows.columns is self.columns:
            return
        n_features = rows.cells.shape[1]
        rows.columns = self.columns
        rows.codes = np.empty((len(self.columns.n_codes), len(rows.cells)), np.uint8)
        _gradients.code_columns(rows.cells, self.columns.codes, rows.codes[:n_features])
        self.columns.pairs.codes(rows.cells, rows.codes[n_features:])


@dataclass(frozen=True, eq=False)
class SplitNodes(Lasting):
    """Send rows with codes from `lowest` to `highest` in their node's column to the left child."""

    column: Ints
    lowest: NDArray[np.uint8]
    highest: NDArray[np.uint8]

    def take(self, rows: ScoredBlock) -> None:
        """Do it."""
        from dpforest._rows import _gradients

        _gradients.split_nodes(rows.codes, self.column, self.lowest, self.highest, rows.node_of)


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of all rows, as the steps of released values that make them.

    Every step is a function of one row and of released values, so neighbouring tables give all rows that they
    share the same scores. Each method returns the program with one more step.

    Parameters
    ----------
    grid : Grid
        The grid of the rows.
    n_classes : int or None
        Classes of the target, or None if it is a number.
    levels : int
        Fixed-point levels of a number.
    unit : int
        What a gradient of length 1 is as a whole number; even.
    """

    grid: Grid
    n_classes: int | None
    levels: int
    unit: int
    clip: int = TARGET_SPAN
    columns: Columns | None = None
    n_nodes: int = 0
    largest: int = 0
    steps: tuple[Step, ...] = ()

    def __post_init__(self) -> None:
        if self.unit % 2 or not 0 < self.unit <= LARGEST_UNIT or self.clip < 1:
            raise ValueError("The unit of gradients is even and at most 4096; clip levels are positive.")
        if self.largest > LARGEST_SCORE:
            raise ValueError("Scores would become too large to be added up.")

    @property
    def loss(self) -> str:
        """What the gradients are of."""
        return SQUARED if self.n_classes is None else LOGISTIC if self.n_classes == 2 else SOFTMAX

    @property
    def n_outputs(self) -> int:
        """Scores of a row."""
        return self.n_classes if self.n_classes is not None and self.n_classes != 2 else 1

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shape of tables by (feature, cell, output)."""
        return len(self.grid.n_cells), max(self.grid.n_cells), self.n_outputs

    def plus_constant(self, scores: Ints) -> Scores:
        """Add the same to the scores of all rows."""
        return self._then(AddConstant(scores), int(np.abs(scores).max()), scores.shape == (self.n_outputs,))

    def plus_table(self, table: NDArray[np.int32]) -> Scores:
        """Add ``table[feature, cell, output]``, summed over features."""
        more = int(np.abs(table.astype(np.int64)).max(axis=(1, 2)).sum())
        return self._then(AddTable(table), more, table.shape == self.shape and table.dtype == np.int32)

    def clipped_at(self, clip: int) -> Scores:
        """Set the residual, in units of the target, beyond which residuals of numbers are clipped."""
        return replace(self, clip=clip)

    def new_tree(self, columns: Columns) -> Scores:
        """Put all rows into the root of a tree that may cut some columns."""
        n_pairs = len(columns.pairs.columns)
        sizes = columns.codes.max(axis=1).astype(np.int64) + 1
        fits = columns.codes.shape == self.shape[:2] == columns.pairs.scales.shape
        fits = fits and len(columns.n_codes) == len(columns.by_code) == len(sizes) + n_pairs
        fits = fits and bool((sizes <= columns.n_codes[: len(sizes)]).all())
        fits = fits and bool((columns.n_codes[len(sizes) :] >= columns.pairs.n_codes).all())
        fits = fits and int(columns.n_codes.max()) <= 256
        return replace(self._then(BeginTree(columns), 0, fits), columns=columns, n_nodes=1)

    def split(self, column: Ints, cut: Ints) -> Scores:
        """Send the rows of every node to its children."""
        columns = self.columns
        fits = columns is not None and len(column) == len(cut) == self.n_nodes <= MOST_NODES // 2
        if columns is None or not fits or column.min() < 0 or column.max() >= len(columns.n_codes):
            raise ValueError("Every node needs a cut of a column.")
        lowest = np.where(columns.by_code[column], cut, 0).astype(np.uint8)
        step = SplitNodes(column.astype(np.int64), lowest, cut.astype(np.uint8))
        return replace(self._then(step, 0, True), n_nodes=2 * self.n_nodes)

    def plus_values(self, values: NDArray[np.int32]) -> Scores:
        """Add the value of its node to the scores of every row."""
        more = int(np.abs(values.astype(np.int64)).max())
        return self._then(AddValues(values), more, values.shape == (self.n_nodes, self.n_outputs))

    def _then(self, step: Step, more: int, fits: bool) -> Scores:
        """Append a step that moves no score by more than `more`, which is public: all of it is released."""
        if not fits:
            raise ValueError("What is added to scores does not fit the rows.")
        return replace(self, largest=self.largest + more, steps=(*self.steps, step))

    def run(self, block: Block) -> ScoredBlock:
        """Take all steps; a block that remembers goes on from where it was.

        A step is made once and appended to one program, so the last step that was taken tells all before it.
        """
        kept: tuple[int, Step | None, ScoredBlock] | None = (block.kept or {}).get("scored")
        if kept is None or (
            kept[0] and (kept[0] > len(self.steps) or self.steps[kept[0] - 1] is not kept[1])
        ):
            kept = 0, None, ScoredBlock(block, self)
        rows = kept[2]
        for step in self.steps[kept[0] :]:
            step.take(rows)
        if block.kept is not None:
            block.kept["scored"] = len(self.steps), self.steps[-1] if self.steps else None, rows
        return rows

    def gradients(self, rows: ScoredBlock) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
        """Gradient of every row, at most `unit` long, and half its Hessian, at most half as long."""
        from dpforest._rows import _gradients

        out = rows.g, rows.h
        if rows.clip == self.clip:
            return out
        if self.loss == SQUARED:
            _gradients.squared(rows.scores, rows.target, self.clip, self.unit, *out)
        elif self.loss == LOGISTIC:
            _gradients.logistic(rows.scores, rows.target, _SHIFT, _HALF, *logistic_tables(self.unit), *out)
        else:
            _gradients.softmax(rows.scores, rows.target, *_softmax_constants(self.unit), *out)
        rows.clip = self.clip
        return out


def clip_and_curvature(loss: str) -> tuple[float, float]:
    """Length of a gradient and size of a Hessian that stand for 1, in the units of scores.

    For numbers the clip level is set by `Scores.clipped_at`, in the units of the target.
    """
    return _LONGEST_GRADIENT.get(loss, 1.0), _TYPICAL_CURVATURE.get(loss, 1.0)


@lru_cache(maxsize=4)
def logistic_tables(unit: int) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
    """Clipped gradients by (class, place of the score) and half Hessians by place, in whole units.

    Both end in a clip of integers, so their lengths are bounded whatever the doubles before were: gradients
    by `unit`, half Hessians by half of it.
    """
    places = (np.arange(2 * _HALF) - _HALF + 0.5) * 2.0**-_STEP_BITS
    share = 1 / (1 + np.exp(-places))
    slopes = np.stack([share, share - 1]) / _LONGEST_GRADIENT[LOGISTIC]
    bends = np.maximum(share * (1 - share), _LEAST_CURVATURE[LOGISTIC]) / _TYPICAL_CURVATURE[LOGISTIC]
    whole = np.clip(np.rint(slopes * unit), -unit, unit), np.clip(np.rint(bends * unit / 2), 0, unit // 2)
    return whole[0].astype(np.int16), whole[1].astype(np.int16)


@lru_cache(maxsize=4)
def _softmax_constants(unit: int) -> tuple[Any, ...]:
    powers = np.rint(2**24 * np.exp(-np.arange(_HALF) * 2.0**-_STEP_BITS)).astype(np.int64)
    lengths = _LONGEST_GRADIENT[SOFTMAX] * _ONE, _TYPICAL_CURVATURE[SOFTMAX] * _ONE
    return _SHIFT, powers, _ONE, lengths[0], int(_LEAST_CURVATURE[SOFTMAX] * _ONE), lengths[1], unit
