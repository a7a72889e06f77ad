"""Displays show what the ledger and the released values say."""

import matplotlib as mpl
import numpy as np
import pytest

from dpforest import PrivateForestClassifier, PrivateForestRegressor
from dpforest.inspection import BudgetDisplay, ImportanceDisplay
from dpforest.schema import Classes, Numeric, Schema

mpl.use("Agg")
import matplotlib.pyplot as plt  # after the choice of what draws

SCHEMA = Schema({"useless": Numeric(0, 1), "decides": Numeric(0, 1)}, Classes([0, 1]))
X = np.random.default_rng(0).random((2000, 2))


@pytest.fixture
def model():
    yield PrivateForestClassifier(schema=SCHEMA, epsilon=8).fit(X, (X[:, 1] > 0.5).astype(int))
    plt.close("all")


@pytest.mark.parametrize("by_level", [False, True])
def test_every_look_of_the_ledger_is_in_a_bar(model, by_level):
    display = BudgetDisplay.from_estimator(model, by_level).plot()
    assert display.amounts.sum() == pytest.approx(float(model.ledger_.total()))
    shown = [bar.get_width() for bar in display.ax_.patches]
    assert shown == display.amounts.tolist()
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == display.purposes
    labels = [text.get_text() for text in display.ax_.texts]
    shares = [float(label.removesuffix(" %")) for label in labels]
    assert sum(shares) == pytest.approx(100 * float(model.ledger_.total()) / 8, abs=0.5)
    assert "epsilon = 8" in display.ax_.get_title(loc="right")
    levels = {event.level for event in model.ledger_} - {None}
    assert sum(", level" in purpose for purpose in display.purposes) >= by_level * len(levels)


def test_rho_is_shown_where_rho_is_counted():
    model = PrivateForestRegressor(bounds=(0, 1), target_bounds=(0, 1), delta=1e-6).fit(X, X[:, 1])
    display = BudgetDisplay.from_estimator(model).plot()
    assert display.ax_.get_xlabel() == "rho per row"
    plt.close("all")


def test_the_feature_that_decides_is_on_top(model):
    _, ax = plt.subplots()
    display = ImportanceDisplay.from_estimator(model, most=1).plot(ax)
    assert display.ax_ is ax
    assert display.names == ["decides"]
    assert display.importances[0] == model.feature_importances_.max()


def test_without_a_fit_there_is_nothing_to_show():
    with pytest.raises(ValueError, match="not fitted"):
        BudgetDisplay.from_estimator(PrivateForestClassifier())
