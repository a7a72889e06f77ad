"""Lose an executor in the middle of a level, then the driver's session; run by `test_spark`."""

import os
import signal
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import dpforest
from dpforest._rows import SparkRows
from dpforest.privacy import BudgetAccountant
from tests.forests.conftest import CLASSIFY, patients_table
from tests.rows.test_stored import assert_same
from tests.spark.conftest import SMALL


@dataclass(frozen=True)
class Deadly:
    """A table in the midst of which the executor dies, once."""

    table: Any
    marker: str

    grid = property(lambda self: self.table.grid)
    shape = property(lambda self: self.table.shape)
    counts_rows = property(lambda self: self.table.counts_rows)

    def add(self, block, out):
        self.table.add(block, out)
        if block.first > 0:
            try:
                Path(self.marker).touch(exist_ok=False)
            except FileExistsError:
                return
            daemon = os.getppid()
            executor = int(Path(f"/proc/{daemon}/stat").read_text().rpartition(")")[2].split()[1])
            os.kill(executor, signal.SIGKILL)


def main(folder):
    warnings.simplefilter("ignore")
    X, label, _ = patients_table(400)
    options = {"schema": CLASSIFY, "max_depth": 4}
    expected = dpforest.DiPriMeForestClassifier(3, random_state=5, **options).fit(X, label)
    builder = SparkSession.builder.master("local-cluster[2,1,512]").config(map=SMALL)
    spark = builder.config("spark.executor.memory", "512m").getOrCreate()
    rows = pa.Table.from_pandas(X.assign(outcome=label), preserve_index=False)
    table = spark.createDataFrame(rows)
    fold, passes, stop = SparkRows.fold, [], {}

    def watched(rows, spec):
        passes.append(spec)
        return fold(rows, stop.get(len(passes), lambda spec: spec)(spec))

    SparkRows.fold = watched
    marker = os.path.join(folder, "killed")
    stop[3] = lambda spec: Deadly(spec, marker)
    model = dpforest.DiPriMeForestClassifier(3, random_state=5, **options).fit(table, "outcome")
    assert os.path.exists(marker)
    assert_same(expected, model)
    print("SAME MODEL", flush=True)
    passes.clear()
    stop[3] = lambda spec: spark.stop() or spec
    accountant = BudgetAccountant(epsilon=9.0)
    model = dpforest.DiPriMeForestClassifier(3, accountant=accountant, **options)
    with pytest.raises(RuntimeError, match="nothing is released"):
        model.fit(table, "outcome")
    assert len(list(accountant.history())) == 1
    assert not hasattr(model, "guarantee_")
    print("NOTHING RELEASED", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
