"""Shapes, trees, calibration and curves over epsilon show what was released, and draw without a complaint."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from dpforest import (
    DiPriMeForestClassifier,
    PrivateForestClassifier,
    PrivateForestRegressor,
    RandomDecisionForestClassifier,
    simulate,
)
from dpforest._structure import FlatTrees
from dpforest._trees.shapes import shape_of
from dpforest.inspection import (
    CalibrationDisplay,
    EpsilonDisplay,
    ImportanceDisplay,
    ShapeDisplay,
    TreeDisplay,
)
from dpforest.schema import Boolean, Classes, Date, Nominal, Numeric, Ordinal, Range, Schema
from tests.export import cases

mpl.use("Agg")
import matplotlib.pyplot as plt  # after the choice of what draws

RNG = np.random.default_rng(0)
X = RNG.random((3000, 2))
Y = (X[:, 1] > 0.5).astype(int)
EVIL = "a$b_{$ \n<b>\u202e\\frac"


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def model():
    return PrivateForestClassifier(bounds=(0, 1), classes=[0, 1], epsilon=8).fit(X, Y)


@pytest.mark.parametrize(
    "name", ["pure, two classes", "boosted, ten classes", "pure, numbers", "means", "votes"]
)
def test_every_kind_of_model_has_shapes(name):
    estimator, y = cases.CASES[name]
    fitted = estimator.fit(cases.X, y)
    display = ShapeDisplay.from_estimator(fitted, features=["ward", "age"], draws=2)
    assert list(display.shapes) == ["ward", "age"]
    assert np.isfinite(display.shapes["age"].values).all()
    display.plot().figure_.canvas.draw()


def test_the_shape_of_an_additive_model_is_its_table():
    fitted = PrivateForestRegressor(bounds=(0, 1), target_bounds=(0, 1), delta=1e-6, max_depth=0, epsilon=8)
    fitted.fit(X, X[:, 1])
    values = ShapeDisplay.from_estimator(fitted).shapes["x1"].values
    cells = np.array([[0.5, 0.2], [0.5, 0.8]])
    told = values[int(0.8 * 256)] - values[int(0.2 * 256)]
    assert told == pytest.approx(np.diff(fitted.predict(cells))[0], abs=1e-9)
    assert 0.3 < told < 0.9


def test_the_shape_of_a_tree_by_hand():
    """The root asks the other feature (90 rows left, 10 right); both children ask the feature itself."""
    fitted = DiPriMeForestClassifier(1, bounds=(0, 1), classes=[0, 1], max_depth=2).fit(X, Y)
    trees = FlatTrees.unsplit(1, 2)
    trees.feature[0], trees.threshold[0] = [0, 1, 1], [3, 100, 200]
    counts = np.array([[[40, 0], [0, 50], [2, 0], [4, 4]]])
    fitted.trees_, fitted.leaf_statistics_, fitted.leaf_votes_ = trees, counts, counts.astype(float)
    shape = shape_of(fitted, 1)[:, 0]
    base = 54 / 100
    np.testing.assert_allclose(shape[[50, 150, 250]], [0 / 42 - base, 50 / 52 - base, 54 / 58 - base])


def test_noise_bands_are_wider_with_less_budget():
    spread = []
    for epsilon in (0.5, 20):
        fitted = DiPriMeForestClassifier(5, bounds=(0, 1), classes=[0, 1], epsilon=epsilon).fit(X, Y)
        spread.append(ShapeDisplay.from_estimator(fitted, ["x1"]).shapes["x1"].noise.mean())
    assert spread[0] > 3 * spread[1]
    boosted = PrivateForestClassifier(bounds=(0, 1), classes=[0, 1], delta=1e-6).fit(X, Y)
    assert ShapeDisplay.from_estimator(boosted).shapes["x1"].noise is None
    assert ImportanceDisplay.from_estimator(boosted).spread is None
    assert ImportanceDisplay.from_estimator(fitted).spread.shape == (2,)


def test_every_kind_of_column_and_hostile_names_are_drawn():
    many = [f"{EVIL}{k}" for k in range(30)]
    features = {
        EVIL: Numeric(0, 1),
        "log": Numeric(1, 1e6, transform="log"),
        "asinh": Numeric(-5, 1e6, transform="asinh"),
        "day": Date("2015-01-01", "2025-12-31"),
        "yes": Boolean(),
        "list": Nominal(many),
        "order": Ordinal([1, 2, 3]),
    }
    rows = pd.DataFrame(
        {EVIL: RNG.random(500), "log": RNG.lognormal(3, 2, 500), "asinh": RNG.normal(0, 100, 500),
         "day": "2020-02-02", "yes": RNG.random(500) > 0.5, "list": RNG.choice(many, 500), "order": 2}
    )  # fmt: skip
    fitted = PrivateForestClassifier(schema=Schema(features, Classes([EVIL, "b"])), epsilon=20)
    fitted.fit(rows, np.where(rows[EVIL] > 0.5, EVIL, "b"))
    for display in (
        ShapeDisplay.from_estimator(fitted, list(features), draws=1),
        TreeDisplay.from_estimator(fitted),
        ImportanceDisplay.from_estimator(fitted, draws=1),
        CalibrationDisplay.from_estimator(fitted, rows, np.repeat("b", 500), label=EVIL),
    ):
        display.plot().figure_.canvas.draw()
    assert "\n" not in plt.gcf().axes[0].get_xlabel()


def test_a_shape_of_an_unknown_feature_is_refused(model):
    with pytest.raises(ValueError, match="not a feature"):
        ShapeDisplay.from_estimator(model, ["x9"])


def test_the_tree_shows_its_conditions_and_leaves():
    fitted = DiPriMeForestClassifier(2, bounds=(0, 1), classes=[0, 1], max_depth=2).fit(X, Y)
    display = TreeDisplay.from_estimator(fitted, tree=1).plot()
    words = " ".join(text.get_text().replace("\n", " ") for text in display.ax_.texts)
    for first, second in fitted.leaf_statistics_[1]:
        assert f"0: {first}, 1: {second}" in words
    assert len(display.ax_.texts) == 6 + 4
    assert TreeDisplay.from_estimator(fitted, levels=1).plot().ax_.texts[0].get_text().startswith("x")
    with pytest.raises(ValueError, match="trees 0 to 1"):
        TreeDisplay.from_estimator(fitted, tree=2)


def test_a_leaf_alone_is_a_tree_too():
    fitted = RandomDecisionForestClassifier(1, bounds=(0, 1), classes=[0, 1], max_depth=0).fit(X, Y)
    assert len(TreeDisplay.from_estimator(fitted).plot().ax_.texts) == 1


def test_calibration_counts_what_happened(model):
    display = CalibrationDisplay.from_estimator(model, X, Y, n_bins=5).plot()
    assert display.rows.sum() == len(X)
    assert display.rows @ display.observed == pytest.approx(Y.sum())
    assert display.rows @ display.predicted == pytest.approx(model.predict_proba(X)[:, 1].sum())
    assert "predicted probability of 1" in display.ax_.get_xlabel()
    with pytest.raises(ValueError, match="not a class"):
        CalibrationDisplay.from_estimator(model, X, Y, label="x")
    with pytest.raises(ValueError, match="as many events"):
        CalibrationDisplay.from_predictions([1], [0.5, 0.5])


def test_the_curve_over_epsilon_is_the_simulation():
    schema = Schema({"a": Numeric(0, 1)}, Range(0, 1))
    found = simulate(PrivateForestRegressor(schema=schema), 200, epsilons=[5, 0.1], repeats=2)
    display = EpsilonDisplay.from_simulation(found).plot()
    assert display.epsilons.tolist() == [0.1, 5.0]
    told = {line.epsilon: line for line in found.lines}
    assert display.means.tolist() == [told[0.1].mean, told[5.0].mean]
    assert display.marks == {"guessing": 0.0, "no privacy": told[np.inf].mean}
    np.testing.assert_array_equal(display.ax_.lines[0].get_ydata(), display.means)
    assert display.ax_.get_ylabel() == "R2"
    display.figure_.canvas.draw()
