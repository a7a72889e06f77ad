"""`private_score`: how good a model is on private rows, at a price."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sklearn.utils.validation import check_is_fitted

from dpforest._curator import Curator, PrivateTable
from dpforest.estimates.metrics import METRICS, Metric, largest_loss
from dpforest.estimates.paying import check_payable, paid_by
from dpforest.mechanisms import RandomWords
from dpforest.privacy import (
    BudgetAccountant,
    BudgetPlan,
    Kind,
    Ledger,
    NeighboringRelation,
    Pool,
    PrivacyGuarantee,
    Query,
    Receipt,
)
from dpforest.schema import Classes
from dpforest.schema.places import named_target

WHOLE = Fraction(1)
LEAST, MOST = 1e-150, 1e150  # lengths whose squares are doubles: others would warn, or fail, at some rows


@dataclass(frozen=True)
class PrivateScore:
    """A score, and what it cost.

    Parameters
    ----------
    value : float, or ndarray for a confusion matrix
        The score; noisy.
    metric : str
        What it is.
    rows : float
        Noisy number of rows that it is about.
    noise_sd : float
        Standard deviation of the noise in each count, or in each sum of losses as a number of rows.
    ledger : Ledger
        The query that was made.
    receipt : Receipt or None
        Where the charge stands; None if nobody was charged.
    largest : float
        Loss to which single rows were clipped, 1 where there are no losses: the noise in a mean loss is
        ``largest * noise_sd / rows``.
    """

    value: Any
    metric: str
    rows: float
    noise_sd: float
    ledger: Ledger
    receipt: Receipt | None = None
    largest: float = 1.0

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """What was promised to the rows."""
        return self.ledger.plan.guarantee

    def __float__(self) -> float:
        return float(self.value)


def private_score(
    model: Any,
    X: Any,
    y: Any,
    *,
    epsilon: float,
    metric: str = "accuracy",
    largest: float | None = None,
    neighboring: str = "add_or_remove_one",
    max_rows_per_person: int = 1,
    accountant: BudgetAccountant | None = None,
) -> PrivateScore:
    """Tell how good a released model is on private rows, with pure differential privacy.

    `model.score` counts exactly, and a count that is published is a query that nobody charged. This one adds
    noise and is charged. Rows that the model was trained on flatter it, and are asked a second time: the two
    costs add.

    Parameters
    ----------
    model : fitted forest of this library
        Any but one that was run as published.
    X, y : data frame or array, array-like
        Private rows, in all forms that `fit` takes. Those whose target is not declared in the model's schema
        are left out.
    epsilon : float
        What may be spent. Of n rows, accuracy is then known to about 1 / (n epsilon).
    metric : str, default="accuracy"
        For classes "accuracy", "confusion_matrix", "log_loss", "brier_score" and, if there are two,
        "roc_auc" (to about 1/100, by a histogram of 65 bins); for numbers "mean_squared_error". The
        class that probabilities decide for, by `class_weight` or `threshold` if the model has them, counts as
        the predicted one.
    largest : float, optional
        Loss to which single rows are clipped. By default ln(100) for "log_loss", the whole range for the
        others; a lower one, if nearly all losses are below it, leaves less noise.
    neighboring : {"add_or_remove_one", "replace_one"}
        Which tables count as neighbours.
    max_rows_per_person : int, default=1
        How many rows one person holds at most.
    accountant : BudgetAccountant, optional
        Who is charged; by default that of the ``with`` block around the call, if there is one.

    Returns
    -------
    PrivateScore
        The score with its ledger; ``float`` gives the number.

    Examples
    --------
    >>> import numpy as np
    >>> from dpforest import PrivateForestClassifier, private_score
    >>> X = np.random.default_rng(0).random((20_000, 2))
    >>> y = (X[:, 0] > 0.5).astype(int)
    >>> model = PrivateForestClassifier(bounds=(0, 1), classes=[0, 1]).fit(X[:10_000], y[:10_000])
    >>> score = private_score(model, X[10_000:], y[10_000:], epsilon=0.5)
    >>> float(score) > 0.9
    True
    >>> print(score.guarantee)
    epsilon = 0.5, delta = 0 for adding or removing one row (1 row per person)
    """
    counted = _metric(model, metric, largest)
    X, y = named_target(X, y, model.schema_.names)
    relation = NeighboringRelation[neighboring.upper()]
    pool = Pool("score", WHOLE, f"how good a model is: {metric}")
    plan = BudgetPlan.divide(epsilon, 0, [pool], relation, max_rows_per_person)
    check_payable("private_score", plan, {"score": counted.n_bins if counted.is_sum else 1})
    table = PrivateTable(X, y, model.schema_)
    del X, y
    curator = Curator(table, plan, RandomWords.system())
    with curator, paid_by(accountant, plan, "private_score") as charge:
        charge.follow(curator.ledger)
        value, rows, sd = ask(curator, counted, metric)
    charge.check_process()
    clipped = counted.largest if counted.is_sum else 1.0
    return PrivateScore(value, metric, rows, sd, curator.ledger, charge.receipt, clipped)


def ask(curator: Curator, counted: Metric, metric: str) -> tuple[Any, float, float]:
    """Ask for what a metric counts; return the score, the noisy number of rows and the noise."""
    query = Query(Kind.SCORE, metric)
    ask_for = curator.scored_sums if counted.is_sum else curator.scored_counts
    noisy, sd = ask_for("score", WHOLE, query, counted, counted.n_bins)
    per_row = counted.n_bins if counted.is_sum else 1
    return counted.score(noisy), max(float(noisy.sum()) / per_row, 0.0), sd / per_row


def check_metric(name: str, target: Any, largest: float | None) -> None:
    """Refuse a metric that does not fit a target, before anything is read or charged."""
    if name not in METRICS:
        raise ValueError(f"metric={name!r} is not known; use one of {', '.join(map(repr, METRICS))}.")
    if METRICS[name].of_numbers == isinstance(target, Classes):
        raise ValueError(f"metric={name!r} does not fit a model whose target is {target!r}.")
    if name == "roc_auc" and target.n_classes != 2:
        raise ValueError("metric='roc_auc' needs two classes.")
    if largest is not None and not LEAST < float(largest) < MOST:
        raise ValueError(f"largest must be a positive number, {LEAST:g} to {MOST:g}, got {largest!r}.")
    if METRICS[name].of_numbers and not LEAST < float(target.high) - float(target.low) < MOST:
        raise ValueError(f"metric={name!r} needs target bounds from {LEAST:g} to {MOST:g} apart.")


def metric_for(model: Any, name: str, largest: float | None) -> Metric:
    """Return what is counted about a released model."""
    limit = largest_loss(name, model) if largest is None else float(largest)
    return METRICS[name](model, limit)


def _metric(model: Any, name: str, largest: float | None) -> Metric:
    check_is_fitted(model)
    if not hasattr(model, "schema_") or hasattr(model, "published_"):
        raise TypeError("private_score needs a fitted forest of this library, not run as published.")
    check_metric(name, model.schema_.target, largest)
    return metric_for(model, name, largest)
