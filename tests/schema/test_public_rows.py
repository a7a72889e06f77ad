"""What public rows say about features."""

import numpy as np
import pytest

from dpforest.schema import Nominal, Numeric, Schema
from dpforest.schema.public_rows import MOST_ROWS, PublicRows

SCHEMA = Schema({"a": Numeric(0, 1, bins=4), "b": Nominal(["x", "y"])})


def rows(n):
    rng = np.random.default_rng(0)
    return np.column_stack([rng.random(n).astype(object), np.array(["x", "y"])[rng.integers(0, 2, n)]])


def test_shares_are_those_of_the_rows_and_no_cell_is_impossible():
    found = PublicRows.read([[0.1, "x"]] * 30 + [[0.9, "y"]] * 10, SCHEMA, "test")
    assert found.shares[0] == pytest.approx([0.74, 0.005, 0.005, 0.25, 0, 0], abs=2e-3)
    assert found.shares[1][:2] == pytest.approx([0.75, 0.25], abs=0.02)
    for shares in found.shares:
        assert shares.sum() == pytest.approx(1)
    assert (found.shares[1] > 0).all()


def test_missing_values_count_as_missing():
    found = PublicRows.read([[None, "x"]] * 10 + [[0.1, "x"]] * 30, SCHEMA, "test")
    assert found.shares[0][-2] == pytest.approx(0.25)


def test_mean_products_are_those_of_the_coordinates():
    public = PublicRows.read(rows(5000), SCHEMA, "test")
    n = SCHEMA.n_cells
    coordinates = [(0, np.random.default_rng(1).normal(size=(n[0], 2))), (1, np.eye(n[1]))]
    lines = np.concatenate([values[public.cells[:, at]] for at, values in coordinates], axis=1)
    assert public.mean_products(coordinates) == pytest.approx(lines.T @ lines / len(lines))


def test_of_very_many_rows_the_first_are_taken():
    many = np.zeros((MOST_ROWS + 10, 1))
    many[MOST_ROWS:] = 1.0
    public = PublicRows.read(many, Schema({"a": Numeric(0, 1, bins=4)}), "test")
    assert public.n_rows == MOST_ROWS
    assert public.cells.max() == 0
