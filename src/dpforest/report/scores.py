"""How well a model predicts: on rows that the owner calls public, or on private ones, for a charge."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpforest.privacy import Ledger
from dpforest.schema import Classes, Nominal


class Score(NamedTuple):
    """How well rows are predicted, in a group of them, and how far chance may have moved that.

    Of public rows `error` is the standard error of the mean and `price` nothing; of private ones it is the
    noise (and, of a share, chance) and what was paid for the score.
    """

    group: str
    metric: str
    rows: float
    value: float
    error: float
    price: str = ""


def scores_of(
    model: Any, public: tuple[Any, Any] | None, by: str | None, paid: Mapping[str, Any] | None
) -> list[Score]:
    """Return the scores of a card.

    Parameters
    ----------
    model : fitted estimator
        Whose.
    public, by, paid : object
        As for `collect`.
    """
    told = [] if public is None else _of_public_rows(model, *public, by)
    for group, score in (paid or {}).items():
        if not isinstance(getattr(score, "ledger", None), Ledger):
            raise ValueError("A score of private rows is what private_score returned, with its ledger.")
        if np.ndim(score.value) != 0:
            raise ValueError("A card tells scores that are one number; a confusion matrix is not.")
        told.append(
            Score(
                group,
                score.metric,
                score.rows,
                float(score.value),
                _private_error(score),
                str(score.guarantee),
            )
        )
    return told


def _private_error(score: Any) -> float:
    """Return how far noise may have moved a private score and, of a share, how far chance may have."""
    if score.rows <= 0:
        return math.inf
    share = min(max(float(score.value), 0.0), 1.0) if score.metric == "accuracy" else 0.0
    return math.hypot(score.noise_sd / score.rows, math.sqrt(share * (1 - share) / score.rows))


def _of_public_rows(model: Any, X: Any, y: Any, by: str | None) -> list[Score]:
    """Score public rows with a known target: accuracy, or mean squared error."""
    schema, predicted, codes = model.schema_, model.predict(X), model.schema_.encode_target(y)
    known = codes >= 0
    if isinstance(schema.target, Classes):
        metric, right = "accuracy", (schema.encode_target(predicted) == codes).astype(np.float64)
    else:
        law = schema.range
        truth = law.low + codes * (law.high - law.low) / law.levels
        metric, right = "mean squared error", (predicted - truth) ** 2
    right = right[known]
    if not len(right):
        return []
    found = [_mean("all public rows", metric, right)]
    if by is None:
        return found
    feature = schema.features.get(by)
    if not isinstance(feature, Nominal):
        raise ValueError(f"Scores by group need a nominal column of the schema, not {by!r}.")
    cells = schema.encode_features(X)[known, schema.names.index(by)]
    for cell, name in enumerate([*map(str, feature.categories), "missing", "undeclared"]):
        if (here := cells == cell).any():
            found.append(_mean(f"{by} = {name}", metric, right[here]))
    return found


def _mean(group: str, metric: str, values: NDArray[np.float64]) -> Score:
    """Return a mean with its standard error; of a single loss nobody knows one.

    Shares have that of Agresti and Coull (1998), with two more rows of either kind: ten of ten right may be
    luck.
    """
    n = len(values)
    if metric == "accuracy":
        share = (values.sum() + 2) / (n + 4)
        error = math.sqrt(share * (1 - share) / (n + 4))
    else:
        error = float(values.std(ddof=1) / math.sqrt(n)) if n > 1 else math.inf
    return Score(group, metric, len(values), float(values.mean()), error)
