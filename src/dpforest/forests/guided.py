"""The default forest: one tree guided by the target, with leaves drawn towards their ancestors.

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
from sklearn.utils.validation import check_is_fitted

from dpforest.curator import Curator, Utility
from dpforest.forests.base import PrivateForest, PrivateForestClassifierBase, PrivateForestRegressorBase
from dpforest.forests.docs import shared_parameters
from dpforest.forests.parameters import choice, parameters
from dpforest.mechanisms import RandomWords
from dpforest.privacy import Pool
from dpforest.schema import Combination, Schema
from dpforest.structure import FlatTrees
from dpforest.trees import geometric_shares, grow_centred, grow_greedy, shrunk_means, shrunk_shares

# Shares and thresholds below come from a study of prototypes on twenty public tables; see the docstrings.
COUNTING = Fraction(2, 100)  # of the whole budget
SPLITTING = Fraction(65, 100)  # of what is left
CENTRES = Fraction(15, 100)  # of the splits' part
ENOUGH_TO_COMBINE = 1000  # rows times epsilon, per class: fewer drown in so many candidates
ENOUGH_FOR_CENTRES = 3000  # rows times epsilon, per class if there are more than two
COMBINATIONS = 3  # columns made of two features, for each ordered feature
MAX_COMBINATIONS = 200
ROWS_PER_LEAF = 60  # times 1 / epsilon
ROWS_PER_REGRESSION_LEAF = 300  # times 1 / epsilon

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


@parameters
class _GuidedTree(PrivateForest):
    """Plan of the budget, the same for both tasks."""

    n_estimators: Any = field(default=1, kw_only=False)

    _rules: ClassVar = {**PrivateForest._rules, "n_estimators": choice(1), "as_published": choice(False)}

    def _pools(self) -> list[Pool]:
        splitting = (1 - COUNTING) * SPLITTING if self.max_depth != 0 else Fraction(0)
        return [
            Pool("count", COUNTING, "noisy totals of the target, from which the depth follows"),
            Pool(
                "splits",
                splitting * (1 - CENTRES),
                "splits by the target, each level sqrt(2) of the one above",
            ),
            Pool(
                "centres", splitting * CENTRES, "noisy targets of inner nodes, which the scores compare with"
            ),
            Pool("leaves", 1 - COUNTING - splitting, "noisy statistics of every leaf"),
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
        for pool in plan.pools:
            spent = self.ledger_.spent(pool.name) / plan.total
            lines.append(f"{float(100 * spent):.3g} % went to {pool.name}: {pool.purpose}.")
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
        """Epsilon as the formulas take it; without noise, a large number."""
        return min(float(self.epsilon), 1e3)

    def _leaf_noise(self) -> float:
        """Return the standard deviation of the leaves' noise; 0 if they were released without."""
        last = self.ledger_.events[-1].parameters["noise_sd"]
        return 0.0 if math.isinf(self.epsilon) else float(str(last))


@parameters
@shared_parameters(
    _TREES, "None follows from a noisy count: about 60 / epsilon rows per leaf.", classifier=True
)
class PrivateForestClassifier(_GuidedTree, PrivateForestClassifierBase):
    """The default private classifier: one tree guided by the labels.

    In every node one exponential mechanism chooses feature and cut together, among all cuts of all features
    and, if there are enough rows, of random sums and differences of two; so a level costs its budget once.
    Scores compare the children's labels with the node's own noisy class shares; where there are too few rows
    per class for that, the most common class of each child is counted instead. Leaves release noisy class
    counts, which are drawn towards their ancestors as far as noise explains the difference, so that
    `predict_proba` can be used.

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

    def _grow(self, curator: Curator) -> FlatTrees:
        counts = curator.class_counts("count")
        rows = np.maximum(counts, max(curator.noise_sd, 1.0))  # no class is ruled out by noise
        n_classes, enough = len(rows), rows.sum() * self._finite_epsilon
        depth = self.max_depth
        if depth is None:
            depth = guided_depth(float(enough), ROWS_PER_LEAF, 2, 10)
        schema = curator.schema
        n_columns = schema.n_columns if enough / n_classes >= ENOUGH_TO_COMBINE else schema.n_features
        per_class = enough / (1 if n_classes == 2 else n_classes)
        if per_class >= ENOUGH_FOR_CENTRES and 2 <= n_classes <= 1000:
            return grow_centred(curator, "splits", "centres", depth, rows / rows.sum(), n_columns)
        return grow_greedy(
            curator,
            "splits",
            1,
            depth,
            Utility.MAX_OPERATOR,
            level_shares=geometric_shares(depth, Fraction(1414, 1000)),
            n_columns=n_columns,
        )

    def _votes(self, statistics: NDArray[np.int64]) -> NDArray[np.float64]:
        sd = self._leaf_noise()
        total = statistics[0].sum(axis=0, dtype=np.float64)
        prior = np.maximum(total, sd * math.sqrt(len(statistics[0])) + 1.0)
        return shrunk_shares(statistics[0], sd, prior / prior.sum())[None]


@parameters
@shared_parameters(
    _TREES, "None follows from a noisy count: about 300 / epsilon rows per leaf.", classifier=False
)
class PrivateForestRegressor(_GuidedTree, PrivateForestRegressorBase):
    """The default private regressor: one tree guided by the target.

    As `PrivateForestClassifier`, with scores that compare the children's targets with the node's own noisy
    mean. Leaves release the noisy sums of y and of its distance to the upper bound; their means are drawn
    towards their ancestors', at the root the noisy mean of all rows.

    **Guarantee.** Pure epsilon-DP for adding or removing one row ((epsilon, delta)-DP by zCDP if delta > 0).

    Parameters
    ----------
    {parameters}

    Examples
    --------
    >>> import numpy as np
    >>> from dpforest import PrivateForestRegressor
    >>> X = np.random.default_rng(0).random((5000, 3))
    >>> model = PrivateForestRegressor(epsilon=2.0, bounds=(0, 1), target_bounds=(0, 1)).fit(X, X[:, 0])
    >>> model.score(X, X[:, 0]) > 0.6
    True
    """

    def _grow(self, curator: Curator) -> FlatTrees:
        levels = curator.schema.range.levels
        everything = FlatTrees.unsplit(1, 0)
        released = curator.leaf_soft_histograms("count", everything, purpose="target of all rows")
        root = released[0, 0].astype(np.float64)
        rows = max(root.sum() / levels, 1.0)
        mean = min(max(root[0] / rows, 0.0), levels)
        depth = self.max_depth
        if depth is None:
            depth = guided_depth(rows * self._finite_epsilon, ROWS_PER_REGRESSION_LEAF, 2, 9)
        return grow_centred(curator, "splits", "centres", depth, np.array([mean]), curator.schema.n_features)

    def _rows_released(self) -> float:
        return super()._rows_released() / self.schema_.range.levels

    def _votes(self, statistics: NDArray[np.int64]) -> NDArray[np.float64]:
        levels = self.schema_.range.levels
        first, second = statistics[0].sum(axis=0, dtype=np.float64)
        rows = (first + second) / levels
        prior = min(max(first / rows, 0.0), levels) if rows >= 1 else levels / 2
        means = shrunk_means(statistics[0], self._leaf_noise(), levels, prior)
        # as a pair of sums with weight one row, which the shared `predict` turns back into the mean
        return np.stack([means, levels - means], axis=-1)[None]
