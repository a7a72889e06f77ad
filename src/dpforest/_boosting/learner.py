"""Boosting from first count to last round: what is asked, in which order, for which share of the budget."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpforest._boosting.budget import Purse
from dpforest._boosting.linear import linear_part
from dpforest._boosting.marginals import Marginals, ask_marginals
from dpforest._boosting.numbers import start_numbers
from dpforest._boosting.rounds import grow_rounds
from dpforest._boosting.scales import columns_of, normal_scores
from dpforest._boosting.state import State
from dpforest._curator import Curator
from dpforest._structure import FlatTrees, Pairs
from dpforest._structure.link import resting_scores
from dpforest.schema import Classes
from dpforest.schema.public_rows import PublicRows

FEWEST_ROWS = 20.0
WITHOUT_NOISE = 1e3  # rho that formulas take where there is no noise
STRETCH = 0.2  # of the steps, for classes that are equally common; less for others
_MARGINALS = 0.1  # of the budget, at a strength of ...
_AT_STRENGTH = 1000

Ints = NDArray[np.int64]


class Boosted(NamedTuple):
    """A released model: scores in whole numbers, one output for numbers and for two classes."""

    constant: Ints
    table: Ints
    trees: FlatTrees
    values: Ints
    pairs: Pairs
    gains: NDArray[np.float64]
    clip: float | None


def boost(
    curator: Curator, n_rounds: int | None, depth: int | None, public: PublicRows | None = None
) -> Boosted:
    """Ask everything that a boosted model needs.

    Parameters
    ----------
    curator : Curator
        Owner of the rows; its plan has the pools "count" and "model".
    n_rounds, depth : int or None
        Rounds and levels of trees; None lets the released number of rows decide.
    public : PublicRows, optional
        Rows that tell marginals and products of the features, of which nothing is asked then.
    """
    schema = curator.schema
    curator.score_rows()
    rho = WITHOUT_NOISE if curator.is_noiseless else float(curator.ledger.plan.total)
    purse = Purse(rho)
    if isinstance(schema.target, Classes):
        released, sd = curator.class_counts("count")
    else:
        released, sd = curator.known_targets("count")
    counts, sd = released.astype(np.float64), max(sd, 1e-9)
    rows = max(float(counts.sum()), FEWEST_ROWS)
    share = min(max(_MARGINALS * (_AT_STRENGTH / (rows * math.sqrt(2 * rho))) ** 0.2, 0.06), 0.12)
    if public is None:
        marginals = ask_marginals(curator, purse, share, rows, sd * math.sqrt(len(counts)))
    else:
        marginals = Marginals(public.shares, rows)
    strength = marginals.rows * math.sqrt(2 * rho)
    n_classes = schema.n_codes if isinstance(schema.target, Classes) else 0
    state = State(curator, purse, marginals.rows, strength, n_classes, curator.gradient_scales[0])
    constant = _start_classes(state, counts, sd) if state.is_class else start_numbers(state)
    scores = [
        None if schema.nominal[at] else normal_scores(shares) for at, shares in enumerate(marginals.shares)
    ]
    table = linear_part(state, marginals, scores, depth != 0, public)
    cuts = columns_of(schema, marginals, scores, strength, curator.coins)
    trees, values = grow_rounds(state, cuts, n_rounds, depth)
    if state.is_class:
        table, values = (np.rint(part * _stretch(counts, sd)).astype(np.int64) for part in (table, values))
    gains = np.maximum(state.gains, 0.0)
    return Boosted(constant, table, trees, values, cuts.columns.pairs, gains, state.link_clip)


def _start_classes(state: State, counts: NDArray[np.float64], noise_sd: float) -> Ints:
    """Give all rows the scores that are at rest at the noisy class counts."""
    assert state.link_clip is not None
    rest = resting_scores(_class_shares(counts, noise_sd), state.link_clip)
    scores = rest[1:] - rest[:1] if len(counts) == 2 else rest - rest.mean()
    whole = state.whole(scores)
    state.curator.add_constant(whole)
    return whole


def _stretch(counts: NDArray[np.float64], noise_sd: float) -> float:
    """Return what steps are multiplied by in the model that is released.

    They were drawn to 0 by prior, rate and the number of rounds, which helps while they are learnt but leaves
    probabilities too close to those of the start; less so where one class is common and all steps are small.
    """
    if len(counts) < 2:
        return 1.0
    shares = _class_shares(counts, noise_sd)
    return 1 + STRETCH * float(-(shares @ np.log(shares))) / math.log(len(shares))


def _class_shares(counts: NDArray[np.float64], noise_sd: float) -> NDArray[np.float64]:
    """Return class shares by noisy counts, none of them 0."""
    positive = np.maximum(counts, noise_sd / 2 + 1)
    shares: NDArray[np.float64] = positive / positive.sum()
    return shares
