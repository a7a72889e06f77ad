"""Columns made of two features: public functions of one record, exact, and kept by every written form."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpforest.schema import Classes, Combination, Nominal, Numeric, Ordinal, Schema, SchemaError

FEATURES = {"x": Numeric(0, 1, bins=8), "c": Nominal(["a", "b"]), "o": Ordinal(["low", "mid", "high"])}
MADE = (Combination("x", "o", 1), Combination("x", "o", -1))
SCHEMA = Schema(FEATURES, Classes([0, 1]), MADE)


def plain(x_cell, o_cell, sign):
    """The definition in floats: middles of cells from 0 to 1, added or subtracted, in 256 equal parts."""
    if x_cell >= 8 or o_cell >= 3:
        return 256
    along, across = (x_cell + 0.5) / 8, (o_cell + 0.5) / 3
    position = (along + across) / 2 if sign > 0 else (along - across + 1) / 2
    return int(position * 256)


values = st.tuples(
    st.one_of(st.floats(-1, 2), st.none()),
    st.sampled_from(["a", "b", None]),
    st.sampled_from(["low", "mid", "high", "none of these", None]),
)


@given(st.lists(values, min_size=1, max_size=20))
def test_cells_are_those_of_the_definition(rows):
    cells = SCHEMA.encode_features([list(row) for row in rows])
    assert cells.shape == (len(rows), 5)
    for x, _, o, added, subtracted in cells.astype(int):
        # integers round a position down by at most one part of 65536
        assert plain(x, o, 1) - added in (0, 1)
        assert plain(x, o, -1) - subtracted in (-1, 0, 1)
    alone = [SCHEMA.encode_features([list(row)])[0] for row in rows]
    np.testing.assert_array_equal(cells, alone)


def test_the_schema_counts_columns_and_reads_features():
    assert (SCHEMA.n_features, SCHEMA.n_columns) == (3, 5)
    assert SCHEMA.n_cells.tolist() == [10, 4, 5, 258, 258]
    assert SCHEMA.nominal.tolist() == [False, True, False, False, False]
    assert SCHEMA.names == ("x", "c", "o")
    np.testing.assert_allclose(SCHEMA.share_out(np.array([1.0, 0, 0, 2, 4])), [4, 0, 3])


def test_every_written_form_keeps_them():
    assert Schema.from_dict(SCHEMA.to_dict()) == SCHEMA
    assert Schema.from_json(SCHEMA.to_json()) == SCHEMA
    assert pickle.loads(pickle.dumps(SCHEMA)) == SCHEMA
    assert Schema(FEATURES, Classes([0, 1])) != SCHEMA
    clash = Schema({**FEATURES, "x + o": Numeric(0, 1)}, None, MADE)
    assert Schema.from_dict(clash.to_dict(), target=None) == clash


@pytest.mark.parametrize(
    "made",
    [
        Combination("x", "x", 1),
        Combination("x", "c", 1),
        Combination("x", "absent", 1),
        Combination("x", "o", 2),
    ],
)
def test_senseless_combinations_are_refused(made):
    with pytest.raises(SchemaError, match="combination"):
        Schema(FEATURES, None, (made,))


@pytest.mark.parametrize(
    "entry",
    [
        {"type": "sum"},
        {"type": "sum", "of": "x"},
        {"type": "sum", "of": ["x"]},
        {"type": "sum", "of": ["x", 3]},
        {"type": "difference", "of": ["x", "o"], "bins": 3},
    ],
)
def test_bad_documents_are_refused(entry):
    with pytest.raises(SchemaError, match="combination"):
        Schema.from_dict({**SCHEMA.to_dict(), "made": entry})
