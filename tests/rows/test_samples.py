"""Fits to a secret sample of rows: the same model wherever rows are, and whatever blocks remember of it."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

import dpforest
from dpforest._curator import fits
from dpforest._rows import spill, stored
from dpforest._rows.pulls import Bends, Pulls
from dpforest.forests import guided_classification
from dpforest.schema import Source
from tests.forests.conftest import CLASSIFY, REGRESS, patients_table
from tests.rows.test_stored import SOURCES, assert_same, write_parts

pytestmark = [
    pytest.mark.filterwarnings("ignore::dpforest.privacy.PrivacyLeakWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of dask, about pandas
]
MODELS = {
    "classes": dpforest.PrivateForestClassifier(epsilon=8.0, delta=0.0, schema=CLASSIFY, random_state=5),
    "numbers": dpforest.PrivateForestRegressor(epsilon=8.0, delta=0.0, schema=REGRESS, random_state=5),
}


@pytest.fixture(autouse=True)
def few_are_enough(monkeypatch):
    """Samples that only tables of a million rows need."""
    config = guided_classification.DEFAULTS
    linear = replace(config.linear, most_to_fit=1.0, rows_to_fit=400.0)
    config = replace(config, linear=linear, most_to_choose=1.0, rows_to_choose=400.0)
    monkeypatch.setattr(dpforest.PrivateForestClassifier, "_config", config)
    monkeypatch.setattr(fits, "SAMPLED_ROWS", 200)
    monkeypatch.setattr(stored, "BLOCK_ROWS", 300)
    monkeypatch.setattr(spill, "SEGMENT", 2**15)


@pytest.fixture
def asked(monkeypatch):
    """Samples that were asked about, by what for."""
    found = {Pulls: [], Bends: []}

    def watch(kind):
        add = kind.add

        def watched(spec, *args):
            found[kind].append(spec.sample)
            add(spec, *args)

        monkeypatch.setattr(kind, "add", watched)

    watch(Pulls)
    watch(Bends)
    return found


def tables(name):
    X, label, target = patients_table(1500)
    y = label if name == "classes" else target
    return X, y, X.assign(outcome=y)


@pytest.mark.parametrize("name", MODELS)
def test_models_are_the_same_to_the_last_bit(name, tmp_path, asked):
    frames, dask = pytest.importorskip("dask.dataframe"), pytest.importorskip("dask")
    X, y, table = tables(name)
    model = clone(MODELS[name]).fit(X, y)
    assert asked[Bends]
    assert all(sample is not None for sample in asked[Bends])
    assert name == "numbers" or all(sample is not None for sample in asked[Pulls])
    assert_same(model, clone(MODELS[name]).set_params(n_jobs=3).fit(X, y))
    folder = write_parts(tmp_path, table)
    for options in SOURCES.values():
        assert_same(model, clone(MODELS[name]).fit(Source(folder, **options), "outcome"))
    with dask.config.set(scheduler="synchronous"):
        parts = frames.from_pandas(table, npartitions=4, sort=False)
        assert_same(model, clone(MODELS[name]).fit(parts, "outcome"))


def test_a_sample_is_a_fair_share_of_the_rows_and_stays_the_same(asked):
    X, y, _ = tables("classes")
    clone(MODELS["classes"]).fit(X, y)
    (sample,) = {id(sample): sample for sample in asked[Pulls]}.values()
    taken = np.count_nonzero(sample.of(0, len(X)) == 0)
    assert abs(taken - len(X) / sample.n_trees) < 5 * np.sqrt(len(X) / sample.n_trees)
    (steering,) = {id(sample): sample for sample in asked[Bends]}.values()
    assert steering is not sample
