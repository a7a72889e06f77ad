"""Greedy private forest whose trees start with different features (Fletcher and Islam 2015; DP-DF)."""

from __future__ import annotations

from dataclasses import field, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpforest._curator import Curator
from dpforest._structure import FlatTrees
from dpforest._trees import class_shares, majority_votes, prune_by_gini, reachable_leaves
from dpforest._trees.growers import Level, draw_features, grow
from dpforest.forests.base import PrivateForestClassifierBase
from dpforest.forests.docs import shared_parameters
from dpforest.forests.foresight import Ask, Shape, choose, count_leaves
from dpforest.forests.parameters import choice, parameters
from dpforest.forests.release import PrivateRelease
from dpforest.mechanisms import RandomWords
from dpforest.papers.baselines.greedy import (
    BINS_BY_DEFAULT,
    BINS_PARAMETER,
    BINS_RULE,
    DEPTH_BY_ROWS,
    PLAN_PARAMETERS,
    GreedyForest,
    coarse,
)
from dpforest.schema import Schema

_OWN_PARAMETERS = (
    """n_estimators : int, default=4
        Number of trees.
    pruning : bool, default=True
        Take back splits that lower the Gini impurity of the released counts no more than noise would.
    """
    + BINS_PARAMETER
    + PLAN_PARAMETERS
)


@parameters
@shared_parameters(_OWN_PARAMETERS, DEPTH_BY_ROWS, classifier=True)
class FletcherIslamForestClassifier(GreedyForest, PrivateForestClassifierBase):
    """A few greedy trees on coarse public bins, each with another feature at its root (DP-DF).

    Trees grow one after the other; the root of each chooses among the features that no earlier root has
    taken. The exponential mechanism chooses feature and cut by the Gini impurity. Leaves release noisy class
    counts, on which the trees are pruned; a tree votes for the most common class of its leaf, with the share
    of that class as weight.

    **Guarantee.** Pure epsilon-DP for adding or removing one row ((epsilon, delta)-DP by zCDP if delta > 0):
    trees, levels and leaves add up; nodes of a level hold disjoint rows, and earlier roots are known.

    **Departures from the paper.** Its text was out of reach; `as_published=True` is the authors' program,
    line by line. (1) Its exponential mechanism uses the sensitivity that the Gini impurity has at the noisy
    size of the node. A size that noise made too large makes the noise of the choice too small, without bound.
    n times the impurity moves by less than 2 for any n. (2) No counts of inner nodes are bought, since
    nothing needs them: the leaves get their budget. The program prunes where the counts of the children are
    no purer than those bought for the parent. With the sums of the leaves they always are, so here they must
    be purer than noise alone would make them. (3) Splits are binary: the program has one child per value that
    occurs and uses a feature once per path. (4) There are 8 bins by default, a power of two, where the
    comparisons have 5: with binary splits more bins do not mean smaller nodes. (5) The depth that
    `expected_leaf_rows` asks for follows from a noisy count, 2 % of the budget. (6) Noise is discrete;
    missing and undeclared values have cells of their own.

    Parameters
    ----------
    {parameters}

    Examples
    --------
    >>> import numpy as np
    >>> from dpforest.papers.baselines import FletcherIslamForestClassifier
    >>> X = np.random.default_rng(0).random((5000, 3))
    >>> y = (X[:, 0] > 0.5).astype(int)
    >>> model = FletcherIslamForestClassifier(epsilon=2.0, bounds=(0, 1), classes=[0, 1]).fit(X, y)
    >>> model.score(X, y) > 0.7
    True
    """

    n_estimators: Any = field(default=4, kw_only=False)
    pruning: bool = True
    bins: int = BINS_BY_DEFAULT

    _published: ClassVar[str] = "local_sensitivity_forest"
    _rules: ClassVar = {**GreedyForest._rules, "pruning": choice(True, False), "bins": BINS_RULE}

    def _columns(self, schema: Schema, words: RandomWords) -> Schema:
        return coarse(schema, self.bins)

    def _asks(self, schema: Schema, shape: Shape) -> list[Ask]:
        # trees are grown one after the other: each level of each is a question of its own
        level = Fraction(1, max(shape.depth, 1) * shape.n_trees)
        splits = choose("splits", level, 1, self._score().range_for(schema))
        return [Ask("count"), splits, count_leaves(schema, copies=shape.n_trees)]

    def _grow(self, curator: Curator) -> FlatTrees:
        depth = self._depth(curator)
        share = Fraction(1, max(depth, 1) * self.n_estimators)
        grown: list[FlatTrees] = []

        def level(trees: FlatTrees, at: int) -> Level:
            n_columns = curator.schema.n_columns
            features = (
                _free_roots(grown, n_columns) if at == 0 else draw_features(curator, trees, at, n_columns)
            )
            return curator.splits("splits", trees, at, features, self._score(), share)

        for _ in range(self.n_estimators):
            grown.append(grow(curator, 1, depth, level))
        return replace(
            grown[0],
            feature=np.concatenate([tree.feature for tree in grown]),
            threshold=np.concatenate([tree.threshold for tree in grown]),
        )

    def _votes(self, release: PrivateRelease) -> NDArray[np.float64]:
        statistics = release.statistics
        if release.settings["pruning"]:
            statistics = prune_by_gini(
                statistics, reachable_leaves(release.trees), release.trained.leaf_noises[0]
            )
        shares = class_shares(statistics)
        return np.asarray(majority_votes(shares) * shares.max(axis=-1, keepdims=True))

    def _paper_options(self) -> dict[str, Any]:
        return {**super()._paper_options(), "pruning": self.pruning}


def _free_roots(grown: list[FlatTrees], n_columns: int) -> NDArray[np.int32]:
    """Features that no root has taken; all of them again when none is left."""
    taken = [int(trees.feature[0, 0]) for trees in grown]
    last_round = taken[len(taken) // n_columns * n_columns :]
    return np.setdiff1d(np.arange(n_columns), last_round).astype(np.int32)[None, None]
