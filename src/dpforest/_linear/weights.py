"""How much each part of an additive predictor is to count, from one released matrix of products.

Parts that were learnt one feature at a time say the same thing several times where features hang together:
without weights their sum can be far worse than nothing. The question is about few numbers, so its answer is
clear where those about single features were not. It also tells how much of the target the parts explain:
whether they are worth keeping.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from dpforest._arrays import FloatArray
from dpforest._curator import PART_UNIT, Curator
from dpforest._linear.additive import Centre
from dpforest.privacy import Kind, Query

ONE = 256  # units that stand for 1: rounding is then far below the noise, and rates can be represented
PRIOR_WEIGHT, PRIOR_ALONE, PRIOR_SD = (
    0.6,
    0.8,
    0.4,
)  # of a part among others or alone; study, see `guided_config`
LARGEST_WEIGHT = 1.3  # study
_REACH = 2.0  # standard deviations of a part, as far as its largest values tell, at which it is cut off
_LEAST_EIGENVALUE = 1e-4


class Weighed(NamedTuple):
    """Weights of the parts, and what they explain together: mean squares in units of the target's reach."""

    weights: FloatArray
    explained: float
    noise_sd: float  # of `explained`
    total: float  # mean square of the target

    @property
    def r2(self) -> float:
        """Share of the target's mean square that the parts explain."""
        return self.explained / self.total


def part_bound(part: FloatArray) -> float:
    """Where a part is cut off when it is weighed; a smaller bound means less noise.

    Two standard deviations if features were independent and uniform, and half of the largest sum, because
    they may hang together; at most the largest sum, and at most 1.

    Examples
    --------
    >>> part_bound(np.array([[-0.1, 0.2], [0.0, 0.0]])), round(part_bound(np.full((12, 2), 0.1)), 6)
    (0.2, 0.6)
    """
    largest = np.abs(part).max(axis=1)
    by_spread = _REACH * math.sqrt(float((largest**2).sum()) / 3)
    together = float(largest.sum())
    return max(min(1.0, max(by_spread, together / 2), together), 1e-9)


def weigh_parts(
    curator: Curator,
    pool: str,
    share: Fraction,
    rows: float,
    centre: Centre,
    parts: list[FloatArray],
    detail: str = "",
) -> Weighed:
    """Ask for the products of all parts and of the target, and weigh the parts.

    Parameters
    ----------
    curator : Curator
        Owner of the rows.
    pool : str
        Pool of the budget plan to spend.
    share : Fraction
        Part of it.
    rows : float
        Released number of rows.
    centre : Centre
        Where the target's zero is.
    parts : list of ndarray of shape (n_features, n_cells)
        In units of the target's reach.
    detail : str
        What is said of the products on the ledger.
    """
    bounds = np.array([part_bound(part) for part in parts])
    scaled = np.stack(parts) / bounds[:, None, None]
    tables = np.rint(scaled * (ONE * PART_UNIT)).astype(np.int64)
    query = Query(Kind.PART_PRODUCTS, detail)
    sums, variance = curator.part_products(pool, share, query, tables, ONE, centre.zero)
    sd = math.sqrt(variance[0, 0]) / (ONE**2 * rows)
    return solve_weights(sums / (ONE**2 * rows), sd, bounds, rows)


def solve_weights(products: FloatArray, noise_sd: float, bounds: FloatArray, rows: float) -> Weighed:
    """Weigh parts by noisy mean products.

    Posterior mean of the coefficients: what the products say, against weights of 0.6 +- 0.4 before (0.8 for a
    part that is alone).

    Parameters
    ----------
    products : ndarray of shape (n_parts + 1, n_parts + 1)
        Of the parts, each in units of its bound, and of the target, which is last.
    noise_sd : float
        Standard deviation of their noise.
    bounds : ndarray of shape (n_parts,)
        Bounds of the parts.
    rows : float
        Released number of rows.

    Examples
    --------
    >>> products = np.array([[0.25, 0.2], [0.2, 0.5]])  # part and target, bound 1
    >>> found = solve_weights(products, 1e-6, np.ones(1), 1e9)
    >>> found.weights.round(3), round(found.explained, 3), round(found.r2, 3)
    (array([0.8]), 0.16, 0.32)
    """
    values, vectors = np.linalg.eigh(products[:-1, :-1])
    among = vectors * np.maximum(values, _LEAST_EIGENVALUE) @ vectors.T
    with_target, total = products[:-1, -1], max(float(products[-1, -1]), 1e-3)
    before = (PRIOR_ALONE if len(bounds) == 1 else PRIOR_WEIGHT) * bounds
    precision = 1 / (PRIOR_SD * bounds) ** 2
    noise = noise_sd**2 * (1 + float((before**2).sum())) + 0.01 / rows  # and a little for the drawing of rows
    told = among @ among / noise + np.diag(precision)
    solved = np.linalg.solve(told, among @ with_target / noise + precision * before)
    weights = np.clip(solved / bounds, 0.0, LARGEST_WEIGHT)
    a = weights * bounds
    explained = float(2 * a @ with_target - a @ among @ a)
    spread = noise_sd * math.sqrt(float(4 * (a**2).sum() + (np.outer(a, a) ** 2).sum()))
    return Weighed(weights, explained, spread, total)
