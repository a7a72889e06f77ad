"""Schemas from bounds alone, and from frames that are public."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dpforest.schema import Classes, Nominal, Numeric, Range, Schema, SchemaError

PUBLIC = {
    "size": [0.5, None, 2.5],
    "count": [3, 7, 5],
    "ward": ["B", None, "A"],
    "flag": [True, False, True],
    "score": [1.0, 2.0, 4.0],
}


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_domains_are_read_off_a_public_frame(library):
    schema = Schema.from_public_frame(library(PUBLIC), target="score", bins=64)
    assert schema == Schema(
        {
            "size": Numeric(0.5, 2.5, bins=64),
            "count": Numeric(3, 7, integer=True, bins=64),
            "ward": Nominal(["A", "B"]),
            "flag": Nominal([False, True]),
        },
        Range(1, 4),
    )
    # Every public row lies within the domain that was read off it.
    cells = schema.encode_features(library({name: PUBLIC[name] for name in schema.names}))
    assert not (cells == schema.n_cells - 1).any()


@pytest.mark.parametrize(
    ("column", "task", "target"),
    [
        ("score", None, Range(1, 4)),
        ("score", "classification", Classes([1.0, 2.0, 4.0])),
        ("count", None, Classes([3, 5, 7])),
        ("count", "regression", Range(3, 7)),
        ("flag", None, Classes([False, True])),
        ("ward", "classification", Classes(["A", "B"])),
    ],
)
def test_the_task_decides_where_the_type_does_not(column, task, target):
    assert Schema.from_public_frame(pd.DataFrame(PUBLIC), column, task=task).target == target


def test_declared_categories_count_even_if_they_do_not_occur():
    levels = ["low", "high", "none"]
    for frame in (
        pd.DataFrame({"a": pd.Categorical(["low"], categories=levels)}),
        pl.DataFrame({"a": ["low"]}, schema={"a": pl.Enum(levels)}),
    ):
        assert Schema.from_public_frame(frame).features["a"] == Nominal(levels)


@pytest.mark.parametrize("constant", [0.0, 1e12, -5])
def test_a_constant_column_gets_a_grid_around_it(constant):
    feature = Schema.from_public_frame(pd.DataFrame({"a": [constant, constant]})).features["a"]
    assert feature.low == constant < feature.high


@pytest.mark.parametrize(
    ("frame", "options", "message"),
    [
        (np.zeros((2, 2)), {}, "needs a data frame"),
        (pd.DataFrame({"a": [1.0]}), {"target": "b"}, "no column 'b'"),
        (pd.DataFrame({"a": [1.0], "b": [1]}), {"target": "b", "task": "guess"}, "task"),
        (pd.DataFrame({"a": ["x"], "b": ["y"]}), {"target": "b", "task": "regression"}, "target 'b'"),
        (pd.DataFrame({"a": [math.nan]}), {}, "column 'a': it holds no finite number"),
        (pd.DataFrame({"a": pd.Series([1, "x"], dtype=object)}), {}, "column 'a'.*by hand"),
        (pl.DataFrame({"a": [[1, 2]]}), {}, "column 'a'.*by hand"),
    ],
)
def test_a_frame_that_does_not_tell_is_refused(frame, options, message):
    with pytest.raises(SchemaError, match=message):
        Schema.from_public_frame(frame, **options)


def test_bounds_may_be_scalars_or_arrays():
    assert Schema.from_bounds((0, 1), n_features=2) == Schema({"x0": Numeric(0, 1), "x1": Numeric(0, 1)})
    expected = Schema({"a": Numeric(0, 2, bins=8), "b": Numeric(1, 2, bins=8)}, Classes([0, 1]))
    assert Schema.from_bounds((np.array([0, 1]), 2), names=["a", "b"], classes=[0, 1], bins=8) == expected
    assert Schema.from_bounds(np.array([[0, 1], [2, 2]]), 2, ["a", "b"], np.array([0, 1]), bins=8) == expected
    assert Schema.from_bounds(([0], [1]), target_range=(0, 5)).target == Range(0, 5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"bounds": (0, 1)}, "number of features"),
        ({"bounds": (0, 1), "n_features": 2, "names": ["a"]}, "must agree"),
        ({"bounds": ([0, 0], [1, 1, 1])}, "must agree"),
        ({"bounds": ([[0]], [[1]])}, "number of features"),
        ({"bounds": 5, "n_features": 1}, "pair"),
        ({"bounds": (0, 1, 2), "n_features": 1}, "pair"),
        ({"bounds": "ab", "n_features": 1}, "pair"),
        ({"bounds": (0, 1), "n_features": 0}, "n_features"),
        ({"bounds": (0, 1), "names": ["a", "a"]}, "'a' is named twice"),
        ({"bounds": ([0, 3], [1, 2])}, "feature 'x1': low must be below high"),
        ({"bounds": (math.nan, 1), "n_features": 1}, "feature 'x0': low must be a finite"),
        ({"bounds": (0, None), "n_features": 1}, "feature 'x0': high must be a number"),
        ({"bounds": (0, 1), "n_features": 1, "classes": [0, 1], "target_range": (0, 1)}, "not both"),
        ({"bounds": (0, 1), "n_features": 1, "target_range": (0, 1, 2)}, "pair"),
    ],
)
def test_bounds_that_do_not_fit_are_refused(arguments, message):
    with pytest.raises(SchemaError, match=message):
        Schema.from_bounds(**arguments)
