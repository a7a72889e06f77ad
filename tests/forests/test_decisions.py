"""Rare classes: weights and thresholds decide, for free, and probabilities stay what they are."""

import json

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import recall_score

import dpforest
from dpforest import (
    DiPriMeForestClassifier,
    PrivateForestClassifier,
    RandomDecisionForestClassifier,
    RandomDecisionTreesClassifier,
)
from dpforest.estimates.scores import private_score
from dpforest.export import to_python
from dpforest.privacy import BudgetAccountant
from tests.forests.conftest import MODELS

RNG = np.random.default_rng(0)
X = RNG.random((4000, 1))
# Six of a hundred; a quarter where the first feature is high: never the most probable class.
Y = (RNG.random(4000) < np.where(X[:, 0] > 0.8, 0.25, 0.01)).astype(int)
DECLARED = {"bounds": (0, 1), "classes": [0, 1]}
GUIDED = PrivateForestClassifier(**DECLARED)
# cuts near the quartiles and octiles, and noise of about one row
FOREST = DiPriMeForestClassifier(1, **DECLARED, epsilon=50.0, max_depth=3)


def decided(model, **parameters):
    """Fit with other parameters; the noise is another one, so compare with its own probabilities."""
    return clone(model).set_params(**parameters).fit(X, Y)


def test_rare_positives_are_found_by_weights_and_thresholds():
    plain = decided(FOREST)
    assert plain.decision_weights_ is None
    assert recall_score(Y, plain.predict(X)) < 0.05
    for parameters in ({"class_weight": "balanced"}, {"class_weight": {1: 9}}, {"threshold": 0.1}):
        model = decided(FOREST, **parameters)
        assert recall_score(Y, model.predict(X)) > 0.4
        assert model.predict_proba(X)[:, 1].mean() < 0.2
        assert model.guarantee_ == plain.guarantee_


@pytest.mark.parametrize("threshold", [0.01, 0.1, 0.5, 0.9])
def test_a_threshold_is_what_it_says(threshold):
    model = decided(FOREST, threshold=threshold)
    second = model.predict_proba(X)[:, 1]
    away = np.abs(second - threshold) > 1e-12
    np.testing.assert_array_equal(model.predict(X)[away], (second > threshold).astype(int)[away])
    if threshold == 0.5:
        np.testing.assert_array_equal(model.predict(X), model.predict_proba(X).argmax(axis=1))


def test_weights_multiply_probabilities_of_the_labels_they_name():
    names = np.array(["no", "perhaps", "yes"])[(Y + (X[:, 0] > 0.5)).astype(int)]
    forest = PrivateForestClassifier(
        bounds=(0, 1), classes=["yes", "no", "perhaps"], class_weight={"yes": 30, "perhaps": np.float64(0.5)}
    ).fit(X, names)
    wanted = forest.predict_proba(X) * [1, 0.5, 30]
    np.testing.assert_array_equal(forest.predict(X), forest.classes_[wanted.argmax(axis=1)])


def test_balanced_is_one_over_the_released_counts():
    model = decided(RandomDecisionTreesClassifier(5, bounds=(0, 1), classes=[0, 1]), class_weight="balanced")
    counts = model.leaf_statistics_.sum(axis=(0, 1))
    np.testing.assert_allclose(model.decision_weights_, counts.min() / counts)


@pytest.mark.parametrize(
    "parameters", [{"class_weight": {1: 9}}, {"class_weight": "balanced"}, {"threshold": 0.1}]
)
def test_files_pickles_exports_and_scores_decide_alike(parameters, tmp_path):
    model = decided(FOREST, **parameters)
    model.save(tmp_path / "model.json")
    again = dpforest.load(tmp_path / "model.json")
    wanted = model.predict(X)
    assert len(set(wanted)) == 2
    np.testing.assert_array_equal(again.predict(X), wanted)
    assert {name: getattr(again, name) for name in parameters} == parameters
    scoring = {"__name__": "scoring"}
    exec(to_python(model), scoring)
    assert [scoring["predict"](row) for row in X[:200].tolist()] == wanted[:200].tolist()
    assert float(private_score(model, X, Y, epsilon=1e5)) == pytest.approx((wanted == Y).mean(), abs=1e-9)
    model.set_params(threshold=0.99, class_weight=None)  # the next fit's
    np.testing.assert_array_equal(model.predict(X), wanted)


def test_models_without_a_decision_have_the_files_they_had(tmp_path):
    decided(FOREST).save(tmp_path / "model.json")
    assert "class_weight" not in (tmp_path / "model.json").read_text()
    decided(FOREST, class_weight={0: 2}).save(tmp_path / "model.json")
    document = json.loads((tmp_path / "model.json").read_text())
    assert document["body"]["parameters"]["class_weight"] == "[[0, 2.0]]"


@pytest.mark.parametrize(
    ("forest", "parameters", "words"),
    [
        (FOREST, {"class_weight": {7: 2}}, "not declared"),
        (FOREST, {"class_weight": {1: 2}, "threshold": 0.1}, "not both"),
        (FOREST, {"class_weight": {1: -2}}, "class_weight"),
        (FOREST, {"class_weight": {1: float("nan")}}, "class_weight"),
        (FOREST, {"class_weight": "heavy"}, "class_weight"),
        (FOREST, {"class_weight": {}}, "class_weight"),
        (FOREST, {"threshold": 0}, "threshold"),
        (FOREST, {"threshold": 1.5}, "threshold"),
        (FOREST, {"threshold": 0.1, "classes": [0, 1, 2]}, "two classes"),
        (GUIDED, {"class_weight": "balanced", "delta": 1e-6}, "give numbers"),
        (
            RandomDecisionForestClassifier(bounds=(0, 1), classes=[0, 1]),
            {"class_weight": "balanced"},
            "numbers",
        ),
        (
            RandomDecisionTreesClassifier(bounds=(0, 1), classes=[0, 1], voting="probabilistic"),
            {"threshold": 0.1},
            "probabilistic",
        ),
        (
            RandomDecisionTreesClassifier(bounds=(0, 1), classes=[0, 1], as_published=True),
            {"threshold": 0.1},
            "thr",
        ),
    ],
)
def test_what_cannot_be_decided_costs_nothing(forest, parameters, words):
    accountant = BudgetAccountant(epsilon=90.0, delta=1e-6)
    payer = {} if forest.as_published else {"accountant": accountant}
    with pytest.raises(ValueError, match=words):
        clone(forest).set_params(**payer, **parameters).fit(X, Y)
    assert len(accountant) == 0


@pytest.mark.parametrize("name", [name for name, model in MODELS.items() if hasattr(model, "class_weight")])
def test_every_classifier_takes_weights(name, patients):
    table, y, _ = patients
    model = clone(MODELS[name]).set_params(class_weight={"died": 1e9}).fit(table[:300], y[:300])
    shares = model.predict_proba(table[:50])[:, list(model.classes_).index("died")]
    assert (model.predict(table[:50])[shares > 1e-6] == "died").all()
