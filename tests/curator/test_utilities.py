"""Every utility moves by at most its declared range W, exactly, when one record is added."""

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpforest._curator import Centres, Subsets, Utility, _kernels
from dpforest._curator.utilities import (
    CENTRED_UNIT,
    ENTROPY_ROWS,
    ENTROPY_UNIT,
    FEATURE_WEIGHT,
    GINI_UNIT,
    SHARE_UNIT,
    Candidates,
    Expected,
    summed_logarithms,
)
from dpforest._rows import By
from dpforest._structure import FlatTrees
from dpforest.mechanisms import RandomWords
from dpforest.schema import Classes, Nominal, Range, Schema
from tests.counting import cell_counts, cell_moments, encoded_rows
from tests.curator.conftest import CLASSES, TARGET, rows_of

RECORDS = [(x, letter, y) for x in (0.1, 0.6, None) for letter in "ab?" for y in (0, 1, 2)]
SUBSETS = Subsets.draw(CLASSES, RandomWords.seeded(0))
ASKED = np.array([[[0, 1]]], np.int32)
ROOT = FlatTrees.unsplit(1, 1, SUBSETS.left_sets)
CANDIDATES = Candidates.of_level(ROOT, 0, ASKED, CLASSES.n_cells, SUBSETS)
IS_CUT = CANDIDATES.base_measure()[0] > 0


NUMBERS = (Utility.SQUARED_ERROR, Utility.CENTRED_TARGET)
MONOTONE = (Utility.MAX_OPERATOR, Utility.GINI, Utility.SQUARED_ERROR, Utility.INFORMATION_GAIN)
SHARES = np.array([[0.5, 0.3, 0.2]])
CENTRES = {
    Utility.CENTRED: Centres.of_shares(SHARES),
    Utility.CENTRED_TARGET: Centres.of_means(np.array([3.0]), 8),
}


def scores(records, utility, most_common=1):
    schema = TARGET if utility in NUMBERS else CLASSES
    X, y = rows_of(records)
    y = y / 2 if schema is TARGET else y
    rows, width = encoded_rows(X, y, schema), int(schema.n_cells.max())
    if utility in NUMBERS:
        table = cell_moments(rows, ROOT, 0, ASKED, width)
    else:
        table = cell_counts(rows, ROOT, 0, ASKED, width, By.TARGET)
    unit = most_common if utility is Utility.MAX_OPERATOR else utility.unit_for(schema)
    return CANDIDATES.scores(utility, unit, slice(0, 1), table, CENTRES.get(utility))[0][IS_CUT]


def plain_scores(records, utility, most_common=1):
    """The same from first principles, in floats, for each candidate cut."""

    def impurity(ys):
        if not ys:
            return 0.0
        if utility is Utility.MAX_OPERATOR:
            return -sum(sorted((ys.count(k) for k in range(3)), reverse=True)[:most_common])
        if utility is Utility.GINI:
            return GINI_UNIT * (len(ys) - sum(ys.count(k) ** 2 for k in range(3)) / len(ys))
        if utility is Utility.INFORMATION_GAIN:
            steps = [ENTROPY_UNIT * ((m + 1) * math.log(m + 1) - m * math.log(max(m, 1))) for m in range(99)]
            whole = [math.floor(step) for step in steps]
            return sum(whole[: len(ys)]) - sum(sum(whole[: ys.count(k)]) for k in range(3))
        levels = np.array(ys) * 4.0  # y / 2 on a scale of 8 levels
        if utility is Utility.CENTRED:
            shares = CENTRES[utility].centre[0] / SHARE_UNIT
            distance = sum(abs(ys.count(k) - shares[k] * len(ys)) for k in range(3)) / 2
            return -distance * CENTRED_UNIT / (2 * (1 - shares.min()))
        if utility is Utility.CENTRED_TARGET:
            return -abs(levels.sum() - 3 * len(ys)) * CENTRED_UNIT / (2 * 5)
        return float(((levels - levels.mean()) ** 2).sum())

    X, _ = rows_of(records)
    cells = CLASSES.encode_features(X)
    out = []
    for cut in range(CLASSES.n_cells[0] - 1):
        out.append([cells[i, 0] <= cut for i in range(len(records))])
    for left in SUBSETS.of(1):
        out.append([bool(left[cells[i, 1]]) for i in range(len(records))])
    ys = [y for _, _, y in records]
    return np.array(
        [
            -impurity([y for y, go in zip(ys, left, strict=True) if go])
            - impurity([y for y, go in zip(ys, left, strict=True) if not go])
            for left in out
        ]
    )


many = st.lists(st.sampled_from(RECORDS), max_size=30)


@pytest.mark.parametrize("utility", Utility)
@given(records=many)
def test_scores_are_the_rounded_true_values(utility, records):
    got, expected = scores(records, utility), plain_scores(records, utility)
    if utility in MONOTONE:  # each child's impurity is rounded down to a whole unit
        assert ((got - expected > -1e-6) & (got - expected < 2)).all()
    else:  # the score itself is
        assert ((got - expected > -1 - 1e-6) & (got - expected < 1e-6)).all()


@pytest.mark.parametrize("utility", Utility)
@given(records=many, extra=st.sampled_from(RECORDS))
def test_one_more_record_moves_all_scores_within_the_range(utility, records, extra):
    change = scores([*records, extra], utility) - scores(records, utility)
    assert change.max() - change.min() <= utility.range_for(TARGET)
    sign = 1 if utility is Utility.MAX_OPERATOR else -1
    if utility in MONOTONE:
        assert (sign * change >= 0).all(), "a monotone utility moved against its direction"


@pytest.mark.parametrize("most_common", [2, 3, 4])
@given(records=many, extra=st.sampled_from(RECORDS))
def test_max_operator_counts_several_classes_and_moves_by_0_or_1(most_common, records, extra):
    before, after = (scores(rows, Utility.MAX_OPERATOR, most_common) for rows in (records, [*records, extra]))
    assert (before == plain_scores(records, Utility.MAX_OPERATOR, most_common)).all()
    assert np.isin(after - before, [0, 1]).all()


@pytest.mark.parametrize("utility", Utility)
def test_the_range_is_not_wasteful(utility):
    """Some record moves the scores by nearly W, so a smaller W would be wrong."""
    before = [(0.1, "a", 0)] * 60
    change = scores([*before, (0.1, "a", 2)], utility) - scores(before, utility)
    if utility not in MONOTONE:
        # left of the cuts one record more moves away from the centre, right of them towards it
        before = [(0.1, "a", 2)] * 60 + [(0.9, "a", 0)] * 38 + [(0.9, "a", 1)] * 22
        change = scores([*before, (0.1, "a", 2)], utility) - scores(before, utility)
        back = scores([*before, (0.9, "a", 2)], utility) - scores(before, utility)
        assert change.max() - back.min() >= 0.9 * utility.range_for(TARGET)
    elif utility is Utility.MAX_OPERATOR:
        change = scores([*before, (0.6, "a", 2)], utility) - scores(before, utility)
        assert change.max() - change.min() == 1
    elif utility is Utility.INFORMATION_GAIN:  # needs as many rows as the table has
        change = entropy_scores(ENTROPY_ROWS, 1) - entropy_scores(ENTROPY_ROWS, 0)
        assert abs(change).max() == utility.range_for(TARGET)
    else:
        assert abs(change).max() >= 0.9 * utility.range_for(TARGET)


def entropy_scores(*rows_of_class):
    """Scores of the cuts when all rows of the classes lie in the leftmost cell."""
    table = np.zeros((1, 2, 6, 3), np.int64)
    table[0, :, 0, : len(rows_of_class)] = rows_of_class
    return CANDIDATES.scores(Utility.INFORMATION_GAIN, 1, slice(0, 1), table)[0][IS_CUT]


@pytest.mark.parametrize("n", [ENTROPY_ROWS - 1, ENTROPY_ROWS, ENTROPY_ROWS + 5, 10**9])
def test_information_gain_keeps_its_range_beyond_the_table(n):
    """Entropy itself goes on growing: a billion rows would move it by 1.8 times W."""
    widest = Utility.INFORMATION_GAIN.range_for(CLASSES)
    for before, after in [((n, 0), (n, 1)), ((n, 1), (n, 2)), ((n, n), (n + 1, n)), ((n, 0), (n + 1, 0))]:
        change = entropy_scores(*after) - entropy_scores(*before)
        assert (change <= 0).all()
        assert change.min() >= -widest
    assert (np.log(1e9) + 1) * ENTROPY_UNIT > 1.7 * widest


def test_information_gain_is_that_of_the_textbook():
    counts = np.array([[400, 100], [50, 450]])

    def entropy(rows):
        shares = rows / rows.sum()
        return -(shares * np.log(shares)).sum()

    table = np.zeros((1, 2, 6, 3), np.int64)
    table[0, 0, 0, :2], table[0, 0, 3, :2] = counts
    score = CANDIDATES.scores(Utility.INFORMATION_GAIN, 1, slice(0, 1), table)[0][0]
    expected = -sum(child.sum() * entropy(child) for child in counts)
    assert score / ENTROPY_UNIT == pytest.approx(expected, rel=0.002)


def test_the_steps_of_the_summed_logarithms_never_fall():
    steps = np.diff(summed_logarithms())
    assert (np.diff(steps) >= 0).all()
    assert steps[0] == 0


def test_coarse_units_keep_the_range_of_squared_errors():
    """With 2048 levels errors are rounded to a thousandth of R squared, child by child."""
    fine = Schema(CLASSES.features, Range(0, 1, levels=2048))
    rng = np.random.default_rng(0)
    unit, widest = Utility.SQUARED_ERROR.unit_for(fine), 0
    assert unit == 4096

    def coarse(y):
        table = np.zeros((1, 2, 6, 3), np.int64)
        for cell, value in y:
            table[0, :, cell] += [1, value, value**2]
        return CANDIDATES.scores(Utility.SQUARED_ERROR, unit, slice(0, 1), table)[0][IS_CUT]

    for _ in range(200):
        rows = [(rng.integers(4), rng.choice([0, 2048])) for _ in range(rng.integers(40))]
        change = coarse([*rows, (rng.integers(4), rng.choice([0, 2048]))]) - coarse(rows)
        assert (change <= 0).all()
        widest = max(widest, -change.min())
    assert 800 < widest <= Utility.SQUARED_ERROR.range_for(fine) == 1024


def test_squared_error_does_not_overflow_on_large_tables():
    """10 million rows at the top level: sums near 2**36, squares beyond 2**63 in between."""
    n, y = 10_000_000, 4096
    table = np.zeros((1, 1, 6, 3), np.int64)
    table[0, 0, 0] = [n, n * y, n * y * y]
    table[0, 0, 5] = [n, 0, 0]
    zero, no_subset = (
        np.zeros((1, 1), np.int32),
        Subsets(np.array([-1], np.int32), np.array([0], np.int32), np.zeros((1, 1), np.uint8)),
    )
    thresholds = Candidates(zero, zero, zero + 5, np.zeros((1, 1, 1), np.uint8), no_subset, width=5)
    out = thresholds.scores(Utility.SQUARED_ERROR, 1, slice(None), table)
    assert (out == 0).all()
    table[0, 0, 0], table[0, 0, 5] = [2 * n, n * y, n * y * y], [0, 0, 0]
    out = thresholds.scores(Utility.SQUARED_ERROR, 1, slice(None), table)
    assert (out == -n * y * y // 2).all()


def test_lists_of_subsets_take_no_square_of_many_categories():
    """Each of 20,000 categories on its own would be a table of 400 MB."""
    schema = Schema({"x": Nominal(range(20_000))}, Classes([0, 1]))
    tracemalloc.start()
    subsets = Subsets.draw(schema, RandomWords.seeded(0))
    assert tracemalloc.get_traced_memory()[1] < 100e6
    tracemalloc.stop()
    assert subsets.of(0).shape == (512, 20_002)


@pytest.mark.parametrize("largest", [3, 2**20, 2**39], ids=["few rows", "many", "as many as there can be"])
@pytest.mark.parametrize(
    ("unit", "centred"), [(1, False), (2, False), (3, False), (CENTRED_UNIT, True)], ids=str
)
def test_two_classes_score_as_any_number_of_them(largest, unit, centred):
    """They have a kernel of their own, which must do what the other does with the same tables."""
    rng = np.random.default_rng(0)
    n_nodes, n_slots, n_cuts = 4, 3, 9
    steps = rng.integers(0, largest, (n_nodes * n_slots, n_cuts, 2))
    steps[rng.random(steps.shape) < 0.3] = 0
    steps[2] = np.diff(steps[2], axis=0, prepend=0)  # of sets, what comes may be less than what was
    totals = np.cumsum(steps, axis=1).max(axis=1).reshape(n_nodes, n_slots, 2).max(axis=1) + largest
    first, last = rng.integers(0, 4, len(steps)), rng.integers(4, n_cuts, len(steps))
    shares = np.clip(rng.random((n_nodes, 1)), 0.01, 0.99)
    centres = Centres.of_shares(np.hstack([shares, 1 - shares]))
    of_nodes = (
        (centres.centre, centres.span) if centred else (np.zeros((1, 1), np.int64), np.zeros(1, np.int64))
    )
    found = []
    for kernel in (_kernels.class_scores, _kernels.two_class_scores):
        out = np.zeros((len(steps), n_cuts), np.int64)
        kernel(steps, totals, first, last, unit, *of_nodes, *np.zeros((3, 2), np.int64), out)
        found.append(out)
    np.testing.assert_array_equal(*found)
    assert found[0].any()


def test_a_cut_weighs_as_many_rows_as_are_expected_beside_it():
    """Every cut stays a candidate, and no feature weighs more than another."""
    n_cells = int(CLASSES.n_cells[0])
    for likely in range(n_cells):
        expected = np.eye(n_cells)[likely]
        told = Candidates.of_level(ROOT, 0, ASKED, CLASSES.n_cells, SUBSETS, Expected((expected, None)))
        base, evenly = (each.base_measure().reshape(2, -1) for each in (told, CANDIDATES))
        np.testing.assert_array_equal(base[1], evenly[1])
        np.testing.assert_array_equal(base[0] > 0, evenly[0] > 0)
        assert base[0].sum() <= FEATURE_WEIGHT
        cuts = np.flatnonzero(base[0])
        beside = np.isin(cuts, [likely - 1, likely])
        assert base[0][cuts[beside]].min() > 2 * base[0][cuts[~beside]].max()
