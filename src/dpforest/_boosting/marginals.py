"""Marginals: how the rows spread over the cells of every feature, from two queries of noisy counts.

The first counts groups of cells of equal width, the second groups of about equal mass. Noise is taken
out from the top down: how a group divides into two is drawn to what was expected before as far as noise
explains the difference (the Haar wavelet with known noise).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpforest._boosting.budget import POOL, Purse
from dpforest._curator import Curator
from dpforest.privacy import Kind, Query
from dpforest.schema import Schema

FEWEST_GROUPS, MOST_GROUPS = 8, 64
REACHABLE = 0.02  # of the mass is spread evenly, so that every cell stays reachable

Floats = NDArray[np.float64]


class Marginals(NamedTuple):
    """Released marginals.

    Parameters
    ----------
    shares : list of ndarray
        For every feature, the share of the rows in each cell. The last two cells are missing and other.
    rows : float
        Number of rows, pooled from all that tells it.
    """

    shares: list[Floats]
    rows: float


def n_groups(rows: float, noise_sd: float) -> int:
    """Return how many groups stand out of the noise: 8 to 64, a power of two.

    Examples
    --------
    >>> n_groups(10_000, 1000.0), n_groups(1000, 1000.0)
    (16, 8)
    """
    wanted = max((0.4 * rows / noise_sd) ** 2, 1.0)
    lowest, highest = math.log2(FEWEST_GROUPS), math.log2(MOST_GROUPS)
    return int(2 ** min(max(round(math.log2(wanted)), lowest), highest))


def denoised(counts: Floats, expected: Floats, noise_sd: float) -> Floats:
    """Take noise out of counts: divide their total from the top down, nearly as expected or as counted.

    Parameters
    ----------
    counts : ndarray of shape (n_groups,)
        Noisy counts.
    expected : ndarray of shape (n_groups,)
        What they are drawn to, up to a factor.
    noise_sd : float
        Standard deviation of the noise.

    Examples
    --------
    >>> denoised(np.array([900.0, 100.0]), np.ones(2), 1.0).round()
    array([900., 100.])
    >>> denoised(np.array([60.0, -20.0]), np.ones(2), 400.0).round()
    array([20., 20.])
    """
    size = 2 ** math.ceil(math.log2(max(len(counts), 2)))
    heard, wanted, width = np.zeros(size), np.zeros(size), np.zeros(size)
    heard[: len(counts)], wanted[: len(counts)], width[: len(counts)] = counts, expected, 1.0
    out = np.array([max(float(counts.sum()), 1.0)])
    while len(out) < size:
        split = (len(out), 2, size // len(out) // 2)
        seen, before, groups = (part.reshape(split).sum(axis=2) for part in (heard, wanted, width))
        total = before.sum(axis=1)
        left = np.where(total > 0, before[:, 0] / np.where(total > 0, total, 1.0), 1.0)
        away = seen[:, 0] - left * seen.sum(axis=1)
        noise = noise_sd**2 * (groups[:, 0] * (1 - left) ** 2 + groups[:, 1] * left**2)
        prior = (out * left * (1 - left)) ** 2
        kept = np.where(prior > 0, prior / np.where(prior > 0, prior + noise, 1.0), 0.0)
        of_left = np.clip(out * left + kept * away, 0.0, out)
        out = np.stack([of_left, out - of_left], axis=1).ravel()
    positive: Floats = np.maximum(out[: len(counts)], 1e-9)
    return positive


def ask_marginals(curator: Curator, purse: Purse, share: float, rows: float, rows_sd: float) -> Marginals:
    """Ask twice how the rows spread over every feature.

    Parameters
    ----------
    curator : Curator
        Owner of the rows.
    purse : Purse
        Pays.
    share : float
        Part of the pool, half for each query.
    rows, rows_sd : float
        Released number of rows and the noise of it.
    """
    schema = curator.schema
    shares = purse.take(share / 2), purse.take(share / 2)
    size = n_groups(rows, math.sqrt(schema.n_features) * purse.noise(share / 2))
    told = [(rows, rows_sd**2)]  # everything that tells the number of rows, with its variance
    even = [_even_groups(schema, at, size) for at in range(schema.n_features)]
    first, sd = _ask(curator, shares[0], even, told, "of equal width")
    before = [_cell_shares(counts, group, None, sd) for counts, group in zip(first, even, strict=True)]
    equal = [
        group if schema.nominal[at] else _equal_groups(shares, size)
        for at, (group, shares) in enumerate(zip(even, before, strict=True))
    ]
    second, sd_second = _ask(curator, shares[1], equal, told, "of equal mass")
    found = []
    for at in range(schema.n_features):
        if schema.nominal[at]:
            counts = (first[at] / sd**2 + second[at] / sd_second**2) / (1 / sd**2 + 1 / sd_second**2)
            counts = np.maximum(counts, 0.0)
            found.append(counts / max(float(counts.sum()), 1.0))
        else:
            found.append(_cell_shares(second[at], equal[at], before[at], sd_second))
    weights = np.array([1 / variance for _, variance in told])
    pooled = float(weights @ [count for count, _ in told] / weights.sum())
    return Marginals(found, max(pooled, 10.0))


def _ask(
    curator: Curator,
    share: Fraction,
    groups: list[NDArray[np.intp]],
    told: list[tuple[float, float]],
    which: str,
) -> tuple[list[Floats], float]:
    counts, sd = curator.marginals(POOL, share, groups, Query(Kind.MARGINALS, f"in groups {which}"))
    told += [(float(count.sum()), len(count) * sd**2) for count in counts]
    return counts, sd


def _even_groups(schema: Schema, at: int, size: int) -> NDArray[np.intp]:
    """Give every cell a group: its own if nominal, else `size` of equal width, missing and other."""
    n_cells = int(schema.n_cells[at])
    if schema.nominal[at]:
        return np.arange(n_cells)
    known = n_cells - 2
    used = min(size, known)
    return np.concatenate([np.arange(known) * used // known, [used, used + 1]])


def _equal_groups(shares: Floats, size: int) -> NDArray[np.intp]:
    """Give every cell a group, `size` of about equal mass; cells with more than that have their own."""
    known = len(shares) - 2
    mass = np.concatenate([[0.0], np.cumsum(shares[:-2])])
    even = np.linspace(0, 1, known + 1)
    mass = (1 - REACHABLE) * mass / max(float(mass[-1]), 1e-12) + REACHABLE * even
    borders = np.unique(
        np.rint(np.interp(np.linspace(0, 1, size + 1)[1:-1], mass, even * known)).astype(np.intp)
    )
    inner = borders[(borders > 0) & (borders < known)]
    group = np.searchsorted(inner, np.arange(known), side="right")
    return np.concatenate([group, [len(inner) + 1, len(inner) + 2]])


def _cell_shares(counts: Floats, group: NDArray[np.intp], before: Floats | None, sd: float) -> Floats:
    """Spread the mass of each group of an ordered feature evenly over its cells."""
    n_known = len(group) - 2
    width = np.bincount(group[:n_known], minlength=len(counts) - 2).astype(np.float64)
    expected = width
    if before is not None:
        expected = np.bincount(group[:n_known], before[:n_known], len(counts) - 2).astype(np.float64)
    known = denoised(counts[:-2], expected, sd)
    unknown = np.where(counts[-2:] > 2 * sd, counts[-2:], 0.0)  # most columns have none
    cells = np.concatenate([(known / width)[group[:n_known]], unknown])
    return cells / float(cells.sum())
