"""Two levels chosen together: scores against plain counting, their range, and the whole query."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dpforest import mechanisms
from dpforest._curator import Expected, PairColumns, Subsets
from dpforest._curator.pairs import (
    GROUPS_WITH_SUMS,
    LEAST_GROUPS,
    MOST_CUTS,
    MOST_SUBSETS,
    PairCandidates,
    _cuts_in,
    _cuts_of,
)
from dpforest._rows import MAX_ROWS, Grid, MemoryRows, PairCounts
from dpforest._structure import FlatTrees
from dpforest._structure.flat import EVERYTHING_LEFT
from dpforest.mechanisms import NESTED_UNIT, RandomWords, Rate, nested_range
from dpforest.schema import Classes, Nominal, Numeric, Schema
from tests.counting import encoded_rows
from tests.curator.conftest import CLASSES, rows_of
from tests.curator.test_queries import assert_follows
from tests.neighbours import neighbours

SLOTS = PairColumns(np.array([0, 1]), np.array([4, 5]))  # the number with its missing cell, the letter
N_DRAWS = 2500


def goes_left(cells, column, threshold, sets):
    cell = cells[:, column].astype(int)
    return cell <= threshold if threshold >= 0 else sets[-threshold - 1, cell].astype(bool)


def majority(codes, most_common):
    return int(np.sort(np.bincount(codes, minlength=3))[-most_common:].sum())


def scores_by_hand(candidates, node, cells, codes, sets, most_common):
    """Count the leaves of every pair of cuts, row by row."""
    owner = np.searchsorted(candidates.first_cut, np.arange(candidates.n_cuts), side="right") - 1
    columns = candidates.slots.columns[owner]
    left_of = [
        goes_left(cells, c, int(t), sets) for c, t in zip(columns, candidates.threshold[node], strict=True)
    ]
    found = np.zeros((2, candidates.n_cuts, candidates.n_cuts), np.int64)
    for a, c in product(range(candidates.n_cuts), repeat=2):
        for side, here in enumerate((left_of[a], ~left_of[a])):
            found[side, a, c] = majority(codes[here & left_of[c]], most_common)
            found[side, a, c] += majority(codes[here & ~left_of[c]], most_common)
    return found


def random_rows(seed, n=60):
    rng = np.random.default_rng(seed)
    cells = np.column_stack([rng.integers(0, size, n) for size in CLASSES.n_cells]).astype(np.uint8)
    return cells, rng.integers(-1, 3, n).astype(np.int32)


def tables_of(cells, codes, candidates, trees, level):
    grid = Grid.of(CLASSES.n_cells.tolist(), 3)
    spec = PairCounts(
        grid, trees, level, columns=candidates.slots.columns, groups=candidates.groups,
        n_groups=int(candidates.first_group[-1]),
    )  # fmt: skip
    return MemoryRows(cells, codes, grid).fold(spec)


def a_tree(curator):
    trees = FlatTrees.unsplit(1, 3, curator.subsets.left_sets)
    trees.threshold[0, 0] = 2  # of the number
    return trees


@pytest.mark.parametrize("most_common", [1, 2])
@pytest.mark.parametrize("level", [0, 1])
@pytest.mark.parametrize("seed", range(3))
def test_scores_are_the_rows_that_leaves_name_correctly(open_curator, seed, level, most_common):
    with open_curator([]) as curator:
        trees, subsets = a_tree(curator), curator.subsets
    cells, codes = random_rows(seed)
    candidates = PairCandidates.of_level(trees, level, SLOTS, CLASSES.n_cells, subsets)
    tables = tables_of(cells, codes, candidates, trees, level)
    is_right = cells[:, 0] > 2
    for node in range(2**level):
        mine = (codes >= 0) & ((is_right == node) if level else True)
        wanted = scores_by_hand(candidates, node, cells[mine], codes[mine], subsets.left_sets, most_common)
        is_cut = candidates.base[node] > 0
        found = candidates.scores(tables[node : node + 1], most_common)[0]
        np.testing.assert_array_equal(found[:, is_cut][:, :, is_cut], wanted[:, is_cut][:, :, is_cut])


@pytest.mark.parametrize("most_common", [1, 2])
def test_one_row_moves_all_three_cuts_together_by_at_most_one(open_curator, most_common):
    """For every row of a small domain added to random tables; a planted second count would be seen."""
    with open_curator([]) as curator:
        trees, subsets = a_tree(curator), curator.subsets
    candidates = PairCandidates.of_level(trees, 0, SLOTS, CLASSES.n_cells, subsets)
    widest = 0
    for seed in range(4):
        cells, codes = random_rows(seed, n=12)
        (before,) = candidates.scores(tables_of(cells, codes, candidates, trees, 0), most_common)
        for extra in product(range(CLASSES.n_cells[0]), range(CLASSES.n_cells[1]), range(3)):
            more = (
                np.vstack([cells, np.array([extra[:2]], np.uint8)]),
                np.append(codes, extra[2]).astype(np.int32),
            )
            (after,) = candidates.scores(tables_of(*more, candidates, trees, 0), most_common)
            left, right = after - before
            moved = left[:, :, None] + right[:, None, :]  # (a, b, c)
            assert moved.min() >= 0
            widest = max(widest, int(moved.max() - moved.min()))
    assert widest == 1


def check_two_classes():
    """Compare the kernel for two classes with plain counting."""
    schema = Schema({"x": Numeric(0, 1, bins=4), "z": Numeric(0, 1, bins=2)}, Classes([0, 1]))
    slots = PairColumns(np.array([0, 1]), schema.n_cells.astype(np.int64))
    rng, trees = np.random.default_rng(0), FlatTrees.unsplit(1, 2)
    subsets = Subsets.draw(schema, RandomWords.seeded(0))
    candidates = PairCandidates.of_level(trees, 0, slots, schema.n_cells, subsets)
    cells = np.column_stack([rng.integers(0, size, 30) for size in schema.n_cells]).astype(np.uint8)
    codes = rng.integers(0, 2, 30).astype(np.int32)
    table = np.zeros((int(slots.n_groups.sum()),) * 2 + (2,), np.int64)
    for row, code in zip(cells, codes, strict=True):
        one, other = int(row[0]), int(slots.n_groups[0] + row[1])
        for g, h in ((one, one), (one, other), (other, other)):
            table[g, h, code] += 1
    wanted = scores_by_hand(candidates, 0, cells, codes, subsets.left_sets, 1)
    np.testing.assert_array_equal(candidates.scores(table[None], 1)[0], wanted)
    assert (candidates.scores(table[None], 2)[0].sum(axis=0) == len(codes)).all()  # all classes count


def test_two_classes_have_a_kernel_of_their_own():
    check_two_classes()


def pmf_of(records, epsilon, subsets, trees):
    X, y = rows_of(records)
    candidates = PairCandidates.of_level(trees, 0, SLOTS, CLASSES.n_cells, subsets)
    spec = PairCounts(
        Grid.of(CLASSES.n_cells.tolist(), 3), trees, 0, columns=SLOTS.columns, groups=candidates.groups,
        n_groups=int(candidates.first_group[-1]),
    )  # fmt: skip
    rows = encoded_rows(X, y, CLASSES)
    (scores,) = candidates.scores(rows.fold(spec), 1)
    rate = Rate.floor(epsilon * NESTED_UNIT / nested_range(1))
    return mechanisms.nested_log_pmf(scores[:1], scores[1:], candidates.base, rate)[0], candidates


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2)])
def test_two_levels_keep_their_epsilon_over_all_small_tables(open_curator, epsilon):
    """Every pair of neighbours of up to four rows; at twice the rate the bound is broken."""
    with open_curator([]) as curator:
        trees, subsets = FlatTrees.unsplit(1, 2, curator.subsets.left_sets), curator.subsets
    domain = [(x, c, y) for x in (0.1, 0.9) for c in "ab" for y in (0, 1)]
    known = {}

    def log_pmf(records, at):
        key = tuple(sorted(records)), at
        if key not in known:
            known[key] = pmf_of(records, at, subsets, trees)[0]
        return known[key]

    def worst_of(pairs, at):
        worst = 0.0
        for before, after in pairs:
            a, b = log_pmf(before, at), log_pmf(after, at)
            possible = np.isfinite(a)
            assert np.array_equal(possible, np.isfinite(b))
            worst = max(worst, np.abs(a[possible] - b[possible]).max())
        return worst

    assert worst_of(neighbours(domain, 4), epsilon) <= float(epsilon) + 1e-9
    tight = [(0.1, "a", 0)] * 400 + [(0.9, "a", 1)] * 300  # cuts that do not part the two gain nothing
    pair = [(tight, [*tight, (0.9, "a", 1)])]
    assert worst_of(pair, epsilon) >= 0.99 * float(epsilon)
    assert worst_of(pair, 2 * epsilon) > float(epsilon)


def test_draws_follow_the_pmf(open_curator):
    """Many fits to the same rows would take long: the mechanism is asked often, behind one payment."""
    records = [(0.1, "a", 0), (0.1, "b", 1), (0.6, "b", 1), (0.9, "c", 2), (None, "a", 2), (0.9, "zzz", 0)]
    drawn = []
    with open_curator(records, epsilon=2 * N_DRAWS) as curator:
        trees = FlatTrees.unsplit(1, 2, curator.subsets.left_sets)
        for _ in range(N_DRAWS):
            feature, cut = curator.paired_splits("everything", trees, 0, SLOTS, Fraction(1, N_DRAWS))
            drawn.append((feature[0, 0], cut[0, 0]))
        log_pmf, candidates = pmf_of(records, Fraction(2), curator.subsets, trees)
    of_first = np.logaddexp.reduce(log_pmf.reshape(candidates.n_cuts, -1), axis=1)
    owner = SLOTS.columns[np.searchsorted(candidates.first_cut, np.arange(candidates.n_cuts), "right") - 1]
    index = {(c, t): i for i, (c, t) in enumerate(zip(owner, candidates.threshold[0], strict=True))}
    assert_follows(np.array([index[int(c), int(t)] for c, t in drawn]), of_first)


def test_without_noise_an_interaction_is_found(open_curator):
    """Neither column says anything alone: one level at a time would have to guess."""
    records = [(x, c, int((x > 0.5) != (c == "a"))) for x in (0.1, 0.9) for c in "ab"] * 25
    with open_curator(records, noiseless=True) as curator:
        trees = FlatTrees.unsplit(1, 2, curator.subsets.left_sets)
        trees.feature[:], trees.threshold[:] = curator.paired_splits(
            "everything", trees, 0, SLOTS, Fraction(1, 2)
        )
        counts = curator.leaf_histograms("everything", trees, Fraction(1, 2)).values[0]
    assert (np.sort(counts, axis=1)[:, -1] == counts.sum(axis=1)).all()


def test_a_cut_that_leaves_a_child_whole_sends_everything_left(open_curator):
    """Cuts are listed for the node; beside the same column cut above, some leave nothing on one side."""
    with open_curator([]) as curator:
        trees, subsets = FlatTrees.unsplit(1, 2, curator.subsets.left_sets), curator.subsets
        candidates = PairCandidates.of_level(trees, 0, SLOTS, CLASSES.n_cells, subsets)
    feature, threshold = candidates.split(np.array([[1, 2, 0]]), trees, 0)  # all of the number
    assert feature.tolist() == [[0, 0, 0]]
    assert threshold[0, 0] == candidates.threshold[0, 1]
    assert threshold[0, 1:].tolist() == [EVERYTHING_LEFT, EVERYTHING_LEFT]
    assert candidates.split(np.array([[-1, -1, -1]]), trees, 0)[1].tolist() == [[EVERYTHING_LEFT] * 3]


def test_scores_are_exact_at_the_largest_table(open_curator):
    with open_curator([]) as curator:
        trees, subsets = FlatTrees.unsplit(1, 2, curator.subsets.left_sets), curator.subsets
    candidates = PairCandidates.of_level(trees, 0, SLOTS, CLASSES.n_cells, subsets)
    cells, codes = random_rows(0, n=3)
    codes = np.array([0, 1, 0], np.int32)
    few = tables_of(cells, codes, candidates, trees, 0).astype(np.int64)
    many = MAX_ROWS // 3
    np.testing.assert_array_equal(candidates.scores(many * few, 1), many * candidates.scores(few, 1))


def test_columns_that_fit():
    n_cells, nominal = np.array([256, 1, 20, 256, 256, 256]), np.array([0, 0, 1, 0, 0, 0], bool)
    room = 20 + 4 * GROUPS_WITH_SUMS
    found = PairColumns.that_fit(n_cells, nominal, 4, room, 10)
    assert found.columns.tolist() == [0, 2, 3, 4, 5]  # one cell cannot be cut
    assert found.n_groups.tolist() == [GROUPS_WITH_SUMS, 20, *[GROUPS_WITH_SUMS] * 3]
    assert PairColumns.that_fit(n_cells, nominal, 4, room, 4).columns.tolist() == [0, 2, 3, 4]
    few = PairColumns.that_fit(n_cells, nominal, 4, 20 + 2 * LEAST_GROUPS, 10)
    assert few.columns.tolist() == [0, 2, 3]
    assert PairColumns.that_fit(n_cells, nominal, 4, 20 + 2 * LEAST_GROUPS - 1, 10) is None
    assert PairColumns.that_fit(n_cells, nominal, 4, 1000, 2) is None


def test_columns_keep_what_is_expected_of_them():
    """The second column cannot be cut: what is known of the third is not taken for its."""
    laws = tuple(np.eye(size)[0] for size in (256, 1, 256))
    found = PairColumns.that_fit(
        np.array([256, 1, 256]), np.zeros(3, bool), 3, 64, 10, Expected(laws, " somehow")
    )
    assert found.columns.tolist() == [0, 2]
    assert found.expected.origin == " somehow"
    assert [law is laws[at] for law, at in zip(found.expected.shares, (0, 2), strict=True)] == [True, True]


def test_nominal_columns_have_more_cuts_than_groups_and_no_more_than_fit():
    """Scores are by pairs of cuts: of 320 columns of six categories there would be gigabytes."""
    for n_columns in (60, 70, 320):
        n_cells, nominal = np.full(n_columns, 6), np.ones(n_columns, bool)
        found = PairColumns.that_fit(n_cells, nominal, n_columns, 2048, 1000)
        assert (found is not None) == (31 * n_columns <= MOST_CUTS)


def test_every_category_is_cut_off_on_its_own_where_it_is_listed():
    """Of six categories all subsets are listed, of forty a random choice; both come down to so many cuts."""
    letters = {"few": Nominal([f"c{i}" for i in range(6)]), "many": Nominal([f"c{i}" for i in range(40)])}
    schema = Schema(letters, Classes([0, 1]))
    subsets = Subsets.draw(schema, RandomWords.seeded(0))
    trees = FlatTrees.unsplit(1, 2, subsets.left_sets)
    slots = PairColumns(np.arange(2), schema.n_cells.astype(np.int64))
    candidates = PairCandidates.of_level(trees, 0, slots, schema.n_cells, subsets)
    n_cells = int(schema.n_cells[0])
    alone = {min(int(cut.sum()), n_cells - int(cut.sum())) for cut in candidates.sets[0][:n_cells]}
    assert alone == {1}
    assert np.diff(candidates.first_cut).tolist() == [MOST_SUBSETS, MOST_SUBSETS]
    assert (candidates.base > 0).all()
    assert len(np.unique(candidates.threshold[0])) == candidates.n_cuts


@pytest.mark.parametrize("n_groups", [2, 3, 10, 16, 35, 64])
def test_cuts_of_a_box_are_different_and_leave_cells_on_both_sides(n_groups):
    for width in range(1, 300):
        cuts = _cuts_of(width, n_groups)
        assert len(cuts) == n_groups - 1
        assert (np.diff(cuts) > 0).all()
        assert cuts[0] >= 0
        if width > n_groups:
            assert cuts[-1] < width - 1
        else:
            assert cuts.tolist() == list(range(n_groups - 1))


@pytest.mark.parametrize("n_groups", [2, 3, 10, 16, 35, 64])
def test_cuts_lie_where_rows_are_expected_and_some_of_them_elsewhere(n_groups):
    """A law on a tenth of the cells, or on one of them: cuts differ, stay inside, and are as many as ever."""
    for size, first_likely, n_likely in [(256, 100, 25), (256, 3, 1), (80, 70, 8)]:
        expected = np.zeros(size + 2)
        expected[first_likely : first_likely + n_likely] = 1 / n_likely
        for first, last in [(0, size + 1), (first_likely - 2, size - 1), (0, 40)]:
            width = last - first + 1
            cuts = first + _cuts_in(first, last, n_groups, expected)
            assert len(cuts) == n_groups - 1
            assert (np.diff(cuts) > 0).all()
            assert cuts[0] >= first
            assert width <= n_groups or cuts[-1] < last
            beside = (cuts >= first_likely - 1) & (cuts < first_likely + n_likely)
            if n_groups < width and expected[first : last + 1].any():
                assert beside.sum() >= min(0.6 * (n_groups - 1), n_likely) - 1
    assert _cuts_in(0, 99, n_groups, None).tolist() == _cuts_of(100, n_groups).tolist()
