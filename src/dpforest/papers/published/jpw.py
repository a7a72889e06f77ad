"""Random decision trees with noisy leaf counts as published: Jagannathan, Pillaipakkamnatt and Wright, 2012.

"A practical differentially private random decision tree classifier", the algorithm Private-RDT, rebuilt from
the abstract and from the account of Fletcher and Islam (2017, Sections 3.1 and 5.2).

What is false: the depth, min(m / 2, log_b n - 1), follows from the exact number of rows (the caller computes
it). With features of four values 1023 rows make trees of depth 3, 1024 of depth 4, with probability 1.

True: with a public depth the method is private. The trees are random, a row is in one leaf of each of the N
trees, and Laplace noise of scale N / epsilon on every count, empty leaves included, costs epsilon.

As in `smooth_sensitivity` a tree is a function of its seed, with one child per category. So is the noise of a
leaf: a leaf that no training row reached has its noise all the same.
"""

from dataclasses import dataclass

import numpy as np

from dpforest._arrays import FloatArray, IntArray, WordArray
from dpforest.papers.published.domain import Domain, checked_rows, classified_rows
from dpforest.papers.published.forest import PublishedForest
from dpforest.papers.published.smooth_sensitivity import leaf_keys, uniform_of

__all__ = ["NoisyCountForest", "noisy_count_forest"]

_NOISE = 2**20  # what a number mixed from a key is for: beyond all categories


def noisy_count_forest(
    X: FloatArray,
    y: IntArray,
    domain: Domain,
    rng: np.random.Generator,
    *,
    epsilon: float,
    max_depth: int,
    n_trees: int = 10,
) -> "NoisyCountForest":
    """Fit random trees with noisy counts as published. Not private if the depth follows from the rows.

    Parameters
    ----------
    X, y : ndarray
        Rows and class codes; rows without a known class are left out.
    domain : Domain
        Public facts, of a classification table.
    rng : Generator
        Seeds of the trees.
    epsilon : float
        The budget that the paper claims to spend.
    max_depth : int
        Features that a path draws; the paper takes min(m / 2, log_b n - 1).
    n_trees : int, default=10
        N.

    Returns
    -------
    NoisyCountForest
        Its votes are noisy counts summed over the trees.

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
    seeds = rng.integers(0, 2**64, size=n_trees, dtype=np.uint64)
    met = [leaf_keys(X, np.full(len(X), seed), domain, max_depth) for seed in seeds]
    leaves, slot = np.unique(np.concatenate(met), return_inverse=True)
    codes = slot * domain.n_classes + np.tile(labels, n_trees)
    counts = np.bincount(codes, minlength=len(leaves) * domain.n_classes).astype(np.float64)
    return NoisyCountForest(
        seeds, leaves, counts.reshape(-1, domain.n_classes), max_depth, n_trees / epsilon, domain
    )


@dataclass(frozen=True)
class NoisyCountForest(PublishedForest):
    """Random trees given by their seeds, and the class counts of the leaves that held training rows.

    Parameters
    ----------
    seeds : ndarray of uint64
        Keys of the roots.
    leaves : ndarray of uint64
        Sorted keys of the leaves with training rows, of all trees.
    counts : ndarray of float, shape (n_leaves, n_classes)
        Their class counts, without noise.
    depth : int
        Depth of the trees.
    scale : float
        Scale of the Laplace noise.
    domain : Domain
        Public facts.
    """

    seeds: WordArray
    leaves: WordArray
    counts: FloatArray
    depth: int
    scale: float
    domain: Domain

    def votes(self, X: FloatArray) -> FloatArray:
        """Return the noisy class counts of the leaves that each row meets, summed over the trees."""
        X = checked_rows(X, self.domain)
        total = np.zeros((len(X), self.domain.n_classes))
        for seed in self.seeds:
            total += self.noisy_counts(leaf_keys(X, np.full(len(X), seed), self.domain, self.depth))
        return total

    def noisy_counts(self, keys: WordArray) -> FloatArray:
        """Return the noisy class counts of leaves."""
        columns = [uniform_of(keys, _NOISE + label) for label in range(self.domain.n_classes)]
        centred = np.stack(columns, axis=1) + 2.0**-54 - 0.5  # never an end point
        noisy = -self.scale * np.sign(centred) * np.log1p(-2 * np.abs(centred))
        if len(self.leaves):
            at = np.minimum(np.searchsorted(self.leaves, keys), len(self.leaves) - 1)
            noisy += np.where(self.leaves[at] == keys, 1, 0)[:, None] * self.counts[at]
        return np.asarray(noisy)
