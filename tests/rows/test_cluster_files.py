"""Files behind a dask collection: what is wrong with one is said before the charge, with its name."""

import os

import numpy as np
import pandas as pd
import pytest

import dpforest
from dpforest.privacy import BudgetAccountant
from dpforest.schema import SchemaError, Source, footers
from tests.forests.conftest import CLASSIFY, patients_table
from tests.rows.test_stored import break_pages, write_parts

dask = pytest.importorskip("dask")
frames = pytest.importorskip("dask.dataframe")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of dask, about pandas

ODD = "part-006.parquet"


@pytest.fixture(autouse=True)
def in_this_process():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def folder(tmp_path):
    X, label, _ = patients_table(1000)
    return write_parts(tmp_path, X.assign(outcome=label), 100)


def change(path, **columns):
    """Write a file anew, with other columns; a column that is None is left out."""
    table = pd.read_parquet(path)
    dropped = [name for name, values in columns.items() if values is None]
    added = {name: values for name, values in columns.items() if values is not None}
    table.drop(columns=dropped).assign(**added).to_parquet(path, index=False)


def refused(table, error, *words):
    accountant = BudgetAccountant(epsilon=9.0)
    model = dpforest.RandomDecisionForestClassifier(3, schema=CLASSIFY, accountant=accountant)
    with pytest.raises(error) as caught:
        model.fit(table, "outcome")
    assert all(word in str(caught.value) for word in words), str(caught.value)
    assert "31337" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert not list(accountant.history())
    assert not hasattr(model, "guarantee_")


def fitted(table):
    return dpforest.RandomDecisionForestClassifier(3, schema=CLASSIFY, max_depth=2).fit(table, "outcome")


@pytest.mark.parametrize("content", [b"secret 31337", b""], ids=["words", "nothing"])
def test_a_file_that_is_none_is_named(folder, content):
    (folder / ODD).write_bytes(content)
    refused(frames.read_parquet(folder), ValueError, ODD, "broken")


@pytest.mark.parametrize("column", ["age", "crp", "outcome"])
def test_pages_that_are_broken_are_named_with_file_and_column(folder, column):
    break_pages(folder / ODD, column)
    table = frames.read_parquet(folder)
    refused(table, ValueError, ODD, f"column '{column}'", "broken")
    refused(Source(table, cache=False), ValueError, ODD, f"column '{column}'", "broken")


def test_pages_that_only_the_cluster_can_look_at_are_named_by_their_partition(folder, monkeypatch):
    break_pages(folder / ODD, "crp")
    monkeypatch.setattr(footers, "_LONGEST_LOOK", -1.0)
    refused(frames.read_parquet(folder), RuntimeError, "partition 6 ", "nothing is released")


@pytest.mark.parametrize("filesystem", ["fsspec", "arrow"])
def test_a_column_of_another_type_is_named_with_its_file(folder, filesystem):
    change(folder / ODD, crp="secret 31337")
    table = frames.read_parquet(folder, filesystem=filesystem)
    refused(table, SchemaError, ODD, "'crp'", "text", "numbers", "part-000.parquet")


def test_a_target_of_another_type_is_named_with_its_file(folder):
    change(folder / ODD, outcome=31337)
    refused(frames.read_parquet(folder), SchemaError, ODD, "'outcome'", "text", "numbers")


def test_a_column_that_one_file_lacks_is_named_with_it(folder):
    change(folder / ODD, crp=None)
    refused(frames.read_parquet(folder), SchemaError, ODD, "'crp'")


def test_a_column_that_one_partition_lacks_is_named_with_it():
    X, label, _ = patients_table(60)
    table = X.assign(outcome=label)
    parts = [dask.delayed(table[:30]), dask.delayed(table[30:].drop(columns="crp"))]
    collection = frames.from_delayed(parts, meta=table[:0], verify_meta=False)
    refused(collection, (SchemaError, RuntimeError), "artition 1")


def test_a_file_that_changes_while_it_is_read_is_named(folder):
    def touching(part):
        os.utime(folder / ODD, ns=(1, 1))
        return part

    table = frames.read_parquet(folder)
    refused(table.map_partitions(touching, meta=table._meta), ValueError, ODD, "changed")


def test_files_that_agree_in_what_is_read_are_fitted(folder):
    change(folder / ODD, crp=np.nan, notes="in one file only")
    change(folder / "part-007.parquet", age=1)
    pd.read_parquet(folder / "part-008.parquet")[:0].to_parquet(folder / "part-008.parquet", index=False)
    assert fitted(frames.read_parquet(folder)).guarantee_.is_proven


def test_tables_that_are_joined_need_not_have_the_columns_of_each_other(tmp_path):
    X, label, _ = patients_table(80)
    X.assign(who=range(80)).to_parquet(tmp_path / "visits.parquet")
    pd.DataFrame({"who": range(80), "Outcome": label}).to_parquet(tmp_path / "outcomes.parquet")
    visits, outcomes = (frames.read_parquet(tmp_path / f"{name}.parquet") for name in ("visits", "outcomes"))
    joined = visits.merge(outcomes, on="who").rename(columns={"Outcome": "outcome"})
    assert fitted(joined).guarantee_.is_proven


def test_names_of_folders_may_be_a_column(folder):
    table = pd.concat(map(pd.read_parquet, sorted(folder.iterdir())))
    for number, (ward, part) in enumerate(table.groupby("ward")):
        place = folder / "by-ward" / f"ward={ward}"
        place.mkdir(parents=True)
        part.drop(columns="ward").to_parquet(place / f"{number}.parquet", index=False)
    assert fitted(frames.read_parquet(folder / "by-ward")).guarantee_.is_proven


def test_no_rows_are_fitted(folder):
    for path in folder.iterdir():
        pd.read_parquet(path)[:0].to_parquet(path, index=False)
    assert fitted(frames.read_parquet(folder)).guarantee_.is_proven
