"""Tables that do not fit are refused by shape, type and names; no message ever tells a value."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

from dpforest.schema import Classes, Nominal, Numeric, Schema, SchemaError

SCHEMA = Schema({"age": Numeric(0, 120), "ward": Nominal(["A", "B"])}, Classes(["no", "yes"]))
SECRET = 4711.25


def frame(*names):
    return pd.DataFrame([[SECRET] * len(names)], columns=list(names))


BAD = {
    "missing column": (frame("age"), "missing columns: 'ward'"),
    "extra column": (frame("age", "ward", "id"), "not in the schema: 'id'"),
    "other names": (frame("a", "b"), "missing columns: 'age', 'ward'; columns not in the schema: 'a', 'b'"),
    "unnamed columns": (pd.DataFrame([[SECRET, SECRET]]), "missing columns"),
    "names of two levels": (frame(("age", "x"), ("ward", "y")), "missing columns"),
    "repeated names": (frame("age", "ward", "ward"), "same name"),
    "polars": (pl.DataFrame({"age": [SECRET]}), "missing columns"),
    "arrow": (pa.table({"age": [SECRET]}), "missing columns"),
    "too many columns": (
        np.full((2, 3), SECRET),
        "X has 3 features, but Forest is expecting 2 features as input",
    ),
    "too few columns": ([[SECRET]], "X has 1 features, but Forest is expecting 2 features as input"),
    "one dimension": (np.full(2, SECRET), "Expected 2D array, got 1D array instead"),
    "reshape": (np.full(2, SECRET), "Reshape your data"),
    "series": (pd.Series([SECRET, SECRET]), "Reshape your data"),
    "list of numbers": ([SECRET, SECRET], "Reshape your data"),
    "three dimensions": (np.full((1, 2, 2), SECRET), "got 3D array"),
    "number": (SECRET, "got scalar array"),
    "dictionary": ({"age": [SECRET], "ward": ["A"]}, "got scalar array"),
    "nothing": (None, "got scalar array"),
    "text": (str(SECRET), "got scalar array"),
    "ragged rows": ([[SECRET, "A"], [SECRET]], "rows must have equal length"),
    "ragged arrays": ([np.full((2, 2), SECRET), np.full((2, 3), SECRET)], "rows of equal length"),
    "sparse matrix": (scipy.sparse.csr_matrix(np.full((2, 2), SECRET)), "Sparse.*toarray"),
    "sparse array": (scipy.sparse.csc_array(np.full((2, 2), SECRET)), "Sparse.*toarray"),
    "complex": (np.full((2, 2), SECRET + 1j), "Complex data not supported"),
    "lazy frame": (pl.LazyFrame({"age": [SECRET], "ward": ["A"]}), "collect"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_table_that_does_not_fit_is_refused_without_telling_a_value(case):
    table, message = BAD[case]
    with pytest.raises((SchemaError, TypeError), match=message) as caught:
        SCHEMA.encode_features(table, owner="Forest")
    assert "4711" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_a_frame_with_numbered_columns_matches_a_schema_with_those_names():
    schema = Schema.from_bounds((0, 1), names=["0", "1"], bins=2)
    assert schema.encode_features(pd.DataFrame([[0.1, 0.9]])).tolist() == [[0, 1]]
    with pytest.raises(SchemaError, match="differ in type only"):
        schema.encode_features(pd.DataFrame([[0.1, 0.9, 0.5]], columns=[0, 1, "1"]))


@pytest.mark.parametrize("n_threads", [0, -1, 1.5, True])
def test_the_number_of_threads_is_a_positive_whole_number(n_threads):
    with pytest.raises(SchemaError, match="n_threads"):
        SCHEMA.encode_features([[1, "A"]], n_threads=n_threads)


def test_a_library_that_fails_on_a_column_is_not_heard(monkeypatch):
    """Matching by another library may fail and show the values; the column is then read value by value."""
    import narwhals as nw

    def fail(self, old, *_args, **_kwargs):
        raise ValueError(f"could not replace {old}")

    table = pd.DataFrame({"age": [30], "ward": ["B"]})
    expected = SCHEMA.encode_features(table).tolist()
    monkeypatch.setattr(nw.Series, "replace_strict", fail)
    assert SCHEMA.encode_features(table).tolist() == expected


def test_importing_the_schema_imports_no_heavy_library():
    program = (
        "import sys; import dpforest.schema as s\n"
        "schema = s.Schema({'a': s.Nominal(['x'])}, s.Range(0, 1)); schema.to_json(); repr(schema)\n"
        "heavy = {'numba', 'pandas', 'polars', 'pyarrow', 'sklearn', 'scipy', 'matplotlib'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
