"""Ensembles of median trees with noisy label counts as published: Huang, Lei and Kaban, 2022.

"Noise-efficient learning of differentially private partitioning machine ensembles", Algorithm 1 (trees),
Algorithm 2 (supervised), Algorithm 3 (semi-supervised, settings I and II) and Algorithm 4 (transductive).

What is false, at budget 1 unless said:

* Candidates for a median are drawn between the smallest and the largest value of the node. Eleven zeros: the
  threshold is 0. One record more at 1: it is positive, with probability 1.
* A node with at most ten rows is not split. Ten rows make a leaf, eleven a split, with probability 1.
* The rows are shared out in equal parts: with ten trees and one more record the log-ratio reaches 2.91.
* Setting II protects labels, and a changed label moves two counts: log-ratio 2.
* Algorithm 4 in setting I grows all its trees from all rows, each at the full budget, and fills the leaves of
  every tree of its second ensemble with all unlabelled rows: 14.9 with five trees in each.
* In setting I somebody with a labelled and an unlabelled record is charged once and pays twice.

True: the utility by rank and its exponent (equation 5), for public candidates. Algorithm 1 as printed hands
the whole budget to every level, which costs as many times as there are levels (``levels="whole"``); unless
asked for, the budgets of equation 7, which grow by 3/2 per level and add up, are used, as the text demands.
Where the paper is silent: 100 candidates per
median; values are counted with multiplicity; a category is split from all others. Regression, which the paper
mentions without a form, adds Laplace noise of scale (high - low)/(N epsilon) to leaf means, with the flaw of
such means: N is private.
"""

from typing import Literal, NamedTuple

import numpy as np

from dpforest._arrays import FloatArray, IntArray
from dpforest.papers.published.domain import Domain, checked_rows, labelled_rows
from dpforest.papers.published.draws import equal_parts, exponential_choice
from dpforest.papers.published.forest import BinaryForest
from dpforest.papers.published.leaves import class_counts, noisy_means
from dpforest.papers.published.trees import BinaryTree, Ranges, Split, grow

__all__ = ["partitioning_ensemble", "transductive_ensemble"]

SMALLEST_SPLIT = 11  # rows; Algorithm 1 makes leaves of ten and fewer
N_CANDIDATES = 100
GROWTH = 1.5
Medians = Literal["private", "true", "random"]
Levels = Literal["geometric", "whole"]


class Labelled(NamedTuple):
    """Rows with their targets."""

    X: FloatArray
    y: IntArray | FloatArray


def partitioning_ensemble(
    X: FloatArray,
    y: IntArray | FloatArray,
    domain: Domain,
    rng: np.random.Generator,
    *,
    epsilon: float,
    n_trees: int = 10,
    max_depth: int | None = None,
    split_share: float = 0.5,
    unlabelled: FloatArray | None = None,
    label_only: bool = False,
    medians: Medians = "private",
    all_labels: bool = False,
    repeat_features: bool = True,
    levels: Levels = "geometric",
) -> BinaryForest:
    """Fit a supervised or semi-supervised ensemble as published. Not private.

    Parameters
    ----------
    X, y : ndarray
        Labelled rows and their targets; rows without a known target are left out.
    domain : Domain
        Public facts.
    rng : Generator
        All draws.
    epsilon : float
        The budget that the paper claims to spend.
    n_trees : int, default=10
        N.
    max_depth : int, optional
        k, by default the number of features.
    split_share : float, default=0.5
        Share of the budget for splits in Algorithm 2, which has one half; not used by the others.
    unlabelled : ndarray of shape (m, d), optional
        Unlabelled rows D. Without them and without `label_only` this is Algorithm 2; with them it is
        Algorithm 3 in setting I, trees from D and labels from X, each at the whole budget.
    label_only : bool, default=False
        Algorithm 3 in setting II: true medians of all rows, labels at the whole budget.
    medians : {"private", "true", "random"}, default="private"
        The two others are what Figure 1 compares private medians with.
    all_labels : bool, default=False
        Give every tree all labels at the whole budget: not what is printed, but what fits some figures.
    repeat_features : bool, default=True
        Whether a path may draw a feature again; Section 6.1 says so of trees deeper than there are features.
    levels : {"geometric", "whole"}, default="geometric"
        Budgets of the levels: those of equation 7, or the whole one for each, as Algorithm 1 is printed.

    Returns
    -------
    BinaryForest
        Its votes are noisy counts summed over the trees, or mean predictions.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> domain = Domain(np.zeros(2), np.ones(2), np.zeros(2, int), n_classes=2)
    >>> X = rng.random((4000, 2))
    >>> forest = partitioning_ensemble(X, (X[:, 0] > 0.5).astype(int), domain, rng, epsilon=2.0, max_depth=5)
    >>> forest.votes(np.array([[0.1, 0.5], [0.9, 0.5]])).argmax(axis=1)
    array([0, 1])
    """
    labelled = Labelled(*labelled_rows(X, y, domain))
    depth = domain.n_features if max_depth is None else max_depth
    parts = [labelled] * n_trees if all_labels else _parts(labelled, n_trees, rng)
    others = np.empty((0, domain.n_features)) if unlabelled is None else checked_rows(unlabelled, domain)
    if label_only:
        everybody = np.concatenate([labelled.X, others])
        sources, structure, leaves = [everybody] * n_trees, None, epsilon
    elif unlabelled is None:
        sources, structure, leaves = (
            [part.X for part in parts],
            level_budgets(split_share * epsilon, depth, levels),
            (1 - split_share) * epsilon,
        )
    else:
        sources = [others[part] for part in equal_parts(len(others), n_trees, rng)]
        structure, leaves = level_budgets(epsilon, depth, levels), epsilon
    if medians != "private":
        structure = None if medians == "true" else np.zeros(depth)
    trees = []
    for source, part in zip(sources, parts, strict=True):
        tree = build_tree(source, domain, depth, structure, rng, repeat_features)
        trees.append(distribute_labels(tree, part, domain, leaves, rng))
    return BinaryForest(trees, domain, average=not domain.n_classes)


def transductive_ensemble(
    X: FloatArray,
    y: IntArray | FloatArray,
    domain: Domain,
    rng: np.random.Generator,
    *,
    epsilon: float,
    unlabelled: FloatArray,
    n_first: int = 10,
    n_second: int = 10,
    max_depth: int | None = None,
    label_only: bool = False,
    all_labels: bool = False,
) -> BinaryForest:
    """Fit Algorithm 4: one ensemble labels the unlabelled rows, a second learns from them. Not private.

    Parameters
    ----------
    X, y, domain, rng, epsilon, max_depth
        As in `partitioning_ensemble`.
    unlabelled : ndarray of shape (m, d)
        Unlabelled rows D.
    n_first, n_second : int, default=10
        N1 and N2. The paper does not tell which it used.
    label_only : bool, default=False
        By default setting I as printed, private medians at the whole budget in every tree. With true medians
        instead this is what the text and the comparisons speak of. Noise is added in both ensembles either
        way.
    all_labels : bool, default=False
        As in `partitioning_ensemble`.

    Returns
    -------
    BinaryForest
        The trees of both ensembles.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> domain = Domain(np.zeros(2), np.ones(2), np.zeros(2, int), n_classes=2)
    >>> X, D = rng.random((500, 2)), rng.random((2000, 2))
    >>> y = (X[:, 0] > 0.5).astype(int)
    >>> forest = transductive_ensemble(X, y, domain, rng, epsilon=2.0, unlabelled=D, max_depth=5)
    >>> len(forest.trees), forest.votes(np.array([[0.1, 0.5], [0.9, 0.5]])).argmax(axis=1)
    (20, array([0, 1]))
    """
    labelled = Labelled(*labelled_rows(X, y, domain))
    others = checked_rows(unlabelled, domain)
    depth = domain.n_features if max_depth is None else max_depth
    structure = None if label_only else level_budgets(epsilon, depth)
    everybody = np.concatenate([labelled.X, others])

    def fill(rows: Labelled) -> BinaryTree:
        tree = build_tree(everybody, domain, depth, structure, rng)
        return distribute_labels(tree, rows, domain, epsilon, rng)

    average = not domain.n_classes
    first = [fill(part) for part in ([labelled] * n_first if all_labels else _parts(labelled, n_first, rng))]
    scores = BinaryForest(first, domain, average).votes(others)
    guessed = Labelled(others, scores.argmax(axis=1) if domain.n_classes else scores[:, 0])
    second = [fill(guessed) for _ in range(n_second)]
    return BinaryForest(first + second, domain, average)


def level_budgets(epsilon: float, depth: int, levels: Levels = "geometric") -> FloatArray:
    """Equation 7: budgets of the levels, growing by 3/2 and adding up to `epsilon`; or `epsilon` for each.

    Examples
    --------
    >>> level_budgets(1.0, 3).round(4)
    array([0.2105, 0.3158, 0.4737])
    >>> level_budgets(1.0, 3, "whole")
    array([1., 1., 1.])
    """
    if levels == "whole":
        return np.full(depth, epsilon)
    shares = GROWTH ** np.arange(depth)
    return np.asarray(epsilon * shares / shares.sum())


def build_tree(
    X: FloatArray,
    domain: Domain,
    depth: int,
    budgets: FloatArray | None,
    rng: np.random.Generator,
    repeat_features: bool = True,
) -> BinaryTree:
    """Algorithm 1: split at private medians of random features, true medians if there are no budgets.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Rows that decide about the splits.
    domain : Domain
        Public facts.
    depth : int
        Largest depth.
    budgets : ndarray of shape (depth,) or None
        Budget of every level; None for infinite ones.
    rng : Generator
        All draws.
    repeat_features : bool
        Whether a path may draw a feature again.
    """

    def choose(rows: IntArray, at: int, ranges: Ranges) -> Split | None:
        allowed = np.arange(domain.n_features) if repeat_features else _not_cut_yet(ranges, domain)
        if at >= depth or len(rows) < SMALLEST_SPLIT or not len(allowed):
            return None
        feature = int(allowed[rng.integers(len(allowed))])
        values = X[rows, feature]
        epsilon = None if budgets is None else float(budgets[at])
        if not domain.nominal[feature]:
            return Split(feature, private_median(values, epsilon, rng))
        counts = np.bincount(values.astype(np.int64), minlength=domain.n_codes)[
            : domain.n_categories[feature]
        ]
        return Split(feature, categories=np.array([_middle(counts, len(rows), epsilon, rng)]))

    return grow(X, domain, choose, closed=True)


def _not_cut_yet(ranges: Ranges, domain: Domain) -> IntArray:
    """Features of which the splits above a node have left everything."""
    cut = (ranges.low != domain.low) | (ranges.high != domain.high)
    for feature, categories in ranges.categories.items():
        cut[feature] = len(categories) < domain.n_categories[feature]
    return np.flatnonzero(~cut)


def private_median(values: FloatArray, epsilon: float | None, rng: np.random.Generator) -> float:
    """Draw candidates between the smallest and the largest value and choose one by its rank."""
    if epsilon is None:
        return float(np.median(values))
    candidates = rng.uniform(values.min(), values.max(), N_CANDIDATES)
    ranks = np.searchsorted(np.sort(values), candidates, side="right")
    return float(candidates[_middle(ranks, len(values), epsilon, rng)])


def rank_exponents(ranks: IntArray, n: int, epsilon: float) -> FloatArray:
    """Equation 5: `-epsilon * |rank - n/2|`.

    Examples
    --------
    >>> rank_exponents(np.array([2, 5]), 10, 1.0)
    array([-3., -0.])
    """
    return np.asarray(-epsilon * np.abs(ranks - n / 2))


def distribute_labels(
    tree: BinaryTree, rows: Labelled, domain: Domain, epsilon: float, rng: np.random.Generator
) -> BinaryTree:
    """Procedure DistributeLabels: labels counted in the leaves, with Laplace noise of scale 1 / epsilon."""
    if domain.n_classes:
        counts = class_counts(tree, rows.X, rows.y.astype(np.int64), domain.n_classes)
        return tree.with_values(counts + rng.laplace(0.0, 1 / epsilon, counts.shape))
    target = (domain.target_low, domain.target_high)
    width = target[1] - target[0]
    y = rows.y.astype(np.float64)
    return tree.with_values(noisy_means(tree, rows.X, y, target, width, epsilon, rng))


def _middle(ranks: IntArray, n: int, epsilon: float | None, rng: np.random.Generator) -> int:
    if epsilon is None:
        return int(np.abs(ranks - n / 2).argmin())
    return exponential_choice(rank_exponents(ranks, n, epsilon), rng)


def _parts(rows: Labelled, n_parts: int, rng: np.random.Generator) -> list[Labelled]:
    return [Labelled(rows.X[part], rows.y[part]) for part in equal_parts(len(rows.X), n_parts, rng)]
