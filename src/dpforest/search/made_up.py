"""Rows that nobody has: drawn from a schema alone, for rehearsals and simulations."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.schema import Classes, Feature, Nominal, Numeric, Schema

INFORMATIVE = 5
"""Most features that a made-up target follows."""


def made_up_features(schema: Schema, n_rows: int, rng: np.random.Generator) -> NDArray[Any]:
    """Draw every value on its own, evenly from its declared domain.

    Parameters
    ----------
    schema : Schema
        What is declared.
    n_rows : int
        How many rows.
    rng : Generator
        Randomness.
    """
    features = list(schema.features.values())
    numeric = all(isinstance(feature, Numeric) for feature in features)
    X: NDArray[Any] = np.empty((n_rows, len(features)), np.float64 if numeric else object)
    for column, feature in enumerate(features):
        if isinstance(feature, Numeric):
            X[:, column] = rng.uniform(feature.low, feature.high, n_rows)
        else:
            levels = feature.categories if isinstance(feature, Nominal) else feature.levels
            X[:, column] = [levels[pick] for pick in rng.integers(feature.n_known, size=n_rows)]
    return X


def made_up_target(
    X: NDArray[Any], schema: Schema, best: float, rng: np.random.Generator
) -> tuple[NDArray[Any], float]:
    """Draw a target that follows up to five features and one product of two, and is noisy beside.

    Parameters
    ----------
    X : ndarray
        From `made_up_features`.
    schema : Schema
        Its schema.
    best : float
        How much could be predicted by who knows the rule: share of correct classes, or of explained variance.
        With several classes it is never below guessing.
    rng : Generator
        Randomness.

    Returns
    -------
    y : ndarray
        The target.
    reached : float
        What could be predicted indeed.
    """
    scaled = np.column_stack([_scaled(X[:, j], f, rng) for j, f in enumerate(schema.features.values())])
    target = schema.target
    n_scores = target.n_classes if isinstance(target, Classes) else 1
    chosen = rng.permutation(scaled.shape[1])[:INFORMATIVE]
    parts = np.column_stack([scaled[:, chosen], scaled[:, chosen[0]] * scaled[:, chosen[-1]]])
    scores = parts @ rng.normal(size=(parts.shape[1], n_scores))
    if not isinstance(target, Classes):
        spread = max(float(scores.std()), 1e-12)
        noisy = best**0.5 * scores[:, 0] / spread + (1 - best) ** 0.5 * rng.normal(size=len(X))
        middle, half = (schema.range.low + schema.range.high) / 2, (schema.range.high - schema.range.low) / 6
        return middle + half * noisy, best
    shares = _sharpened(scores, best)
    drawn = (shares.cumsum(axis=1) < rng.random((len(X), 1))).sum(axis=1)
    labels = np.array(target.labels)[np.minimum(drawn, n_scores - 1)]
    return labels, float(shares.max(axis=1).mean()) if len(X) else best


def _sharpened(scores: NDArray[np.float64], best: float) -> NDArray[np.float64]:
    """Softmax of the scores at the scale at which the most probable class is right as often as wanted."""
    low, high, shares = 0.0, 2.0**10, np.empty((0, scores.shape[1]))
    for _ in range(40):
        scale = (low + high) / 2
        powers = np.exp(scale * (scores - scores.max(axis=1, keepdims=True)))
        shares = powers / powers.sum(axis=1, keepdims=True)
        low, high = (scale, high) if len(shares) and shares.max(axis=1).mean() < best else (low, scale)
    return shares


def _scaled(values: NDArray[Any], feature: Feature, rng: np.random.Generator) -> NDArray[np.float64]:
    """Values as numbers between about -1 and 1; categories get one each by chance."""
    if isinstance(feature, Numeric):
        half = (feature.high - feature.low) / 2
        scaled: NDArray[np.float64] = (values.astype(np.float64) - feature.low) / half - 1
        return scaled
    if isinstance(feature, Nominal):
        levels, places = feature.categories, rng.uniform(-1, 1, len(feature.categories))
    else:
        levels, places = feature.levels, np.linspace(-1, 1, len(feature.levels))
    place_of = dict(zip(levels, places.tolist(), strict=True))
    return np.array([place_of[value] for value in values.tolist()], np.float64)
