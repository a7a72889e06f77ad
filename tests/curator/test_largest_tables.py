"""Scores and sums of the largest tables, against Python's integers, which have no end."""

from fractions import Fraction
from math import isqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpforest import _rows
from dpforest._curator import Block, Centres, Curator, PrivateTable, Utility
from dpforest._curator.utilities import CENTRED_UNIT, GINI_UNIT, SHARE_UNIT, median_scores, summed_logarithms
from dpforest._rows import COARSE_LEVELS, ERROR_LEVELS, MAX_PER_ROW, MAX_ROWS
from dpforest._structure import FlatTrees
from dpforest.mechanisms import RandomWords
from dpforest.privacy import BudgetPlan, NeighboringRelation
from dpforest.schema import Classes, Range, Schema
from dpforest.schema.declaration import MAX_SIZE
from tests.counting import cell_moments, rows_of_cells
from tests.curator.conftest import CLASSES
from tests.curator.test_utilities import CANDIDATES, IS_CUT, NUMBERS, SUBSETS

N_CELLS = 6
LARGEST = Schema(CLASSES.features, Range(0, 1, levels=MAX_SIZE))
LEVELS = {Utility.SQUARED_ERROR: ERROR_LEVELS, Utility.CENTRED_TARGET: MAX_SIZE}
MEANS = {"low": 0, "middle": MAX_SIZE // 3, "high": MAX_SIZE}


@st.composite
def divided(draw, n_parts, n=MAX_ROWS):
    """Whole numbers with a sum of n, of very different sizes."""
    edges = st.one_of(st.integers(0, n), st.integers(0, 3), st.integers(n - 3, n), st.just(2**26))
    cuts = sorted(draw(st.lists(edges, min_size=n_parts - 1, max_size=n_parts - 1)))
    return [high - low for low, high in zip([0, *cuts], [*cuts, n], strict=True)]


def table_of(rows):
    """One node with the same table for both features."""
    return np.repeat(np.array(rows, np.int64)[None, None], 2, axis=1)


@st.composite
def class_tables(draw, n=MAX_ROWS):
    return table_of(np.reshape(draw(divided(3 * N_CELLS, n)), (N_CELLS, 3)))


@st.composite
def moment_tables(draw, levels, powers, n=MAX_ROWS):
    """In every cell some rows at the lowest level, some at the highest and some in between."""
    counts = draw(divided(3 * N_CELLS, n))
    between = draw(st.lists(st.integers(0, levels), min_size=N_CELLS, max_size=N_CELLS))
    rows = [
        [a + b + c, b * levels + c * y, b * levels**2 + c * y**2][:powers]
        for a, b, c, y in zip(counts[::3], counts[1::3], counts[2::3], between, strict=True)
    ]
    return table_of(rows)


def children(table):
    """Statistics left and right of every cut, in Python's integers."""
    cells = table[0, 0].astype(object)
    thresholds = [range(cut + 1) for cut in range(N_CELLS - 1)]
    subsets = [np.flatnonzero(left) for left in SUBSETS.of(1)]
    for left in (*thresholds, *subsets):
        chosen = cells[list(left)].sum(axis=0) if len(left) else 0 * cells[0]
        yield list(map(int, chosen)), list(map(int, cells.sum(axis=0) - chosen))


def error(child):
    n, total, squares = child
    return squares - Fraction(total**2, n) if n else Fraction(0)


def impurity(counts):
    n = sum(counts)
    return n - Fraction(sum(c * c for c in counts), n) if n else Fraction(0)


def summed(n):
    table = summed_logarithms()
    last, step = len(table) - 1, int(table[-1] - table[-2])
    return int(table[n]) if n <= last else int(table[-1]) + (n - last) * step


def expected(utility, children, centre, span, unit):
    if utility is Utility.MAX_OPERATOR:
        return sum(max(child) for child in children)
    if utility is Utility.GINI:
        return -sum(int(GINI_UNIT * impurity(child) // 1) for child in children)
    if utility is Utility.SQUARED_ERROR:
        return -sum(int(error(child) // unit) for child in children)
    if utility is Utility.INFORMATION_GAIN:
        return sum(sum(map(summed, child)) - summed(sum(child)) for child in children)
    if utility is Utility.CENTRED:
        distance = sum(
            abs(SHARE_UNIT * c - p * sum(child))
            for child in children
            for c, p in zip(child, centre, strict=True)
        )
    else:
        distance = sum(abs(child[1] - centre[0] * child[0]) for child in children)
    return distance * CENTRED_UNIT // span


def assert_exact(utility, table, centres=None):
    unit = 1 if utility is Utility.MAX_OPERATOR else utility.unit_for(LARGEST)
    got = CANDIDATES.scores(utility, unit, slice(0, 1), table, centres)[0][IS_CUT]
    centre, span = (None, None) if centres is None else (centres.centre[0].tolist(), int(centres.span[0]))
    assert got.tolist() == [expected(utility, pair, centre, span, unit) for pair in children(table)]


BY_CLASS = [Utility.MAX_OPERATOR, Utility.GINI, Utility.INFORMATION_GAIN, Utility.CENTRED]


@pytest.mark.parametrize("utility", BY_CLASS)
@given(table=class_tables(), shares=st.sampled_from([(0.5, 0.3, 0.2), (1.0, 0.0, 0.0), (0.4, 0.4, 0.2)]))
def test_scores_of_classes_are_exact_at_the_largest_table(utility, table, shares):
    assert_exact(
        utility, table, Centres.of_shares(np.array([shares])) if utility is Utility.CENTRED else None
    )


@given(table=moment_tables(ERROR_LEVELS, 3))
def test_squared_errors_are_exact_at_the_largest_table(table):
    assert_exact(Utility.SQUARED_ERROR, table)


@pytest.mark.parametrize("mean", MEANS)
@given(table=moment_tables(MAX_SIZE, 2))
def test_centred_targets_are_exact_at_the_largest_table(mean, table):
    assert_exact(Utility.CENTRED_TARGET, table, Centres.of_means(np.array([MEANS[mean]]), MAX_SIZE))


@pytest.mark.parametrize("utility", [*BY_CLASS, *NUMBERS])
@given(data=st.data(), cell=st.integers(0, N_CELLS - 1), code=st.integers(0, 2))
def test_one_more_row_moves_the_largest_tables_within_the_range(utility, data, cell, code):
    levels = LEVELS.get(utility)
    powers = 3 if utility is Utility.SQUARED_ERROR else 2
    n = MAX_ROWS - 1
    table = data.draw(moment_tables(levels, powers, n) if levels else class_tables(n))
    more, y = table.copy(), (levels or 0) * code // 2
    more[:, :, cell] += [1, y, y * y][:powers] if levels else np.eye(3, dtype=int)[code]
    centres = {
        Utility.CENTRED: Centres.of_shares(np.array([[0.5, 0.3, 0.2]])),
        Utility.CENTRED_TARGET: Centres.of_means(np.array([30_000.0]), MAX_SIZE),
    }.get(utility)
    unit = 1 if utility is Utility.MAX_OPERATOR else utility.unit_for(LARGEST)
    before, after = (
        CANDIDATES.scores(utility, unit, slice(0, 1), t, centres)[0][IS_CUT] for t in (table, more)
    )
    change = after - before
    assert change.max() - change.min() <= utility.range_for(LARGEST)


@pytest.mark.parametrize("n_classes", [2, 1000, MAX_SIZE])
def test_gini_of_the_largest_table_with_many_classes(n_classes):
    counts = [MAX_ROWS // n_classes] * n_classes
    table = table_of([counts] + [[0] * n_classes] * (N_CELLS - 1))
    got = CANDIDATES.scores(Utility.GINI, GINI_UNIT, slice(0, 1), table)[0][0]
    assert got == -(GINI_UNIT * impurity(counts) // 1)


@pytest.mark.parametrize("is_class", [True, False])
@given(data=st.data())
def test_median_scores_are_exact_at_the_largest_table(is_class, data):
    """Halves meet between two cells: inside one, rows are drawn up one by one, and there are too many."""
    n_codes = 3 if is_class else COARSE_LEVELS
    half, other = (data.draw(divided(n_codes, MAX_ROWS // 2)) for _ in range(2))
    table = np.array([[[half, other]]])

    def of(counts):
        if is_class:
            return int(GINI_UNIT * impurity(counts) // 1)
        return int(error([sum(code**p * c for code, c in enumerate(counts)) for p in range(3)]) // 1)

    assert median_scores(table, is_class)[0, 0] == -of(half) - of(other)


def test_priorities_of_the_largest_table_are_different():
    """The hash can be undone, so it is enough that code and number never give the same word."""
    from dpforest._curator import _kernels

    codes, numbers = (0, 1, 2, MAX_SIZE - 1), (0, 1, 2**32 - 1, 2**32, 2**33, MAX_ROWS - 1)
    assert len({int(_kernels._priority(code, number)) for code in codes for number in numbers}) == 24


# --- queries over stubs of rows, without noise ----------------------------------------------------------


class EqualRows:
    """MAX_ROWS rows that all lie in the last cell of every feature, with the last target or another."""

    def __init__(self, schema, target):
        self.grid = _rows.Grid.of(schema.n_cells, schema.n_codes)
        cells = (schema.n_cells[None] - 1).astype(np.uint8)
        self.row = _rows.Block(cells, np.array([target], np.int32), 0)

    def fold(self, table):
        one = np.zeros(table.shape, np.int64)
        table.add(self.row, one)
        return one * MAX_ROWS

    def cells(self):
        return self.row.cells

    def is_labelled(self):
        return self.row.target >= 0


def exact_curator(schema, relation=NeighboringRelation.ADD_OR_REMOVE_ONE, target=None):
    plan = BudgetPlan.divide(1, 0, {"all": 1}, relation=relation)
    empty = PrivateTable(np.empty((0, 2), object), [], schema)
    curator = Curator(empty, plan, RandomWords.seeded(0), noiseless=True)
    curator._rows = EqualRows(schema, schema.n_codes - 1 if target is None else target)
    return curator


def test_soft_histograms_of_the_largest_table():
    with exact_curator(LARGEST) as curator:
        sums = curator.leaf_soft_histograms("all", FlatTrees.unsplit(1, 0)).values
    assert sums.tolist() == [[[MAX_ROWS * MAX_SIZE, 0]]]


@pytest.mark.parametrize("by_class", [True, False])
def test_sums_of_the_largest_table(by_class):
    values = [
        np.full((int(n), 1), sign * MAX_PER_ROW) for n, sign in zip(CLASSES.n_cells, (1, -1), strict=True)
    ]
    blocks = [Block(at, value) for at, value in enumerate(values)]
    with exact_curator(CLASSES) as curator:
        sums, _ = curator.lookup_sums("all", Fraction(1), "sums", blocks, MAX_PER_ROW, by_class)
    assert sums[-1].tolist() == [MAX_ROWS * MAX_PER_ROW, -MAX_ROWS * MAX_PER_ROW]


def test_products_of_the_largest_table():
    most = isqrt(MAX_PER_ROW)
    with exact_curator(CLASSES) as curator:
        sums, _ = curator.product_sums(
            "all", Fraction(1), "products", [Block(0, np.full((6, 1), most))], most
        )
    assert sums.tolist() == [[MAX_ROWS * most**2]]


def test_a_quantile_of_the_largest_table():
    with exact_curator(LARGEST, target=LARGEST.n_codes - 2) as curator:
        found = curator.target_quantile("all", Fraction(1), "bound", 2**20 - 1, 2**20)
    assert found == MAX_SIZE - 1  # the last threshold, the only one that has the rows on its left


def test_bounds_one_step_beyond_are_refused_before_the_charge():
    values = np.zeros((6, 1), np.int64)
    with exact_curator(CLASSES) as curator:
        with pytest.raises(ValueError, match="room"):
            curator.lookup_sums("all", Fraction(1), "s", [Block(0, values)], MAX_PER_ROW + 1, False)
        with pytest.raises(ValueError, match="room"):
            curator.product_sums("all", Fraction(1), "s", [Block(0, values)], isqrt(MAX_PER_ROW) + 1)
        assert not len(curator.ledger)
    with exact_curator(CLASSES, NeighboringRelation.LABEL_CHANGE) as curator:
        with pytest.raises(ValueError, match="room"):
            curator.label_sums("all", np.array([[-MAX_PER_ROW - 1]]))
        assert not len(curator.ledger)


def test_shares_of_more_classes_than_units_are_refused():
    """One unit at least for every class, and they must sum to one: W rests on it."""
    assert (Centres.of_shares(np.full((1, SHARE_UNIT), 1 / SHARE_UNIT)).centre == 1).all()
    with pytest.raises(ValueError, match="classes"):
        Centres.of_shares(np.full((1, SHARE_UNIT + 1), 1 / (SHARE_UNIT + 1)))


def test_a_target_of_most_levels_keeps_the_range_of_squared_errors():
    """From rows to scores: 65536 levels are cut down to 2048, row by row."""
    rng = np.random.default_rng(0)
    root, asked = FlatTrees.unsplit(1, 1, SUBSETS.left_sets), np.array([[[0, 1]]], np.int32)
    cells = rng.integers(0, CLASSES.n_cells, (60, 2)).astype(np.uint8)
    target = rng.choice([0, 1, 31, 32, 65_535, MAX_SIZE, -1], 60).astype(np.int32)
    unit, widest = Utility.SQUARED_ERROR.unit_for(LARGEST), 0

    def scores(n):
        rows = rows_of_cells(cells[:n], target[:n], LARGEST.n_cells, LARGEST.n_codes)
        table = cell_moments(rows, root, 0, asked, N_CELLS)
        known = target[:n] >= 0
        cut = target[:n][known].astype(int) * ERROR_LEVELS // MAX_SIZE
        assert table[0, 0].sum(axis=0).tolist() == [known.sum(), cut.sum(), (cut**2).sum()]
        return CANDIDATES.scores(Utility.SQUARED_ERROR, unit, slice(0, 1), table)[0][IS_CUT]

    for n in range(60):
        change = scores(n + 1) - scores(n)
        assert (change <= 0).all()
        widest = max(widest, -int(change.min()))
    assert 500 < widest <= Utility.SQUARED_ERROR.range_for(LARGEST) == 1024


def test_every_target_and_number_of_classes_is_within_the_limits():
    """What the table of limits takes for granted about schemas."""
    from dpforest.schema import SchemaError

    assert MAX_SIZE == 2**16
    with pytest.raises(SchemaError):
        Range(0, 1, levels=MAX_SIZE + 1)
    with pytest.raises(SchemaError):
        Classes(list(range(MAX_SIZE + 1)))
