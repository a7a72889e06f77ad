"""DiPriMe forests as published: Consul and Williamson, 2020 (first version) and 2021.

"Balance is key: private median splits yield high-utility random trees" (2021), Section 3.1, Algorithms 1 and
2 (DiPriMe, DiPriMeExp, DiPriMeFlip), budgets of Section 4; and its first version, "Differentially private
median forests for regression and classification" (2020), Section 3, Algorithms 1 to 3. `median_splits` holds
the nodes and what is false about them. False about the forest, at budget 1:

* The noise on the mean of a leaf of N targets has scale 2B/(N epsilon), and N is private. {0} and {0, 0}, B =
  1: a released mean beyond 10 has log-ratio 5, beyond t it has t/2. An empty leaf cannot go beyond at all.
* The rows are shared out in equal parts: with ten trees and one more record the log-ratio reaches 2.91.
* The depth follows from the exact number of rows: 15999 rows make trees of depth 5, 16000 of depth 6.
* Thresholds and noise are doubles, whose bits tell the end points and counts they were computed from.

True: the classification leaf. Where the papers are silent: labels are coded as the corners of a simplex, for
two classes -1 and +1, with B = 1; negative counts are set to zero (as in the proof of Theorem 2 of 2021),
a leaf without any count names a class at random, and the forest averages the class shares of the leaves.
"""

import math
from typing import NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from dpforest._arrays import FloatArray
from dpforest.papers.published.domain import Domain, labelled_rows
from dpforest.papers.published.draws import equal_parts
from dpforest.papers.published.forest import BinaryForest
from dpforest.papers.published.leaves import class_counts, noisy_means
from dpforest.papers.published.median_splits import Candidates, Variant, Version
from dpforest.papers.published.trees import BinaryTree, grow

__all__ = ["dipri_me"]

NO_NOISE = 1e9  # stands for an infinite epsilon, which times a score of 0 would be undefined


class Budgets(NamedTuple):
    """How a tree spends its budget: every candidate median, the choice of the attribute, a leaf."""

    median: float
    attribute: float
    leaf: float


def dipri_me(
    X: FloatArray,
    y: NDArray[np.int64] | FloatArray,
    domain: Domain,
    rng: np.random.Generator,
    *,
    epsilon: float,
    variant: Variant = "exponential",
    version: Version = "2021",
    n_trees: int = 10,
    max_depth: int | None = None,
    max_features: int = 5,
    split_share: float = 0.5,
    leaf_rows: float = 25,
    disjoint: bool = True,
) -> BinaryForest:
    """Fit a forest of noisy median trees as published. Not private.

    Parameters
    ----------
    X, y : ndarray
        Rows from `raw_matrix` and `raw_target`; those without a known target are left out.
    domain : Domain
        Public facts.
    rng : Generator
        All draws.
    epsilon : float
        The budget that the paper claims to spend.
    variant : {"uniform", "exponential", "permute_and_flip"}
        DiPriMe, DiPriMeExp or DiPriMeFlip. The first version has only "exponential".
    version : {"2021", "2020", "2020 text"}
        Which of the two papers. The algorithms of the first one are not what its text says (Section 3): there
        medians and attributes have twice the budget, and the score of an attribute grows with the rows.
    n_trees : int, default=10
        N_T.
    max_depth : int, optional
        d_max. By default from the exact number of rows, so that a leaf holds `leaf_rows` on average.
    max_features : int, default=5
        K, the number of candidate attributes of a node. Not used by "uniform".
    split_share : float, default=0.5
        rho, the share of the budget that goes into splits.
    leaf_rows : float, default=25
        Rows per leaf that the depth aims at (Section 4 of 2021; 10 for its smallest dataset).
    disjoint : bool, default=True
        Give each tree an equal part of the rows and the whole budget; otherwise all rows and an n-th of it.

    Returns
    -------
    BinaryForest
        Its votes are class shares averaged over the trees, or mean predictions.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> domain = Domain(np.zeros(2), np.ones(2), np.zeros(2, int), n_classes=2)
    >>> X = rng.random((4000, 2))
    >>> forest = dipri_me(X, (X[:, 0] > 0.6).astype(int), domain, rng, epsilon=5.0, variant="exponential")
    >>> forest.votes(np.array([[0.1, 0.5], [0.9, 0.5]])).argmax(axis=1)
    array([0, 1])
    """
    if variant not in get_args(Variant) or version not in get_args(Version):
        raise ValueError(f"unknown variant {variant!r} or version {version!r}.")
    if version != "2021" and variant != "exponential":
        raise ValueError("the version of 2020 chooses attributes by the exponential mechanism only.")
    X, y = labelled_rows(X, y, domain)
    rows_per_tree = len(X) / n_trees if disjoint else len(X)
    depth = depth_from_rows(rows_per_tree, leaf_rows) if max_depth is None else max_depth
    epsilon = min(epsilon, NO_NOISE)
    per_tree = epsilon if disjoint else epsilon / n_trees
    budgets = divide_budget(per_tree, depth, split_share, variant, version)
    everything = np.arange(len(X))
    parts = equal_parts(len(X), n_trees, rng) if disjoint else [everything] * n_trees
    trees = []
    for part in parts:
        rows, target = X[part], y[part]
        tree = _grow(rows, target, domain, depth, budgets, variant, version, max_features, rng)
        trees.append(tree.with_values(_leaf_values(tree, rows, target, domain, budgets.leaf, version, rng)))
    return BinaryForest(trees, domain, average=True)


def depth_from_rows(rows_per_tree: float, leaf_rows: float = 25) -> int:
    """Return the largest depth, at least 1, whose leaves hold enough rows on average: private, as they are.

    Examples
    --------
    >>> depth_from_rows(15999 / 10), depth_from_rows(16000 / 10)
    (5, 6)
    """
    leaves = rows_per_tree / leaf_rows
    return max(1, math.floor(math.log2(leaves))) if leaves >= 1 else 1


def divide_budget(
    epsilon: float, depth: int, split_share: float, variant: Variant, version: Version = "2021"
) -> Budgets:
    """Return the budgets of Section 4 of 2021, which are those of Algorithm 1 of 2020 too.

    The text of 2020 has twice as much per median and attribute as its pseudo-code, and overspends.

    Examples
    --------
    >>> divide_budget(2.0, 5, 0.5, "exponential")
    Budgets(median=0.1, attribute=0.1, leaf=1.0)
    >>> divide_budget(2.0, 5, 0.5, "uniform")
    Budgets(median=0.2, attribute=0.0, leaf=1.0)
    >>> divide_budget(2.0, 5, 0.5, "exponential", "2020 text")
    Budgets(median=0.2, attribute=0.2, leaf=1.0)
    """
    per_level = split_share * epsilon / max(depth, 1)
    leaf = (1 - split_share) * epsilon
    if variant == "uniform":
        return Budgets(per_level, 0.0, leaf)
    each = per_level if version == "2020 text" else per_level / 2
    return Budgets(each, each, leaf)


def _grow(
    X: FloatArray,
    y: NDArray[np.int64] | FloatArray,
    domain: Domain,
    depth: int,
    budgets: Budgets,
    variant: Variant,
    version: Version,
    max_features: int,
    rng: np.random.Generator,
) -> BinaryTree:
    if domain.n_classes:
        # Corners at squared distance 4, as -1 and +1 have: the squared error of two classes is theirs.
        coded, bound = np.sqrt(2) * np.eye(domain.n_classes)[y.astype(np.int64)], 1.0
    else:
        # Squared errors do not change with the origin; near the middle they lose fewer digits.
        coded = (y - (domain.target_low + domain.target_high) / 2)[:, None]
        bound = largest_target(domain)
    candidates = Candidates(
        X, coded, bound, variant, version, max_features, budgets.median, budgets.attribute, rng
    )
    return grow(
        X,
        domain,
        lambda rows, at, ranges: candidates.choose(rows, ranges) if at < depth else None,
        closed=False,
    )


def largest_target(domain: Domain) -> float:
    """Return B, the largest absolute target."""
    return max(abs(domain.target_low), abs(domain.target_high))


def _leaf_values(
    tree: BinaryTree,
    X: FloatArray,
    y: NDArray[np.int64] | FloatArray,
    domain: Domain,
    epsilon: float,
    version: Version,
    rng: np.random.Generator,
) -> FloatArray:
    if domain.n_classes:
        counts = class_counts(tree, X, y.astype(np.int64), domain.n_classes)
        return class_shares(counts + rng.laplace(0.0, 1 / epsilon, counts.shape), rng)
    target = (domain.target_low, domain.target_high)
    width = 2 * largest_target(domain) if version == "2021" else target[1] - target[0]
    return noisy_means(tree, X, y.astype(np.float64), target, width, epsilon, rng)


def class_shares(noisy_counts: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Turn noisy counts into shares; without a positive count, into a class drawn at random.

    Examples
    --------
    >>> class_shares(np.array([[3.0, 1.0], [2.0, -5.0]]), np.random.default_rng(0))
    array([[0.75, 0.25],
           [1.  , 0.  ]])
    """
    counts = np.maximum(noisy_counts, 0.0)
    empty = np.flatnonzero(~counts.any(axis=1))
    counts[empty, rng.integers(counts.shape[1], size=len(empty))] = 1.0
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))
