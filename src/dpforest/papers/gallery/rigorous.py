"""Losses of this library's own mechanisms on a pair of tables, exactly and over all outputs.

The repaired side of every case. Rates, utilities, grids and probabilities come from the rooms that fitted
models use (`mechanisms`, `_curator.utilities`, `schema`, the estimators' plans); nothing is written down here
a second time. That the curator's answers follow these probabilities is what `tests/curator` shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dpforest._arrays import FloatArray
from dpforest._curator.utilities import Candidates, Subsets, Utility, median_scores
from dpforest._structure import FlatTrees
from dpforest.forests.base import PrivateForest
from dpforest.mechanisms import (
    RandomWords,
    Rate,
    discrete_laplace_log_pmf,
    exponential_log_pmf,
    permute_and_flip_log_pmf,
    quantile_log_pmf,
)
from dpforest.papers.gallery.case import worst
from dpforest.schema import Numeric, Schema

__all__ = [
    "amount",
    "count_loss",
    "feature_then_median_loss",
    "label_loss",
    "median_log_pmf",
    "median_loss",
    "split_loss",
]


def amount(estimator: PrivateForest, pool: str) -> Fraction:
    """Return what an estimator's plan gives to a pool.

    Examples
    --------
    >>> from dpforest import DiPriMeForestClassifier
    >>> amount(DiPriMeForestClassifier(epsilon=1.0), "count")
    Fraction(1, 50)
    """
    return estimator.privacy_plan().amount(pool)


def median_log_pmf(feature: Numeric, values: Sequence[float], epsilon: Fraction) -> FloatArray:
    """Return log-probabilities of all thresholds of a root node, from the values of its rows.

    Examples
    --------
    >>> np.exp(median_log_pmf(Numeric(0, 1, bins=2), [], Fraction(1))).round(2)
    array([0.33, 0.33, 0.33])
    """
    cells = [feature.cell_of(value) for value in values]
    counts = np.bincount(np.array(cells, dtype=np.int64), minlength=feature.n_cells)
    log_pmf = quantile_log_pmf(counts[None], [0], [feature.n_cells - 1], epsilon)
    return log_pmf[0, :-1]  # beyond the last cell there is nothing to cut off


def median_loss(
    feature: Numeric, before: Sequence[float], after: Sequence[float], epsilon: Fraction
) -> float:
    """Return the loss of a private median on the public grid.

    Examples
    --------
    >>> 0 < median_loss(Numeric(0, 1), [0.2], [0.2, 0.9], Fraction(1)) <= 1
    True
    """
    return worst(median_log_pmf(feature, before, epsilon), median_log_pmf(feature, after, epsilon))


def count_loss(before: npt.ArrayLike, after: npt.ArrayLike, rate: Rate) -> float:
    """Return the loss of a table of counts with discrete Laplace noise.

    Entries have independent noise, so the worst output of the table is the worst of every entry. Beyond the
    two true counts the ratio does not change any more: the outputs in between and one on either side are all
    there is to look at.

    Examples
    --------
    >>> count_loss([3, 0], [3, 1], Rate(1, 0))
    1.0
    """
    total = 0.0
    for old, new in np.stack([np.ravel(before), np.ravel(after)], axis=1):
        outputs = np.arange(min(old, new) - 1, max(old, new) + 2)
        total += worst(
            discrete_laplace_log_pmf(outputs - old, rate), discrete_laplace_log_pmf(outputs - new, rate)
        )
    return total


def label_loss(before: Sequence[int], after: Sequence[int], epsilon: Fraction) -> float:
    """Return the loss of a leaf label by permute-and-flip on the class counts.

    Examples
    --------
    >>> round(label_loss([3, 1], [4, 1], Fraction(1)), 9)
    1.0
    """
    rate = Rate.floor(epsilon)  # one row moves the class counts by 0 or 1: W = 1
    return worst(*(permute_and_flip_log_pmf([counts], rate) for counts in (before, after)))


def split_loss(
    schema: Schema, before: npt.ArrayLike, after: npt.ArrayLike, utility: Utility, epsilon: Fraction
) -> float:
    """Return the loss of feature and cut chosen jointly among all features of a root node.

    Parameters
    ----------
    schema : Schema
        The public description of the table.
    before, after : array of int, shape (n_features, n_cells, n_statistics)
        Rows by class, or number, sum and sum of squares of the targets, in every cell of every feature.
    utility : Utility
        Score of a split.
    epsilon : Fraction
        Budget of the level.
    """
    subsets = Subsets.draw(schema, RandomWords.seeded(0))
    asked = np.arange(schema.n_features, dtype=np.int32)[None, None]
    root = FlatTrees.unsplit(1, 1, subsets.left_sets)
    candidates = Candidates.of_level(root, 0, asked, schema.n_cells, subsets)
    base, rate = candidates.base_measure(), Rate.floor(epsilon / utility.range_for(schema))
    scores = [
        candidates.scores(utility, utility.unit_for(schema), slice(None), np.asarray(table)[None])
        for table in (before, after)
    ]
    return worst(*(exponential_log_pmf(score, base, rate) for score in scores))


def feature_then_median_loss(before: npt.ArrayLike, after: npt.ArrayLike, epsilon: Fraction) -> float:
    """Return the loss of a feature chosen at its exact median and a private median of the chosen one.

    Each of the two costs half of epsilon.

    Parameters
    ----------
    before, after : array of int, shape (n_features, n_cells, n_classes)
        Rows by class in every cell of every feature.
    epsilon : Fraction
        Budget of the level.
    """
    half = epsilon / 2
    rate = Rate.floor(half / median_scores.range(is_class=True))
    outputs = []
    for table in (np.asarray(before), np.asarray(after)):
        feature = permute_and_flip_log_pmf(median_scores(table[None], is_class=True), rate)[0]
        n_features, n_cells = table.shape[:2]
        low, high = np.zeros(n_features, int), np.full(n_features, n_cells - 1)
        outputs.append(feature[:, None] + quantile_log_pmf(table.sum(axis=2), low, high, half))
    return worst(*outputs)
