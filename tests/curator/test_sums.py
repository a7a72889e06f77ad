"""Sums for linear predictors: exact tables, the exact effect of one row, and noise to match."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import softmax

from dpforest._curator import MIXTURE_UNIT, Block, Curator, PrivateTable
from dpforest._curator.assignment import GivenTrees
from dpforest._rows import Block as RowBlock
from dpforest._rows import Grid, MixtureScores
from dpforest._structure import FlatTrees
from dpforest.mechanisms import (
    RandomWords,
    Rate,
    block_norm_log_pmf,
    exponential_log_pmf,
    quantile_log_pmf,
)
from dpforest.privacy import BudgetPlan, NeighboringRelation, PrivacyError
from tests.counting import mixture_scores, rows_of_cells
from tests.curator.conftest import CLASSES, TARGET, rows_of
from tests.curator.test_queries import RECORDS, assert_follows
from tests.neighbours import neighbours

# cells: four of the grid, missing, other; three categories, missing, other
LINE = Block(0, np.array([[-2], [-1], [1], [2], [0], [0]]))
ONE_HOT = Block(1, 2 * np.eye(5, dtype=np.int64))
BLOCKS, WIDTHS, BOUND = [LINE, ONE_HOT], [1, 5], 2
A_HUNDREDTH = Fraction(1, 100)  # a curator is asked a hundred times: to open one takes longer than to ask


def exact_sums(records, by_class=True):
    """Sums by a plain loop."""
    cells, target = CLASSES.encode_features(rows_of(records)[0]), CLASSES.encode_target(rows_of(records)[1])
    sums = np.zeros((3 if by_class else 1, 6), int)
    for (number, letter), label in zip(cells, target, strict=True):
        sums[label if by_class else 0] += np.concatenate([LINE.values[number], ONE_HOT.values[letter]])
    return sums


@pytest.mark.parametrize("by_class", [True, False])
def test_sums_without_noise_are_those_of_a_loop(open_curator, by_class):
    with open_curator(RECORDS, noiseless=True) as curator:
        found, variance = curator.lookup_sums("everything", Fraction(1), "sums", BLOCKS, BOUND, by_class)
    np.testing.assert_array_equal(found, exact_sums(RECORDS, by_class))
    assert not variance.any()


def test_products_without_noise_are_those_of_a_loop(open_curator):
    letters = Block(1, np.array([[2], [-1], [1], [0], [0]]))
    with open_curator(RECORDS, noiseless=True) as curator:
        found, _ = curator.product_sums("everything", Fraction(1), "products", [LINE, letters], BOUND)
    cells = CLASSES.encode_features(rows_of(RECORDS)[0])
    columns = np.stack([LINE.values[cells[:, 0], 0], letters.values[cells[:, 1], 0]])
    np.testing.assert_array_equal(found, columns @ columns.T)


def test_one_row_moves_the_released_sums_by_no_more_than_epsilon():
    """All tables of two records and all their neighbours; the rate is the one that is charged for."""
    records = [(x, c, y) for x in (0.1, 0.4, 0.9, None) for c in ("a", "b", "zzz") for y in (0, 2)]
    rate = Rate.floor(Fraction(1, BOUND))
    outputs = np.array(list(itertools.product(range(-2, 3), repeat=6)))[::7]
    before = block_norm_log_pmf(outputs, WIDTHS, rate)
    worst, seen = 0.0, set()
    for smaller, larger in neighbours(records, 2):
        moved = exact_sums(list(larger)) - (exact_sums(list(smaller)) if smaller else 0)
        assert (np.abs(moved).sum(axis=1) > 0).sum() <= 1  # one class: classes cost once
        for change in {tuple(row) for row in moved if row.any()} - seen:
            seen.add(change)
            after = block_norm_log_pmf(outputs - np.array(change), WIDTHS, rate)
            worst = max(worst, np.abs(after - before).max())
    assert 0.999 <= worst <= 1 + 1e-9


def test_one_row_moves_no_product_by_more_than_the_squared_bound(open_curator):
    """And products are released at the rate that pays for it: half the noise would cost twice epsilon."""
    letters = Block(1, np.array([[2], [-1], [1], [0], [0]]))
    cells = list(itertools.product(range(6), range(5)))
    moves = [(LINE.values[a, 0], letters.values[b, 0]) for a, b in cells]
    largest = max(max(abs(x * x), abs(x * y), abs(y * y)) for x, y in moves)
    assert largest == BOUND**2
    with open_curator(RECORDS) as curator:
        curator.product_sums("everything", Fraction(1), "products", [LINE, letters], BOUND)
    paid = curator.ledger.events[-1].parameters
    assert (paid["blocks"], paid["bound"]) == (3, BOUND**2)
    rate = Rate.floor(Fraction(1, BOUND**2))
    outputs = np.array(list(itertools.product(range(-9, 10), repeat=3)))
    before = block_norm_log_pmf(outputs, [1, 1, 1], rate)
    changes = {(x * x, x * y, y * y) for x, y in moves}
    losses = [
        np.abs(block_norm_log_pmf(outputs - np.array(c), [1, 1, 1], rate) - before).max() for c in changes
    ]
    assert 0.999 <= max(losses) <= 1 + 1e-9


@pytest.mark.parametrize("query", ["lookup_sums", "product_sums", "target_quantile", "best_mixture"])
def test_label_privacy_is_refused(query):
    """A changed label moves two classes at once; these queries are priced for one row that comes or goes."""
    plan = BudgetPlan.divide(1, 0, {"all": 1}, relation=NeighboringRelation.LABEL_CHANGE)
    arguments = {
        "lookup_sums": ("sums", BLOCKS, BOUND, True),
        "product_sums": ("products", [LINE], BOUND),
        "target_quantile": ("bound", 1, 2),
        "best_mixture": (None,) * 7,
    }[query]
    table = PrivateTable(*rows_of(RECORDS), CLASSES)
    with Curator(table, plan, RandomWords.seeded(0)) as curator, pytest.raises(PrivacyError):
        getattr(curator, query)("all", Fraction(1), *arguments)
    assert not len(curator.ledger)


def test_noise_is_what_was_paid_for(open_curator):
    """Mean absolute first sum of 2,000 vectors at the charged rate; six deviations of its mean."""
    many = [(0.1, "a", 0)]
    drawn = []
    for seed in range(600):
        with open_curator(many, seed=seed) as curator:
            found, variance = curator.lookup_sums("everything", Fraction(1), "sums", [LINE] * 3, 2, True)
        drawn.append(found[1:])
    noise = np.concatenate(drawn).astype(float)
    rate = Rate.floor(Fraction(1, 2))
    cube = np.array(list(itertools.product(range(-60, 61), repeat=3)))
    wanted = (np.exp(block_norm_log_pmf(cube, [1, 1, 1], rate)) * np.abs(cube).max(axis=1)).sum()
    norms = np.abs(noise).max(axis=1)
    assert norms.mean() == pytest.approx(wanted, abs=6 * norms.std() / np.sqrt(len(norms)))
    assert abs(norms.mean() - 2 * wanted) > 6 * norms.std() / np.sqrt(len(norms))  # half the rate is caught
    assert variance.shape == (3,)


def test_blocks_beyond_their_bound_are_refused(open_curator):
    with open_curator(RECORDS) as curator, pytest.raises(ValueError, match="exceeds its bound"):
        curator.lookup_sums("everything", Fraction(1), "sums", BLOCKS, 1, True)
    assert not len(curator.ledger)


def test_the_best_weights_follow_the_exponential_mechanism(open_curator):
    prior, leaf = np.array([0.0, 0.1, 0.0]), np.array([[[0.0, 1.0, 0.0]]])
    tables = np.zeros((1, 2, 6, 3))
    tables[0, 1, 0, 0] = tables[0, 1, 2, 2] = 3.0  # category a means class 0, c class 2
    weights, table_of = np.array([[1.0, 0.0], [0.0, 0.01], [1.0, 1.0]]), np.zeros(3, np.int64)
    tree, chosen = FlatTrees.unsplit(1, 0), []
    asked = (tree, prior, leaf, tables, weights, table_of)
    for seed in range(40):
        with open_curator(RECORDS, epsilon=Fraction(1, 2) * 100, seed=seed) as curator:
            for _ in range(100):
                chosen.append(curator.best_mixture("everything", A_HUNDREDTH, *asked, np.array([4, 1, 2])))
    with open_curator(RECORDS) as curator, pytest.raises(ValueError, match="positive base weight"):
        curator.best_mixture("everything", Fraction(1), *asked, np.array([4, 0, 2]))
    assert not len(curator.ledger)
    cells, labels = CLASSES.encode_features(rows_of(RECORDS)[0]), np.array([0, 1, 1, 2, 2, 0])
    scores = mixture_scores(rows_of_cells(cells, labels, CLASSES.n_cells, 3), *asked)
    assert scores.argmax() == 2
    log_pmf = exponential_log_pmf(scores[None], [4, 1, 2], Rate.floor(Fraction(1, 2 * MIXTURE_UNIT)))[0]
    assert_follows(np.array(chosen), log_pmf)


def worth_by_the_book(scores, labels):
    """Half for a highest score that is right, a quarter of 1 + 2 q_y - sum of q squared, for every row."""
    shares = softmax(scores, axis=1)
    own = shares[np.arange(len(labels)), labels]
    right = scores.argmax(axis=1) == labels
    return right / 2 + (1 + 2 * own - (shares**2).sum(axis=1)) / 4


@pytest.mark.parametrize("by_class", [False, True])
def test_mixtures_are_worth_what_the_book_says(by_class):
    """To the last row within the rounding of shares and of scores, which are in steps of 1/64."""
    rng = np.random.default_rng(0)
    cells, labels = rng.integers(0, 4, (60, 2)).astype(np.uint8), rng.integers(0, 3, 60).astype(np.int32)
    tables, weights, table_of = rng.normal(size=(2, 2, 6, 3)), rng.random((9, 2)), rng.integers(0, 2, 9)
    prior, leaf = rng.normal(size=3), rng.normal(size=(1, 3 if by_class else 1, 3))
    asked = (FlatTrees.unsplit(1, 0), prior, leaf, tables, weights, table_of)
    found = mixture_scores(rows_of_cells(cells, labels, CLASSES.n_cells, 3), *asked)
    for candidate, ((of_leaf, of_table), table) in enumerate(zip(weights, table_of, strict=True)):
        of_rows = leaf[0, labels if by_class else np.zeros(60, int)]
        scores = prior + of_leaf * of_rows + of_table * tables[table][[0, 1], cells].sum(axis=1)
        worth = worth_by_the_book(scores, labels).sum()
        assert found[candidate] / MIXTURE_UNIT == pytest.approx(worth, abs=60 * 0.01)


def test_what_a_row_adds_to_mixtures_is_between_nothing_and_a_unit():
    """All scores of -20, 0, 1 or 700 of three classes, and all classes: W is the unit, and it is reached."""
    grid = np.array(list(itertools.product((-20.0, 0.0, 1.0, 700.0), repeat=3)))
    tables, table_of = np.zeros((1, 2, 6, 3)), np.zeros(len(grid), np.int64)
    weights = np.zeros((1, 2))
    steps = []
    for scores, label in itertools.product(grid, range(3)):
        rows = rows_of_cells(np.zeros((1, 2), np.uint8), np.array([label], np.int32), CLASSES.n_cells, 3)
        asked = (FlatTrees.unsplit(1, 0), scores, np.zeros((1, 1, 3)), tables, weights, table_of[:1])
        steps.append(int(mixture_scores(rows, *asked)[0]))
    assert min(steps) == 0
    assert max(steps) == MIXTURE_UNIT


def test_a_sample_judges_mixtures_by_its_own_rows_alone():
    """Each row is in it by a coin of its own, the same in every block; so no row moves what others add."""
    cells, labels = CLASSES.encode_features(rows_of(RECORDS)[0]), np.array([0, 1, 1, 2, 2, 0])
    parts = np.array([0, 1, 0, 1, 1, 0])
    tables, weights = np.zeros((1, 2, 6, 3)), np.array([[1.0, 0.0], [0.0, 1.0]])
    tables[0, 1, 0, 0] = tables[0, 1, 2, 2] = 3.0
    asked = MixtureScores(
        Grid.of(CLASSES.n_cells, 3), FlatTrees.unsplit(1, 0), 0, prior=np.array([0.0, 0.1, 0.0]),
        leaf_scores=np.zeros((1, 1, 3)), tables=tables, weights=weights, table_of=np.zeros(2, np.int64),
    )  # fmt: skip
    sampled = replace(asked, sample=GivenTrees(2, parts))
    rows = rows_of_cells(cells, labels, CLASSES.n_cells, 3)
    of_sample = rows_of_cells(cells[parts == 0], labels[parts == 0], CLASSES.n_cells, 3)
    np.testing.assert_array_equal(rows.fold(sampled), of_sample.fold(asked))
    by_block = sum(_added(sampled, cells[at : at + 2], labels[at : at + 2], at) for at in (4, 0, 2))
    np.testing.assert_array_equal(by_block, rows.fold(sampled))


def _added(spec, cells, labels, first):
    out = np.zeros(spec.shape, np.int64)
    spec.add(RowBlock(cells, labels.astype(np.int32), first), out)
    return out


def test_target_quantiles_follow_the_mechanism(open_curator):
    records = [(0.1, "a", y) for y in (0, 0.1, 0.2, 0.5, 0.5, 0.9)]
    chosen = []
    for seed in range(60):
        with open_curator(records, TARGET, epsilon=100, seed=seed) as curator:
            chosen += [curator.target_quantile("everything", A_HUNDREDTH, "bound", 3, 4) for _ in range(100)]
    counts = np.bincount(TARGET.encode_target(np.array([y for *_, y in records])), minlength=9)
    assert_follows(np.array(chosen), quantile_log_pmf(counts[None], [0], [8], Fraction(1), 3, 4)[0][:-1])


def test_what_is_left_of_a_target_depends_on_its_own_row_only(open_curator):
    """Neighbours stay neighbours: one more row changes no other row's new target."""
    tree = FlatTrees(1, np.array([[0]], np.int32), np.array([[1]], np.int32), np.zeros((1, 1), np.uint8))
    records = [(0.1, "a", 0.5), (0.9, "b", 1.0), (0.4, "a", 0.0)]

    def left(rows):
        with open_curator(rows, TARGET, noiseless=True) as curator:
            curator.subtract(-4.0, 4.0, constant=4.0)
            curator.subtract(-2.0, 2.0, tree=tree, leaves=np.array([1.0, 3.0]))
            return curator.leaf_soft_histograms("everything", FlatTrees.unsplit(1, 0)).values[0, 0]

    # 0.5 is level 4: 4 - 4 - 1 = -1, which is level 2 of 8 between -2 and 2; 8 - 4 - 3 = 1 is level 6;
    # 0 - 4 - 1 = -5 is moved to the end, level 0
    np.testing.assert_array_equal(left(records), [8, 16])
    np.testing.assert_array_equal(left(records) - left(records[:2]), [0, 8])
