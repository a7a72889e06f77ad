"""The shared `fit`: the whole way of the data, from private rows to a released forest, on one screen.

Estimators say how to divide the budget (`_shares`), grow (`_grow`) and fill (`_fill`); everything that makes
the result private happens here and in `dpforest.curator`.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from dpforest.curator import Curator, PrivateTable
from dpforest.forests.declare import declare, unnamed_as_array
from dpforest.forests.parameters import COMMON_RULES, Rule, check_parameters
from dpforest.mechanisms import RandomWords
from dpforest.privacy import (
    BudgetAccountant,
    BudgetPlan,
    Event,
    Ledger,
    NeighboringRelation,
    Pool,
    PrivacyGuarantee,
    PrivacyLeakWarning,
)
from dpforest.schema import Schema
from dpforest.structure import FlatTrees
from dpforest.trees import class_probabilities, sum_leaf_values, target_means


class PrivateForest(BaseEstimator):
    """What all private forests share; see the estimators for parameters.

    Attributes
    ----------
    guarantee_ : PrivacyGuarantee
        What the fitted model promises, and whether the promise is proven.
    ledger_ : Ledger
        Every look at private rows: mechanism, purpose, cost.
    noise_scales_ : dict
        For every look, the parameters of its mechanism.
    schema_ : Schema
        What was declared public.
    trees_ : FlatTrees
        Released splits.
    leaf_statistics_ : ndarray
        Released noisy leaf statistics; all predictions follow from them.
    n_features_in_, feature_names_in_ : int, ndarray
        As in scikit-learn.
    """

    _task: ClassVar[str]
    _rules: ClassVar[dict[str, Rule]] = COMMON_RULES

    def __init__(
        self,
        n_estimators: int,
        *,
        epsilon: float,
        delta: float,
        schema: Schema | None,
        bounds: Any,
        max_depth: int | None,
        neighboring: str,
        max_rows_per_person: int,
        accountant: BudgetAccountant | None,
        on_leak: str,
        n_jobs: int | None,
        random_state: Any,
        verbose: int,
    ) -> None:
        self.n_estimators = n_estimators
        self.epsilon = epsilon
        self.delta = delta
        self.schema = schema
        self.bounds = bounds
        self.max_depth = max_depth
        self.neighboring = neighboring
        self.max_rows_per_person = max_rows_per_person
        self.accountant = accountant
        self.on_leak = on_leak
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # --- what an estimator says about itself -----------------------------------------------------------

    def _pools(self) -> list[Pool]:
        """Divide the budget: named shares, fixed before the first look."""
        raise NotImplementedError

    def _grow(self, curator: Curator) -> FlatTrees:
        """Choose the splits, with or without asking the curator."""
        raise NotImplementedError

    def _fill(self, curator: Curator, trees: FlatTrees) -> NDArray[Any]:
        """Ask the curator for leaf statistics."""
        raise NotImplementedError

    # --- the way of the data ---------------------------------------------------------------------------

    def privacy_plan(self) -> BudgetPlan:
        """Tell what `fit` will spend, by purpose. Needs no data."""
        check_parameters(self, self._rules)
        relation = NeighboringRelation[self.neighboring.upper()]
        return BudgetPlan.divide(
            self.epsilon,
            self.delta,
            self._pools(),
            relation=relation,
            max_rows_per_person=self.max_rows_per_person,
        )

    def fit(self, X: Any, y: Any) -> Self:
        """Train on private rows and keep only what the mechanisms released.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_features)
            Private features. Data frames are matched to the schema by column name.
        y : array-like of shape (n_rows,)
            Private target.

        Returns
        -------
        self
        """
        plan = self.privacy_plan()
        X = unnamed_as_array(X)
        schema, leaks = declare(self, X, y, self._task)
        validate_data(self, X, skip_check_array=True)  # records the names and number of columns
        table = PrivateTable(X, y, schema, effective_n_jobs(self.n_jobs))
        del X, y
        words, repeatable = self._random_words()
        accountant = self.accountant or BudgetAccountant.current()
        if accountant is not None:
            accountant.spend(plan, label=type(self).__name__)
        with Curator(table, plan, words, self._show_progress if self.verbose else None) as curator:
            trees = self._grow(curator)
            leaves = self._fill(curator, trees)
        self._release(schema, trees, leaves, curator.ledger, leaks + repeatable)
        return self

    def _release(
        self, schema: Schema, trees: FlatTrees, leaves: NDArray[Any], ledger: Ledger, voids: list[str]
    ) -> None:
        """Set the fitted attributes: released values and public facts only."""
        self.schema_, self.trees_, self.leaf_statistics_, self.ledger_ = schema, trees, leaves, ledger
        self.noise_scales_ = {event.purpose: dict(event.parameters) for event in ledger}
        guarantee = ledger.plan.guarantee
        for reason in voids:
            guarantee = guarantee.voided(reason)
        self.guarantee_: PrivacyGuarantee = guarantee

    def _random_words(self) -> tuple[RandomWords, list[str]]:
        """Noise from the operating system, unless a seed asks for a repeatable test run."""
        if self.random_state is None:
            return RandomWords.system(), []
        warnings.warn(
            f"{type(self).__name__}: random_state makes the noise predictable, so this model is for testing "
            "only and its guarantee is void. Leave random_state=None to train a private model.",
            PrivacyLeakWarning,
            stacklevel=4,
        )
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        return RandomWords.seeded(seed), ["random_state makes the noise predictable: testing only"]

    def _show_progress(self, event: Event) -> None:
        print(f"[{type(self).__name__}] {event.purpose}: {event.mechanism}", file=sys.stderr)

    # --- after the release -----------------------------------------------------------------------------

    def _sum_votes(self, X: Any) -> NDArray[np.float64]:
        """Sum the released statistics of the leaves that each new row meets."""
        check_is_fitted(self)
        n_threads = effective_n_jobs(self.n_jobs)
        X = unnamed_as_array(X)
        cells = self.schema_.encode_features(X, owner=type(self).__name__, n_threads=n_threads)
        if (
            self.schema is None
        ):  # a declared schema matches columns by name in any order, scikit-learn does not
            validate_data(self, X, reset=False, skip_check_array=True)
        return sum_leaf_values(self.trees_, self.leaf_statistics_.astype(np.float64), cells, n_threads)

    def _repr_html_(self) -> str:
        """Put the promise, or before `fit` the plan, above scikit-learn's diagram."""
        promise = self.guarantee_ if hasattr(self, "guarantee_") else self.privacy_plan()
        return promise._repr_html_() + str(super()._repr_html_())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


class PrivateForestClassifierBase(ClassifierMixin, PrivateForest):
    """Class votes from leaf histograms."""

    _task = "classification"

    def _fill(self, curator: Curator, trees: FlatTrees) -> NDArray[np.int64]:
        return curator.leaf_histograms("leaves", trees)

    def _release(self, schema: Schema, *released: Any) -> None:
        super()._release(schema, *released)
        self.classes_ = np.asarray(schema.classes.labels)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Class probabilities, in the order of `classes_`.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_features)
            New rows.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        return class_probabilities(self._sum_votes(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Most probable class of each row.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_features)
            New rows.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        best: NDArray[Any] = self._sum_votes(X).argmax(axis=1)
        return np.take(self.classes_, best)


class PrivateForestRegressorBase(RegressorMixin, PrivateForest):
    """Means from soft leaf histograms."""

    _task = "regression"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = (
            True  # on a few hundred rows, as in scikit-learn's checks, noise wins
        )
        return tags

    def _fill(self, curator: Curator, trees: FlatTrees) -> NDArray[np.int64]:
        return curator.leaf_soft_histograms("leaves", trees)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predicted target of each row.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_features)
            New rows.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        votes = self._sum_votes(X)
        target = self.schema_.range
        everything = self.leaf_statistics_.sum(axis=(0, 1), dtype=np.float64)[None]
        overall = target_means(everything, target.levels, fallback=target.levels / 2)[0]
        return target.decode(target_means(votes, target.levels, fallback=overall))
