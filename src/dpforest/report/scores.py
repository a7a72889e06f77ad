"""How well a model predicts: on rows that the owner calls public, or on private ones, for a charge.

Beside every score stands its baseline: what always saying the most frequent class, or the mean, reaches. Of
public rows it is counted; of private ones it follows from noisy counts that were released and paid for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from dpforest.privacy import Ledger
from dpforest.schema import Classes, Nominal

_NAMES = {"roc_auc": "AUC", "confusion_matrix": "accuracy"}  # of a matrix a card tells the accuracy
_AUC_OF_CHANCE = 0.5
_VAGUE = 0.02  # noise of a released share beyond which it is no baseline


class Score(NamedTuple):
    """How well rows are predicted, in a group of them, and how far chance may have moved that.

    Of public rows `error` is the standard error of the mean and `price` nothing; of private ones it is the
    noise (and, of a share, chance), infinite where nobody knows it, and what was paid for the score.
    `baseline` is what a model that knows no feature would score, None if nothing released tells.
    """

    group: str
    metric: str
    rows: float
    value: float
    error: float
    price: str = ""
    baseline: float | None = None


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
    for group, given in (paid or {}).items():
        for score in given if isinstance(given, list | tuple) else [given]:
            if not isinstance(getattr(score, "ledger", None), Ledger):
                raise ValueError("A score of private rows is what private_score returned, with its ledger.")
            told.append(_of_private_rows(model, group, score))
    return told


def _of_private_rows(model: Any, group: str, score: Any) -> Score:
    metric = _NAMES.get(score.metric, score.metric.replace("_", " "))
    value, error, baseline = score.value, math.inf, None
    if score.metric == "confusion_matrix":
        value, error, baseline = _of_matrix(np.asarray(value, np.float64), score.noise_sd)
    elif score.metric == "roc_auc":  # its error depends on the numbers of both classes, which are not told
        baseline = _AUC_OF_CHANCE
    elif score.rows > 0:
        share = min(max(float(value), 0.0), 1.0) if score.metric == "accuracy" else 0.0
        noise = score.largest * score.noise_sd / score.rows
        error = math.hypot(noise, math.sqrt(share * (1 - share) / score.rows))
    if score.metric == "accuracy":
        baseline = released_majority(model)
    return Score(group, metric, score.rows, float(value), error, str(score.guarantee), baseline)


def _of_matrix(counts: NDArray[np.float64], noise_sd: float) -> tuple[float, float, float | None]:
    """Return accuracy, its error and the share of the most frequent class, from noisy counts of pairs."""
    total, n_classes = float(counts.sum()), len(counts)
    if total <= 0:
        return 0.5, math.inf, None
    share = min(max(float(np.trace(counts)) / total, 0.0), 1.0)
    # the noise of trace - share * total, whose counts are independent
    noise = noise_sd * math.sqrt(n_classes * (1 - share) ** 2 + n_classes * (n_classes - 1) * share**2)
    error = math.hypot(noise / total, math.sqrt(share * (1 - share) / total))
    return share, error, min(max(float(counts.sum(axis=1).max()) / total, 0.0), 1.0)


def released_majority(model: Any) -> float | None:
    """Return the share of the most frequent class by the noisy counts in the leaves, if there are any.

    Parameters
    ----------
    model : fitted estimator
        Leaves of boosting hold no counts, those of some forests labels, and many leaves of few rows little
        but noise; then nothing tells.
    """
    is_boosted = model.additive_ is not None and model.additive_.pairs is not None
    counts = model.leaf_statistics_
    if not getattr(model, "_counts_classes", False) or is_boosted or counts.ndim != 3:
        return None
    noises = np.asarray(model.leaf_noises_)
    if len(noises) != len(counts):
        return None
    # trees without noise hold what the model itself predicted
    by_class = counts[noises > 0].sum(axis=(0, 1), dtype=np.float64)
    total, noise = float(by_class.sum()), math.sqrt(float((noises**2).sum()) * counts.shape[1])
    if total <= 0 or noise > _VAGUE * total:
        return None
    return min(max(float(by_class.max()) / total, 0.0), 1.0)


def _of_public_rows(model: Any, X: Any, y: Any, by: str | None) -> list[Score]:
    """Score public rows with a known target: accuracy and, of two classes, AUC; or mean squared error."""
    schema, codes = model.schema_, model.schema_.encode_target(y)
    known = codes >= 0
    if not known.any():
        return []
    groups = {"all public rows": known, **({} if by is None else _groups(schema, X, by, known))}
    predicted = model.predict(X)
    if not isinstance(schema.target, Classes):
        law = schema.range
        truth = law.low + codes * (law.high - law.low) / law.levels
        lost = (predicted - truth) ** 2
        return [
            _mean(group, "mean squared error", lost[rows], float(truth[rows].var()))
            for group, rows in groups.items()
        ]
    right = (schema.encode_target(predicted) == codes).astype(np.float64)
    probable = model.predict_proba(X)[:, 1] if schema.target.n_classes == 2 else None
    found = []
    for group, rows in groups.items():
        of_classes = np.bincount(codes[rows])
        found.append(_mean(group, "accuracy", right[rows], float(of_classes.max() / of_classes.sum())))
        if probable is not None and of_classes.min() > 0 and len(of_classes) == 2:
            found.append(_area(group, codes[rows], probable[rows]))
    return found


def _groups(schema: Any, X: Any, by: str, known: NDArray[np.bool_]) -> dict[str, NDArray[np.bool_]]:
    """Return the rows of every category of a column, where there are any."""
    feature = schema.features.get(by)
    if not isinstance(feature, Nominal):
        raise ValueError(f"Scores by group need a nominal column of the schema, not {by!r}.")
    cells = schema.encode_features(X)[:, schema.names.index(by)]
    names = [*map(str, feature.categories), "missing", "undeclared"]
    found = {f"{by} = {name}": known & (cells == cell) for cell, name in enumerate(names)}
    return {name: rows for name, rows in found.items() if rows.any()}


def _mean(group: str, metric: str, values: NDArray[np.float64], baseline: float) -> Score:
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
    return Score(group, metric, len(values), float(values.mean()), error, baseline=baseline)


def _area(group: str, codes: NDArray[np.int32], probable: NDArray[np.float64]) -> Score:
    """Return the area under the ROC curve, with the standard error of Hanley and McNeil (1982)."""
    area = float(roc_auc_score(codes, probable))
    positive = int(codes.sum())
    negative = len(codes) - positive
    one, two = area / (2 - area) - area**2, 2 * area**2 / (1 + area) - area**2
    variance = area * (1 - area) + (positive - 1) * one + (negative - 1) * two
    error = math.sqrt(max(variance, 0.0) / (positive * negative))
    return Score(group, "AUC", len(codes), area, error, baseline=_AUC_OF_CHANCE)
