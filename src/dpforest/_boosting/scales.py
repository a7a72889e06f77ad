"""What released marginals say about cells: normal scores, and the codes that trees cut."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from dpforest._boosting.marginals import Marginals
from dpforest._curator import Columns
from dpforest._structure import Pairs
from dpforest._structure.pairs import SCALE_UNIT
from dpforest.mechanisms import RandomWords
from dpforest.schema import Schema

FARTHEST = 2.5  # normal scores are clipped
LEAST_VARIANCE = 0.05  # of normal scores, to which they are brought to variance 1
MANY_CODES, FEW_CODES = 64, 32  # of an ordered feature
ENOUGH_FOR_MANY = 1500  # rows times sqrt(2 rho)
MOST_CATEGORIES = 62  # of a nominal feature; all further ones share a code
MOST_CODES = MANY_CODES + 1  # of any column: missing values have one more, rare categories share one
N_PAIRS = 24  # columns of two features
_PAIR_WEIGHTS = (1, 2, 4)  # of the second feature, where the first has 2
_PAIR_SPREAD = 1.5  # standard deviations of a sum for one of a feature, about

Floats = NDArray[np.float64]


class Cuts(NamedTuple):
    """Columns that trees cut by codes, and how each cut is written in cells.

    ``threshold[column][code]`` is the threshold of a cut as in `FlatTrees`.
    """

    columns: Columns
    threshold: list[NDArray[np.int32]]
    left_sets: NDArray[np.uint8]


def normal_scores(shares: Floats) -> Floats:
    """Return the normal score of every cell of an ordered feature: mean 0, variance 1; unknown values have 0.

    Examples
    --------
    >>> normal_scores(np.array([0.25, 0.25, 0.25, 0.25, 0.0, 0.0])).round(2)
    array([-1.36, -0.38,  0.38,  1.36,  0.  ,  0.  ])
    """
    known = shares[:-2] / max(float(shares[:-2].sum()), 1e-12)
    rank = np.cumsum(known) - known / 2
    scores = np.clip(ndtri(np.clip(rank, 0.004, 0.996)), -FARTHEST, FARTHEST)
    mean = float(known @ scores)
    spread = math.sqrt(max(float(known @ (scores - mean) ** 2), LEAST_VARIANCE))
    standard = np.clip((scores - mean) / spread, -FARTHEST, FARTHEST)
    return np.concatenate([standard, [0.0, 0.0]])


def category_codes(shares: Floats) -> NDArray[np.uint8]:
    """Code of every category: the most common ones have their own.

    Examples
    --------
    >>> category_codes(np.array([0.2, 0.5, 0.3]))
    array([0, 1, 2], dtype=uint8)
    """
    if len(shares) <= MOST_CATEGORIES + 1:
        return np.arange(len(shares), dtype=np.uint8)
    codes = np.full(len(shares), MOST_CATEGORIES, np.uint8)
    codes[np.argsort(-shares, kind="stable")[:MOST_CATEGORIES]] = np.arange(MOST_CATEGORIES)
    return codes


def _ordered_codes(shares: Floats, wanted: int) -> NDArray[np.uint8]:
    """Code of every cell of an ordered feature: about equal mass each; missing and other share the last."""
    known = shares[:-2] / max(float(shares[:-2].sum()), 1e-12)
    mass = np.concatenate([[0.0], np.cumsum(known)])
    mass += np.arange(len(mass)) * 1e-9
    places = np.interp(np.arange(1, wanted) / wanted, mass, np.arange(len(mass)))
    inner = np.unique(np.rint(places).astype(np.intp))
    inner = inner[(inner > 0) & (inner < len(known))]
    codes = np.searchsorted(inner, np.arange(len(known)), side="right")
    return np.concatenate([codes, [len(inner) + 1] * 2]).astype(np.uint8)


def _draw_pairs_of(ordered: list[int], n_pairs: int, coins: RandomWords) -> list[tuple[int, int]]:
    """Draw different pairs, or take all where there are no more; those of many features are not listed."""
    n = len(ordered)
    if n * (n - 1) // 2 <= n_pairs:
        return list(itertools.combinations(ordered, 2))
    drawn: dict[tuple[int, int], None] = {}  # in the order in which they came
    while len(drawn) < n_pairs:
        one, other = sorted(coins.uniform_below(n, 2).tolist())
        if one != other:
            drawn[ordered[one], ordered[other]] = None
    return list(drawn)


def draw_pairs(schema: Schema, scores: list[Floats | None], coins: RandomWords) -> Pairs:
    """Draw sums and differences of random pairs of ordered features, with public coins."""
    ordered = [at for at, score in enumerate(scores) if score is not None]
    n_cells = int(schema.n_cells[: schema.n_features].max())
    scales = np.zeros((schema.n_features, n_cells), np.int32)
    for at, score in enumerate(scores):
        if score is not None:
            scales[at, : len(score)] = np.rint(score * SCALE_UNIT)
    cuts = ndtri(np.arange(16, 241, 16) / 256) * _PAIR_SPREAD * 2 * SCALE_UNIT
    drawn = _draw_pairs_of(ordered, N_PAIRS // 2, coins)
    weights = [_PAIR_WEIGHTS[int(word % 3)] for word in coins.take(2 * len(drawn))]
    columns = [
        (*pair, 2, sign * weights[2 * number + (sign < 0)])
        for number, pair in enumerate(drawn)
        for sign in (1, -1)
    ]
    return Pairs(scales, np.array(columns, np.int32).reshape(-1, 4), np.rint(cuts).astype(np.int32))


def columns_of(
    schema: Schema, marginals: Marginals, scores: list[Floats | None], strength: float, coins: RandomWords
) -> Cuts:
    """Make the columns that trees may cut: all features, and pairs of ordered ones."""
    wanted = MANY_CODES if strength > ENOUGH_FOR_MANY else FEW_CODES
    n_cells = int(schema.n_cells[: schema.n_features].max())
    codes = np.zeros((schema.n_features, n_cells), np.uint8)
    threshold: list[NDArray[np.int32]] = []
    sets: list[NDArray[np.bool_]] = []
    for at, shares in enumerate(marginals.shares):
        if schema.nominal[at]:
            mine = category_codes(shares)
            first = len(sets)
            sets += [mine == code for code in range(int(mine.max()) + 1)]
            threshold.append(-np.arange(first, len(sets), dtype=np.int32) - 1)
        else:
            mine = _ordered_codes(shares, wanted)
            last_cell = np.searchsorted(mine, np.arange(int(mine.max()) + 1), side="right") - 1
            threshold.append(last_cell.astype(np.int32))
        codes[at, : len(mine)] = mine
    pairs = draw_pairs(schema, scores, coins)
    threshold += [np.arange(pairs.n_codes, dtype=np.int32)] * len(pairs.columns)
    left_sets = np.zeros((max(len(sets), 1), max([len(marked) for marked in sets], default=1)), np.uint8)
    for line, marked in zip(left_sets, sets, strict=False):
        line[: len(marked)] = marked
    n_codes = np.array([len(cuts) for cuts in threshold], np.int64)
    by_code = np.concatenate([schema.nominal[: schema.n_features], np.zeros(len(pairs.columns), np.bool_)])
    return Cuts(Columns(codes, n_codes, by_code, pairs), threshold, left_sets)
