"""Datasets as single papers used them."""

import numpy as np
import pandas as pd
import pytest

from dpforest.papers.datasets import list_datasets, load
from dpforest.papers.datasets.catalogue import catalogue
from dpforest.papers.datasets.dataset import Dataset
from dpforest.papers.datasets.views import VIEWS, look
from dpforest.schema import Classes, Nominal, Numeric, Range, Schema


def base(name, X, y, schema):
    return Dataset(pd.DataFrame(X), np.asarray(y), schema, catalogue()[name].info)


def test_puc_rio_keeps_two_postures_and_makes_the_body_a_category():
    X = {"gender": ["Man"] * 4, "age": [46, 28, 46, 31], "height_m": 1.6, "weight": 70, "x1": [3, 5, 9, 99]}
    schema = Schema({"x1": Numeric(-1000, 1000)}, Classes(["sitting", "standing", "walking"]))
    dataset = base("puc_rio", X, ["sitting", "standing", "sitting", "walking"], schema)
    found, y, schema = look("puc_rio@consul2021", dataset)
    assert list(y) == ["sitting", "standing", "sitting"]
    assert schema.target == Classes(["sitting", "standing"])
    assert schema.features["age"] == Nominal(["28", "46"])
    assert schema.features["x1"] == Numeric(3, 9, integer=True)  # read off the rows that are left
    assert (schema.encode_features(found)[:, 1] < 2).all()


def test_a_row_that_is_missing_from_the_base_is_told():
    schema = Schema({"a": Numeric(0, 1)}, Classes(["sitting", "standing"]))
    X = {"gender": ["Man"], "age": [1], "height_m": [1.0], "weight": [1]}
    assert look("puc_rio@consul2021", base("puc_rio", X, ["sitting"], schema)).info.fidelity == (
        "1 rows instead of 98001"
    )


def test_one_class_against_the_rest():
    schema = Schema({"US1": Numeric(0, 5)}, Classes(["Move-Forward", "Sharp-Right-Turn", "Slight-Left-Turn"]))
    dataset = base("wall_robot_24", {"US1": [1.0, 2.0, 3.0]}, schema.classes.labels, schema)
    _, y, schema = look("wall_robot_24@consul2021", dataset)
    assert list(y) == ["Move-Forward", "other", "other"]
    assert list(schema.encode_target(y)) == [0, 1, 1]


def test_covertype_is_the_second_class_against_the_rest():
    schema = Schema({"Elevation": Numeric(0, 5000)}, Classes([1, 2, 3]))
    _, y, schema = look(
        "covertype@bojarski2014", base("covertype", {"Elevation": [1, 2, 3]}, [1, 2, 3], schema)
    )
    assert list(y) == ["other", "2", "other"]


def test_parkinsons_is_scaled_by_its_largest_target():
    schema = Schema({"age": Numeric(0, 120)}, Range(0, 176))
    _, _, schema = look(
        "parkinsons@consul2021", base("parkinsons", {"age": [50.0, 70.0]}, [7.0, 54.992], schema)
    )
    assert schema.target == Range(0, 54.992)
    assert schema.features["age"] == Numeric(50, 70)


def test_appliances_lose_what_the_paper_has_not():
    X = {"T1": [1.0, 2.0], "month": [1, 5], "day": [1, 2], "hour": [3, 4], "weekday": ["0", "1"]}
    schema = Schema({"T1": Numeric(-20, 45)}, Range(0, 1200))
    found, _, schema = look(
        "appliances_energy@consul2021", base("appliances_energy", X, [10.0, 1080.0], schema)
    )
    assert list(found.columns) == ["T1", "month", "day"]
    assert schema.features["month"] == Nominal(["1", "5"])
    assert schema.target == Range(10, 1080)


def test_mushrooms_without_missing_values_keep_their_declared_domain():
    schema = Schema({"odor": Nominal(["a", "l"]), "stalk_root": Nominal(["b", "?"])}, Classes(["e", "p"]))
    X = {"odor": ["a", "l", None], "stalk_root": ["b", "?", "b"]}
    found, y, same = look("mushroom@fletcher2017", base("mushroom", X, ["e", "p", "p"], schema))
    assert found.to_dict("list") == {"odor": ["a"], "stalk_root": ["b"]}
    assert list(y) == ["e"]
    assert same == schema


def test_a_sample_is_the_same_every_time():
    schema = Schema({"x1": Numeric(0, 20_000)}, Classes([0, 1]))
    dataset = base("pendigits", {"x1": np.arange(10_992)}, np.zeros(10_992, dtype=int), schema)
    first, again = look("pendigits@huang2022", dataset), look("pendigits@huang2022", dataset)
    assert len(first.X) == 7494
    assert first.X.equals(again.X)


def test_views_of_missing_datasets_are_missing_too():
    with pytest.raises(LookupError, match="dataset 'gas_turbine' is not here"):
        load("gas_turbine@consul2021")


def test_views_are_listed_with_their_own_numbers():
    table = list_datasets().set_index("name")
    assert set(VIEWS) <= set(table.index)
    row = table.loc["puc_rio@consul2021"]
    assert (row["rows"], row["features"], row["classes"]) == (98001, 16, 2)
    assert table.loc["appliances_energy@consul2021", "features"] == 27


def test_adult_becomes_indicators_of_categories_and_of_fifths():
    X = {
        "age": [25, 26, 50], "workclass": ["Private", None, "State-gov"], "fnlwgt": [1, 10**6, 106_648],
        "education": "Bachelors", "education_num": [8, 9, 12], "capital_gain": [0, 2174, 0],
        "capital_loss": 0, "hours_per_week": [40, 41, 34],
    }  # fmt: skip
    schema = Schema({"age": Numeric(0, 100)}, Classes(["<=50K", ">50K"]))
    found, _, schema = look("adult_train@bojarski2014", base("adult_train", X, ["<=50K"] * 3, schema))
    assert found.to_numpy().max() == 1
    assert list(found.sum(axis=1)) == [8, 7, 8]  # one for each feature, none for what is missing
    for name, expected in {
        "age": [0, 1, 4], "fnlwgt": [0, 4, 1], "education_num": [0, 1, 3], "capital_gain": [0, 1, 0],
        "capital_loss": [0, 0, 0], "hours_per_week": [2, 3, 0],
    }.items():  # fmt: skip
        assert [int(found.loc[i, f"{name}_{part}"]) for i, part in enumerate(expected)] == [1, 1, 1]
    assert {"workclass_Private", "workclass_State-gov", "education_Bachelors"} <= set(found.columns)


def test_adult_has_the_indicators_that_the_paper_counts():
    """Categories of the declared domain, and parts of the numbers: 123, as in the paper's Table 1."""
    from dpforest.papers.datasets.catalogue import domain

    view = VIEWS["adult_train@bojarski2014"]
    declared = domain(catalogue()["adult_train"].domain).features
    parts = {name: len(cuts) + 1 for name, cuts in view.cuts.items()}
    categories = {name: len(one.categories) for name, one in declared.items() if name not in parts}
    assert sum(parts.values()) + sum(categories.values()) == view.n_features == 123
