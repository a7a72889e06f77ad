"""DiPriMe: forests of private median splits (Consul and Williamson 2021, "Balance is key").

Balanced leaves are full leaves, and noise hurts full leaves least; so every node is cut near the median of a
random feature.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, ClassVar

from dpforest.curator import Curator
from dpforest.forests.base import (
    PrivateForest,
    PrivateForestClassifierBase,
    PrivateForestRegressorBase,
)
from dpforest.forests.docs import shared_parameters
from dpforest.forests.parameters import MAX_DEPTH, real
from dpforest.privacy import BudgetAccountant, Pool
from dpforest.schema import Schema
from dpforest.structure import FlatTrees
from dpforest.trees import grow_median

_DEPTH = (
    "None picks the deepest tree whose leaves hold `expected_leaf_rows` rows on average, by a noisy count."
)


def depth_by_occupancy(n_rows: float, n_trees: int, expected_leaf_rows: float) -> int:
    """Deepest complete trees whose leaves hold `expected_leaf_rows` rows on average (2021, Sec. 4).

    Examples
    --------
    >>> depth_by_occupancy(27_000, n_trees=10, expected_leaf_rows=25)  # credit card default, Table 2
    6
    """
    rows_per_leaf_budget = n_rows / (n_trees * expected_leaf_rows)
    return min(max(int(math.log2(max(rows_per_leaf_budget, 1.0))), 1), MAX_DEPTH)


class _MedianForest(PrivateForest):
    """Plan and growth, the same for both tasks."""

    _rules: ClassVar = {
        **PrivateForest._rules,
        "split_share": real(0, 1),
        "expected_leaf_rows": real(0, math.inf),
    }

    def _pools(self) -> list[Pool]:
        counting = Fraction(2, 100) if self.max_depth is None else Fraction(0)
        splitting = (
            (1 - counting) * Fraction(repr(float(self.split_share))) if self.max_depth != 0 else Fraction(0)
        )
        return [
            Pool("count", counting, "noisy number of rows, from which the depth follows"),
            Pool("splits", splitting, "private medians, an equal part for each level"),
            Pool("leaves", 1 - counting - splitting, "noisy statistics of every leaf"),
        ]

    def _grow(self, curator: Curator) -> FlatTrees:
        depth = self.max_depth
        if depth is None:
            n_rows = curator.row_count("count")
            depth = depth_by_occupancy(n_rows, self.n_estimators, self.expected_leaf_rows)
        curator.scatter_rows(self.n_estimators)
        return grow_median(curator, "splits", self.n_estimators, depth)


@shared_parameters(_DEPTH, classifier=True)
class DiPriMeForestClassifier(_MedianForest, PrivateForestClassifierBase):
    """Private median forest for classification (DiPriMe).

    Every row is put in one secret random tree. Each node draws a feature with public coins and cuts it by the
    exponential mechanism near the median of its rows; nominal features are cut into two balanced sets of
    categories. Leaves release noisy class counts, and the counts of all trees are added up to predict.

    **Guarantee.** Pure epsilon-DP for adding or removing one row ((epsilon, delta)-DP by zCDP if delta > 0):
    the levels of a tree and its leaves add up, nodes of a level and trees hold disjoint rows.

    **Differs from the paper** (Consul and Williamson 2021) in six ways. (1) Rows are assigned to trees
    independently; equal-sized groups cost up to 3 epsilon when a row is added. (2) Thresholds are cells of a
    public grid and all arithmetic is on integers; doubles leak through their last bits. (3) The depth rule
    uses a noisy count, 2 % of the budget; the paper's count is exact. (4) The sign of the score of
    categorical splits is corrected: balanced ones win. (5) Noise is discrete Laplace, on empty leaves too.
    (6) Missing and undeclared values have cells of their own.

    Parameters
    ----------
    n_estimators : int, default=10
        Number of trees.
    split_share : float, default=0.5
        Part of the budget for splits (the paper's rho); the rest goes to the leaves.
    expected_leaf_rows : float, default=25
        Rows per leaf that the depth rule aims at.
    {common}

    Examples
    --------
    >>> import numpy as np
    >>> from dpforest import DiPriMeForestClassifier
    >>> X = np.random.default_rng(0).random((2000, 3))
    >>> y = (X[:, 0] > 0.5).astype(int)
    >>> model = DiPriMeForestClassifier(epsilon=1.0, bounds=(0, 1), classes=[0, 1]).fit(X, y)
    >>> model.score(X, y) > 0.7
    True
    >>> model.guarantee_.status
    'proven'
    """

    def __init__(
        self,
        n_estimators: int = 10,
        *,
        epsilon: float = 1.0,
        delta: float = 0.0,
        schema: Schema | None = None,
        bounds: Any = None,
        classes: Any = None,
        max_depth: int | None = None,
        split_share: float = 0.5,
        expected_leaf_rows: float = 25,
        neighboring: str = "add_or_remove_one",
        max_rows_per_person: int = 1,
        accountant: BudgetAccountant | None = None,
        on_leak: str = "raise",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            n_estimators,
            epsilon=epsilon,
            delta=delta,
            schema=schema,
            bounds=bounds,
            max_depth=max_depth,
            neighboring=neighboring,
            max_rows_per_person=max_rows_per_person,
            accountant=accountant,
            on_leak=on_leak,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.classes = classes
        self.split_share = split_share
        self.expected_leaf_rows = expected_leaf_rows


@shared_parameters(_DEPTH, classifier=False)
class DiPriMeForestRegressor(_MedianForest, PrivateForestRegressorBase):
    """Private median forest for regression (DiPriMe).

    Grows as `DiPriMeForestClassifier` does. Leaves release the noisy sums of y and of its distance to the
    upper bound; their ratio, added up over trees, is the prediction.

    **Guarantee.** Pure epsilon-DP for adding or removing one row ((epsilon, delta)-DP by zCDP if delta > 0).

    **Differs from the paper** as the classifier does, and in the leaves: the paper adds Laplace noise of
    scale range / (n epsilon) to the mean of a leaf's n rows. That scale is private, and one row can change
    the odds of a large output without bound. The pair of sums has a public noise scale and a smaller error.

    Parameters
    ----------
    n_estimators : int, default=10
        Number of trees.
    split_share : float, default=0.5
        Part of the budget for splits (the paper's rho); the rest goes to the leaves.
    expected_leaf_rows : float, default=25
        Rows per leaf that the depth rule aims at.
    {common}

    Examples
    --------
    >>> import numpy as np
    >>> from dpforest import DiPriMeForestRegressor
    >>> X = np.random.default_rng(0).random((2000, 3))
    >>> model = DiPriMeForestRegressor(epsilon=2.0, bounds=(0, 1), target_bounds=(0, 1)).fit(X, X[:, 0])
    >>> model.score(X, X[:, 0]) > 0.3
    True
    """

    def __init__(
        self,
        n_estimators: int = 10,
        *,
        epsilon: float = 1.0,
        delta: float = 0.0,
        schema: Schema | None = None,
        bounds: Any = None,
        target_bounds: Any = None,
        max_depth: int | None = None,
        split_share: float = 0.5,
        expected_leaf_rows: float = 25,
        neighboring: str = "add_or_remove_one",
        max_rows_per_person: int = 1,
        accountant: BudgetAccountant | None = None,
        on_leak: str = "raise",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            n_estimators,
            epsilon=epsilon,
            delta=delta,
            schema=schema,
            bounds=bounds,
            max_depth=max_depth,
            neighboring=neighboring,
            max_rows_per_person=max_rows_per_person,
            accountant=accountant,
            on_leak=on_leak,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.target_bounds = target_bounds
        self.split_share = split_share
        self.expected_leaf_rows = expected_leaf_rows
