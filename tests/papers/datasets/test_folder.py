"""A folder of one's own rows."""

import numpy as np
import pandas as pd
import pytest

from dpforest.papers.datasets import DatasetNotFoundError, list_datasets, load
from dpforest.schema import Classes, Nominal, Numeric

WARD = {
    "age": {"type": "integer", "min": 18, "max": 100},
    "ward": {"type": "categorical", "categories": ["A", "B"]},
    "target": {"type": "class", "categories": ["died", "home"]},
}
ROWS = pd.DataFrame({"ward": ["A", "B"], "id": [1, 2], "target": ["home", "died"], "age": [30, 40]})


def test_rows_come_in_the_order_of_the_schema_and_nothing_else_comes(make_folder):
    folder = make_folder({"visits": ROWS}, {"visits": WARD})
    X, y, schema = load("visits", folder=folder)
    assert list(X.columns) == ["age", "ward"]  # no id
    assert list(y) == ["home", "died"]
    assert isinstance(y, np.ndarray)
    assert schema.features == {"age": Numeric(18, 100, integer=True), "ward": Nominal(["A", "B"])}
    assert schema.target == Classes(["died", "home"])


def test_the_environment_variable_names_the_folder_and_the_argument_beats_it(
    make_folder, monkeypatch, tmp_path
):
    folder = make_folder({"visits": ROWS}, {"visits": WARD})
    monkeypatch.setenv("DPFOREST_DATA", str(folder))
    assert len(load("visits").X) == 2
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(DatasetNotFoundError):
        load("visits", folder=empty)


def test_the_folder_beats_packages(make_folder):
    iris = {"petal": {"type": "numeric", "min": 0, "max": 9}, "target": WARD["target"]}
    folder = make_folder({"iris": pd.DataFrame({"petal": [1.0], "target": ["home"]})}, {"iris": iris})
    dataset = load("iris", folder=folder)
    assert dataset.schema.names == ("petal",)
    assert load("iris").schema.n_features == 4


def test_other_rows_than_the_catalogue_knows_do_not_pass_as_faithful(make_folder):
    rows = pd.DataFrame({name: [1.0, 2.0] for name in ("variance", "skewness", "curtosis", "entropy")})
    folder = make_folder({"banknote": rows.assign(target=[0, 1])}, {})
    info = load("banknote", folder=folder).info
    assert info.n_rows == 2
    assert info.fidelity == "the folder holds 2 rows, the catalogue knows 1372"


def test_a_dataset_of_the_catalogue_needs_no_schema_in_the_folder(make_folder):
    rows = pd.DataFrame({name: [1.0, 2.0] for name in ("variance", "skewness", "curtosis", "entropy")})
    schema = load("banknote", folder=make_folder({"banknote": rows.assign(target=[0, 1])}, {})).schema
    assert schema.features["skewness"] == Numeric(-20, 20)


def test_index_json_tells_licence_and_fidelity(make_folder):
    index = [{"name": "visits", "licence": "CC0", "faithful": "half of the rows", "note": "made up"}]
    info = load("visits", folder=make_folder({"visits": ROWS}, {"visits": WARD}, index)).info
    assert (info.licence, info.fidelity, info.note) == ("CC0", "half of the rows", "made up")


def test_own_datasets_are_listed(make_folder):
    index = [{"name": "visits", "n": 2, "licence": "CC0"}]
    folder = make_folder({"visits": ROWS}, {"visits": WARD}, index)
    row = list_datasets(folder=folder).set_index("name").loc["visits"]
    assert (row["rows"], row["features"], row["classes"], row["licence"]) == (2, 2, 2, "CC0")
    assert row["source"] == f"folder {folder}"


def test_rows_without_a_schema_are_not_listed(make_folder):
    folder = make_folder({"visits": ROWS, "stray": ROWS, "quantum": ROWS}, {"visits": WARD})
    table = list_datasets(folder=folder).set_index("name")
    assert "stray" not in table.index
    assert table.loc["quantum", "source"] == ""


def test_what_is_wrong_with_a_folder_is_said(make_folder, tmp_path, monkeypatch):
    folder = make_folder({"visits": ROWS.drop(columns="age"), "nameless": ROWS}, {"visits": WARD})
    with pytest.raises(DatasetNotFoundError, match="has no column age"):
        load("visits", folder=folder)
    with pytest.raises(DatasetNotFoundError, match=r"schema.json says nothing about 'nameless'"):
        load("nameless", folder=folder)
    monkeypatch.setenv("DPFOREST_DATA", str(tmp_path / "typo"))
    with pytest.raises(DatasetNotFoundError, match=r"DPFOREST_DATA=.*typo' is not a folder"):
        load("iris")


def test_names_do_not_reach_out_of_the_folder(make_folder, tmp_path):
    ROWS.to_parquet(tmp_path.parent / "secret.parquet")
    with pytest.raises(DatasetNotFoundError, match="there is no dataset"):
        load("../secret", folder=make_folder({"visits": ROWS}, {"visits": WARD, "../secret": WARD}))
