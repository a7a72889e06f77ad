"""Rows on Spark: the same model as from memory, also when an executor dies, and none if all is lost."""

import base64
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone

import dpforest
from dpforest._curator.assignment import KeyedTrees
from dpforest._rows import CellCounts, Grid, MemoryRows, RowCount, SparkRows, WholeRows, spark_rows
from dpforest._structure import FlatTrees
from dpforest.privacy import BudgetAccountant
from dpforest.schema import SchemaError, Source
from dpforest.schema.door import read_blocks
from tests.forests.conftest import CLASSIFY, fit, patients_table
from tests.rows.test_stored import MODELS, NEEDS_ALL_ROWS, assert_same, break_pages, with_target

pytestmark = [
    pytest.mark.filterwarnings("ignore::dpforest.privacy.PrivacyLeakWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]


def on_spark(spark, frame):
    return spark.createDataFrame(pa.Table.from_pandas(frame, preserve_index=False))


@pytest.mark.parametrize("name", sorted(set(MODELS) - NEEDS_ALL_ROWS))
def test_models_are_the_same_to_the_last_bit(name, spark):
    patients = patients_table(300)
    in_memory = fit(clone(MODELS[name]), patients, random_state=3)
    table = on_spark(spark, with_target(in_memory, patients))
    assert_same(in_memory, clone(MODELS[name]).set_params(random_state=3).fit(table, "outcome"))


@pytest.mark.parametrize("name", sorted(NEEDS_ALL_ROWS))
def test_what_needs_all_rows_says_so_before_the_charge(name, spark):
    model = clone(MODELS[name])
    model.accountant = BudgetAccountant(epsilon=9.0)
    with pytest.raises(TypeError, match="all rows"):
        model.fit(on_spark(spark, with_target(model, patients_table(50))), "outcome")
    assert not list(model.accountant.history())


def test_large_tables_are_summed_by_chunk_on_the_executors(spark, monkeypatch):
    X, label, _ = patients_table(3000)
    table = on_spark(spark, X.assign(outcome=label)).repartition(5).select(*X.columns, "outcome")
    monkeypatch.setattr(spark_rows, "_SUMMED_HERE", 0)
    rows = SparkRows(table, CLASSIFY)
    here = MemoryRows.of_blocks(read_blocks(X, label, CLASSIFY), rows.grid)
    trees = FlatTrees.unsplit(200, 1)
    spec = CellCounts(
        rows.grid, trees, 0, asked=np.zeros((200, 1, 3), np.int32), width=max(rows.grid.n_cells)
    )
    np.testing.assert_array_equal(rows.fold(spec), here.fold(spec))
    assert not isinstance(rows, WholeRows)
    with pytest.raises(ValueError, match="another grid"):
        rows.fold(RowCount(Grid.of([2], 2)))


def test_sources_predictions_names_and_tables_without_rows(spark):
    X, label, _ = patients_table(300)
    frame = X.assign(outcome=label)
    model = dpforest.DiPriMeForestClassifier(3, schema=CLASSIFY, max_depth=2, random_state=5)
    in_memory = clone(model).fit(X, label)
    table = on_spark(spark, frame[["outcome", "crp", "age", "ward"]])
    assert_same(in_memory, clone(model).fit(Source(table, cache=False), "outcome"))
    np.testing.assert_array_equal(in_memory.predict(table), in_memory.predict(X))
    none = clone(model).fit(X[:0], label[:0])
    assert_same(none, clone(model).fit(table.limit(0), "outcome"))
    numbers = frame.rename(columns={"age": "the `age`.x", "crp": "CRP", "outcome": "crp"}).drop(
        columns="ward"
    )
    model = dpforest.RandomDecisionTreesClassifier(bounds=(0, 300), classes=CLASSIFY.classes.labels)
    model.set_params(random_state=5)
    expected = clone(model).fit(numbers.drop(columns="crp"), label)
    with pytest.raises(RuntimeError, match="AnalysisException"):
        spark_rows.on_cluster(on_spark(spark, numbers).select, "crp")  # to Spark, two columns have this name
    assert_same(expected, clone(model).fit(on_spark(spark, numbers), "crp"))


def test_what_is_wrong_is_said_before_the_charge(spark):
    X, label, _ = patients_table(50)
    table = on_spark(spark, X.assign(outcome=label))
    accountant = BudgetAccountant(epsilon=9.0)
    model = dpforest.PrivateForestClassifier(schema=CLASSIFY, accountant=accountant)
    with pytest.raises(SchemaError, match="'crp'"):
        model.fit(table.drop("crp"), "outcome")
    with pytest.raises(SchemaError, match="'crp'"):
        model.fit(table.select("*", "crp"), "outcome")
    with pytest.raises(TypeError, match="name of a column"):
        model.fit(table, np.asarray(label))
    failing = table.selectExpr("age", "ward", "raise_error(concat('secret 31337', ward)) as crp", "outcome")
    with pytest.raises(RuntimeError, match=r"\(\w+\); nothing is released") as caught:
        model.fit(failing, "outcome")
    assert "31337" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert not list(accountant.history())


COLUMNS = "age double, ward string, crp double, outcome string"


@pytest.fixture
def folder(tmp_path):
    """Files of one table, of which the seventh is written anew by tests."""
    X, label, _ = patients_table(20)
    rows = pa.Table.from_pandas(X.assign(outcome=label), preserve_index=False)
    for number in range(100):
        pq.write_table(rows, tmp_path / f"part-{number}.parquet")
    return tmp_path


def refused(table, error, *words):
    accountant = BudgetAccountant(epsilon=9.0)
    model = dpforest.RandomDecisionForestClassifier(3, schema=CLASSIFY, accountant=accountant)
    with pytest.raises(error) as caught:
        model.fit(table, "outcome")
    assert all(word in str(caught.value) for word in words), str(caught.value)
    assert "31337" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert not list(accountant.history())


class TestFiles:
    """What is wrong with a file is said before the charge, with its name and that of the column."""

    @pytest.mark.parametrize("content", [b"secret 31337", b""], ids=["words", "nothing"])
    def test_broken_files(self, spark, folder, content):
        (folder / "part-6.parquet").write_bytes(content)
        table = spark.read.schema(COLUMNS).parquet(str(folder))
        refused(table, ValueError, "part-6.parquet", "broken")

    def test_broken_pages(self, spark, folder):
        break_pages(folder / "part-6.parquet", "crp")
        refused(spark.read.parquet(str(folder)), ValueError, "part-6.parquet", "column 'crp'", "broken")

    def test_column_that_a_file_lacks(self, spark, folder):
        path = folder / "part-6.parquet"
        pq.write_table(pq.read_table(path).drop_columns(["crp"]), path)
        refused(spark.read.parquet(str(folder)), SchemaError, "part-6.parquet", "'crp'")

    def test_column_of_another_type(self, spark, folder):
        path = folder / "part-6.parquet"
        table = pq.read_table(path)
        place = table.schema.get_field_index("crp")
        pq.write_table(table.set_column(place, "crp", pa.array(["secret 31337"] * len(table))), path)
        table = spark.read.schema(COLUMNS).parquet(str(folder))
        refused(table, SchemaError, "part-6.parquet", "'crp'", "text", "numbers", "part-0.parquet")

    def test_file_that_changes_while_it_is_read(self, spark, folder):
        def touching(batches):
            for batch in batches:
                os.utime(folder / "part-6.parquet", ns=(1, 1))
                yield batch

        table = spark.read.parquet(str(folder))
        refused(table.mapInArrow(touching, table.schema), ValueError, "part-6.parquet", "changed")

    def test_files_without_rows_and_tables_that_are_joined_are_fitted(self, spark, folder):
        path = folder / "part-6.parquet"
        pq.write_table(pq.read_table(path).slice(0, 0), path)
        wards = folder / "wards"
        wards.mkdir()
        pq.write_table(pa.table({"ward": ["A", "B", "C"], "beds": [1, 2, 3]}), wards / "wards.parquet")
        table = spark.read.parquet(*(str(folder / f"part-{number}.parquet") for number in (0, 6)))
        table = table.join(spark.read.parquet(str(wards)), "ward", "left")
        model = dpforest.RandomDecisionForestClassifier(3, schema=CLASSIFY, max_depth=1)
        assert model.fit(table, "outcome").guarantee_.is_proven


def never_the_same(batches):
    for batch in batches:
        ages = pa.array(np.frombuffer(os.urandom(batch.num_rows), np.uint8).astype(float))
        yield batch.set_column(0, "age", ages)


def test_rows_that_change_release_nothing(spark):
    X, label, _ = patients_table(60)
    table = on_spark(spark, X.assign(outcome=label))
    changing = table.mapInArrow(never_the_same, table.schema)
    accountant = BudgetAccountant(epsilon=9.0)
    model = dpforest.PrivateForestClassifier(schema=CLASSIFY, accountant=accountant)
    with pytest.raises(RuntimeError, match="other rows"):
        model.fit(Source(changing, cache=False), "outcome")
    assert len(list(accountant.history())) == 1
    assert not hasattr(model, "guarantee_")


def test_neither_key_nor_rows_are_in_the_event_log(spark, monkeypatch):
    """Spark writes the plan of every query to a log, which is kept."""
    keys, draw = [], KeyedTrees.draw.__func__

    def drawn(cls, n_trees, words):
        keys.append(draw(cls, n_trees, words))
        return keys[-1]

    monkeypatch.setattr(KeyedTrees, "draw", classmethod(drawn))
    X, label, _ = patients_table(100)
    table = on_spark(spark, X.assign(outcome=label))
    dpforest.DiPriMeForestClassifier(3, schema=CLASSIFY, max_depth=2).fit(table, "outcome")
    (key,) = [trees.key for trees in keys]
    log = b"".join(path.read_bytes() for path in spark.events.rglob("*") if path.is_file())
    assert b"mapInArrow" in log.replace(b"MapInArrow", b"mapInArrow")
    assert key not in log
    assert key.hex().encode() not in log.lower()
    assert base64.b64encode(key)[:20] not in log


def test_a_killed_executor_changes_nothing_and_a_stopped_session_releases_nothing(tmp_path):
    line = [sys.executable, "-m", "tests.spark.local_cluster", str(tmp_path)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=300)
    assert done.stdout.split("\n")[:2] == ["SAME MODEL", "NOTHING RELEASED"], done.stderr[-3000:]
