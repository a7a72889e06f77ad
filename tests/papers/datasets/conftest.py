import json

import numpy as np
import pandas as pd
import pytest


@pytest.fixture(autouse=True)
def no_folder_no_network(monkeypatch):
    """Tests must not find the datasets of the machine they run on."""
    monkeypatch.delenv("DPFOREST_DATA", raising=False)

    def refuse(**arguments):
        raise OSError("no network in tests")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", refuse)


@pytest.fixture
def make_folder(tmp_path):
    """Write tables into a folder of the documented form."""

    def make(tables, schemas, index=None):
        for name, table in tables.items():
            table.to_parquet(tmp_path / f"{name}.parquet")
        (tmp_path / "schema.json").write_text(json.dumps(schemas))
        if index is not None:
            (tmp_path / "index.json").write_text(json.dumps(index))
        return tmp_path

    return make


@pytest.fixture
def banknotes():
    """Rows with the size, classes and domain of banknote, features under OpenML's names."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(-5, 4, size=(1372, 4)), columns=["V1", "V2", "V3", "V4"])
    return X, pd.Series(["1"] * 762 + ["2"] * 610, dtype="category")
