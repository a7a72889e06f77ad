"""Random directions through all features, one of which parts two classes better than the others.

Sums over features drown in noise where rows are few: what is asked of every feature costs in proportion to
their number. A *choice* among public candidates does not: among a thousand random directions in d dimensions
the best lies within an angle of cosine sqrt(2 ln(1000) / d) or so of any given one (three quarters in 20
dimensions), and random directions around that one come closer still. Each round costs one choice
(`Curator.best_direction`), whose noise is that of counting rows, whatever d is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from dpforest._arrays import FloatArray
from dpforest._curator import N_BINS, Curator, Directions, Parted
from dpforest._linear.standard import Standard, ordered_features, places, public_scales
from dpforest.schema import Schema
from dpforest.schema.public_rows import PublicRows

Coins = Callable[[int], NDArray[np.uint64]]  # so many public words
Scores = NDArray[np.float32]  # of every cell along every direction: many numbers, all of them public

_SPREAD = 2048.0  # standard deviation of a row's place if its cells were uniform
_MOST = 2**15 - 1
_REACH = 3.0  # standard deviations that bins cover on either side
_FEW = 12  # features of a direction that has not all of them, at most
_OF_CATEGORY = 0.5  # spread of the scores of categories; that of a line from -1 to 1 is 0.58
_MOST_ENTRIES = 2**23  # scores of all directions together


@dataclass(frozen=True)
class DirectionConfig:
    """Constants of directions; see `dpforest.forests.guided_config` for what "study" means."""

    most: int = 1000  # directions of a round; other numbers were not measured
    least: int = 200  # of them: the best of fewer is hardly close to a good one; not measured either
    work: float = 3e8  # scores that are looked up in a round, at most
    # lengths of the steps of later rounds, against that of the direction so far, from so many rows times its
    # epsilon on; study: 6 and 8 rounds, and shorter steps, are worse
    rounds: tuple[tuple[float, tuple[float, ...]], ...] = (
        (0, (0.6,)),
        (150, (0.6, 0.35)),
        (700, (0.7, 0.5, 0.35, 0.25)),
    )
    weighing: Fraction = Fraction(10, 100)  # of the model's budget, for how sure scores are
    # Log odds per uniform standard deviation, their base weights, and how far they are drawn to those of all
    # rows; or these alone. Study: steep ones are right where bounds are wide, and often wrong where classes
    # are unequal or rows few.
    slopes: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
    likely_slopes: tuple[int, ...] = (2, 4, 4, 3, 2, 1)
    pulls: tuple[float, ...] = (1.0, 0.5)
    likely_to_fail: int = 6


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


class Space:
    """What directions are drawn in: how cells of features lie, and how common they are taken to be.

    Cells of a feature lie evenly between its bounds and are equally common, unless public rows or released
    centres and spreads say otherwise.
    """

    def __init__(
        self, schema: Schema, public: PublicRows | None = None, standard: Standard | None = None
    ) -> None:
        self.is_public = public is not None
        self.n_cells = [int(n) for n in schema.n_cells[: schema.n_features]]
        even = [np.full(max(n - 2, 1), 1 / max(n - 2, 1)) for n in self.n_cells]
        if public is not None:
            scales = public_scales(schema, public)
            known = [public.shares[at][:-2] for at in range(schema.n_features)]
            shares = [of_cells / max(of_cells.sum(), 1e-12) for of_cells in known]
        elif standard is not None:
            scales = dict(zip(standard.features, standard.scales(schema), strict=True))
            expected = standard.expected(schema).shares[: schema.n_features]
            shares = [e if law is None else law[:-2] for e, law in zip(even, expected, strict=True)]
        else:
            scales, shares = {at: places(self.n_cells[at]) for at in ordered_features(schema)}, even
        self.scales = {at: scale.astype(np.float32) for at, scale in scales.items()}
        self.shares = [of_cells.astype(np.float32) for of_cells in shares]

    def normed(self, scores: Scores) -> Scores:
        """Centre scores and make directions equally long; missing and undeclared values stay at 0."""
        variance = np.zeros(len(scores), np.float32)
        for at, shares in enumerate(self.shares):
            own = scores[:, at, : len(shares)]
            own -= (own @ shares)[:, None]
            variance += own**2 @ shares
        scores *= (_SPREAD / np.sqrt(np.maximum(variance, 1e-9))).astype(np.float32)[:, None, None]
        return scores


def random_directions(space: Space, n_directions: int, coins: Coins, of_lines: bool = False) -> Directions:
    """Draw directions with public coins: lines, or lines and squares, of all features or of a few."""
    return _rounded(_drawn(space, n_directions, coins, of_lines), True, space.is_public)


def directions_around(
    found: Parted, step: float, space: Space, n_directions: int, coins: Coins
) -> Directions:
    """Draw directions that lie a step away from a released one, which is the first of them."""
    drawn = _drawn(space, n_directions, coins)
    drawn[0] = 0.0
    drawn *= np.float32(step)
    drawn += space.normed(found.scores[None].astype(np.float32))
    return _rounded(space.normed(drawn), False, space.is_public)


def refined(
    curator: Curator,
    pool: str,
    share: Fraction,
    found: Parted,
    space: Space,
    rows: float,
    n_directions: int,
    config: DirectionConfig = DEFAULTS,
) -> Parted:
    """Look for better directions around a released one, in rounds that divide a share of the budget.

    How many rounds there are follows from the released number of rows.
    """
    enough = rows * float(curator.ledger.plan.amount(pool) * share)
    steps = [lengths for least, lengths in config.rounds if enough >= least][-1]
    for step in steps:
        near = directions_around(found, step, space, n_directions, curator.coins.take)
        found = curator.best_direction(pool, share / len(steps), near)
    return found


class Weighings(NamedTuple):
    """Ways to be sure of scores along a direction, as `Curator.best_mixture` takes them; none has a tree.

    Scores are measured from the log shares of all rows. Weights below 1 draw to these, and 0 leaves nothing
    else.
    """

    tables: FloatArray
    weights: FloatArray
    table_of: NDArray[np.int64]
    likely: NDArray[np.int64]

    def scores(self, way: int, log_shares: FloatArray) -> FloatArray:
        """Scores of both classes, by (feature, cell, class)."""
        found: FloatArray = self.weights[way, 1] * self.tables[self.table_of[way]]
        found[0] += log_shares  # every row has one cell of the first feature
        return found


def weighings(found: Parted, log_shares: FloatArray, config: DirectionConfig = DEFAULTS) -> Weighings:
    """List slopes of the log odds along a released direction, and how likely each is beforehand.

    Parameters
    ----------
    found : Parted
        A released direction.
    log_shares : ndarray of shape (2,)
        Logarithms of the released shares of the classes.
    config : DirectionConfig
        Constants.
    """
    along = log_odds_along(found)
    tables = np.array(config.slopes)[:, None, None, None] * np.stack([-along / 2, along / 2], axis=2)
    tables[:, 0] -= log_shares
    weights = np.array([(0.0, pull) for pull in config.pulls for _ in config.slopes] + [(0.0, 0.0)])
    likely = np.array([*config.likely_slopes * len(config.pulls), config.likely_to_fail])
    return Weighings(tables, weights, np.arange(len(weights)) % len(tables), likely)


def log_odds_along(found: Parted) -> FloatArray:
    """Log odds of the second class, up to a factor: places from the threshold on, by (feature, cell).

    Examples
    --------
    >>> log_odds_along(Parted(np.array([[0, 4096], [0, 2048]]), 4096))
    array([[-2.,  0.],
           [ 0.,  1.]])
    """
    scores: FloatArray = found.scores / _SPREAD
    scores[0] -= found.threshold / _SPREAD
    return scores


def _drawn(space: Space, n_directions: int, coins: Coins, of_lines: bool = False) -> Scores:
    """Scores of every cell along random directions, all equally long; half with squares, or only lines."""
    n_features = len(space.n_cells)
    scores = np.zeros((n_directions, n_features, max(space.n_cells)), np.float32)
    of_all, with_squares = np.arange(n_directions) % 2 == 0, np.arange(n_directions) % 4 >= 2
    with_squares &= not of_lines
    few = 2 + (coins(n_directions) % np.uint64(max(min(n_features, _FEW) - 1, 1))).astype(np.int64)
    order = coins(n_directions * n_features).reshape(n_directions, n_features).argsort(axis=1)
    used = of_all[:, None] | (order.argsort(axis=1) < few[:, None])
    for at, n_cells in enumerate(space.n_cells):
        own = scores[:, at, : n_cells - 2]  # without missing and undeclared
        if at in space.scales:
            line = space.scales[at][:-2]
            slope, bend = (used[:, at] * _normal(coins, n_directions) for _ in range(2))
            own += slope[:, None] * line
            own += (with_squares * bend)[:, None] * (1.5 * line**2 - 0.5)
        else:
            own += _OF_CATEGORY * used[:, at, None] * _normal(coins, own.size).reshape(own.shape)
    return space.normed(scores)


def _normal(coins: Coins, size: int) -> Scores:
    """Turn public coins into normal numbers."""
    uniform = (coins(size) >> np.uint64(11)).astype(np.float64) * 2.0**-53 + 2.0**-54
    drawn: Scores = ndtri(uniform).astype(np.float32)
    return drawn


def _rounded(scores: Scores, both_ways: bool, is_public: bool) -> Directions:
    """Round scores to whole numbers; bins cover what lies within some standard deviations."""
    whole = np.clip(np.rint(scores), -_MOST, _MOST).astype(np.int16)
    wide = round(2 * _REACH * _SPREAD / N_BINS)
    width = np.full(len(whole), wide, np.int64)
    return Directions(whole, -width * (N_BINS // 2), width, both_ways, is_public)
