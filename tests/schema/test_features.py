"""Cells of single values, the borders between them, and what a declaration refuses."""

import datetime as dt
import math
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpforest.schema import Classes, Nominal, Numeric, Ordinal, Range, Schema, SchemaError


class Hostile:
    """Raises whatever is asked of it."""

    def __str__(self):
        raise RuntimeError("secret value 4711")

    __float__ = __hash__ = __eq__ = __str__


MISSING = [
    None,
    math.nan,
    np.float32("nan"),
    pd.NA,
    pd.NaT,
    np.datetime64("NaT"),
    Decimal("NaN"),
    Decimal("sNaN"),
]
NOT_NUMBERS = ["abc", "", "?", "12:3", 1j, np.complex128(1), [1], np.array([1]), {}, b"\xff", Hostile()]


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        *[(value, 8) for value in [*MISSING, "nan"]],
        *[(value, 9) for value in NOT_NUMBERS],
        (0, 0),
        (0.999, 0),
        (1, 1),
        (True, 1),
        (np.int8(3), 3),
        (" 3.5 ", 3),
        (b"3", 3),
        (Decimal("3.5"), 3),
        (Fraction(7, 2), 3),
        (math.inf, 7),
        (-math.inf, 0),
        (10**400, 7),
        (-(10**400), 0),
        ("1e999", 7),
        (dt.datetime(1970, 1, 1, 0, 0, 5), 5),
        (dt.datetime(1970, 1, 1, 1, 0, 5, tzinfo=dt.timezone(dt.timedelta(hours=1))), 5),
        (pd.Timestamp("1970-01-01 00:00:05"), 5),
        (np.datetime64("1970-01-01T00:00:05"), 5),
        ("1970-01-01 00:00:05", 5),
        ("1970-01-01T01:00:05+01:00", 5),
        (dt.time(0, 0, 5), 5),
        ("00:00:05", 5),
        ("True", 1),
        ("true", 1),
        (np.datetime64(400_000, "Y"), 7),
        (np.datetime64(-(2**62), "Y"), 0),
        (np.datetime64(2**62, "s"), 7),
        (np.timedelta64(5, "Y"), 9),
        (dt.date(1970, 1, 1), 0),
        (dt.timedelta(seconds=5), 5),
        (np.timedelta64(5, "s"), 5),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_number_of_any_type_falls_on_the_grid(value, cell):
    assert Numeric(0, 8, bins=8).cell_of(value) == cell


@pytest.mark.parametrize("value", [*MISSING, *NOT_NUMBERS], ids=lambda value: type(value).__name__)
def test_no_value_upsets_a_list_of_categories(value):
    cell = Nominal(["a", "b"]).cell_of(value)
    assert cell == (2 if any(value is m for m in MISSING) else 3)


@pytest.mark.parametrize(
    ("categories", "value", "cell"),
    [
        (["1", "2"], 2.0, 1),
        (["1", "2"], "2.0", 1),
        ([1, 2], "2", 1),
        ([1, 2], Decimal(2), 1),
        ([1, 2], True, 0),
        ([0.5, 1.5], "1.5", 1),
        ([False, True], True, 1),
        ([False, True], "True", 1),
        ([False, True], 1, 1),
        (["True", "False"], True, 0),
        (["True", "False"], 1.0, 0),
        (["True", "False"], "false", 1),
        (["True", "1"], "True", 0),
        (["True", "1"], True, 1),
        (["True", "1"], 1, 1),
        (["01", "1"], 1, 1),
        (["01", "1"], "01", 0),
        (["01"], 1, 0),
        (["more", "2"], 2.0, 1),
        (["nan", "a"], "nan", 0),
        (["nan", "a"], math.nan, 2),
        (["b", "a"], "NaN", 2),
        (["inf", "a"], math.inf, 3),
        (["?", "a"], "?", 0),
        (["b", "a"], "?", 3),
        (["a", "b"], "A", 3),
        (["a", "b"], " a", 3),
        ([2**60, 1], 2**60 + 1, 0),
        ([str(2**60), str(2**60 + 1)], str(2**60 + 1), 1),
        ([str(2**60), str(2**60 + 1)], 2**60 + 1, 0),
        ([str(10**400), "1"], str(10**400), 0),
        ([str(10**400), "1"], 10**400, 3),
        (["2020-01-31", "b"], dt.date(2020, 1, 31), 0),
        (["2020-01-31", "b"], dt.datetime(2020, 1, 31), 0),
        (["2020-01-31", "b"], pd.Timestamp("2020-01-31 01:00", tz="Europe/Berlin"), 0),
        (["2020-01-31", "b"], np.datetime64("2020-01-31", "ns"), 0),
        (["2020-01-31", "b"], "2020-01-31 00:00:00", 0),
        (["2020-01-31", "b"], dt.date(2020, 2, 1), 3),
        (["12:30", "b"], dt.time(12, 30), 0),
        ([86_400, "b"], dt.timedelta(days=1), 0),
        ([86_400, "b"], pd.Timedelta(days=1), 0),
        ([0, "b"], dt.date(1970, 1, 1), 3),
        (["[1]", "b"], [1], 3),
    ],
)
def test_categories_match_by_text_or_by_number(categories, value, cell):
    assert Nominal(categories).cell_of(value) == cell
    assert Ordinal(categories).cell_of(value) == cell


grids = st.builds(
    lambda low, width, power, integer: Numeric(
        math.floor(low) if integer else low,
        math.floor(low) + math.ceil(width) if integer else low + width,
        integer=integer,
        bins=2**power,
    ),
    st.floats(-1e6, 1e6),
    st.floats(1e-2, 1e6),
    st.integers(1, 12),
    st.booleans(),
)


@given(grids, st.data())
def test_a_threshold_value_splits_numbers_as_its_cell_does(feature, data):
    cell = data.draw(st.integers(0, feature.bins - 1))
    border = feature.threshold_value(cell)
    near = [np.nextafter(border, side) for side in (-math.inf, border, math.inf)]
    near = [x for x in near if math.isfinite(x)]
    for x in [*near, data.draw(st.floats(allow_nan=False, allow_infinity=False)), 0.0, -1e-300]:
        assert (feature.cell_of(x) <= cell) == (x < border)


def test_the_plain_formula_would_break_that_promise():
    """Rounding sends a number just below the border 0 to the cell above it; so the borders decide."""
    feature, x = Numeric(-1, 1), -1e-17
    naive = math.floor((x - feature.low) * feature.bins / (feature.high - feature.low))
    assert x < feature.threshold_value(127) == 0.0
    assert (naive, feature.cell_of(x)) == (128, 127)


def test_whole_numbers_share_the_cells_evenly():
    feature = Numeric(1, 4, integer=True, bins=8)
    assert [feature.cell_of(x) for x in (1, 2, 3, 4)] == [1, 3, 5, 7]
    assert [feature.threshold_value(cell) for cell in (1, 3, 5)] == [1.5, 2.5, 3.5]


def test_missing_and_other_are_the_topmost_cells_of_every_axis():
    for feature, n_known in ((Numeric(0, 1), 256), (Ordinal(["a", "b"]), 2), (Nominal(["a", "b", "c"]), 3)):
        assert feature.n_known == feature.missing_cell == n_known
        assert feature.other_cell == n_known + 1 == feature.n_cells - 1
        assert feature.is_nominal == isinstance(feature, Nominal)


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda: Numeric(1, 1), "below"),
        (lambda: Numeric(2, 1), "below"),
        (lambda: Numeric(math.nan, 1), "finite"),
        (lambda: Numeric(0, math.inf), "finite"),
        (lambda: Numeric(0, 10**400), "finite"),
        (lambda: Numeric("0", 1), "number"),
        (lambda: Numeric(None, 1), "number"),
        (lambda: Numeric(False, True), "number"),
        (lambda: Numeric(-1e308, 1e308), "far apart"),
        (lambda: Numeric(0, 1, bins=100), "power of two"),
        (lambda: Numeric(0, 1, bins=1), "from 2"),
        (lambda: Numeric(0, 1, bins=2**17), "65536"),
        (lambda: Numeric(0, 1, bins=256.0), "whole"),
        (lambda: Numeric(0, 1, integer="yes"), "True or False"),
        (lambda: Numeric(0.5, 3, integer=True), "whole"),
        (lambda: Numeric(1e15, 1e15 + 1), "finer than doubles"),
        (lambda: Numeric(0, 1e-307), "finer than doubles"),
        (lambda: Numeric(0, 5e-324), "finer than doubles"),
        (lambda: Numeric(0, 1).threshold_value(256), "thresholds"),
        (lambda: Nominal([]), "entries"),
        (lambda: Nominal("abc"), "list"),
        (lambda: Nominal({"a", "b"}), "list"),
        (lambda: Nominal(range(65_537)), "65536"),
        (lambda: Nominal(["a", "a"]), "twice"),
        (lambda: Nominal([1, "1"]), "twice"),
        (lambda: Nominal([1, 1.0]), "twice"),
        (lambda: Nominal([1, True]), "twice"),
        (lambda: Nominal([2**60, 2**60 + 1]), "same number as doubles.*as text"),
        (lambda: Nominal([2**53 + 1, 2.0**53]), "same number as doubles.*as text"),
        (lambda: Classes([10**400]), "too large.*as text"),
        (lambda: Nominal(["a", None]), "missing"),
        (lambda: Nominal([1.0, math.nan]), "missing"),
        (lambda: Nominal([("a",)]), "text"),
        (lambda: Ordinal([math.inf]), "text"),
        (lambda: Classes([0, 0]), "twice"),
        (lambda: Classes([0, "a"]), "sorted"),
        (lambda: Range(1, 0), "below"),
        (lambda: Range(0, 1, levels=0), "levels"),
        (lambda: Schema({}), "at least one"),
        (lambda: Schema({"": Numeric(0, 1)}), "names"),
        (lambda: Schema({1: Numeric(0, 1)}), "names"),
        (lambda: Schema({"a": Classes([0, 1])}), "'a'"),
        (lambda: Schema({"a": Numeric(0, 1)}, target=[0, 1]), "target"),
    ],
)
def test_wrong_declarations_say_what_is_wrong(declare, message):
    with pytest.raises(SchemaError, match=message):
        declare()


def test_declarations_are_values():
    one = Schema({"a": Numeric(0, 1), "b": Nominal([1, 2])}, Classes(["x", "y"]))
    two = Schema(
        {"a": Numeric(0.0, np.float32(1)), "b": Nominal(np.array([1, 2]))}, Classes(pd.Index(["y", "x"]))
    )
    assert one == two
    assert hash(one) == hash(two)
    assert one != Schema(dict(reversed(one.features.items())), one.target)
    assert Nominal([1, 0]) != Nominal([True, False])
    assert Numeric(-0.0, 1) == Numeric(0, 1)
    stored = pickle.dumps(one)
    assert pickle.loads(stored) == one
    assert not [kept for kept in (b"table", b"borders", b"_encoder") if kept in stored]  # made for speed
    with pytest.raises(TypeError):
        one.features["a"] = Numeric(0, 2)


def test_a_long_schema_has_a_short_repr():
    schema = Schema(dict.fromkeys(map(str, range(500)), Nominal(range(5000))), Range(0, 1))
    assert len(repr(schema)) < 500
    assert "500 features" in repr(schema)
