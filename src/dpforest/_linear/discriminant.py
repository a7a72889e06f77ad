"""Class scores that are sums over features: a linear discriminant on noisy moments.

What is released: for each class the sums of a bounded function of every ordered feature and the rows of every
category, and, if there are rows enough, one common matrix of products of the ordered features. From these
follow, as post-processing,

* the linear discriminant of Fisher (1936) on the ordered features, with a fixed variance and no covariance;
* the same with the inverse of the common covariance, where the products were affordable;
* the same with the spread of the class means in place of the covariance: features that hang together between
  the classes mostly do so within them, and would otherwise be counted twice;
* the log odds of every category, as in naive Bayes;
* with more rows, each of these once more with the squares of the ordered features.

Everything noisy is drawn towards what it would be if the classes did not differ (James and Stein).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from dpforest._arrays import FloatArray
from dpforest._curator import Block, Curator
from dpforest._linear.standard import (
    Standard,
    ordered_features,
    product_units,
    standards,
    told_epsilon,
    units,
    whole_units,
)
from dpforest._shrinkage import shrunk_class_means, shrunk_counts
from dpforest.privacy import Kind, Query
from dpforest.schema.public_rows import PublicRows

LEAST_EPSILON = 1e-3  # of products: in their fine units, rates of smaller budgets could not be represented
VARIANCE = 0.3  # of a standard scale within a class, where it is not measured
_LEAST_VARIANCE = 0.01
_LEAST_SHARE = 0.02


@dataclass(frozen=True)
class DiscriminantConfig:
    """Constants of a discriminant; see `dpforest.forests.guided_config` for what "study" means."""

    scaling: Fraction = Fraction(2, 10)  # of the budget of this part, for centres and spreads; study
    products: Fraction = Fraction(1, 4)  # of the rest, for the common covariance; study
    loudest_covariance: float = 0.6  # noise of its eigenvalues above which it is not asked for; study
    # The spread of the class means counts this much beside the fixed variance; study: texture (KEEL) has 84 %
    # instead of 73 at epsilon 1 and 2, nine other tables are as before; 1 or 3 alone are a point worse.
    between: tuple[float, ...] = (1.0, 10.0)
    enough_for_squares: float = 20  # rows times epsilon, per class and feature; study


DEFAULTS = DiscriminantConfig()


class ClassScores(NamedTuple):
    """Released class counts, tables of scores that are added over the features of a row, and their scales.

    `tables` has shape (n_tables, n_features, n_cells, n_classes). Each is a way to score, with a fixed
    variance, the covariance or the spread of the class means, with and without squares; which of them
    predicts best, only the rows can tell.
    """

    counts: FloatArray
    tables: FloatArray
    standard: Standard


def discriminant_scores(
    curator: Curator,
    pool: str,
    share: Fraction,
    counts: FloatArray,
    counts_sd: float,
    config: DiscriminantConfig = DEFAULTS,
    public: PublicRows | None = None,
) -> ClassScores:
    """Ask for the moments of all classes and make scores of them.

    Parameters
    ----------
    curator : Curator
        Owner of the rows.
    pool : str
        Pool of the budget plan to spend.
    share : Fraction
        Part of it.
    counts : ndarray of shape (n_classes,)
        Released class counts.
    counts_sd : float
        Standard deviation of their noise.
    config : DiscriminantConfig
        Constants.
    public : PublicRows, optional
        Rows that tell scales and covariance, of which nothing is asked then.
    """
    schema = curator.schema
    epsilon = told_epsilon(curator, pool, share)
    rows = float(shrunk_counts(counts, counts_sd).sum())
    ordered = ordered_features(schema)
    nominal = [at for at in range(schema.n_features) if at not in ordered]
    scaling = share * config.scaling if ordered and public is None else Fraction(0)
    products = (share - scaling) * config.products
    for_products = epsilon * float(products / share)
    can_pay = curator.ledger.plan.currency == "pure" or _is_drawn(len(ordered), for_products)
    worth_it = can_pay and _is_worth_it(len(ordered), rows, for_products, config.loudest_covariance)
    if not worth_it or public is not None:
        products = Fraction(0)
    standard = standards(curator, pool, scaling, rows, public)
    scales = standard.scales(schema)
    parts = [scales]
    if ordered and rows * epsilon >= config.enough_for_squares * len(counts) * schema.n_features:
        parts.append([_even_part(scale) for scale in scales])
    # two questions: asked as one, many categories would drown the few sums of ordered features
    for_sums = (share - scaling - products) * Fraction(len(ordered), schema.n_features)
    for_categories = share - scaling - products - for_sums

    told = [(counts, counts_sd**2)]  # everything that tells the class counts, with its variance
    categories = _count_categories(curator, pool, for_categories, nominal, told) if nominal else {}
    sums = _sum_scales(curator, pool, for_sums, ordered, parts, told) if ordered else []
    counts = _pooled_counts(told)
    n_cells = int(schema.n_cells[: schema.n_features].max())
    linear = np.zeros((schema.n_features, n_cells, len(counts)))
    for at, (table, noise) in categories.items():
        linear[at, : len(table)] = _log_odds(table, noise, counts)
    means = [
        shrunk_class_means(moments / counts[:, None], counts, noise, VARIANCE) for moments, noise in sums
    ]
    fixed = np.eye(len(ordered)) / VARIANCE
    inverses = [fixed]
    if products or (public is not None and len(ordered) > 1):
        asked = _products(curator, pool, products, ordered, scales, float(counts.sum()), public)
        inverses.append(_inverse_covariance(*asked, means[0], counts))
    if len(ordered) > 1 and len(counts) > 2:  # one feature or two classes differ along one line
        spread, own = _spread_of_means(means[0], counts), VARIANCE * np.eye(len(ordered))
        inverses += [np.linalg.inv(own + times * spread).astype(np.float64) for times in config.between]
    tables = [linear.copy() for _ in inverses]
    if ordered:
        for table, inverse in zip(tables, inverses, strict=True):
            _add_lines(table, ordered, scales, means[0], counts, inverse)
    if len(parts) > 1:
        curved = [table.copy() for table in tables]
        for table in curved:
            _add_lines(table, ordered, parts[1], means[1], counts, fixed)
        tables += curved
    return ClassScores(counts, np.stack(tables), standard)


def _add_lines(
    table: FloatArray,
    features: list[int],
    scales: list[FloatArray],
    means: FloatArray,
    counts: FloatArray,
    inverse: FloatArray,
) -> None:
    """Add the linear discriminant on some scales to a table of scores."""
    common = counts / counts.sum() @ means
    slopes = (means - common) @ inverse
    offsets = -0.5 * (means + common) * slopes
    for number, (at, scale) in enumerate(zip(features, scales, strict=True)):
        table[at, : len(scale)] += np.outer(scale, slopes[:, number]) + offsets[:, number]


def _count_categories(
    curator: Curator, pool: str, share: Fraction, features: list[int], told: list[tuple[FloatArray, float]]
) -> dict[int, tuple[FloatArray, float]]:
    """Noisy rows by category and class of each feature, and their variance; `told` hears of class counts."""
    widths = [int(curator.schema.n_cells[at]) for at in features]
    one = units(sum(widths), float(curator.ledger.plan.amount(pool) * share))
    blocks = [
        Block(at, one * np.eye(width, dtype=np.int64)) for at, width in zip(features, widths, strict=True)
    ]
    sums, variance = curator.lookup_sums(pool, share, Query(Kind.CATEGORY_SUMS), blocks, one, by_class=True)
    found, first = {}, 0
    for at, width in zip(features, widths, strict=True):
        counts, noise = sums[:, first : first + width].T / one, float(variance[first]) / one**2
        found[at] = (counts, noise)
        told.append((counts.sum(axis=0), width * noise))
        first += width
    return found


def _sum_scales(
    curator: Curator,
    pool: str,
    share: Fraction,
    features: list[int],
    parts: list[list[FloatArray]],
    told: list[tuple[FloatArray, float]],
) -> list[tuple[FloatArray, float]]:
    """Noisy class sums of each list of scales, and their variance; `told` hears of the class counts."""
    n_sums = 1 + len(parts) * len(features)
    one = units(n_sums, float(curator.ledger.plan.amount(pool) * share))
    everywhere = np.full((int(curator.schema.n_cells[0]), 1), one, np.int64)
    blocks = [Block(0, everywhere)]  # sums to the rows themselves
    for part in parts:
        blocks += [Block(at, whole_units(scale, one)) for at, scale in zip(features, part, strict=True)]
    sums, variance = curator.lookup_sums(pool, share, Query(Kind.FEATURE_SUMS), blocks, one, by_class=True)
    noise = float(variance[0]) / one**2
    told.append((sums[:, 0] / one, noise))
    return [(part / one, noise) for part in np.split(sums[:, 1:], len(parts), axis=1)]


def _is_worth_it(n_features: int, rows: float, epsilon: float, loudest: float) -> bool:
    """Tell whether noisy products would say more than noise about the covariance."""
    if n_features < 2 or epsilon < LEAST_EPSILON:
        return False
    n_products = n_features * (n_features + 1) // 2
    noise = math.sqrt((n_products + 1) * (n_products + 2) / 3) / (epsilon * rows)
    return noise * math.sqrt(n_features) < loudest


def _is_drawn(n_features: int, rho: float) -> bool:
    """Tell whether Gaussian noise for all products has a variance of at most 2**50, the largest there is."""
    bound = product_units(n_features, rho) ** 2
    return n_features * (n_features + 1) / 2 * bound**2 / (2 * rho) < 2.0**50


def _even_part(scale: FloatArray) -> FloatArray:
    """Even counterpart of a scale, also between -1 and 1."""
    square: FloatArray = 2 * scale**2 - 1
    square[-2:] = 0.0  # missing and unknown values tell nothing
    return square


def _pooled_counts(told: list[tuple[FloatArray, float]]) -> FloatArray:
    """Average everything that tells the class counts, weighted by precision."""
    precision = np.array([1 / max(variance, 1e-12) for _, variance in told])
    mean = precision @ np.array([counts for counts, _ in told]) / precision.sum()
    return shrunk_counts(mean, 1 / math.sqrt(precision.sum()))


def _products(
    curator: Curator,
    pool: str,
    share: Fraction,
    features: list[int],
    scales: list[FloatArray],
    rows: float,
    public: PublicRows | None,
) -> tuple[FloatArray, float]:
    """Mean products of the scales of ordered features, and the standard deviation of their noise."""
    if public is not None:
        lines = [(at, scale[:, None]) for at, scale in zip(features, scales, strict=True)]
        return public.mean_products(lines), VARIANCE / math.sqrt(public.n_rows)
    one = product_units(len(features), float(curator.ledger.plan.amount(pool) * share))
    blocks = [Block(at, whole_units(scale, one)) for at, scale in zip(features, scales, strict=True)]
    sums, variance = curator.product_sums(pool, share, Query(Kind.PRODUCTS), blocks, one)
    return sums / (one**2 * rows), math.sqrt(variance[0, 0]) / (one**2 * rows)


def _inverse_covariance(
    products: FloatArray, noise: float, means: FloatArray, counts: FloatArray
) -> FloatArray:
    """Inverse of the covariance within classes, no eigenvalue below what noise alone can make."""
    within = products - (means.T * counts / counts.sum()) @ means
    values, vectors = np.linalg.eigh(within)
    values = np.maximum(values, max(_LEAST_VARIANCE, 0.7 * noise * math.sqrt(len(products))))
    inverse: FloatArray = vectors / values @ vectors.T
    return inverse


def _spread_of_means(means: FloatArray, counts: FloatArray) -> FloatArray:
    """Covariance of the class means, weighted by rows."""
    shares = counts / counts.sum()
    away = means - shares @ means
    spread: FloatArray = (away.T * shares) @ away
    return spread


def _log_odds(counts: FloatArray, noise: float, class_counts: FloatArray) -> FloatArray:
    """Log of class shares in each category over those in all rows, drawn towards 0."""
    prior = class_counts / class_counts.sum()
    total = counts.sum(axis=1, keepdims=True)
    heard = total > math.sqrt(noise * len(prior))
    rows = np.where(heard, total, 1.0)
    own = counts / rows
    # Noise a_k of variance v on every count moves the share of class k by (a_k - p_k sum of a_j) / n, which
    # has variance v (1 - 2 p_k + K p_k**2) / n**2; that the rows are a sample adds p_k (1 - p_k) / n.
    unsure = noise / rows**2 * (1 - 2 * prior + len(prior) * prior**2) + prior * (1 - prior) / rows
    distance = ((own - prior) ** 2).sum(axis=1, keepdims=True)
    trust = np.maximum(0.0, 1 - unsure.sum(axis=1, keepdims=True) / np.maximum(distance, 1e-12))
    shares = np.maximum(prior + np.where(heard, trust, 0.0) * (own - prior), _LEAST_SHARE * prior)
    odds: FloatArray = np.log(shares / shares.sum(axis=1, keepdims=True) / prior)
    return odds
