"""Numbers as targets: where to start, and where to clip residuals."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpforest._boosting.budget import POOL, fine
from dpforest._boosting.state import State
from dpforest._curator import QUANTILE_PARTS, TARGET_SPAN
from dpforest.privacy import Kind, Query

PARTS = 1024  # of the range, in which the median is found
MEDIAN, MOST_MEDIAN = 40, 0.1  # strength that the median needs; of the whole budget
SKEW = 0.5  # typical residuals between median and mean, about
TAIL = 12  # rows times sqrt(2 rho) that a quantile may miss by, about
FEWEST_RESIDUALS, MOST_RESIDUALS = 0.04, 0.2  # of the residuals are beyond a clip level
TYPICAL = 680  # quantile of the absolute residuals that counts as their size
STEPS = 4  # clip levels of residuals go up by 2**(1 / STEPS) ...
HALVINGS = 12  # ... from 2**-HALVINGS of the range
EXPECTED_CHANGE = 4.0  # levels up or down from one time to the next
# Below the level number i are the residuals smaller than border i, in units of 1 / TARGET_SPAN.
BORDERS = np.ceil(TARGET_SPAN * 2.0 ** (np.arange(HALVINGS * STEPS + 1) / STEPS - HALVINGS)).astype(np.int64)


def start_numbers(state: State) -> NDArray[np.int64]:
    """Give all rows one score, about the mean of the target, and return it in whole numbers.

    The median comes first: it needs no bounds, and misses by few rows where a mean over a wide public range
    would miss by much of it. Then how far residuals reach, and the mean of what lies within their reach.
    """
    state.re_clipping = min(max((70 / state.strength) ** 2, 0.004), 0.04)
    curator, purse = state.curator, state.purse
    share = min(max((MEDIAN / state.strength) ** 2, state.re_clipping), MOST_MEDIAN)
    query = Query(Kind.TARGET_MEAN, "(median)")
    alike = np.ones(PARTS, np.int64)
    part = curator.target_place(POOL, purse.take(share), PARTS, QUANTILE_PARTS // 2, alike, query)
    median = min(part + 1, PARTS - 1) * TARGET_SPAN // PARTS
    curator.add_constant(np.array([median]))
    _clip(state, fine(state.re_clipping), "start", None)
    reach = math.ceil(state.clip * TARGET_SPAN)
    low, high = max(median - reach, 0), min(median + reach, TARGET_SPAN)
    inner = curator.target_total(
        POOL, purse.take(state.re_clipping), low, high, Query(Kind.TARGET_MEAN, "between the bounds")
    )
    half = (high - low) / 2
    away = (low + half * (1 + float(inner.values[0]) / state.rows) - median) / TARGET_SPAN
    noise, expected = half / TARGET_SPAN * inner.noise_sd / state.rows, SKEW * state.spread
    away = min(max(away * expected**2 / (expected**2 + noise**2), -state.clip), state.clip)
    rest = state.whole(np.array([away]))
    curator.add_constant(rest)
    return rest + median


def clip_again(state: State, share: Fraction, when: str) -> None:
    """Choose anew, by two private quantiles of the absolute residuals, where they are clipped and their size.

    Each costs `share`; `when` tells the ledger. Levels near those of the last time are expected.
    """
    _clip(state, share, when, (state.clip, state.spread))


def _clip(state: State, share: Fraction, when: str, expected: tuple[float, float] | None) -> None:
    """Choose clip level and size of residuals, `expected` ones first; all levels alike without them."""
    # as many residuals may be beyond the clip level as its quantile may miss by
    missed = TAIL / (2 * state.strength * math.sqrt(max(float(share), 1e-12)))
    tail = round(min(max(missed, FEWEST_RESIDUALS), MOST_RESIDUALS) * QUANTILE_PARTS)
    levels = []
    for at, (quantile, what) in enumerate(((QUANTILE_PARTS - tail, "largest"), (TYPICAL, "typical"))):
        middle = 0.0 if expected is None else STEPS * (HALVINGS + math.log2(expected[at]))
        away = (np.arange(len(BORDERS)) - middle) * (expected is not None)
        base = np.rint(2**20 / (1 + (away / EXPECTED_CHANGE) ** 2)).astype(np.int64)
        query = Query(Kind.RESIDUALS, f"({what}), {when}")
        paid = state.purse.take(share)
        levels.append(state.curator.residual_quantile(POOL, paid, quantile, BORDERS, base, query))
    state.clip = float(BORDERS[levels[0]]) / TARGET_SPAN
    state.spread = float(BORDERS[min(levels)]) / TARGET_SPAN
    state.curator.set_clip(int(BORDERS[levels[0]]))
