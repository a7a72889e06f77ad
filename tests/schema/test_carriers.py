"""The same value has the same cell whatever carries it: one record may change how all others are carried."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest

from dpforest import RandomDecisionTreesClassifier
from dpforest._curator import PrivateTable
from dpforest.schema import Classes, Nominal, Numeric, Schema, SchemaError

DAYS = [dt.date(2020, 1, 31), None, dt.date(1950, 7, 1)]
MIDNIGHTS = [day and dt.datetime(day.year, day.month, day.day) for day in DAYS]
CLOCKS = [dt.time(12, 30), None, dt.time(0, 0, 1)]
TICKS = [45_000 * 10**9, None, 10**9 + 999]  # nanoseconds that Python's times cannot hold


def column(values, dtype=None):
    return pa.table({"a": pa.array(values, dtype)})


def frame(values, dtype=None):
    return pd.DataFrame({"a": pd.Series(values, dtype=dtype)})


def cells(feature, table):
    return Schema({"a": feature}).encode_features(table)[:, 0].tolist()


MOMENTS = {
    "arrow date32": column(DAYS),
    "arrow date64": column(DAYS, pa.date64()),
    "arrow seconds": column(MIDNIGHTS, pa.timestamp("s")),
    "arrow in a zone": column(MIDNIGHTS, pa.timestamp("ns", "Asia/Tokyo")),
    "polars dates": pl.DataFrame({"a": DAYS}),
    "polars in a zone": pl.DataFrame({"a": MIDNIGHTS}).cast(pl.Datetime("ms", "Asia/Tokyo")),
    "pandas objects": frame(DAYS, object),
    "pandas times": frame(pd.to_datetime(DAYS)),
    "pandas seconds": frame(pd.to_datetime(DAYS), "datetime64[s]"),
    "pandas in a zone": frame(pd.to_datetime(DAYS).tz_localize("UTC").tz_convert("Asia/Tokyo")),
    "pandas categories": frame(DAYS).astype("category"),
    "pandas text": frame([day and str(day) for day in DAYS]),
    "pandas text with hours": frame([time and str(time) for time in MIDNIGHTS]),
    "pandas arrow": frame(DAYS, pd.ArrowDtype(pa.date32())),
    "numpy days": np.array(DAYS, dtype="M8[D]")[:, None],
    "numpy, other byte order": np.array(DAYS, dtype="M8[us]").astype(">M8[us]")[:, None],
    "numpy objects": np.array(DAYS, dtype=object)[:, None],
    "numpy, masked": np.ma.array(np.array(DAYS, dtype="M8[ns]")[:, None], mask=[[False], [True], [False]]),
    "lists": [[day] for day in DAYS],
}


@pytest.mark.parametrize("carrier", MOMENTS)
def test_a_date_is_the_same_day_in_every_carrier(carrier):
    assert cells(Nominal(["1950-07-01", "2020-01-31"]), MOMENTS[carrier]) == [1, 2, 0]
    assert cells(Numeric(-1e9, 3e9, bins=4), MOMENTS[carrier]) == [2, 4, 0]


@pytest.mark.parametrize(
    "table",
    [column(CLOCKS, pa.time64("us")), column(CLOCKS, pa.time32("s")), column(TICKS, pa.time64("ns")),
     pl.DataFrame({"a": CLOCKS}), frame(CLOCKS), frame(["12:30", None, "00:00:01"])],
    ids=["arrow", "arrow seconds", "arrow nanoseconds", "polars", "pandas", "text"],
)  # fmt: skip
def test_a_time_of_day_is_the_same_in_every_carrier(table):
    assert cells(Nominal(["12:30:00", "00:00:01"]), table) == [0, 2, 1]
    assert cells(Numeric(0, 86_400, bins=4), table) == [2, 4, 0]


@pytest.mark.parametrize("categories", [[True, False], ["True", "False"], [1, 0], ["1", "0"]])
def test_a_truth_value_is_the_same_in_every_carrier(categories):
    """A gap or a number beside them turns booleans into objects or doubles, a word turns them into text."""
    feature = Nominal(categories)
    for table in (
        np.array([[True], [False]]), np.array([[1.0], [0.0]]), np.array([[True], [False]], dtype=object),
        column([True, False]), column([True, False, None])[:2], pl.DataFrame({"a": [True, False]}),
        frame([True, False, None])[:2], frame([True, False, None], "boolean")[:2],
        frame([True, False, 2.5])[:2], frame(["True", "False"]),
        column([True, False]).cast(pa.schema({"a": pa.string()})),
    ):  # fmt: skip
        assert cells(feature, table) == [0, 1]


def bad_text(kind):
    offsets = pa.array([0, 1, 2, 4], pa.int32()).buffers()[1]
    torn = pa.Array.from_buffers(pa.string(), 3, [None, offsets, pa.py_buffer(b"a\xffbc")])
    return torn if kind == "string" else torn.dictionary_encode() if kind == "codes" else torn.cast(kind)


@pytest.mark.parametrize("kind", ["string", "codes", pa.large_string()], ids=str)
def test_text_that_is_not_utf8_is_other_for_its_own_row(kind):
    feature = Nominal(["a", "bc"])
    table = pa.table({"a": bad_text(kind)})
    assert cells(feature, table) == [0, 3, 1]
    assert (
        cells(feature, pa.table({"a": pa.chunked_array([bad_text(kind), bad_text(kind)])})) == [0, 3, 1] * 2
    )
    held = pd.DataFrame({"a": pd.Series(pd.arrays.ArrowExtensionArray(table.column(0)))})
    assert cells(feature, held) == [0, 3, 1]


def codes_of(values, text):
    return pa.DictionaryArray.from_arrays(np.arange(len(values), dtype=np.int8), pa.array(values, text))


@pytest.mark.parametrize("text", [pa.string(), pa.large_string(), pa.binary()], ids=str)
def test_arrow_codes_are_read_whatever_values_their_pieces_hold(text):
    """Arrow puts no dictionaries together that hold a null, or more values than their indices have room."""
    words = [[f"{piece}{i}" for i in range(100)] for piece in "ab"]
    feature = Nominal(["a0", "b99"])
    for added, its_cell in (("b99", 1), (None, 2), ("new", 3)):
        column = pa.chunked_array([codes_of(words[0], text), codes_of([*words[1], added], text)])
        for table in (pa.table({"a": column}), frame(pd.arrays.ArrowExtensionArray(column))):
            found = cells(feature, table)
            assert [found[0], *found[199:]] == [0, 1, its_cell]
            assert found[1:199] == [3] * 198
        assert Classes(["a0", "b99"]).encode(column).tolist()[199:] == [1, 1 if its_cell == 1 else -1]


def test_long_texts_behind_arrow_codes_are_read_once():
    """Decoded, these would be 4 GiB: more than the offsets of the type have room for."""
    values = pa.array(["x" * 2**20, *map(str, range(4096))])
    codes = pa.DictionaryArray.from_arrays(np.repeat([0, 1], [4095, 1]).astype(np.int32), values)
    assert cells(Nominal(["0"]), pa.table({"a": codes})) == [2] * 4095 + [0]


@pytest.mark.parametrize("odd", ["far", "torn"])
def test_pandas_arrays_and_columns_without_names_are_never_put_into_one_numpy_type(odd):
    """Neither a date that Python cannot hold nor text that is not UTF-8 may stop a fit."""
    column = pa.array([0, 2**31 - 1, 1], pa.int32()).view(pa.date32()) if odd == "far" else bad_text("string")
    held = pd.arrays.ArrowExtensionArray(column)
    label = "1970-01-01" if odd == "far" else "a"
    for y in (held, pd.Index(held), pd.Series(held)):
        assert Classes([label, "z"]).encode(y).tolist()[:2] == [0, -1]
    model = RandomDecisionTreesClassifier(1, bounds=(0, 1), classes=[0, 1])
    assert model.fit(pd.DataFrame({0: held, 1: [0.5] * 3}), [0, 1, 0]).n_features_in_ == 2


@pytest.mark.parametrize("far", [2**62, -(2**62)])
def test_a_date_far_away_is_a_number_like_any_other(far):
    feature = Numeric(0, 8, bins=4)
    end = 3 if far > 0 else 0
    for unit in ("Y", "M", "W", "D", "s", "ms"):
        assert cells(feature, np.array([far, 5]).view(f"M8[{unit}]")[:, None])[0] == end
    for unit in ("s", "ms", "us", "ns"):
        assert cells(feature, column([far, 5], pa.timestamp(unit)))[0] == end
    assert cells(feature, pl.DataFrame({"a": pl.Series([far]).cast(pl.Datetime("us"))}))[0] == end
    assert cells(feature, np.array([5]).view("M8[3s]")[:, None]) == [3]


@pytest.mark.parametrize(
    "table",
    [column([[1], None, [2]]), column([{"x": 1}, None, {"x": 2}]), pl.DataFrame({"a": [[1], None, [2]]}),
     frame([[1], None, {}]), frame([np.array([1]), None, (1,)]), [[[1]], [None], [{}]],
     frame(pd.arrays.IntervalArray.from_tuples([(0, 1), np.nan, (1, 2)])),
     column([pa.MonthDayNano([1, 1, 1]), None, pa.MonthDayNano([1, 1, 1])]),
     np.array([5, "NaT", 6], dtype="m8[Y]")[:, None]],
    ids=["arrow lists", "arrow structs", "polars lists", "pandas lists", "pandas arrays", "rows", "intervals",
         "spans of months", "spans of years"],
)  # fmt: skip
def test_what_is_neither_number_nor_text_is_other(table):
    assert cells(Nominal(["[1]", "[2]", "{}"]), table) == [4, 3, 4]
    assert cells(Numeric(0, 8, bins=4), table) == [5, 4, 5]


def test_one_gap_does_not_change_the_cells_of_an_arrow_table():
    """An Arrow table used to go through one numpy type: a gap turned 1.0 and 0.0 into True and False."""
    schema = Schema({"flag": Nominal(["True", "False"]), "x": Numeric(0, 1)}, Classes([0, 1]))
    whole = pa.table({"flag": [True, False] * 20, "x": [0.5] * 40})
    gap = pa.table({"flag": [*([True, False] * 20), None], "x": [0.5] * 41})
    model = RandomDecisionTreesClassifier(200, epsilon=float("inf"), schema=schema)
    for table in (whole, gap):
        model.fit(table, [1, 0] * 20 + [0] * (len(table) - 40))
        # A root separates the flags with a chance of 1/4 or more: hardly any of 200 does once in 10**15 runs.
        assert model.predict(whole).tolist() == [1, 0] * 20


def test_arrow_columns_are_matched_by_name():
    schema = Schema({"age": Numeric(0, 100, bins=4), "ward": Nominal(["A"])}, Classes([0, 1]))
    model = RandomDecisionTreesClassifier(1, schema=schema)
    with pytest.raises(SchemaError, match="missing columns: 'ward'"):
        model.fit(pa.table({"age": [1.0], "other": ["A"]}), [0])
    table = pa.table({"ward": ["A", None], "age": [30.0, 80.0]})
    sources = (
        table,
        table.to_batches()[0],
        pyarrow.dataset.dataset(table),
        table.to_reader(),
        table.to_pandas(),
    )
    for source in sources:
        assert schema.encode_features(source).tolist() == [[1, 0], [3, 1]]
    assert model.fit(pyarrow.dataset.dataset(table), [0, 1]).predict(table).shape == (2,)
    assert model.feature_names_in_.tolist() == ["ward", "age"]


def test_one_gap_does_not_change_the_cells_of_a_frame_without_names():
    """Such a frame used to become one array: a gap in one column made doubles of integers in another."""
    schema = Schema(
        {"id": Nominal([str(2**60), str(2**60 + 1)]), "x": Numeric(0, 4, bins=4)}, Classes([0, 1])
    )
    rows = [[2**60 + 1, 1], [2**60, 2]]
    alone = schema.encode_features(pd.DataFrame(rows)).tolist()
    for extra in ([2**60, None], [None, 1], ["x", 1], [True, "x"]):
        both = pd.DataFrame([*rows, extra])
        assert schema.encode_features(both)[:2].tolist() == alone
        assert PrivateTable(both, [0] * 3, schema).open().cells()[:2].tolist() == alone


def test_a_list_without_rows_or_with_strange_rows_fits_as_any_other():
    """Neither the number of features nor an error may come from a row of a list."""
    schema = Schema({"a": Numeric(0, 1), "b": Nominal(["x"])}, Classes([0, 1]))
    model = RandomDecisionTreesClassifier(1, schema=schema)
    for rows in (
        [],
        [[0.5, "x"]],
        [[0.5]],
        [5],
        [None],
        ["ab"],
        [[0.5, "x", 3]],
        [{"a": 1}],
        [np.zeros((2, 2))],
    ):
        assert model.fit(rows, [1] * len(rows)).n_features_in_ == 2
    with pytest.raises(ValueError, match="declares no number of features"):
        RandomDecisionTreesClassifier(bounds=(0, 1), classes=[0, 1]).fit([[0.5, 0.5]], [1])
    short = RandomDecisionTreesClassifier(bounds=([0, 0], [1, 1]), classes=[0, 1]).fit([[0.5, 0.5]], [1])
    assert short.n_features_in_ == 2
    with pytest.raises(ValueError, match="expecting 2 features"):
        short.predict([[0.5]])
