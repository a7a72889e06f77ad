"""Partitioning ensembles: median splits with a geometric budget (Huang, Lei and Kaban 2022, Alg. 1-2)."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from dpforest._curator import Curator
from dpforest._structure import FlatTrees
from dpforest._trees import geometric_shares, grow_median
from dpforest.forests.base import (
    PrivateForest,
    PrivateForestClassifierBase,
    PrivateForestRegressorBase,
)
from dpforest.forests.depths import depth_by_halvings
from dpforest.forests.docs import shared_parameters
from dpforest.forests.foresight import Ask, Shape, choose, count_leaves, shapes_of
from dpforest.forests.parameters import ANY_DEPTH, MAX_DEPTH, parameters, real
from dpforest.forests.pools import splits_and_leaves
from dpforest.mechanisms import quantile_range
from dpforest.privacy import Pool
from dpforest.schema import Schema

if TYPE_CHECKING:
    pass

BUDGET_RATIO = Fraction(3, 2)  # each level gets this times the budget of the level above (eq. 7)
LEAF_ROWS = 5  # the paper splits nodes of more than 10 rows, so its leaves hold 5 to 10

_DEPTH = (
    "None takes the number of features, or less where leaves would hold under 5 rows on average, "
    "by a noisy count."
)
_OWN_PARAMETERS = """n_estimators : int, default=10
        Number of trees.
    split_share : float, default=0.5
        Part of the budget for splits; the rest goes to the leaves.
    """


def median_shapes(schema: Schema, n_trees: int, max_depth: int | None) -> Iterator[Shape]:
    """State forests of median trees: by default at most as deep as there are features."""
    return shapes_of(schema, n_trees, max_depth, slots=1, most=min(schema.n_features, MAX_DEPTH))


def first_median(shape: Shape) -> Ask:
    """State the question with the least part of the budget, for the medians of the roots."""
    shares = geometric_shares(shape.depth, BUDGET_RATIO)
    return choose("splits", min(shares, default=Fraction(0)), 1, quantile_range())


@parameters
class _Partitioning(PrivateForest):
    """Plan and growth, the same for both tasks."""

    split_share: float = 0.5

    _published: ClassVar[str] = "partitioning_ensemble"
    _published_depth: ClassVar[int] = ANY_DEPTH
    _one_against_rest: ClassVar[bool] = True
    _rules: ClassVar = {**PrivateForest._rules, "split_share": real(0, 1)}

    def _pools(self) -> list[Pool]:
        return splits_and_leaves(
            self.max_depth,
            self.split_share,
            "which limits the depth",
            "private medians, each level 3/2 of the one above",
        )

    def _shapes(self, schema: Schema) -> Iterator[Shape]:
        return median_shapes(schema, self.n_estimators, self.max_depth)

    def _asks(self, schema: Schema, shape: Shape) -> list[Ask]:
        return [Ask("count"), first_median(shape), count_leaves(schema)]

    def _grow(self, curator: Curator) -> FlatTrees:
        depth = self.max_depth
        if depth is None:
            n_rows = curator.row_count("count")
            limit = depth_by_halvings(curator.schema, n_rows, self.n_estimators, LEAF_ROWS)
            depth = min(limit, self._limits.depth)
        curator.scatter_rows(self.n_estimators)
        shares = geometric_shares(depth, BUDGET_RATIO)
        return grow_median(curator, "splits", self.n_estimators, depth, shares)

    def _paper_options(self) -> dict[str, Any]:
        return {**super()._paper_options(), "split_share": self.split_share}


@parameters
@shared_parameters(_OWN_PARAMETERS, _DEPTH, classifier=True)
class PartitioningEnsembleClassifier(_Partitioning, PrivateForestClassifierBase):
    """Supervised private ensemble of median trees (SPE).

    Each node draws a feature with public coins and cuts it at a private median; a nominal feature is cut into
    one category and the rest. Lower levels, whose nodes are smaller, get more budget. Leaves release noisy
    class counts, which are added up over the trees.

    **Guarantee.** Pure epsilon-DP for adding or removing one row ((epsilon, delta)-DP by zCDP if delta > 0).

    **Differs from the paper** (Huang, Lei and Kaban 2022) in six ways. (1) Medians lie in the node's public
    box; the paper takes the smallest and largest private value as bounds, which one row can move at will.
    (2) All grid cells are candidates, weighed by one exponential mechanism, instead of a random sample of
    them. (3) The paper stops at 10 rows, which tells the size of a node exactly; here the depth is limited so
    that leaves hold 5 rows if all categories are equally frequent, by a noisy count that takes 2 % of the
    budget. (4) Every level gets its share of eq. 7; the pseudo-code passes the whole budget to each level.
    (5) Rows are assigned to trees independently, not in equal groups. (6) Noise is discrete, and missing and
    undeclared values have cells of their own.

    Parameters
    ----------
    {parameters}

    Examples
    --------
    >>> import numpy as np
    >>> from dpforest import PartitioningEnsembleClassifier
    >>> X = np.random.default_rng(0).random((5000, 3))
    >>> y = (X[:, 0] > 0.5).astype(int)
    >>> model = PartitioningEnsembleClassifier(epsilon=2.0, bounds=(0, 1), classes=[0, 1]).fit(X, y)
    >>> model.score(X, y) > 0.8
    True
    """


@parameters
@shared_parameters(_OWN_PARAMETERS, _DEPTH, classifier=False)
class PartitioningEnsembleRegressor(_Partitioning, PrivateForestRegressorBase):
    """Supervised private ensemble of median trees (SPE) for regression.

    Grows as `PartitioningEnsembleClassifier` does; leaves release the noisy sums of y and of its distance to
    the upper bound, whose ratio, added up over trees, is the prediction.

    **Guarantee.** Pure epsilon-DP for adding or removing one row ((epsilon, delta)-DP by zCDP if delta > 0).

    **Differs from the paper** as the classifier does. The paper names regression but gives no leaf for it;
    the soft histogram is ours.

    Parameters
    ----------
    {parameters}

    Examples
    --------
    >>> import numpy as np
    >>> from dpforest import PartitioningEnsembleRegressor
    >>> X = np.random.default_rng(0).random((5000, 2))
    >>> model = PartitioningEnsembleRegressor(bounds=(0, 1), target_bounds=(0, 1)).fit(X, X[:, 0])
    >>> model.score(X, X[:, 0]) > 0.3
    True
    """
