"""Rows that are read piece by piece, kept in memory or in a private file or read again: one model."""

import os
import stat
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest
from sklearn.base import clone

import dpforest
from dpforest._rows import Grid, MemoryRows, RereadRows, RowCount, StoredRows, WholeRows, spill, stored
from dpforest.privacy import BudgetAccountant
from dpforest.schema import SchemaError, Source
from tests.forests.conftest import CLASSIFY, REGRESS, fit, patients_table, training_target
from tests.forests.conftest import MODELS as EVERY_MODEL

NEEDS_ALL_ROWS = {"SSPE-2", "PTE", "SSRDT", "TOP"}
MODELS = {
    **EVERY_MODEL,
    "guided regression, three trees": dpforest.PrivateForestRegressor(3, schema=REGRESS),
}
SOURCES = {
    "memory": {},
    "private file": {"memory_limit": 0},
    "both": {"memory_limit": 9000},
    "read again": {"cache": False},
}


def write_parts(folder, table, n_parts=7):
    """Write a frame as Parquet files of uneven sizes, one of them without rows."""
    borders = np.unique([0, 1, *np.linspace(2, len(table), n_parts - 2).astype(int)])
    parts = [table.iloc[begin:end] for begin, end in pairwise(borders)]
    schema = pa.Schema.from_pandas(table, preserve_index=False)
    for number, part in enumerate([parts[0], table.iloc[:0], *parts[1:]]):
        pa.parquet.write_table(
            pa.Table.from_pandas(part, schema, preserve_index=False),
            folder / f"part-{number:03}.parquet",
            row_group_size=101,
        )
    return folder


def break_pages(path, column):
    """Spoil what a Parquet file has of one column, and leave its footer as it is."""
    of_file = pa.parquet.read_metadata(path).row_group(0)
    names = [of_file.column(at).path_in_schema for at in range(of_file.num_columns)]
    chunk = of_file.column(names.index(column))
    begin = chunk.dictionary_page_offset or chunk.data_page_offset
    whole = bytearray(path.read_bytes())
    whole[begin : begin + chunk.total_compressed_size] = bytes(chunk.total_compressed_size)
    path.write_bytes(whole)


def with_target(model, patients):
    X, label, target = patients
    return X.assign(outcome=training_target(model, label, target), patient=range(len(X)))


def assert_same(model, other):
    for attribute in ("feature", "threshold", "left_sets"):
        np.testing.assert_array_equal(getattr(model.trees_, attribute), getattr(other.trees_, attribute))
    np.testing.assert_array_equal(model.leaf_statistics_, other.leaf_statistics_)
    np.testing.assert_array_equal(model.leaf_votes_, other.leaf_votes_)
    assert model.ledger_ == other.ledger_
    if model.additive_ is not None:
        np.testing.assert_array_equal(model.additive_.table, other.additive_.table)


@pytest.fixture
def small_blocks(monkeypatch):
    """Several blocks and segments although the tables of tests are small."""
    monkeypatch.setattr(stored, "BLOCK_ROWS", 300)
    monkeypatch.setattr(spill, "SEGMENT", 2**15)


@pytest.mark.filterwarnings("ignore::dpforest.privacy.PrivacyLeakWarning")
@pytest.mark.parametrize("name", sorted(set(MODELS) - NEEDS_ALL_ROWS))
def test_models_are_the_same_to_the_last_bit(name, tmp_path, small_blocks):
    patients = patients_table(1000)
    in_memory = fit(clone(MODELS[name]), patients, random_state=3)
    folder = write_parts(tmp_path, with_target(in_memory, patients))
    for number, options in enumerate(SOURCES.values()):
        n_jobs = 1 + number % 2
        model = clone(MODELS[name]).set_params(random_state=3, n_jobs=n_jobs)
        assert_same(in_memory, model.fit(Source(folder, **options), "outcome"))


@pytest.mark.parametrize("name", sorted(NEEDS_ALL_ROWS))
def test_what_needs_all_rows_says_so_before_the_charge(name, tmp_path, small_blocks):
    model = clone(MODELS[name])
    folder = write_parts(tmp_path, with_target(model, patients_table(500)))
    model.accountant = BudgetAccountant(epsilon=9.0)
    for options in ({"memory_limit": 0}, {"cache": False}):
        with pytest.raises(TypeError, match="all rows"):
            model.fit(Source(folder, **options), "outcome")
    assert not list(model.accountant.history())


@pytest.mark.filterwarnings("ignore::dpforest.privacy.PrivacyLeakWarning")
@pytest.mark.parametrize("name", ["SSPE-2", "TOP"])
def test_what_needs_all_rows_takes_files_that_fit_in_memory(name, tmp_path):
    patients = patients_table(500)
    in_memory = fit(clone(MODELS[name]), patients, random_state=3)
    folder = write_parts(tmp_path, with_target(in_memory, patients))
    assert_same(in_memory, clone(MODELS[name]).set_params(random_state=3).fit(folder, "outcome"))


def carriers(table, folder):
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    table.to_csv(folder / "rows.csv", index=False)
    arrow.to_pandas().to_feather(folder / "rows.feather")
    parts = folder / "parts"
    parts.mkdir()
    write_parts(parts, table)
    return {
        "folder": parts,
        "pattern": str(parts / "*.parquet"),
        "csv": str(folder / "rows.csv"),
        "feather": folder / "rows.feather",
        "dataset": Source(pa.dataset.dataset(parts)),
        "lazy frame": pl.scan_parquet(parts / "*.parquet"),
        "function": lambda: pa.RecordBatchReader.from_batches(arrow.schema, arrow.to_batches(77)),
        "reader": Source(pa.RecordBatchReader.from_batches(arrow.schema, arrow.to_batches(77))),
    }


@pytest.mark.filterwarnings("ignore::dpforest.privacy.PrivacyLeakWarning")
def test_every_place_gives_the_same_model_and_predictions(tmp_path):
    patients = patients_table(1000)
    model = dpforest.DiPriMeForestClassifier(3, schema=CLASSIFY, max_depth=3, random_state=5)
    in_memory = fit(clone(model), patients)
    expected = in_memory.predict_proba(patients[0])
    for name, place in carriers(with_target(in_memory, patients), tmp_path).items():
        fitted = clone(model).fit(place, "outcome")
        assert_same(in_memory, fitted)
        assert list(fitted.feature_names_in_) == list(CLASSIFY.names)
        if name != "reader":  # which was read to its end
            np.testing.assert_array_equal(fitted.predict_proba(place), expected)


def test_duckdb_relations_are_places(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    patients = patients_table(300)
    write_parts(tmp_path, patients[0].assign(outcome=patients[1]))
    relation = duckdb.connect().read_parquet(f"{tmp_path}/*.parquet")
    cells = CLASSIFY.encode_features(relation)
    np.testing.assert_array_equal(cells, CLASSIFY.encode_features(patients[0]))


def test_rows_in_memory_can_be_had_as_a_whole_and_others_not():
    grid = Grid.of([3], 2)
    rows = [(np.zeros((5, 1), np.uint8), np.zeros(5, np.int32))]
    assert isinstance(StoredRows.of_blocks(rows, grid), WholeRows)
    assert not isinstance(StoredRows.of_blocks(rows, grid, memory_limit=0), WholeRows)
    assert not isinstance(RereadRows(lambda: rows, grid), WholeRows)
    assert StoredRows.of_blocks(rows, grid).cells().shape == (5, 1)
    assert StoredRows.of_blocks([], grid).cells().shape == (0, 1)


@pytest.mark.parametrize("make", [StoredRows.of_blocks, lambda rows, grid: RereadRows(lambda: rows, grid)])
def test_every_block_is_checked_against_the_grid(make):
    good, bad = (np.full((9, 1), cell, np.uint8) for cell in (2, 3))
    target = np.zeros(9, np.int32)
    with pytest.raises(RuntimeError, match="grid"):
        make([(good, target), (bad, target)], Grid.of([3], 2))
    with pytest.raises(RuntimeError, match="grid"):
        make([(good, target), (good, target + 2)], Grid.of([3], 2))


class TestPrivateFile:
    def test_it_has_no_name_and_nobody_else_may_open_it(self, tmp_path, monkeypatch):
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        rows = [(np.zeros((5, 1), np.uint8), np.zeros(5, np.int32))]
        kept = StoredRows.of_blocks(rows, Grid.of([3], 2), memory_limit=0)
        file = kept._homes[0]._room.file._file
        assert os.fstat(file.fileno()).st_nlink == 0
        assert stat.S_IMODE(os.fstat(file.fileno()).st_mode) == 0o600
        assert list(tmp_path.iterdir()) == []

    def test_nothing_is_left_when_the_process_is_killed(self, tmp_path):
        code = """
import os, signal, numpy as np
from dpforest._rows import Grid, StoredRows
rows = [(np.zeros((99999, 1), np.uint8), np.zeros(99999, np.int32))]
kept = StoredRows.of_blocks(rows, Grid.of([3], 2), memory_limit=0)
assert kept._homes[0]._room.file._file is not None
os.kill(os.getpid(), signal.SIGKILL)
"""
        done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "TMPDIR": str(tmp_path)})
        assert done.returncode == -9
        assert list(tmp_path.iterdir()) == []

    def test_nothing_is_written_where_the_owner_forbids_it(self, tmp_path, monkeypatch, small_blocks):
        X, label, _ = patients_table(700)
        folder = write_parts(tmp_path, X.assign(outcome=label))
        monkeypatch.setattr(spill.SpillFile, "reserve", lambda *_: pytest.fail("a file was made"))
        model = dpforest.PrivateForestClassifier(schema=CLASSIFY)
        assert model.fit(Source(folder, cache=False), "outcome").guarantee_.is_proven

    def test_memory_stays_below_the_limit(self, small_blocks):
        grid = Grid.of([3] * 20, 2)
        rows = [(np.zeros((9000, 20), np.uint8), np.zeros(9000, np.int32))]
        kept = StoredRows.of_blocks(rows, grid, memory_limit=24 * 3000)
        assert sum(home.is_full for home in kept._homes) == 20  # 10 blocks of 300 rows fit
        assert kept.fold(RowCount(grid))[0] == 9000

    def test_a_full_disk_is_an_error_and_no_crash(self, monkeypatch):
        def full(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("os.posix_fallocate", full)
        with pytest.raises(OSError, match="No space left"):
            StoredRows.of_blocks(
                [(np.zeros((5, 1), np.uint8), np.zeros(5, np.int32))], Grid.of([3], 2), memory_limit=0
            )


class TestRefusals:
    """What is wrong with files is said before the charge, with the file and the column, without a value."""

    @pytest.fixture
    def folder(self, tmp_path):
        X, label, _ = patients_table(2000)
        return write_parts(tmp_path, X.assign(outcome=label), 100)

    def refused(self, place, error, *words):
        accountant = BudgetAccountant(epsilon=9.0)
        model = dpforest.RandomDecisionForestClassifier(3, schema=CLASSIFY, accountant=accountant)
        with pytest.raises(error) as caught:
            model.fit(place, "outcome")
        assert all(word in str(caught.value) for word in words), str(caught.value)
        assert caught.value.__cause__ is None
        assert not list(accountant.history())
        assert not hasattr(model, "guarantee_")

    def test_corrupt_file(self, folder):
        path = folder / "part-006.parquet"
        path.write_bytes(path.read_bytes()[:-20])
        self.refused(folder, ValueError, "part-006.parquet", "broken")

    @pytest.mark.parametrize("column", ["age", "crp", "outcome"])
    def test_corrupt_pages(self, folder, column):
        break_pages(folder / "part-006.parquet", column)
        self.refused(folder, ValueError, "part-006.parquet", f"column '{column}'", "broken")

    def test_file_without_any_byte(self, folder):
        (folder / "part-006.parquet").write_bytes(b"")
        self.refused(folder, ValueError, "part-006.parquet", "broken")

    def test_lacking_column(self, folder):
        path = folder / "part-006.parquet"
        pa.parquet.write_table(pa.parquet.read_table(path).drop_columns(["crp"]), path)
        self.refused(folder, SchemaError, "part-006.parquet", "'crp'")

    def test_column_of_another_type(self, folder):
        path = folder / "part-006.parquet"
        table = pa.parquet.read_table(path).to_pandas()
        table["age"] = table["age"].map(lambda age: f"about {age}")
        table.to_parquet(path)
        self.refused(folder, SchemaError, "part-006.parquet", "'age'", "text", "numbers", "part-000.parquet")
        with pytest.raises(SchemaError) as caught:
            CLASSIFY.encode_features(folder)
        assert "about" not in str(caught.value)

    def test_numbers_of_another_width_and_columns_of_gaps_are_no_drift(self, folder):
        path = folder / "part-006.parquet"
        table = pa.parquet.read_table(path)
        place = table.schema.get_field_index("crp")
        table = table.set_column(place, "crp", pa.nulls(len(table)))
        table = table.set_column(0, "age", table["age"].cast(pa.float32()))
        pa.parquet.write_table(table, path)
        assert len(CLASSIFY.encode_features(folder)) == 2000

    def test_target_that_no_file_has(self, folder):
        accountant = BudgetAccountant(epsilon=9.0)
        model = dpforest.RandomDecisionForestClassifier(3, schema=CLASSIFY, accountant=accountant)
        with pytest.raises(SchemaError, match="'diagnosis'"):
            model.fit(folder, "diagnosis")
        assert not list(accountant.history())

    def test_no_file_at_all(self, tmp_path):
        (tmp_path / "_SUCCESS").touch()
        self.refused(tmp_path, FileNotFoundError, str(tmp_path))
        self.refused(str(tmp_path / "*.parquet"), FileNotFoundError, "*.parquet")
        self.refused(tmp_path / "rows.parquet", FileNotFoundError, "rows.parquet")

    def test_readers_that_can_be_read_once_cannot_be_read_again(self):
        reader = pa.RecordBatchReader.from_batches(pa.schema([("a", pa.int8())]), [])
        with pytest.raises(TypeError, match="can be read once"):
            Source(reader, cache=False)

    def test_messages_of_libraries_are_not_passed_on(self):
        def raising():
            schema = pa.schema([(name, pa.int8()) for name in (*CLASSIFY.names, "outcome")])

            def batches():
                raise RuntimeError("secret 31337")
                yield

            return pa.RecordBatchReader.from_batches(schema, batches())

        self.refused(raising, ValueError, "X cannot be read")
        with pytest.raises(ValueError, match="cannot be read") as caught:
            CLASSIFY.encode_features(raising)
        assert "31337" not in str(caught.value)

    def test_functions_must_return_readers(self):
        self.refused(lambda: [[1, 2, 3]], SchemaError, "RecordBatchReader")

    def test_a_name_needs_a_place(self):
        X, label, _ = patients_table(20)
        self.refused(X.assign(outcome=label), TypeError, "name of a column")

    def test_file_that_changes_while_it_is_read(self, folder, monkeypatch):
        path, touched = folder / "part-006.parquet", []
        from dpforest.schema.files import ArrowFile

        batches = ArrowFile._batches

        def changing(file, names):
            yield from batches(file, names)
            if file.path == path and not touched:
                touched.append(os.utime(path, ns=(1, 1)))

        monkeypatch.setattr(ArrowFile, "_batches", changing)
        self.refused(folder, ValueError, "part-006.parquet", "changed")

    def test_rows_that_change_between_passes_release_nothing(self):
        X, label, _ = patients_table(500)
        tables = [pa.Table.from_pandas(X.assign(outcome=label)) for _ in range(2)]
        tables.append(tables[0].slice(1))
        opened = []

        def changing():
            opened.append(tables[min(len(opened) // 2, 2)])
            return pa.RecordBatchReader.from_batches(opened[-1].schema, opened[-1].to_batches())

        accountant = BudgetAccountant(epsilon=9.0)
        model = dpforest.PrivateForestClassifier(schema=CLASSIFY, accountant=accountant)
        with pytest.raises(RuntimeError, match="nothing is released"):
            model.fit(Source(changing, cache=False), "outcome")
        assert len(list(accountant.history())) == 1  # charged, and only once
        assert not hasattr(model, "guarantee_")


def test_no_rows_are_a_table_like_any_other(tmp_path):
    """How many rows there are is private, so that there are none is no error either."""
    X, label, _ = patients_table(5)
    table = X.assign(outcome=label).iloc[:0]
    table.to_parquet(tmp_path / "a.parquet")
    for options in SOURCES.values():
        model = dpforest.RandomDecisionForestClassifier(3, schema=CLASSIFY)
        model.fit(Source(tmp_path, **options), "outcome")
        assert len(model.predict(tmp_path)) == 0


def test_memory_rows_and_blocks_agree(monkeypatch):
    monkeypatch.setattr(stored, "BLOCK_ROWS", 2**15)
    rng = np.random.default_rng(0)
    cells, target = rng.integers(0, 3, (70_000, 2), np.uint8), rng.integers(-1, 2, 70_000, np.int32)
    grid = Grid.of([3, 3], 2)
    pieces = [(cells[:5], target[:5]), (cells[5:5], target[5:5]), (cells[5:], target[5:])]
    blocks = list(stored.even_blocks(pieces, grid))
    assert [len(block.cells) for block in blocks] == [2**15, 2**15, 70_000 - 2**16]
    assert [block.first for block in blocks] == [0, 2**15, 2**16]
    np.testing.assert_array_equal(np.concatenate([block.cells for block in blocks]), cells)
    np.testing.assert_array_equal(np.concatenate([block.target for block in blocks]), target)
    rows = StoredRows.of_blocks(pieces, grid)
    np.testing.assert_array_equal(rows.cells(), MemoryRows(cells, target, grid).cells())
    np.testing.assert_array_equal(rows.is_labelled(), target >= 0)


def test_gaps_in_pandas_survive_the_way_through_parquet(tmp_path):
    table = pd.DataFrame({"age": [1.0, None], "ward": ["a", None], "crp": [None, 0.5]})
    table.to_parquet(tmp_path / "rows.parquet")
    np.testing.assert_array_equal(CLASSIFY.encode_features(tmp_path), CLASSIFY.encode_features(table))
