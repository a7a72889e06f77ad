"""Simulations: rows that are nobody's, figures that fall with noise, and nothing that is charged."""

import math

import numpy as np
import pandas as pd
import pytest

from dpforest import PrivateForestClassifier, PrivateForestRegressor, simulate
from dpforest.privacy import BudgetAccountant
from dpforest.schema import Boolean, Classes, Nominal, Numeric, Ordinal, Range, Schema
from dpforest.search.made_up import made_up_features, made_up_target

FEATURES = {
    "age": Numeric(18, 100),
    "ward": Nominal(["A", "B", "C"]),
    "grade": Ordinal(["low", "mid", "high"]),
    "smokes": Boolean(),
}
CLASSIFY = Schema(FEATURES, Classes(["died", "home", "moved"]))
REGRESS = Schema(FEATURES, Range(0, 50))


@pytest.mark.parametrize("best", [0.6, 0.85, 0.97])
def test_made_up_rows_are_as_predictable_as_is_said(best):
    """By nearest cells of a fine table: the rule is deterministic but for its noise."""
    rng = np.random.default_rng(0)
    X = made_up_features(CLASSIFY, 20_000, rng)
    y, reached = made_up_target(X, CLASSIFY, best, rng)
    assert reached == pytest.approx(best, abs=0.005)
    assert set(y) <= set(CLASSIFY.classes.labels)
    assert set(X[:, 1]) == {"A", "B", "C"}
    assert X[:, 0].astype(float).min() >= 18
    frame = pd.DataFrame(X, columns=list(FEATURES)).assign(y=y)
    frame["age"] = (frame["age"].astype(float) // 4).astype(int)
    right = frame.groupby(list(FEATURES))["y"].transform(lambda part: part.mode()[0]) == frame["y"]
    assert right.mean() == pytest.approx(best, abs=0.06)
    target, explained = made_up_target(X, REGRESS, best, rng)
    assert explained == best
    assert np.mean((target > 0) & (target < 50)) > 0


def test_more_epsilon_is_better_and_nobody_pays():
    with BudgetAccountant(epsilon=1.0) as accountant:
        found = simulate(
            PrivateForestClassifier(schema=CLASSIFY, accountant=accountant),
            3000,
            epsilons=[0.01, 10],
            repeats=2,
        )
    assert len(accountant) == 0
    little, much, plain = found.lines
    assert little.mean < much.mean
    assert found.guess < much.mean < found.best + 0.03
    assert math.isinf(plain.epsilon)
    for line in found.lines:
        assert line.lowest <= line.mean <= line.highest
    assert "says nothing about any private table" in str(found)
    assert "no privacy" in found._repr_html_()
    assert len(found.to_frame()) == 3


def test_public_rows_and_numbers():
    rng = np.random.default_rng(1)
    X = rng.random((1500, 2))
    forest = PrivateForestRegressor(bounds=(0, 1), target_bounds=(0, 1))
    found = simulate(forest, public=(X, X[:, 0]), epsilons=[5], repeats=2)
    assert (found.score, found.best, found.rows) == ("R2", None, 1200)
    assert found.lines[0].mean > 0.5
    assert simulate(forest, 4000, public=(X, X[:, 0]), epsilons=[5], repeats=1).rows == 4000
    frame = pd.DataFrame(X, columns=["a", "b"])
    classify = PrivateForestClassifier(bounds=(0, 1), classes=[0, 1])
    assert simulate(classify, public=(frame, frame["a"] > 0.5), epsilons=[5], repeats=1).lines[0].mean > 0.8


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "number of rows"),
        ({"rows": 0}, "rows must be"),
        ({"rows": 10, "best": 1}, "best"),
        ({"rows": 10, "repeats": 0}, "repeats"),
        ({"rows": 10, "epsilons": [0]}, "epsilon"),
    ],
)
def test_what_cannot_be_simulated_is_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        simulate(PrivateForestClassifier(schema=CLASSIFY), **arguments)
    with pytest.raises(TypeError, match="forest of this library"):
        simulate("forest", 10)
