"""Rows from anywhere give the same model: a tiny backend that reads its rows anew on every pass.

It is also the example of how little a backend is; see "Add a backend" in CONTRIBUTING.md.
"""

import pickle
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
import pytest

import dpforest
from dpforest._curator import table as private_table
from dpforest._rows import Block, Grid, MemoryRows, Rows, TableSpec, WholeRows
from dpforest.privacy import BudgetAccountant
from tests.forests.conftest import MODELS as EVERY_MODEL
from tests.forests.conftest import REGRESS, fit, patients_table


class StreamedRows:
    """Rows that a generator gives a block at a time; nothing about them is kept between passes."""

    def __init__(self, read: Callable[[], Iterator[tuple[np.ndarray, np.ndarray]]], grid: Grid) -> None:
        self.read, self.grid = read, grid
        for cells, target in read():
            grid.check(cells, target)

    def fold(self, table: TableSpec) -> np.ndarray:
        total, first = np.zeros(table.shape, np.int64), 0
        for cells, target in self.read():
            part = np.zeros(table.shape, np.int64)
            pickle.loads(pickle.dumps(table)).add(
                Block(cells, target, first), part
            )  # as if it were elsewhere
            total += part
            first += len(cells)
        return total


def streamed(blocks, grid, n_threads=1):
    """Take the place of `MemoryRows.of_blocks`; some blocks are empty or have one row."""
    rows = MemoryRows.of_blocks(blocks, grid)
    cells, target = rows._cells, rows._target
    borders = [0, 0, 1, 2, 700, 701, *range(1000, len(cells), 997), len(cells)]

    def read():
        for begin, end in pairwise(borders):
            yield cells[begin:end], target[begin:end]

    return StreamedRows(read, grid)


NEEDS_ALL_ROWS = {"SSPE-2", "PTE", "SSRDT", "TOP"}
MODELS = {
    **EVERY_MODEL,
    "guided regression, three trees": dpforest.PrivateForestRegressor(3, schema=REGRESS),
}


def test_the_example_is_a_backend_and_no_more():
    rows: Rows = StreamedRows(lambda: iter([]), Grid.of([3], 2))
    assert not isinstance(rows, WholeRows)
    assert isinstance(
        MemoryRows(np.zeros((1, 1), np.uint8), np.zeros(1, np.int32), Grid.of([3], 2)), WholeRows
    )


@pytest.mark.filterwarnings("ignore::dpforest.privacy.PrivacyLeakWarning")
@pytest.mark.parametrize("name", sorted(set(MODELS) - NEEDS_ALL_ROWS))
def test_models_are_the_same_to_the_last_bit(name, monkeypatch):
    from sklearn.base import clone

    patients = patients_table(2500)
    in_memory = fit(clone(MODELS[name]), patients, random_state=3, n_jobs=2)
    monkeypatch.setattr(
        private_table, "MemoryRows", type("Streamed", (), {"of_blocks": staticmethod(streamed)})
    )
    elsewhere = fit(clone(MODELS[name]), patients, random_state=3)
    for attribute in ("feature", "threshold", "left_sets"):
        np.testing.assert_array_equal(
            getattr(in_memory.trees_, attribute), getattr(elsewhere.trees_, attribute)
        )
    np.testing.assert_array_equal(in_memory.leaf_statistics_, elsewhere.leaf_statistics_)
    np.testing.assert_array_equal(in_memory.leaf_votes_, elsewhere.leaf_votes_)
    assert in_memory.ledger_ == elsewhere.ledger_
    if in_memory.additive_ is not None:
        np.testing.assert_array_equal(in_memory.additive_.table, elsewhere.additive_.table)


@pytest.mark.parametrize("name", sorted(NEEDS_ALL_ROWS))
def test_what_needs_all_rows_says_so_before_the_charge(name, monkeypatch):
    from sklearn.base import clone

    monkeypatch.setattr(
        private_table, "MemoryRows", type("Streamed", (), {"of_blocks": staticmethod(streamed)})
    )
    accountant = BudgetAccountant(epsilon=9.0)
    with pytest.raises(TypeError, match="all rows"):
        fit(clone(MODELS[name]), patients_table(50), accountant=accountant)
    assert not list(accountant.history())
