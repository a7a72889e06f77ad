"""Dates, truth values and grids on another scale: the cell of every value, in every carrier."""

import datetime as dt
import json
import math
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpforest import PrivateForestClassifier, load
from dpforest.schema import Boolean, Classes, Date, Numeric, Schema, SchemaError
from dpforest.schema.transforms import even_after

LOG, ASINH = Numeric(1, 1e6, transform="log"), Numeric(-1e4, 1e6, bins=64, transform="asinh")
WHOLE = Numeric(1, 1000, integer=True, transform="log", bins=16)
DATE = Date("2015-01-01", "2025-12-31")
KINDS = {"log": LOG, "asinh": ASINH, "whole": WHOLE, "date": DATE, "boolean": Boolean()}
ALL = Schema(KINDS, Classes([0, 1]))


@pytest.mark.parametrize("feature", [LOG, ASINH, WHOLE], ids=repr)
def test_cells_are_equally_wide_after_the_transform(feature):
    scale = np.log if feature.transform == "log" else np.arcsinh
    half = 0.5 if feature.integer else 0
    ends = np.concatenate([[feature.low - half], feature.borders, [feature.high + half]])
    np.testing.assert_allclose(np.diff(scale(ends)), np.diff(scale(ends)).mean(), rtol=1e-9)
    assert len(ends) == feature.bins + 1


def test_borders_are_the_nearest_doubles():
    """Powers of two are exact, whatever the machine's logarithm says; zero is a border around zero."""
    assert even_after("log", 1.0, 2.0**64, 64).tolist() == [2.0**k for k in range(1, 64)]
    assert even_after("asinh", -1e300, 1e300, 8)[3] == 0.0


numbers = st.one_of(
    st.floats(allow_nan=True), st.integers(-(10**9), 10**9).map(float), st.sampled_from(LOG.borders.tolist())
)


@given(st.lists(numbers, min_size=1, max_size=6))
@pytest.mark.parametrize("feature", [LOG, ASINH, WHOLE, DATE], ids=repr)
def test_every_carrier_gives_a_number_the_cell_between_its_borders(feature, column):
    wanted = [feature.cell_of(value) for value in column]
    for value, cell in zip(column, wanted, strict=True):
        if math.isnan(value):
            assert cell == feature.missing_cell
        else:
            assert cell == sum(border <= value for border in feature.borders)
    schema = Schema({"x": feature})
    for carrier in (
        [[value] for value in column],
        np.array(column)[:, None],
        pd.DataFrame({"x": column}),
        pl.DataFrame({"x": column}, schema={"x": pl.Float64}),
        pd.DataFrame({"x": [str(value) for value in column]}),
    ):
        assert schema.encode_features(carrier)[:, 0].tolist() == wanted


MOMENTS = ["2014-07-01", "2015-01-01", "2019-02-28T13:45:00", "2025-12-31T23:59:59", "2031-01-01"]


def test_a_moment_has_one_cell_whatever_carries_it():
    parsed = [dt.datetime.fromisoformat(text) for text in MOMENTS]
    wanted = [DATE.cell_of(text) for text in MOMENTS]
    assert wanted == sorted(wanted)
    assert (wanted[0], wanted[-1]) == (0, DATE.bins - 1)
    schema = Schema({"x": DATE})
    for carrier in (
        pd.DataFrame({"x": MOMENTS}),
        pd.DataFrame({"x": pd.to_datetime(parsed)}),
        pl.DataFrame({"x": parsed}),
        [[moment] for moment in parsed],
        np.array(parsed, "M8[us]")[:, None],
    ):
        assert schema.encode_features(carrier)[:, 0].tolist() == wanted


def test_bounds_of_dates_may_be_given_in_any_form():
    forms = (dt.date(2015, 1, 1), pd.Timestamp("2015-01-01"), np.datetime64("2015-01-01"), "2015-01-01T00:00")
    assert {Date(form, "2025-12-31") for form in forms} == {DATE}
    assert repr(DATE) == "Date('2015-01-01', '2025-12-31')"
    assert DATE.high == Date("2015-01-01", "2026-01-01T00:00:00").high - 86_400  # the last day is included
    assert Date("2015-01-01", "2025-12-31T12:00:00").high < DATE.high


@pytest.mark.parametrize("carrier", [list, lambda c: pd.DataFrame({"x": [row[0] for row in c]})])
def test_truth_has_two_cells_whatever_it_is_called(carrier):
    said = {
        0: [False, 0, 0.0, "0", "false", "FALSE", "no", "N", " off "],
        1: [True, 1, "1", "True", "YES", "t"],
    }
    unknown = {2: [None, float("nan"), "nan"], 3: ["maybe", 2, "", "ja"]}
    for cell, values in (said | unknown).items():
        cells = Schema({"x": Boolean()}).encode_features(carrier([[value] for value in values]))
        assert cells[:, 0].tolist() == [cell] * len(values)


def test_schemas_of_all_kinds_are_written_and_read_back():
    again = Schema.from_json(ALL.to_json())
    assert again == ALL == pickle.loads(pickle.dumps(ALL))
    assert [type(feature) for feature in again.features.values()] == [type(f) for f in KINDS.values()]
    for name, feature in KINDS.items():
        if isinstance(feature, Numeric):
            np.testing.assert_array_equal(again.features[name].borders, feature.borders)
    assert json.loads(ALL.to_json())["date"] == {"type": "date", "min": "2015-01-01", "max": "2025-12-31"}
    assert Numeric(1, 2) != Numeric(1, 2, transform="log")


def test_a_model_of_all_kinds_predicts_the_same_from_its_file(tmp_path):
    rng = np.random.default_rng(0)
    days = np.datetime64("2015-01-01") + rng.integers(0, 4000, 500)
    X = pd.DataFrame(
        {
            "log": rng.lognormal(5, 2, 500),
            "asinh": rng.normal(0, 5000, 500),
            "whole": rng.integers(1, 1000, 500),
            "date": days,
            "boolean": rng.random(500) < 0.5,
        }
    )
    model = PrivateForestClassifier(schema=ALL, epsilon=5).fit(X, (X["log"] > 100).astype(int))
    model.save(tmp_path / "model.json")
    np.testing.assert_array_equal(load(tmp_path / "model.json").predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Numeric(0, 1, transform="log"), "low above 0"),
        (lambda: Numeric(0, 1, transform="square"), "transform must be"),
        (lambda: Numeric(1, 1 + 1e-14, transform="log"), "finer than doubles"),
        (lambda: Date("soon", "later"), "must be a date"),
        (lambda: Date(2015, 2025), "must be a date"),
        (lambda: Date("2020-01-02", "2020-01-01T00:00:01"), "first='2020-01-02', .*: swap them"),
        (
            lambda: Schema.from_dict({"d": {"type": "date", "min": "2020-02-02", "max": "2020-01-01"}}),
            "feature 'd': first must not be after last, got first='2020-02-02'",
        ),
        (
            lambda: Schema.from_dict({"x": {"type": "numeric", "min": 9, "max": 1}}),
            "feature 'x': low must be below high, got low=9, high=1: swap them",
        ),
        (lambda: Schema.from_dict({"x": {"type": "date", "min": 0, "max": 1}}), "must be a date"),
        (lambda: Schema.from_dict({"x": {"type": "boolean", "bins": 2}}), "unknown keys"),
    ],
)
def test_what_cannot_be_declared_is_said(make, words):
    with pytest.raises(SchemaError, match=words):
        make()
