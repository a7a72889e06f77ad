"""Bad input gets a clear error before anything is charged, or a stated treatment that tells no row."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from dpforest import DiPriMeForestClassifier, DiPriMeForestRegressor
from dpforest.privacy import BudgetAccountant, PrivacyLeakWarning
from dpforest.schema import Classes, Range, Schema
from tests.forests.conftest import FEATURES

CLASSIFIER = DiPriMeForestClassifier(bounds=(0, 1), classes=[0, 1])
X = np.random.default_rng(0).random((200, 3))
Y = (X[:, 0] > 0.5).astype(int)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epsilon": 0}, "epsilon=0"),
        ({"epsilon": -1.0}, "epsilon=-1"),
        ({"epsilon": float("nan")}, "epsilon=nan"),
        ({"epsilon": "1"}, "epsilon='1'"),
        ({"epsilon": True}, "epsilon=True"),
        ({"delta": -1e-9}, "delta"),
        ({"delta": 1.0}, "delta=1"),
        ({"delta": float("nan")}, "delta=nan"),
        ({"n_estimators": 0}, "n_estimators=0"),
        ({"n_estimators": 2.5}, "n_estimators=2.5"),
        ({"max_depth": -1}, "max_depth=-1"),
        ({"max_depth": 99}, "max_depth=99"),
        ({"split_share": 1.0}, "split_share"),
        ({"neighboring": "swap"}, "neighboring='swap'"),
        ({"on_leak": "ignore"}, "on_leak"),
        ({"max_rows_per_person": 0}, "max_rows_per_person"),
        ({"classes": [0, 0, 1]}, "twice|duplicate|more than once"),
        ({"classes": []}, "from 1 to"),
        ({"bounds": (1, 0)}, "low"),
        ({"bounds": (0, np.inf)}, "finite"),
        ({"bounds": ([0, 0], [1, 1])}, "3"),
        ({"bounds": None}, "Declare the features"),
        ({"classes": None}, "Declare the target"),
        ({"schema": Schema(FEATURES, Classes([0, 1]))}, "not both"),
        ({"schema": Schema(FEATURES, Range(0, 1)), "bounds": None, "classes": None}, "Classes"),
    ],
)
def test_bad_parameters_are_refused_and_cost_nothing(changes, message):
    accountant = BudgetAccountant(epsilon=1.0)
    with pytest.raises(ValueError, match=message):
        clone(CLASSIFIER).set_params(accountant=accountant, **changes).fit(X, Y)
    assert len(accountant) == 0


@pytest.mark.parametrize(
    ("table", "target"),
    [
        (X[:, :2], Y),  # one column short of per-feature bounds
        (X[0], Y[:1]),
        (X, Y[:-1]),
        (X, None),
    ],
)
def test_bad_shapes_are_refused_and_cost_nothing(table, target):
    accountant = BudgetAccountant(epsilon=1.0)
    model = DiPriMeForestClassifier(bounds=([0, 0, 0], [1, 1, 1]), classes=[0, 1], accountant=accountant)
    with pytest.raises((ValueError, TypeError)):
        model.fit(table, target)
    assert len(accountant) == 0


def test_missing_and_extra_columns_are_named_and_values_are_not():
    schema = Schema(FEATURES, Classes([0, 1]))
    secret = 31.4159
    frame = pd.DataFrame({"age": [secret], "crp": [0.5], "salary": [secret]})
    with pytest.raises(ValueError, match=r"ward") as error:
        DiPriMeForestClassifier(schema=schema).fit(frame, [0])
    assert "salary" in str(error.value)
    assert "31" not in str(error.value)


STRANGE = {
    "nan": np.nan,
    "positive infinity": np.inf,
    "negative infinity": -np.inf,
    "text in a numeric column": "a secret",
    "None": None,
    "huge": 1e300,
}


@pytest.mark.parametrize("value", STRANGE.values(), ids=STRANGE.keys())
def test_strange_values_are_treated_in_silence(value):
    table = X.astype(object)
    table[7, 1] = value
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = clone(CLASSIFIER).fit(table, Y)
        assert model.predict(table).shape == (200,)
    assert model.guarantee_.is_proven


@pytest.mark.parametrize("label", [7, -1, np.nan, 0.5])
def test_a_label_outside_the_classes_is_silent(label):
    y = Y.astype(float)
    y[3] = label
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert clone(CLASSIFIER).fit(X, y).classes_.tolist() == [0, 1]


@pytest.mark.parametrize("n_rows", [0, 1, 2, 5])
def test_few_rows_are_no_error(n_rows):
    """How many rows there are is private: fewer rows than trees, or none, must not be told by an error."""
    model = clone(CLASSIFIER).fit(X[:n_rows], Y[:n_rows])
    assert model.predict(X).shape == (200,)
    regressor = DiPriMeForestRegressor(bounds=(0, 1), target_bounds=(0, 1)).fit(X[:n_rows], X[:n_rows, 0])
    assert ((regressor.predict(X) >= 0) & (regressor.predict(X) <= 1)).all()


def test_a_constant_column_and_a_single_class_are_fine():
    table = np.c_[np.full(200, 0.5), np.full(200, 0.5)]
    model = clone(CLASSIFIER).set_params(epsilon=10.0).fit(table, np.ones(200))
    assert (model.predict(table) == 1).all()
    one = DiPriMeForestClassifier(bounds=(0, 1), classes=["only"]).fit(table, ["only"] * 200)
    assert (one.predict(table) == "only").all()


def test_everything_missing_is_fine():
    assert clone(CLASSIFIER).fit(np.full((50, 3), np.nan), Y[:50]).guarantee_.is_proven


def test_nothing_declared_shows_the_lines_to_add():
    with pytest.raises(ValueError, match="schema = Schema") as error:
        DiPriMeForestClassifier().fit(X, Y)
    assert 'on_leak="warn"' in str(error.value)


def test_reading_the_domain_off_the_rows_warns_and_voids():
    with pytest.warns(PrivacyLeakWarning, match="private rows"):
        model = DiPriMeForestClassifier(on_leak="warn").fit(X, Y)
    assert model.guarantee_.status == "void"
    assert "derived" in model.guarantee_.reason


def test_predict_checks_columns():
    model = clone(CLASSIFIER).fit(X, Y)
    with pytest.raises(ValueError, match="X has 2 features, but DiPriMeForestClassifier is expecting 3"):
        model.predict(X[:, :2])


def test_more_levels_than_cells_leave_empty_boxes():
    """A box of one cell cannot be cut: everything goes left, and its empty right side is still noised."""
    model = DiPriMeForestClassifier(2, schema=Schema({"c": FEATURES["ward"]}, Classes([0, 1])), max_depth=7)
    fitted = model.fit([["a"], ["b"], ["c"]], [0, 1, 1])
    assert fitted.leaf_statistics_.shape == (2, 128, 2)
    assert (fitted.leaf_statistics_ != 0).mean() > 0.5
    binary = DiPriMeForestRegressor(2, bounds=(0, 1), target_bounds=(0, 1), max_depth=12).fit(
        X[:, :1], X[:, 0]
    )
    assert binary.predict(X[:, :1]).shape == (200,)
