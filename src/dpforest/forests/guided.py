"""The default forest: one tree guided by the target beside a linear part.

Under a small budget one good tree beats many weak ones, because each further tree divides rows or budget.
Everything that could be tuned is a formula of public quantities and of a noisy count.
"""

from __future__ import annotations

import math
from dataclasses import field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted

from dpforest.curator import Curator, Utility
from dpforest.forests.base import PrivateForest, PrivateForestClassifierBase
from dpforest.forests.docs import shared_parameters
from dpforest.forests.parameters import choice, parameters
from dpforest.linear import ClassScores, class_scores, shrunk_counts
from dpforest.mechanisms import RandomWords
from dpforest.privacy import Pool, row_multiplier
from dpforest.schema import Combination, Schema
from dpforest.structure import Additive, FlatTrees
from dpforest.trees import (
    ROOT_TWO,
    geometric_shares,
    grow_centred,
    grow_greedy,
    shrunk_shares,
)

# Shares and thresholds below come from a study on public tables; see docs/explanation/default-forest.md.
COUNTING = Fraction(2, 100)  # of the whole budget
CHOOSING = Fraction(5, 100)  # of the rest, for the weights of the two parts
SPLITTING = Fraction(65, 100)  # of the tree's budget
SPLITTING_BY_MAJORITY = Fraction(75, 100)  # of the tree's budget, with the coarser score
ENOUGH_TO_COMBINE = 500  # rows times epsilon, per class: fewer drown in so many candidates
ENOUGH_FOR_CENTRES = 3000  # rows times epsilon, per class if there are more than two
ENOUGH_IF_UNBALANCED = 150  # the same where one class has most rows, to which the coarser score is blind
MOST_ROWS = 0.6  # share of a class that has most rows
COMBINATIONS = 3  # columns made of two features, for each ordered feature
MAX_COMBINATIONS = 40  # each costs as much time as a feature
ROWS_PER_LEAF = 60  # times 1 / epsilon
ENOUGH_FOR_BOTH = 500  # rows times epsilon, per class: with fewer a tree alone is better ...
MANY_CLASSES = 8  # ... unless there are as many classes, which it could not tell apart
ENOUGH_TO_CHOOSE = 3000  # rows times epsilon: fewer can only tell coarse choices apart
# Weights of the tree and of the linear part to choose from.
FEW_WEIGHTS = [(1.0, 0.0), (1.0, 0.3), (1.0, 0.7), (0.5, 0.7)]
MANY_WEIGHTS = [
    (tree, linear)
    for tree in (0.0, 0.5, 1.0, 1.5)
    for linear in (0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
    if tree + linear > 0
]

# What the looks on the ledger are for, by the beginnings of their purposes.
_PARTS = {
    "noisy totals of the target": ("rows of each class", "target of all rows"),
    "private bounds of the target": ("lower clip bound", "upper clip bound"),
    "sums over features, for the linear part": (
        "centres of", "spreads of", "features by", "categories by", "products of",
    ),
    "splits of the tree": ("splits by", "targets of the nodes"),
    "statistics of every leaf": ("leaf ",),
    "weighing the tree against the linear part": ("weights of",),
}  # fmt: skip

_TREES = """n_estimators : 1, default=1
        Number of trees; there is one.
    """


def guided_depth(rows_times_epsilon: float, per_leaf: float, low: int, high: int) -> int:
    """Depth at which an average leaf holds about `per_leaf` / epsilon rows.

    Examples
    --------
    >>> guided_depth(30_000, 60, 2, 10)
    9
    """
    return min(max(round(math.log2(max(rows_times_epsilon, 1.0) / per_leaf)), low), high)


def _leaf_shares(
    counts: NDArray[np.int64], noise_sd: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Class shares of every leaf, drawn towards its ancestors', and those of all leaves together."""
    total = counts.sum(axis=0, dtype=np.float64)
    prior = shrunk_counts(total, noise_sd * math.sqrt(len(counts)))
    prior = prior / prior.sum()
    return shrunk_shares(counts, noise_sd, prior), prior


def _leaf_scores(counts: NDArray[np.int64], noise_sd: float) -> NDArray[np.float64]:
    """Log odds of every leaf against all leaves together."""
    shares, prior = _leaf_shares(counts, noise_sd)
    scores: NDArray[np.float64] = np.log(shares / prior)
    return scores


def _mixture(
    curator: Curator, scores: ClassScores, trees: FlatTrees, leaf_scores: NDArray[np.float64], enough: float
) -> Additive:
    """Choose, by the rows that they name correctly, how much the tree and the linear part weigh."""
    prior = np.log(scores.counts / scores.counts.sum())
    candidates = [
        (tree, linear, table)
        for tree, linear in (FEW_WEIGHTS if enough < ENOUGH_TO_CHOOSE else MANY_WEIGHTS)
        for table in (range(len(scores.tables)) if linear else [0])
    ]
    weights, table_of = np.array(candidates)[:, :2], np.array([table for *_, table in candidates])
    best = curator.best_mixture(
        "model", CHOOSING, trees, prior, leaf_scores, scores.tables, weights, table_of
    )
    tree, linear, table = candidates[best]
    summed = linear * scores.tables[table]
    summed[0] += prior  # every row has one cell of the first feature
    return Additive.of(summed, tree)


@parameters
class GuidedTree(PrivateForest):
    """Plan of the budget, the same for both tasks."""

    n_estimators: Any = field(default=1, kw_only=False)

    _rules: ClassVar = {**PrivateForest._rules, "n_estimators": choice(1), "as_published": choice(False)}
    _may_be_additive: ClassVar[bool] = True

    def _pools(self) -> list[Pool]:
        return [
            Pool("count", COUNTING, "noisy totals of the target, from which everything else follows"),
            Pool(
                "model",
                1 - COUNTING,
                "sums over features, splits, statistics of every leaf, weights of the parts",
            ),
        ]

    def explain_plan(self) -> str:
        """Say in words how the budget was spent and why the tree is this deep; after `fit`.

        Returns
        -------
        str
            Made of the plan, the ledger and released counts only.
        """
        check_is_fitted(self)
        plan, depth = self.ledger_.plan, self.trees_.depth
        lines = [f"The whole budget is {plan.guarantee}."]
        for part, purposes in _PARTS.items():
            spent = sum(event.cost for event in self.ledger_ if event.purpose.startswith(purposes))
            if spent:
                lines.append(f"{float(100 * spent / plan.total):.3g} % went to {part}.")
        if self.max_depth is None:
            why = "so that an average leaf stands out of its noise, by a formula of epsilon and a noisy count"
        else:
            why = "as max_depth says"
        rows = float(self._rows_released())
        lines.append(
            f"The tree has {depth} levels, {why}; the leaves hold about {rows / 2**depth:.0f} rows each."
        )
        return "\n".join(lines)

    def _rows_released(self) -> float:
        """Return the number of rows that the released leaves add up to."""
        return float(self.leaf_statistics_.sum())

    @property
    def _finite_epsilon(self) -> float:
        """Epsilon for one step of the mechanisms, as the formulas take it; without noise, a large number."""
        return min(float(self.epsilon) / row_multiplier(self._relation(), self.max_rows_per_person), 1e3)


@parameters
@shared_parameters(
    _TREES, "None follows from a noisy count: about 60 / epsilon rows per leaf.", classifier=True
)
class PrivateForestClassifier(GuidedTree, PrivateForestClassifierBase):
    """The default private classifier: one tree guided by the labels, beside a linear part.

    The linear part is a discriminant on noisy moments of the classes (see `dpforest.linear`). It is asked for
    where there are rows enough for it; how much it and the tree weigh is then chosen privately, by the number
    of rows that each mixture names correctly.

    In every node of the tree one exponential mechanism chooses feature and cut together, among all cuts of
    all features and, if there are enough rows, of random sums and differences of two; so a level costs its
    budget once. Scores compare the children's labels with the node's own noisy class shares; where there are
    too few rows per class for that, the most common class of each child is counted instead. Leaves release
    noisy class counts, which are drawn towards their ancestors as far as noise explains the difference, so
    that `predict_proba` can be used. `feature_importances_` speaks of the tree alone.

    **Guarantee.** Pure epsilon-DP for adding or removing one row ((epsilon, delta)-DP by zCDP if delta > 0):
    counts, levels and leaves add up; nodes of a level hold disjoint rows.

    Parameters
    ----------
    {parameters}

    Examples
    --------
    >>> import numpy as np
    >>> from dpforest import PrivateForestClassifier
    >>> X = np.random.default_rng(0).random((5000, 3))
    >>> y = (X[:, 0] + X[:, 1] > 1).astype(int)
    >>> model = PrivateForestClassifier(epsilon=1.0, bounds=(0, 1), classes=[0, 1]).fit(X, y)
    >>> model.score(X, y) > 0.75
    True
    """

    def _columns(self, schema: Schema, words: RandomWords) -> Schema:
        """Add sums and differences of random pairs of ordered features, so that cuts can be oblique."""
        ordered = [name for name, feature in schema.features.items() if not feature.is_nominal]
        if len(ordered) < 2:
            return schema
        n_more = min(COMBINATIONS * len(ordered), MAX_COMBINATIONS)
        coins = words.fork("columns").take(3 * n_more).astype(object).reshape(n_more, 3)
        drawn: dict[Combination, None] = {}  # keeps the order, drops repetitions
        for one, other, sign in coins:
            first, second = one % len(ordered), other % (len(ordered) - 1)
            second += second >= first
            names = ordered[min(first, second)], ordered[max(first, second)]
            drawn[Combination(*names, 1 if sign % 2 else -1)] = None
        return Schema(schema.features, schema.target, tuple(drawn))

    def _train(self, curator: Curator) -> tuple[FlatTrees, NDArray[np.int64]]:
        counts = curator.class_counts("count").astype(np.float64)
        sd = curator.noise_sd
        enough = float(shrunk_counts(counts, sd).sum()) * self._finite_epsilon
        share = self._linear_share(enough, len(counts), curator.schema)
        if not share:
            self.additive_ = None
            return self._tree(curator, Fraction(1), np.maximum(counts, max(sd, 1.0)), enough)
        scores = class_scores(curator, "model", share, counts, sd)
        tree_share = 1 - share - CHOOSING
        trees, leaves = self._tree(curator, tree_share, scores.counts, enough * float(tree_share))
        leaf_scores = _leaf_scores(leaves[0], curator.noise_sd)
        self.additive_ = _mixture(curator, scores, trees, leaf_scores, enough)
        return trees, leaves

    def _linear_share(self, rows_times_epsilon: float, n_classes: int, schema: Schema) -> Fraction:
        """Part of the model's budget for the linear part; none where its sums would drown in noise.

        A tree that cannot afford a leaf per class leaves more to the linear part, which with many rows needs
        less.
        """
        per_class = rows_times_epsilon / n_classes
        per_sum = per_class / schema.n_features
        if per_class < ENOUGH_FOR_BOTH or per_sum < 4:
            return Fraction(60, 100) if n_classes >= MANY_CLASSES and per_sum >= 3 else Fraction(0)
        if per_sum < 150:
            return Fraction(40, 100) if n_classes > 2 else Fraction(30, 100)
        return Fraction(30, 100) if per_sum < 2000 else Fraction(20, 100)

    def _tree(
        self, curator: Curator, share: Fraction, rows: NDArray[np.float64], enough: float
    ) -> tuple[FlatTrees, NDArray[np.int64]]:
        """Grow and fill a tree; depth, score and columns follow from released class counts."""
        n_classes = len(rows)
        depth = guided_depth(enough, ROWS_PER_LEAF, 2, 10) if self.max_depth is None else self.max_depth
        wide = enough / n_classes >= ENOUGH_TO_COMBINE
        n_columns = curator.schema.n_columns if wide else curator.schema.n_features
        shares = rows / rows.sum()
        per_class = enough / (1 if n_classes == 2 else n_classes)
        unbalanced = n_classes > 2 and shares.max() >= MOST_ROWS
        centred = per_class >= (ENOUGH_IF_UNBALANCED if unbalanced else ENOUGH_FOR_CENTRES)
        splitting = share * (SPLITTING if centred else SPLITTING_BY_MAJORITY) * min(depth, 1)
        if centred and 2 <= n_classes <= 1000:
            trees = grow_centred(curator, "model", splitting, depth, shares, n_columns)
        else:
            level_shares = [part * splitting for part in geometric_shares(depth, ROOT_TWO)]
            score = Utility.MAX_OPERATOR
            trees = grow_greedy(
                curator, "model", 1, depth, score, level_shares=level_shares, n_columns=n_columns
            )
        return trees, curator.leaf_histograms("model", trees, share - splitting)

    def _votes(self, statistics: NDArray[np.int64]) -> NDArray[np.float64]:
        if self.additive_ is not None:
            return _leaf_scores(statistics[0], self._leaf_noises()[0])[None]
        return _leaf_shares(statistics[0], self._leaf_noises()[0])[0][None]

    def _sum_parts(self, cells: NDArray[Any], n_threads: int) -> NDArray[np.float64]:
        votes = super()._sum_parts(cells, n_threads)
        if self.additive_ is None:
            return votes
        scores = self.additive_.sum(cells) + self.additive_.tree_weight * votes
        return np.asarray(softmax(scores, axis=1))
