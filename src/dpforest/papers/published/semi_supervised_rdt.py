"""Semi-supervised random decision trees as published: Jagannathan, Monteleoni and Pillaipakkamnatt, 2013.

"A semi-supervised learning approach to differential privacy", rebuilt from its abstract (private data
augmented by public data) and from what Huang, Lei and Kaban (2022, Sections 2 and 6.3) say: the private
random trees of 2009, which take advantage of unlabelled rows, applied where only labels are private.

What is false in that use, at budget 1: Laplace noise of scale N / epsilon on every class count is made for a
label that comes or goes. A changed label leaves one count of every tree and enters another: log-ratio 2.

True: random splits cost nothing, and neither do nodes that public rows leave whole.
"""

import numpy as np

from dpforest._arrays import FloatArray, IntArray
from dpforest.papers.published.domain import Domain, checked_rows, classified_rows
from dpforest.papers.published.forest import BinaryForest
from dpforest.papers.published.leaves import class_counts
from dpforest.papers.published.trees import BinaryTree, Ranges, Split, grow

__all__ = ["semi_supervised_random_trees"]


def semi_supervised_random_trees(
    X: FloatArray,
    y: IntArray,
    domain: Domain,
    rng: np.random.Generator,
    *,
    epsilon: float,
    unlabelled: FloatArray,
    least_rows: float,
    max_depth: int,
    n_trees: int = 10,
) -> BinaryForest:
    """Fit random trees shaped by public rows, with noisy counts of private labels. Not label-private.

    Parameters
    ----------
    X, y : ndarray
        Labelled rows and their class codes; rows without a known class are left out.
    domain : Domain
        Public facts, of a classification table.
    rng : Generator
        All draws.
    epsilon : float
        The budget that the paper claims to spend.
    unlabelled : ndarray of shape (m, d)
        Unlabelled rows.
    least_rows : float
        A node with fewer rows, labelled or not, is a leaf.
    max_depth : int
        Largest depth.
    n_trees : int, default=10
        Number of trees.

    Returns
    -------
    BinaryForest
        Its votes are noisy counts summed over the trees.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> domain = Domain(np.zeros(2), np.ones(2), np.zeros(2, int), n_classes=2)
    >>> X, D = rng.random((1000, 2)), rng.random((4000, 2))
    >>> y = (X[:, 0] > 0.5).astype(int)
    >>> forest = semi_supervised_random_trees(
    ...     X, y, domain, rng, epsilon=2.0, unlabelled=D, least_rows=200, max_depth=8
    ... )
    >>> forest.votes(np.array([[0.1, 0.5], [0.9, 0.5]])).argmax(axis=1)
    array([0, 1])
    """
    known, labels = classified_rows(X, y, domain, "class counts")
    everybody = np.concatenate([known, checked_rows(unlabelled, domain)])
    trees = []
    for _ in range(n_trees):
        tree = _shaped_tree(everybody, domain, least_rows, max_depth, rng)
        counts = class_counts(tree, known, labels, domain.n_classes)
        trees.append(tree.with_values(counts + rng.laplace(0.0, n_trees / epsilon, counts.shape)))
    return BinaryForest(trees, domain, average=False)


def _shaped_tree(
    X: FloatArray, domain: Domain, least_rows: float, max_depth: int, rng: np.random.Generator
) -> BinaryTree:
    """Split at random within what is left of the domain, while there are public rows."""

    def choose(rows: IntArray, depth: int, ranges: Ranges) -> Split | None:
        features = ranges.splittable()
        if depth >= max_depth or len(rows) < least_rows or not len(features):
            return None
        feature = int(rng.choice(features))
        if not domain.nominal[feature]:
            return Split(feature, float(rng.uniform(ranges.low[feature], ranges.high[feature])))
        left = ranges.categories[feature]
        inside = rng.random(len(left)) < 0.5
        inside[rng.permutation(len(left))[:2]] = True, False  # a category on both sides
        return Split(feature, categories=left[inside])

    return grow(X, domain, choose, closed=False)
