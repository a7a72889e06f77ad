"""DiPriMe: forests of private median splits (Consul and Williamson 2020 and 2021, "Balance is key").

Balanced leaves are full leaves, and noise hurts full leaves least; so every node is cut near a median.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from dpforest._curator import PERMUTE_AND_FLIP, Curator, Utility, median_scores
from dpforest._structure import FlatTrees
from dpforest._trees import grow_best_median, grow_greedy, grow_median
from dpforest.forests.base import (
    PrivateForest,
    PrivateForestClassifierBase,
    PrivateForestRegressorBase,
)
from dpforest.forests.depths import depth_by_occupancy
from dpforest.forests.docs import shared_parameters
from dpforest.forests.foresight import Ask, Shape, choose, codes_of, count_leaves, shapes_of
from dpforest.forests.parameters import choice, parameters, real, whole
from dpforest.forests.pools import splits_and_leaves
from dpforest.mechanisms import quantile_range
from dpforest.privacy import Pool
from dpforest.schema import Schema

if TYPE_CHECKING:
    pass

Variant = Literal["uniform", "exponential", "permute_and_flip"]
Version = Literal["2020", "2020 text", "2021"]
_DEPTH = (
    "None picks the deepest tree whose leaves hold `expected_leaf_rows` rows on average, by a noisy count."
)


@parameters
class _MedianForest(PrivateForest):
    """Plan and growth, the same for both tasks."""

    variant: Variant = "uniform"
    max_features: int = 5
    split_share: float = 0.5
    expected_leaf_rows: float = 25
    disjoint: bool = True
    version: Version = "2021"

    _published: ClassVar[str] = "dipri_me"
    _rules: ClassVar = {
        **PrivateForest._rules,
        "variant": choice("uniform", "exponential", "permute_and_flip"),
        "max_features": whole(1),
        "split_share": real(0, 1),
        "expected_leaf_rows": real(0, math.inf),
        "disjoint": choice(True, False),
        "version": choice("2020", "2020 text", "2021"),
    }

    def _pools(self) -> list[Pool]:
        return splits_and_leaves(
            self.max_depth,
            self.split_share,
            "from which the depth follows",
            "private splits, an equal part for each level",
        )

    def _utility(self) -> Utility:
        return Utility.GINI if self._task == "classification" else Utility.SQUARED_ERROR

    def _shapes(self, schema: Schema) -> Iterator[Shape]:
        slots = 1 if self.variant == "uniform" else min(self.max_features, schema.n_columns)
        codes = 1 if self.variant == "uniform" else codes_of(schema)
        return shapes_of(schema, self.n_estimators, self.max_depth, slots, codes)

    def _asks(self, schema: Schema, shape: Shape) -> list[Ask]:
        copies, level = 1 if self.disjoint else shape.n_trees, Fraction(1, max(shape.depth, 1))
        asks = [Ask("count"), count_leaves(schema, copies)]
        if self.variant == "exponential":
            return [*asks, choose("splits", level, copies, self._utility().range_for(schema))]
        if self.variant == "uniform":
            return [*asks, choose("splits", level, copies, quantile_range())]
        median = median_scores.range(self._task == "classification")
        return [
            *asks,
            choose("splits", level / 2, copies, quantile_range()),
            choose("splits", level / 2, copies, median, PERMUTE_AND_FLIP),
        ]

    def _grow(self, curator: Curator) -> FlatTrees:
        depth, n_trees = self.max_depth, self.n_estimators
        if depth is None:
            groups = n_trees if self.disjoint else 1
            wanted = depth_by_occupancy(curator.row_count("count"), groups, self.expected_leaf_rows)
            depth = min(wanted, self._limits.depth)
        if self.disjoint:
            curator.scatter_rows(n_trees)
        if self.variant == "uniform":
            return grow_median(curator, "splits", n_trees, depth)
        if self.variant == "permute_and_flip":
            return grow_best_median(curator, "splits", n_trees, depth, self.max_features)
        return grow_greedy(curator, "splits", n_trees, depth, self._utility(), self.max_features)

    def _paper_options(self) -> dict[str, Any]:
        return {
            **super()._paper_options(),
            "variant": self.variant,
            "version": self.version,
            "max_features": self.max_features,
            "split_share": self.split_share,
            "leaf_rows": self.expected_leaf_rows,
            "disjoint": self.disjoint,
        }


_OWN_PARAMETERS = """n_estimators : int, default=10
        Number of trees.
    variant : {{"uniform", "exponential", "permute_and_flip"}}, default="uniform"
        How a node's feature is chosen: with public coins (DiPriMe); together with its threshold by one
        exponential mechanism on the impurity of the split (DiPriMeExp); by permute-and-flip on the impurity
        at each feature's exact median, after which only the winner's median is drawn (DiPriMeFlip).
    max_features : int, default=5
        Features that a node compares (the papers' K); not used by ``"uniform"``.
    split_share : float, default=0.5
        Part of the budget for splits (the papers' rho); the rest goes to the leaves.
    expected_leaf_rows : float, default=25
        Rows per leaf that the depth rule aims at.
    disjoint : bool, default=True
        True puts each row in one secret random tree; False puts every row in every tree at epsilon divided by
        the number of trees (2020, Algorithm 2).
    version : {{"2020", "2020 text", "2021"}}, default="2021"
        Which paper ``as_published=True`` follows; the rigorous form is the same for all. Text and algorithms
        of the first one differ: ``"2020"`` follows the algorithms.
    """


@parameters
@shared_parameters(_OWN_PARAMETERS, _DEPTH, classifier=True)
class DiPriMeForestClassifier(_MedianForest, PrivateForestClassifierBase):
    """Private median forest for classification (DiPriMe, DiPriMeExp, DiPriMeFlip).

    Each node cuts a feature by the exponential mechanism near the median of its rows; nominal features are
    cut into two balanced sets of categories. Leaves release noisy class counts, and the counts of all trees
    are added up to predict.

    **Guarantee.** Pure epsilon-DP for adding or removing one row ((epsilon, delta)-DP by zCDP if delta > 0):
    the levels of a tree and its leaves add up, nodes of a level and trees hold disjoint rows.

    **Differs from the papers** (Consul and Williamson 2020, 2021) in eight ways. (1) Rows are assigned to
    trees independently; equal-sized groups cost up to 3 epsilon when a row is added. (2) K candidate medians
    on the same rows cost K times their budget, not once as claimed: ``"exponential"`` chooses feature and
    threshold jointly, ``"permute_and_flip"`` draws the median of the chosen feature only. (3) The median has
    the length of the interval as base measure, also where 2020 leaves it out and permute-and-flip would: both
    lose privacy without bound. (4) Thresholds are cells of a public grid and all arithmetic is on integers;
    doubles leak through their last bits. (5) The depth rule uses a noisy count, 2 % of the budget; the
    papers' count is exact. (6) The sign of the score of categorical splits is corrected: balanced ones win.
    (7) Noise is discrete Laplace, on empty leaves too. (8) Missing and undeclared values have cells of their
    own.

    Parameters
    ----------
    {parameters}

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


@parameters
@shared_parameters(_OWN_PARAMETERS, _DEPTH, classifier=False)
class DiPriMeForestRegressor(_MedianForest, PrivateForestRegressorBase):
    """Private median forest for regression (DiPriMe, DiPriMeExp, DiPriMeFlip).

    Grows as `DiPriMeForestClassifier` does. Leaves release the noisy sums of y and of its distance to the
    upper bound; their ratio, added up over trees, is the prediction.

    **Guarantee.** Pure epsilon-DP for adding or removing one row ((epsilon, delta)-DP by zCDP if delta > 0).

    **Differs from the papers** as the classifier does, and in the leaves: the papers add Laplace noise of
    scale range / (n epsilon) to the mean of a leaf's n rows. That scale is private, and one row can change
    the odds of a large output without bound. The pair of sums has a public noise scale and a smaller error.

    Parameters
    ----------
    {parameters}

    Examples
    --------
    >>> import numpy as np
    >>> from dpforest import DiPriMeForestRegressor
    >>> X = np.random.default_rng(0).random((2000, 3))
    >>> model = DiPriMeForestRegressor(epsilon=2.0, bounds=(0, 1), target_bounds=(0, 1)).fit(X, X[:, 0])
    >>> model.score(X, X[:, 0]) > 0.3
    True
    """
