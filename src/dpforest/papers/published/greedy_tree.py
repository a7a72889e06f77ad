"""One greedy tree as published: Friedman and Schuster, 2010.

"Data mining with differential privacy", after the first author's program (package `technion.cs`, class
`DiffPrivacyC45`, kept in the repository SimpleExpForest). With n numeric features and d levels all questions
of a path get equal parts of the budget, (2 + n) d + 2 of them: at each level a noisy number of rows, a
threshold for every numeric feature and the choice among the features; at the end the number of rows and the
class counts. Numeric features are cut in two and may be cut again, nominal ones are used once, with a child
for each category.

What is false: thresholds are doubles drawn between values of rows, and their last bits tell which. The bound
on the number of rows that the information gain needs is read off the rows.

True: everything else, if the ranges of the numeric features are public. Pruning uses released counts only.
"""

import math
from dataclasses import dataclass, field
from statistics import NormalDist

import numpy as np

from dpforest._arrays import FloatArray, IntArray
from dpforest.papers.published.domain import Domain, checked_rows, classified_rows
from dpforest.papers.published.draws import between, exponential_choice
from dpforest.papers.published.forest import PublishedForest
from dpforest.papers.published.multiway import LEAF, Criterion, impurity_scores, score_sensitivity
from dpforest.papers.published.trees import Ranges, Split

__all__ = ["GreedyTree", "greedy_tree"]

CONFIDENCE = 0.25  # of the error estimates, as C4.5 has it
TOLERANCE = 0.1  # errors by which a leaf may be worse than the subtree that it replaces


def greedy_tree(
    X: FloatArray,
    y: IntArray,
    domain: Domain,
    rng: np.random.Generator,
    *,
    epsilon: float,
    max_depth: int | None = 5,
    criterion: Criterion = "max_operator",
    pruning: bool = True,
) -> "GreedyTree":
    """Fit the tree of Friedman and Schuster as published. Not private, for its doubles.

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
    max_depth : int, default=5
        Levels of splits.
    criterion : {"gini", "max_operator", "information_gain"}
        Score of a split.
    pruning : bool, default=True
        Prune as C4.5 does, by calibrated noisy counts.

    Returns
    -------
    GreedyTree
        Its votes are the class shares of the leaves.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> domain = Domain(np.zeros(2), np.ones(2), np.zeros(2, int), n_classes=2)
    >>> X = rng.random((4000, 2))
    >>> tree = greedy_tree(X, (X[:, 0] > 0.5).astype(int), domain, rng, epsilon=10.0)
    >>> tree.votes(np.array([[0.1, 0.5], [0.9, 0.5]])).argmax(axis=1)
    array([0, 1])
    """
    X, labels = classified_rows(X, y, domain, "class counts")
    depth = 5 if max_depth is None else max_depth
    n_numeric = int((~domain.nominal).sum())
    growing = _Growing(X, labels, domain, rng, epsilon / ((2 + n_numeric) * depth + 2), criterion)
    growing.grow(depth)
    growing.calibrate()
    if pruning:
        growing.prune()
    return growing.finished()


@dataclass
class _Node:
    """A node: its noisy number of rows, and what came of it; calibrated counts, and the shares of a leaf."""

    n_rows: float
    split: Split | None = None
    children: list["_Node"] = field(default_factory=list)
    counts: FloatArray = field(default_factory=lambda: np.zeros(0))
    vote: FloatArray = field(default_factory=lambda: np.zeros(0))


class _Growing:
    """What a tree is grown from; `part` is the budget of one question."""

    def __init__(
        self,
        X: FloatArray,
        labels: IntArray,
        domain: Domain,
        rng: np.random.Generator,
        part: float,
        criterion: Criterion,
    ) -> None:
        self.X, self.labels, self.domain, self.rng, self.part = X, labels, domain, rng, part
        self.criterion = criterion
        self.slope = part / (2 * score_sensitivity(criterion, len(X)))

    def grow(self, depth: int) -> None:
        self.root = self._node(np.arange(len(self.X)), depth, Ranges.whole(self.domain))

    def _node(self, here: IntArray, depth: int, ranges: Ranges) -> _Node:
        node = _Node(max(len(here) + self._noise(), 0.0))
        candidates = ranges.splittable()
        if depth <= 0 or not len(candidates) or not self._is_large(node.n_rows, ranges, candidates):
            counts = np.bincount(self.labels[here], minlength=self.domain.n_classes)
            noise = self.rng.laplace(0.0, 1 / self.part, self.domain.n_classes)
            node.vote = shares(counts + noise)
            return node
        splits = [self._split(here, int(feature), ranges) for feature in candidates]
        scores = np.array([self._score(here, split) for split in splits])
        split = node.split = splits[exponential_choice(self.slope * scores, self.rng)]
        value = self.X[here, split.feature]
        if self.domain.nominal[split.feature]:
            used = {**ranges.categories, split.feature: ranges.categories[split.feature][:1]}
            inside = Ranges(ranges.low, ranges.high, used)  # one category left: not to be split again
            n_codes = int(self.domain.n_categories[split.feature]) + 2
            node.children = [self._node(here[value == code], depth - 1, inside) for code in range(n_codes)]
        else:
            left, right = ranges.divide(split)
            below = value < split.threshold
            node.children = [
                self._node(here[below], depth - 1, left),
                self._node(here[~below], depth - 1, right),
            ]
        return node

    def _noise(self) -> float:
        return float(self.rng.laplace(0.0, 1 / self.part))

    def _is_large(self, n_rows: float, ranges: Ranges, candidates: IntArray) -> bool:
        """Whether each class could have more rows in each child than its count has noise."""
        most = max(len(ranges.categories.get(int(feature), (0, 1))) for feature in candidates)
        return n_rows / (most * self.domain.n_classes) > math.sqrt(2) / self.part

    def _split(self, here: IntArray, feature: int, ranges: Ranges) -> Split:
        """Return the split of a feature; the threshold of a numeric one is drawn, at the price of a part."""
        if self.domain.nominal[feature]:
            return Split(feature)
        order = here[np.argsort(self.X[here, feature], kind="stable")]
        edges = np.concatenate([[ranges.low[feature]], self.X[order, feature], [ranges.high[feature]]])
        width = np.diff(edges)
        left = np.zeros((len(order) + 1, self.domain.n_classes))
        left[np.arange(1, len(order) + 1), self.labels[order]] = 1.0
        left = left.cumsum(axis=0)
        scores = impurity_scores(left, self.criterion) + impurity_scores(left[-1] - left, self.criterion)
        with np.errstate(divide="ignore"):
            interval = exponential_choice(self.slope * scores + np.log(width), self.rng)
        return Split(feature, between(edges[interval], edges[interval + 1], self.rng))

    def _score(self, here: IntArray, split: Split) -> float:
        value, n_classes = self.X[here, split.feature], self.domain.n_classes
        codes = value.astype(np.int64)
        if not self.domain.nominal[split.feature]:
            codes = (value >= split.threshold).astype(np.int64)
        table = np.bincount(
            codes * n_classes + self.labels[here], minlength=(codes.max(initial=0) + 1) * n_classes
        )
        return float(impurity_scores(table.reshape(-1, n_classes).astype(np.float64), self.criterion).sum())

    def calibrate(self) -> None:
        """Make counts add up: rows are shared out from the root down, classes summed from the leaves up."""

        def down(node: _Node, n_rows: float) -> None:
            total = sum(child.n_rows for child in node.children)
            for child in node.children:
                down(child, n_rows * child.n_rows / total if total > 0 else 0.0)
            node.n_rows = n_rows
            if node.children:
                node.counts = np.sum([child.counts for child in node.children], axis=0)
            else:
                node.counts = n_rows * node.vote

        down(self.root, self.root.n_rows)

    def prune(self) -> None:
        """Turn nodes into leaves, from the bottom up, that are expected to make hardly more errors so."""

        def errors(node: _Node) -> float:
            below = sum(errors(child) for child in node.children)
            alone = estimated_errors(node.n_rows, node.n_rows - float(node.counts.max(initial=0.0)))
            if not node.children or alone > below + TOLERANCE:
                return below if node.children else alone
            node.children, node.split, node.vote = [], None, shares(node.counts)
            return alone

        errors(self.root)

    def finished(self) -> "GreedyTree":
        nodes, first = [self.root], []
        for node in nodes:  # grows while it is read: breadth first
            first.append(len(nodes))
            nodes += node.children
        return GreedyTree(
            np.array([node.split.feature if node.split else LEAF for node in nodes]),
            np.array([node.split.threshold if node.split else np.nan for node in nodes]),
            np.array(first),
            np.stack([node.vote if not node.children else np.zeros(self.domain.n_classes) for node in nodes]),
            self.domain,
        )


@dataclass(frozen=True)
class GreedyTree(PublishedForest):
    """A tree in flat arrays, one entry per node; node 0 is the root.

    Parameters
    ----------
    feature : ndarray of int
        Feature of a split, -1 at a leaf.
    threshold : ndarray of float
        Cut of a numeric feature; values below it go to the first child.
    first_child : ndarray of int
        The first child; others come after it.
    values : ndarray of float, shape (n_nodes, n_classes)
        Class shares.
    domain : Domain
        Public facts.
    """

    feature: IntArray
    threshold: FloatArray
    first_child: IntArray
    values: FloatArray
    domain: Domain

    def votes(self, X: FloatArray) -> FloatArray:
        """Return the class shares of the leaves."""
        X = checked_rows(X, self.domain)
        node = np.zeros(len(X), dtype=np.int64)
        moving = np.flatnonzero(self.feature[node] != LEAF)
        while len(moving):
            at = node[moving]
            value = X[moving, self.feature[at]]
            child = np.where(self.domain.nominal[self.feature[at]], value, value >= self.threshold[at])
            node[moving] = self.first_child[at] + child.astype(np.int64)
            moving = moving[self.feature[node[moving]] != LEAF]
        return np.asarray(self.values[node])


def shares(counts: FloatArray) -> FloatArray:
    """Turn counts into shares: negative ones are nothing, and the largest wins if nothing is left.

    Examples
    --------
    >>> shares(np.array([3.0, -1.0, 1.0])), shares(np.array([-3.0, -1.0]))
    (array([0.75, 0.  , 0.25]), array([0., 1.]))
    """
    positive = np.maximum(counts, 0.0)
    if not positive.any():
        return np.asarray(np.eye(len(counts))[counts.argmax()])
    return np.asarray(positive / positive.sum())


def estimated_errors(n_rows: float, errors: float) -> float:
    """Return the upper confidence limit of the errors of a leaf (Quinlan 1993), as Weka computes it.

    Examples
    --------
    >>> round(estimated_errors(10.0, 0.0), 3), round(estimated_errors(100.0, 20.0), 3)
    (1.294, 23.354)
    """
    if n_rows <= 0:
        return 0.0
    errors = max(errors, 0.0)
    if errors < 1:
        none = n_rows * (1 - math.pow(CONFIDENCE, 1 / n_rows))
        return errors + none + (errors * (_beyond(n_rows, 1.0) - none) if errors else 0.0)
    return errors + _beyond(n_rows, errors)


def _beyond(n: float, errors: float) -> float:
    """Errors at the limit beyond those seen, at least one; by the normal approximation."""
    if errors + 0.5 >= n:
        return max(n - errors, 0.0)
    z, f = NormalDist().inv_cdf(1 - CONFIDENCE), (errors + 0.5) / n
    rate = f + z * z / (2 * n) + z * math.sqrt(f / n - f * f / n + z * z / (4 * n * n))
    return rate / (1 + z * z / n) * n - errors
