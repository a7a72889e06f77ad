"""`PrivateSearchCV`: choose among candidates without paying for every one of them."""

from __future__ import annotations

import os
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from dpforest._curator import KeyedTrees, Part, PrivateTable
from dpforest.estimates.metrics import LEVELS, METRICS
from dpforest.estimates.paying import check_payable
from dpforest.estimates.scores import check_metric
from dpforest.forests.base import PrivateForest
from dpforest.forests.charging import Charging
from dpforest.forests.declare import declare, declared_names
from dpforest.mechanisms import RandomWords, gamma_for, random_runs
from dpforest.privacy import (
    BudgetAccountant,
    BudgetPlan,
    Ledger,
    LeftBehind,
    PrivacyError,
    PrivacyGuarantee,
    Receipt,
    nobody_pays,
)
from dpforest.privacy.exact import read_epsilon, read_number
from dpforest.schema.places import named_target
from dpforest.search.candidates import (
    SCORE,
    Candidate,
    check_candidates,
    estimators_of,
    plan_for,
    read_candidates,
)
from dpforest.search.runs import Scored, Trial, best_of, ledger_of, model_of

MOST_RUNS = 100


Method = TypeVar("Method", bound=Callable[..., Any])


def _can(name: str) -> Callable[[Method], Method]:
    """Leave a method out where the forests have not got it."""

    def offer(method: Method) -> Method:
        offered: Method = available_if(lambda search: hasattr(estimators_of(search.estimator)[0], name))(
            method
        )
        return offered

    return offer


class PrivateSearchCV(MetaEstimatorMixin, Charging):
    """Choose parameters, or one of several forests, privately: the best of a random number of runs.

    A run draws a candidate at random, trains it and scores it on rows that were held out. The number of runs
    is drawn too, and is kept secret. Only the best run is released. That costs 2 + eta times what one run
    costs, however many runs or candidates there are (Liu and Talwar 2019, Papernot and Steinke 2022), and it
    is charged as one entry before any row is looked at.

    `epsilon` is what all of it costs: with eta = 0, a candidate is trained at half of it. So a search pays
    where candidates differ by more than what half of the budget is worth; the default forests choose their
    own parameters and rarely leave so much. ``GridSearchCV`` is private too if its forests have an
    accountant, but every fit of every fold is charged, and its scores are exact counts that nobody charged.

    Parameters
    ----------
    estimator : forest, or list of forests
        What is tried. Their `epsilon` is not used; delta must be 0.
    param_grid : dict or list of dict, optional
        Values to try, as for ``GridSearchCV``; every combination is a candidate. Without it the forests as
        they are; of a single one, the best of several runs. A grid that names no parameter is refused.
    epsilon : float, default=1.0
        What the search may cost, everything included.
    metric : str, optional
        As in `private_score`; by default "accuracy" or "mean_squared_error".
    largest : float, optional
        Loss to which single rows are clipped, as in `private_score`.
    expected_runs : float, optional
        Mean of the number of runs, from 1 to 100; by default three times the number of candidates. It changes
        time, not privacy. The number varies much: with a mean of 30 one search in five makes one run only.
    eta : float from -0.5 to 1, of at most 6 decimals, default=0
        How the number of runs is distributed. With -0.5 a run gets two thirds of epsilon, but most searches
        make one run only; with 1 it gets one third, and few runs are rare.
    folds : int, default=5
        A row is held out with probability 1 / folds, by a coin of its own.
    accountant : BudgetAccountant, optional
        Who is charged; by default that of the forests, or of the ``with`` block around the call, if there is
        one.

    Attributes
    ----------
    best_estimator_ : forest
        The winner: a plain model that can be saved and loaded, and says what the whole search cost.
    best_params_ : dict
        Its values of `param_grid`.
    best_index_ : int
        Its place among all candidates: combinations in the order of ``ParameterGrid``, for each forest.
    best_score_ : float
        Its noisy score on held-out rows. The best of several scores flatters.
    guarantee_, ledger_, receipt_
        As in every model, for the search as a whole.

    Notes
    -----
    Nothing of the losing runs is kept. How long a search takes tells how many runs there were, and that is
    outside of the promise, as all times are. A search that is interrupted stays charged.

    Examples
    --------
    >>> import numpy as np
    >>> from dpforest import DiPriMeForestClassifier, PrivateSearchCV
    >>> X = np.random.default_rng(0).random((5000, 2))
    >>> y = (X[:, 0] > 0.5).astype(int)
    >>> forest = DiPriMeForestClassifier(bounds=(0, 1), classes=[0, 1])
    >>> search = PrivateSearchCV(forest, {"max_depth": [2, 4]}, epsilon=4.0).fit(X, y)
    >>> sorted(search.best_params_), search.predict(X[:3]).shape
    (['max_depth'], (3,))
    >>> print(search.best_estimator_.guarantee_)
    epsilon = 4, delta = 0 for adding or removing one row (1 row per person)
    """

    best_estimator_: PrivateForest
    best_params_: dict[str, Any]
    best_index_: int
    best_score_: float
    guarantee_: PrivacyGuarantee
    ledger_: Ledger
    receipt_: Receipt | None

    def __init__(
        self,
        estimator: Any,
        param_grid: Any = None,
        *,
        epsilon: float = 1.0,
        metric: str | None = None,
        largest: float | None = None,
        expected_runs: float | None = None,
        eta: float = 0,
        folds: int = 5,
        accountant: Any = None,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.epsilon = epsilon
        self.metric = metric
        self.largest = largest
        self.expected_runs = expected_runs
        self.eta = eta
        self.folds = folds
        self.accountant = accountant

    def privacy_plan(self) -> BudgetPlan:
        """Tell what `fit` will spend. Needs no data."""
        total, eta, _ = self._budget()
        candidates = read_candidates(self.estimator, self.param_grid, total / (2 + eta))
        return plan_for(candidates[0].model.privacy_plan(), total, eta).outline()

    def fit(self, X: Any, y: Any) -> Self:
        """Search, and keep the best run only.

        Parameters
        ----------
        X, y : data
            Private rows, as for the forests, but not on a cluster; they are read anew for every run.

        Returns
        -------
        self
        """
        self.__dict__ = {name: value for name, value in vars(self).items() if not name.endswith("_")}
        (total, eta, gamma), plan = self._budget(), self.privacy_plan()
        candidates = read_candidates(self.estimator, self.param_grid, total / (2 + eta))
        first = candidates[0].model
        X, y = named_target(X, y, declared_names(first))
        words, payer = RandomWords.system(), self._payer([])
        trial = self._trial(candidates, X, y, words.fork("folds"), payer)
        draws = words.fork("draws")

        def run() -> Scored:
            place = int(draws.uniform_below(len(candidates), 1)[0])
            return trial(place, candidates[place], RandomWords.system())

        with self._spend(payer, plan) as charge, nobody_pays():
            best = best_of(run, random_runs(eta, gamma, words.fork("runs")), lambda scored: scored.worth)
            public = {"eta": str(eta), "gamma": str(gamma), "candidates": len(candidates)}
            ledger = ledger_of(best, total, eta, public)
            charge.follow(ledger)
        charge.check_process()
        chosen = candidates[best.candidate]
        model = model_of(best, chosen, ledger, charge.receipt, self.accountant)
        self.__dict__ = vars(self) | _attributes(model, best, dict(chosen.parameters))
        return self

    def _payer(self, voids: list[str]) -> BudgetAccountant | None:
        """Return who is charged: the search's accountant, that of its forests, or of the block around."""
        given = [self.accountant, *(one.accountant for one in estimators_of(self.estimator))]
        known = [one for one in given if one is not None]
        if self.accountant is None and any(one is not known[0] for one in known):
            raise PrivacyError("The forests have different accountants: give the search its own.")
        payer = known[0] if known else BudgetAccountant.current()
        if isinstance(payer, LeftBehind):
            raise payer.refusal()
        return payer

    def _budget(self) -> tuple[Fraction, Fraction, Fraction]:
        """Read total epsilon, eta and gamma."""
        total = read_epsilon(self.epsilon)
        eta = read_number(self.eta, "eta")
        # Below, most draws of the number of runs would take for ever; finer ones have coins beyond 2**63.
        if not Fraction(-1, 2) <= eta <= 1 or eta.denominator > 10**6:
            raise ValueError(f"eta must be a number from -0.5 to 1, of at most 6 decimals, got {self.eta!r}.")
        runs = self.expected_runs
        if runs is None:
            grid = read_candidates(self.estimator, self.param_grid, total / (2 + eta))
            runs = min(3 * len(grid), MOST_RUNS)
        if not 1 <= runs <= MOST_RUNS:
            raise ValueError(f"expected_runs must be a number from 1 to {MOST_RUNS}, got {runs!r}.")
        return total, eta, gamma_for(eta, runs)

    def _trial(
        self,
        candidates: list[Candidate],
        X: Any,
        y: Any,
        words: RandomWords,
        payer: BudgetAccountant | None = None,
    ) -> Trial:
        """Check all that can be known before anything is charged; read the rows once for that."""
        target = check_candidates(candidates, X, y, payer)
        first = candidates[0].model
        metric = self.metric or ("accuracy" if first._task == "classification" else "mean_squared_error")
        if metric == "confusion_matrix":
            raise ValueError("metric='confusion_matrix' is not one number, by which runs could be compared.")
        check_metric(metric, target, self.largest)
        run = first.privacy_plan()
        plan = BudgetPlan.divide(run.epsilon, 0, {SCORE: 1}, run.relation, run.max_rows_per_person)
        check_payable("PrivateSearchCV", plan, {SCORE: LEVELS if METRICS[metric].is_sum else 1})
        if isinstance(self.folds, bool) or not isinstance(self.folds, int) or not 2 <= self.folds <= 1000:
            raise ValueError(f"folds must be a whole number from 2 to 1000, got {self.folds!r}.")
        folds = KeyedTrees.draw(self.folds, words)
        for held_out in (False, True):  # what cannot be read twice fails here
            PrivateTable(X, y, declare(first, X, y, first._task), first._n_threads(), Part(folds, held_out))
        return Trial(X, y, folds, metric, self.largest, plan)

    # --- after the release -----------------------------------------------------------------------------

    @_can("predict")
    def predict(self, X: Any) -> NDArray[Any]:
        """Predict by the winner.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_features)
            New rows.
        """
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.predict(X))

    @_can("predict_proba")
    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Class probabilities by the winner.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_features)
            New rows.
        """
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.predict_proba(X))

    def score(self, X: Any, y: Any) -> float:
        """Exact score of the winner, as scikit-learn's: a query that nobody charges; see `private_score`.

        Parameters
        ----------
        X, y : data
            Public rows.
        """
        check_is_fitted(self)
        return float(self.best_estimator_.score(X, y))

    def save(self, path: str | os.PathLike[str], key: str | os.PathLike[str] | None = None) -> None:
        """Write the winner; see `PrivateForest.save`.

        Parameters
        ----------
        path, key
            As there.
        """
        check_is_fitted(self)
        self.best_estimator_.save(path, key)

    def __sklearn_tags__(self) -> Any:
        tags, of_forest = super().__sklearn_tags__(), get_tags(estimators_of(self.estimator)[0])
        tags.estimator_type = of_forest.estimator_type
        tags.classifier_tags, tags.regressor_tags = of_forest.classifier_tags, of_forest.regressor_tags
        tags.input_tags = of_forest.input_tags
        return tags

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        if any(name.endswith("_") for name in state):  # a release: nothing tells where a budget is kept
            left = [clone(one) for one in estimators_of(self.estimator)]
            for one in left:
                own = one.accountant
                mark = LeftBehind.of(own) if isinstance(own, BudgetAccountant) else own
                one.accountant = state["accountant"] if mark is None else mark
            state["estimator"] = left if isinstance(self.estimator, list | tuple) else left[0]
        return state


def _attributes(model: PrivateForest, best: Scored, parameters: dict[str, Any]) -> dict[str, Any]:
    """Everything that is released, at once."""
    of_model = {
        name: getattr(model, name)
        for name in ("classes_", "n_features_in_", "feature_names_in_", "guarantee_", "ledger_", "receipt_")
        if hasattr(model, name)
    }
    return of_model | {
        "best_estimator_": model,
        "best_params_": parameters,
        "best_index_": best.candidate,
        "best_score_": best.score,
    }
