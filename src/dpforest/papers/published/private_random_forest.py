"""Private random forest (DP-RF, Patil and Singh 2014) as Consul and Williamson (2021, Section 4) ran it.

Their text says little of DP-RF; their public program (`Baselines/dprf.py` and `dprf_Reg.py` of the repository
DiPriMeFlip_Forest) says everything, and is followed here line by line. Rows are drawn without replacement and
all of them, so that every tree sees every row once; features are in five bins, a child for each; half of a
tree's budget goes to noisy class counts (or means) of all nodes, half to the choice of features, in equal
parts for all levels. The score of a feature is the *mean* Gini impurity of its children, whose sensitivity is
taken to be 1: a feature is then chosen almost at random, whatever the number of rows.

What is false, at budget 1:

* Regression chooses features at the budget of the whole tree, not at the part that is set aside for them.
  One row among 1001 changes the chance of one feature of ten by a log-ratio of 0.46, where depth 1 has 0.25.
* Noise on leaf means has a scale that tells the number of rows, and an empty leaf has none.
* The depth, where the user gives none, follows from the exact number of rows.

True: with a public depth the form for classes is private, and wastes much of its budget.
"""

import numpy as np

from dpforest._arrays import FloatArray, IntArray
from dpforest.papers.published.domain import Domain
from dpforest.papers.published.draws import exponential_choice
from dpforest.papers.published.leaves import mean_noise_scale
from dpforest.papers.published.multiway import (
    BinnedRows,
    MultiwayForest,
    MultiwayTree,
    Node,
    class_scores,
    grow,
    squared_errors,
)

__all__ = ["private_random_forest"]

LEAST_WEIGHT = 1e-12  # that the program adds to every weight of its choice in regression


def private_random_forest(
    X: FloatArray,
    y: IntArray | FloatArray,
    domain: Domain,
    rng: np.random.Generator,
    *,
    epsilon: float,
    n_trees: int = 10,
    max_depth: int | None = None,
    max_features: int | None = None,
) -> MultiwayForest:
    """Fit DP-RF, or its form for regression. Not private.

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
    n_trees : int, default=10
        Number of trees.
    max_depth : int, optional
        Features on a path; by default from the exact number of rows.
    max_features : int, optional
        Features that a node compares; all by default.

    Returns
    -------
    MultiwayForest
        Its votes are the numbers of trees for each class, or mean predictions.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> domain = Domain(np.zeros(2), np.ones(2), np.zeros(2, int), n_classes=2)
    >>> X = rng.random((4000, 2))
    >>> forest = private_random_forest(X, (X[:, 0] > 0.6).astype(int), domain, rng, epsilon=10.0)
    >>> forest.votes(np.array([[0.1, 0.5], [0.9, 0.5]])).argmax(axis=1)
    array([0, 1])
    """
    rows = BinnedRows.of(X, y, domain)
    depth = rows.depth(max_depth)
    part = epsilon / n_trees / 2 / (depth + 1)
    if domain.n_classes:
        trees = [_class_tree(rows, depth, part, max_features, rng) for _ in range(n_trees)]
    else:
        trees = [_mean_tree(rows, domain, depth, part, max_features, rng) for _ in range(n_trees)]
    return MultiwayForest(trees, domain, average=not domain.n_classes)


def _class_tree(
    rows: BinnedRows, depth: int, part: float, max_features: int | None, rng: np.random.Generator
) -> MultiwayTree:
    """Grow a tree whose nodes have a vote for the class with the largest noisy count.

    A node that noise left without any count votes for the second class, and like one with a single class is
    split no further.
    """
    votes = np.eye(rows.n_classes)

    def decide(here: IntArray, at: int, unused: IntArray) -> Node:
        counts = np.maximum(rows.class_counts(here) + rng.laplace(0.0, 1 / part, rows.n_classes), 0.0)
        vote = votes[counts.argmax() if counts.any() else min(1, rows.n_classes - 1)]
        if at >= depth or not len(unused) or (counts > 0).sum() <= 1:
            return Node(vote)
        return Node(vote, _choose(gini_exponents(rows, here, part), unused, max_features, rng))

    return grow(rows, decide)


def gini_exponents(rows: BinnedRows, here: IntArray, epsilon: float) -> FloatArray:
    """Return the exponents of the features: mean impurities, as if one row could move them by 1."""
    return np.asarray(epsilon * class_scores(rows, here, "gini") / (2 * max(len(here), 1)))


def _mean_tree(
    rows: BinnedRows,
    domain: Domain,
    depth: int,
    part: float,
    max_features: int | None,
    rng: np.random.Generator,
) -> MultiwayTree:
    """Grow a tree whose nodes have a noisy mean."""
    width = domain.target_high - domain.target_low
    bound = max(abs(domain.target_low), abs(domain.target_high))
    whole = 2 * part * (depth + 1)  # the budget of the tree

    def decide(here: IntArray, at: int, unused: IntArray) -> Node:
        if len(here):
            scale = mean_noise_scale(np.array(float(len(here))), width, part)
            mean = float(rows.target[here].mean()) + float(rng.laplace(0.0, scale))
        else:  # no mean to add noise to, which is a release of its own
            mean = float(rng.uniform(domain.target_low, domain.target_high))
        if at >= depth or not len(unused):
            return Node(np.array([mean]))
        exponents = error_exponents(rows, here, bound, whole)
        return Node(np.array([mean]), _choose(exponents, unused, max_features, rng))

    return grow(rows, decide)


def error_exponents(rows: BinnedRows, here: IntArray, bound: float, epsilon: float) -> FloatArray:
    """Return the exponents of the features for a target of at most `bound`.

    Mean squared errors with a "sensitivity" of 4 B^2 / n, in which the private n cancels; the weight that is
    added to each makes the choice in large nodes one at random.
    """
    weights = np.exp(-epsilon * squared_errors(rows, here) / (8 * bound**2))
    return np.asarray(np.log(weights + LEAST_WEIGHT))


def _choose(
    exponents: FloatArray, unused: IntArray, max_features: int | None, rng: np.random.Generator
) -> int:
    asked = unused
    if max_features is not None and max_features < len(unused):
        asked = rng.choice(unused, max_features, replace=False)
    return int(asked[exponential_choice(exponents[asked], rng)])
