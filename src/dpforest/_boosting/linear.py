"""The linear part: scores that are sums over features, found by a few private Newton steps.

Features are normal scores of ordered columns, their squares where affordable, and centred indicators of
categories. Each step asks for the sum of gradients times features, draws it to 0 in the eigenbasis of the
(noisy) products of the features as far as noise explains it (Wiener 1949), and then asks how far to go.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpforest._boosting.budget import POOL, fine
from dpforest._boosting.marginals import Marginals
from dpforest._boosting.numbers import clip_again
from dpforest._boosting.scales import category_codes
from dpforest._boosting.state import LARGEST_PART, State
from dpforest._curator import Feature
from dpforest._curator.gradients import LARGEST_NOISE
from dpforest.privacy import Kind, Query
from dpforest.schema.public_rows import PublicRows

SHARE = 0.3  # of the whole budget; many classes take up to ...
LARGEST_SHARE = 0.6
PRODUCTS = 0.3  # of the part, for the products of the features
MOST_PRODUCTS = 1024  # coordinates of which products are taken
LOUDEST_PRODUCTS = 0.5  # noise of their eigenvalues, per row, above which they are not worth asking for
STEPS_FOR_CLASSES, STEPS_FOR_NUMBERS = 3, 2
LENGTH = 0.15  # of a step's budget, for how far to go
ENOUGH_FOR_SQUARES = 30
LONGER = 1.2  # squared length of a row's features, over what is expected, above which they are shortened
REACH = 3.0  # typical steps that a row's own step may have in the question of how far to go
SHORTEST_STEP, LONGEST_STEP, UNSURE_STEP = 0.4, 2.0, 0.4
ENOUGH_TO_CLIP_OFTEN = 1500
_LEAST_SHARE = 0.002  # of a category, and of an eigenvalue

Floats = NDArray[np.float64]


class Basis(NamedTuple):
    """Features of the linear part, the variance of every coordinate, squared length of a typical row."""

    features: list[Feature]
    variances: Floats
    length: float


class Directions(NamedTuple):
    """Eigenbasis of the products of the features: rows times variance along each direction.

    Without vectors the directions are the coordinates themselves, of which there may be many thousands.
    """

    values: Floats
    vectors: Floats | None = None

    def along(self, sums: Floats) -> Floats:
        """Turn sums of coordinates into sums of directions."""
        return sums if self.vectors is None else self.vectors.T @ sums

    def back(self, weights: Floats) -> Floats:
        """Turn weights of directions into weights of coordinates."""
        return weights if self.vectors is None else self.vectors @ weights


def linear_share(state: State) -> float:
    """Share of the whole budget for the linear part."""
    if not state.has_many_classes:
        return SHARE
    per_class = state.strength / (state.n_classes * math.sqrt(state.curator.schema.n_features))
    return min(max(LARGEST_SHARE - 0.13 * math.log(max(per_class, 1.0) / 5), SHARE), LARGEST_SHARE)


def basis_of(state: State, marginals: Marginals, scores: list[Floats | None], share: float) -> Basis:
    """List the features: normal scores, squares where affordable, centred indicators of categories."""
    n_features = state.curator.schema.n_features
    affordable = state.strength * math.sqrt(share / 4) / math.sqrt(n_features)
    needed = max(ENOUGH_FOR_SQUARES, 12 * state.n_classes if state.has_many_classes else 0)
    features, variances, length = [], [], 0.0
    for at, score in enumerate(scores):
        if score is None:
            codes = category_codes(marginals.shares[at])
            common = np.bincount(codes, marginals.shares[at])
            features.append(Feature(at, np.eye(len(common))[codes] - common))
            variances.append(np.maximum(common, _LEAST_SHARE))
            length += 1.0
            continue
        values, spread = [score], [1.0]
        length += 1.0
        if affordable > needed:
            square = (score**2 - 1) / 2
            square[-2:] = 0.0  # missing and unknown values tell nothing
            values.append(square)
            spread.append(0.5)
            length += 0.5
        features.append(Feature(at, np.stack(values, axis=1)))
        variances.append(np.array(spread))
    return Basis(features, np.concatenate(variances), length)


def _clippings(state: State, n_steps: int, trees_follow: bool) -> list[int]:
    """List the steps after which residuals are clipped anew: the last one for trees, all if affordable."""
    if state.is_class:
        return []
    between = range(n_steps - 1) if state.strength > ENOUGH_TO_CLIP_OFTEN else ()
    return [*between, *([n_steps - 1] if trees_follow else [])]


def linear_part(
    state: State,
    marginals: Marginals,
    scores: list[Floats | None],
    trees_follow: bool,
    public: PublicRows | None = None,
) -> NDArray[np.int64]:
    """Learn the linear part and add it to the scores of the rows.

    Parameters
    ----------
    state : State
        The model so far.
    marginals : Marginals
        How the rows spread over every feature.
    scores : list
        Normal scores of the cells of ordered features, None for others.
    trees_follow : bool
        Whether some of the budget is for trees; otherwise all that is left is spent.
    public : PublicRows, optional
        Rows that tell the products of the features.

    Returns
    -------
    ndarray of shape (n_features, n_cells, n_outputs)
        What every cell of every feature adds to the scores, in whole numbers.
    """
    n_steps = STEPS_FOR_CLASSES if state.is_class else STEPS_FOR_NUMBERS
    clippings = _clippings(state, n_steps, trees_follow)
    start = float(state.purse.left)
    share = linear_share(state) if trees_follow else start - 2 * len(clippings) * state.re_clipping
    basis = basis_of(state, marginals, scores, share)
    directions = _directions(state, basis, PRODUCTS * share, public)
    share -= start - float(state.purse.left)
    schema = state.curator.schema
    shape = (schema.n_features, int(schema.n_cells[: schema.n_features].max()), state.curator.n_outputs)
    total = np.zeros(shape, np.int64)
    for number in range(n_steps):
        each = share / n_steps
        step, trust, typical = _step(state, basis, directions, shape, (1 - LENGTH) * each, number)
        length = _step_length(state, step, trust, typical, LENGTH * each, number)
        added = np.rint(length * step).astype(np.int32)
        state.curator.add_table(added)
        total += added
        if number in clippings:
            clip_again(state, fine(state.re_clipping), f"step {number}")
    _add_gains(state, marginals, total / state.one)
    return total


def _add_gains(state: State, marginals: Marginals, table: Floats) -> None:
    """Add what each feature's part of the scores explains: its variance times the Hessian of all rows."""
    for at, shares in enumerate(marginals.shares):
        mine = table[at, : len(shares)]
        away = mine - shares @ mine / max(float(shares.sum()), 1e-12)
        state.gains[at] += state.rows * state.typical_hessian * float((shares @ away**2).sum())


def _directions(state: State, basis: Basis, share: float, public: PublicRows | None) -> Directions:
    """Find the eigenbasis of the features' products; of what marginals tell if those are not affordable."""
    variances, rows = basis.variances, state.rows
    longest, n = LONGER * basis.length, len(variances)
    if public is not None and n <= MOST_PRODUCTS:
        found = rows * public.mean_products(basis.features)
        return _eigenbasis(found, rows / math.sqrt(public.n_rows), variances, rows)
    noise = longest * state.purse.noise(share) / math.sqrt(2)
    can_be_drawn = 28 * noise < LARGEST_NOISE  # 20 times the length, in halves, times the root of 2
    if n > MOST_PRODUCTS or noise * math.sqrt(n) >= LOUDEST_PRODUCTS * rows or not can_be_drawn:
        return Directions(np.maximum(variances * rows, _LEAST_SHARE * rows))
    paid, query = state.purse.take(share), Query(Kind.PRODUCTS)
    found, noise = state.curator.feature_products(POOL, paid, basis.features, longest, query)
    return _eigenbasis(found, noise, variances, rows)


def _eigenbasis(found: Floats, noise: float, variances: Floats, rows: float) -> Directions:
    """Turn products, drawn to those of independent features as far as noise explains them."""
    own, n = np.diag(found), len(found)
    others = found - np.diag(own)
    trust = max(0.0, 1 - n * (n - 1) * noise**2 / max(float((others**2).sum()), 1e-9))
    drawn = np.maximum(trust * own + (1 - trust) * variances * rows, 0.3 * variances * rows)
    values, vectors = np.linalg.eigh(trust * others + np.diag(drawn))
    return Directions(np.maximum(values, _LEAST_SHARE * rows), vectors)


def _step(
    state: State, basis: Basis, directions: Directions, shape: tuple[int, ...], share: float, number: int
) -> tuple[NDArray[np.int32], float, float]:
    """Ask for gradients along the features; return a step, the trust in it and its typical size."""
    longest = LONGER * basis.length
    query = Query(Kind.GRADIENTS, f"in step {number}")
    answer = state.curator.gradient_sums(POOL, state.purse.take(share), basis.features, longest, query)
    sums, noise = answer.values * state.clip, answer.noise_sd * state.clip
    hessian = state.typical_hessian
    scatter = hessian if state.is_class else state.spread**2
    prior = (4.0 if state.is_class else state.spread**2) / max(basis.length, 1.0)
    bend = directions.values * hessian
    filtered = bend / (bend**2 + (directions.values * scatter + noise**2) / prior)
    along = directions.along(sums)
    weights = -along * filtered[:, None]
    heard = float((along**2 * filtered[:, None]).sum())
    trust = 1 - float((filtered * noise**2).sum()) * sums.shape[1] / max(heard, 1e-12)
    typical = math.sqrt(max(float((weights**2 * directions.values[:, None]).sum()) / state.rows, 1e-12))
    table, at = np.zeros(shape), 0
    coefficients = directions.back(weights)
    for feature, values in basis.features:
        table[feature, : len(values)] = values @ coefficients[at : at + values.shape[1]]
        at += values.shape[1]
    whole = table * state.one
    largest = max(float(np.abs(whole).max(axis=(1, 2)).sum()), 1.0)
    shorter = min(1.0, LARGEST_PART / largest)
    return np.rint(whole * shorter).astype(np.int32), min(max(trust, 0.0), 1.0), typical * shorter


def _step_length(
    state: State, step: NDArray[np.int32], trust: float, typical: float, share: float, number: int
) -> float:
    """Ask how far to go: minus slope over curvature, drawn to the trust in the step where noise is loud."""
    reach = REACH * typical
    paid, query = state.purse.take(share), Query(Kind.STEP_LENGTH, f"(step {number})")
    slope, bend = state.curator.step_length(POOL, paid, step, reach * state.one, query)
    curvature = float(bend.values[0]) * state.curvature * reach**2
    curvature = max(curvature, 0.25 * state.typical_hessian * typical**2 * state.rows)
    found = -float(slope.values[0]) * state.clip * reach / curvature
    unsure = (slope.noise_sd * state.clip * reach / curvature) ** 2
    length = (found * UNSURE_STEP**2 + trust * unsure) / (UNSURE_STEP**2 + unsure)
    return min(max(length, SHORTEST_STEP if state.is_class else 0.0), LONGEST_STEP)
