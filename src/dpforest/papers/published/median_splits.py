"""One node of a DiPriMe tree: candidate medians, and the attribute among them.

Consul and Williamson: "Differentially private median forests for regression and classification" (2020),
Section 3 and Algorithm 3, and "Balance is key: private median splits yield high-utility random trees" (2021),
Section 3.1 and the function FindSplit of Algorithm 1. `median_forest` calls `Candidates.choose`.

What is false, for records in [0, 1] and budget 1:

* 2020, median by index: the interval after the j-th value is chosen without regard to its length. {0, 1/2-h,
  1} and the same with 1/2+h: at h = 1e-6 a threshold between the two has probability 2e-6 and 0.54, a
  log-ratio of 12.5 that grows without bound as h falls.
* 2021, permute-and-flip: the mechanism needs a finite public list, and run over the intervals between the
  data it has the same flaw, a log-ratio of 12.4.
* Both, K candidate medians: all K look at the same records, so they cost K times the budget of one, not once.
  With five copies of one attribute and 1/2 each for medians and attribute a log-ratio of 2.19 is reached
  where 1 is promised, with ten 4.37.

What is true: the exponential mechanism over intervals weighted by their lengths (2021) is private for
a public range, and so is the choice by squared error, whose "sensitivity 4B^2/N" is harmless because the
private N cancels.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpforest._arrays import FloatArray, IntArray
from dpforest.papers.published.draws import between, exponential_choice, permute_and_flip
from dpforest.papers.published.trees import Ranges, Split

__all__ = ["Candidates", "Variant", "Version"]

Variant = Literal["uniform", "exponential", "permute_and_flip"]
Version = Literal["2021", "2020", "2020 text"]

# All splits of up to this many categories are listed (2047 of them), as the papers do; beyond, where the list
# would explode, as many random ones stand for it.
LISTED_CATEGORIES = 12


def interval_exponents(n: int, epsilon: float) -> FloatArray:
    """Return the exponents of the n + 1 intervals around n values (2021), without their lengths.

    Interval i has i values on its left: `-(epsilon / 2) * |n - 2i|`.

    Examples
    --------
    >>> interval_exponents(3, 1.0)
    array([-1.5, -0.5, -0.5, -1.5])
    """
    return np.asarray(-epsilon / 2 * np.abs(n - 2.0 * np.arange(n + 1)))


def weighted_exponents(values: FloatArray, low: float, high: float, epsilon: float) -> FloatArray:
    """Return the exponents of the intervals between sorted values, with their lengths as base measure (2021).

    Examples
    --------
    >>> np.exp(weighted_exponents(np.array([0.5, 0.5]), 0.0, 1.0, 0.0))
    array([0.5, 0. , 0.5])
    """
    edges = np.concatenate(([low], values, [high]))
    with np.errstate(divide="ignore"):  # intervals between equal values weigh nothing
        lengths = np.log(edges[1:] - edges[:-1])
    return np.asarray(lengths + interval_exponents(len(values), epsilon))


def index_exponents(n: int, epsilon: float) -> FloatArray:
    """Return the exponents of the indices 1..n of 2020: `-(epsilon / 2) * |n - 2j|`.

    Examples
    --------
    >>> index_exponents(3, 1.0)
    array([-0.5, -0.5, -1.5])
    """
    return np.asarray(-epsilon / 2 * np.abs(n - 2.0 * np.arange(1, n + 1)))


def median_by_length(
    values: FloatArray, low: float, high: float, epsilon: float, rng: np.random.Generator
) -> float:
    """Exponential mechanism on `-|left - right|` with interval lengths as base measure (2021)."""
    edges = np.concatenate(([low], values, [high]))
    i = exponential_choice(weighted_exponents(values, low, high, epsilon), rng)
    return between(edges[i], edges[i + 1], rng)


def median_by_flips(
    values: FloatArray, low: float, high: float, epsilon: float, rng: np.random.Generator
) -> float:
    """Permute-and-flip over the intervals between the data, then uniform inside (2021, DiPriMeFlip).

    The paper does not say how a mechanism for finite lists is run on a range of real numbers; this is the
    reading that needs least.
    """
    edges = np.concatenate(([low], values, [high]))
    i = permute_and_flip(interval_exponents(len(values), epsilon), rng)
    return between(edges[i], edges[i + 1], rng)


def median_by_index(
    values: FloatArray, low: float, high: float, epsilon: float, rng: np.random.Generator
) -> float:
    """Draw an index, then uniform between that value and the next; uniform in the range on failure (2020).

    Algorithm 3 has a try and an except: without rows there is no index, and after the last value no next.
    """
    if not len(values):
        return between(low, high, rng)
    j = exponential_choice(index_exponents(len(values), epsilon), rng) + 1
    if j == len(values):
        return between(low, high, rng)
    return between(values[j - 1], values[j], rng)


MEDIANS = {
    "uniform": median_by_length,
    "exponential": median_by_length,
    "permute_and_flip": median_by_flips,
    "2020": median_by_index,
}


@lru_cache(maxsize=LISTED_CATEGORIES)
def all_subsets(n_categories: int) -> NDArray[np.bool_]:
    """Return all ways to send part of the categories left, one per pair of complements."""
    numbers = np.arange(1, 2 ** (n_categories - 1))
    return (numbers[:, None] >> np.arange(n_categories) & 1).astype(np.bool_)


def category_exponents(
    subsets: NDArray[np.bool_], counts: FloatArray, n: int, epsilon: float, version: Version
) -> FloatArray:
    """Return the exponents of sets of categories.

    2020: `-(epsilon / 2) * |left - right|`. 2021 prints the score without its minus sign, so that the most
    lopsided split is preferred; kept as printed.

    Examples
    --------
    >>> category_exponents(all_subsets(2), np.array([8.0, 2.0]), 10, 1.0, "2020")
    array([-3.])
    >>> category_exponents(all_subsets(2), np.array([8.0, 2.0]), 10, 1.0, "2021")
    array([3.])
    """
    sign = 1.0 if version == "2021" else -1.0
    return np.asarray(sign * epsilon / 2 * np.abs(n - 2.0 * (subsets @ counts)))


def attribute_exponents(
    squared_errors: FloatArray, n: int, bound: float, epsilon: float, version: Version
) -> FloatArray:
    """Return the exponents of the candidate attributes, from the sums of squared errors of their splits.

    2021: `-epsilon * MSE / (2 * 4 B^2 / n)`. Line 52 of the 2020 Algorithm 3 has lost the `n` that its text
    has, and so is hardly better than a uniform draw; kept as printed.

    Examples
    --------
    >>> attribute_exponents(np.array([0.0, 80.0]), 100, 1.0, 1.0, "2021")
    array([ -0., -10.])
    >>> attribute_exponents(np.array([0.0, 80.0]), 100, 1.0, 1.0, "2020")
    array([-0. , -0.1])
    >>> attribute_exponents(np.array([0.0, 80.0]), 100, 1.0, 1.0, "2020 text")
    array([ -0., -10.])
    """
    scale = 1.0 / max(n, 1) if version == "2020" else 1.0
    return -epsilon * squared_errors * scale / (8 * bound**2)


@dataclass(frozen=True)
class Candidates:
    """The function FindSplit for one tree.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Rows of the tree.
    coded_target : ndarray of shape (n, q)
        Targets as vectors: the mean squared error of a split is the mean squared distance to the child's
        mean.
    bound : float
        B, the largest absolute target.
    variant, version : str
        Which algorithm.
    max_features : int
        K, the number of candidate medians per node.
    epsilon_median, epsilon_attribute : float
        Budget of every single candidate median, and of the choice among them.
    rng : Generator
        All draws.
    """

    X: FloatArray
    coded_target: FloatArray
    bound: float
    variant: Variant
    version: Version
    max_features: int
    epsilon_median: float
    epsilon_attribute: float
    rng: np.random.Generator

    def choose(self, rows: IntArray, ranges: Ranges) -> Split | None:
        """Return the split of a node, None if no feature can be split any more."""
        features = ranges.splittable()
        if not len(features):
            return None
        # A uniform choice among the medians of a uniform subset is the median of one uniform attribute.
        n_asked = 1 if self.variant == "uniform" else min(self.max_features, len(features))
        asked = self.rng.choice(features, n_asked, replace=False)
        splits = [self.median(rows, int(feature), ranges) for feature in asked]
        if n_asked == 1:
            return splits[0]
        errors = np.array([self.squared_error(rows, split) for split in splits])
        exponents = attribute_exponents(errors, len(rows), self.bound, self.epsilon_attribute, self.version)
        return splits[self._select(exponents)]

    def median(self, rows: IntArray, feature: int, ranges: Ranges) -> Split:
        """Return the candidate of one feature, at the full budget of a median."""
        column = self.X[rows, feature]
        if feature in ranges.categories:
            categories = ranges.categories[feature]
            subsets = self._subsets(len(categories))
            counts = np.bincount(column.astype(np.int64), minlength=int(categories[-1]) + 1)[categories]
            exponents = category_exponents(
                subsets, counts.astype(np.float64), len(rows), self.epsilon_median, self.version
            )
            return Split(feature, categories=categories[subsets[self._select(exponents)]])
        draw = MEDIANS["2020" if self.version != "2021" else self.variant]
        low, high = float(ranges.low[feature]), float(ranges.high[feature])
        return Split(feature, draw(np.sort(column), low, high, self.epsilon_median, self.rng))

    def squared_error(self, rows: IntArray, split: Split) -> float:
        """Return the sum over both children of the squared distances to the child's mean."""
        column, target = self.X[rows, split.feature], self.coded_target[rows]
        goes_left = (
            column < split.threshold if split.categories is None else np.isin(column, split.categories)
        )
        there = target[goes_left]
        left, n_left = there.sum(axis=0), len(there)
        loss = float(np.vdot(target, target))
        for child, size in ((left, n_left), (target.sum(axis=0) - left, len(target) - n_left)):
            if size:
                loss -= float(child @ child) / size
        return max(loss, 0.0)

    def _select(self, exponents: FloatArray) -> int:
        flip = self.variant == "permute_and_flip"
        return permute_and_flip(exponents, self.rng) if flip else exponential_choice(exponents, self.rng)

    def _subsets(self, n_categories: int) -> NDArray[np.bool_]:
        if n_categories <= LISTED_CATEGORIES:
            return all_subsets(n_categories)
        drawn = self.rng.random((2 ** (LISTED_CATEGORIES - 1), n_categories)) < 0.5
        return drawn[drawn.any(axis=1) & ~drawn.all(axis=1)]
