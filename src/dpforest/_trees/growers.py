"""Ways to grow a forest level by level: random splits, medians, label-guided splits.

Each takes a curator and returns finished `FlatTrees`. Which features a node may look at is drawn with public
coins; only the calls on the curator touch private rows, and each of them is charged there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpforest._curator import (
    NOTHING_EXPECTED,
    Centres,
    Curator,
    Directions,
    Expected,
    PairColumns,
    Parted,
    Utility,
)
from dpforest._structure import FlatTrees
from dpforest.privacy import Kind, Query

# Scores of splits are sums over rows, and a node holds half the rows of its parent: for the same odds of a
# good choice a level would need twice the budget of the one above, but each of its choices matters to half as
# many rows. The root of 2 lies between; study: +0.5 points over equal parts. A fraction: shares add up.
ROOT_TWO = Fraction(1414, 1000)
# Of the budget of splits, for the noisy targets of inner nodes: class shares by level, means in all; study.
CENTRES = Fraction(2, 100)
MEAN_CENTRES = Fraction(15, 100)
CENTRED = 0  # in place of a number of classes: the level compares children with their node's target
LEAST_WEIGHT = 1e-9  # of the parent's target, in rows: it stands in for an empty node where there is no noise
# Two levels chosen together: entries of their table for every class, and in all; pairs that are counted in
# all rows; least epsilon. Study: twice the entries for two classes gain nothing, half of them cost half a
# point; no more in all for several classes than for two cost 0.6 points.
PAIR_ENTRIES_OF_A_CLASS, MOST_PAIR_ENTRIES = 2**22, 2**25
PAIR_WORK = 10**8
LEAST_FOR_PAIRS = Fraction(1, 4096)  # of a level: with much less, logarithms of sums would be too rough
# What a grower decides at one level: feature and threshold of every node, shape (n_trees, 2**level) each.
Level = tuple[NDArray[np.int32], NDArray[np.int32]]


def grow(curator: Curator, n_trees: int, depth: int, level: Callable[[FlatTrees, int], Level]) -> FlatTrees:
    """Grow complete trees from the root down, one level at a time."""
    trees = FlatTrees.unsplit(n_trees, depth, curator.subsets.left_sets)
    for at in range(depth):
        here = trees.level(at)
        trees.feature[:, here], trees.threshold[:, here] = level(trees, at)
    return trees


def equal_shares(depth: int) -> list[Fraction]:
    """Give every level the same part of its pool."""
    return [Fraction(1, max(depth, 1))] * depth


def geometric_shares(depth: int, ratio: Fraction) -> list[Fraction]:
    """Give every level `ratio` times the part of the level above.

    Examples
    --------
    >>> geometric_shares(2, Fraction(3, 2))
    [Fraction(2, 5), Fraction(3, 5)]
    """
    weights = [ratio**level for level in range(depth)]
    return [weight / sum(weights) for weight in weights]


def grow_random(curator: Curator, n_trees: int, depth: int, in_box: bool = True) -> FlatTrees:
    """Cut a random feature at a random place in every node; looks at no row and costs nothing.

    `in_box` keeps to cuts that are still possible in the node; otherwise features and places are drawn from
    the whole public domain everywhere, and some cuts separate nothing.
    """
    from dpforest._trees import _kernels

    schema = curator.schema

    def level(trees: FlatTrees, at: int) -> Level:
        # the box of the root is the whole domain
        features = draw_features(curator, trees, at, 1, in_box)
        low, high, members = trees.boxes(at if in_box else 0, features, schema.n_cells)
        coins = curator.coins.take(features.size).reshape(features.shape[:2])
        cuts = trees.threshold[:, trees.level(at)].copy()
        _kernels.random_cuts(
            features[..., 0], low[..., 0], high[..., 0], members[:, :, 0],
            *curator.subsets.arrays(), coins, cuts,
        )  # fmt: skip
        return features[..., 0], cuts

    return grow(curator, n_trees, depth, level)


def grow_multiway(curator: Curator, n_trees: int, depth: int, paper_depth: int) -> FlatTrees:
    """Random splits in which a nominal feature, once drawn, is taken apart down to its categories.

    A split into m categories is written as about log2(m) binary levels, so a path of `paper_depth` drawn
    features may need more than `depth` binary levels; it then ends early. Looks at no row and costs nothing.
    """
    from dpforest._trees import _kernels

    schema = curator.schema
    drawn = np.zeros((n_trees, 1), np.int32)  # features drawn so far on the path to each node

    def level(trees: FlatTrees, at: int) -> Level:
        nonlocal drawn
        features = draw_features(curator, trees, at, 1)[..., 0].copy()
        coins = curator.coins.take(features.size).reshape(features.shape)
        cuts = trees.threshold[:, trees.level(at)].copy()
        drawn = np.repeat(drawn, 2 if at else 1, axis=1)
        _kernels.multiway_cuts(
            trees.feature, trees.threshold, trees.left_sets, at, schema.n_cells, schema.nominal,
            *curator.subsets.arrays(), coins, paper_depth, drawn, features, cuts,
        )  # fmt: skip
        return features, cuts

    return grow(curator, n_trees, depth, level)


def grow_median(
    curator: Curator,
    pool: str,
    n_trees: int,
    depth: int,
    level_shares: list[Fraction] | None = None,
    unlabelled_only: bool = False,
) -> FlatTrees:
    """Cut a random feature near its private median in every node.

    Parameters
    ----------
    curator : Curator
        Owner of the rows.
    pool : str
        Pool of the budget plan to spend.
    n_trees, depth : int
        Public shape of the forest.
    level_shares : list of Fraction, optional
        Part of `pool` for each level; equal parts by default.
    unlabelled_only : bool
        Look only at rows without a label.
    """
    shares = level_shares or equal_shares(depth)

    def level(trees: FlatTrees, at: int) -> Level:
        features = draw_features(curator, trees, at, 1)[..., 0]
        return features, curator.medians(pool, trees, at, features, shares[at], unlabelled_only)

    return grow(curator, n_trees, depth, level)


def grow_public_median(curator: Curator, n_trees: int, depth: int) -> FlatTrees:
    """Cut a random feature at its exact median in every node; free, where only labels are private."""

    def level(trees: FlatTrees, at: int) -> Level:
        features = draw_features(curator, trees, at, 1)[..., 0]
        return features, curator.public_medians(trees, at, features)

    return grow(curator, n_trees, depth, level)


def grow_best_median(curator: Curator, pool: str, n_trees: int, depth: int, max_features: int) -> FlatTrees:
    """Choose among random features the one whose exact median cut separates best, then cut it privately.

    Each level spends half its part of `pool` on the feature and half on the median of that feature alone.
    """
    half_level = Fraction(1, 2 * depth) if depth else Fraction(0)

    def level(trees: FlatTrees, at: int) -> Level:
        candidates = draw_features(curator, trees, at, min(max_features, curator.schema.n_columns))
        features = curator.features_by_median(pool, trees, at, candidates, half_level)
        return features, curator.medians(pool, trees, at, features, half_level)

    return grow(curator, n_trees, depth, level)


def grow_greedy(
    curator: Curator, pool: str, n_trees: int, depth: int, utility: Utility, max_features: int | None = None
) -> FlatTrees:
    """Choose feature and cut together by a utility, among `max_features` random features per node.

    Parameters
    ----------
    curator : Curator
        Owner of the rows.
    pool : str
        Pool of the budget plan to spend, in equal parts on each level.
    n_trees, depth : int
        Public shape of the forest.
    utility : Utility
        Score of a split.
    max_features : int, optional
        Features per node; None takes all.
    """
    n_columns = curator.schema.n_columns
    n_slots = min(max_features or n_columns, n_columns)
    shares = equal_shares(depth)

    def level(trees: FlatTrees, at: int) -> Level:
        features = draw_features(curator, trees, at, n_slots)
        return curator.splits(pool, trees, at, features, utility, shares[at])

    return grow(curator, n_trees, depth, level)


def guided_shares(
    share: Fraction, n_levels: int, n_centred: int, is_class: bool, ratio: Fraction = ROOT_TWO
) -> tuple[list[Fraction], list[Fraction]]:
    """Divide a share among the splits of some levels and the centres of those that need them.

    Examples
    --------
    >>> shares, centres = guided_shares(Fraction(1), 2, 1, is_class=True)
    >>> sum(shares) + sum(centres), centres
    (Fraction(1, 1), [Fraction(1, 50)])
    """
    centring = share * (CENTRES * n_centred if is_class else MEAN_CENTRES * min(n_centred, 1))
    shares = [part * (share - centring) for part in geometric_shares(n_levels, ratio)]
    return shares, [part * centring for part in _doubling_shares(n_centred)]


def _doubling_shares(n_levels: int) -> list[Fraction]:
    """Double the part from level to level, in the last nine: those above would be left with next to nothing.

    Examples
    --------
    >>> _doubling_shares(2), min(_doubling_shares(14))
    ([Fraction(1, 3), Fraction(2, 3)], Fraction(1, 516))
    """
    weights = [2 ** max(level - max(n_levels - 9, 0), 0) for level in range(n_levels)]
    return [Fraction(weight, sum(weights)) for weight in weights]


def grow_guided(*given: Any, **named: Any) -> FlatTrees:
    """Grow one tree as `grow_guided_or_part` does, with nothing to compare it with."""
    found = grow_guided_or_part(*given, **named)
    assert isinstance(found, Grown)  # a direction can win only where there are rivals
    return found.trees


class Grown(NamedTuple):
    """A tree, and the classes of its leaves, if they were chosen with its last two levels."""

    trees: FlatTrees
    classes: NDArray[np.int64] | None = None


class Rivals(NamedTuple):
    """Directions that are compared with the first two levels of a tree, and how likely they are."""

    directions: Directions
    odds: float


def grow_guided_or_part(
    curator: Curator,
    pool: str,
    share: Fraction,
    depth: int,
    root: NDArray[np.float64],
    most_common: Sequence[int] | None = None,
    number: int | None = None,
    ratio: Fraction = ROOT_TWO,
    n_columns: int | None = None,
    rows: float | None = None,
    rivals: Rivals | None = None,
    name_leaves: bool = False,
    expected: Expected = NOTHING_EXPECTED,
) -> Grown | Parted:
    """Grow one tree whose splits, feature and cut together, are chosen by the target.

    Two levels at a time are chosen together where there is room for their tables, by the max-operator, for
    the budget of both. A level that is chosen alone may use centred scores: how far the children's targets
    are from their node's own. It then first buys a noisy view of the targets in its nodes, deeper levels for
    more. Or it may use the max-operator on classes, which needs no such view. Each level gets `ratio` times
    as much for its splits as the one above.

    Parameters
    ----------
    curator : Curator
        Owner of the rows.
    pool : str
        Pool of the budget plan to spend.
    share : Fraction
        Part of it.
    depth : int
        Levels of splits.
    root : ndarray of shape (n_classes,) or (1,)
        Released class shares, or mean target, of all rows.
    most_common : sequence of int, optional
        For every level, how many of a child's classes the max-operator counts, or CENTRED, which all levels
        are by default.
    number : int, optional
        Number of the tree, if it is one of several.
    ratio : Fraction
        Of a level's budget to that of the one above.
    n_columns : int, optional
        How many columns, drawn with public coins, a node chooses among; None takes all.
    rows : float, optional
        Released number of rows; None chooses every level alone.
    rivals : Rivals, optional
        Directions through all features, for two classes. If one of them parts these better than the first
        two levels do together, it is returned instead of a tree; where there is no room for two levels
        together, nothing is compared.
    name_leaves : bool
        Choose the classes of the leaves with the last two levels, for nothing, if these are chosen together
        and not against rivals.
    expected : Expected
        Where rows lie, of every column: cuts of two levels lie there, too, and are likelier there where a
        level is chosen alone.
    """
    n_slots = n_columns or curator.schema.n_columns
    counted = most_common or [CENTRED] * depth
    is_class = len(root) > 1
    pairs: dict[int, PairColumns] = {}
    if rows is not None:
        pairs = levels_in_pairs(curator, pool, share, depth, len(root), rows, ratio, expected)
    in_pairs = {at + below for at in pairs for below in (0, 1)}
    centred = [
        at for at in range(1, depth) if at not in in_pairs and counted[at] == CENTRED
    ]  # the root's is known
    shares, for_centres = guided_shares(share, depth, len(centred), is_class, ratio)
    centre_share = dict(zip(centred, for_centres, strict=True))
    above = root[None]
    second: Level | None = None  # of a pair of levels, what was chosen for the lower one
    of_root: Level | None = None  # what won against the rivals
    classes: NDArray[np.int64] | None = None
    if rivals is not None and 0 in pairs:
        unsplit = FlatTrees.unsplit(1, depth, curator.subsets.left_sets)
        both = shares[0] + shares[1]
        won = curator.paired_splits_or_direction(pool, unsplit, pairs[0], both, *rivals)
        if isinstance(won, Parted):
            return won
        of_root = won

    def level(trees: FlatTrees, at: int) -> Level:
        nonlocal above, second, classes
        if at > 0:
            above = np.repeat(above, 2, axis=0)
        if second is not None:
            lower, second = second, None
            return lower
        if at in pairs:
            both, wanted = shares[at] + shares[at + 1], max(counted[at + 1], 1)
            found = of_root if at == 0 and of_root is not None else None
            if found is None and name_leaves and at == depth - 2:
                *cuts, classes = curator.named_splits(pool, trees, at, pairs[at], both)
                found = cuts[0], cuts[1]
            elif found is None:
                found = curator.paired_splits(pool, trees, at, pairs[at], both, wanted, number)
            first, second = ((found[0][:, part], found[1][:, part]) for part in _upper_and_lower(at))
            return first
        features, part = draw_features(curator, trees, at, n_slots), shares[at]
        if counted[at] != CENTRED:
            score = Utility.MAX_OPERATOR
            return curator.splits(pool, trees, at, features, score, part, None, counted[at], number, expected)
        if at > 0:
            above = _centres_of_level(curator, pool, trees, at, centre_share[at], above, number)
        if is_class:
            score, centres = Utility.CENTRED, Centres.of_shares(above)
        else:
            score = Utility.CENTRED_TARGET
            centres = Centres.of_means(above[:, 0], curator.schema.range.levels)
        return curator.splits(pool, trees, at, features, score, part, centres, 1, number, expected)

    return Grown(grow(curator, 1, depth, level), classes)


def levels_in_pairs(
    curator: Curator,
    pool: str,
    share: Fraction,
    depth: int,
    n_classes: int,
    rows: float,
    ratio: Fraction = ROOT_TWO,
    expected: Expected = NOTHING_EXPECTED,
) -> dict[int, PairColumns]:
    """Say which levels are chosen together with the next one, and among which columns; all of it public.

    From the root down, as long as there is room: tables of pairs grow with the nodes and classes, and
    counting them takes rows times pairs of columns. None for numbers, nor where a level has next to nothing
    to spend.
    """
    schema, found = curator.schema, dict[int, PairColumns]()
    least = min(guided_shares(share, depth, depth, n_classes > 1, ratio)[0], default=share)
    if n_classes < 2 or curator.ledger.plan.amount(pool) * least < LEAST_FOR_PAIRS:
        return found
    n_slots = int(np.sqrt(2 * PAIR_WORK / max(rows, 1.0)))
    for at in range(0, depth - 1, 2):
        entries = min(PAIR_ENTRIES_OF_A_CLASS, MOST_PAIR_ENTRIES / n_classes)  # of one class
        n_groups = int(np.sqrt(entries / 2**at))
        about = schema.n_cells, schema.nominal, schema.n_features
        slots = PairColumns.that_fit(*about, n_groups, n_slots, expected)
        if slots is None:
            break
        found[at] = slots
    return found


def _upper_and_lower(level: int) -> tuple[slice, slice]:
    """Where the nodes of a level and those of the next stand in what is chosen for both."""
    return slice(0, 2**level), slice(2**level, 3 * 2**level)


def _centres_of_level(
    curator: Curator,
    pool: str,
    trees: FlatTrees,
    at: int,
    share: Fraction,
    parent: NDArray[np.float64],
    number: int | None,
) -> NDArray[np.float64]:
    """Noisy class shares or mean target of every node, drawn towards the parent's where the noise is loud.

    The parent's target enters as so many rows as the noise is wide, two standard deviations of a count: a
    node of n rows keeps n / (n + 2 sd) of what it says itself. For a mean the sums are in levels, `levels` to
    a row, and so is their noise. Released values only: post-processing.
    """
    here = replace(trees, depth=at)
    query = Query(Kind.NODE_TARGETS, level=at, tree=number)
    if parent.shape[1] > 1:
        values, sd = curator.leaf_histograms(pool, here, share, query)
        counts = np.maximum(values[0], 0).astype(np.float64)
        weight = max(2 * sd, LEAST_WEIGHT)
        shares: NDArray[np.float64] = (counts + weight * parent) / (counts.sum(axis=1) + weight)[:, None]
        return shares
    levels = curator.schema.range.levels
    values, sd = curator.leaf_soft_histograms(pool, here, share, query)
    sums = np.maximum(values[0], 0).astype(np.float64)
    weight = max(2 * sd / levels, LEAST_WEIGHT)
    rows = sums.sum(axis=1, keepdims=True) / levels
    means: NDArray[np.float64] = (sums[:, :1] + weight * parent) / (rows + weight)
    return means


def draw_features(
    curator: Curator,
    trees: FlatTrees,
    level: int,
    n_slots: int,
    in_box: bool = True,
) -> NDArray[np.int32]:
    """Draw distinct features for every node with public coins, those that its box can still cut first.

    Parameters
    ----------
    curator : Curator
        Gives the coins and the schema.
    trees : FlatTrees
        The splits above `level`.
    level : int
        Level of the nodes.
    n_slots : int
        Features per node.
    in_box : bool
        False draws from all features, whether the node's box can be cut or not.

    Returns
    -------
    features : ndarray of shape (n_trees, 2**level, n_slots), int32
    """
    n_columns = curator.schema.n_columns
    if n_slots == n_columns:  # all of them, in any order: nothing to draw
        everything = np.arange(n_columns, dtype=np.int32)
        return np.tile(everything, (trees.n_trees, 2**level, 1))
    from dpforest._trees import _kernels

    features = np.empty((trees.n_trees, 2**level, n_slots), np.int32)
    coins = curator.coins.take(trees.n_trees * 2**level).reshape(features.shape[:2])
    _kernels.draw_features(
        trees.feature, trees.threshold, trees.left_sets, level if in_box else 0,
        curator.schema.n_cells, curator.schema.nominal, coins,
        np.arange(len(curator.schema.n_cells)), np.empty(trees.left_sets.shape[1], np.uint8), features,
    )  # fmt: skip
    return features
