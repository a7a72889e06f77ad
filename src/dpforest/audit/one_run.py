"""The one-run auditor of Steinke, Nasr and Jagielski (2023): many made-up rows, one fit, one test.

Every made-up row (a canary) is in the table or not, by its own fair coin. After a single fit the auditor
guesses the coins from what was released, and may abstain. If the fit keeps epsilon-DP, a guess is right with
probability at most e^epsilon / (1 + e^epsilon) whatever the other coins are, so the number of right guesses
is at most binomial; with delta > 0 a small term is added (their Theorem 5.2). Canaries that lie alone in a
leaf are easiest to tell.

One fit costs milliseconds where the auditor of `statistical` needs thousands, and it needs no pair of tables.
In return it sees only what shows in many rows at once: the noise of the leaves, not a flaw of one special
table.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from dpforest._arrays import FloatArray
from dpforest.audit.fitting import Subject
from dpforest.audit.pairs import random_rows
from dpforest.audit.promises import claim_of, declared_schema, relation_of
from dpforest.audit.result import AuditResult
from dpforest.audit.statistical import CONFIDENCE
from dpforest.privacy import NeighboringRelation
from dpforest.schema import Classes, Schema

Guesser = Callable[[Any, NDArray[Any], NDArray[Any], NDArray[Any]], Any]


def audit_one_run(
    subject: Any,
    *,
    n_canaries: int = 1000,
    guessed: float = 0.3,
    claim: float | None = None,
    delta: float | None = None,
    confidence: float = CONFIDENCE,
    guess: Guesser | None = None,
    schema: Schema | None = None,
    name: str | None = None,
    random_state: int | None = None,
) -> AuditResult:
    """Audit an estimator, or a function of a table, with a single run.

    Parameters
    ----------
    subject : estimator or callable
        As in `audit`. Deep trees tell most: a canary that shares its leaf with others is hard to see.
    n_canaries : int, default=1000
        Made-up rows, drawn at random from the declared domain.
    guessed : float, default=0.3
        Part of the coins to guess, those that the scores are surest of; the auditor abstains from the rest.
    claim, delta, confidence, schema, name
        As in `audit`.
    guess : callable, optional
        Called with what was released, the canaries ``X, y``, and their other targets; returns one score per
        canary, positive for "in the table". The default reads the leaf statistics of our forests. Where a
        person can only change a target, all canaries are in the table and a positive score means ``y``, a
        negative one the other target.
    random_state : int, optional
        Makes coins and fit repeatable.

    Returns
    -------
    AuditResult
        Its loss is the largest epsilon that this many right guesses refute.

    Examples
    --------
    >>> from dpforest import RandomDecisionTreesClassifier
    >>> from dpforest.audit import audit_one_run
    >>> model = RandomDecisionTreesClassifier(1, epsilon=1.0, bounds=([0] * 9, [1] * 9), classes=[0, 1],
    ...                                       max_depth=12)
    >>> result = audit_one_run(model, random_state=0)
    >>> result.verdict
    'no violation found at this confidence'
    """
    relation = relation_of(subject)
    schema = schema or declared_schema(subject)
    epsilon, small = claim_of(subject, claim, delta)
    coins = np.random.default_rng(random_state)
    X, y, other = random_rows(schema, n_canaries, coins)
    heads = coins.integers(2, size=n_canaries).astype(bool)
    if relation is NeighboringRelation.ADD_OR_REMOVE_ONE:
        table = X[heads], y[heads]
    else:
        table = X, np.where(heads, y, other)
    output = Subject(subject, lambda *_: 0.0, random_state).output(*table, stream=0, which=0, number=0)
    scores = np.asarray((guess or _guess_from_leaves)(output, X, y, other), np.float64)
    sure = np.argsort(-np.abs(scores), kind="stable")[: math.ceil(guessed * n_canaries)]
    right, asked = int(((scores > 0) == heads)[sure].sum()), len(sure)
    loss = refuted_epsilon(right, asked, n_canaries, 1 - confidence, small)
    p_value = p_value_of(right, asked, n_canaries, epsilon, small)
    return AuditResult(
        name or type(subject).__name__, epsilon, loss, "one run", confidence,
        f"{n_canaries:,} made-up rows, each with a coin of its own",
        f"{right:,} of {asked:,} coins guessed right", 1, small,
        f"p-value of the promise {p_value:.3g}",
    )  # fmt: skip


def p_value_of(right: int, guesses: int, canaries: int, epsilon: float, delta: float = 0.0) -> float:
    """Probability of so many right guesses, at most, if (epsilon, delta) is kept.

    Parameters
    ----------
    right, guesses, canaries : int
        Right guesses of all guesses; coins, with those not guessed.
    epsilon, delta : float
        The promise.

    Returns
    -------
    float

    Examples
    --------
    >>> round(p_value_of(80, 100, 1000, epsilon=1.0), 3)
    0.072
    """
    chance = 1 / (1 + math.exp(-epsilon))
    tail = float(binom.sf(right - 1, guesses, chance))
    if delta == 0.0 or right == 0:
        return tail
    # delta may turn i wrong guesses into right ones, at the price of i; the adversary takes the best i
    steps = np.arange(1, right + 1)
    nearly = np.cumsum(binom.pmf(right - steps, guesses, chance))
    return min(1.0, tail + 2 * canaries * delta * float((nearly / steps).max()))


def refuted_epsilon(right: int, guesses: int, canaries: int, alpha: float, delta: float = 0.0) -> float:
    """Largest epsilon whose p-value is at most alpha; 0 if there is none.

    Parameters
    ----------
    right, guesses, canaries, delta
        As in `p_value_of`.
    alpha : float
        Probability that a kept promise is refuted.

    Returns
    -------
    float

    Examples
    --------
    >>> round(refuted_epsilon(900, 1000, 1000, alpha=0.05), 2)
    2.02
    """
    low, high = 0.0, 50.0
    if p_value_of(right, guesses, canaries, low, delta) > alpha:
        return 0.0
    for _ in range(60):
        middle = (low + high) / 2
        if p_value_of(right, guesses, canaries, middle, delta) <= alpha:
            low = middle
        else:
            high = middle
    return low


def _guess_from_leaves(model: Any, X: NDArray[Any], y: NDArray[Any], other: NDArray[Any]) -> FloatArray:
    """Score canaries by the released statistics of their leaves, added up over the trees."""
    from dpforest._trees import cells_for, find_leaves

    schema, trees = model.schema_, model.trees_
    cells = cells_for(model, X)
    mine, others = (_target_parts(schema, target) for target in (y, other))
    statistics = _as_counts(model, trees.n_trees, trees.n_leaves, mine.shape[1])
    replaced = model.guarantee_.relation is not NeighboringRelation.ADD_OR_REMOVE_ONE
    heavy_tails = model.delta == 0  # Laplace noise: beyond one row, a larger count tells nothing more
    scores = np.zeros(len(X))
    for counts, leaves in zip(statistics, find_leaves(trees, cells), strict=True):
        expected = np.zeros(counts.shape)
        if replaced:
            np.add.at(expected, leaves, (mine + others) / 2)
        else:
            np.add.at(expected, leaves, mine / 2)
        crowd = np.bincount(leaves, minlength=len(counts))[leaves]
        excess = ((counts - expected)[leaves] * (mine - replaced * others)).sum(axis=1)
        scores += (np.clip(excess, -0.5, 0.5) if heavy_tails else excess) / crowd
    return scores


def _target_parts(schema: Schema, target: NDArray[Any]) -> FloatArray:
    """Return what a row adds to the statistics of its leaf, in units of one row."""
    codes = schema.encode_target(target)
    if isinstance(schema.target, Classes):
        return np.asarray(np.eye(schema.target.n_classes)[codes])
    share = codes / schema.range.levels
    return np.stack([share, 1 - share], axis=1)


def _as_counts(model: Any, n_trees: int, n_leaves: int, n_parts: int) -> FloatArray:
    """Return leaf statistics in units of one row, shape (n_trees, n_leaves, n_parts)."""
    statistics = np.asarray(model.leaf_statistics_)
    if statistics.shape == (n_trees, n_leaves):  # released labels: as good as one row of that class
        return np.asarray(np.eye(n_parts)[statistics])
    unit = 1 if isinstance(model.schema_.target, Classes) else model.schema_.range.levels
    return statistics.astype(np.float64) / unit
