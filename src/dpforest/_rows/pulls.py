"""Tables for fitted scores (`dpforest._curator.fits`): sums of how hard rows pull at them.

A row's scores are sums over its features of released or tried numbers. Its pull is the derivative of its loss
by the scores; which losses there are is listed in `Loss`. All of them are convex, and no pull is longer than
`Loss.reach` (L1 norm), no second derivative larger than `Loss.bend` (trace).

How exact a pull is
-------------------
`pull_error` bounds the Euclidean distance of a computed pull from the true derivative at the scores that the
table adds up to. With u = 2**-53, one operation of IEEE 754 is off by at most u of its result.

* Numbers: what is wanted of a row is a double within `FARTHEST` = 8, by definition. A score within 1 of that
  is off by 9 u as a double, the difference by u; beyond, pulls are held at 1 on either side: 10 u.
* A power exp(-x): x = (whole number) * unit is off by u x, which moves exp(-x) by u x of it; a table entry by
  2 u; the series and the product by 15 u at most. Together (x + 17) u of it.
* Two classes: power / (1 + power) is off by (x + 20) u of it, and exp(-x) (x + 20) <= 20 for x >= 0: 20 u.
* K classes: every power is off by (x + 17) u of it; sums of K of them by K u more; shares and their product
  with the size by 4 u. Among the K shares of the others, whose squares sum to 1 at most, and the size itself,
  exp(-x) (x + c) <= c holds for each; together below 2 (K + 45) u, with the K 2**-64 for powers that are
  taken for 0.
* Rounding to whole multiples of 2**-50: at most 2**-51 for each of K numbers, so sqrt(K) 2**-51.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest._rows.residuals import Residual
from dpforest._rows.rows import Assignment, Block
from dpforest._rows.tables import _check_residual, _Spec, _target

PULL_BITS = 50
MOST_PULL = Fraction(3, 4)  # at the class of a row, of several: study
FARTHEST = 8.0  # targets of numbers are at most so many widths away from their centre
_LARGEST_POWER = 45
_WEIGHT = 64  # what the largest second derivative is in products


class Loss(Enum):
    """A convex loss of one row; scores of K classes, of the second of two classes, or of a number."""

    TWO_CLASSES = "two classes"
    SEVERAL_CLASSES = "several classes"
    NUMBERS = "numbers"

    @property
    def reach(self) -> Fraction:
        """L1 norm of the longest pull.

        Two classes: 1/2. Several: the class of the row is pulled by at most `MOST_PULL`, all others together
        by as much in the other direction. Numbers: 1.
        """
        reaches = {Loss.TWO_CLASSES: Fraction(1, 2), Loss.SEVERAL_CLASSES: 2 * MOST_PULL}
        return reaches.get(self, Fraction(1))

    def bend(self, n_outputs: int) -> Fraction:
        """Largest trace of the second derivative by the scores; it exists almost everywhere.

        Two classes: p (1 - p) <= 1/4. Numbers: 1. Several, K of them: let T be the log of the sum of
        exp(score) over the other classes, less the score of the row's own, t its share 1 - p_y and q the
        shares among the others. The loss is g(T) with g' = min(t, m), m = `MOST_PULL`. Where t < m its second
        derivative is t (1 - t) (q - e)(q - e)' + t (diag q - q q'), of trace 2 t - t**2 - t**2 |q|**2, where
        |q|**2 is at least 1 / (K - 1): largest at t = (K - 1) / K or, if that is beyond it, at m. Elsewhere
        it is m (diag q - q q'), of trace m (1 - |q|**2), which is less.
        """
        if self is Loss.SEVERAL_CLASSES:
            t = min(Fraction(n_outputs - 1, n_outputs), MOST_PULL)
            return 2 * t - t**2 * Fraction(n_outputs, n_outputs - 1)
        return Fraction(1, 4) if self is Loss.TWO_CLASSES else Fraction(1)

    def n_outputs(self, n_classes: int) -> int:
        """Scores of a row."""
        return n_classes if self is Loss.SEVERAL_CLASSES else 1


def pull_error(loss: Loss, n_outputs: int) -> float:
    """Return the bound on the error of a pull that is derived above."""
    u = 2.0**-53
    rounding = math.sqrt(n_outputs) * 2.0 ** -(PULL_BITS + 1)
    errors = {Loss.NUMBERS: 10 * u, Loss.TWO_CLASSES: 20 * u, Loss.SEVERAL_CLASSES: 2 * (n_outputs + 45) * u}
    return errors[loss] + rounding


@dataclass(frozen=True, eq=False)
class Pulls(_Spec):
    """Sums of the rows' pulls by (half, feature, cell, output); see `_pulls` for the halves.

    Parameters
    ----------
    loss : Loss
        Whose derivative.
    table : ndarray of int64, shape (n_features, n_cells, n_outputs)
        What every cell adds to the scores, in units of 2**-bits.
    bits : int
        Of these units.
    residual : Residual or None
        What the target of numbers is, if it is not the original one.
    zero, per_level : float
        The wanted score of a number y is (y - zero) per_level.
    sample : Assignment or None
        Rows that it puts in part 0 pull, and no others.
    """

    loss: Loss
    table: NDArray[np.int64]
    bits: int
    residual: Residual | None = None
    zero: float = 0.0
    per_level: float = 1.0
    sample: Assignment | None = None

    def __post_init__(self) -> None:
        _check_residual(self.residual, self.grid)
        n_features, width, _ = self.table.shape
        if n_features > len(self.grid.n_cells) or width < max(self.grid.n_cells[:n_features]):
            raise ValueError("Every cell of a feature needs a score.")
        if sum(int(np.abs(of_feature).max()) for of_feature in self.table) >= 2**62:
            raise ValueError("Scores would leave 64 bits.")

    @property
    def shape(self) -> tuple[int, ...]:
        """Halves by features by cells by outputs."""
        return 2, *self.table.shape

    def rows_of(self, block: Block) -> tuple[NDArray[Any], NDArray[np.int32]]:
        """Cells and targets of the rows of a block that pull."""
        target = _target(block, self.residual)
        if self.sample is None:
            return block.cells, target
        cells, taken = _sampled("pulling", self.sample, block, len(self.table))
        return cells, target[taken]

    def add(self, block: Block, out: NDArray[Any]) -> None:
        """Add the rows of a block."""
        from dpforest._rows import _pulls

        unit, (cells, target) = 2.0**-self.bits, self.rows_of(block)
        if self.loss is Loss.TWO_CLASSES:
            _pulls.two_classes(cells, target, self.table, unit, _powers(), out)
        elif self.loss is Loss.SEVERAL_CLASSES:
            n = self.table.shape[2]
            scratch = np.empty(n, np.int64), np.empty(n)
            _pulls.several_classes(
                cells, target, self.table, unit, _powers(), float(MOST_PULL), *scratch, out
            )
        else:
            how = unit, float(self.zero), float(self.per_level), FARTHEST
            _pulls.numbers(cells, target, self.table, *how, out)


@dataclass(frozen=True, eq=False)
class Bends(_Spec):
    """Products of any two coordinates of a sample of rows, weighted by how much their loss bends.

    What a search for the minimum is steered by; nothing of it is released. Below the diagonal only.
    """

    pulls: Pulls
    features: Sequence[int]
    values: Sequence[NDArray[np.int64]]
    sample: Assignment | None

    @property
    def shape(self) -> tuple[int, ...]:
        """Coordinates by coordinates."""
        return (sum(block.shape[1] for block in self.values),) * 2

    def add(self, block: Block, out: NDArray[Any]) -> None:
        """Add the rows of a block."""
        from dpforest._rows import _pulls

        cells, target = block.cells, _target(block, self.pulls.residual)
        if self.sample is not None:
            cells, taken = _sampled("steering", self.sample, block, len(self.pulls.table))
            target = target[taken]
        weight = np.rint(_WEIGHT * self._bends(cells, target)).astype(np.int64)
        widths = np.array([part.shape[1] for part in self.values], np.int64)
        starts = np.concatenate([[0], np.cumsum([part.size for part in self.values])[:-1]]).astype(np.int64)
        flat = np.concatenate([part.ravel() for part in self.values])
        scratch = np.empty(len(out), np.int64), np.empty(len(out), np.int64)
        features = np.array(self.features, np.int64)
        _pulls.products(cells, weight, features, starts, widths, flat, *scratch, out)

    def _bends(self, cells: NDArray[Any], target: NDArray[np.int32]) -> NDArray[np.float64]:
        """Second derivative of every row's loss, that of all classes together; rows without a target: 0."""
        pulls = self.pulls
        scores = np.zeros((len(cells), pulls.table.shape[2]))
        for feature, of_cell in enumerate(pulls.table):
            scores += of_cell[cells[:, feature]]
        scores *= 2.0**-pulls.bits
        if pulls.loss is Loss.NUMBERS:
            left = np.abs(scores[:, 0] - (target - pulls.zero) * pulls.per_level)
            return np.where((left <= 1) & (target >= 0), 1.0, 0.0)
        if pulls.loss is Loss.TWO_CLASSES:
            size = np.exp(-np.abs(scores[:, 0]))
            return np.where(target >= 0, size / (1 + size) ** 2, 0.0)
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        return np.where(target >= 0, 1 - (shares**2).sum(axis=1), 0.0)


def _sampled(
    name: str, sample: Assignment, block: Block, n_features: int
) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Cells of features of the rows that a sample puts in part 0, and their places in the block.

    Remembered between passes, of which there are many: drawing a sample and picking up its rows, which lie
    apart, takes longer than a pass over them.
    """

    def draw(sample: Assignment) -> NDArray[np.intp]:
        return np.flatnonzero(sample.of(block.first, len(block.cells)) == 0)

    taken = block.remember(name, sample, draw)
    cells = block.remember(
        f"{name} cells", sample, lambda _: np.ascontiguousarray(block.cells[taken, :n_features])
    )
    return cells, taken


@lru_cache(maxsize=1)
def _powers() -> NDArray[np.float64]:
    """exp(-step / STEPS), each within 2 units of its last place."""
    from dpforest._rows._pulls import STEPS

    return np.exp(-np.arange(_LARGEST_POWER * STEPS) / STEPS)
