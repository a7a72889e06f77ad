"""What a card tells: released values and public facts of one fitted model, collected in one place.

Nothing here has seen a private row. Rows that the owner calls public may be scored, and are said to be so.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import dpforest
from dpforest.inspection.rules import Rule, columns_of_nodes, rules_of, scales_in_words, splits_of
from dpforest.privacy import Kind, Ledger, NeighboringRelation, PrivacyGuarantee
from dpforest.report.scores import Score, scores_of
from dpforest.report.shapes import Shape, shapes_of
from dpforest.schema import Classes

MOST_NODES = 4096  # of the trees that a card shows: a page should open at once


class Spent(NamedTuple):
    """A part of the budget: what for, how much, and as a share of all."""

    purpose: str
    amount: float
    share: float


class Leaves(NamedTuple):
    """How far the noise reaches in the leaves of a tree: its size, and how many leaves hold less than it."""

    tree: int
    noise_sd: float
    median_count: float
    below_noise: int
    counts: tuple[float, ...]  # of every leaf, largest first

    @property
    def n_leaves(self) -> int:
        """How many there are."""
        return len(self.counts)


@dataclass(frozen=True)
class Facts:
    """All that a card tells.

    Parameters
    ----------
    estimator : str
        Class of the model.
    guarantee : PrivacyGuarantee
        What is promised, or why nothing is.
    has_public_rows : bool
        Whether features were learnt from rows of people to whom nothing is promised.
    ledger : Ledger
        Every query and the plan that paid.
    receipt, signed_by : object
        Where the charge stands and whose signature was checked; None if there is none.
    parameters : mapping
        How the model was made.
    columns : sequence of (name, declaration, splits)
        What was declared public of every column, and how many nodes cut it.
    target : str
        What was declared of the target.
    spending : sequence of Spent
        Where the budget went.
    leaves : sequence of Leaves
        Noise against signal; empty where leaves hold no counts.
    importances : sequence of (name, share)
        Largest first; empty where the model has none.
    shapes : sequence of Shape
        What the values of the most important columns add to the answer.
    trees : sequence of sequence of Rule
        Rules of the trees that are shown.
    scales : str
        On which scales columns in brackets add two features; empty without such.
    n_trees, depth : int
        Of the whole forest.
    scores : sequence of Score
        On rows that the owner calls public, or private ones that were paid for; empty without either.
    checksum : str or None
        SHA-256 of the model file, if it came from one.
    versions : sequence of (name, version)
        Of the software that wrote the card.
    """

    estimator: str
    guarantee: PrivacyGuarantee
    has_public_rows: bool
    ledger: Ledger
    receipt: Any
    signed_by: str | None
    parameters: dict[str, Any]
    columns: Sequence[tuple[str, str, int]]
    target: str
    spending: Sequence[Spent]
    leaves: Sequence[Leaves]
    importances: Sequence[tuple[str, float]]
    shapes: Sequence[Shape]
    trees: Sequence[Sequence[Rule]]
    scales: str
    n_trees: int
    depth: int
    scores: Sequence[Score]
    checksum: str | None
    versions: Sequence[tuple[str, str]]


def best_guess(epsilon: float, delta: float) -> float:
    """Largest chance that a guess whether somebody is in the table is right, at even odds.

    For (epsilon, delta)-differential privacy the true and false positive rates of any test differ by at most
    (e^epsilon - 1 + 2 delta) / (e^epsilon + 1) (Kairouz, Oh and Viswanath 2015, Theorem 2.1, at the corner of
    the region); half of that, added to 1/2, is the best success.

    Examples
    --------
    >>> round(best_guess(1.0, 0.0), 3), best_guess(0.0, 0.0), best_guess(float("inf"), 0.0)
    (0.731, 0.5, 1.0)
    """
    if epsilon > 700:  # e^epsilon is beyond any float
        return 1.0
    odds = math.exp(epsilon)
    return min(1.0, 0.5 + (odds - 1 + 2 * delta) / (2 * (odds + 1)))


def collect(
    model: Any,
    public: tuple[Any, Any] | None = None,
    by: str | None = None,
    *,
    paid: Mapping[str, Any] | None = None,
    checksum: str | None = None,
) -> Facts:
    """Collect the facts of a fitted model.

    Parameters
    ----------
    model : fitted estimator
        Any forest of this library but a paper's own form, which holds values that were never released.
    public : (X, y), optional
        Rows that are not private, to score.
    by : str, optional
        Column whose declared categories the scores are told for, too.
    paid : mapping from str to PrivateScore, optional
        Scores of private rows, by the name of their group: what `private_score` returned, or a list of
        these. Of a confusion matrix the accuracy and its baseline are told.
    checksum : str, optional
        SHA-256 of the file that the model was read from.
    """
    if hasattr(model, "published_"):
        raise ValueError("A paper's own form is not private: its values cannot be laid out on a card.")
    columns = zip(columns_of_nodes(model), splits_of(model), strict=True)
    importances = _importances(model)
    return Facts(
        estimator=type(model).__name__,
        guarantee=model.guarantee_,
        has_public_rows=getattr(model, "_knows_public_rows", False),
        ledger=model.ledger_,
        receipt=model.receipt_,
        signed_by=model.signed_by_,
        parameters=dict(model.settings_.parameters),
        columns=[(name, repr(declared), splits) for (name, declared), splits in columns],
        target=repr(model.schema_.target),
        spending=_spending(model.ledger_),
        leaves=_leaves(model),
        importances=importances,
        shapes=shapes_of(model, [name for name, _ in importances] or list(model.schema_.names)),
        trees=_shown(model),
        scales=scales_in_words(model),
        n_trees=model.trees_.n_trees,
        depth=model.trees_.depth,
        scores=scores_of(model, public, by, paid),
        checksum=checksum,
        versions=[("dpforest", dpforest.__version__), ("Python", platform.python_version())],
    )


def _spending(ledger: Ledger) -> list[Spent]:
    """Sum the costs of queries of one kind, over trees and levels; different rows pay beside each other."""
    spent: dict[str, float] = {}
    for event in ledger:
        kind = event.query.detail if event.query.kind is Kind.OTHER else event.query.kind.value
        spent[kind] = spent.get(kind, 0.0) + float(event.cost)
    total = sum(spent.values())
    return [Spent(purpose, cost, cost / total) for purpose, cost in spent.items()] if total else []


def _leaves(model: Any) -> list[Leaves]:
    """Compare leaves with their noise: the largest class of each, or its rows, by the sums of a target."""
    released, noises = model.leaf_statistics_, model.leaf_noises_
    if released.ndim != 3 or len(noises) != len(released):
        return []
    if model.additive_ is not None and model.additive_.pairs is not None:  # leaves of boosting hold no counts
        return []
    counts, noise = np.abs(released.astype(np.float64)), np.asarray(noises, np.float64)
    if isinstance(model.schema_.target, Classes):
        totals = counts.max(axis=2)
    else:  # every row adds its level and what is left to the highest: the two sums make up `levels` per row
        levels = model.schema_.range.levels
        totals, noise = np.abs(released.sum(axis=2, dtype=np.float64)) / levels, noise * math.sqrt(2) / levels
    ranked = [(float(sd), np.sort(line)[::-1]) for line, sd in zip(totals, noise, strict=True)]
    return [
        Leaves(tree, sd, float(np.median(line)), int((line < sd).sum()), tuple(map(float, line)))
        for tree, (sd, line) in enumerate(ranked)
    ]


def _importances(model: Any) -> list[tuple[str, float]]:
    try:
        found = np.asarray(model.feature_importances_, np.float64)
    except AttributeError:
        return []
    if not np.isfinite(found).all():
        return []
    ranked = np.argsort(-found, kind="stable")
    return [(model.schema_.names[at], float(found[at])) for at in ranked]


def _shown(model: Any) -> list[tuple[Rule, ...]]:
    """Return the rules of as many trees, and of as many of their levels, as a page can hold."""
    most = max(1, MOST_NODES // max(model.trees_.n_leaves, 1))
    levels = MOST_NODES.bit_length() - 2  # of a deeper tree the first levels, as many as fit
    return [rules_of(model, tree, levels) for tree in range(min(most, model.trees_.n_trees))]


def relation_in_words(guarantee: PrivacyGuarantee) -> str:
    """Say which two tables are compared."""
    changes = {
        NeighboringRelation.ADD_OR_REMOVE_ONE: "two tables, one with a person's rows and one without",
        NeighboringRelation.REPLACE_ONE: "two tables in which one person's rows are different",
        NeighboringRelation.LABEL_CHANGE: "two tables in which one label is different; features are public",
    }
    return f"{changes[guarantee.relation]} ({guarantee.unit})"
