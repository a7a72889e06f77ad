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
from dpforest.schema.columns import items
from dpforest.schema.encoding import cells_of

SCHEMA = Schema({"age": Numeric(0, 120), "ward": Nominal(["A", "B"])}, Classes(["no", "yes"]))
SECRET = 4711.25


class Failing:
    def __array__(self, *_args, **_options):
        raise ValueError(f"cannot convert {SECRET}")


def frame(*names):
    return pd.DataFrame([[SECRET] * len(names)], columns=list(names))


BAD = {
    "missing column": (frame("age"), "missing columns: 'ward'"),
    "extra column": (frame("age", "ward", "id"), "not in the schema: 'id'"),
    "other names": (frame("age", "b"), "missing columns: 'ward'; columns not in the schema: 'b'"),
    "a record as names": (frame("4711.25", "A"), "missing columns: 'age', 'ward'; none of its columns is"),
    "unnamed columns": (pd.DataFrame([[SECRET] * 3]), "X has 3 features, but Forest is expecting 2"),
    "names of two levels": (frame(("age", "x"), ("ward", "y")), "several levels. Flatten"),
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
    "ragged rows": ([[SECRET, "A"], [SECRET]], "rows of equal length"),
    "list of tables": ([np.full((2, 2), SECRET), np.full((2, 3), SECRET)], "Expected 2D array"),
    "structured": (np.zeros(2, dtype=[("age", "f8"), ("ward", "U1")]), "structured array"),
    "an array that fails": (Failing(), "cannot be read as an array"),
    "sparse matrix": (scipy.sparse.csr_matrix(np.full((2, 2), SECRET)), "Sparse.*toarray"),
    "sparse array": (scipy.sparse.csc_array(np.full((2, 2), SECRET)), "Sparse.*toarray"),
    "complex": (np.full((2, 2), SECRET + 1j), "Complex data not supported"),
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


def test_a_frame_without_names_is_taken_by_position():
    table = pd.DataFrame([[30, "B"], [40, "A"]])
    assert SCHEMA.encode_features(table).tolist() == SCHEMA.encode_features([[30, "B"], [40, "A"]]).tolist()


def test_a_library_that_fails_on_a_value_is_not_heard():
    """A value that its own library cannot hand out is other; the message of the library is never seen."""

    def get(place):
        if place == 1:
            raise ValueError(f"cannot read {SECRET}")
        return "B"

    column = items(3, get, lambda: [get(place) for place in range(3)])
    assert cells_of(column, SCHEMA.features["ward"]).tolist() == [1, 3, 1]


def test_importing_the_schema_imports_no_heavy_library():
    program = (
        "import sys; import dpforest.schema as s\n"
        "schema = s.Schema({'a': s.Nominal(['x'])}, s.Range(0, 1)); schema.to_json(); repr(schema)\n"
        "heavy = {'numba', 'pandas', 'polars', 'pyarrow', 'sklearn', 'scipy', 'matplotlib'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
