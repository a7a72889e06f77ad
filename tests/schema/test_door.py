"""One row never changes how another is read, whatever the format; and the blocks do not show.

The generator of tables is `tools.door`; `python -m tools.door` runs it 100,000 times.
"""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest

from dpforest._curator import PrivateTable
from dpforest.schema import Classes, Combination, Nominal, Numeric, Range, Schema, door
from dpforest.schema.files import open_file
from tools import door as generator


def test_no_row_changes_the_cells_of_another_in_any_format(tmp_path):
    result = generator.run_pairs(700, 0, tmp_path)
    assert result["failures"] == 0, result["first_failures"]
    assert result["same"] == 700


def test_odd_values_are_fitted_in_silence_in_every_format(tmp_path):
    result = generator.run_values(1_000, 0, tmp_path)
    assert result["failures"] == 0, result["first_failures"]


def one_type(X, names):
    return np.asarray(X) if isinstance(X, pd.DataFrame | pa.Table) else X


def by_position(X, names):
    return X.set_axis(names, axis=1) if isinstance(X, pd.DataFrame) else X


def text_beside_text(X, names):
    words = isinstance(X, list) and any(isinstance(value, str) for row in X for value in row)
    return [[repr(value) for value in row] for row in X] if words else X


@pytest.mark.parametrize("mutant", [one_type, by_position, text_beside_text])
def test_the_generator_notices_a_door_that_is_not_shut(tmp_path, monkeypatch, mutant):
    read_table = door.read_table
    monkeypatch.setattr(
        door, "read_table", lambda X, names, owner, **options: read_table(mutant(X, names), names, **options)
    )
    assert generator.run_pairs(500, 0, tmp_path)["failures"] > 0


SCHEMA = Schema(
    {"age": Numeric(0, 100, bins=16), "ward": Nominal(["A", "B"]), "crp": Numeric(0, 1)},
    Range(0, 100),
    (Combination("age", "crp", 1),),
)
COLUMNS = {
    "crp": [0.1, None, 0.3, 0.9, 2.0, 0.0, 0.7, 0.2],
    "ward": ["A", "B", None, "C", "A", "B", "B", "A"],
    "age": [1, 30, 60, 99, 120, None, 7, 50],
    "target": [0.0, 10.0, None, 30.0, 40.0, 50.0, 60.0, 1e9],
}


def sources(tmp_path):
    frame = pd.DataFrame(COLUMNS)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=3)
    frame.to_feather(tmp_path / "rows.feather")
    for kind in ("csv", "parquet", "feather"):
        file = open_file(tmp_path / f"rows.{kind}")
        yield file.select(SCHEMA.names), file.column("target")
    yield frame[list(SCHEMA.names)], frame["target"]
    table = pa.table(COLUMNS)
    yield table.drop_columns("target"), table["target"]
    yield table.drop_columns("target").to_reader(3), COLUMNS["target"]
    yield pyarrow.dataset.dataset(table.drop_columns("target")), np.array(COLUMNS["target"], dtype=float)
    yield pl.DataFrame(COLUMNS).drop("target"), pl.Series(COLUMNS["target"])
    rows = [list(row) for row in zip(*(COLUMNS[name] for name in SCHEMA.names), strict=True)]
    yield rows, COLUMNS["target"]
    yield np.array(rows, dtype=object), np.array(COLUMNS["target"], dtype=object)[:, None]


@pytest.mark.parametrize("block_rows", [1, 3, 65_536])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_every_source_gives_the_same_rows_in_blocks_of_any_size(tmp_path, monkeypatch, block_rows, n_threads):
    monkeypatch.setattr(door, "BLOCK_ROWS", block_rows)
    frame = pd.DataFrame(COLUMNS)
    cells, codes = SCHEMA.encode_features(frame[list(SCHEMA.names)]), SCHEMA.encode_target(frame["target"])
    assert codes.tolist() == [0, 410, -1, 1229, 1638, 2048, 2458, 4096]
    for X, y in sources(tmp_path):
        rows = PrivateTable(X, y, SCHEMA, n_threads).open()
        np.testing.assert_array_equal(rows.cells(), cells)
        np.testing.assert_array_equal(rows.is_labelled(), codes >= 0)


def test_blocks_are_joined_in_their_order_with_or_without_a_copy():
    whole = np.arange(12, dtype=np.uint8).reshape(6, 2).copy()
    assert door.joined([whole[:2], whole[2:3], whole[3:]]) is whole
    others = (
        [whole[2:], whole[:2]],
        [whole[:3], whole[2:5]],
        [whole[:2]],
        [whole],
        [whole[:2], whole[2:].copy()],
        [whole[:, :1], whole[:, 1:]],
        [whole[::2], whole[1::2]],
        [whole[:2].astype(np.uint16), whole[2:]],
    )
    for blocks in others:
        np.testing.assert_array_equal(door.joined(blocks), np.concatenate(blocks))


@pytest.mark.parametrize("extra", [1, -1])
def test_tables_and_targets_of_unequal_length_are_refused(tmp_path, extra):
    y = [0.0] * (8 + extra)
    for X, _ in sources(tmp_path):
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            PrivateTable(X, y, SCHEMA)


def test_a_target_of_another_file_is_refused(tmp_path):
    (X, _), (_, y), *_ = sources(tmp_path)
    with pytest.raises(TypeError, match="another file"):
        PrivateTable(X, y, SCHEMA)


def test_a_door_that_forgets_to_clip_is_stopped_before_the_rows_are_counted(monkeypatch):
    monkeypatch.setattr(Range, "encode_part", lambda self, part: np.full(len(part), 5000, np.int32))
    with pytest.raises(RuntimeError, match="nothing was counted"):
        PrivateTable([[1, "A", 0.5]], [1], SCHEMA)
    monkeypatch.setattr(Classes, "encode_part", lambda self, part: np.full(len(part), 2, np.int32))
    with pytest.raises(RuntimeError, match="nothing was counted"):
        PrivateTable([[1, "A", 0.5]], [1], Schema(SCHEMA.features, Classes([0, 1])))
