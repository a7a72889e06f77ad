"""Two levels and the classes of their leaves, chosen together: counts, their range, and the whole query."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dpforest import mechanisms
from dpforest._curator import Subsets
from dpforest._curator.pairs import PairCandidates
from dpforest._rows import MAX_ROWS, Grid, LeafCounts, MemoryRows, PairCounts
from dpforest._structure import FlatTrees
from dpforest.mechanisms import NAMED_UNIT, NESTED_UNIT, RandomWords, Rate, named_range
from tests.counting import encoded_rows
from tests.curator.conftest import CLASSES, rows_of
from tests.curator.test_pairs import SLOTS, a_tree, goes_left, random_rows, tables_of
from tests.curator.test_queries import assert_follows
from tests.neighbours import neighbours

N_DRAWS = 2500


def counts_by_hand(candidates, node, cells, codes, sets, cuts):
    """Count the four leaves of three cuts, row by row."""
    owner = np.searchsorted(candidates.first_cut, cuts, side="right") - 1
    columns = candidates.slots.columns[owner]
    one, two, three = (
        goes_left(cells, column, int(candidates.threshold[node, cut]), sets)
        for column, cut in zip(columns, cuts, strict=True)
    )
    leaves = one & two, one & ~two, ~one & three, ~one & ~three
    return np.stack([np.bincount(codes[leaf], minlength=3) for leaf in leaves])


@pytest.mark.parametrize("level", [0, 1])
@pytest.mark.parametrize("seed", range(3))
def test_leaves_are_counted_and_scored_as_by_hand(open_curator, seed, level):
    with open_curator([]) as curator:
        trees, subsets = a_tree(curator), curator.subsets
    cells, codes = random_rows(seed)
    candidates = PairCandidates.of_level(trees, level, SLOTS, CLASSES.n_cells, subsets)
    tables, rate = tables_of(cells, codes, candidates, trees, level), Rate(3, 4)
    soft = candidates.soft_scores(tables, mechanisms.soft_units(rate))
    is_right = cells[:, 0] > 2
    for node in range(2**level):
        mine = (codes >= 0) & ((is_right == node) if level else True)
        proper = np.flatnonzero(candidates.base[node])
        for cuts in product(proper, repeat=3):
            wanted = counts_by_hand(candidates, node, cells[mine], codes[mine], subsets.left_sets, cuts)
            found = candidates.leaf_counts(tables[node : node + 1], np.array([cuts]))[0]
            np.testing.assert_array_equal(found, wanted)
            logs = np.log(np.exp(float(rate) * wanted).sum(axis=1)) / float(rate) * NAMED_UNIT
            a, b, c = cuts
            assert soft[node, 0, a, b] == int(np.floor(logs[:2].sum() + 1e-9))
            assert soft[node, 1, a, c] == int(np.floor(logs[2:].sum() + 1e-9))
    nothing = candidates.leaf_counts(tables[:1], np.array([[-1, -1, -1]]))[0]
    assert nothing[0].sum() == tables[0, :4, :4].diagonal().sum()
    assert not nothing[1:].any()


def log_pmf_of(records, epsilon, subsets, trees, widened=named_range):
    X, y = rows_of(records)
    candidates = PairCandidates.of_level(trees, 0, SLOTS, CLASSES.n_cells, subsets)
    spec = PairCounts(
        Grid.of(CLASSES.n_cells.tolist(), 3), trees, 0, columns=SLOTS.columns, groups=candidates.groups,
        n_groups=int(candidates.first_group[-1]),
    )  # fmt: skip
    tables = encoded_rows(X, y, CLASSES).fold(spec)
    rate = Rate.floor(epsilon * NESTED_UNIT / widened(1))
    left, right = candidates.soft_scores(tables, mechanisms.soft_units(rate))[0]
    counts = lambda cuts: candidates.leaf_counts(tables, cuts)  # noqa: E731
    return mechanisms.named_log_pmf(left[None], right[None], candidates.base, rate, counts), candidates


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2)])
def test_cuts_and_classes_keep_their_epsilon_over_all_small_tables(open_curator, epsilon):
    """Every pair of neighbours of up to three rows; at twice the rate the bound is broken.

    So it is if the cuts are drawn by the most common class of their leaves, as in `paired_splits`, and the
    classes then beside them.
    """
    with open_curator([]) as curator:
        trees, subsets = FlatTrees.unsplit(1, 2, curator.subsets.left_sets), curator.subsets
    domain = [(x, c, y) for x in (0.1, 0.9) for c in "ab" for y in (0, 1)]
    known = {}

    def log_pmf(records, at):
        key = tuple(sorted(records)), at
        if key not in known:
            known[key] = log_pmf_of(records, at, subsets, trees)[0]
        return known[key]

    def worst_of(pairs, at):
        worst = 0.0
        for before, after in pairs:
            a, b = log_pmf(before, at), log_pmf(after, at)
            possible = np.isfinite(a)
            assert np.array_equal(possible, np.isfinite(b))
            worst = max(worst, np.abs(a[possible] - b[possible]).max())
        return worst

    assert worst_of(neighbours(domain, 3), epsilon) <= float(epsilon) + 1e-9
    tight = [(0.1, "a", 0)] * 400 + [(0.9, "a", 1)] * 300
    pair = [(tight, [*tight, (0.9, "a", 1)])]
    assert worst_of(pair, epsilon) >= 0.98 * float(epsilon)
    assert worst_of(pair, 2 * epsilon) > float(epsilon)


def test_draws_follow_the_pmf(open_curator):
    """The mechanism is asked often, behind one payment; cuts and classes are looked at together."""
    records = [(0.1, "a", 0), (0.1, "b", 1), (0.6, "b", 1), (0.9, "c", 2), (None, "a", 2), (0.9, "zzz", 0)]
    drawn = []
    with open_curator(records, epsilon=2 * N_DRAWS) as curator:
        trees = FlatTrees.unsplit(1, 2, curator.subsets.left_sets)
        for _ in range(N_DRAWS):
            feature, cut, classes = curator.named_splits("everything", trees, 0, SLOTS, Fraction(1, N_DRAWS))
            # leaves of a child that is cut beside its box are turned: their classes in any order
            drawn.append((feature[0, 0], cut[0, 0], *np.sort(classes[:2]), *np.sort(classes[2:])))
        log_pmf, candidates = log_pmf_of(records, Fraction(2), curator.subsets, trees)
    owner = SLOTS.columns[np.searchsorted(candidates.first_cut, np.arange(candidates.n_cuts), "right") - 1]
    index = {(c, t): i for i, (c, t) in enumerate(zip(owner, candidates.threshold[0], strict=True))}
    first = np.array([index[int(c), int(t)] for c, t, *_ in drawn])
    assert_follows(first, np.logaddexp.reduce(log_pmf.reshape(candidates.n_cuts, -1), axis=1))
    of_classes = np.logaddexp.reduce(log_pmf.reshape(-1, 3, 3, 3, 3), axis=0)
    by_pairs = np.full((3, 3, 3, 3), -np.inf)
    for k in product(range(3), repeat=4):
        pairs = *sorted(k[:2]), *sorted(k[2:])
        by_pairs[pairs] = np.logaddexp(by_pairs[pairs], of_classes[k])
    drawn_classes = np.array([np.ravel_multi_index(each[2:], (3, 3, 3, 3)) for each in drawn])
    assert_follows(drawn_classes, by_pairs.ravel())


def check_classes_of_leaves():
    """Compare the counts of the leaves of all cuts of some rows with plain counting."""
    subsets = Subsets.draw(CLASSES, RandomWords.seeded(0))
    trees, (cells, codes) = FlatTrees.unsplit(1, 2, subsets.left_sets), random_rows(0)
    candidates = PairCandidates.of_level(trees, 0, SLOTS, CLASSES.n_cells, subsets)
    tables, known = tables_of(cells, codes, candidates, trees, 0), codes >= 0
    for cuts in product(np.flatnonzero(candidates.base[0]), repeat=3):
        wanted = counts_by_hand(candidates, 0, cells[known], codes[known], subsets.left_sets, cuts)
        np.testing.assert_array_equal(candidates.leaf_counts(tables, np.array([cuts]))[0], wanted)


def test_nodes_have_their_own_leaves():
    """All nodes of a level at once: classes drawn from the rows of another would tell of these twice."""
    check_leaves_of_several_nodes()


def check_leaves_of_several_nodes():
    """Compare the counts of the leaves of two nodes that are counted together with plain counting."""
    subsets = Subsets.draw(CLASSES, RandomWords.seeded(0))
    trees = FlatTrees.unsplit(1, 2, subsets.left_sets)
    trees.threshold[0, 0] = 2  # of the number
    cells, codes = random_rows(1)
    candidates = PairCandidates.of_level(trees, 1, SLOTS, CLASSES.n_cells, subsets)
    tables, is_right = tables_of(cells, codes, candidates, trees, 1), cells[:, 0] > 2
    proper = [np.flatnonzero(base) for base in candidates.base]
    for number in range(6):
        chosen = np.array([np.roll(cuts, number)[:3] for cuts in proper])
        found = candidates.leaf_counts(tables, chosen)
        for node, cuts in enumerate(chosen):
            mine = (codes >= 0) & (is_right == node)
            wanted = counts_by_hand(candidates, node, cells[mine], codes[mine], subsets.left_sets, cuts)
            np.testing.assert_array_equal(found[node], wanted)


def test_largest_tables_are_scored_within_64_bits():
    """A table of 2**40 rows, next to all of them in one leaf, against Python's integers."""
    subsets = Subsets.draw(CLASSES, RandomWords.seeded(0))
    candidates = PairCandidates.of_level(
        FlatTrees.unsplit(1, 2, subsets.left_sets), 0, SLOTS, CLASSES.n_cells, subsets
    )
    tables = np.zeros((1, 9, 9, 3), np.int64)
    for g, h in ((0, 0), (0, 4), (4, 4)):
        tables[0, g, h] = MAX_ROWS - 7, 3, 4
    rate = mechanisms.SMALLEST_NESTED_RATE
    found = candidates.soft_scores(tables, mechanisms.soft_units(rate))[0]
    empty = math.floor(NAMED_UNIT / float(rate) * math.log(3))  # three classes that no row is of
    assert found.max() == NAMED_UNIT * (MAX_ROWS - 7) + empty
    best = mechanisms.nested.soft_best(found[:1], found[1:], candidates.base, rate, fine=NAMED_UNIT)
    assert NESTED_UNIT * (MAX_ROWS - 7) < int(best.max()) < NESTED_UNIT * MAX_ROWS + 2**36


@pytest.mark.parametrize("seed", range(6))
def test_leaves_keep_their_rows_where_a_cut_lies_beside_its_child(open_curator, seed):
    """Classes that are made of the counts of the chosen cuts must be those of the tree's own leaves."""
    cells, codes = random_rows(seed)
    with open_curator([]) as curator:
        trees, subsets = FlatTrees.unsplit(1, 2, curator.subsets.left_sets), curator.subsets
    candidates = PairCandidates.of_level(trees, 0, SLOTS, CLASSES.n_cells, subsets)
    tables, grid = tables_of(cells, codes, candidates, trees, 0), Grid.of(CLASSES.n_cells.tolist(), 3)
    n_turned = 0
    for cuts in product(np.flatnonzero(candidates.base[0]), repeat=3):
        chosen = np.array([[*cuts, 10, 11, 12, 13]])
        feature, threshold, names = candidates.split_named(chosen, trees, 0)
        grown = replace(trees, feature=feature, threshold=threshold)
        found = MemoryRows(cells, codes, grid).fold(LeafCounts(grid, grown, 2))[0]
        wanted = dict(zip(range(10, 14), candidates.leaf_counts(tables, chosen[:, :3])[0], strict=True))
        for leaf, name in enumerate(names):
            np.testing.assert_array_equal(found[leaf], wanted[name])
        n_turned += list(names) != [10, 11, 12, 13]
    assert n_turned > 0


@pytest.mark.parametrize("seed", range(4))
def test_every_leaf_has_the_class_of_its_own_rows(open_curator, seed):
    """With hardly any noise the class of a leaf is its most common one, also where a cut lies beside it."""
    rng = np.random.default_rng(seed)
    records = [(float(x), "abc"[k], int(2 * (x > 0.5) + (k == 0)) % 3) for x, k in
               zip(rng.random(200), rng.integers(0, 3, 200), strict=True)]  # fmt: skip
    with open_curator(records, epsilon=10**6) as curator:
        trees = FlatTrees.unsplit(1, 2, curator.subsets.left_sets)
        feature, cut, classes = curator.named_splits("everything", trees, 0, SLOTS, Fraction(1, 2))
        trees.feature[0], trees.threshold[0] = feature[0], cut[0]
        counts, _ = curator.leaf_histograms("everything", trees, Fraction(1, 2))
    filled = counts[0].max(axis=1) > 0
    assert (counts[0].argmax(axis=1) == classes)[filled].all()
    assert filled.sum() >= 2
