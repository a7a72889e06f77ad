"""Private extremely random trees (DP-ERT) as Consul and Williamson (2020, 2021) ran them.

They name Bojarski and others (2014) as the source and say that leaves have means for regression; the rest is
told by their program (`RandForest_DP.py` and `RandForest_DP_Class.py` of the repository DiPriMeFlip_Forest),
which is followed here. It is not Algorithm 2 of 2014 (`random_trees`): thresholds are drawn from what the
path has left of a range, nominal features are cut into two random sets of categories, noise has the scale k /
epsilon, negative counts are set to zero, and shares are averaged. The program is called with twice the
budget, of which it spends one half.

What is false: a leaf without rows has a share, or mean, at random and no noise. A noisy share is 0 or 1
wherever a count is negative, a random one never. Noise on leaf means has a scale that tells the number of
rows.

True: for classes, if leaves without rows had noise.
"""

import numpy as np

from dpforest._arrays import FloatArray, IntArray
from dpforest.papers.published.domain import Domain, labelled_rows
from dpforest.papers.published.draws import between
from dpforest.papers.published.forest import BinaryForest
from dpforest.papers.published.leaves import class_counts, noisy_means
from dpforest.papers.published.trees import Ranges, Split, grow

__all__ = ["private_extra_trees"]


def private_extra_trees(
    X: FloatArray,
    y: IntArray | FloatArray,
    domain: Domain,
    rng: np.random.Generator,
    *,
    epsilon: float,
    n_trees: int = 10,
    max_depth: int = 5,
) -> BinaryForest:
    """Fit DP-ERT. Not private.

    Parameters
    ----------
    X, y : ndarray
        Rows and class codes, or targets; rows without a known one are left out.
    domain : Domain
        Public facts.
    rng : Generator
        All draws.
    epsilon : float
        The budget that the paper claims to spend, an equal part in each tree.
    n_trees, max_depth : int
        Size of the forest.

    Returns
    -------
    BinaryForest
        Its votes are class shares averaged over the trees, or mean predictions.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> domain = Domain(np.zeros(2), np.ones(2), np.zeros(2, int), n_classes=2)
    >>> X = rng.random((4000, 2))
    >>> forest = private_extra_trees(X, (X[:, 0] > 0.5).astype(int), domain, rng, epsilon=5.0)
    >>> forest.votes(np.array([[0.1, 0.5], [0.9, 0.5]])).argmax(axis=1)
    array([0, 1])
    """
    X, known = labelled_rows(X, y, domain)
    part = epsilon / n_trees

    def choose(rows: IntArray, at: int, ranges: Ranges) -> Split | None:
        features = ranges.splittable()
        if at >= max_depth or not len(features):
            return None
        return random_split(int(rng.choice(features)), ranges, rng)

    trees = []
    for _ in range(n_trees):
        tree = grow(X, domain, choose, closed=False)
        if domain.n_classes:
            counts = class_counts(tree, X, known.astype(np.int64), domain.n_classes)
            trees.append(tree.with_values(noisy_shares(counts, part, rng)))
        else:
            target = domain.target_low, domain.target_high
            means = noisy_means(tree, X, known.astype(np.float64), target, target[1] - target[0], part, rng)
            trees.append(tree.with_values(means))
    return BinaryForest(trees, domain, average=True)


def random_split(feature: int, ranges: Ranges, rng: np.random.Generator) -> Split:
    """Cut what is left of a feature at a random place, or into two random sets of categories."""
    if feature not in ranges.categories:
        return Split(feature, between(ranges.low[feature], ranges.high[feature], rng))
    left = ranges.categories[feature]
    number = int(rng.integers(1, 2 ** (len(left) - 1)))  # of all sets without the last category, not empty
    return Split(feature, categories=left[(number >> np.arange(len(left)) & 1).astype(np.bool_)])


def noisy_shares(counts: FloatArray, epsilon: float, rng: np.random.Generator) -> FloatArray:
    """Return class shares of leaves: of noisy counts, equal if none is positive, random without rows.

    Examples
    --------
    >>> noisy_shares(np.array([[3.0, 1.0]]), 1e9, np.random.default_rng(0)).round(6)
    array([[0.75, 0.25]])
    """
    noisy = np.maximum(counts + rng.laplace(0.0, 1 / epsilon, counts.shape), 0.0)
    noisy[~noisy.any(axis=1)] = 1.0
    empty = np.flatnonzero(~counts.any(axis=1))
    noisy[empty] = rng.dirichlet(np.ones(counts.shape[1]), len(empty))
    return np.asarray(noisy / noisy.sum(axis=1, keepdims=True))
