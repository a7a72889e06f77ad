"""Tables and estimators of `tools.scale`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

N_FEATURES, N_FILES = 20, 20
MODELS = ("random splits", "median", "default", "default, delta")
PEER, BINNING = "random forest of scikit-learn", "reading and making cells"
ONE_TREE_EACH = "random splits, a row in one tree"


def write(folder: Path, n_rows: int) -> None:
    """Write some files of uniform numbers and a class that follows from two of them."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    for number in range(N_FILES):
        X = rng.random((N_FEATURES, n_rows // N_FILES), dtype=np.float32)
        columns = {f"x{j}": X[j] for j in range(N_FEATURES)}
        columns["y"] = (X[0] + X[1] > 1).astype(np.int8)
        parquet.write_table(pa.table(columns), folder / f"part-{number:03}.parquet", row_group_size=2**18)


def array(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Read such files into memory."""
    table = parquet.read_table(folder)
    return np.column_stack(table.drop_columns(["y"]).columns), np.asarray(table["y"])


class Binning:
    """Reads a table once, and makes cells of it; counts nothing."""

    def fit(self, X, y):
        from dpforest._curator import PrivateTable
        from dpforest.schema import Schema

        np.add.reduce(X, axis=None)
        PrivateTable(X, y, Schema.from_bounds((0, 1), n_features=N_FEATURES, classes=[0, 1]))


def make(name: str, n_jobs: int = 1):
    """Return an estimator."""
    import dpforest

    public = {"bounds": (0, 1), "classes": [0, 1], "n_jobs": n_jobs}
    if name == PEER:
        from sklearn.ensemble import RandomForestClassifier

        return RandomForestClassifier(10, max_depth=10, random_state=0)
    if name == BINNING:
        return Binning()
    if name == ONE_TREE_EACH:
        from tools.speed import RandomSplits

        return RandomSplits()
    if name == "random splits":
        return dpforest.RandomDecisionTreesClassifier(10, max_depth=10, **public)
    if name == "median":
        return dpforest.DiPriMeForestClassifier(10, max_depth=10, **public)
    return dpforest.PrivateForestClassifier(delta=1e-6 if "delta" in name else 0.0, **public)
