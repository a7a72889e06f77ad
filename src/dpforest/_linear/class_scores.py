"""Class scores that are sums over features, fitted to the rows in one question.

Every ordered feature has a line along its standard scale and, where there are rows enough, a square or, with
more, a curve of straight pieces instead; every category has a weight. The weights minimise a logistic loss
whose pull is held (`dpforest._rows.pulls`), with a random linear term (`Curator.fitted_weights`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpforest._arrays import FloatArray
from dpforest._curator import Curator
from dpforest._linear.basis import additive_blocks, scores_of
from dpforest._linear.standard import Standard, ordered_features, told_epsilon
from dpforest.privacy import Kind, Query
from dpforest.schema import Schema


@dataclass(frozen=True)
class LinearConfig:
    """Constants of the linear part; see `dpforest.forests.guided_config` for what "study" means."""

    scaling: Fraction = Fraction(15, 100)  # of the budget of this part, for centres and spreads
    # rows times epsilon, per class and feature, from which there are squares (two classes, more), and curves
    enough_for_squares: tuple[float, float] = (10, 25)
    enough_for_curves: float = 150
    fewest_knots: int = 6  # of a curve there; they grow with the fourth root of the rows
    most_knots: int = 16
    most_to_fit: float = 1000  # rows times epsilon, per class and feature, beyond which a sample will do ...
    rows_to_fit: float = 100_000  # ... of at least so many rows


DEFAULTS = LinearConfig()


def class_scores(
    curator: Curator,
    pool: str,
    share: Fraction,
    rows: float,
    standard: Standard,
    config: LinearConfig = DEFAULTS,
) -> FloatArray:
    """Fit scores of all classes that are added over the features of a row.

    Parameters
    ----------
    curator : Curator
        Owner of the rows.
    pool : str
        Pool of the budget plan to spend.
    share : Fraction
        Part of it.
    rows : float
        Released number of rows.
    standard : Standard
        Released centres and spreads of the ordered features.
    config : LinearConfig
        Constants.

    Returns
    -------
    ndarray of shape (n_features, n_cells, n_classes)
    """
    schema = curator.schema
    n_classes = len(schema.classes.labels)
    epsilon = told_epsilon(curator, pool, share)
    per_sum = rows * epsilon / (n_classes * schema.n_features * (1 + epsilon / 2))
    shape, n_knots = "line", 0
    if per_sum >= config.enough_for_curves:
        shape = "curve"
        grown = config.fewest_knots * (per_sum / config.enough_for_curves) ** 0.25
        n_knots = min(round(grown), config.most_knots)
    elif per_sum >= config.enough_for_squares[n_classes > 2]:
        shape = "square"
    scales = dict(zip(standard.features, standard.scales(schema), strict=True))
    blocks = additive_blocks(schema, scales, shape, n_knots)
    one_in = max(min(int(per_sum / config.most_to_fit), int(rows / config.rows_to_fit)), 1)
    query = Query(Kind.FITTED_WEIGHTS)
    weights = curator.fitted_weights(pool, share, query, blocks, rows, one_in=one_in)
    found = scores_of(blocks, weights, (schema.n_features, int(schema.n_cells[: schema.n_features].max())))
    return np.concatenate([-found / 2, found / 2], axis=2) if n_classes == 2 else found


def classes_can_be_fitted(schema: Schema, epsilon: Fraction, config: LinearConfig = DEFAULTS) -> bool:
    """Tell whether an epsilon pays for weights, however many there may come to be; no row is asked."""
    if len(schema.classes.labels) < 2:
        return False
    scales = {at: np.ones(int(schema.n_cells[at])) for at in ordered_features(schema)}
    blocks = additive_blocks(schema, scales, "curve", config.most_knots)
    return Curator.can_fit(schema, epsilon * (1 - config.scaling), blocks)
