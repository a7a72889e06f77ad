"""Sums of targets times features, and products of parts: exact tables, what one row moves, and the noise."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from dpforest._curator import PART_UNIT, Block, Curator, PrivateTable
from dpforest._structure import FlatTrees
from dpforest._structure.additive import UNIT
from dpforest.mechanisms import RandomWords, Rate, block_norm_log_pmf, exponential_log_pmf, quantile_utilities
from dpforest.privacy import BudgetPlan, NeighboringRelation, PrivacyError
from tests.curator.conftest import TARGET, rows_of
from tests.curator.test_queries import assert_follows
from tests.neighbours import neighbours

WHOLE, LEVELS, ZERO = Fraction(1), 8, 3  # targets are 0 to 8, so the furthest from 3 is 5 away
REACH = 5
RECORDS = [(0.1, "a", 0.0), (0.4, "b", 0.5), (0.9, "c", 1.0), (None, "a", 0.25), (0.6, "zzz", 0.75)]
LINE = Block(0, np.array([[-2], [-1], [1], [2], [0], [0]]))
ONE_HOT = Block(1, 2 * np.eye(5, dtype=np.int64))
WIDTHS, BOUND = [1, 5], 2
ONE = 4
# two parts; the second goes beyond 1 in the last cells, where it is held
PARTS = (PART_UNIT * ONE * np.array([
    [[-0.5, -0.25, 0.25, 0.5, 0, 0], [0.25, 0, -0.25, 0, 0, 0]],
    [[0.3, 0, -0.3, 1.7, 0, 0], [0, 0, 1.5, 0, 0, 0]],
])).astype(np.int64)  # fmt: skip


def cells_and_levels(records):
    X, y = rows_of(records)
    return TARGET.encode_features(X), TARGET.encode_target(y)


def exact_sums(records):
    """Sums by a plain loop."""
    sums = np.zeros(6, int)
    for (number, letter), y in zip(*cells_and_levels(records), strict=True):
        sums += (int(y) - ZERO) * np.concatenate([LINE.values[number], ONE_HOT.values[letter]])
    return sums


def exact_products(records):
    """Products by a plain loop, in fractions cut towards zero."""
    found = np.zeros((3, 3), int)
    for (number, letter), y in zip(*cells_and_levels(records), strict=True):
        scores = [Fraction(int(part[0, number] + part[1, letter]), PART_UNIT) for part in PARTS]
        row = [int(max(min(score, ONE), -ONE)) for score in scores]  # int cuts towards zero
        row.append(int(Fraction((int(y) - ZERO) * ONE, REACH)))
        found += np.outer(row, row)
    return found


def test_without_noise_sums_and_products_are_those_of_a_loop(open_curator):
    with open_curator(RECORDS, TARGET, epsilon=2, noiseless=True) as curator:
        sums, _ = curator.target_sums("everything", WHOLE / 2, "sums", [LINE, ONE_HOT], BOUND, ZERO)
        products, _ = curator.part_products("everything", WHOLE / 2, "parts", PARTS, ONE, ZERO)
    np.testing.assert_array_equal(sums[0], exact_sums(RECORDS))
    np.testing.assert_array_equal(products, exact_products(RECORDS))


def test_rows_without_a_target_add_nothing(open_curator):
    with open_curator([*RECORDS, (0.9, "c", None)], TARGET, epsilon=2, noiseless=True) as curator:
        sums, _ = curator.target_sums("everything", WHOLE / 2, "sums", [LINE, ONE_HOT], BOUND, ZERO)
        products, _ = curator.part_products("everything", WHOLE / 2, "parts", PARTS, ONE, ZERO)
    np.testing.assert_array_equal(sums[0], exact_sums(RECORDS))
    np.testing.assert_array_equal(products, exact_products(RECORDS))


DOMAIN = [(x, c, y) for x in (0.1, 0.4, 0.9, None) for c in ("a", "c", "zzz") for y in (0.0, 0.4, 1.0)]


def worst_loss(paid, moved, widths, far):
    """Largest log ratio of the released sums over all movements, at the rate that was paid for."""
    rate = Rate.floor(Fraction(1, paid["bound"]))
    assert paid["blocks"] == len(widths)
    rng = np.random.default_rng(0)
    outputs = np.concatenate(
        [rng.integers(-far, far + 1, (400, sum(widths))), far * np.eye(sum(widths), dtype=int)]
    )
    before = block_norm_log_pmf(outputs, widths, rate)
    return max(
        np.abs(block_norm_log_pmf(outputs - np.array(move), widths, rate) - before).max() for move in moved
    )


def test_one_row_changes_released_sums_of_targets_by_no_more_than_epsilon(open_curator):
    """All tables of up to two records and their neighbours, through the query itself; and it is tight."""
    with open_curator(RECORDS, TARGET) as curator:
        curator.target_sums("everything", WHOLE, "sums", [LINE, ONE_HOT], BOUND, ZERO)
    paid = curator.ledger.events[-1].parameters
    moved = {tuple(exact_sums(after) - exact_sums(before)) for before, after in neighbours(DOMAIN, 2)}
    assert paid["bound"] == BOUND * REACH
    assert 0.999 <= worst_loss(paid, moved, WIDTHS, 40) <= 1 + 1e-9


def test_one_row_changes_released_products_of_parts_by_no_more_than_epsilon(open_curator):
    with open_curator(RECORDS, TARGET) as curator:
        curator.part_products("everything", WHOLE, "parts", PARTS, ONE, ZERO)
    paid = curator.ledger.events[-1].parameters
    upper = np.triu_indices(3)
    pairs = list(neighbours(DOMAIN, 2))
    moved = {tuple((exact_products(after) - exact_products(before))[upper]) for before, after in pairs}
    assert paid["bound"] == ONE**2
    assert max(abs(x) for move in moved for x in move) == ONE**2  # a part that goes beyond is held there
    assert 0.999 <= worst_loss(paid, moved, [1] * 6, 60) <= 1 + 1e-9


@pytest.mark.parametrize("query", ["target_sums", "part_products"])
def test_label_privacy_is_refused(query):
    plan = BudgetPlan.divide(1, 0, {"all": 1}, relation=NeighboringRelation.LABEL_CHANGE)
    asked = {"target_sums": ([LINE], BOUND, ZERO), "part_products": (PARTS, ONE, ZERO)}[query]
    table = PrivateTable(*rows_of(RECORDS), TARGET)
    with Curator(table, plan, RandomWords.seeded(0)) as curator, pytest.raises(PrivacyError):
        getattr(curator, query)("all", WHOLE, "q", *asked)
    assert not len(curator.ledger)


def test_what_has_no_room_or_no_meaning_is_refused_before_it_is_charged(open_curator):
    far = PARTS.copy()
    far[0, 0, 0] = 2**40
    with open_curator(RECORDS, TARGET) as curator:
        for ask in (
            lambda: curator.target_sums("everything", WHOLE, "sums", [LINE], 1, ZERO),
            lambda: curator.target_sums("everything", WHOLE, "sums", [LINE], BOUND, LEVELS + 1),
            lambda: curator.target_sums("everything", WHOLE, "sums", [LINE], 2**21, ZERO),
            lambda: curator.part_products("everything", WHOLE, "parts", far, ONE, ZERO),
            lambda: curator.part_products("everything", WHOLE, "parts", PARTS, 2**11, ZERO),
            lambda: curator.part_products("everything", WHOLE, "parts", PARTS[..., :5], ONE, ZERO),
            lambda: curator.part_products("everything", WHOLE, "parts", PARTS, ONE, LEVELS + 1),
        ):
            with pytest.raises(ValueError):  # noqa: PT011
                ask()
    assert not len(curator.ledger)


def test_quantiles_with_released_weights_follow_the_mechanism(open_curator):
    records = [(0.1, "a", y) for y in (0, 0.1, 0.2, 0.5, 0.5, 0.9)]
    base = np.array([1, 2, 3, 9, 9, 4, 2, 1, 5])
    chosen = []
    for seed in range(6_000):
        with open_curator(records, TARGET, seed=seed) as curator:
            chosen.append(curator.target_quantile("everything", WHOLE, "bound", 3, 4, base))
    counts = np.bincount(TARGET.encode_target(np.array([y for *_, y in records])), minlength=9)
    scores, allowed = quantile_utilities(counts[None], [0], [8], 3, 4)
    log_pmf = exponential_log_pmf(scores, allowed * base, Rate.floor(Fraction(1, 6)))[0]
    assert_follows(np.array(chosen), log_pmf[:-1])


@pytest.mark.parametrize("around", [0, 3, 8])
def test_quantiles_of_distances_follow_the_mechanism(open_curator, around):
    records = [(0.1, "a", y) for y in (0, 0.1, 0.2, 0.5, 0.5, 0.9)]
    chosen = []
    for seed in range(4_000):
        with open_curator(records, TARGET, seed=seed) as curator:
            chosen.append(curator.target_quantile("everything", WHOLE, "distance", 3, 4, around=around))
    levels = TARGET.encode_target(np.array([y for *_, y in records]))
    counts = np.bincount(np.abs(levels - around), minlength=9)
    scores, allowed = quantile_utilities(counts[None], [0], [8], 3, 4)
    assert_follows(np.array(chosen), exponential_log_pmf(scores, allowed, Rate.floor(Fraction(1, 6)))[0][:-1])


@pytest.mark.parametrize("around", [-1, 9])
def test_distances_are_measured_from_a_level(open_curator, around):
    with open_curator([(0.1, "a", 0.5)], TARGET) as curator:
        with pytest.raises(ValueError, match="from a level"):
            curator.target_quantile("everything", WHOLE, "distance", 3, 4, around=around)
        assert not len(curator.ledger)


def test_a_table_is_subtracted_row_by_row_and_exactly(open_curator):
    """Neighbours stay neighbours: one more row changes no other row's new target."""
    table = np.zeros((2, 6), np.int64)
    table[0, :4], table[1, 2] = UNIT * np.array([1, 0, 0, 2]), UNIT
    records = [(0.1, "a", 0.5), (0.9, "c", 1.0), (0.4, "a", 0.0)]

    def left(rows):
        with open_curator(rows, TARGET, noiseless=True) as curator:
            curator.subtract(-4.0, 4.0, constant=4.0, table=table)
            return curator.leaf_soft_histograms("everything", FlatTrees.unsplit(1, 0)).values[0, 0]

    # 4 - 4 - 1 = -1 is level 3 of 8 between -4 and 4; 8 - 4 - 2 - 1 = 1 is level 5; 0 - 4 = -4 is level 0
    np.testing.assert_array_equal(left(records), [8, 16])
    for n, record in itertools.product(range(1, 4), records):
        one_more = left([*records[:n], record]) - left(records[:n])
        np.testing.assert_array_equal(one_more, left([record]))
