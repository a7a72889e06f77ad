"""What a search tries, and what is refused before any row is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from dpforest.forests.base import PrivateForest
from dpforest.forests.charging import check_lock
from dpforest.forests.declare import declare
from dpforest.forests.release import plain_copy
from dpforest.mechanisms import RandomWords
from dpforest.privacy import (
    ALL_ROWS,
    HELD_OUT_ROWS,
    TRAINING_ROWS,
    BudgetAccountant,
    BudgetPlan,
    NeighboringRelation,
    Pool,
    PrivacyError,
)

SCORE, CHOICE, NOT_USED = "score", "choice", "not used"
# What all candidates must have in common, or what a search decides itself.
_NOT_TO_BE_SEARCHED = frozenset(
    {
        "epsilon",
        "delta",
        "schema",
        "bounds",
        "classes",
        "target_bounds",
        "neighboring",
        "max_rows_per_person",
        "accountant",
        "on_leak",
        "as_published",
        "n_jobs",
        "random_state",
        "verbose",
    }
)


class Candidate(NamedTuple):
    """One of the models that may be tried: not fitted, at the epsilon of one run."""

    parameters: Mapping[str, Any]
    model: PrivateForest


def estimators_of(given: Any) -> list[PrivateForest]:
    """Return the estimators that a search was given: one, or several in a list."""
    found = list(given) if isinstance(given, list | tuple) else [given]
    if not found or not all(isinstance(one, PrivateForest) for one in found):
        raise TypeError("PrivateSearchCV needs a forest of this library, or a list of them.")
    if len({one._task for one in found}) > 1:
        raise ValueError("Classifiers and regressors cannot be compared.")
    return found


def read_candidates(given: Any, grid: Any, epsilon: Fraction) -> list[Candidate]:
    """Return every candidate, set to the epsilon of one run; refuse those that make no private run.

    Parameters
    ----------
    given : forest or list of forests
        Where parameters are set.
    grid : mapping, list of mappings or None
        As for scikit-learn's `ParameterGrid`.
    epsilon : Fraction
        What a run may spend.
    """
    settings: Sequence[Mapping[str, Any]] = [{}] if grid is None else list(ParameterGrid(grid))
    if grid is not None and not any(settings):
        raise ValueError(
            "param_grid names no parameter, so there is nothing to choose, and choosing would cost a part of "
            "epsilon: give values to try, or several forests without a param_grid, or fit the forest itself."
        )
    fixed = sorted({name for one in settings for name in one} & _NOT_TO_BE_SEARCHED)
    if fixed:
        raise ValueError(f"A search cannot choose {', '.join(fixed)}: all candidates have these in common.")
    found = []
    for estimator in estimators_of(given):
        for parameters in settings:
            model = clone(estimator).set_params(**parameters, epsilon=epsilon, accountant=None, verbose=0)
            found.append(Candidate(parameters, plain_copy(model, model._rules)))
    for candidate in found:
        _check_private(candidate.model)
    if len({(one.model._relation(), one.model.max_rows_per_person) for one in found}) > 1:
        raise ValueError("All candidates must have the same neighboring and max_rows_per_person.")
    return found


def _check_private(model: PrivateForest) -> None:
    plan, name = model.privacy_plan(), type(model).__name__
    voids = model._voids()
    if voids:
        raise PrivacyError(f"{name} promises nothing ({'; '.join(voids)}), and so would the best of several.")
    if plan.delta:
        raise ValueError(
            f"{name} has delta > 0: what the best of a random number of runs costs is proven here for pure "
            "epsilons only. Search with delta=0, or fix the parameters beforehand."
        )
    parts = plan.relation is NeighboringRelation.LABEL_CHANGE or any(p.rows != ALL_ROWS for p in plan.pools)
    if parts or model._is_transductive:
        raise ValueError(f"{name} treats labelled and unlabelled rows differently, and cannot be searched.")


def check_candidates(found: list[Candidate], X: Any, y: Any, payer: BudgetAccountant | None) -> Any:
    """Refuse what has no room or cannot be paid for; return the target, which all candidates must share."""
    targets = []
    for candidate in found:
        model = candidate.model
        schema = declare(model, X, y, model._task)
        model._check_target(schema)
        check_lock(payer, schema, getattr(y, "name", None))
        targets.append(schema.target)
        model._unfitted_copy()._foresee(
            model.privacy_plan(), model._columns(schema, RandomWords.system().fork("dry run"))
        )
    if any(target != targets[0] for target in targets):
        raise ValueError("All candidates must have the same target.")
    return targets[0]


def plan_for(run: BudgetPlan, total: Fraction, eta: Fraction) -> BudgetPlan:
    """Return the plan of a search whose winner has the plan `run`.

    A run costs its training rows and its held-out rows the epsilon of one run each, and every row is one or
    the other; that the best of several is released costs 1 + eta times as much again.

    Parameters
    ----------
    run : BudgetPlan
        Of the training of one run, which may spend total / (2 + eta).
    total : Fraction
        What the search costs.
    eta : Fraction
        See `dpforest.mechanisms.random_runs`.
    """
    part = 1 / (2 + eta)
    pools = [Pool(pool.name, pool.share * part, pool.purpose, TRAINING_ROWS) for pool in run.pools]
    rest = 1 - run.compose({pool.name: pool.share for pool in run.pools})
    pools += [Pool(NOT_USED, rest * part, "nothing", TRAINING_ROWS)] if rest else []
    pools += [
        Pool(SCORE, part, "how good the run is", HELD_OUT_ROWS),
        Pool(CHOICE, 1 - part, "the best of a random number of runs"),
    ]
    return BudgetPlan.divide(total, 0, pools, run.relation, run.max_rows_per_person)
