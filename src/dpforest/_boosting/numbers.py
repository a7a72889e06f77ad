"""Numbers as targets: where to start, and where to clip residuals."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from dpforest._boosting.budget import POOL
from dpforest._boosting.state import State
from dpforest._curator import QUANTILE_PARTS, TARGET_SPAN
from dpforest.privacy import Kind, Query

PARTS = 1024  # of the range, for the first clip bounds
TAIL = 12  # rows times sqrt(2 rho) that a quantile may miss by, about
FEWEST_CLIPPED, MOST_CLIPPED = 0.01, 0.1  # of the rows, at either end, at first
FEWEST_RESIDUALS, MOST_RESIDUALS = 0.04, 0.2  # of the residuals
TYPICAL = 680  # quantile of the absolute residuals that counts as their size
STEPS = 4  # clip levels of residuals go up by 2**(1 / STEPS) ...
HALVINGS = 12  # ... from 2**-HALVINGS of the range
# Below the level number i are the residuals smaller than border i, in units of 1 / TARGET_SPAN.
BORDERS = np.ceil(TARGET_SPAN * 2.0 ** (np.arange(HALVINGS * STEPS + 1) / STEPS - HALVINGS)).astype(np.int64)


def start_numbers(state: State) -> float:
    """Clip the target to private quantiles, give all rows its mean as their score and return it."""
    state.re_clipping = min(max((70 / state.strength) ** 2, 0.004), 0.04)
    share, curator, purse = state.re_clipping, state.curator, state.purse
    half = curator.target_total(POOL, purse.take(share), 0, TARGET_SPAN, Query(Kind.TARGET_MEAN))
    mean = min(max(0.5 + 0.5 * float(half.values[0]) / state.rows, 0.0), 1.0)
    centre = min(int(mean * PARTS), PARTS - 1)
    base = 2**20 * 8 // (8 + np.abs(np.arange(PARTS) - centre))
    tail = _tail(state, share, FEWEST_CLIPPED, MOST_CLIPPED)
    ends = [
        curator.target_place(POOL, purse.take(share), PARTS, quantile, base, Query(end))
        for quantile, end in ((tail, Kind.LOWER_BOUND), (QUANTILE_PARTS - tail, Kind.UPPER_BOUND))
    ]
    low, high = min(ends) * TARGET_SPAN // PARTS, (max(ends) + 2) * TARGET_SPAN // PARTS
    high = min(high, TARGET_SPAN)
    middle, width = (low + high) / 2, (high - low) / 2
    inner = curator.target_total(
        POOL, purse.take(share), low, high, Query(Kind.TARGET_MEAN, "between the bounds")
    )
    mean = min(max(middle + width * float(inner.values[0]) / state.rows, low), high) / TARGET_SPAN
    state.clip = max(high / TARGET_SPAN - mean, mean - low / TARGET_SPAN)
    state.spread = (high - low) / TARGET_SPAN / 4
    curator.add_constant(state.whole(np.array([mean])))
    curator.set_clip(math.ceil(state.clip * TARGET_SPAN))
    return mean


def clip_again(state: State, share: Fraction, when: str) -> None:
    """Choose anew, by two private quantiles of the absolute residuals, where they are clipped and their size.

    Each costs `share`; `when` tells the ledger.
    """
    tail = _tail(state, float(share), FEWEST_RESIDUALS, MOST_RESIDUALS)
    levels = [
        state.curator.residual_quantile(
            POOL, state.purse.take(share), quantile, BORDERS, Query(Kind.RESIDUALS, f"({what}), {when}")
        )
        for quantile, what in ((QUANTILE_PARTS - tail, "largest"), (TYPICAL, "typical"))
    ]
    state.clip = float(BORDERS[levels[0]]) / TARGET_SPAN
    state.spread = float(BORDERS[min(levels)]) / TARGET_SPAN
    state.curator.set_clip(int(BORDERS[levels[0]]))


def _tail(state: State, share: float, fewest: float, most: float) -> int:
    """Part of the rows beyond a clip level: as many as its quantile may miss by."""
    missed = TAIL / (2 * state.strength * math.sqrt(max(share, 1e-12)))
    return round(min(max(missed, fewest), most) * QUANTILE_PARTS)
