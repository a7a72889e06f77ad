"""Private scores: what is counted of a row, what one row changes, what comes out and what is charged."""

import itertools
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import (
    accuracy_score,
    brier_score_loss,
    confusion_matrix,
    mean_squared_error,
    roc_auc_score,
)

from dpforest import (
    PrivateForestClassifier,
    PrivateForestRegressor,
    RandomDecisionTreesClassifier,
    estimate_schema,
    private_score,
)
from dpforest._curator import Curator, PrivateTable, watched_by
from dpforest.audit.replay.watching import Recorder, Replayer
from dpforest.estimates.metrics import LEVELS, METRICS, largest_loss
from dpforest.estimates.scores import ask
from dpforest.mechanisms import RandomWords
from dpforest.privacy import BudgetAccountant, BudgetExceededError, BudgetPlan
from dpforest.schema import Classes, Nominal, Numeric, Range, Schema

FEATURES = {"x": Numeric(0, 1, bins=8), "ward": Nominal(["a", "b"])}
OF_CLASSES = [name for name, kind in METRICS.items() if not kind.of_numbers]
SURE = 1e5  # noise of a count is zero but with probability e**-97 (losses: rate epsilon / 1024)


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    X = np.empty((n, 2), object)
    X[:, 0], X[:, 1] = rng.random(n), rng.choice(["a", "b"], n)
    number = X[:, 0].astype(float) + 0.3 * (X[:, 1] == "a") + rng.normal(0, 0.2, n)
    return X, number


@pytest.fixture(scope="module")
def models():
    X, number = table(3000)
    two, three = Schema(FEATURES, Classes([0, 1])), Schema(FEATURES, Classes(["high", "low", "mid"]))
    names = np.array(["low", "mid", "high"])[np.digitize(number, [0.4, 0.9])]
    return {
        "two": PrivateForestClassifier(schema=two).fit(X, (number > 0.6).astype(int)),
        "boosted": PrivateForestClassifier(schema=two, delta=1e-6).fit(X, (number > 0.6).astype(int)),
        "trees": RandomDecisionTreesClassifier(schema=two).fit(X, (number > 0.6).astype(int)),
        "three": PrivateForestClassifier(schema=three).fit(X, names),
        "numbers": PrivateForestRegressor(schema=Schema(FEATURES, Range(0, 2))).fit(X, number),
    }


def rows_for(name, n=800, seed=1):
    X, number = table(n, seed)
    if name == "numbers":
        return X, number
    if name == "three":
        return X, np.array(["low", "mid", "high"])[np.digitize(number, [0.4, 0.9])]
    return X, (number > 0.6).astype(int)


def metric_of(model, name):
    return METRICS[name](model, largest_loss(name, model))


CASES = [
    *itertools.product(["two", "boosted", "trees"], OF_CLASSES),
    *(("three", name) for name in OF_CLASSES if name != "roc_auc"),
    ("numbers", "mean_squared_error"),
]


@pytest.mark.parametrize(("name", "metric"), CASES)
def test_without_noise_scores_are_those_of_scikit_learn(models, name, metric):
    model, (X, y) = models[name], rows_for(name)
    found = private_score(model, X, y, epsilon=SURE, metric=metric)
    assert found.rows == 800
    if metric == "mean_squared_error":
        clipped = np.clip(y, 0, 2)
        assert float(found) == pytest.approx(mean_squared_error(clipped, model.predict(X)), abs=4 / LEVELS)
        return
    shares, named = model.predict_proba(X), model.classes_[model.predict_proba(X).argmax(axis=1)]
    if metric == "confusion_matrix":
        np.testing.assert_array_equal(found.value, confusion_matrix(y, named, labels=model.classes_))
        return
    hot = (y[:, None] == model.classes_).astype(float)
    wanted = {
        "accuracy": lambda: accuracy_score(y, named),
        "roc_auc": lambda: roc_auc_score(y, shares[:, 1]),
        "brier_score": lambda: (
            brier_score_loss(y, shares[:, 1]) if len(hot[0]) == 2 else ((shares - hot) ** 2).sum(1).mean()
        ),
        "log_loss": lambda: -np.log(np.clip((shares * hot).sum(axis=1), 0.01, 1)).mean(),
    }[metric]()
    near = {"accuracy": 1e-12, "roc_auc": 0.02, "log_loss": 0.02}.get(metric, 2 / LEVELS)
    assert float(found) == pytest.approx(wanted, abs=near)


@pytest.mark.parametrize(("name", "metric"), CASES)
def test_what_is_counted_of_a_row_does_not_depend_on_its_company(models, name, metric):
    model, (X, y) = models[name], rows_for(name, 120)
    counted = metric_of(model, metric)
    cells, target = model.schema_.encode_features(X), model.schema_.encode_target(y)
    together = counted(cells, target)
    alone = [int(counted(cells[[i]], target[[i]])[0]) for i in range(len(cells))]
    assert together.tolist() == alone
    for start in (1, 3, 7):
        assert counted(cells[start::2], target[start::2]).tolist() == alone[start::2]


def test_ties_are_decided_by_the_row_alone(models):
    """A model that answers a row differently in company: the answer alone must count."""

    class Moody:
        classes_ = np.array([0, 1])

        def _sum_parts(self, cells, n_threads):
            lean = 1e-13 if len(cells) > 1 else -1e-13
            return np.tile([0.5 - lean, 0.5 + lean], (len(cells), 1))

        def _answers(self, votes):
            return votes

    cells, target = np.zeros((5, 1), np.uint8), np.zeros(5, np.int32)
    assert METRICS["accuracy"](Moody(), 1.0)(cells, target).tolist() == [1] * 5  # alone, class 0


def curator_of(model, X, y, epsilon=1):
    plan = BudgetPlan.divide(epsilon, 0, {"score": 1})
    return Curator(PrivateTable(X, y, model.schema_), plan, RandomWords.seeded(0))


@pytest.mark.parametrize("place", [0, 60, 120])
@pytest.mark.parametrize(("name", "metric"), CASES)
def test_one_row_changes_a_score_by_what_is_paid_for(models, name, metric, place):
    """Replay with one more row: the same question, and a movement of at most 1, or of exactly G for a sum."""
    model, (X, y) = models[name], rows_for(name, 121)
    counted, fewer = metric_of(model, metric), np.delete(np.arange(121), place)
    recorder, told = Recorder(), []
    with watched_by(recorder), curator_of(model, X[fewer], y[fewer]) as curator:
        before = ask(curator, counted, metric)
    kept = np.insert(np.arange(120), place, -1)
    replayer = Replayer(recorder.entries, kept, lambda *what: told.append(what))
    with watched_by(replayer), curator_of(model, X, y) as again:
        after = ask(again, counted, metric)
    replayer.end()
    assert not told
    assert repr(before) == repr(after)
    (movement,) = replayer.movements
    (entry,) = [one for one in recorder.entries if hasattr(one, "table")]
    bins = counted.n_bins
    rate, moved = entry.look.strength, bins if counted.is_sum else 1
    assert entry.look.moves == moved
    assert Fraction(9999, 10_000) <= rate * moved <= 1
    whole = counted(model.schema_.encode_features(X), model.schema_.encode_target(y))
    exact = np.bincount(whole, minlength=bins + counted.is_sum)
    if counted.is_sum:
        exact = np.array([exact @ np.arange(bins + 1), exact @ (bins - np.arange(bins + 1))])
    assert np.abs(exact - entry.table).sum() == moved
    assert movement.look == entry.look


def test_it_is_charged_and_refused_beyond_the_budget(models):
    accountant = BudgetAccountant(epsilon=0.5)
    X, y = rows_for("two")
    found = private_score(models["two"], X, y, epsilon=0.4, accountant=accountant)
    assert accountant.total() == (0.4, 0.0)
    assert found.receipt is not None
    assert found.ledger.total() == Fraction(2, 5)
    with pytest.raises(BudgetExceededError), accountant:
        private_score(models["two"], X, y, epsilon=0.4)
    assert [spend.label for spend in accountant.history()] == ["private_score"]


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("two", {"metric": "f1"}, "not known"),
        ("two", {"metric": "mean_squared_error"}, "does not fit"),
        ("numbers", {"metric": "accuracy"}, "does not fit"),
        ("three", {"metric": "roc_auc"}, "two classes"),
        ("two", {"metric": "log_loss", "largest": -1}, "positive"),
        ("two", {"epsilon": 1e-30}, "Nothing was charged"),
    ],
)
def test_what_cannot_work_costs_nothing(models, name, arguments, words):
    accountant = BudgetAccountant(epsilon=1.0)
    with pytest.raises(ValueError, match=words):
        private_score(models[name], *rows_for(name), **{"epsilon": 1, "accountant": accountant, **arguments})
    assert accountant.total() == (0.0, 0.0)


def test_rows_with_undeclared_targets_and_empty_tables_are_scored_in_silence(models):
    X, y = rows_for("two", 50)
    assert private_score(models["two"], X, ["?"] * 50, epsilon=SURE).rows == 0
    for metric in OF_CLASSES:
        private_score(models["two"], X[:0], y[:0], epsilon=1, metric=metric)


def test_the_target_of_a_file_goes_by_its_name(tmp_path):
    """As for `fit`: for the owner's check, for an estimate and for a score."""
    frame = pd.DataFrame(
        {"age": np.arange(400.0) % 100, "out": np.where(np.arange(400) % 100 > 50, "y", "n")}
    )
    frame.to_csv(tmp_path / "rows.csv", index=False)
    schema = Schema({"age": Numeric(0, 100)}, Classes(["n", "y"]))
    assert schema.check(tmp_path / "rows.csv", "out").columns[1].undeclared == 0
    found = estimate_schema(tmp_path / "rows.csv", "out", epsilon=50, target=schema.target)
    assert found.names == ("age",)
    model = PrivateForestClassifier(epsilon=50, schema=schema).fit(tmp_path / "rows.csv", "out")
    score = private_score(model, tmp_path / "rows.csv", "out", epsilon=50)
    assert float(score) == pytest.approx(model.score(frame[["age"]], frame["out"]), abs=0.01)
