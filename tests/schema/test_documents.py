"""The written form: strict to read, and read back as it was."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.schema import Classes, Nominal, Numeric, Ordinal, Range, Schema, SchemaError

DOCUMENT = {
    "age": {"type": "integer", "min": 18, "max": 100},
    "crp": {"type": "numeric", "min": 0, "max": 0.5, "bins": 1024},
    "ward": {"type": "categorical", "categories": ["A", "?", "Ü"]},
    "pain": {"type": "ordinal", "levels": [0, 1, 2]},
    "target": {"type": "class", "categories": [False, True]},
}


def test_a_document_says_what_it_means():
    assert Schema.from_dict(DOCUMENT) == Schema(
        {
            "age": Numeric(18, 100, integer=True),
            "crp": Numeric(0, 0.5, bins=1024),
            "ward": Nominal(["A", "?", "Ü"]),
            "pain": Ordinal([0, 1, 2]),
        },
        Classes([False, True]),
    )


def test_documents_come_back_as_they_were(tmp_path):
    schema = Schema.from_dict(DOCUMENT)
    assert schema.to_dict() == DOCUMENT
    text = schema.to_json(tmp_path / "schema.json")
    for source in (text, tmp_path / "schema.json", str(tmp_path / "schema.json"), "\n " + text):
        assert Schema.from_json(source) == schema


bound = st.floats(-1e6, 1e6)
levels = st.lists(
    st.one_of(
        st.text(max_size=5), st.integers(), st.booleans(), st.floats(allow_nan=False, allow_infinity=False)
    ),
    min_size=1,
    max_size=6,
    unique_by=(lambda v: str(v), lambda v: v if not isinstance(v, str) else ("text", v)),
)
feature = st.one_of(
    st.builds(lambda a, b, p: Numeric(a, a + 1 + abs(b), bins=2**p), bound, bound, st.integers(1, 12)),
    st.builds(lambda a, b: Numeric(a, a + 1 + b, integer=True), st.integers(-99, 99), st.integers(0, 99)),
    levels.map(Nominal),
    levels.map(Ordinal),
)
target = st.one_of(
    st.none(),
    st.builds(lambda a, b, k: Range(a, a + 1 + abs(b), levels=k), bound, bound, st.integers(1, 9999)),
    st.lists(st.text(max_size=5), min_size=1, max_size=5, unique=True).map(Classes),
)


@settings(max_examples=50)
@given(st.dictionaries(st.text(min_size=1, max_size=5), feature, min_size=1, max_size=4), target)
def test_any_schema_survives_json(features, target):
    schema = Schema(features, target)
    assert Schema.from_json(schema.to_json()) == schema
    assert (
        Schema.from_json(schema.to_json(target="the outcome"), target="the outcome" if target else None)
        == schema
    )


def test_the_target_may_have_another_name_or_be_absent():
    other = {"age": DOCUMENT["age"], "outcome": DOCUMENT["target"]}
    assert Schema.from_dict(other, target="outcome").target == Classes([False, True])
    assert Schema.from_dict({"age": DOCUMENT["age"]}).target is None
    range_target = {"age": DOCUMENT["age"], "target": {"type": "numeric", "min": 0, "max": 9, "levels": 90}}
    assert Schema.from_dict(range_target).target == Range(0, 9, levels=90)
    assert Schema.from_dict(range_target).to_dict() == range_target
    with pytest.raises(SchemaError, match="no entry 'outcom'"):
        Schema.from_dict(other, target="outcom")
    with pytest.raises(SchemaError, match=r"feature 'outcome'.*name it with target="):
        Schema.from_dict(other)
    with pytest.raises(SchemaError, match="already named 'target'"):
        Schema({"target": Numeric(0, 1)}, Range(0, 1)).to_dict()


def entry(**keys):
    return json.dumps({"age": keys})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (entry(type="number", min=0, max=1), "feature 'age' has type 'number'; use one of 'numeric'"),
        (entry(min=0, max=1), "feature 'age' has type None"),
        (entry(type=["numeric"]), "feature 'age' has type"),
        (entry(type="numeric", min=0), "'age' of type 'numeric' lacks 'max'"),
        (entry(type="categorical"), "'age' of type 'categorical' lacks 'categories'"),
        (entry(type="numeric", min=0, max=1, bin=4), "unknown keys 'bin'; it may have 'bins'"),
        (entry(type="numeric", min=1, max=0), "feature 'age': low must be below high"),
        (entry(type="numeric", min=1, max=1), "feature 'age': low must be below high"),
        (entry(type="numeric", min=0, max="1"), "feature 'age': max must be a number"),
        (entry(type="numeric", min=None, max=1), "feature 'age': min must be a number"),
        (entry(type="numeric", min=False, max=True), "feature 'age': min must be a number"),
        (entry(type="numeric", min=0, max=1, bins=100), "feature 'age': bins must be a power of two"),
        (entry(type="integer", min=0.5, max=3), "feature 'age': bounds of whole numbers"),
        (entry(type="categorical", categories="ab"), "feature 'age': categories must be a list"),
        (entry(type="categorical", categories={"a": 1}), "feature 'age': categories must be a list"),
        (entry(type="categorical", categories=["a", "a"]), "feature 'age': categories lists 'a' twice"),
        (
            entry(type="categorical", categories=["a", None]),
            "feature 'age': categories lists a missing value",
        ),
        (entry(type="categorical", categories=["a", ["b"]]), "feature 'age': categories may hold"),
        (
            entry(type="categorical", categories=list(range(65_537))),
            "feature 'age': categories must have from 1",
        ),
        (entry(type="ordinal", levels=[]), "feature 'age': levels must have from 1"),
        ('{"age": 5}', "feature 'age' must be a mapping"),
        ('{"age": {"type": "numeric", "min": NaN, "max": 1}}', "NaN"),
        ('{"age": {"type": "numeric", "min": 0, "max": Infinity}}', "Infinity"),
        (
            '{"age": {"type": "numeric", "min": 0, "max": 1e999}}',
            "feature 'age': max must be a finite number",
        ),
        (
            '{"age": {"type": "numeric", "min": 0, "max": 1' + "0" * 400 + "}}",
            "feature 'age': max must be a finite",
        ),
        ('{"age": {"type": "numeric", "min": 0, "max": 1' + "0" * 5000 + "}}", "not valid JSON"),
        ('{"age": {}, "age": {}}', "names 'age' twice"),
        ('{"age": {"type": "numeric", "min": 0, "min": 1, "max": 2}}', "names 'min' twice"),
        ('{"age": ', "not valid JSON"),
        ('{"age": ' + "[" * 100_000, "not valid JSON"),
        ("{}", "at least one feature"),
        ('{"target": {"type": "class", "categories": [0, 1]}}', "at least one feature"),
        ('{"": {"type": "numeric", "min": 0, "max": 1}}', "feature names"),
        (
            '{"target": {"type": "categorical", "categories": [0, 1]}}',
            "target 'target' has type 'categorical'",
        ),
        ('{"target": {"type": "class", "categories": [0, "a"]}}', "target 'target': labels must be"),
        (
            '{"target": {"type": "numeric", "min": 0, "max": 1, "levels": 0}}',
            "target 'target': levels must be",
        ),
    ],
)
def test_a_wrong_document_says_which_entry_and_why(text, message):
    with pytest.raises(SchemaError, match=message) as caught:
        Schema.from_json(text)
    assert len(str(caught.value)) < 400


def test_a_file_that_is_no_schema_says_so(tmp_path):
    path = tmp_path / "schema.json"
    path.write_text("[1, 2]")
    with pytest.raises(SchemaError, match="a mapping from column names"):
        Schema.from_json(path)
    path.write_bytes(b"{\xff}")
    with pytest.raises(SchemaError, match="not valid JSON"):
        Schema.from_json(path)
    with pytest.raises(FileNotFoundError):
        Schema.from_json(tmp_path / "absent.json")
