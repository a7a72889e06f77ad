"""Files that somebody wrote to do harm: each is refused with a clear error, before anything is allocated."""

import base64
import copy
import hashlib
import json
import pickle
import re
import subprocess
import sys

import numpy as np
import pytest

import dpforest
from dpforest.modelfile import ModelFileError
from dpforest.schema import Classes, Nominal, Numeric, Schema
from tools import fuzz


@pytest.fixture(scope="module")
def envelope(tmp_path_factory):
    schema = Schema({"age": Numeric(0, 100), "ward": Nominal(["a", "b", "c"])}, Classes(["died", "home"]))
    rows = [[age, "abc"[age % 3]] for age in range(90)]
    path = tmp_path_factory.mktemp("honest") / "model.json"
    model = dpforest.DiPriMeForestClassifier(3, max_depth=2, schema=schema)
    model.fit(rows, ["died", "home"] * 45).save(path)
    return json.loads(path.read_text())


def array(values):
    values = np.asarray(values, "<i8")
    return {"shape": list(values.shape), "dtype": "<i8", "data": base64.b64encode(values.tobytes()).decode()}


def write(path, envelope):
    """Write with a checksum that is right, as a forger would."""
    body = json.dumps(envelope["body"], ensure_ascii=False, separators=(",", ":"))
    envelope["sha256"] = hashlib.sha256(body.encode(errors="surrogatepass")).hexdigest()
    path.write_text(json.dumps(envelope))
    return path


CELLS = np.zeros((3, 3))
FORGERIES = {
    "a feature that does not exist": (("trees", "feature"), array(CELLS + 2), "feature that does not exist"),
    "a feature before the first": (("trees", "feature"), array(CELLS - 1), "feature that does not exist"),
    "a set beyond the last": (("trees", "threshold"), array(CELLS - 10**6), "category set"),
    "the most negative threshold": (("trees", "threshold"), array(CELLS - 2**31), "category set"),
    "a threshold beyond the cells": (("trees", "threshold"), array(CELLS + 300), "outside"),
    "a number too large for its type": (("trees", "threshold"), array(CELLS + 2**40), "too large"),
    "too few nodes for the depth": (("trees", "depth"), 3, "shape"),
    "an absurd depth": (("trees", "depth"), 60, "depth"),
    "a negative depth": (("trees", "depth"), -1, "depth"),
    "a depth that is no number": (("trees", "depth"), True, "depth"),
    "sets that are too narrow": (
        ("trees", "left_sets"),
        {"shape": [15, 2], "dtype": "bits", "data": base64.b64encode(bytes(4)).decode()},
        "narrower",
    ),
    "no sets": (("trees", "left_sets"), {"shape": [0, 5], "dtype": "bits", "data": ""}, "fit each other"),
    "a petabyte": (
        ("leaf_statistics",),
        {"shape": [2**20, 2**20, 2**10], "dtype": "<i8", "data": ""},
        "not possible",
    ),
    "a shape without data": (("leaf_statistics", "shape"), [3, 4, 2**20], "leaf_statistics"),
    "an object array": (("leaf_statistics", "dtype"), "|O", "type"),
    "statistics of other leaves": (("leaf_statistics",), array(np.zeros((3, 8, 2))), "shape"),
    "labels where counts belong": (("leaf_statistics",), array(np.zeros((3, 4))), "not those of"),
    "a class to import": (("estimator",), "os.system", "not an estimator"),
    "a dunder": (("estimator",), "__class__", "not an estimator"),
    "a parameter too many": (("parameters", "accountant"), "x", "parameters are not those"),
    "a parameter out of range": (("parameters", "n_estimators"), -5, "n_estimators=-5 is not valid"),
    "a promise out of the blue": (("guarantee", "epsilon"), {"hex": "0x1.0p-10"}, "guarantee is not the one"),
    "a proven promise without noise": (("parameters", "epsilon"), {"hex": "inf"}, "epsilon"),
    "a fraction that fills the memory": (("ledger", "plan", "epsilon"), "1e999999999", "fraction"),
    "queries that were not paid for": (("ledger", "queries", 0, "cost"), "100", "cost more"),
    "a decimal": (("parameters", "split_share"), 0.5, "not exact"),
    "a number that is none": (("parameters", "split_share"), {"hex": "nan"}, "hexadecimal"),
    "columns of another table": (("feature_names",), ["age", "ware"], "feature names"),
    "half a character": (("estimator",), "\ud800", "Unicode"),
    "no target": (("schema", "columns", "target"), {"type": "x"}, "SchemaError"),
    "an extra key": (("__reduce__",), "os.system", "nothing else"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_forgeries_are_refused(name, envelope, tmp_path):
    keys, value, message = FORGERIES[name]
    forged = copy.deepcopy(envelope)
    place = forged["body"]
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    with pytest.raises(ModelFileError, match=message):
        dpforest.load(write(tmp_path / "model.json", forged))


def test_a_category_set_cannot_cut_a_number(envelope, tmp_path):
    """The cells of a number go up to 257, the sets are five wide: the kernel would read beyond them."""
    forged = copy.deepcopy(envelope)
    forged["body"]["trees"].update(feature=array(CELLS), threshold=array(CELLS - 1))
    with pytest.raises(ModelFileError, match="category set"):
        dpforest.load(write(tmp_path / "model.json", forged))


def test_costs_that_take_for_ever_to_add_are_refused(envelope, tmp_path):
    """The exact sum of these would have a denominator of four million digits."""
    forged = copy.deepcopy(envelope)
    look = forged["body"]["ledger"]["queries"][0]
    forged["body"]["ledger"]["queries"] = [
        {**look, "cost": f"1/{10**990 + number}"} for number in range(4000)
    ]
    with pytest.raises(ModelFileError, match="common denominator"):
        dpforest.load(write(tmp_path / "model.json", forged))


def test_damage_is_found_by_the_checksum(envelope, tmp_path):
    path = tmp_path / "model.json"
    changed = copy.deepcopy(envelope)
    changed["body"]["guarantee"]["unit"] = "a family"
    path.write_text(json.dumps(changed))
    with pytest.raises(ModelFileError, match="checksum"):
        dpforest.load(path)
    columns = envelope["body"]["schema"]["columns"]
    changed = copy.deepcopy(envelope)
    changed["body"]["schema"]["columns"] = dict(reversed(columns.items()))
    path.write_text(json.dumps(changed))
    with pytest.raises(ModelFileError, match="checksum"):
        dpforest.load(path)


@pytest.mark.parametrize("version", [0, 1, 3, 2.0, "2", None, True])
def test_unknown_versions_are_refused(version, envelope, tmp_path):
    path = tmp_path / "model.json"
    path.write_text(json.dumps({**envelope, "version": version}))
    with pytest.raises(
        ModelFileError, match="reads version 2" if version != 2.0 else "not exact|reads version"
    ):
        dpforest.load(path)


class Trap:
    def __reduce__(self):
        return exec, ("raise SystemExit('the file ran code')",)


@pytest.mark.parametrize(
    "data",
    [
        pickle.dumps(Trap()),
        b"",
        b"{}",
        b"[]",
        b"null",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"\xff\xfe\x00",
        b"PK\x03\x04",
        b'{"format": "dpforest model", "format": "dpforest model"}',
        b'{"format": "dpforest model", "version": NaN}',
        b'{"format": "dpforest model", "version": 2, "sha256": "", "signature": null, "body": []}',
        b'{"format": "dpforest model", "version": 2' + b"0" * 5000 + b"}",
        b"[" + b"[]," * 3_000_000,
    ],
    ids=range(14),
)
def test_whatever_is_not_a_model_is_refused(data, tmp_path):
    path = tmp_path / "model.json"
    path.write_bytes(data)
    with pytest.raises(ModelFileError):
        dpforest.load(path)


def test_files_are_measured_before_they_are_read(tmp_path):
    path = tmp_path / "model.json"
    with path.open("wb") as file:
        file.truncate(2**40)  # a hole: takes no space on the disk
    with pytest.raises(ModelFileError, match="bytes"):
        dpforest.load(path)
    with pytest.raises(ModelFileError, match="regular"):
        dpforest.load("/dev/zero")


def test_noises_must_be_numbers(tmp_path):
    X = np.random.default_rng(0).random((300, 2))
    model = dpforest.PrivateForestClassifier(bounds=(0, 1), classes=[0, 1]).fit(
        X, (X[:, 0] > 0.5).astype(int)
    )
    model.save(tmp_path / "model.json")
    forged = json.loads((tmp_path / "model.json").read_text())
    (kept,) = forged["body"]["leaf_noises"]
    negative, endless = (
        json.loads(json.dumps(kept).replace("0x", "-0x")),
        json.loads(json.dumps(kept).replace(re.search('0x[^"]*', json.dumps(kept))[0], "-inf")),
    )
    for noises, why in (
        (["nan"], "leaf_noises"),
        ([negative], "leaf_noises"),
        ([endless], "leaf_noises"),
        ([], "not a valid model"),
        ([kept, kept], "per tree"),
    ):
        forged["body"]["leaf_noises"] = noises
        with pytest.raises(ModelFileError, match=why):
            dpforest.load(write(tmp_path / "model.json", forged))


@pytest.mark.parametrize(
    ("field", "value"), [("kind", "gossip"), ("level", -1), ("level", True), ("tree", "1"), ("detail", 3)]
)
def test_queries_have_fields_of_their_types(tmp_path, field, value):
    X = np.random.default_rng(0).random((30, 1))
    model = dpforest.DiPriMeForestClassifier(2, bounds=(0, 1), classes=[0, 1], max_depth=1)
    model.fit(X, (X[:, 0] > 0.5).astype(int)).save(tmp_path / "model.json")
    forged = json.loads((tmp_path / "model.json").read_text())
    forged["body"]["ledger"]["queries"][0][field] = value
    with pytest.raises(ModelFileError, match="not a valid model"):
        dpforest.load(write(tmp_path / "model.json", forged))


@pytest.fixture(scope="module")
def seeds(tmp_path_factory):
    directory = tmp_path_factory.mktemp("seeds")
    fuzz.write_seeds(directory)
    return directory


def test_a_thousand_mutants_of_each_kind(seeds):
    """No crash, no code run, no read outside of an array, no memory beyond the limit; 10,000 by
    `python -m tools.fuzz`."""
    for result in fuzz.run_in_child(1000, 1000, 1, seeds):
        assert result["failures"] == 0, result["first_failures"]
        assert result["refused"] > 500
        assert result["works"] > 50, "mutants that all fail at the first check test nothing else"
        assert result["peak_mb"] < 1000


def test_the_fuzzer_notices_a_missing_check(seeds):
    planted = "import dpforest.modelfile.record as r; r._check_walks = lambda *arguments: None"
    (result,) = fuzz.run_in_child(150, 0, 0, seeds, before=planted)
    assert result["failures"] > 0
    assert any("out of bounds" in failure for failure in result["first_failures"])


def test_loading_needs_no_pickle(envelope, tmp_path):
    """The module is not even imported by name in the room that reads files."""
    path = write(tmp_path / "model.json", copy.deepcopy(envelope))
    code = f"""
import pickle, dpforest, dpforest.forests
def refuse(*arguments, **options): raise SystemExit("pickle was used")
pickle.loads = pickle.load = pickle.Unpickler = refuse
dpforest.load({str(path)!r})
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    "clip", [None, "0.5", True, 1, {"hex": "0x0.0p+0"}, {"hex": "-0x1.0p-1"}, {"hex": "inf"}]
)
def test_a_boosted_model_needs_a_length_at_which_gradients_were_clipped(tmp_path, clip):
    """Probabilities are divided by it."""
    model = dpforest.PrivateForestClassifier(1, delta=1e-6, max_depth=1, bounds=(0, 1), classes=[0, 1])
    model.fit(np.zeros((9, 1)), np.zeros(9)).save(tmp_path / "model.json")
    forged = json.loads((tmp_path / "model.json").read_text())
    assert dpforest.load(write(tmp_path / "same.json", forged)).additive_.clip == model.additive_.clip
    forged["body"]["additive"]["boosted"]["clip"] = clip
    with pytest.raises(ModelFileError, match=r"clip must be|hexadecimal"):
        dpforest.load(write(tmp_path / "forged.json", forged))
