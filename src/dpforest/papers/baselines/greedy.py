"""What the greedy baselines share: scores by name, the division of the budget, the depth, coarse bins.

Only the estimators of this room call it; growing and counting are those of `dpforest._trees`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import ClassVar, Literal

from dpforest._curator import Curator, Utility
from dpforest._structure import FlatTrees
from dpforest._trees import grow_greedy
from dpforest.forests.base import PrivateForest
from dpforest.forests.depths import depth_by_occupancy
from dpforest.forests.foresight import Ask, Shape, choose, codes_of, count_leaves, shapes_of
from dpforest.forests.parameters import ANY_DEPTH, Rule, choice, parameters, real
from dpforest.forests.pools import splits_and_leaves
from dpforest.privacy import Pool
from dpforest.schema import Date, Numeric, Schema

BINS_BY_DEFAULT = 8

Criterion = Literal["gini", "max_operator", "information_gain"]
CRITERIA: dict[str, Utility] = {
    "gini": Utility.GINI,
    "max_operator": Utility.MAX_OPERATOR,
    "information_gain": Utility.INFORMATION_GAIN,
}
CRITERION_RULE = choice(*CRITERIA)
BINS_RULE: Rule = ("a power of two from 2 to 65536", lambda n: n in {2**k for k in range(1, 17)})

CRITERION_PARAMETER = """criterion : {{"gini", "max_operator", "information_gain"}}, default="{default}"
        Score of a split: minus the Gini impurity or the entropy of the two sides, times their rows, or the
        rows that belong to the most common class of their side.
    """
PLAN_PARAMETERS = """split_share : float, default=0.5
        Part of the budget for splits; the rest goes to the leaves.
    expected_leaf_rows : float, default=25
        Rows per leaf that the depth rule aims at.
    """
BINS_PARAMETER = """bins : int, default=8
        Public cells of equal width that every numeric feature is cut into, a power of two.
    """
DEPTH_BY_ROWS = (
    "None picks the deepest trees whose leaves hold `expected_leaf_rows` rows on average, by a noisy count."
)


def coarse(schema: Schema, bins: int) -> Schema:
    """Cut every numeric feature into at most `bins` cells; public, as the schema is.

    Examples
    --------
    >>> from dpforest.schema import Nominal
    >>> coarse(Schema({"age": Numeric(0, 100), "ward": Nominal(["a", "b"])}), 4)
    Schema(age: Numeric(0, 100, bins=4), ward: Nominal(['a', 'b']))
    """
    features = {
        name: _coarser(feature, min(bins, feature.bins)) if isinstance(feature, Numeric) else feature
        for name, feature in schema.features.items()
    }
    return Schema(features, schema.target)


def _coarser(feature: Numeric, bins: int) -> Numeric:
    if isinstance(feature, Date):  # is made of dates, not of its fields
        return Date(feature.first, feature.last, bins)
    return replace(feature, bins=bins)


@parameters
class GreedyForest(PrivateForest):
    """Plan and depth of the forests that choose their splits by the target."""

    split_share: float = 0.5
    expected_leaf_rows: float = 25

    _not_published: ClassVar[frozenset[str]] = frozenset({"split_share", "expected_leaf_rows", "bins"})
    _published_depth: ClassVar[int] = ANY_DEPTH
    _rules: ClassVar = {
        **PrivateForest._rules,
        "split_share": real(0, 1),
        "expected_leaf_rows": real(0, math.inf),
    }

    def _pools(self) -> list[Pool]:
        return splits_and_leaves(
            self.max_depth,
            self.split_share,
            "from which the depth follows",
            "splits by the target, an equal part for each level",
        )

    def _score(self) -> Utility:
        """Return the score of a split."""
        return Utility.GINI

    def _shapes(self, schema: Schema) -> Iterator[Shape]:
        slots = min(self._features_per_node() or schema.n_columns, schema.n_columns)
        return shapes_of(schema, self.n_estimators, self.max_depth, slots, codes_of(schema))

    def _asks(self, schema: Schema, shape: Shape) -> list[Ask]:
        level = Fraction(1, max(shape.depth, 1))
        splits = choose("splits", level, shape.n_trees, self._score().range_for(schema))
        return [Ask("count"), splits, count_leaves(schema, copies=shape.n_trees)]

    def _features_per_node(self) -> int | None:
        """Features that a node compares, None for all; not every paper has a parameter for it."""
        return getattr(self, "max_features", None)

    def _grow(self, curator: Curator) -> FlatTrees:
        return self._grow_to(curator, self._depth(curator))

    def _grow_to(self, curator: Curator, depth: int) -> FlatTrees:
        """Choose feature and cut of every node together, by the score."""
        return grow_greedy(
            curator, "splits", self.n_estimators, depth, self._score(), self._features_per_node()
        )

    def _depth(self, curator: Curator, rows_shared_by: int = 1) -> int:
        """Levels of splits, for trees that share the rows out among `rows_shared_by` of them."""
        if self.max_depth is not None:
            return self.max_depth
        n_rows = curator.row_count("count")
        wanted = depth_by_occupancy(n_rows, rows_shared_by, self.expected_leaf_rows)
        return min(wanted, self._limits.depth)
