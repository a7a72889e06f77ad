"""Schemas from descriptions of other libraries: limits are taken over, and what has none is named."""

from types import SimpleNamespace

import pandas as pd
import pytest

from dpforest.schema import Boolean, Classes, Date, Nominal, Numeric, Range, Schema, SchemaError

FIELDS = [
    {"name": "age", "type": "integer", "constraints": {"minimum": 18, "maximum": 100, "required": True}},
    {"name": "crp", "type": "number", "constraints": {"minimum": 0, "maximum": 500}},
    {"name": "ward", "type": "string", "constraints": {"enum": ["A", "B"]}},
    {"name": "smokes", "type": "boolean"},
    {"name": "since", "type": "date", "constraints": {"minimum": "2015-01-01", "maximum": "2020-12-31"}},
    {"name": "outcome", "constraints": {"enum": ["home", "died"]}},
]
FEATURES = {
    "age": Numeric(18, 100, integer=True),
    "crp": Numeric(0, 500),
    "ward": Nominal(["A", "B"]),
    "smokes": Boolean(),
    "since": Date("2015-01-01", "2020-12-31"),
}


def pandera_column(dtype, *statistics):
    """What a column of pandera 0.35 has, as far as it is looked at."""
    return SimpleNamespace(dtype=dtype, checks=[SimpleNamespace(statistics=one) for one in statistics])


def test_frictionless_limits_become_a_schema():
    found = Schema.from_frictionless({"fields": FIELDS}, target="outcome")
    assert found == Schema(FEATURES, Classes(["home", "died"]))
    assert Schema.from_frictionless({"fields": FIELDS[:2]}, target="crp").target == Range(0, 500)
    assert Schema.from_frictionless({"fields": FIELDS[:5]}).target is None


def test_pandera_checks_become_a_schema():
    between = {"min_value": 18, "max_value": 100, "include_min": True, "include_max": True}
    columns = {
        "age": pandera_column("int64", between),
        "crp": pandera_column("float64", {"min_value": 0}, {"max_value": 500}),
        "ward": pandera_column("string[pyarrow]", {"allowed_values": ["A", "B"]}),
        "smokes": pandera_column("bool"),
        "since": pandera_column("datetime64[ns]", {"min_value": "2015-01-01"}, {"max_value": "2020-12-31"}),
        "outcome": pandera_column("category", {"allowed_values": ["home", "died"]}, None),
    }
    found = Schema.from_pandera(SimpleNamespace(columns=columns), target="outcome")
    assert found == Schema(FEATURES, Classes(["home", "died"]))

    class Model:  # as a DataFrameModel, and categories in the type alone
        @classmethod
        def to_schema(cls):
            listed = pandera_column(pd.CategoricalDtype(["home", "died"]))
            return SimpleNamespace(columns=columns | {"outcome": listed})

    assert Schema.from_pandera(Model, target="outcome") == found


@pytest.mark.parametrize(
    ("description", "target", "words"),
    [
        ({"fields": [{"name": "free", "type": "string"}]}, None, "may occur in 'free'"),
        ({"fields": [{"name": "half", "type": "number", "constraints": {"minimum": 0}}]}, None, "'half'"),
        ({"fields": FIELDS}, "lost", "no column 'lost'"),
        ({"columns": []}, None, "list 'fields'"),
        ({"fields": ["age"]}, None, "list 'fields'"),
    ],
)
def test_what_has_no_limits_is_named(description, target, words):
    with pytest.raises(SchemaError, match=words):
        Schema.from_frictionless(description, target)
    with pytest.raises(SchemaError, match="DataFrameSchema"):
        Schema.from_pandera(description, target)
