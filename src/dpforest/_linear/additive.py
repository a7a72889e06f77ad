"""A sum over features that follows a numeric target, learnt from released sums.

What is released: centres and spreads of the ordered features; if there are rows enough, one matrix of
products of their standard scales u; the sums of (y - zero) P_k(u), with the Legendre polynomials P_1 to P_3;
for nominal features the rows and the summed targets of every category. From these follow, as
post-processing, up to three parts, each a value for every cell of every feature:

* lines: a ridge regression on the scales, in the eigenbasis of their products;
* curves: P_2 and P_3, each coefficient on its own, as if features did not hang together;
* categories: the mean of every category.

Everything noisy is drawn towards 0 (James and Stein). Features do hang together, so the parts may say the
same thing twice; how much each of them is to count is asked afterwards (`weights`).

Targets are measured from a released `zero` in units of `reach`, the largest distance to it: from -1 to 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from dpforest._arrays import FloatArray
from dpforest._curator import MAX_PER_ROW, Block, Curator
from dpforest._linear.discriminant import LEAST_EPSILON
from dpforest._linear.standard import (
    ordered_features,
    product_units,
    standard_scales,
    told_epsilon,
    units,
    whole_units,
)
from dpforest._shrinkage import shrunk_to_zero
from dpforest.privacy import Kind, Query
from dpforest.schema.public_rows import PublicRows

MOST_FOR_PRODUCTS = 128  # ordered features: of more, drawing noise for all products would take minutes
_SQUARES = 0.3, 0.2, 0.14  # mean square of P_1 to P_3 of a standard scale of a normal feature
_LEAST_EIGENVALUE = 0.003
_SAMPLING = 0.05  # variance of target times scale, and of targets in a category, for one row: guesses ...
_SAMPLING_OF_CATEGORY = 0.1  # ... that matter only where there is next to no noise


@dataclass(frozen=True)
class AdditiveConfig:
    """Constants of the additive part; see `dpforest.forests.guided_config` for what "study" means."""

    scaling: Fraction = Fraction(15, 100)  # of the budget of this part, for centres and spreads; study
    products: Fraction = Fraction(15, 100)  # of the rest, for products of the scales; study
    counting: Fraction = Fraction(15, 100)  # of what nominal features get, for the rows of categories; study
    loudest_products: float = 0.3  # noise of their eigenvalues above which they are not asked for; study
    enough_for_squares: float = 50  # rows times epsilon, per ordered feature, from which P_2 is asked for ...
    enough_for_cubes: float = 300  # ... and P_3; study
    unsure_lines: float = 0.7  # what a later round without products lets lines count


class Features(NamedTuple):
    """What a first round learnt about the features; a second one need not ask again."""

    scales: list[FloatArray]  # of the ordered features
    products: FloatArray | None  # mean products of the scales
    products_sd: float
    categories: dict[int, tuple[FloatArray, float]]  # rows of each category, and the variance of their noise


class Centre(NamedTuple):
    """From where and in which unit targets are measured, in levels of the target; released."""

    zero: int
    reach: int


def additive_parts(
    curator: Curator,
    pool: str,
    share: Fraction,
    rows: float,
    centre: Centre,
    config: AdditiveConfig,
    known: Features | None = None,
    detail: str = "",
    public: PublicRows | None = None,
) -> tuple[list[FloatArray], Features]:
    """Ask for sums and make parts of them, each of shape (n_features, n_cells), in units of the reach.

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
    config : AdditiveConfig
        Constants.
    known : Features, optional
        What an earlier round learnt.
    detail : str
        What is said of the sums on the ledger.
    public : PublicRows, optional
        Rows that tell all about the features; only sums of the target are asked for then.
    """
    schema = curator.schema
    ordered = ordered_features(schema)
    nominal = [at for at in range(schema.n_features) if at not in ordered]
    first = known is None
    if known is None and public is not None:
        known = public_features(public, ordered, nominal, rows, curator)
    elif known is None:
        known, share = _scales_and_products(curator, pool, share, rows, ordered, config)
    for_ordered = share * Fraction(len(ordered), schema.n_features)
    for_nominal = share - for_ordered
    parts = []
    if ordered:
        parts += _lines_and_curves(
            curator, pool, for_ordered, rows, centre, config, ordered, known, first, detail
        )
    if nominal:
        if not known.categories:
            counting = for_nominal * config.counting
            known = known._replace(categories=_category_rows(curator, pool, counting, nominal))
            for_nominal -= counting
        parts.append(_categories(curator, pool, for_nominal, rows, centre, nominal, known, detail))
    return [part for part in parts if part.any()], known


def _scales_and_products(
    curator: Curator, pool: str, share: Fraction, rows: float, ordered: list[int], config: AdditiveConfig
) -> tuple[Features, Fraction]:
    """Learn about the ordered features; return what is left of the share."""
    if not ordered:
        return Features([], None, 0.0, {}), share
    scaling = share * config.scaling
    scales = standard_scales(curator, pool, scaling, ordered, rows)
    share -= scaling
    asking = share * config.products
    epsilon, n = told_epsilon(curator, pool, asking), len(ordered)
    n_products = n * (n + 1) // 2
    noise = math.sqrt((n_products + 1) * (n_products + 2) / 3) / (epsilon * rows)
    worth_it = epsilon >= LEAST_EPSILON and noise * math.sqrt(n) < config.loudest_products
    if not 1 < n <= MOST_FOR_PRODUCTS or not worth_it:
        return Features(scales, None, 0.0, {}), share
    one = product_units(n, float(curator.ledger.plan.amount(pool) * asking))
    blocks = [Block(at, whole_units(scale, one)) for at, scale in zip(ordered, scales, strict=True)]
    sums, variance = curator.product_sums(pool, asking, Query(Kind.PRODUCTS), blocks, one)
    sd = math.sqrt(variance[0, 0]) / (one**2 * rows)
    return Features(scales, sums / (one**2 * rows), sd, {}), share - asking


def public_features(
    public: PublicRows, ordered: list[int], nominal: list[int], rows: float, curator: Curator
) -> Features:
    """Learn about the features from public rows; that these are a sample counts as noise."""
    scales = standard_scales(curator, "", Fraction(0), ordered, rows, public)
    products, few = None, 1 / public.n_rows
    if 1 < len(ordered) <= MOST_FOR_PRODUCTS:
        products = public.mean_products([(at, s[:, None]) for at, s in zip(ordered, scales, strict=True)])
    categories = {at: (rows * public.shares[at], rows**2 * few / len(public.shares[at])) for at in nominal}
    return Features(scales, products, _SQUARES[0] * math.sqrt(few), categories)


def target_units(reach: int) -> int:
    """Return the whole number that stands for 1 in what targets are multiplied with.

    Examples
    --------
    >>> target_units(2048), target_units(60_000)
    (64, 34)
    """
    return max(1, min(64, MAX_PER_ROW // reach))


def _lines_and_curves(
    curator: Curator,
    pool: str,
    share: Fraction,
    rows: float,
    centre: Centre,
    config: AdditiveConfig,
    ordered: list[int],
    known: Features,
    first: bool,
    detail: str,
) -> list[FloatArray]:
    """Follow the target along the scales of ordered features."""
    enough = told_epsilon(curator, pool, share) * rows / len(ordered)
    degree = 1 + (enough >= config.enough_for_squares) + (enough >= config.enough_for_cubes)
    curves = [[_legendre(scale, k) for scale in known.scales] for k in range(degree)]
    one = target_units(centre.reach)
    blocks = [
        Block(at, whole_units(curve, one))
        for of_degree in curves
        for at, curve in zip(ordered, of_degree, strict=True)
    ]
    query = Query(Kind.TARGET_SUMS, detail)
    sums, variance = curator.target_sums(pool, share, query, blocks, one, centre.zero)
    unit = one * centre.reach * rows
    means = (sums[0] / unit).reshape(degree, len(ordered))
    noise = float(variance[0]) / unit**2 + _SAMPLING / rows
    coefficients = [
        shrunk_to_zero(mean, noise) / square for mean, square in zip(means, _SQUARES, strict=False)
    ]
    if known.products is not None:
        coefficients[0] = ridge(known.products, means[0], noise, known.products_sd)
    elif not first:
        coefficients[0] = config.unsure_lines * coefficients[0]
    made = np.zeros((2, curator.schema.n_features, int(curator.schema.n_cells.max())))
    for k, (of_degree, weights) in enumerate(zip(curves, coefficients, strict=True)):
        for at, curve, weight in zip(ordered, of_degree, weights, strict=True):
            made[min(k, 1), at, : len(curve)] += weight * curve
    return list(made)


def _legendre(scale: FloatArray, k: int) -> FloatArray:
    """P_(k + 1) of a scale, between -1 and 1 like it; missing and unknown values tell nothing."""
    values: FloatArray = (scale, (3 * scale**2 - 1) / 2, (5 * scale**3 - 3 * scale) / 2)[k].copy()
    values[-2:] = 0.0
    return values


def ridge(products: FloatArray, means: FloatArray, noise: float, products_sd: float) -> FloatArray:
    """Coefficients of a linear regression, from noisy products of its features and with its target.

    Posterior mean in the eigenbasis of the products, for coefficients of one variance, which is estimated
    from the means. No eigenvalue is taken to be below what noise alone can make.

    Parameters
    ----------
    products : ndarray of shape (n, n)
        Mean products of the features.
    means : ndarray of shape (n,)
        Mean products with the target.
    noise : float
        Variance of the noise of `means`.
    products_sd : float
        Standard deviation of the noise of `products`.

    Examples
    --------
    >>> ridge(np.eye(2), np.array([0.5, -0.25]), 1e-9, 0.0).round(3)
    array([ 0.5 , -0.25])
    """
    n = len(means)
    values, vectors = np.linalg.eigh(products)
    values = np.maximum(values, max(_LEAST_EIGENVALUE, 0.7 * products_sd * math.sqrt(n)))
    turned = vectors.T @ means
    spread = max(float((turned**2 - noise).sum() / (values**2).sum()), 0.0)
    if spread == 0.0:
        return np.zeros(n)
    found: FloatArray = vectors @ (values * turned / (values**2 + noise / spread + products_sd**2 * n))
    return found


def _category_rows(
    curator: Curator, pool: str, share: Fraction, nominal: list[int]
) -> dict[int, tuple[FloatArray, float]]:
    """Noisy rows of every category of each feature, and the variance of their noise."""
    widths = [int(curator.schema.n_cells[at]) for at in nominal]
    one = units(sum(widths), float(curator.ledger.plan.amount(pool) * share))
    blocks = _one_hot(nominal, widths, one)
    query = Query(Kind.CATEGORY_COUNTS)
    sums, variance = curator.lookup_sums(pool, share, query, blocks, one, by_class=False)
    ends = np.cumsum(widths)
    return {
        at: (sums[0, end - width : end] / one, float(variance[end - 1]) / one**2)
        for at, width, end in zip(nominal, widths, ends, strict=True)
    }


def _categories(
    curator: Curator,
    pool: str,
    share: Fraction,
    rows: float,
    centre: Centre,
    nominal: list[int],
    known: Features,
    detail: str,
) -> FloatArray:
    """Mean target of every category, drawn towards 0 feature by feature."""
    widths = [int(curator.schema.n_cells[at]) for at in nominal]
    one = target_units(centre.reach)
    query = Query(Kind.TARGET_SUMS, f"by category {detail}".strip())
    blocks = _one_hot(nominal, widths, one)
    sums, variance = curator.target_sums(pool, share, query, blocks, one, centre.zero)
    unit, ends = one * centre.reach, np.cumsum(widths)
    made = np.zeros((curator.schema.n_features, int(curator.schema.n_cells.max())))
    for at, width, end in zip(nominal, widths, ends, strict=True):
        counts, counts_variance = known.categories[at]
        of_sums = float(variance[end - 1]) / unit**2
        heard = counts > max(2 * math.sqrt(counts_variance), 1.0)
        n = np.where(heard, counts, 1.0)
        own = np.clip(sums[0, end - width : end] / unit / n, -1.0, 1.0)
        noise = of_sums / n**2 + _SAMPLING_OF_CATEGORY / n
        weight = np.where(heard, counts, 0.0) / max(float(counts[heard].sum()), 1.0)
        excess = max(float((weight * (own**2 - noise)).sum()), 0.0)
        made[at, :width] = np.where(heard, own * excess / (excess + noise), 0.0)
    return made


def _one_hot(features: list[int], widths: list[int], one: int) -> list[Block]:
    return [
        Block(at, one * np.eye(width, dtype=np.int64)) for at, width in zip(features, widths, strict=True)
    ]
