"""Classes and fixed-point levels."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpforest.schema import Classes, Numeric, Range, Schema, SchemaError

VECTORS = [
    list,
    tuple,
    pd.Series,
    pl.Series,
    lambda y: pa.chunked_array([y]),
    lambda y: np.array(y, dtype=object),
]


@pytest.mark.parametrize(
    ("labels", "kind"), [([3, 1, 2], "i"), (["b", "a"], "U"), ([True, False], "b"), ([1.5, 0], "f")]
)
def test_labels_are_sorted_and_keep_their_type(labels, kind):
    classes = np.asarray(Classes(np.array(labels)).labels)
    assert classes.dtype.kind == kind
    assert classes.tolist() == sorted(labels)


@pytest.mark.parametrize("vector", VECTORS)
def test_labels_become_codes_and_unknown_ones_minus_one(vector):
    assert Classes(["b", "a"]).encode(vector(["a", "b", None, "c"])).tolist() == [0, 1, -1, -1]
    assert Classes([7, 5]).encode(vector([5, 7, None, 6])).tolist() == [0, 1, -1, -1]
    assert Classes([False, True]).encode(vector([True, False, None])).tolist() == [1, 0, -1]


def test_codes_do_not_depend_on_the_type_of_the_column():
    classes = Classes([0, 1])
    for y in (
        [0, 1],
        np.array([0.0, 1.0]),
        np.array([False, True]),
        np.array(["0", "1"]),
        np.array([[0], [1]]),
        [[0], [1]],
        [np.array([0]), np.array([1])],
    ):
        codes = classes.encode(y)
        assert codes.tolist() == [0, 1]
        assert codes.dtype == np.int32


@pytest.mark.parametrize("vector", VECTORS)
def test_targets_become_levels_and_unknown_ones_minus_one(vector):
    assert Range(0, 10, levels=20).encode(vector([0.0, 2.5, 99.0, -99.0, None])).tolist() == [0, 5, 20, 0, -1]


def test_far_off_targets_are_clipped_without_a_word():
    y = np.array([1e308, -1e308, math.inf, -math.inf, math.nan])
    assert Range(-1e307, 1e307).encode(y).tolist() == [4096, 0, 4096, 0, -1]
    assert Range(0, 1).encode(["x", 10**400, "0.5", True]).tolist() == [-1, 4096, 2048, 4096]


@given(
    st.floats(-1e6, 1e6),
    st.floats(1e-3, 1e6),
    st.integers(1, 65_536),
    st.lists(st.floats(allow_nan=False), min_size=1, max_size=9),
)
def test_levels_are_the_nearest_fixed_points_record_by_record(low, width, levels, y):
    target = Range(low, low + width, levels=levels)
    codes = target.encode(np.array(y))
    assert codes.min() >= 0
    assert codes.max() <= levels
    clipped = np.clip(y, target.low, target.high)
    assert np.all(np.abs(target.decode(codes) - clipped) <= 0.5001 * (target.high - target.low) / levels)
    assert [target.encode([one])[0] for one in y] == codes.tolist()


@pytest.mark.parametrize(
    ("target", "values"),
    [
        (Range(1e8 + 3, 1e8 + 5), [1e8 + 8, 1e8, 1e8 + 4, math.nan]),
        (Range(20200101, 20200131), [20200131, 20200101, 20200132, 20200100]),
        (Range(0, 1), [math.inf, -math.inf, math.nan, 0.5]),
        (Range(-60000, 60000, levels=65_536), [65504.0, -65504.0, math.inf, 1.0]),
    ],
)
@pytest.mark.parametrize("width", [np.float16, np.float32, np.float64, np.longdouble])
def test_levels_do_not_depend_on_the_width_of_the_caller(target, values, width):
    """Each number becomes a double before it is scaled, so that no level leaves the declared range."""
    with np.errstate(over="ignore"):
        y = np.array(values).astype(width)
    codes = target.encode(y)
    assert codes.max() <= target.levels
    assert codes.tolist() == target.encode(y.astype(np.float64)).tolist()


def test_every_level_is_encoded_to_itself():
    target = Range(-3, 7, levels=1000)
    assert target.encode(target.decode(np.arange(1001))).tolist() == list(range(1001))


def test_levels_of_the_widest_range_are_numbers():
    target = Range(-8e307, 8e307, levels=2)
    with np.errstate(all="raise"):
        assert target.decode([0, 1, 2]).tolist() == [-8e307, 0.0, 8e307]


def test_a_schema_without_target_says_so():
    with pytest.raises(SchemaError, match="declares no target"):
        Schema({"a": Numeric(0, 1)}).encode_target([1])


@pytest.mark.parametrize("y", [3, "abc", np.zeros((2, 2)), pd.DataFrame({"a": [1], "b": [2]})])
def test_a_target_is_one_column(y):
    with pytest.raises(SchemaError, match=r"1d array|one column"):
        Classes([0, 1]).encode(y)
