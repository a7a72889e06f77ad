"""Random forests whose leaves name a label by "smooth sensitivity", as published: Fletcher and Islam, 2017.

"Differentially private random decision forests using smooth sensitivity", Algorithms 1 and 2, Theorem 1 (the
label of a leaf) and Theorem 2 with Table 4 (the depth). The addendum of 2021 withdraws Theorem 1.

What is false, at budget 1:

* The exponential mechanism with smooth sensitivity exp(-j), j the lead of the most frequent label: one record
  more for a lead of 2 makes the minority label less likely by a log-ratio of 6.3, for a lead of 3 by 17, and
  so on without bound. The addendum's guess of twice the stated cost is far too kind.
* Equal disjoint parts: one record more changes two of them.

The trees are random, of arbitrary depth, and with one child per category. They are never stored: every
node has a 64-bit key, mixed from its parent's key and the branch taken, and all its random numbers are mixed
from the key (the splittable generators of Steele, Lea and Flood, 2014). A tree is thus a function of its
seed, the same for training rows and later queries, and a leaf that no training row reached has its random
label all the same.
"""

from dataclasses import dataclass

import numpy as np

from dpforest._arrays import FloatArray, IntArray, WordArray
from dpforest.papers.published.domain import Domain, checked_rows, classified_rows
from dpforest.papers.published.draws import equal_parts, probabilities
from dpforest.papers.published.forest import PublishedForest

__all__ = ["SmoothForest", "smooth_sensitivity_forest"]


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FEATURE, _POINT, _LABEL, _CHILD = range(1, 5)  # what a number mixed from a key is for
_BLOCK = 32_768  # rows that walk together: their ranges take a few megabytes
_LARGEST_EXPONENT = 700.0  # beyond, the majority label has probability 1 in doubles anyway


def smooth_sensitivity_forest(
    X: FloatArray,
    y: IntArray,
    domain: Domain,
    rng: np.random.Generator,
    *,
    epsilon: float,
    n_trees: int = 100,
    max_depth: int | None = None,
    disjoint: bool = True,
) -> "SmoothForest":
    """Fit a forest of random trees with labels by smooth sensitivity as published. Not private.

    Parameters
    ----------
    X, y : ndarray
        Rows and class codes; rows without a known class are left out.
    domain : Domain
        Public facts, of a classification table.
    rng : Generator
        All draws.
    epsilon : float
        The budget that the paper claims to spend.
    n_trees : int, default=100
        tau.
    max_depth : int, optional
        Depth of the trees, by default that of Table 4.
    disjoint : bool, default=True
        Give each tree an equal part of the rows and the whole budget; otherwise all rows and an n-th of it.

    Returns
    -------
    SmoothForest
        Its votes are the numbers of trees for each label.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> domain = Domain(np.zeros(2), np.ones(2), np.zeros(2, int), n_classes=2)
    >>> X = rng.random((4000, 2))
    >>> forest = smooth_sensitivity_forest(X, (X[:, 0] > 0.5).astype(int), domain, rng, epsilon=1.0)
    >>> forest.votes(np.array([[0.1, 0.5], [0.9, 0.5]])).argmax(axis=1)
    array([0, 1])
    """
    X, y = classified_rows(X, y, domain, "majority labels")
    depth = table_depth(domain) if max_depth is None else max_depth
    seeds = rng.integers(0, 2**64, size=n_trees, dtype=np.uint64)
    if disjoint:
        keys = np.empty(len(X), dtype=np.uint64)
        for seed, part in zip(seeds, equal_parts(len(X), n_trees, rng), strict=True):
            keys[part] = seed
        leaf_of_row, label_of_row = leaf_keys(X, keys, domain, depth), y
    else:
        leaf_of_row = np.concatenate([leaf_keys(X, np.full(len(X), s), domain, depth) for s in seeds])
        label_of_row = np.tile(y, n_trees)
        epsilon /= n_trees
    leaves, slot = np.unique(leaf_of_row, return_inverse=True)
    counts = np.bincount(slot * domain.n_classes + label_of_row, minlength=len(leaves) * domain.n_classes)
    drawn = draw_labels(counts.reshape(-1, domain.n_classes).astype(np.float64), epsilon, rng)
    return SmoothForest(seeds, leaves, drawn, depth, domain)


def table_depth(domain: Domain) -> int:
    """Return the depth of Table 4.

    Theorem 2 asks for the smallest d with `s ((s-1)/s)^d < s/2`, s the number of continuous features, plus
    half the number of discrete ones. Table 4, and so the experiments, have one level more wherever s > 0.

    Examples
    --------
    >>> def depth(s, r):
    ...     return table_depth(Domain(np.zeros(s + r), np.ones(s + r), np.array([0] * s + [2] * r)))
    >>> [depth(5, 0), depth(10, 0), depth(20, 0), depth(6, 8), depth(0, 22)]
    [5, 8, 15, 9, 11]
    """
    n_discrete = int(domain.nominal.sum())
    s = domain.n_features - n_discrete
    depth = 0
    while s and ((s - 1) / s) ** depth >= 0.5:
        depth += 1
    return depth + (s > 0) + n_discrete // 2


def label_probabilities(counts: FloatArray, epsilon: float) -> FloatArray:
    """Theorem 1: probabilities of the labels of leaves with the given class counts.

    The most frequent labels score 1, the others 0, with exponent `epsilon / (2 exp(-j epsilon))`, j the
    difference between the two largest counts.

    Examples
    --------
    >>> label_probabilities(np.array([[10.0, 5.0], [50.0, 10.0]]), 0.1).round(3)
    array([[0.521, 0.479],
           [0.939, 0.061]])
    """
    largest = counts.max(axis=1, keepdims=True)
    lead = largest[:, 0] - np.sort(counts, axis=1)[:, -2] if counts.shape[1] > 1 else np.zeros(len(counts))
    with np.errstate(over="ignore"):
        exponent = np.minimum(epsilon / 2 * np.exp(lead * epsilon), _LARGEST_EXPONENT)
    return probabilities(np.where(counts == largest, exponent[:, None], 0.0))


def draw_labels(counts: FloatArray, epsilon: float, rng: np.random.Generator) -> IntArray:
    """Draw a label for every leaf."""
    if not len(counts):
        return np.empty(0, dtype=np.int64)
    below = np.cumsum(label_probabilities(counts, epsilon), axis=1)[:, :-1] <= rng.random((len(counts), 1))
    return np.asarray(below.sum(axis=1))


def leaf_keys(X: FloatArray, keys: WordArray, domain: Domain, depth: int) -> WordArray:
    """Walk rows down to their leaves, each from the root whose key is given.

    A node tests a feature drawn uniformly: a continuous one at a uniform point of what is left of its domain,
    a discrete one, once per path, with one child per category (missing and other are two more).
    """
    keys, rows = keys.copy(), np.arange(len(X))
    low, high = np.tile(domain.low, (len(X), 1)), np.tile(domain.high, (len(X), 1))
    nominal = domain.nominal
    unused = np.ones(X.shape, dtype=np.int64)
    for _ in range(depth):
        choices = unused.sum(axis=1) if nominal.any() else np.full(len(X), domain.n_features)
        walking = choices > 0  # all features of a path may be discrete and used up
        pick = np.minimum((uniform_of(keys, _FEATURE) * choices).astype(np.int64), choices - 1)
        feature = (unused.cumsum(axis=1) <= pick[:, None]).sum(axis=1) if nominal.any() else pick
        feature = np.where(walking, feature, 0)
        value, discrete = X[rows, feature], nominal[feature]
        bottom, top = low[rows, feature], high[rows, feature]
        point = bottom + (top - bottom) * uniform_of(keys, _POINT)
        above = value >= point
        low[rows, feature] = np.where(above & ~discrete, point, bottom)
        high[rows, feature] = np.where(above | discrete, top, point)
        unused[rows, feature] &= ~discrete
        branch = np.where(discrete, value, above).astype(np.uint64)
        keys = np.where(walking, _mix(keys, np.uint64(_CHILD) + branch), keys)
    return keys


def _mix(keys: WordArray, purpose: WordArray | np.uint64 | int) -> WordArray:
    """Mix keys with a purpose into fresh 64 bits: the finaliser of SplitMix64."""
    z = keys + np.asarray(purpose, dtype=np.uint64) * np.full(1, _GOLDEN)  # arrays wrap around silently
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)), dtype=np.uint64)


def uniform_of(keys: WordArray, purpose: int) -> FloatArray:
    """Return a number from [0, 1) for every key, always the same for the same purpose."""
    return np.asarray((_mix(keys, purpose) >> np.uint64(11)) * 2.0**-53)


@dataclass(frozen=True)
class SmoothForest(PublishedForest):
    """Random trees given by their seeds, and the labels of the leaves that held training rows.

    Parameters
    ----------
    seeds : ndarray of uint64
        Keys of the roots.
    leaves : ndarray of uint64
        Sorted keys of the leaves with training rows, of all trees.
    labels : ndarray of int
        Their labels.
    depth : int
        Depth of the trees.
    domain : Domain
        Public facts.
    """

    seeds: WordArray
    leaves: WordArray
    labels: IntArray
    depth: int
    domain: Domain

    def votes(self, X: FloatArray) -> FloatArray:
        """Return the number of trees that name each label."""
        X = checked_rows(X, self.domain)
        total = np.zeros((len(X), self.domain.n_classes))
        for start in range(0, len(X), _BLOCK):
            block = X[start : start + _BLOCK]
            rows = np.arange(start, start + len(block))
            for seed in self.seeds:
                total[
                    rows, self.labels_of(leaf_keys(block, np.full(len(block), seed), self.domain, self.depth))
                ] += 1
        return total

    def labels_of(self, keys: WordArray) -> IntArray:
        """Return the labels of leaves; an empty leaf has a random one, always the same."""
        guess = (uniform_of(keys, _LABEL) * self.domain.n_classes).astype(np.int64)
        if not len(self.leaves):
            return guess
        at = np.minimum(np.searchsorted(self.leaves, keys), len(self.leaves) - 1)
        return np.where(self.leaves[at] == keys, self.labels[at], guess)
