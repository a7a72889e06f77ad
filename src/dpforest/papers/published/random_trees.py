"""Random decision trees with noisy leaf counts as published: Bojarski et al., 2014.

"Differentially- and non-differentially-private random decision trees", Algorithm 2 with the three voting
rules of Algorithm 1, noise as defined in Section 3.1, budget of Section 6.

What is false:

* Lap(0, lambda) is defined by its standard deviation, so noise of "k / eta" has scale k / (sqrt(2) eta) and
  costs sqrt(2) eta: 0.194 for the paper's 0.137. (The density printed beside it and the eta / k of Algorithm
  2 are slips; read as a scale, eta / k would cost 3219.)
* eta = 1000 / n depends on the private n: for raw noisy counts, 7312 rows and one more differ by a log-ratio
  of 0.264 in the event that a count exceeds 10000, and by more beyond.
* The errors of Table 1 belong to the height and number of trees with the smallest validation error, out of
  165 forests fitted to private rows; that search is not charged, and a single fit does not reach them.

True: with scale k / eta and eta public the method is private. Attributes and thresholds are drawn uniformly,
thresholds from the whole public range. The paper has binary labels and, among discrete attributes, binary
ones: with more classes the shares of a failed leaf are drawn uniformly from the simplex, and a nominal
attribute asks for one of its categories at random.

The regression form is that of Consul and Williamson (2021, Section 4, DP-ERT): means in the leaves, with
noise whose scale is divided by the private number of rows; the mean of the trees predicts. `extra_trees` has
DP-ERT as they ran it.
"""

import math
from typing import Literal

import numpy as np

from dpforest._arrays import FloatArray, IntArray
from dpforest.papers.published.domain import Domain, labelled_rows
from dpforest.papers.published.forest import BinaryForest
from dpforest.papers.published.leaves import class_counts, noisy_means
from dpforest.papers.published.trees import LEAF, BinaryTree

__all__ = ["Voting", "random_decision_trees"]

Voting = Literal["majority", "threshold", "probabilistic"]
Negative = Literal["random", "zero"]
ROWS_TIMES_BUDGET = 1000  # Section 6: eta = 1000 / n


def random_decision_trees(
    X: FloatArray,
    y: IntArray | FloatArray,
    domain: Domain,
    rng: np.random.Generator,
    *,
    n_trees: int,
    max_depth: int,
    epsilon: float | None = None,
    voting: Voting = "majority",
    negative: Negative = "random",
) -> BinaryForest:
    """Fit random trees with noisy counts as published. Not private.

    Parameters
    ----------
    X, y : ndarray
        Rows and class codes, or targets; rows without a known one are left out.
    domain : Domain
        Public facts.
    rng : Generator
        All draws.
    n_trees, max_depth : int
        k and h.
    epsilon : float, optional
        eta, the budget that the paper claims to spend; by default 1000 over the exact number of rows.
    voting : {"majority", "threshold", "probabilistic"}
        How trees are combined.
    negative : {"random", "zero"}
        What becomes of a leaf with a negative count: its shares are random, as printed, or such counts are
        set to zero, a likely reading of what was run (shares are random only without a positive count).

    Returns
    -------
    BinaryForest
        Its votes are numbers of trees for "majority", otherwise mean shares: "threshold" predicts the
        largest, "probabilistic" draws a class with these probabilities, which is left to the caller.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> domain = Domain(np.zeros(2), np.ones(2), np.zeros(2, int), n_classes=2)
    >>> X = rng.random((4000, 2))
    >>> y = (X[:, 0] > 0.5).astype(int)
    >>> forest = random_decision_trees(X, y, domain, rng, epsilon=5.0, n_trees=15, max_depth=6)
    >>> forest.votes(np.array([[0.1, 0.5], [0.9, 0.5]])).argmax(axis=1)
    array([0, 1])
    """
    if voting not in ("majority", "threshold", "probabilistic"):
        raise ValueError(f"unknown voting rule {voting!r}.")
    X, known = labelled_rows(X, y, domain)
    eta = budget_from_rows(len(X)) if epsilon is None else epsilon
    trees = []
    for _ in range(n_trees):
        tree = random_tree(domain, max_depth, rng)
        if not domain.n_classes:
            target = domain.target_low, domain.target_high
            means = noisy_means(
                tree, X, known.astype(np.float64), target, target[1] - target[0], eta / n_trees, rng
            )
            trees.append(tree.with_values(means))
            continue
        counts = class_counts(tree, X, known.astype(np.int64), domain.n_classes)
        noisy = counts + rng.laplace(0.0, noise_scale(n_trees, eta), counts.shape)
        kept = noisy if negative == "random" else np.maximum(noisy, 0.0)
        trees.append(tree.with_values(leaf_values(kept, voting, rng)))
    return BinaryForest(trees, domain, average=not domain.n_classes or voting != "majority")


def budget_from_rows(n_rows: int) -> float:
    """Section 6: eta, from the private number of rows.

    Examples
    --------
    >>> round(budget_from_rows(7312), 3)
    0.137
    """
    return ROWS_TIMES_BUDGET / max(n_rows, 1)


def noise_scale(n_trees: int, eta: float) -> float:
    """Return the scale of Laplace noise with standard deviation k / eta.

    Examples
    --------
    >>> round(21 / noise_scale(21, 0.137), 3)
    0.194
    """
    return n_trees / eta / math.sqrt(2)


def leaf_values(noisy_counts: FloatArray, voting: Voting, rng: np.random.Generator) -> FloatArray:
    """Return what every leaf adds to the votes: one vote for its largest share, or its shares."""
    shares = leaf_shares(noisy_counts, rng)
    return np.eye(shares.shape[1])[shares.argmax(axis=1)] if voting == "majority" else shares


def leaf_shares(noisy_counts: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return theta of every leaf: shares of the noisy counts, random ones if any is negative or all are zero.

    Examples
    --------
    >>> leaf_shares(np.array([[3.0, 1.0], [9.0, -1.0]]), np.random.default_rng(0)).round(2)
    array([[0.75, 0.25],
           [0.4 , 0.6 ]])
    """
    total = noisy_counts.sum(axis=1, keepdims=True)
    failed = (noisy_counts < 0).any(axis=1) | (total[:, 0] == 0)
    shares = noisy_counts / np.where(failed[:, None], 1.0, total)
    shares[failed] = rng.dirichlet(np.ones(noisy_counts.shape[1]), int(failed.sum()))
    return shares


def random_tree(domain: Domain, height: int, rng: np.random.Generator) -> BinaryTree:
    """Draw a complete tree: attributes uniformly, thresholds uniformly in their whole range."""
    inner, nodes = 2**height - 1, 2 ** (height + 1) - 1
    feature = np.full(nodes, LEAF)
    feature[:inner] = drawn = rng.integers(domain.n_features, size=inner)
    threshold = np.full(nodes, np.nan)
    threshold[:inner] = rng.uniform(domain.low[drawn], domain.high[drawn])
    left_set = np.full(nodes, -1)
    category = rng.integers(np.maximum(domain.n_categories[drawn], 1))
    left_set[:inner] = np.where(domain.nominal[drawn], category, -1)
    node = np.arange(nodes)
    return BinaryTree(
        feature=feature,
        threshold=threshold,
        left_set=left_set,
        left=2 * node + 1,
        right=2 * node + 2,
        sets=np.eye(domain.n_codes, dtype=np.bool_),
        closed=False,
        values=np.zeros((nodes, domain.n_classes)),
    )
