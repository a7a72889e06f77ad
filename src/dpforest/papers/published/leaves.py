"""What the leaves of a tree hold: class counts with Laplace noise, or a mean whose noise tells its count.

`median_forest`, `random_trees` and `partitioning` route their rows through a finished tree and ask for these.
"""

import numpy as np

from dpforest._arrays import FloatArray, IntArray
from dpforest.papers.published.trees import BinaryTree

__all__ = ["class_counts", "mean_noise_scale", "noisy_means"]


def class_counts(tree: BinaryTree, X: FloatArray, y: IntArray, n_classes: int) -> FloatArray:
    """Return the number of rows of every class in every leaf, in the order of `tree.leaves`."""
    slots = tree.leaf_of(X) * n_classes + y
    table = np.bincount(slots, minlength=tree.n_nodes * n_classes).reshape(tree.n_nodes, n_classes)
    return table[tree.leaves].astype(np.float64)


def mean_noise_scale(count: FloatArray, width: float, epsilon: float) -> FloatArray:
    """Return the papers' scale of the noise on a mean of `count` targets: `width / (count * epsilon)`.

    The count is private, so the size of the noise is itself a release. With width 2 and epsilon 1 a single
    zero is released with scale 2, two zeros with scale 1: a value beyond 10 is e^5 times likelier before
    the second record came than after.

    Examples
    --------
    >>> mean_noise_scale(np.array([1.0, 2.0]), 2.0, 1.0)
    array([2., 1.])
    """
    return width / (count * epsilon)


def noisy_means(
    tree: BinaryTree,
    X: FloatArray,
    y: FloatArray,
    target: tuple[float, float],
    width: float,
    epsilon: float,
    rng: np.random.Generator,
) -> FloatArray:
    """Return the noisy mean target of every leaf, in the order of `tree.leaves`, as a column.

    Parameters
    ----------
    tree : BinaryTree
        The splits.
    X, y : ndarray
        The rows and their targets.
    target : pair of float
        Range of the target. An empty leaf has no mean and the papers no rule for it; it gets a uniform draw
        from the range, as in the code of Consul and Williamson, which is a release of its own: no value
        beyond the range is possible then.
    width : float
        What the paper takes for the sensitivity of a sum.
    epsilon : float
        Budget of the leaf.
    rng : Generator
        The noise.
    """
    leaf = tree.leaf_of(X)
    count = np.bincount(leaf, minlength=tree.n_nodes)[tree.leaves].astype(np.float64)
    total = np.bincount(leaf, weights=y, minlength=tree.n_nodes)[tree.leaves]
    filled = count > 0
    means = rng.uniform(*target, len(count))
    noise = rng.laplace(0.0, mean_noise_scale(count[filled], width, epsilon))
    means[filled] = total[filled] / count[filled] + noise
    return means[:, None]
