"""Tables of every library give the same cells, and each record gets its cells on its own."""

import datetime as dt
import math
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.schema import Nominal, Numeric, Ordinal, Schema
from dpforest.schema.encoding import numbers_of
from dpforest.schema.values import as_number

SCHEMA = Schema(
    {
        "size": Numeric(0, 8, bins=8),
        "count": Numeric(0, 7, integer=True, bins=8),
        "ward": Nominal(["A", "B", "1"]),
        "grade": Ordinal(["1", "2", "3"]),
        "flag": Nominal(["True", "False"]),
        "day": Numeric(0, 86_400 * 8, bins=8),
    }
)
COLUMNS = {
    "size": [0.5, None, 9.5, -1.0, 3.0],
    "count": [1, 2, None, 100, 7],
    "ward": ["A", None, "1", "Z", "B"],
    "grade": [3, None, 1, 9, 2],
    "flag": [True, False, None, True, False],
    "day": [dt.datetime(1970, 1, day) for day in (1, 3, 8)] + [None, dt.datetime(2020, 1, 1)],
}
CELLS = [
    [0, 1, 0, 2, 0, 0],
    [8, 2, 3, 3, 1, 2],
    [7, 8, 2, 0, 2, 7],
    [0, 7, 4, 4, 0, 8],
    [3, 7, 1, 1, 1, 7],
]


def test_all_libraries_agree_and_the_order_of_columns_does_not_matter(make_table):
    assert SCHEMA.encode_features(make_table(COLUMNS)).tolist() == CELLS


def test_a_record_alone_has_the_cells_it_has_in_the_table(make_table):
    for i, cells in enumerate(CELLS):
        alone = {name: values[i : i + 1] for name, values in COLUMNS.items()}
        assert SCHEMA.encode_features(make_table(alone)).tolist() == [cells]


def test_a_table_without_rows_has_no_cells():
    no_rows = pd.DataFrame({name: pd.Series(values) for name, values in COLUMNS.items()})[:0]
    for table in (no_rows, pl.from_pandas(no_rows), pa.Table.from_pandas(no_rows), np.empty((0, 6))):
        assert SCHEMA.encode_features(table).shape == (0, 6)


WORDS = ["1", None, "x", "9"]
NUMBERS = [1, None, 3]
TYPED = {
    "pandas str": pd.Series(WORDS),
    "pandas string": pd.Series(WORDS, dtype="string"),
    "pandas objects": pd.Series(WORDS, dtype=object),
    "pandas categorical": pd.Series(WORDS, dtype="category"),
    "pandas arrow text": pd.Series(WORDS, dtype=pd.ArrowDtype(pa.string())),
    "polars text": pl.Series(WORDS),
    "polars categorical": pl.Series(WORDS, dtype=pl.Categorical),
    "polars enum": pl.Series(WORDS, dtype=pl.Enum(["9", "x", "unused", "1"])),
    "arrow text": pa.array(WORDS),
    "arrow large text": pa.array(WORDS, pa.large_string()),
    "arrow text view": pa.array(WORDS, pa.string_view()),
    "arrow dictionary": pa.array(WORDS).dictionary_encode(),
    "pandas Int64": pd.Series(NUMBERS, dtype="Int64"),
    "pandas Float32": pd.Series(NUMBERS, dtype="Float32"),
    "pandas integer categories": pd.Series(NUMBERS, dtype="category"),
    "pandas arrow integers": pd.Series(NUMBERS, dtype="int64[pyarrow]"),
    "pandas decimals": pd.Series([None if v is None else Decimal(v) for v in NUMBERS]),
    "polars unsigned": pl.Series(NUMBERS, dtype=pl.UInt8),
    "polars 128 bits": pl.Series(NUMBERS, dtype=pl.Int128),
    "polars decimals": pl.Series([None if v is None else Decimal(v) for v in NUMBERS]),
    "arrow integers": pa.array(NUMBERS),
    "arrow decimals": pa.array([None if v is None else Decimal(v) for v in NUMBERS]),
}


@pytest.mark.parametrize("kind", TYPED)
def test_every_type_of_column_follows_the_law_of_a_single_value(kind):
    column = TYPED[kind]
    table = pa.table({"a": column}) if isinstance(column, pa.Array) else column.to_frame("a")
    if isinstance(column, pl.Series):
        table = pl.DataFrame({"a": column})
    values = WORDS if len(column) == len(WORDS) else NUMBERS
    for feature in (Numeric(0, 8, bins=8), Nominal(["x", "1"]), Ordinal([3, 1])):
        cells = Schema({"a": feature}).encode_features(table)[:, 0]
        assert cells.tolist() == [feature.cell_of(value) for value in values]


@pytest.mark.parametrize("missing", [pl.Series([None, None]), pl.Series([None, None], dtype=pl.String)])
def test_a_column_without_any_value_is_all_missing(missing):
    frame = pl.DataFrame({"a": missing})
    for table in (frame, frame.to_arrow(), frame.to_pandas()):
        for feature in (Numeric(0, 1), Nominal(["a"])):
            cells = Schema({"a": feature}).encode_features(table)[:, 0]
            assert cells.tolist() == [feature.missing_cell] * 2


@pytest.mark.parametrize("unit", ["D", "s", "ms", "us", "ns"])
def test_times_are_seconds_whatever_their_unit(unit):
    times = np.array(["1970-01-02", "1970-01-05", "NaT"], dtype=f"M8[{unit}]")
    spans = times - np.datetime64(0, unit)
    schema = Schema({"a": Numeric(0, 86_400 * 8, bins=8)})
    for column in (times, spans):
        assert schema.encode_features(column[:, None])[:, 0].tolist() == [1, 4, 8]
        if unit != "D":
            frame = pl.DataFrame({"a": column if unit != "s" else column.astype(f"{column.dtype.kind}8[ms]")})
            for table in (frame, frame.to_arrow(), frame.to_pandas()):
                assert schema.encode_features(table)[:, 0].tolist() == [1, 4, 8]
    zoned = pd.DataFrame({"a": pd.to_datetime(["1970-01-02 01:00+01:00"])})
    assert (
        schema.encode_features(zoned).tolist()
        == schema.encode_features(pl.from_pandas(zoned)).tolist()
        == [[1]]
    )


@pytest.mark.parametrize("dtype", ["i8", "f4", "U1", object, "m8[s]"])
def test_masked_cells_are_missing(dtype):
    table = np.ma.array(np.array([[1, 2], [3, 4]]).astype(dtype), mask=[[False, True], [False, False]])
    schema = Schema.from_bounds((0, 8), n_features=2, bins=8)
    for rows in (table, list(table), [list(row) for row in table]):
        assert schema.encode_features(rows).tolist() == [[1, 8], [3, 4]]


def test_rows_may_be_anything_with_one_dimension():
    schema = Schema.from_bounds((0, 8), n_features=2, bins=8)
    for row in ([1, 2], (1, 2), np.array([1, 2]), pd.Series([1, 2]), range(1, 3)):
        assert schema.encode_features([row]).tolist() == [[1, 2]]


def test_numbers_are_compared_as_doubles_whatever_carries_them():
    """A gap turns integers into doubles; the cells of large ones must not change with it."""
    schema = Schema({"a": Nominal([2**53, 2**60])})
    values = [2**53 + 1, 2**60 + 1, 2**53 + 2]
    for column in (values, [float(v) for v in values], [*values[:2], None]):
        cells = [0, 1, 3 if column[2] is not None else 2]
        for table in ([[v] for v in column], pd.DataFrame({"a": column}), pl.DataFrame({"a": column})):
            assert schema.encode_features(table)[:, 0].tolist() == cells


ROWS = st.lists(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=3),
        st.sampled_from(["1", "1.0", "01", "True", "nan", "x", 1, 1.0, True, 2**53 + 1, 10**400]),
    ),
    min_size=1,
    max_size=12,
)
FEATURES = [
    Numeric(0, 4, bins=4),
    Nominal(["1", "x", "True"]),
    Ordinal([True, False]),
    Nominal([0, 1, 2**53 + 1]),
]


@settings(max_examples=200, deadline=None)
@given(ROWS)
def test_no_record_changes_the_cells_of_another(rows):
    """Neighbours differ in one record: whatever it holds, the others keep their cells, without a warning."""
    tables = [[[value] for value in rows], pd.DataFrame({"a": pd.Series(rows, dtype=object)})]
    for feature in FEATURES:
        alone = [feature.cell_of(value) for value in rows]
        assert all(0 <= cell < feature.n_cells for cell in alone)
        for table in tables:
            assert Schema({"a": feature}).encode_features(table)[:, 0].tolist() == alone


TEXTS = st.one_of(
    st.none(),
    st.text(max_size=4),
    st.text(alphabet="0123456789.eE+-_ naif\u0661\x1c", max_size=6),
    st.sampled_from(["true", "2020-01-31", "12:30", "1_0", "\u0661", "inf", "nan", "1e400"]),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(TEXTS, max_size=6), st.booleans())
def test_many_texts_are_read_as_each_of_them_is(texts, as_bytes):
    if as_bytes:
        texts = [text and text.encode("utf-8", "surrogatepass") for text in texts]
    numbers, other = numbers_of(texts)
    alone = [as_number(text) for text in texts]
    assert other.tolist() == [place for place, number in enumerate(alone) if number is None]
    assert repr(numbers.tolist()) == repr([math.nan if number is None else number for number in alone])


@pytest.mark.parametrize("feature", [Numeric(0, 4, bins=4), Nominal([1, 2, 3]), Ordinal(["1", "2", "3"])])
@pytest.mark.parametrize("intruder", [None, math.nan, 2.5, "word", True])
def test_a_record_that_changes_the_type_of_a_column_leaves_the_others_alone(feature, intruder):
    """What a reader of files does: a gap turns integers into floats, a word turns numbers into text."""
    schema, values = Schema({"a": feature}), [1, 2, 3]
    expected = schema.encode_features(pd.DataFrame({"a": values}))[:, 0].tolist()
    for with_intruder in (
        pd.DataFrame({"a": [*values, intruder]}),
        pd.DataFrame({"a": pd.Series([*values, intruder]).astype(str)}),
        pd.DataFrame({"a": pd.Series([*map(float, values), intruder]).astype(str)}),
    ):
        assert schema.encode_features(with_intruder)[:3, 0].tolist() == expected
