"""Three ways to grow a forest level by level: random splits, private medians, label-guided splits.

Each takes a curator and returns finished `FlatTrees`. Which features a node may look at is drawn with public
coins; only the calls on the curator touch private rows, and each of them is charged there.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpforest.curator import Curator, Utility
from dpforest.structure import FlatTrees


def grow_random(curator: Curator, n_trees: int, depth: int) -> FlatTrees:
    """Cut a random feature at a random place in every node; looks at no row and costs nothing."""
    from dpforest.trees import _kernels

    trees = FlatTrees.unsplit(n_trees, depth, curator.subsets.left_sets)
    for level in range(depth):
        here = trees.level(level)
        features = draw_features(curator, trees, level, 1)
        low, high, members = trees.boxes(level, features, curator.schema.n_cells)
        coins = curator.coins.take(features.size).reshape(features.shape[:2])
        _kernels.random_cuts(
            features[..., 0], low[..., 0], high[..., 0], members[:, :, 0],
            *curator.subsets.arrays(), coins, trees.threshold[:, here],
        )  # fmt: skip
        trees.feature[:, here] = features[..., 0]
    return trees


def grow_median(curator: Curator, pool: str, n_trees: int, depth: int) -> FlatTrees:
    """Cut a random feature near its private median in every node; levels share `pool` equally."""
    trees = FlatTrees.unsplit(n_trees, depth, curator.subsets.left_sets)
    for level in range(depth):
        here = trees.level(level)
        features = draw_features(curator, trees, level, 1)[..., 0]
        trees.threshold[:, here] = curator.medians(pool, trees, level, features, Fraction(1, depth))
        trees.feature[:, here] = features
    return trees


def grow_greedy(
    curator: Curator,
    pool: str,
    n_trees: int,
    depth: int,
    utility: Utility,
    max_features: int | None = None,
    level_shares: list[Fraction] | None = None,
) -> FlatTrees:
    """Choose feature and cut together by a utility, among `max_features` random features per node.

    Parameters
    ----------
    curator : Curator
        Owner of the rows.
    pool : str
        Pool of the budget plan to spend.
    n_trees, depth : int
        Public shape of the forest.
    utility : Utility
        Score of a split.
    max_features : int, optional
        Features per node; None takes all.
    level_shares : list of Fraction, optional
        Part of `pool` for each level; equal parts by default.
    """
    n_slots = min(max_features or curator.schema.n_features, curator.schema.n_features)
    shares = level_shares or [Fraction(1, depth)] * depth
    trees = FlatTrees.unsplit(n_trees, depth, curator.subsets.left_sets)
    for level in range(depth):
        here = trees.level(level)
        features = draw_features(curator, trees, level, n_slots)
        feature, threshold = curator.splits(pool, trees, level, features, utility, shares[level])
        trees.feature[:, here], trees.threshold[:, here] = feature, threshold
    return trees


def draw_features(curator: Curator, trees: FlatTrees, level: int, n_slots: int) -> NDArray[np.int32]:
    """Draw distinct features for every node with public coins, those that its box can still cut first.

    Returns
    -------
    features : ndarray of shape (n_trees, 2**level, n_slots), int32
    """
    from dpforest.trees import _kernels

    features = np.empty((trees.n_trees, 2**level, n_slots), np.int32)
    coins = curator.coins.take(trees.n_trees * 2**level).reshape(features.shape[:2])
    _kernels.draw_features(
        trees.feature, trees.threshold, trees.left_sets, level,
        curator.schema.n_cells, curator.schema.nominal, coins, features,
    )  # fmt: skip
    return features
