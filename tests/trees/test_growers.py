"""Growers on small schemas: what they draw lies in the public box of its node."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from dpforest._curator import NESTED, Curator, PrivateTable
from dpforest._structure.flat import EVERYTHING_LEFT
from dpforest._trees import (
    find_leaves,
    geometric_shares,
    grow_guided,
    grow_median,
    grow_multiway,
    grow_random,
    growers,
)
from dpforest._trees.growers import draw_features
from dpforest.mechanisms import RandomWords
from dpforest.privacy import BudgetPlan, Kind
from dpforest.schema import Classes, Nominal, Numeric, Schema

MIXED = Schema(
    {"x": Numeric(0, 1, bins=8), "c": Nominal(list("abc")), "z": Numeric(0, 1, bins=4)}, Classes([0, 1])
)


def curator(schema=MIXED, rows=(), seed=0):
    X = np.empty((len(rows), schema.n_features), object)
    X[:] = list(rows) if len(rows) else X
    plan = BudgetPlan.divide(1, 0, {"splits": 1})
    return Curator(PrivateTable(X, np.zeros(len(rows), int), schema), plan, RandomWords.seeded(seed))


def walk_boxes(trees, schema):
    """Yield (tree, node index, feature, cut, low, high, members) of every node, boxes by plain recursion."""

    def descend(tree, level, node, low, high, members):
        if level == trees.depth:
            return
        at = 2**level - 1 + node
        feature, cut = int(trees.feature[tree, at]), int(trees.threshold[tree, at])
        yield tree, at, feature, cut, low[feature], high[feature], members[feature]
        for right in (0, 1):
            low2, high2, members2 = list(low), list(high), [set(m) for m in members]
            if cut < 0:
                keep = {c for c in members[feature] if bool(trees.left_sets[-cut - 1, c]) != bool(right)}
                members2[feature] = keep
            elif right:
                low2[feature] = max(low[feature], cut + 1)
            else:
                high2[feature] = min(high[feature], cut)
            yield from descend(tree, level + 1, 2 * node + right, low2, high2, members2)

    cells = schema.n_cells.tolist()
    for tree in range(trees.n_trees):
        yield from descend(
            tree, 0, 0, [0] * len(cells), [c - 1 for c in cells], [set(range(c)) for c in cells]
        )


@pytest.mark.parametrize("grower", ["random", "median", "multiway"])
def test_cuts_lie_in_the_box_of_their_node(grower):
    rows = [(x / 50, "abc"[x % 3], 1 - x / 50) for x in range(50)]
    with curator(rows=rows) as guard:
        if grower == "random":
            trees = grow_random(guard, 5, 6)
        elif grower == "median":
            trees = grow_median(guard, "splits", 5, 6)
        else:
            trees = grow_multiway(guard, 5, 6, paper_depth=4)
    for _, _, feature, cut, low, high, members in walk_boxes(trees, MIXED):
        if cut == EVERYTHING_LEFT:
            continue
        if MIXED.nominal[feature]:
            left = {c for c in members if trees.left_sets[-cut - 1, c]}
            assert left
            assert members - left
        else:
            assert low <= cut < high


def test_out_of_the_box_all_features_and_places_are_equally_likely():
    schema = Schema.from_bounds((0, 1), n_features=3, bins=4, classes=[0, 1])
    with curator(schema) as guard:
        trees = grow_random(guard, 400, 4, in_box=False)
    deep = trees.feature[:, trees.level(3)].ravel()
    # 3200 draws of probability 1/3 and 1/5: six standard deviations, a false alarm in 1e-8
    assert np.abs(np.bincount(deep, minlength=3) - 3200 / 3).max() < 6 * np.sqrt(3200 * 2 / 9)
    cuts = np.bincount(trees.threshold[:, trees.level(3)].ravel(), minlength=5)
    assert np.abs(cuts - 3200 / 5).max() < 6 * np.sqrt(3200 * 4 / 25)


def test_multiway_takes_a_nominal_feature_apart_and_uses_it_once():
    schema = Schema({"c": Nominal(list("abcdef")), "d": Nominal(list("ab"))}, Classes([0, 1]))
    with curator(schema) as guard:
        trees = grow_multiway(guard, 20, 5, paper_depth=1)
    values = [(c, d) for c in "abcdef" for d in "ab"]
    X = np.empty((len(values), 2), object)
    X[:] = values
    leaves = find_leaves(trees, schema.encode_features(X))
    for tree in range(20):
        drawn = int(trees.feature[tree, 0])
        category_of_leaf = {}
        for value, leaf in zip(values, leaves[tree], strict=True):
            assert category_of_leaf.setdefault(leaf, value[drawn]) == value[drawn]
        assert len(category_of_leaf) == (6 if drawn == 0 else 2)  # the other feature is not looked at


def test_drawn_features_are_distinct_and_can_be_cut():
    schema = Schema(
        {"a": Nominal(["u"]), **{f"x{i}": Numeric(0, 1, bins=2) for i in range(4)}}, Classes([0, 1])
    )
    with curator(schema) as guard:
        trees = grow_random(guard, 30, 6)
        features = draw_features(guard, trees, 6, 3)
        low, high, members = trees.boxes(6, features, schema.n_cells)
    assert (np.sort(features, axis=2)[..., 1:] != np.sort(features, axis=2)[..., :-1]).all()
    can = np.where(schema.nominal[features], members.sum(axis=3) >= 2, low < high)
    assert (np.diff(can.astype(int), axis=2) <= 0).all()  # those that can be cut come first


def test_geometric_shares_sum_to_one():
    for depth in range(1, 12):
        shares = geometric_shares(depth, Fraction(3, 2))
        assert sum(shares) == 1
        assert all(b == a * Fraction(3, 2) for a, b in pairwise(shares))


@pytest.mark.parametrize("counted", [[0, 0, 0, 0], [1, 1, 1, 1], [1, 0, 1, 0]])
def test_a_guided_tree_costs_its_share(counted):
    rows = [(x / 50, "abc"[x % 3], 1 - x / 50) for x in range(50)]
    with curator(rows=rows) as guard:
        grow_guided(guard, "splits", Fraction(3, 4), 4, np.array([0.5, 0.5]), counted)
        assert guard.ledger.total() == Fraction(3, 4)
        levels = [event.level for event in guard.ledger if event.kind is Kind.SPLITS]
    assert levels == [0, 1, 2, 3], "every level is paid for once"


@pytest.mark.parametrize(("depth", "levels"), [(1, [0]), (2, [0]), (3, [0, 2]), (6, [0, 2, 4])])
def test_two_levels_at_a_time_cost_the_shares_of_both(depth, levels):
    rows = [(x / 50, "abc"[x % 3], 1 - x / 50) for x in range(50)]
    with curator(rows=rows) as guard:
        trees = grow_guided(
            guard, "splits", Fraction(3, 4), depth, np.array([0.5, 0.5]), [1] * depth, rows=50.0
        )
        assert guard.ledger.total() == Fraction(3, 4)
        events = [event for event in guard.ledger if event.kind is Kind.SPLITS]
    assert [event.level for event in events] == levels
    assert [event.mechanism == NESTED for event in events] == [at + 1 < depth for at in levels]
    # whatever is cut leaves cells on both sides, or sends everything left
    for _, _, feature, cut, low, high, members in walk_boxes(trees, MIXED):
        if cut < 0:
            inside = {c for c in members if trees.left_sets[-cut - 1, c]}
            assert inside
            assert inside != members
        elif cut != EVERYTHING_LEFT and low <= high:
            assert low <= cut < high, feature


def test_levels_are_chosen_alone_where_two_have_no_room(monkeypatch):
    """Too many rows or classes, or too little budget; which of them is public or released."""

    def mechanisms(rows, epsilon=1, n_classes=2, entries=None):
        schema = Schema(MIXED.features, Classes(list(range(n_classes))))
        plan = BudgetPlan.divide(epsilon, 0, {"splits": 1})
        nothing = PrivateTable(np.empty((0, 3), object), np.zeros(0, int), schema)
        if entries:
            monkeypatch.setattr(growers, "MOST_PAIR_ENTRIES", entries)
        with Curator(nothing, plan, RandomWords.seeded(0)) as guard:
            root = np.full(n_classes, 1 / n_classes)
            grow_guided(guard, "splits", Fraction(1), 4, root, [1] * 4, rows=rows)
            return [event.mechanism == NESTED for event in guard.ledger]

    assert mechanisms(1000.0) == [True, True]
    assert mechanisms(1e9) == [False] * 4
    assert mechanisms(None) == [False] * 4
    assert mechanisms(1000.0, epsilon=Fraction(1, 1000)) == [False] * 4
    assert mechanisms(1000.0, n_classes=40, entries=2**16) == [True, False, False]
