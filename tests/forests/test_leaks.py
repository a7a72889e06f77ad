"""A released model holds released values only, and two neighbouring tables look alike from outside."""

import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest import DiPriMeForestClassifier
from dpforest._curator import Curator, PrivateTable
from dpforest._trees import grow_median
from dpforest.mechanisms import RandomWords
from dpforest.privacy import BudgetPlan
from dpforest.schema import Classes, Nominal, Numeric, Range, Schema
from tests.counting import cell_counts, encoded_rows, leaf_counts, leaf_sums, rows_of_cells

SCHEMA = Schema({"x": Numeric(0, 1, bins=16), "c": Nominal(["a", "b"])}, Classes([0, 1]))


def test_private_rows_cannot_be_read_or_copied():
    import copy

    table = PrivateTable([[0.5, "a"]], [1], SCHEMA)
    for look in (np.asarray, len, list, pickle.dumps, copy.copy, copy.deepcopy, lambda t: t[0]):
        with pytest.raises(TypeError, match="cannot be read"):
            look(table)
    assert "0.5" not in repr(table)


def arrays_within(value, seen=None):
    """Every array reachable from an object."""
    seen = set() if seen is None else seen
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from arrays_within(item, seen)
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from arrays_within(item, seen)
    elif hasattr(value, "__dict__"):
        yield from arrays_within(vars(value), seen)


def test_a_pickled_model_holds_no_row_and_no_raw_count():
    """Rows carry a value pattern that would be found if any of them were kept, in cells or as floats."""
    rng = np.random.default_rng(0)
    X, y = rng.random((5000, 7)), rng.integers(0, 2, 5000)
    model = DiPriMeForestClassifier(bounds=(0, 1), classes=[0, 1]).fit(X, y)
    dump = pickle.dumps(model)
    cells = model.schema_.encode_features(X)
    for row in range(0, 5000, 50):
        for kept in (X[row], X[row].astype(np.float32), cells[row], cells[row].astype(np.int64)):
            assert kept.tobytes() not in dump
    for column in range(7):
        assert cells[:50, column].tobytes() not in dump
    assert y[:200].astype(np.int32).tobytes() not in dump
    for array in arrays_within(model):
        assert 5000 not in array.shape, "something has one entry per row"
    raw = leaf_counts(rows_of_cells(cells, y, model.schema_.n_cells, 2), model.trees_)
    assert not np.array_equal(raw, model.leaf_statistics_)
    assert "_rows" not in vars(model)


def test_released_thresholds_lie_on_the_public_grid():
    X = np.random.default_rng(0).random((300, 2))
    model = DiPriMeForestClassifier(bounds=(0, 1), classes=[0, 1]).fit(X, (X[:, 0] > 0.5).astype(int))
    assert model.trees_.threshold.dtype == np.int32
    assert model.leaf_statistics_.dtype.kind == "i"
    assert (model.trees_.threshold < 257).all()


records = st.tuples(
    st.sampled_from([0.0, 0.3, 0.7, 1.0, None]), st.sampled_from(["a", "b", "?"]), st.sampled_from([0, 1])
)


def encoded(rows, schema):
    X = np.empty((len(rows), 2), object)
    for i, row in enumerate(rows):
        X[i] = row[:2]
    return encoded_rows(X, [r[2] for r in rows], schema)


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(records, max_size=12), extra=records, data=st.data())
def test_one_more_row_touches_one_tree_one_path_and_one_count(rows, extra, data):
    """Replay one transcript of released splits on two neighbours and compare every table before noise."""
    trees_of_rows = data.draw(st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows)))
    tree = data.draw(st.integers(0, 2))
    plan = BudgetPlan.divide(Fraction(1), 0, {"splits": 1})
    X = np.empty((len(rows), 2), object)
    for i, row in enumerate(rows):
        X[i] = row[:2]
    table = PrivateTable(X, [r[2] for r in rows], SCHEMA)
    with Curator(table, plan, RandomWords.seeded(1)) as curator:
        trees = grow_median(curator, "splits", 3, 3)
    before, after = encoded(rows, SCHEMA), encoded([*rows, extra], SCHEMA)
    trees_after = [*trees_of_rows, tree]
    for level in range(3):
        asked = trees.feature[:, trees.level(level)][..., None].copy()
        small = cell_counts(before, trees, level, asked, 18, tree_of_row=trees_of_rows)
        large = cell_counts(after, trees, level, asked, 18, tree_of_row=trees_after)
        change = large - small
        assert np.abs(change).sum() == 1
        assert set(np.argwhere(change)[:, 0] // 2**level) == {tree}
    change = leaf_counts(after, trees, trees_after) - leaf_counts(before, trees, trees_of_rows)
    assert np.abs(change).sum() == 1
    levels = Range(0, 1, levels=10)
    soft = Schema(SCHEMA.features, levels)
    small = leaf_sums(encoded(rows, soft), trees, trees_of_rows)
    sums = leaf_sums(encoded([*rows, extra], soft), trees, trees_after) - small
    counts, totals = np.moveaxis(sums, -1, 0)
    assert np.abs(totals).sum() + np.abs(10 * counts - totals).sum() == 10


def test_neighbours_give_the_same_public_structure_and_messages(capsys, recwarn):
    """Shapes, types, classes, ledger and printed lines do not depend on whether one odd row is there."""
    rng = np.random.default_rng(0)
    X = rng.random((40, 2)).astype(object)
    y = rng.integers(0, 2, 40)
    odd = np.array([["a secret", np.inf]], object)
    seen = []
    for table, target in [(X, y), (np.r_[X, odd], np.r_[y, 99])]:
        model = DiPriMeForestClassifier(bounds=(0, 1), classes=[0, 1], max_depth=2, verbose=1).fit(
            table, target
        )
        shapes = {k: np.shape(v) for k, v in vars(model).items() if isinstance(v, np.ndarray)}
        events = [(e.purpose, e.cost, dict(e.parameters)) for e in model.ledger_]
        seen.append((shapes, events, model.classes_.tolist(), capsys.readouterr()))
    assert seen[0] == seen[1]
    assert not recwarn
