"""What is left of a numeric target while a model is built, and of the budget that pays for it.

Everything that a model learns is subtracted from the rows' targets; private quantiles then say between which
bounds what is left lies, so that noise is in proportion to it and not to the public bounds.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest._curator import Curator
from dpforest._linear import Centre
from dpforest.forests.foresight import choose
from dpforest.forests.guided_config import NumberConfig
from dpforest.mechanisms import quantile_range
from dpforest.privacy import Kind, Query

OUT_OF = 10_000  # rows, of which a clip bound leaves out some
_HEAVIEST = 2**20  # base weight of a level, before it is divided by its distance


class ResidualTarget:
    """The target of one training, in levels of the schema.

    Parameters
    ----------
    curator : Curator
        Owner of the rows.
    config : NumberConfig
        Constants.
    rows, epsilon : float
        Released number of rows; epsilon as formulas take it.
    """

    def __init__(self, curator: Curator, config: NumberConfig, rows: float, epsilon: float) -> None:
        self.curator, self.config = curator, config
        self.rows, self.enough = rows, rows * epsilon
        self.levels = curator.schema.range.levels
        self.span = 0.0, float(self.levels)
        self.left = Fraction(1)  # of the model's budget

    @property
    def width(self) -> float:
        """What one level of the present target stands for."""
        return (self.span[1] - self.span[0]) / self.levels

    @property
    def centre(self) -> Centre:
        """Where the zero of the present target is, and the largest distance to it."""
        zero = min(max(round(-self.span[0] / self.width), 0), self.levels)
        return Centre(zero, max(zero, self.levels - zero))

    @property
    def unit(self) -> float:
        """What the reach of the present target stands for, in levels of the schema."""
        return self.centre.reach * self.width

    def centre_on(self, mean: float) -> float:
        """Clip the target to where it lies around its released mean, and subtract that; return it."""
        least, clipping = self._least_to_clip(), self.config.clipping
        if least <= self.config.most_for_clipping:
            self._clip(max(clipping, least), mean)
        constant = min(max(mean, self.span[0]), self.span[1])
        self.span = self.span[0] - constant, self.span[1] - constant
        self.curator.subtract(*self.span, constant=constant)
        return constant

    def subtract(self, **released: Any) -> None:
        """Subtract released values, as `Curator.subtract` takes them."""
        self.curator.subtract(*self.span, **released)

    def clip_again(self, detail: str) -> None:
        """Clip what is left to where it lies around 0, if that can be told for a fifth of the budget left."""
        least = self._least_to_clip() / self.left
        if least <= self.config.most_for_clipping:
            self._clip(self.left * max(self.config.residual_clipping, least), 0.0, detail)
            self.curator.subtract(*self.span)

    def clip_for_tree(self, share: Fraction, tree: int) -> Fraction:
        """Clip what is left for a part of a tree's share, if that is enough; return what was spent."""
        clipping = share * self.config.residual_clipping
        if clipping < self._least_to_clip() or not self._clip(clipping, 0.0, tree=tree):
            return Fraction(0)
        self.curator.subtract(*self.span)
        return clipping

    def _least_to_clip(self) -> Fraction:
        """Part of the model's budget with which private quantiles miss few rows."""
        config = self.config
        return Fraction(math.ceil(20_000 * config.tail / (config.most_clipped * self.enough)), 10_000)

    def _clip(self, share: Fraction, around: float, detail: str = "", tree: int | None = None) -> bool:
        """Move to private quantiles within the present span; tell whether they could be asked for.

        They leave out, at either end, as many rows as the mechanism may miss them by. Levels far from the
        middle weigh less, in inverse proportion to their distance (a base measure of released values): the
        bounds are of unknown scale, and wide public bounds would otherwise outweigh the rows.
        """
        faintest = choose("model", share / 2, 1, quantile_range(OUT_OF - 1, OUT_OF))
        if not faintest.can_be_paid(self.curator.ledger.plan):
            return False
        few = max(math.ceil(self.config.tail / (self.enough * float(share / 2)) * OUT_OF), 1)
        base = base_around((around - self.span[0]) / self.width, self.levels, self.config.near_centre)
        low, high = (
            self.curator.target_quantile(
                "model", share / 2, Query(kind, detail, tree=tree), number, OUT_OF, base
            )
            for kind, number in ((Kind.LOWER_BOUND, few), (Kind.UPPER_BOUND, OUT_OF - few))
        )
        self.left -= share
        if high - low >= self.config.least_span * self.levels:
            first, width = self.span[0], self.width
            self.span = first + low * width, first + (high + 1) * width
        return True


def base_around(centre: float, levels: int, near: int) -> NDArray[np.int64]:
    """Whole weights of the levels 0 to `levels`, in inverse proportion to the distance to a released centre.

    Examples
    --------
    >>> base_around(1.0, 4, 3).tolist()
    [262144, 349525, 262144, 209715, 174762]
    """
    distance = np.abs(np.arange(levels + 1) - centre)
    weights: NDArray[np.int64] = np.floor(_HEAVIEST / (near + distance)).astype(np.int64)
    return np.maximum(weights, 1)
