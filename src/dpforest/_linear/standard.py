"""Ordered features on a common scale: a bounded, public function of each cell.

Centres and spreads are released in two joint questions, each of one sum per feature. The scale is a tanh of
the distance to the centre, so that no row adds more than 1 to any sum however far out it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpforest._arrays import FloatArray
from dpforest._curator import FROM_PUBLIC_ROWS, MAX_PER_ROW, Block, Curator, Expected
from dpforest.privacy import Kind, Query
from dpforest.schema import Schema
from dpforest.schema.public_rows import PublicRows

STEEPNESS = 0.7  # of the tanh, at one mean absolute deviation
LEAST_SPREAD = 0.02  # of half the public range
_EXACT = 1e3  # times epsilon: where there is no noise


def told_epsilon(curator: Curator, pool: str, share: Fraction) -> float:
    """Epsilon of a share as formulas take it that weigh noise: far more where answers have none."""
    return float(curator.ledger.plan.amount(pool) * share) * (_EXACT if curator.is_noiseless else 1.0)


def units(n_sums: int, epsilon: float) -> int:
    """Integer units that stand for 1: fine enough for rounding and for the noise to be drawn quickly.

    No finer than sums of the largest table have room for.

    Examples
    --------
    >>> units(20, 1.0), units(5000, 1.0)
    (256, 4096)
    """
    return min(int(2 ** math.ceil(math.log2(max(256.0, n_sums * epsilon / 2)))), MAX_PER_ROW)


def product_units(n_features: int, epsilon: float) -> int:
    """Return the units that stand for 1 where two scales are multiplied.

    Examples
    --------
    >>> product_units(10, 1.0)
    256
    """
    return max(256, math.isqrt(units(n_features * (n_features + 1) // 2, epsilon)))


def whole_units(values: NDArray[np.float64], one: int) -> NDArray[np.int64]:
    """Cut values to whole units towards zero, so that no bound is exceeded, as a block of one coordinate."""
    whole: NDArray[np.int64] = np.trunc(values * one).astype(np.int64)[:, None]
    return whole


def ordered_features(schema: Schema) -> list[int]:
    """Features that have an order; two categories are as good as one."""
    features = enumerate(schema.features.values())
    return [at for at, f in features if not f.is_nominal or schema.n_cells[at] == 4]


class Standard(NamedTuple):
    """Released centres and spreads of ordered features, on the public range from -1 to 1.

    `noise` is the standard deviation of that in the centres; `shares` are those of the cells of all features,
    if these are known.
    """

    features: list[int]
    centre: FloatArray
    spread: FloatArray
    noise: float = 0.0
    shares: Sequence[FloatArray] = ()

    @classmethod
    def unknown(cls) -> Standard:
        """Nothing is known of any feature."""
        return cls([], np.empty(0), np.empty(0))

    def scales(self, schema: Schema) -> list[FloatArray]:
        """Values between -1 and 1 of every cell of the features; missing and unknown values are 0."""
        return [
            np.append(
                np.tanh(STEEPNESS * (places(int(schema.n_cells[at]))[:-2] - centre) / spread), [0.0, 0.0]
            )
            for at, centre, spread in zip(self.features, self.centre, self.spread, strict=True)
        ]

    def expected(self, schema: Schema) -> Expected:
        """Where rows are to be expected, of every column.

        Where shares are not known, as if values followed a logistic law of this centre and spread, and the
        two features of a combination did not hang together.
        """
        wide = np.hypot(self.spread, self.noise)
        known = dict(zip(self.features, zip(self.centre, wide, strict=True), strict=True))
        found = [self._law(int(schema.n_cells[at]), known.get(at)) for at in range(schema.n_features)]
        if self.shares:
            found = [None if law is None else own for law, own in zip(found, self.shares, strict=True)]
        at_of = {name: at for at, name in enumerate(schema.features)}
        for column, combined in enumerate(schema.combinations, schema.n_features):
            first, second = known.get(at_of[combined.first]), known.get(at_of[combined.second])
            both = None
            if first is not None and second is not None:
                both = (first[0] + combined.sign * second[0]) / 2, math.hypot(first[1], second[1]) / 2
            found.append(self._law(int(schema.n_cells[column]), both))
        is_public = bool(self.shares) and any(law is not None for law in found)
        return Expected(tuple(found), FROM_PUBLIC_ROWS if is_public else "")

    @staticmethod
    def _law(n_cells: int, of_column: tuple[float, float] | None) -> FloatArray | None:
        if of_column is None or n_cells <= 4:
            return None
        centre, spread = of_column
        ends = np.linspace(-1, 1, n_cells - 1)  # of the cells, without missing and other
        mass = np.diff(np.tanh(STEEPNESS * (ends - centre) / spread))
        return np.append(mass / max(float(mass.sum()), 1e-12), [0.0, 0.0])


def standards(
    curator: Curator,
    pool: str,
    share: Fraction,
    rows: float,
    public: PublicRows | None = None,
) -> Standard:
    """Release centre and spread of every ordered feature.

    Parameters
    ----------
    curator : Curator
        Owner of the rows.
    pool : str
        Pool of the budget plan to spend.
    share : Fraction
        Part of it, half for the centres and half for the spreads.
    rows : float
        Released number of rows.
    public : PublicRows, optional
        Rows that tell centres and spreads instead; nothing is asked then.
    """
    features = ordered_features(curator.schema)
    if not features:
        return Standard.unknown()
    if public is not None:
        told = np.array([_of_public(public.shares[feature]) for feature in features])
        return Standard(features, told[:, 0], told[:, 1], shares=public.shares)
    one = units(len(features), float(curator.ledger.plan.amount(pool) * share))
    of_cells = [places(int(curator.schema.n_cells[feature])) for feature in features]

    def means(values: list[NDArray[np.float64]], kind: Kind) -> tuple[NDArray[np.float64], float]:
        blocks = [
            Block(feature, whole_units(value, one)) for feature, value in zip(features, values, strict=True)
        ]
        sums, variance = curator.lookup_sums(pool, share / 2, Query(kind), blocks, one, by_class=False)
        return sums[0] / (one * rows), math.sqrt(variance[0]) / (one * rows)

    asked, unsure = means(of_cells, Kind.CENTRES)
    centre = np.clip(_drawn_together(asked, unsure), -1, 1)
    # distances lie between 0 and 2; less 1 they are as small as can be
    away = [np.abs(place - c) - 1 for place, c in zip(of_cells, centre, strict=True)]
    spread, noise = means(away, Kind.SPREADS)
    surest = noise / math.sqrt(len(features))  # noise of their mean, to which they are drawn
    spread = np.maximum(_drawn_together(spread, noise) + 1, max(LEAST_SPREAD, surest))
    return Standard(features, centre, spread, unsure)


def _drawn_together(values: NDArray[np.float64], noise: float) -> NDArray[np.float64]:
    """Draw noisy values towards their mean, as far as noise explains how they differ."""
    mean = values.mean()
    differ = max(float(((values - mean) ** 2).mean()) - noise**2, 0.0)
    drawn: NDArray[np.float64] = mean + differ / max(differ + noise**2, 1e-12) * (values - mean)
    return drawn


def _of_public(shares: FloatArray) -> tuple[float, float]:
    """Centre and spread of a feature whose spread over its cells is known."""
    of_cells = places(len(shares))
    known = shares[:-2] / max(float(shares[:-2].sum()), 1e-12)
    centre = float(known @ of_cells[:-2])
    spread = float(known @ np.abs(of_cells[:-2] - centre))
    return centre, max(spread, LEAST_SPREAD)


def public_scales(schema: Schema, public: PublicRows) -> dict[int, FloatArray]:
    """Scales of the ordered features that public rows tell."""
    features = ordered_features(schema)
    told = np.array([_of_public(public.shares[at]) for at in features]).reshape(-1, 2)
    return dict(zip(features, Standard(features, told[:, 0], told[:, 1]).scales(schema), strict=True))


def places(n_cells: int) -> NDArray[np.float64]:
    """Middle of every cell on the public range, from -1 to 1; the last two cells, missing and other, at 0."""
    n_grid = n_cells - 2
    return np.append((2 * np.arange(n_grid) + 1) / n_grid - 1, [0.0, 0.0])
