"""`Schema.check`: what an owner is told about values that a fit would pass over without a word."""

import pickle

import numpy as np
import pytest

import dpforest
from dpforest.schema import Classes, Date, Nominal, Numeric, Ordinal, Range, Schema

SCHEMA = Schema(
    {"age": Numeric(0, 120), "ward": Nominal(["A", "B"]), "pain": Ordinal(["no", "yes"])}, Classes([0, 1])
)


def test_every_kind_of_misfit_is_counted():
    rows = [
        [33, "A", "no"],
        [150, "B", "No"],
        ["12,5", " A ", None],
        ["31.12.2020", "C", "maybe"],
        [None, None, "yes"],
        ["2020-12-31", "a", "yes"],
    ]
    found = SCHEMA.check(rows, ["no", "yes", 0, 1, None, "1"])
    age, ward, pain, label = found.columns
    assert (age.rows, age.missing, age.undeclared, age.clipped) == (6, 1, 2, 2)
    assert dict(age.oddities) == {"comma": 1, "date": 1, "moment": 1}
    assert (ward.missing, ward.undeclared, dict(ward.oddities)) == (1, 3, {"space": 1, "case": 1})
    assert (pain.missing, pain.undeclared, dict(pain.oddities)) == (1, 2, {"case": 1})
    assert (label.missing, label.undeclared, label.fits) == (1, 2, True)
    assert [one["column"] for one in found.to_records()] == ["age", "ward", "pain", "target"]


@pytest.mark.parametrize("kind", ["list", "array", "frame", "polars"])
def test_labels_that_match_no_class_are_found_whatever_carries_them(kind):
    import pandas as pd
    import polars as pl

    schema = Schema({"x": Numeric(0, 1)}, Classes([0, 1]))
    X, y = np.random.default_rng(0).random((50, 1)), np.array(["no", "yes"] * 25)
    tables = {
        "list": (X.tolist(), y.tolist()),
        "array": (X, y),
        "frame": (pd.DataFrame(X, columns=["x"]), pd.Series(y)),
        "polars": (pl.DataFrame({"x": X[:, 0]}), pl.Series(y)),
    }
    found = schema.check(*tables[kind])
    assert not found.fits
    assert found.columns[0].fits
    assert "no label is a declared class" in str(found)


def test_a_good_table_fits_and_a_range_is_checked_too():
    schema = Schema({"x": Numeric(0, 1)}, Range(0, 10))
    found = schema.check([[0.5], [0.7]], [5, 50])
    assert found.fits
    assert found.columns[1].clipped == 1
    assert not schema.check([[0.5], [0.7]], [50, 50]).fits
    assert schema.check([[0.5]]).columns[0].rows == 1


def test_nothing_of_it_is_kept():
    schema = Schema({"x": Numeric(0, 1)}, Classes([0, 1]))
    before = pickle.dumps(schema)
    schema.check([[0.5], [7.0]], [0, 1])
    assert pickle.dumps(schema) == before
    model = dpforest.DiPriMeForestClassifier(1, max_depth=1, schema=schema)
    assert "clipped" not in str(vars(model.fit([[0.5], [7.0]], [0, 1])))


def test_dates_where_dates_are_declared_are_not_odd():
    schema = Schema({"day": Date("2020-01-01", "2024-12-31")})
    (day,) = schema.check([["2021-05-01"], ["2022-01-31"]]).columns
    assert not day.oddities
    assert day.undeclared == day.clipped == 0
