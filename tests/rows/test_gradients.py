"""Gradients are bounded integers of one row each, and the sums of them are exact."""

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpforest._rows import Block, Grid, MemoryRows
from dpforest._rows.gradients import (
    CellTotals,
    ColumnSums,
    FeatureProducts,
    GradientSums,
    NodeSums,
    ResidualCounts,
    StepSums,
    TargetPlaces,
    TargetSum,
    fold_by_columns,
)
from dpforest._rows.scores import TARGET_SPAN, Columns, Scores, logistic_tables
from dpforest._structure import Pairs

N_CELLS = (6, 5)
LOSSES = {"two classes": 2, "three classes": 3, "many classes": 40, "numbers": None}


def pairs(n_cells=6):
    scales = np.arange(2 * n_cells, dtype=np.int32).reshape(2, n_cells) - n_cells
    return Pairs(scales, np.array([[0, 1, 2, -1]], np.int32), np.array([-3, 0, 4], np.int32))


COLUMNS = Columns(
    np.array([[0, 0, 1, 1, 2, 2], [0, 1, 2, 3, 4, 0]], np.uint8),
    np.array([3, 5, 4]),
    np.array([False, True, False]),
    pairs(),
)


def scores_of(n_classes, unit=4096, levels=64):
    n_codes = levels + 1 if n_classes is None else n_classes
    return Scores(Grid.of(N_CELLS, n_codes), n_classes, levels, unit)


def random_rows(scores, n_rows, seed=0, unknown=0.1):
    rng = np.random.default_rng(seed)
    cells = np.stack([rng.integers(0, n, n_rows) for n in N_CELLS], axis=1).astype(np.uint8)
    target = rng.integers(0, scores.grid.n_codes, n_rows).astype(np.int32)
    target[rng.random(n_rows) < unknown] = -1
    return cells, target


def grown(scores, seed=0):
    """A program with a step of every kind, in the middle of a tree."""
    rng = np.random.default_rng(seed)
    table = rng.integers(-(2**18), 2**18, scores.shape).astype(np.int32)
    scores = scores.plus_constant(rng.integers(-(2**16), 2**16, scores.n_outputs))
    scores = scores.plus_table(table).clipped_at(2**17).new_tree(COLUMNS)
    scores = scores.split(np.array([1]), np.array([2]))
    scores = scores.plus_values(rng.integers(-(2**17), 2**17, (2, scores.n_outputs)).astype(np.int32))
    return scores.split(np.array([0, 2]), np.array([1, 1]))


def every_table(scores):
    rng = np.random.default_rng(1)
    values = [rng.integers(-9, 10, (n, 2)) for n in N_CELLS]
    norms = np.zeros(scores.shape[:2], np.int64)
    for at, block in enumerate(values):
        norms[at, : len(block)] = (block**2).sum(axis=1)
    step = rng.integers(-(2**16), 2**16, scores.shape).astype(np.int32)
    found = [
        CellTotals(scores),
        GradientSums(scores, norms, 90),
        FeatureProducts(scores, np.arange(2), values, 90),
        StepSums(scores, step, 3e4, 2867),
        ColumnSums(scores),
        NodeSums(scores),
    ]
    if scores.n_classes is None:
        found += [TargetPlaces(scores, 7), TargetSum(scores, 2**17, 2**19)]
        found += [ResidualCounts(scores, np.array([2**10, 2**15, 2**18]))]
    return found


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("unit", [2, 64, 4096])
def test_gradients_and_half_hessians_are_no_longer_than_their_units(name, unit):
    """Whatever the scores are: the noise is made for these lengths."""
    scores = scores_of(LOSSES[name], unit)
    rng = np.random.default_rng(0)
    block = Block(*random_rows(scores, 5000, unknown=0), 0, {})
    rows = scores.run(block)
    for spread in (1, 2**12, 2**16, 2**20, 2**29):
        rows.scores[:] = rng.integers(-spread, spread + 1, rows.scores.shape)
        for clip in (1, 2**10, TARGET_SPAN):
            rows.clip = 0
            g, h = scores.clipped_at(clip).gradients(rows)
            assert (g.astype(np.int64) ** 2).sum(axis=1).max() <= unit**2
            assert (h.astype(np.int64) ** 2).sum(axis=1).max() <= (unit // 2) ** 2
            assert h.min() >= 0


def test_gradients_of_two_classes_are_what_they_should_be():
    slopes, bends = logistic_tables(4096)
    share = 1 / (1 + np.exp(-(np.arange(8192) - 4096 + 0.5) / 256))
    np.testing.assert_allclose(slopes[0] / 4096, np.minimum(share / 0.5, 1), atol=2e-4)
    np.testing.assert_allclose(slopes[1] / 4096, np.maximum((share - 1) / 0.5, -1), atol=2e-4)
    np.testing.assert_allclose(bends / 2048, np.maximum(share * (1 - share), 0.01) / 0.25, atol=5e-4)


def test_gradients_of_many_classes_are_clipped_shares():
    scores = scores_of(40)
    rows = scores.run(Block(*random_rows(scores, 500, unknown=0), 0, {}))
    rng = np.random.default_rng(0)
    rows.scores[:] = rng.integers(-(3 * 2**16), 3 * 2**16, rows.scores.shape)
    g, _ = scores.gradients(rows)
    away = np.exp(rows.scores / 2**16)
    away = away / away.sum(axis=1, keepdims=True) - np.eye(40)[rows.target]
    length = np.linalg.norm(away, axis=1, keepdims=True)
    np.testing.assert_allclose(g / 4096, away / np.maximum(length, 0.6), atol=3e-3)


@pytest.mark.parametrize("name", LOSSES)
def test_tables_do_not_depend_on_blocks_order_threads_or_memory(name):
    """To the last bit: otherwise one more row could move what all other rows add."""
    scores = grown(scores_of(LOSSES[name]))
    cells, target = random_rows(scores, 70_000)
    order = np.random.default_rng(2).permutation(len(cells))
    whole = MemoryRows(cells, target, scores.grid)
    threads = MemoryRows(cells[order], target[order], scores.grid, n_threads=3)
    for table in every_table(scores):
        wanted = whole.fold(table)
        assert (threads.fold(table) == wanted).all()
        forgetful = np.zeros(table.shape, np.int64)
        for first, last in ((0, 1), (1, 40_001), (40_001, 70_000)):
            pickle.loads(pickle.dumps(table)).add(
                Block(cells[first:last], target[first:last], first), forgetful
            )
        assert (forgetful == wanted).all()


def test_a_block_goes_on_from_where_it_was_or_begins_anew():
    first, other = grown(scores_of(3), seed=1), grown(scores_of(3), seed=2)
    cells, target = random_rows(first, 1000)
    remembering = Block(cells, target, 0, {})
    for scores in (first, other, first, first.plus_values(np.ones((4, 3), np.int32)), other, scores_of(3)):
        kept, fresh = scores.run(remembering), scores.run(Block(cells, target, 0))
        assert (kept.scores == fresh.scores).all()
        assert (kept.node_of == fresh.node_of).all()
        assert all(
            (a == b).all() for a, b in zip(scores.gradients(kept), scores.gradients(fresh), strict=True)
        )


def test_sums_by_column_and_node_are_those_of_plain_python():
    scores = grown(scores_of(3))
    cells, target = random_rows(scores, 300)
    rows = scores.run(Block(cells, target, 0))
    g, h = scores.gradients(rows)
    wanted, nodes = np.zeros(ColumnSums(scores).shape, int), np.zeros(NodeSums(scores).shape, int)
    wide = COLUMNS.pairs.append(rows.cells)
    for i, (row, node) in enumerate(zip(wide, rows.node_of, strict=True)):
        codes = [COLUMNS.codes[0, row[0]], COLUMNS.codes[1, row[1]], row[2]]
        for column, code in enumerate(codes):
            wanted[column, node, code] += g[i]
        nodes[node] += [g[i], h[i]]
        root = codes[1] == 2
        first, second = (codes[0] <= 1), (codes[2] <= 1)
        assert node == (0 if first else 1) if root else node == (2 if second else 3)
    memory = MemoryRows(cells, target, scores.grid)
    assert (memory.fold(NodeSums(scores)) == nodes).all()
    groups = list(fold_by_columns(memory, ColumnSums(scores)))
    assert (np.concatenate([table for _, table in groups]) == wanted).all()


@given(st.integers(0, 2**32 - 1), st.integers(1, 400))
def test_no_row_adds_more_than_it_may_to_sums_and_products(seed, longest):
    rng = np.random.default_rng(seed)
    values = [rng.integers(-20, 21, (n, 2)) for n in N_CELLS]
    norms = np.zeros((2, 6), np.int64)
    for at, block in enumerate(values):
        norms[at, : len(block)] = (block**2).sum(axis=1)
    scores = grown(scores_of(3), seed)
    for cells in ([0, 0], [5, 4], [2, 3]):
        rows = MemoryRows(np.array([cells], np.uint8), np.array([seed % 3]), scores.grid)
        table = rows.fold(GradientSums(scores, norms, longest))
        moved = np.concatenate([v.T @ table[at, : len(v)] for at, v in enumerate(values)])
        assert int((moved**2).sum()) <= scores.unit**2 * longest
        upper = np.triu_indices(4)
        products = rows.fold(FeatureProducts(scores, np.arange(2), values, longest))[upper]
        weighted = products * np.where(upper[0] == upper[1], 5, 7)
        assert int((weighted**2).sum()) <= 25 * longest**2


@given(st.lists(st.integers(-(2**52), 2**52), min_size=1, max_size=40))
def test_lengths_are_floors_of_exact_square_roots(vector):
    from dpforest._curator import _gradients

    limit = 2**52 // math.isqrt(len(vector) + 1)
    vector = [max(-limit, min(limit, x)) for x in vector]
    out = np.empty(1, np.int64)
    _gradients.lengths(np.array([vector]), out)
    assert out[0] == math.isqrt(sum(x * x for x in vector))


@pytest.mark.parametrize("n", [2, 3, 26, 100, 1000])
def test_lengths_are_exact_where_doubles_are_not(n):
    """Squares just below and above a perfect square, as long as sums over the largest table can be."""
    from dpforest._curator import _gradients

    side = 2**52 // math.isqrt(n + 1)
    vectors = np.full((4, n), side, np.int64)
    vectors[1, 0] += 1
    vectors[2, 0] -= 1
    vectors[3] = -vectors[3]
    out = np.empty(4, np.int64)
    _gradients.lengths(vectors, out)
    assert out.tolist() == [math.isqrt(sum(x * x for x in line)) for line in vectors.tolist()]


def test_what_does_not_fit_is_refused():
    scores = scores_of(3)
    with pytest.raises(ValueError, match="does not fit"):
        scores.plus_constant(np.zeros(2, np.int64))
    with pytest.raises(ValueError, match="too large"):
        scores.plus_constant(np.full(3, 2**31))
    with pytest.raises(ValueError, match="no tree"):
        ColumnSums(scores)
    with pytest.raises(ValueError, match="needs a cut"):
        scores.new_tree(COLUMNS).split(np.array([3]), np.array([0]))
    with pytest.raises(ValueError, match="even"):
        scores_of(3, unit=8192)
    wild = replace(COLUMNS, codes=np.full((2, 6), 9, np.uint8))
    with pytest.raises(ValueError, match="does not fit"):
        scores.new_tree(wild)
