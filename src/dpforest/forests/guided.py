"""What the default forests for classes and for numbers share: pools of the budget, and the plan in words.

`guided_classification` and `guided_regression` have the rest. Under a small budget one good tree beats many
weak ones, because each further tree divides rows or budget. Everything that could be tuned is a formula of
public quantities and of noisy counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_regressor
from sklearn.utils.validation import check_is_fitted

from dpforest._curator import FROM_PUBLIC_ROWS, NAMED, NESTED_OR_RIVAL, Curator
from dpforest._structure.additive import UNIT
from dpforest.forests import boosted
from dpforest.forests.base import PrivateForest, refuse
from dpforest.forests.foresight import Ask, Shape, codes_of, shapes_of
from dpforest.forests.guided_config import ClassConfig, NumberConfig
from dpforest.forests.parameters import choice, parameters, whole
from dpforest.forests.release import PrivateRelease, Trained
from dpforest.mechanisms import RandomWords
from dpforest.privacy import BudgetPlan, Kind, Ledger, Pool, row_multiplier
from dpforest.schema import Schema
from dpforest.schema.public_rows import PublicRows, are_the_same

_FROM_PUBLIC_ROWS = "How features spread and hang together came from public rows and cost nothing."
LINEAR_KINDS = {
    Kind.CENTRES, Kind.SPREADS, Kind.FEATURE_SUMS, Kind.CATEGORY_SUMS, Kind.PRODUCTS, Kind.FITTED_WEIGHTS,
    Kind.DIRECTION,
}  # fmt: skip
# What the queries on the ledger are for.
_PARTS: dict[str, set[Kind]] = {
    "noisy totals of the target": {Kind.CLASS_COUNTS, Kind.TARGET_TOTAL},
    "where the target lies": {
        Kind.TARGET_MEDIAN, Kind.TARGET_DISTANCE, Kind.LOWER_BOUND, Kind.UPPER_BOUND, Kind.TARGET_MEAN,
    },
    "the linear part": LINEAR_KINDS,
    "splits of the tree": {Kind.SPLITS, Kind.NODE_TARGETS},
    "statistics of every leaf": {Kind.LEAF_COUNTS, Kind.LEAF_SUMS},
    "weighing the tree against the linear part": {Kind.PART_WEIGHTS},
}  # fmt: skip
# The same where a direction won against the first two levels of a tree; the second line, too, if it is not
# the model but says that features add up.
_COMPARED = {"splits of the tree": "comparing random directions with the first two levels of a tree"}
_OF_DIRECTION = _COMPARED | {
    "the linear part": "better directions around the first one",
    "weighing the tree against the linear part": "how sure the scores along the direction are",
}


@parameters
class GuidedTree(PrivateForest):
    """Plan of the budget, the same for both tasks."""

    n_estimators: Any = field(default=None, kw_only=False)

    _rules: ClassVar = {
        **PrivateForest._rules,
        "n_estimators": whole(1, boosted.MOST_ROUNDS, or_none=True),
        "as_published": choice(False),
    }
    _may_be_additive: ClassVar[bool] = True
    _most_trees: ClassVar[int] = 10  # without delta
    _config: ClassVar[ClassConfig | NumberConfig]
    # Public rows, as given and as read: set on the copy that is trained, never on a model that is kept.
    _public_table: ClassVar[Any] = None
    _public: ClassVar[PublicRows | None] = None

    def fit(self, X: Any, y: Any, X_public: Any = None, **refused: Any) -> Self:
        """Train on private rows and keep only what the mechanisms released.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_features), or a place
            Private features, in memory or not: see `dpforest.schema.Source`.
        y : array-like of shape (n_rows,), or str
            Private target; of a place, the name of its column.
        X_public : data frame, array or place, optional
            Features of rows that are public, without a target: a published sample, say, or people who agreed.
            **Nothing is promised to them.** How features spread and hang together is then learnt from them
            instead of asked of the private rows, and the budget goes to what only those can tell.
        **refused
            Nothing else is taken, no `sample_weight` either.

        Returns
        -------
        self
        """
        refuse(type(self).__name__, refused)
        if X_public is not None and are_the_same(X_public, X):
            raise ValueError(f"{type(self).__name__}: X_public is X itself, which is private.")
        return self._trained(X, y, _public_table=X_public)

    def privacy_plan(self) -> BudgetPlan:
        """Tell what `fit` will spend, by purpose. Needs no data."""
        plan = super().privacy_plan()
        if not self.delta and self.n_estimators is not None and self.n_estimators > self._most_trees:
            raise ValueError(
                f"{type(self).__name__}: n_estimators={self.n_estimators!r} is not valid with delta=0; "
                f"expected a whole number up to {self._most_trees} or None. More trees need delta > 0."
            )
        return plan

    def _columns(self, schema: Schema, words: RandomWords) -> Schema:
        return schema if self.delta else self._pure_columns(schema, words)

    def _pure_columns(self, schema: Schema, words: RandomWords) -> Schema:
        """Add columns for the model that pure epsilon-DP pays for; by default none."""
        return schema

    def _shapes(self, schema: Schema) -> Iterator[Shape]:
        if self.delta:
            return iter([boosted.largest_shape(self.n_estimators, self.max_depth)])
        return self._pure_shapes(schema)

    def _asks(self, schema: Schema, shape: Shape) -> list[Ask]:
        if self.delta:
            return boosted.faintest_asks(self.privacy_plan(), schema, shape)
        return self._pure_asks(schema, shape)

    def _foresee(self, plan: BudgetPlan, schema: Schema) -> None:
        if self.delta:
            boosted.check_room(type(self).__name__, schema, next(self._shapes(schema)))
        super()._foresee(plan, schema)
        if self._public_table is not None:  # read before anything is charged
            self.__dict__["_public"] = PublicRows.read(self._public_table, schema, type(self).__name__)

    def _pure_shapes(self, schema: Schema) -> Iterator[Shape]:
        """State the forests that pure epsilon-DP may pay for, largest first."""
        raise NotImplementedError

    def _pure_asks(self, schema: Schema, shape: Shape) -> list[Ask]:
        """State the faintest questions that pure epsilon-DP may pay for."""
        raise NotImplementedError

    def _train(self, curator: Curator) -> Trained:
        if self.delta:
            return boosted.train(curator, self.n_estimators, self.max_depth, self._public)
        return self._train_purely(curator)

    def _train_purely(self, curator: Curator) -> Trained:
        """Make the model that pure epsilon-DP pays for."""
        raise NotImplementedError

    def _votes(self, release: PrivateRelease) -> NDArray[np.float64]:
        additive = release.trained.additive
        if additive is not None and additive.pairs is not None:
            return release.statistics / UNIT
        return self._pure_votes(release)

    def _pure_votes(self, release: PrivateRelease) -> NDArray[np.float64]:
        """Turn leaf statistics into votes."""
        raise NotImplementedError

    def _sum_parts(self, cells: NDArray[Any], n_threads: int) -> NDArray[np.float64]:
        wide = cells if self.additive_ is None else self.additive_.widen(cells)
        return super()._sum_parts(wide, n_threads)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Decrease of impurity, or with delta of the loss, by each feature, from released values."""
        check_is_fitted(self)
        if self.additive_ is not None and self.additive_.pairs is not None:
            return boosted.importances(self.additive_)
        return super().feature_importances_

    def _pools(self) -> list[Pool]:
        if self.delta:
            return boosted.pools()
        counting = self._config.counting
        return [
            Pool("count", counting, "noisy totals of the target, from which everything else follows"),
            Pool(
                "model",
                1 - counting,
                "sums over features, splits, statistics of every leaf, weights of the parts",
            ),
        ]

    def _guided_shapes(self, schema: Schema, n_trees: int, most: int) -> Iterator[Shape]:
        """State forests in every node of which all columns are compared."""
        return shapes_of(schema, n_trees, self.max_depth, schema.n_columns, codes_of(schema), most)

    def explain_plan(self) -> str:
        """Say in words how the budget was spent and why the tree is this deep; after `fit`.

        Returns
        -------
        str
            Made of the plan, the ledger and released counts only.
        """
        check_is_fitted(self)
        if self.additive_ is not None and self.additive_.pairs is not None:
            given = (self.settings_[name] is not None for name in ("n_estimators", "max_depth"))
            said = boosted.explain(self.ledger_, self.trees_.n_trees, self.trees_.depth, *given)
            return f"{said}\n{_FROM_PUBLIC_ROWS}" if self._knows_public_rows else said
        plan, depth = self.ledger_.plan, self.trees_.depth
        is_along = any(event.kind is Kind.DIRECTION for event in self.ledger_)
        is_compared = any(event.mechanism == NESTED_OR_RIVAL for event in self.ledger_)
        purposes = _OF_DIRECTION if is_along else _COMPARED if is_compared and depth == 0 else {}
        lines = [f"The whole budget is {plan.guarantee}."]
        for part, kinds in _PARTS.items():
            spent = sum(event.cost for event in self.ledger_ if event.kind in kinds)
            if spent:
                lines.append(f"{float(100 * spent / plan.total):.3g} % went to {purposes.get(part, part)}.")
        if self._knows_public_rows:
            lines.append(_FROM_PUBLIC_ROWS)
        if is_regressor(self) and any(event.kind is Kind.FITTED_WEIGHTS for event in self.ledger_):
            lines.append(
                "A sum over features stood out of its noise; trees follow what it left."
                if self._has_additive_part()
                else "A sum over features did not stand out of its noise, so it was dropped."
            )
        if depth == 0 and self.additive_ is not None and self.settings_["max_depth"] != 0:
            few = "rows times epsilon are too few for a tree"
            many = "a tree could not tell so many classes apart"
            if is_along:
                many = "a direction through all features was chosen, by the rows that it names correctly"
            elif is_compared:
                many = "a direction through all features was better than two levels of a tree, so they add up"
            lines.append(f"There are no splits: {few if is_regressor(self) else many}.")
            if is_along and not self._has_additive_part():
                lines.append("It then did not stand out: class shares are all that the model knows.")
            return "\n".join(lines)
        if is_compared:
            lines.append("Random directions were compared with the first two levels of the tree, and lost.")
        if self.settings_["max_depth"] is None:
            why = "so that an average leaf stands out of its noise, by a formula of epsilon and a noisy count"
        else:
            why = "as max_depth says"
        rows, n_trees = float(self._rows_released()), self.trees_.n_trees
        which = "The tree" if n_trees == 1 else f"Each of the {n_trees} trees"
        if any(event.mechanism == NAMED for event in self.ledger_):
            lines.append("The classes of the leaves were chosen with the last two levels, for nothing.")
        lines.append(
            f"{which} has {depth} levels, {why}; the leaves hold about {rows / 2**depth:.0f} rows each."
        )
        return "\n".join(lines)

    @property
    def _knows_public_rows(self) -> bool:
        """Whether features were learnt from public rows, as the ledger tells."""
        return _learnt_from_public_rows(self.ledger_)

    def _has_additive_part(self) -> bool:
        """Tell whether there is a sum over features that differs from row to row."""
        table = None if self.additive_ is None else self.additive_.table
        return table is not None and bool((table != table[:, :1]).any())

    def _rows_released(self) -> float:
        """Return the number of rows that the leaves of a tree add up to: every row is in all trees."""
        return float(self.leaf_statistics_[0].sum())

    @property
    def _finite_epsilon(self) -> float:
        """Epsilon for one step of the mechanisms, as the formulas take it: neither next to 0 nor infinite."""
        multiplier = min(row_multiplier(self._relation(), self.max_rows_per_person), 2**1000)  # for a double
        return min(max(float(self.epsilon) / multiplier, 1e-9), 1e3)


def _learnt_from_public_rows(ledger: Ledger) -> bool:
    """Tell whether sums over features were asked for, but not what their scales and spreads follow from.

    Of directions, which need not know them, the ledger says so itself.
    """
    if any(FROM_PUBLIC_ROWS.strip() in event.query.detail for event in ledger):
        return True
    kinds = {event.kind for event in ledger}
    asked = kinds & {Kind.FEATURE_SUMS, Kind.FITTED_WEIGHTS, Kind.GRADIENTS}
    return bool(asked) and not kinds & {Kind.CENTRES, Kind.MARGINALS}
