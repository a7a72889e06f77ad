"""Random decision trees with noisy leaf counts as published: Jagannathan, Pillaipakkamnatt and Wright, 2012.

"A practical differentially private random decision tree classifier", the algorithm Private-RDT, as Fletcher
and Islam (2017, Sections 3.1 and 5.2) ran it: ten trees that see all rows, a tenth of the budget in each,
paths of min(m / 2, log_b n - 1) features. How a leaf gets its label is told by their program (an early
version in the repository Smooth_Random_Trees, switch JAG): Laplace noise on every class count, cut to whole
numbers that are not negative, and the class with the largest, of equal ones the one that a row of the leaf
had first. Each tree has one vote. A leaf without rows has a random label.

What is false: the depth, min(m / 2, log_b n - 1), follows from the exact number of rows (the caller computes
it). With features of four values 1023 rows make trees of depth 3, 1024 of depth 4, with probability 1. A leaf
without rows gets no noise: it names each of two labels half of the time, with one row at a budget of 1 the
other label has a log-ratio of 1.45 less.

True: with a public depth, and noise in leaves without rows, the method is private. The trees are random, a
row is in one leaf of each of the N trees, and Laplace noise of scale N / epsilon on every count costs
epsilon.

As in `smooth_sensitivity` a tree is a function of its seed, with one child per category, and so is the label
of a leaf that no training row reached.
"""

import numpy as np

from dpforest._arrays import FloatArray, IntArray
from dpforest.papers.published.domain import Domain, classified_rows
from dpforest.papers.published.smooth_sensitivity import SmoothForest, leaf_keys

__all__ = ["noisy_count_forest"]


def noisy_count_forest(
    X: FloatArray,
    y: IntArray,
    domain: Domain,
    rng: np.random.Generator,
    *,
    epsilon: float,
    max_depth: int,
    n_trees: int = 10,
) -> SmoothForest:
    """Fit random trees with noisy counts as published. Not private if the depth follows from the rows.

    Parameters
    ----------
    X, y : ndarray
        Rows and class codes; rows without a known class are left out.
    domain : Domain
        Public facts, of a classification table.
    rng : Generator
        Seeds of the trees, and noise.
    epsilon : float
        The budget that the paper claims to spend.
    max_depth : int
        Features that a path draws; the paper takes min(m / 2, log_b n - 1).
    n_trees : int, default=10
        N.

    Returns
    -------
    SmoothForest
        Its votes are the numbers of trees for each label.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> domain = Domain(np.zeros(2), np.ones(2), np.zeros(2, int), n_classes=2)
    >>> X = rng.random((4000, 2))
    >>> y = (X[:, 0] > 0.5).astype(int)
    >>> forest = noisy_count_forest(X, y, domain, rng, epsilon=1.0, max_depth=3)
    >>> forest.votes(np.array([[0.1, 0.5], [0.9, 0.5]])).argmax(axis=1)
    array([0, 1])
    """
    X, labels = classified_rows(X, y, domain, "class counts")
    order = rng.permutation(len(X))  # the program shuffles its rows, which matters for equal counts
    X, labels = X[order], labels[order]
    seeds = rng.integers(0, 2**64, size=n_trees, dtype=np.uint64)
    met = [leaf_keys(X, np.full(len(X), seed), domain, max_depth) for seed in seeds]
    leaves, slot = np.unique(np.concatenate(met), return_inverse=True)
    codes = slot * domain.n_classes + np.tile(labels, n_trees)
    n_codes = len(leaves) * domain.n_classes
    counts = np.bincount(codes, minlength=n_codes).reshape(-1, domain.n_classes)
    first = np.full(n_codes, len(X))
    np.minimum.at(first, codes, np.tile(np.arange(len(X)), n_trees))
    named = name_labels(counts, first.reshape(counts.shape), n_trees / epsilon, rng)
    return SmoothForest(seeds, leaves, named, max_depth, domain)


def name_labels(counts: IntArray, first: IntArray, scale: float, rng: np.random.Generator) -> IntArray:
    """Return the class with the largest noisy count of every leaf, of equal ones the one met first.

    Examples
    --------
    >>> counts, first = np.array([[3, 1], [0, 2]]), np.array([[4, 0], [9, 1]])
    >>> name_labels(counts, first, 1e-9, np.random.default_rng(0))
    array([0, 1])
    """
    noisy = np.maximum(np.trunc(counts + rng.laplace(0.0, scale, counts.shape)), 0.0)
    tied = noisy == noisy.max(axis=1, keepdims=True)
    return np.asarray(np.where(tied, first, np.iinfo(np.int64).max).argmin(axis=1))
