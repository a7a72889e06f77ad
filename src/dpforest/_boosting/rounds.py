"""Rounds of boosting: shallow trees whose cuts are chosen by gradients, added to the scores level by level.

A level costs two queries. One exponential mechanism per node chooses among all cuts of all columns; it costs
the same however many there are. One noisy query tells gradients and Hessians of all children, from which
their values follow: a Newton step, drawn to 0 as far as noise explains it.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpforest._boosting.budget import POOL, fine
from dpforest._boosting.numbers import clip_again
from dpforest._boosting.scales import Cuts
from dpforest._boosting.state import LARGEST_PART, State
from dpforest._structure import FlatTrees
from dpforest.privacy import Kind, Query

MOST_ROUNDS, MOST_LEVELS, FEWEST_LEVELS = 40, 6, 2
CHOOSING = Fraction(1, 2)  # of a level's budget
FARTHEST_CLASS, FARTHEST_NUMBER = 2.5, 3.0  # a node adds no more: in scores, in typical residuals
BY_GAINS = 0.9  # of the weights of features, for numbers, by what they have explained so far
LARGEST_WEIGHT = 2**20  # of a column
LARGEST_RE_CLIPPING = 0.1  # of the whole budget

Floats = NDArray[np.float64]


class Shape(NamedTuple):
    """How many rounds and levels, how much of a step is taken, and how large steps are expected to be."""

    n_rounds: int
    depth: int
    rate: float
    prior: float


def shape_of(state: State, n_rounds: int | None, depth: int | None) -> Shape:
    """Take as many rounds and levels as the budget that is left can tell apart."""
    strength = state.strength * math.sqrt(float(state.purse.left))
    plenty = min(max(math.log(max(strength, 1.0) / 500) / math.log(20), 0.0), 1.0)
    rounds = n_rounds or min(max(round(0.8 * (strength / 150) ** 0.6), 1), MOST_ROUNDS)
    if depth is None:
        levels = math.log2(max(2.0, 0.15 * strength / math.sqrt(6 * rounds)))
        depth = min(max(round(levels), FEWEST_LEVELS), MOST_LEVELS)
    prior = 0.7 - 0.3 * plenty if state.is_class else 0.45 - 0.15 * plenty
    return Shape(rounds, depth, 0.8 - 0.3 * plenty, prior)


def grow_rounds(
    state: State, cuts: Cuts, n_rounds: int | None, depth: int | None
) -> tuple[FlatTrees, NDArray[np.int64]]:
    """Spend all that is left on rounds of boosting.

    Returns
    -------
    trees : FlatTrees
    values : ndarray of shape (n_trees, n_leaves, n_outputs)
        What every leaf adds to the scores, in whole numbers.
    """
    shape = shape_of(state, n_rounds, depth)
    if shape.depth == 0:
        return FlatTrees.unsplit(1, 0), np.zeros((1, 1, state.curator.n_outputs), np.int64)
    re_clipping = Fraction(0)  # each of two quantiles, in every round
    if not state.is_class:
        re_clipping = fine(min(state.re_clipping, LARGEST_RE_CLIPPING / (2 * shape.n_rounds)))
    levels = shape.n_rounds * shape.depth
    share = (state.purse.left - 2 * re_clipping * shape.n_rounds) / levels
    trees = FlatTrees.unsplit(shape.n_rounds, shape.depth, cuts.left_sets)
    values = np.zeros((shape.n_rounds, 2**shape.depth, state.curator.n_outputs), np.int64)
    for number in range(shape.n_rounds):
        if re_clipping:
            clip_again(state, re_clipping, f"round {number}")
        values[number] = _grow(state, cuts, shape, share, trees, number)
    return trees, values


def _grow(
    state: State, cuts: Cuts, shape: Shape, share: Fraction, trees: FlatTrees, number: int
) -> NDArray[np.int64]:
    """Grow one tree and return what its leaves add: the sum over their ancestors."""
    curator, total = state.curator, np.zeros((1, state.curator.n_outputs), np.int64)
    largest = LARGEST_PART * 4 // (shape.n_rounds * shape.depth)
    curator.begin_tree(cuts.columns)
    for level in range(shape.depth):
        choosing = state.purse.take(share * CHOOSING)
        weights, query = column_weights(state, cuts), Query(Kind.CUTS, level=level, tree=number)
        column, cut = curator.best_cuts(POOL, choosing, weights, query)
        here = trees.level(level)
        trees.feature[number, here] = column
        trees.threshold[number, here] = [
            cuts.threshold[at][code] for at, code in zip(column, cut, strict=True)
        ]
        curator.split_nodes(column, cut)
        rest = state.purse.take(share * (1 - CHOOSING))
        answer = curator.node_sums(POOL, rest, Query(Kind.LEAF_GRADIENTS, level=level, tree=number))
        step, gain = _newton_steps(state, answer.values, answer.noise_sd, shape.prior)
        _share_out(state.gains, cuts, column, gain.reshape(-1, 2).sum(axis=1))
        step = shape.rate * step
        added = np.clip(state.whole(step), -largest, largest)
        curator.add_values(added.astype(np.int32))
        total = np.repeat(total, 2, axis=0) + added
    return total


def column_weights(state: State, cuts: Cuts) -> NDArray[np.int64]:
    """Weigh the columns that may be cut, for numbers by what each feature has explained so far.

    Features that have explained much are likelier to explain more. Weights cost nothing: all of it is
    released. A column of two features weighs the geometric mean of both. For classes, where this gained
    nothing, all columns weigh the same.
    """
    pairs = cuts.columns.pairs.columns
    weights, explained = np.ones(len(state.gains)), np.maximum(state.gains, 0.0)
    total = float(explained.sum())
    if not state.is_class and total > 0:
        weights = 1 - BY_GAINS + BY_GAINS * len(weights) * explained / total
    weights = np.concatenate([weights, np.sqrt(weights[pairs[:, 0]] * weights[pairs[:, 1]])])
    whole: NDArray[np.int64] = np.rint(weights / weights.max() * LARGEST_WEIGHT).astype(np.int64)
    return whole


def _newton_steps(state: State, sums: Floats, noise_sd: float, prior: float) -> tuple[Floats, Floats]:
    """Return the steps of nodes: minus gradient over Hessian, drawn to 0 as far as noise explains it.

    The second answer is what the step of each node explains beyond what steps on noise alone would seem to.
    """
    gradients, noise = sums[:, 0] * state.clip, noise_sd * state.clip
    unsure = 2 * noise_sd * state.curvature  # half Hessians were asked for
    hessians = np.maximum(2 * sums[:, 1] * state.curvature, unsure + 0.02 * state.curvature)
    if state.is_class:
        scatter, spread, farthest = hessians, prior, FARTHEST_CLASS
    else:
        scatter, spread = hessians * state.spread**2, prior * state.spread
        farthest = FARTHEST_NUMBER * state.spread
    filtered = hessians / (hessians**2 + (scatter + noise**2) / spread**2)
    steps = -gradients * filtered
    gains = (hessians * (steps**2 - filtered**2 * (scatter + noise**2))).sum(axis=1)
    if state.has_many_classes:
        steps = steps - steps.mean(axis=1, keepdims=True)
    return np.clip(steps, -farthest, farthest), gains


def _share_out(gains: Floats, cuts: Cuts, column: NDArray[np.int64], found: Floats) -> None:
    """Give what each cut explains to its feature, or to the two features of a pair in equal parts."""
    n_features = len(gains)
    of_pair = column >= n_features
    np.add.at(gains, column[~of_pair], found[~of_pair])
    for side in (0, 1):
        np.add.at(gains, cuts.columns.pairs.columns[column[of_pair] - n_features, side], found[of_pair] / 2)
