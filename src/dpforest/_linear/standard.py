"""Ordered features on a common scale: a bounded, public function of each cell.

Centres and spreads are released in two joint questions, each of one sum per feature. The scale is a tanh of
the distance to the centre, so that no row adds more than 1 to any sum however far out it is.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpforest._curator import MAX_PER_ROW, Block, Curator
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


def standard_scales(
    curator: Curator,
    pool: str,
    share: Fraction,
    features: list[int],
    rows: float,
    public: PublicRows | None = None,
) -> list[NDArray[np.float64]]:
    """Values between -1 and 1 of every cell of the given features; missing and unknown values are 0.

    Parameters
    ----------
    curator : Curator
        Owner of the rows.
    pool : str
        Pool of the budget plan to spend.
    share : Fraction
        Part of it, half for the centres and half for the spreads.
    features : list of int
        Ordered features.
    rows : float
        Released number of rows.
    public : PublicRows, optional
        Rows that tell centres and spreads instead; nothing is asked then.
    """
    if public is not None:
        return [public_scale(public.shares[feature]) for feature in features]
    one = units(len(features), float(curator.ledger.plan.amount(pool) * share))
    of_cells = [places(int(curator.schema.n_cells[feature])) for feature in features]

    def means(values: list[NDArray[np.float64]], kind: Kind) -> tuple[NDArray[np.float64], float]:
        blocks = [
            Block(feature, whole_units(value, one)) for feature, value in zip(features, values, strict=True)
        ]
        sums, variance = curator.lookup_sums(pool, share / 2, Query(kind), blocks, one, by_class=False)
        return sums[0] / (one * rows), math.sqrt(variance[0]) / (one * rows)

    centre = np.clip(_drawn_together(*means(of_cells, Kind.CENTRES)), -1, 1)
    # distances lie between 0 and 2; less 1 they are as small as can be
    away = [np.abs(place - c) - 1 for place, c in zip(of_cells, centre, strict=True)]
    spread, noise = means(away, Kind.SPREADS)
    surest = noise / math.sqrt(len(features))  # noise of their mean, to which they are drawn
    spread = np.maximum(_drawn_together(spread, noise) + 1, max(LEAST_SPREAD, surest))
    return [_scale(place, c, s) for place, c, s in zip(of_cells, centre, spread, strict=True)]


def _drawn_together(values: NDArray[np.float64], noise: float) -> NDArray[np.float64]:
    """Draw noisy values towards their mean, as far as noise explains how they differ."""
    mean = values.mean()
    differ = max(float(((values - mean) ** 2).mean()) - noise**2, 0.0)
    drawn: NDArray[np.float64] = mean + differ / max(differ + noise**2, 1e-12) * (values - mean)
    return drawn


def _scale(of_cells: NDArray[np.float64], centre: float, spread: float) -> NDArray[np.float64]:
    return np.append(np.tanh(STEEPNESS * (of_cells[:-2] - centre) / spread), [0.0, 0.0])


def public_scale(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale of a feature whose spread over its cells is known."""
    of_cells = places(len(shares))
    known = shares[:-2] / max(float(shares[:-2].sum()), 1e-12)
    centre = float(known @ of_cells[:-2])
    spread = float(known @ np.abs(of_cells[:-2] - centre))
    return _scale(of_cells, centre, max(spread, LEAST_SPREAD))


def places(n_cells: int) -> NDArray[np.float64]:
    """Middle of every cell on the public range, from -1 to 1; the last two cells, missing and other, at 0."""
    n_grid = n_cells - 2
    return np.append((2 * np.arange(n_grid) + 1) / n_grid - 1, [0.0, 0.0])
