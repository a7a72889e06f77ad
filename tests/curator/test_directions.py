"""Directions that part two classes: scores against plain counting, their range, and the whole questions."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dpforest import mechanisms
from dpforest._curator import N_BINS, Curator, Directions, PairColumns, Parted, PrivateTable
from dpforest._curator.pairs import PairCandidates
from dpforest._rows import MAX_ROWS, DirectionCounts, Grid, MemoryRows, PairCounts
from dpforest._structure import FlatTrees
from dpforest.mechanisms import NESTED_UNIT, RandomWords, Rate, nested_range
from dpforest.privacy import BudgetPlan, NeighboringRelation, PrivacyError
from dpforest.schema import Classes, Schema
from tests.counting import encoded_rows
from tests.curator.conftest import CLASSES, FEATURES, rows_of
from tests.curator.test_queries import assert_follows
from tests.neighbours import neighbours

TWO = Schema(FEATURES, Classes([0, 1]))
SLOTS = PairColumns(np.array([0, 1]), np.array([4, 5]))
RECORDS = [(0.1, "a", 0), (0.1, "b", 1), (0.6, "b", 1), (0.9, "c", 1), (None, "a", 0), (0.9, "zzz", 0)]
ODDS = 0.5
N_DRAWS = 2500


def some_directions(seed=0, n=3, both_ways=True):
    rng = np.random.default_rng(seed)
    width = int(TWO.n_cells.max())
    scores = rng.integers(-9, 10, (n, 2, width)).astype(np.int16)
    return Directions(scores, np.full(n, -64), np.ones(n, np.int64), both_ways)


def fold(directions, cells, codes):
    grid = Grid.of(TWO.n_cells.tolist(), 2)
    public = {"scores": directions.scores, "low": directions.low, "width": directions.width}
    return MemoryRows(cells, codes, grid).fold(DirectionCounts(grid, n_bins=N_BINS, **public))


def random_rows(seed, n=60):
    rng = np.random.default_rng(seed)
    cells = np.column_stack([rng.integers(0, size, n) for size in TWO.n_cells]).astype(np.uint8)
    return cells, rng.integers(-1, 2, n).astype(np.int32)


@pytest.mark.parametrize("both_ways", [True, False])
def test_scores_are_the_rows_that_a_candidate_names_correctly(both_ways):
    """Read off what `parted_by` says a candidate stands for."""
    directions = some_directions(both_ways=both_ways)
    cells, codes = random_rows(0)
    found = directions.correct(fold(directions, cells, codes))
    assert found.shape == (1, 3 * (N_BINS - 1) * (1 + both_ways))
    for candidate in range(0, found.shape[1], 7):
        scores, threshold = directions.parted_by(candidate)
        place = scores[0, cells[:, 0]] + scores[1, cells[:, 1]]
        named = (place >= threshold).astype(int)
        assert found[0, candidate] == (named[codes >= 0] == codes[codes >= 0]).sum()


def test_one_row_raises_every_score_by_zero_or_one():
    """Every row of a small domain added to random tables; the bound is reached."""
    directions, seen = some_directions(), set()
    for seed in range(3):
        cells, codes = random_rows(seed, n=10)
        before = directions.correct(fold(directions, cells, codes))
        for extra in product(range(TWO.n_cells[0]), range(TWO.n_cells[1]), range(-1, 2)):
            more = np.vstack([cells, np.array([extra[:2]], np.uint8)])
            after = directions.correct(fold(directions, more, np.append(codes, extra[2]).astype(np.int32)))
            seen |= set((after - before).ravel().tolist())
    assert seen == {0, 1}


def test_scores_are_exact_at_the_largest_table():
    directions = some_directions()
    cells, _ = random_rows(0, n=3)
    few = fold(directions, cells, np.array([0, 1, 0], np.int32)).astype(np.int64)
    many = MAX_ROWS // 3
    np.testing.assert_array_equal(directions.correct(many * few), many * directions.correct(few))


def pmf_of(records, epsilon, directions, subsets, trees):
    """Log pmf of all cuts and of all directions, one after the other."""
    rows = encoded_rows(*rows_of(records), TWO)
    candidates = PairCandidates.of_level(trees, 0, SLOTS, TWO.n_cells, subsets)
    spec = PairCounts(
        rows.grid, trees, 0, columns=SLOTS.columns, groups=candidates.groups,
        n_groups=int(candidates.first_group[-1]),
    )  # fmt: skip
    (scores,) = candidates.scores(rows.fold(spec), 1)
    public = {"scores": directions.scores, "low": directions.low, "width": directions.width}
    rivals = directions.correct(rows.fold(DirectionCounts(rows.grid, n_bins=N_BINS, **public)))
    rate = Rate.floor(epsilon * NESTED_UNIT / nested_range(1))
    of_cuts, of_rivals = mechanisms.nested_or_rival_log_pmf(
        scores[:1], scores[1:], candidates.base, rate, rivals, ODDS
    )
    return of_cuts[0], of_rivals[0], candidates


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2)])
def test_both_kinds_keep_epsilon_over_all_small_tables(open_curator, epsilon):
    """Every pair of neighbours of up to three rows; at twice the rate the bound is broken."""
    with open_curator([], TWO) as curator:
        trees, subsets = FlatTrees.unsplit(1, 2, curator.subsets.left_sets), curator.subsets
    directions, known = some_directions(n=2), {}

    def log_pmf(records, at):
        key = tuple(sorted(records)), at
        if key not in known:
            of_cuts, of_rivals, _ = pmf_of(records, at, directions, subsets, trees)
            known[key] = np.concatenate([of_cuts.ravel(), of_rivals])
        return known[key]

    def worst_of(pairs, at):
        worst = 0.0
        for before, after in pairs:
            a, b = log_pmf(before, at), log_pmf(after, at)
            possible = np.isfinite(a)
            assert np.array_equal(possible, np.isfinite(b))
            worst = max(worst, np.abs(a[possible] - b[possible]).max())
        return worst

    domain = [(x, c, y) for x in (0.1, 0.9) for c in "ab" for y in (0, 1)]
    assert worst_of(neighbours(domain, 3), epsilon) <= float(epsilon) + 1e-9
    tight = [(0.1, "a", 0)] * 400 + [(0.9, "a", 1)] * 300
    pair = [(tight, [*tight, (0.9, "a", 1)])]
    assert worst_of(pair, epsilon) >= 0.99 * float(epsilon)
    assert worst_of(pair, 2 * epsilon) > float(epsilon)


def test_draws_of_both_kinds_follow_the_pmf(open_curator):
    directions, drawn = some_directions(), []
    with open_curator(RECORDS, TWO, epsilon=2 * N_DRAWS) as curator:
        trees = FlatTrees.unsplit(1, 2, curator.subsets.left_sets)
        for _ in range(N_DRAWS):
            answer = curator.paired_splits_or_direction(
                "everything", trees, SLOTS, Fraction(1, N_DRAWS), directions, ODDS
            )
            is_direction = isinstance(answer, Parted)
            # a direction by its scores, either way round; a cut by its column and threshold
            key = abs(answer.scores).tobytes() if is_direction else tuple(int(part[0, 0]) for part in answer)
            drawn.append((is_direction, key))
        of_cuts, of_rivals, candidates = pmf_of(RECORDS, Fraction(2), directions, curator.subsets, trees)
    of_first = np.logaddexp.reduce(of_cuts.reshape(candidates.n_cuts, -1), axis=1)
    of_direction = np.logaddexp.reduce(of_rivals.reshape(len(directions.scores), -1), axis=1)
    owner = SLOTS.columns[np.searchsorted(candidates.first_cut, np.arange(candidates.n_cuts), "right") - 1]
    index = {(False, key): i for i, key in enumerate(zip(owner, candidates.threshold[0], strict=True))}
    for number, scores in enumerate(directions.scores.astype(np.int64)):
        index[True, abs(scores).tobytes()] = candidates.n_cuts + number
    assert len(index) == candidates.n_cuts + len(directions.scores)
    assert_follows(np.array([index[key] for key in drawn]), np.concatenate([of_first, of_direction]))


def test_draws_of_a_direction_follow_the_pmf(open_curator):
    directions, drawn = some_directions(both_ways=False), []
    rows = encoded_rows(*rows_of(RECORDS), TWO)
    with open_curator(RECORDS, TWO, epsilon=2 * N_DRAWS) as curator:
        for _ in range(N_DRAWS):
            answer = curator.best_direction("everything", Fraction(1, N_DRAWS), directions)
            drawn.append((answer.scores.tobytes(), answer.threshold))
    public = {"scores": directions.scores, "low": directions.low, "width": directions.width}
    scores = directions.correct(rows.fold(DirectionCounts(rows.grid, n_bins=N_BINS, **public)))
    log_pmf = mechanisms.exponential_log_pmf(scores, np.ones_like(scores), Rate.floor(Fraction(2)))[0]
    index = {}
    for candidate in range(scores.shape[1]):
        parted = directions.parted_by(candidate)
        index[parted.scores.tobytes(), parted.threshold] = candidate
    assert_follows(np.array([index[key] for key in drawn]), log_pmf)


def test_without_noise_a_line_through_both_features_is_found(open_curator):
    """No two levels of cuts name all rows: their classes lie on either side of a sum."""
    letters = {"a": 0.0, "b": 0.3, "c": 0.6}
    records = [(x, c, int(x + letters[c] > 0.8)) for x in (0.1, 0.4, 0.6, 0.9) for c in "abc"] * 20
    scores = np.zeros((1, 2, int(TWO.n_cells.max())), np.int16)
    scores[0, 0, :4] = [1, 4, 6, 9]
    scores[0, 1, :3] = [0, 3, 6]
    directions = Directions(scores, np.array([-2]), np.array([1]))
    with open_curator(records, TWO, noiseless=True) as curator:
        trees = FlatTrees.unsplit(1, 2, curator.subsets.left_sets)
        found = curator.paired_splits_or_direction("everything", trees, SLOTS, Fraction(1), directions, ODDS)
    assert isinstance(found, Parted)
    assert found.threshold in (9, 10)  # 0.8 lies between the sums 8 and 9 or 10 of the grid


def test_more_than_two_classes_and_label_privacy_are_refused(open_curator):
    directions = some_directions(both_ways=False)
    with open_curator(RECORDS, CLASSES) as curator:
        with pytest.raises(ValueError, match="two classes"):
            curator.best_direction("everything", Fraction(1), directions)
        assert not curator.ledger.total()
    plan = BudgetPlan.divide(1, 0, {"all": 1}, relation=NeighboringRelation.LABEL_CHANGE)
    with Curator(PrivateTable(*rows_of(RECORDS), TWO), plan, RandomWords.seeded(0)) as curator:
        with pytest.raises(PrivacyError):
            curator.best_direction("all", Fraction(1), directions)
        assert not curator.ledger.total()
