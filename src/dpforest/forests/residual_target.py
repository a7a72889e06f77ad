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

from dpforest._curator import Curator, Wanted
from dpforest._structure import FlatTrees
from dpforest.forests.foresight import choose, count_leaves
from dpforest.forests.guided_config import NumberConfig
from dpforest.mechanisms import quantile_range
from dpforest.privacy import Kind, Query

OUT_OF = 10_000  # rows, of which a clip bound leaves out some
_HEAVIEST = 2**20  # base weight of a level at the centre


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
        self.distance = float(self.levels)  # to its median, of three quarters of the rows

    @property
    def width(self) -> float:
        """What one level of the present target stands for."""
        return (self.span[1] - self.span[0]) / self.levels

    @property
    def wanted(self) -> Wanted:
        """What a sum over features is to follow: the present target, from its zero, by the distance."""
        span = self.span[1] - self.span[0]
        width = max(self.distance + 0.5, self.config.least_width * span)
        return Wanted(-self.span[0] / self.width, min(width, span) / self.width)

    def centre_on(self, mean: float, mean_sd: float) -> float:
        """Clip the target to where it lies, and subtract its middle; return that.

        Public bounds are often far too wide. The median is found however wide they are, the distance within
        which three quarters of the rows lie from it says on which scale, and bounds follow from these.

        Parameters
        ----------
        mean, mean_sd : float
            Released mean between the public bounds and the standard deviation of its noise, in levels.
        """
        config = self.config
        median = self._median()
        if self.enough >= config.median_alone:
            self._bound(median)
        middle = float(median)
        if mean_sd <= config.surest_mean * (self.span[1] - self.span[0]):
            middle = mean
        elif self.enough >= config.enough_to_clip:
            middle = self._mean_between_bounds(middle)
        constant = min(max(middle, self.span[0]), self.span[1])
        self.span = self.span[0] - constant, self.span[1] - constant
        self.curator.subtract(*self.span, constant=constant)
        return constant

    def _median(self) -> int:
        config = self.config
        share = self._share(config.median_wanted, config.most_for_median)
        if self.enough < config.median_alone:
            share = config.for_median_alone
        self.left -= share
        return self.curator.target_quantile("model", share, Query(Kind.TARGET_MEDIAN), 1, 2)

    def _bound(self, median: int) -> None:
        """Move the span to where most of the rows lie."""
        config = self.config
        share = self._share(config.distance_wanted, config.most_for_distance)
        self.left -= share
        near = base_around(0.0, self.levels, config.near_centre, power=1)
        query = Query(Kind.TARGET_DISTANCE)
        distance = self.curator.target_quantile("model", share, query, 3, 4, near, around=median)
        self.distance = float(distance)
        low, high = 0.0, float(self.levels)
        if self.enough >= config.enough_to_clip:
            wanted = max(config.clipping, self._least_to_clip())
            found = self._quantiles(wanted, float(median), float(max(distance, config.near_centre)))
            if found is not None:
                # a target of few values has levels between them that clip one of these off for nothing
                low, high = min(found[0], median - distance - 1), max(found[1], median + distance + 1)
        elif distance:
            reach = config.stretch * (distance + 0.5)
            low, high = median - reach, median + reach
        self.span = max(low, 0.0), min(high, float(self.levels))

    def _mean_between_bounds(self, otherwise: float) -> float:
        """Release the mean again, now that bounds are narrower."""
        share = self._share(self.config.mean_wanted, self.config.most_for_mean)
        if not count_leaves(self.curator.schema, pool="model", share=share).can_be_paid(
            self.curator.ledger.plan
        ):
            return otherwise
        self.left -= share
        self.curator.subtract(*self.span)
        nothing, query = FlatTrees.unsplit(1, 0), Query(Kind.TARGET_MEAN, "between its bounds")
        released = self.curator.leaf_soft_histograms("model", nothing, share, query)
        first, second = released.values[0, 0].astype(np.float64)
        if first + second <= 0:
            return otherwise
        part = float(np.clip(first / (first + second), 0.0, 1.0))
        return self.span[0] + part * (self.span[1] - self.span[0])

    def _share(self, wanted: float, most: Fraction) -> Fraction:
        """Part of the model's budget that is worth `wanted` rows times epsilon."""
        part = Fraction(math.ceil(10_000 * wanted / self.enough), 10_000)
        return min(max(part, self.config.least_for_each), most)

    def subtract(self, **released: Any) -> None:
        """Subtract released values, as `Curator.subtract` takes them."""
        self.curator.subtract(*self.span, **released)

    def clip_again(self, detail: str) -> None:
        """Clip what is left to where it lies around 0, if that can be told for a fifth of the budget left."""
        least = self._least_to_clip() / self.left
        if least <= self.config.most_for_clipping:
            self._clip(self.left * max(self.config.residual_clipping, least), detail)
            self.curator.subtract(*self.span)

    def clip_for_tree(self, share: Fraction, tree: int) -> Fraction:
        """Clip what is left for a part of a tree's share, if that is enough; return what was spent."""
        clipping = share * self.config.residual_clipping
        if clipping < self._least_to_clip() or not self._clip(clipping, tree=tree):
            return Fraction(0)
        self.curator.subtract(*self.span)
        return clipping

    def _least_to_clip(self) -> Fraction:
        """Part of the model's budget with which private quantiles miss few rows."""
        config = self.config
        return Fraction(math.ceil(20_000 * config.tail / (config.most_clipped * self.enough)), 10_000)

    def _clip(self, share: Fraction, detail: str = "", tree: int | None = None) -> bool:
        """Move to private quantiles of what is left, if they can be asked for; tell whether they can."""
        scale = self.config.residual_scale * self.levels
        found = self._quantiles(share, -self.span[0] / self.width, scale, detail, tree)
        if found is None:
            return False
        low, high = found
        if high - low >= self.config.least_span * self.levels:
            first, width = self.span[0], self.width
            self.span = first + low * width, first + high * width
        return True

    def _quantiles(
        self, share: Fraction, centre: float, scale: float, detail: str = "", tree: int | None = None
    ) -> tuple[float, float] | None:
        """Release private quantiles near both ends, in levels of the present target.

        They leave out, at either end, as many rows as the mechanism may miss them by. Levels farther than
        `scale` from the middle weigh less, by the square of their distance (a base measure of released
        values): levels beyond all rows are many where bounds are wide, and would outweigh the rows.
        """
        faintest = choose("model", share / 2, 1, quantile_range(OUT_OF - 1, OUT_OF))
        if not faintest.can_be_paid(self.curator.ledger.plan):
            return None
        few = max(math.ceil(self.config.tail / (self.enough * float(share / 2)) * OUT_OF), 1)
        base = base_around(centre, self.levels, scale)
        low, high = (
            self.curator.target_quantile(
                "model", share / 2, Query(kind, detail, tree=tree), number, OUT_OF, base
            )
            for kind, number in ((Kind.LOWER_BOUND, few), (Kind.UPPER_BOUND, OUT_OF - few))
        )
        self.left -= share
        return float(low), float(high + 1)


def base_around(centre: float, levels: int, scale: float, power: int = 2) -> NDArray[np.int64]:
    """Whole weights of the levels 0 to `levels`: 1 / (1 + distance / scale)**power, of a released centre.

    Examples
    --------
    >>> base_around(1.0, 4, 3, power=1).tolist()
    [786432, 1048576, 786432, 629145, 524288]
    """
    distance = np.abs(np.arange(levels + 1) - centre)
    weights: NDArray[np.int64] = np.floor(_HEAVIEST / (1 + distance / scale) ** power).astype(np.int64)
    return np.maximum(weights, 1)
