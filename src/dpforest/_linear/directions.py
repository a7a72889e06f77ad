"""Random directions through all features, one of which parts two classes better than the others.

Sums over features drown in noise where rows are few: what is asked of every feature costs in proportion to
their number. A *choice* among public candidates does not: among a thousand random directions in d dimensions
the best lies within an angle of cosine sqrt(2 ln(1000) / d) or so of any given one (three quarters in 20
dimensions), and random directions around that one come closer still. Each round costs one choice
(`Curator.best_direction`), whose noise is that of counting rows, whatever d is.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from dpforest._arrays import FloatArray
from dpforest._curator import N_BINS, Curator, Directions, Parted
from dpforest._linear.standard import _places, ordered_features
from dpforest.mechanisms import RandomWords
from dpforest.schema import Schema

_SPREAD = 2048.0  # standard deviation of a row's place if its cells were uniform
_MOST = 2**15 - 1
_REACH = 3.0  # standard deviations that bins cover on either side
_FEW = 12  # features of a direction that has not all of them, at most
_MOST_ENTRIES = 2**25  # scores of all directions together: 64 MB


@dataclass(frozen=True)
class DirectionConfig:
    """Constants of directions; see `dpforest.forests.guided_config` for what "study" means."""

    most: int = 1000  # directions of a round
    least: int = 200  # with fewer, none is close to a good one
    work: float = 3e8  # scores that are looked up in a round, at most
    steps: tuple[float, ...] = (0.7, 0.5, 0.35, 0.25)  # of later rounds, against the length of the direction so far ...
    enough_for_all: Fraction = Fraction(40, 100)  # ... if so much of the budget is left; else only half of them


DEFAULTS = DirectionConfig()


def affordable_directions(schema: Schema, rows: float, config: DirectionConfig = DEFAULTS) -> int:
    """Return how many directions a round has, 0 if too few would be: released and public quantities only.

    Examples
    --------
    >>> from dpforest.schema import Classes, Numeric
    >>> schema = Schema({f"x{i}": Numeric(0, 1) for i in range(20)}, Classes([0, 1]))
    >>> [affordable_directions(schema, rows) for rows in (5e3, 4e4, 1e6)]
    [1000, 375, 0]
    """
    n_features, n_cells = schema.n_features, int(schema.n_cells[: schema.n_features].max())
    room = _MOST_ENTRIES // (n_features * n_cells)
    found = int(min(config.most, config.work / (max(rows, 1.0) * n_features), room))
    return found if found >= config.least and n_features > 1 else 0


def random_directions(schema: Schema, n_directions: int, words: RandomWords) -> Directions:
    """Draw directions with public coins: lines, or lines and squares, of all features or of a few."""
    return _of(_drawn(schema, n_directions, words), schema, both_ways=True)


def directions_around(
    found: Parted, step: float, schema: Schema, n_directions: int, words: RandomWords
) -> Directions:
    """Draw directions that lie a step away from a released one, which is the first of them."""
    drawn = _drawn(schema, n_directions, words)
    drawn[0] = 0.0
    return _of(_normed(found.scores[None].astype(np.float64), schema) + step * drawn, schema, both_ways=False)


def refined(
    curator: Curator, pool: str, share: Fraction, found: Parted, n_directions: int, config: DirectionConfig
) -> Parted:
    """Look for better directions around a released one, in rounds that divide a share of the budget."""
    steps = config.steps if share >= config.enough_for_all else config.steps[: len(config.steps) // 2]
    for step in steps:
        near = directions_around(found, step, curator.schema, n_directions, curator.coins)
        found = curator.best_direction(pool, share / len(steps), near)
    return found


def scores_along(found: Parted) -> FloatArray:
    """Log odds of the second class, up to a factor: places from the threshold on, by (feature, cell).

    Examples
    --------
    >>> scores_along(Parted(np.array([[0, 4096], [0, 2048]]), 4096))
    array([[-2.,  0.],
           [ 0.,  1.]])
    """
    scores = found.scores / _SPREAD
    scores[0] -= found.threshold / _SPREAD  # every row has one cell of the first feature
    return scores


def _drawn(schema: Schema, n_directions: int, words: RandomWords) -> FloatArray:
    """Scores of every cell along random directions, all of them equally long."""
    n_features, n_cells = schema.n_features, schema.n_cells
    scores = np.zeros((n_directions, n_features, int(n_cells[:n_features].max())))
    of_all, with_squares = np.arange(n_directions) % 2 == 0, np.arange(n_directions) % 4 >= 2
    few = 2 + (words.take(n_directions) % np.uint64(max(min(n_features, _FEW) - 1, 1))).astype(np.int64)
    place = words.take(n_directions * n_features).reshape(n_directions, n_features).argsort(axis=1)
    used = of_all[:, None] | (place.argsort(axis=1) < few[:, None])
    ordered = set(ordered_features(schema))
    for at in range(n_features):
        width = int(n_cells[at])
        if at in ordered:
            line = _places(width)
            square = np.where(np.arange(width) < width - 2, 1.5 * line**2 - 0.5, 0.0)
            along = _normal(words, n_directions)[:, None] * line
            along += np.where(with_squares, _normal(words, n_directions), 0.0)[:, None] * square
        else:
            along = _normal(words, n_directions * width).reshape(n_directions, width) * 0.5
        scores[:, at, :width] = along * used[:, at, None]
    return _normed(scores, schema)


def _normal(words: RandomWords, size: int) -> FloatArray:
    """Turn public coins into normal numbers."""
    drawn: FloatArray = ndtri((words.take(size) >> np.uint64(11)).astype(np.float64) * 2.0**-53 + 2.0**-54)
    return drawn


def _normed(scores: FloatArray, schema: Schema) -> FloatArray:
    """Centre scores and make directions equally long, as if all cells of a feature were equally common."""
    scores, variance = scores.copy(), np.zeros(len(scores))
    for at in range(schema.n_features):
        n_grid = max(int(schema.n_cells[at]) - 2, 1)  # without missing and other
        own = scores[:, at, :n_grid]
        scores[:, at] -= own.mean(axis=1, keepdims=True)
        variance += own.var(axis=1)
    scores[:, np.arange(scores.shape[2]) >= schema.n_cells[: schema.n_features, None]] = 0.0
    normed: FloatArray = scores * (_SPREAD / np.sqrt(np.maximum(variance, 1e-12)))[:, None, None]
    return normed


def _of(scores: FloatArray, schema: Schema, both_ways: bool) -> Directions:
    """Round scores to whole numbers; bins cover what lies within some standard deviations."""
    whole: NDArray[np.int16] = np.clip(np.rint(_normed(scores, schema)), -_MOST, _MOST).astype(np.int16)
    wide = round(2 * _REACH * _SPREAD / N_BINS)
    shape = len(whole)
    low, width = np.full(shape, -wide * (N_BINS // 2), np.int64), np.full(shape, wide, np.int64)
    return Directions(whole, low, width, both_ways)
