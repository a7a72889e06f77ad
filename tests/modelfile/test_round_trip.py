"""What is saved comes back as it was: predictions, promise, plan, ledger; and nothing else is saved."""

import json
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import dpforest
from dpforest.forests.registry import ESTIMATORS
from dpforest.modelfile import ModelFileError
from dpforest.papers import baselines
from dpforest.privacy import BudgetAccountant, PrivacyLeakWarning
from dpforest.schema import Classes, Nominal, Numeric, Schema
from tests.forests.conftest import MODELS, fit, patients_table

pytestmark = pytest.mark.filterwarnings("ignore::dpforest.privacy.PrivacyLeakWarning")


@pytest.fixture(scope="module")
def patients():
    return patients_table(600)


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_is_the_saved_one(name, patients, tmp_path):
    model = fit(clone(MODELS[name]), patients, delta=1e-6 if "Exp" in name or "boosted" in name else 0.0)
    model.save(tmp_path / "model.json")
    same = dpforest.load(tmp_path / "model.json")
    assert type(same) is type(model)
    assert (same.predict(patients[0]) == model.predict(patients[0])).all()
    assert (same.leaf_votes_ == model.leaf_votes_).all()
    assert (same.trees_.threshold == model.trees_.threshold).all()
    assert (same.guarantee_, same.ledger_, same.noise_scales_) == (
        model.guarantee_,
        model.ledger_,
        model.noise_scales_,
    )
    assert (same.schema_, same.privacy_plan()) == (model.schema_, model.privacy_plan())
    assert list(same.feature_names_in_) == list(model.feature_names_in_)
    # of a declared grid that was made coarser, the file knows the coarse one
    declared = model.schema_ if hasattr(model, "bins") else model.schema
    assert (same.schema.features, same.schema.target) == (declared.features, declared.target)
    left_out = {"accountant", "random_state", "n_jobs", "verbose", "schema"}
    for parameter, value in model.get_params(deep=False).items():
        assert parameter in left_out or getattr(same, parameter) == value
    same.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "model.json").read_bytes()
    assert pickle.loads(pickle.dumps(same)).guarantee_ == model.guarantee_


@pytest.mark.parametrize("depth", [0, 1])
def test_stumps_survive(depth, patients, tmp_path):
    for name in ("DiPriMe", "DiPriMe regression", "random forest", "SPE"):
        model = fit(clone(MODELS[name]), patients, max_depth=depth)
        model.save(tmp_path / "model.json")
        same = dpforest.load(tmp_path / "model.json")
        assert (same.predict(patients[0]) == model.predict(patients[0])).all()


def test_every_estimator_can_come_out_of_a_file():
    public = {n for n in dpforest.__all__ if n.endswith(("Classifier", "Regressor"))} | set(baselines.__all__)
    assert set(ESTIMATORS) == public
    assert {type(model).__name__ for model in MODELS.values()} == public


def test_each_class_loads_its_own(patients, tmp_path):
    model = fit(clone(MODELS["DiPriMe"]), patients)
    model.save(tmp_path / "model.json")
    assert isinstance(dpforest.DiPriMeForestClassifier.load(tmp_path / "model.json"), type(model))
    with pytest.raises(ModelFileError, match="holds a DiPriMeForestClassifier"):
        dpforest.DiPriMeForestRegressor.load(tmp_path / "model.json")


def test_void_promises_stay_void(tmp_path):
    X = np.random.default_rng(0).random((200, 2))
    y = X[:, 0] > 0.5
    public = {"bounds": (0, 1), "classes": [False, True]}
    for options in (
        {"epsilon": np.inf, **public},
        {"random_state": 0, **public},
        {"on_leak": "warn"},
        {"on_leak": "warn", "bounds": (0, 1)},
    ):
        model = dpforest.DiPriMeForestClassifier(**options).fit(X, y)
        model.save(tmp_path / "model.json")
        same = dpforest.load(tmp_path / "model.json")
        assert same.guarantee_ == model.guarantee_
        assert same.guarantee_.status == "void"
        assert (same.predict(X) == model.predict(X)).all()


def test_a_schema_read_off_private_rows_does_not_come_back_as_declared(tmp_path):
    X = np.random.default_rng(0).random((200, 2))
    model = dpforest.DiPriMeForestClassifier(on_leak="warn").fit(X, X[:, 0] > 0.5)
    model.save(tmp_path / "model.json")
    with pytest.warns(PrivacyLeakWarning):
        again = clone(dpforest.load(tmp_path / "model.json")).fit(X, X[:, 0] > 0.5)
    assert again.guarantee_.status == "void"


def test_only_released_models_can_be_saved(patients, tmp_path):
    with pytest.raises(NotFittedError):
        dpforest.DiPriMeForestClassifier().save(tmp_path / "model.json")
    published = fit(clone(MODELS["DiPriMe"]), patients, as_published=True)
    with pytest.raises(ModelFileError, match="no mechanism released"):
        published.save(tmp_path / "model.json")
    assert list(tmp_path.iterdir()) == []


def test_names_and_values_of_any_kind_survive(tmp_path):
    features = {"target": Numeric(-0.1, 0.30000000000000004, bins=4), "hex": Nominal([1.5, "Ü", '"', True])}
    schema = Schema(features, Classes([0.1, 2, 3.5]))
    rows = [[0.1, "Ü"], [None, 1.5], [0.2, True]] * 20
    model = dpforest.DiPriMeForestClassifier(schema=schema).fit(rows, [0.1, 2, 3.5] * 20)
    model.save(tmp_path / "model.json")
    same = dpforest.load(tmp_path / "model.json")
    assert same.schema_ == schema
    assert same.predict(rows).tolist() == model.predict(rows).tolist()
    assert not hasattr(same, "feature_names_in_")


def test_a_file_holds_no_row_no_key_and_no_accountant(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.random((3000, 4)), rng.integers(0, 2, 3000)
    accountant = BudgetAccountant(epsilon=3.0)
    model = dpforest.DiPriMeForestClassifier(bounds=(0, 1), classes=[0, 1], accountant=accountant).fit(X, y)
    model.save(tmp_path / "model.json")
    text = (tmp_path / "model.json").read_text()
    assert "accountant" not in text
    assert "random_state" not in text
    assert len(text) < 60_000  # three thousand rows would not fit

    def largest(value):
        children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        return max([len(children), *map(largest, children)])

    assert largest(json.loads(text)) < 30
    loaded = dpforest.load(tmp_path / "model.json")
    assert loaded.accountant is None
    assert len(accountant) == 1, "loading and predicting are free"


def test_an_interrupted_save_leaves_the_old_file(patients, tmp_path, monkeypatch):
    model = fit(clone(MODELS["DiPriMe"]), patients)
    path = tmp_path / "model.json"
    path.write_text("old")

    def full_disk(descriptor):
        raise OSError("no space left")

    monkeypatch.setattr("os.fsync", full_disk)
    with pytest.raises(OSError, match="no space"):
        model.save(path)
    assert [p.name for p in tmp_path.iterdir()] == ["model.json"]
    assert path.read_text() == "old"
