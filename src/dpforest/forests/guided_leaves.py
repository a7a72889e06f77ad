"""What the leaves of the default forest's trees say of classes: made of released values, hence free.

Class shares of a leaf are a mixture over all prunings of its tree (`dpforest._trees.prunings`) and, where its
class was chosen with the last cuts, what that class says (`dpforest._trees.naming`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpforest._curator import NAMED, NESTED, NESTED_OR_RIVAL
from dpforest._shrinkage import shrunk_counts
from dpforest._structure import FlatTrees
from dpforest._trees import Prunings, mix_prunings, named_shares, reachable_leaves, with_names
from dpforest.forests.guided_config import ClassConfig
from dpforest.privacy import Kind, Ledger

MOST_LEFT_OUT = 2**22  # numbers in a table of scores without one row: some levels of it are made at once


class Leaves(NamedTuple):
    """What was released about the leaves: shares of classes, and those of all leaves together.

    `named` are the shares that the chosen class of a leaf speaks for, where there is one; `shares` have them
    in it.
    """

    shares: NDArray[np.float64]
    prior: NDArray[np.float64]
    prunings: Prunings
    named: NDArray[np.float64] | None = None

    @property
    def scores(self) -> NDArray[np.float64]:
        """Log odds of every leaf against all leaves together."""
        found: NDArray[np.float64] = np.log(self.shares / self.prior)
        return found

    def for_judging(self) -> NDArray[np.float64]:
        """Scores of every leaf for a row that it was made of, which is left out as far as there is room."""
        n_leaves, n_classes = self.shares.shape
        if n_leaves * n_classes**2 > MOST_LEFT_OUT:
            return self.scores[:, None]
        left_out = self.prunings.left_out_shares()
        if self.named is not None:
            left_out = with_names(left_out, self.named[:, None])
        found: NDArray[np.float64] = np.log(left_out / self.prior)
        return found


def read_leaves(
    trees: FlatTrees,
    counts: NDArray[np.int64],
    noise_sd: float,
    ledger: Ledger,
    config: ClassConfig,
    classes: NDArray[np.int64] | None = None,
) -> Leaves:
    """Make shares of the counts of a tree's leaves, by a mixture over its prunings, and of their classes."""
    reachable = reachable_leaves(trees)[0]
    total = (counts * reachable[:, None]).sum(axis=0).astype(np.float64)
    prior = shrunk_counts(total, noise_sd * math.sqrt(reachable.sum()))
    prior = prior / prior.sum()
    epsilons = np.zeros(trees.depth)
    for event in ledger:
        if event.kind is Kind.SPLITS and event.level is not None:
            n_levels = 2 if event.mechanism in (NESTED, NESTED_OR_RIVAL, NAMED) else 1
            levels = slice(event.level, event.level + n_levels)
            epsilons[levels] = float(str(event.parameters["epsilon"])) / n_levels
    found = mix_prunings(counts, noise_sd, prior, reachable, epsilons, config.prunings)
    if classes is not None:
        named = named_shares(counts * reachable[:, None], noise_sd, classes, prior)
        return Leaves(with_names(found.leaf_shares(), named), prior, found, named)
    if config.mix_prunings:
        return Leaves(found.leaf_shares(), prior, found)
    positive = counts.clip(0) + 1e-3 * prior
    return Leaves(positive / positive.sum(axis=1, keepdims=True), prior, found)


def spread_of(leaves: Leaves) -> float:
    """How much the scores of a tree's leaves differ, weighted by rows; mean over classes."""
    rows = np.maximum(leaves.prunings.rows[-1], 1e-9)
    mean = np.average(leaves.scores, axis=0, weights=rows)
    return float(np.sqrt(np.average((leaves.scores - mean) ** 2, axis=0, weights=rows)).mean())
