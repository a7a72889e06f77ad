"""The default forests with delta: what they learn, what they keep, and what they are asked to bear."""

import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import log_loss

import dpforest
from dpforest._boosting.rounds import column_weights
from dpforest._boosting.scales import Cuts, _draw_pairs_of
from dpforest._curator import Columns, Curator
from dpforest._rows import Block
from dpforest._structure import Pairs
from dpforest._structure.link import probabilities
from dpforest.mechanisms import RandomWords
from dpforest.privacy import BudgetAccountant, Kind, PrivacyLeakWarning
from dpforest.schema import Classes, Nominal, Numeric, Ordinal, Range, Schema

DELTA = 1e-6


def cube(n_rows, n_features, seed=0):
    return np.random.default_rng(seed).random((n_rows, n_features))


def test_sums_of_many_features_and_boxes_are_both_learnt():
    """A linear part alone, or trees alone, would not reach both; seeds are fixed."""
    X = cube(20_000, 10)
    many, boxes = X.sum(axis=1) > 5, (X[:, 0] > 0.5) ^ (X[:, 1] > 0.4)
    for y, least in ((many, 0.93), (boxes, 0.93)):
        model = dpforest.PrivateForestClassifier(delta=DELTA, bounds=(0, 1), classes=[0, 1], random_state=0)
        with pytest.warns(PrivacyLeakWarning):
            model.fit(X, y.astype(int))
        fresh = cube(5000, 10, seed=1)
        truth = fresh.sum(axis=1) > 5 if y is many else (fresh[:, 0] > 0.5) ^ (fresh[:, 1] > 0.4)
        assert (model.predict(fresh) == truth).mean() > least


def test_probabilities_are_calibrated():
    """The log loss is near that of the true probabilities; seeds are fixed."""
    rng = np.random.default_rng(0)
    X = rng.random((20_000, 4))
    true = 1 / (1 + np.exp(-4 * (X[:, 0] + X[:, 1] - 1)))
    y = (rng.random(20_000) < true).astype(int)
    model = dpforest.PrivateForestClassifier(delta=DELTA, bounds=(0, 1), classes=[0, 1], random_state=0)
    with pytest.warns(PrivacyLeakWarning):
        model.fit(X, y)
    assert log_loss(y, model.predict_proba(X)) < log_loss(y, true) + 0.04


def test_numbers_in_a_corner_of_a_wide_public_range_are_learnt():
    X = cube(20_000, 5)
    y = 3 + X[:, 0] + 2 * X[:, 1] ** 2
    model = dpforest.PrivateForestRegressor(
        delta=DELTA, bounds=(0, 1), target_bounds=(0, 100), random_state=0
    )
    with pytest.warns(PrivacyLeakWarning):
        assert model.fit(X, y).score(X, y) > 0.9


def test_many_categories_take_no_square_of_memory():
    """Products of 2,520 coordinates would take 50 MB and more."""
    schema = Schema({f"w{i}": Nominal(range(70)) for i in range(40)}, Classes([0, 1]))
    model = dpforest.PrivateForestClassifier(1, delta=DELTA, max_depth=1, schema=schema)
    tracemalloc.start()
    model.fit(np.zeros((20, 40)), [0, 1] * 10)
    assert tracemalloc.get_traced_memory()[1] < 30e6
    tracemalloc.stop()


def test_pairs_of_columns_are_different_ones():
    coins = RandomWords.seeded(0)
    assert _draw_pairs_of([], 12, coins) == _draw_pairs_of([7], 12, coins) == []
    assert _draw_pairs_of([3, 5, 9], 12, coins) == [(3, 5), (3, 9), (5, 9)]
    for n in (6, 7, 100_000):  # whose pairs could not be listed
        drawn = _draw_pairs_of(list(range(n)), 12, coins)
        assert len(set(drawn)) == 12
        assert all(0 <= one < other < n for one, other in drawn)


@pytest.mark.parametrize("n_classes", [1, 2, 3, 100])
def test_any_number_of_classes(n_classes):
    X = cube(1500, 3)
    y = (X[:, 0] * n_classes).astype(int)
    model = dpforest.PrivateForestClassifier(
        2, delta=DELTA, epsilon=5.0, bounds=(0, 1), classes=range(n_classes), max_depth=2
    ).fit(X, y)
    chances = model.predict_proba(X)
    assert chances.shape == (1500, n_classes)
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    assert model.ledger_.total() == model.privacy_plan().total


def test_a_thousand_features():
    X = cube(300, 1000)
    model = dpforest.PrivateForestClassifier(1, delta=DELTA, bounds=(0, 1), classes=[0, 1], max_depth=1)
    assert model.fit(X, (X[:, 0] > 0.5).astype(int)).feature_importances_.shape == (1000,)


def test_long_lists_of_categories_levels_and_missing_values():
    rng = np.random.default_rng(0)
    features = {
        "town": Nominal([f"t{i}" for i in range(300)]),
        "size": Ordinal(["small", "medium", "large"]),
        "flag": Nominal([True]),
        "age": Numeric(0, 99, integer=True, bins=8),
    }
    X = np.empty((4000, 4), object)
    X[:, 0] = [f"t{i}" for i in rng.integers(0, 320, 4000)]
    X[:, 1] = rng.choice(["small", "medium", "large", None], 4000)
    X[:, 2], X[:, 3] = True, rng.integers(0, 120, 4000)
    y = np.array([value in ("small", None) for value in X[:, 1]])
    model = dpforest.PrivateForestClassifier(
        delta=DELTA, epsilon=4.0, schema=Schema(features, Classes([False, True])), random_state=0
    )
    with pytest.warns(PrivacyLeakWarning):
        assert model.fit(X, y).score(X, y) > 0.9
    assert model.feature_importances_.argmax() == 1


@pytest.mark.parametrize("kind", [dpforest.PrivateForestClassifier, dpforest.PrivateForestRegressor])
def test_tables_without_rows_or_targets_are_fitted(kind):
    target = {"classes": [0, 1]} if kind is dpforest.PrivateForestClassifier else {"target_bounds": (0, 1)}
    for X, y in ((np.empty((0, 2)), np.empty(0)), (cube(50, 2), np.full(50, None))):
        model = kind(delta=DELTA, bounds=(0, 1), **target).fit(X, y)
        assert len(model.predict(cube(3, 2))) == 3


def test_rounds_and_levels_can_be_given():
    X = cube(500, 3)
    model = dpforest.PrivateForestRegressor(3, delta=DELTA, bounds=(0, 1), target_bounds=(0, 1), max_depth=4)
    trees = model.fit(X, X[:, 0]).trees_
    assert (trees.n_trees, trees.depth) == (3, 4)
    assert "3 rounds, as n_estimators says" in model.explain_plan()
    assert "4 levels, as max_depth says" in model.explain_plan()


@pytest.mark.parametrize("kind", [dpforest.PrivateForestClassifier, dpforest.PrivateForestRegressor])
@pytest.mark.parametrize("epsilon", [0.1, 10.0])
def test_without_trees_all_goes_to_the_linear_part(kind, epsilon):
    X = cube(2000, 3)
    target = {"classes": [0, 1]} if kind is dpforest.PrivateForestClassifier else {"target_bounds": (0, 1)}
    model = kind(epsilon=epsilon, delta=DELTA, bounds=(0, 1), max_depth=0, **target).fit(X, X[:, 0] > 0.5)
    assert model.trees_.depth == 0
    assert 0.9999 < model.ledger_.total() / model.privacy_plan().total <= 1
    kinds = [event.kind for event in model.ledger_]
    assert Kind.CUTS not in kinds
    assert kinds[-2:] == [Kind.GRADIENTS, Kind.STEP_LENGTH], "clip levels that nothing uses were asked for"


def test_features_of_numbers_weigh_by_what_they_have_explained():
    """Weights of cuts follow released gains; nothing explained, or classes: all alike."""
    pairs = Pairs(np.zeros((3, 2), np.int32), np.array([[0, 1, 2, 1]], np.int32), np.zeros(0, np.int32))
    columns = Columns(np.zeros((3, 2), np.uint8), np.full(4, 1), np.zeros(4, bool), pairs)
    cuts = Cuts(columns, [], np.zeros((1, 1), np.uint8))
    for is_class, gains, wanted in (
        (False, [0.0, -1.0, 0.0], [1, 1, 1, 1]),
        (True, [3.0, 0.0, 1.0], [1, 1, 1, 1]),
        (False, [3.0, -2.0, 1.0], [1, 0.1 / 2.125, 0.775 / 2.125, (0.1 / 2.125) ** 0.5]),
    ):
        state = SimpleNamespace(is_class=is_class, gains=np.array(gains))
        found = column_weights(state, cuts) / 2**20
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_more_trees_need_delta():
    for kind in (dpforest.PrivateForestClassifier, dpforest.PrivateForestRegressor):
        kind(10).privacy_plan()
        kind(11, delta=DELTA).privacy_plan()
        with pytest.raises(ValueError, match=r"More trees need delta > 0"):
            kind(11).privacy_plan()


def test_delta_is_never_made_of_the_rows():
    with pytest.raises(ValueError, match="would have to count them"):
        dpforest.PrivateForestClassifier(delta="auto").privacy_plan()


def test_budgets_for_which_no_noise_can_be_drawn_cost_nothing():
    accountant = BudgetAccountant(epsilon=1.0, delta=1e-3)
    model = dpforest.PrivateForestClassifier(
        epsilon=1e-5, delta=1e-9, bounds=(0, 1), classes=[0, 1], accountant=accountant
    )
    with pytest.raises(ValueError, match="budget is too small"):
        model.fit(cube(10, 2), np.zeros(10))
    assert not accountant.history()


def test_the_plan_in_words_adds_up():
    X = cube(3000, 4)
    for model, y in (
        (dpforest.PrivateForestClassifier(delta=DELTA, bounds=(0, 1), classes=[0, 1]), X[:, 0] > 0.5),
        (dpforest.PrivateForestRegressor(delta=DELTA, bounds=(0, 1), target_bounds=(0, 1)), X[:, 0]),
    ):
        text = model.fit(X, y.astype(float)).explain_plan()
        shares = [float(line.split(" %")[0]) for line in text.splitlines() if " % went" in line]
        assert sum(shares) == pytest.approx(100, abs=0.5)


@pytest.mark.parametrize("kind", [dpforest.PrivateForestClassifier, dpforest.PrivateForestRegressor])
def test_predictions_add_up_what_training_added_to_the_rows(kind, monkeypatch):
    X, seen, leave = cube(2000, 3), [], Curator.__exit__
    monkeypatch.setattr(Curator, "__exit__", lambda self, *error: seen.append(self) or leave(self, *error))
    is_class = kind is dpforest.PrivateForestClassifier
    target = {"classes": [0, 1]} if is_class else {"target_bounds": (0, 1)}
    y = (X[:, 0] > 0.5).astype(int) if is_class else X[:, 0]
    model = kind(delta=DELTA, epsilon=3.0, bounds=(0, 1), **target).fit(X, y)
    cells, codes = model.schema_.encode_features(X), model.schema_.encode_target(y)
    scores = seen[0]._scores.run(Block(cells, codes, 0)).scores[:, 0]
    if is_class:  # steps are stretched by nearly 1.2, which is 1.2 where both classes are equally common
        start = int(seen[0]._scores.steps[0].scores[0])
        both = np.stack([np.zeros(len(X)), (start + 1.2 * (scores - start)) / 2**16], axis=1)
        np.testing.assert_allclose(model.predict_proba(X), probabilities(both, 0.5**0.5), rtol=1e-2)
    else:
        np.testing.assert_allclose(model.predict(X), np.clip(scores / 2**20, 0, 1), atol=1e-6)


def test_replacing_a_row_and_several_rows_of_a_person_cost_their_squares():
    one = dpforest.PrivateForestClassifier(delta=DELTA).privacy_plan().total
    for steps, changes in ((2, {"neighboring": "replace_one"}), (3, {"max_rows_per_person": 3})):
        plan = dpforest.PrivateForestClassifier(delta=DELTA, **changes).privacy_plan()
        assert plan.total == one / steps**2


def test_a_range_of_one_level_is_a_target():
    X = cube(500, 2)
    schema = Schema({"a": Numeric(0, 1), "b": Numeric(0, 1)}, Range(0, 1, levels=1))
    model = dpforest.PrivateForestRegressor(delta=DELTA, epsilon=5.0, schema=schema).fit(X, X[:, 0] > 0.5)
    assert ((model.predict(X) >= 0) & (model.predict(X) <= 1)).all()
