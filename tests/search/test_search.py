"""Searches: what a run costs, what is charged, what is released, and that nothing is left of losing runs."""

import copy
import gc
import pickle
import weakref
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import cross_val_score

import dpforest
from dpforest import (
    DiPriMeForestClassifier,
    PrivateForestClassifier,
    PrivateForestRegressor,
    PrivateSearchCV,
    RandomDecisionTreesClassifier,
    SemiSupervisedPartitioningEnsembleClassifier,
)
from dpforest._curator import PrivateTable, watched_by
from dpforest._curator.assignment import GivenTrees
from dpforest.audit.replay.movement import price
from dpforest.audit.replay.watching import Recorder, Replayer
from dpforest.mechanisms import RandomWords
from dpforest.privacy import (
    BudgetAccountant,
    BudgetExceededError,
    BudgetPlan,
    Kind,
    NeighboringRelation,
    PrivacyError,
)
from dpforest.privacy.plan import HELD_OUT_ROWS, TRAINING_ROWS
from dpforest.schema import Classes, Numeric, Schema
from dpforest.search import search
from dpforest.search.candidates import Candidate, plan_for
from dpforest.search.runs import Trial

X = np.random.default_rng(0).random((400, 2))
Y = (X[:, 0] > 0.5).astype(int)
FOREST = DiPriMeForestClassifier(2, bounds=(0, 1), classes=[0, 1], max_depth=1)
GRID = {"max_depth": [0, 1, 2]}
SCHEMA = Schema({"a": Numeric(0, 1), "b": Numeric(0, 1)}, Classes([0, 1]))


def number_of_runs(monkeypatch, n):
    monkeypatch.setattr(search, "random_runs", lambda *_: n)


def test_one_charge_for_everything_and_the_winner_says_so(tmp_path):
    accountant = BudgetAccountant(epsilon=3.0)
    found = PrivateSearchCV(FOREST, GRID, epsilon=2.0, accountant=accountant).fit(X, Y)
    assert accountant.total() == (2.0, 0.0)
    (spend,) = accountant.history()
    assert (spend.label, spend.state) == ("PrivateSearchCV", "spent")
    model = found.best_estimator_
    assert model.guarantee_ == found.guarantee_ == model.ledger_.plan.guarantee
    assert model.guarantee_.epsilon == model.epsilon == 2.0
    assert model.ledger_.total() <= 2
    assert [event.kind for event in model.ledger_][-2:] == [Kind.SCORE, Kind.BEST_RUN]
    assert spend.pays_for(model.ledger_.plan)
    model.save(tmp_path / "model.json")
    again = dpforest.load(tmp_path / "model.json")
    assert again.guarantee_ == model.guarantee_
    assert (again.ledger_, again.receipt_) == (model.ledger_, found.receipt_)
    np.testing.assert_array_equal(again.predict_proba(X), found.predict_proba(X))
    with pytest.raises(BudgetExceededError):
        found.fit(X, Y)
    assert not hasattr(found, "best_estimator_")


@pytest.mark.parametrize("eta", [0, -0.5, 1])
def test_a_run_gets_its_part_of_epsilon_and_the_choice_the_rest(eta):
    searched = PrivateSearchCV(FOREST, GRID, epsilon=1.5, eta=eta)
    part = 1 / (2 + Fraction(str(eta)))
    plan = searched.privacy_plan()
    assert [(p.name, p.share, p.rows) for p in plan.pools] == [
        ("training", part, TRAINING_ROWS),
        ("score", part, HELD_OUT_ROWS),
        ("choice", 1 - part, "all rows"),
    ]
    ledger = searched.fit(X, Y).ledger_
    asked = {rows: sum(e.cost for e in ledger if e.rows == rows) for rows in (TRAINING_ROWS, HELD_OUT_ROWS)}
    assert asked[HELD_OUT_ROWS] == Fraction(3, 2) * part
    assert asked[TRAINING_ROWS] <= Fraction(3, 2) * part
    assert ledger.plan.outline() == plan


def test_persons_with_several_rows_and_replaced_rows_get_more_noise():
    forest = clone(FOREST).set_params(max_rows_per_person=3, neighboring="replace_one")
    ledger = PrivateSearchCV(forest, epsilon=2.0).fit(X, Y).ledger_
    score = next(event for event in ledger if event.kind is Kind.SCORE)
    assert score.cost == Fraction(1, 6)
    assert score.parameters["noise_sd"] == pytest.approx(6 * 2**0.5, rel=0.01)
    assert "3 rows per person" in str(ledger.plan.guarantee)


EXTRA = ([0.3, 0.99], 1)


@pytest.mark.filterwarnings("ignore::dpforest.privacy.PrivacyLeakWarning")
@pytest.mark.parametrize("metric", ["accuracy", "log_loss"])
@pytest.mark.parametrize("held_out", [False, True])
@pytest.mark.parametrize("place", [0, 60, 120])
def test_a_row_is_seen_by_one_half_of_a_run_which_costs_its_epsilon(place, held_out, metric):
    """Replay of a run on a table with one more row: the half that does not hold it does not move at all."""
    folds = np.random.default_rng(1).integers(0, 3, 120)
    schema = Schema({"a": Numeric(0, 1, bins=8), "b": Numeric(0, 1, bins=8)}, Classes([0, 1]))
    forest = PrivateForestClassifier(schema=schema, epsilon=Fraction(1, 2), random_state=3)
    plan = BudgetPlan.divide(Fraction(1, 2), 0, {"score": 1})

    def trial(rows, labels, drawn):
        run = Trial(rows, labels, GivenTrees(3, drawn), metric, None, plan)
        return run(0, Candidate({}, forest), RandomWords.seeded(4))

    recorder, told = Recorder(), []
    with watched_by(recorder):
        before = trial(X[:120], Y[:120], folds)
    kept = np.insert(np.arange(120), place, -1)
    replayer = Replayer(recorder.entries, kept, lambda *what: told.append(what))
    with watched_by(replayer):
        after = trial(
            np.insert(X[:120], place, EXTRA[0], axis=0),
            np.insert(Y[:120], place, EXTRA[1]),
            np.insert(folds, place, 0 if held_out else 1),
        )
    replayer.end()
    assert not told
    assert after.score == before.score
    np.testing.assert_array_equal(after.release.statistics, before.release.statistics)
    *trained, scored = replayer.movements
    lost = [one.steps(pure=True) * price(one.look, pure=True) for one in replayer.movements]
    assert scored.look.event.kind is Kind.SCORE
    assert bool(lost[-1]) == held_out
    assert any(lost[:-1]) == (not held_out)
    assert Fraction(4, 10) < sum(lost) <= Fraction(1, 2) if held_out else 0 < sum(lost) <= Fraction(1, 2)
    assert len(trained) > 2


def test_rows_are_held_out_by_coins_of_their_own():
    """A fifth of 4000 rows, give or take 7 deviations; no row twice, none left out."""
    forest, numbered = clone(FOREST), np.arange(4000, dtype=np.int32)
    trial = PrivateSearchCV(forest)._trial(
        [Candidate({}, forest)], np.zeros((4000, 2)), np.zeros(4000), RandomWords.system()
    )
    parts = [
        np.concatenate([t for _, t in search.Part(trial.folds, held_out).of([(numbered[:, None], numbered)])])
        for held_out in (True, False)
    ]
    assert abs(len(parts[0]) - 800) < 7 * 26
    assert sorted(np.concatenate(parts)) == numbered.tolist()
    again = PrivateSearchCV(forest)._trial(
        [Candidate({}, forest)], np.zeros((4, 2)), np.zeros(4), RandomWords.system()
    )
    assert again.folds.key != trial.folds.key


def test_nothing_of_losing_runs_is_left(monkeypatch, capsys):
    """Seven runs: six models are gone, and what is kept has the same form as after one run."""
    seen = []

    class Watching(Trial):
        def __call__(self, *args):
            scored = super().__call__(*args)
            seen.append((weakref.ref(scored.release.ledger), scored.worth))
            return scored

    monkeypatch.setattr(search, "Trial", Watching)
    kept = []
    for n in (1, 7):
        number_of_runs(monkeypatch, n)
        seen.clear()
        found = PrivateSearchCV(clone(FOREST).set_params(verbose=2), GRID, epsilon=2.0).fit(X, Y)
        gc.collect()
        assert len(seen) == n
        assert all(ledger() is None for ledger, _ in seen)  # the winner's own ledger became the search's
        assert found.best_estimator_.ledger_.total() == 2
        kept.append(vars(found))
    assert set(kept[0]) == set(kept[1])
    assert capsys.readouterr() == ("", "")
    public = kept[1]["ledger_"].events[-1].parameters
    assert set(public) == {"eta", "gamma", "candidates"}


def test_the_best_run_wins(monkeypatch):
    """Of 25 runs none tries the better candidate with probability 2**-25, in each of two searches."""
    number_of_runs(monkeypatch, 25)
    stump = DiPriMeForestClassifier(1, bounds=(0, 1), classes=[0, 1])
    found = PrivateSearchCV(stump, {"max_depth": [0, 5]}, epsilon=400.0).fit(X, Y)
    assert found.best_params_ == {"max_depth": 5}
    assert found.best_index_ == 1
    assert found.best_score_ > 0.8
    regressor = PrivateForestRegressor(bounds=(0, 1), target_bounds=(0, 1), max_depth=3)
    found = PrivateSearchCV(regressor, {"max_depth": [0, 6]}, epsilon=400.0).fit(X, X[:, 0])
    assert found.best_score_ < 0.08  # a loss: less is better


def test_pickles_leave_budgets_behind_and_can_be_fitted_where_they_are(tmp_path):
    accountant = BudgetAccountant.create(tmp_path / "budget.db", dataset="patients", epsilon=100.0)
    with accountant:
        found = PrivateSearchCV(FOREST, GRID).fit(X, Y)
        dumps = [pickle.dumps(found)]
    own = PrivateSearchCV(clone(FOREST).set_params(accountant=accountant), GRID).fit(X, Y)
    dumps.append(pickle.dumps(own))
    assert len(accountant) == 2, "a forest's accountant is asked too"
    for dump in dumps:
        assert b"budget.db" not in dump
        again = pickle.loads(dump)
        assert again.predict(X[:5]).shape == (5,)
        again.fit(X, Y)
    assert len(accountant) == 4
    assert copy.deepcopy(own).estimator.accountant is accountant
    nobody = pickle.loads(pickle.dumps(PrivateSearchCV(FOREST, GRID).fit(X, Y)))
    nobody.fit(X, Y)
    assert len(accountant) == 4


def test_folds_of_scikit_learn_charge_one_search_each():
    with BudgetAccountant(epsilon=100.0) as accountant:
        cross_val_score(PrivateSearchCV(FOREST, GRID), X, Y, cv=3, error_score="raise")
    assert len(accountant) == 3
    assert is_classifier(PrivateSearchCV(FOREST))
    assert is_regressor(PrivateSearchCV(PrivateForestRegressor()))
    assert PrivateSearchCV(FOREST).set_params(estimator__max_depth=2).estimator.max_depth == 2
    FOREST.set_params(max_depth=1)


def test_forests_of_several_classes_frames_and_files(tmp_path):
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(y=Y)
    frame.to_parquet(tmp_path / "rows.parquet")
    several = [PrivateForestClassifier(schema=SCHEMA), RandomDecisionTreesClassifier(schema=SCHEMA)]
    searched = PrivateSearchCV(several, epsilon=2.0, metric="roc_auc")
    for rows in ((frame[["a", "b"]], frame["y"]), (str(tmp_path / "rows.parquet"), "y")):
        found = clone(searched).fit(*rows)
        assert type(found.best_estimator_) in {type(one) for one in several}
        assert found.predict(frame[["a", "b"]]).shape == (400,)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"estimator": clone(FOREST).set_params(delta=1e-6)}, "pure"),
        (
            {"estimator": SemiSupervisedPartitioningEnsembleClassifier(bounds=(0, 1), classes=[0, 1])},
            "cannot",
        ),
        ({"param_grid": {"epsilon": [1, 2]}}, "cannot choose epsilon"),
        ({"param_grid": {}}, "nothing to choose"),
        ({"param_grid": []}, "nothing to choose"),
        ({"estimator": [FOREST, PrivateForestRegressor()]}, "cannot be compared"),
        ({"estimator": [FOREST, clone(FOREST).set_params(classes=[0, 1, 2])]}, "same target"),
        ({"estimator": [FOREST, clone(FOREST).set_params(max_rows_per_person=2)]}, "max_rows_per_person"),
        ({"metric": "f1"}, "not known"),
        ({"metric": "confusion_matrix"}, "one number"),
        ({"eta": -0.9}, "eta"),
        ({"param_grid": {"class_weight": [None, {7: 2}]}}, "not declared"),
        ({"eta": 2}, "eta"),
        ({"eta": 1e-300}, "eta"),  # no coin is so fine
        ({"metric": "log_loss", "largest": 5e-324}, "largest"),
        ({"folds": 1}, "folds"),
        ({"expected_runs": 0}, "expected_runs"),
        ({"expected_runs": 1000}, "expected_runs"),
        ({"epsilon": 1e-30}, "Nothing was charged"),
        ({"param_grid": {"max_depth": [1, 99]}}, "max_depth"),
    ],
)
def test_what_cannot_work_costs_nothing(changes, words):
    accountant = BudgetAccountant(epsilon=1.0)
    searched = PrivateSearchCV(**{"estimator": FOREST, "accountant": accountant} | changes)
    with pytest.raises(ValueError, match=words):
        searched.fit(X, Y)
    assert len(accountant) == 0


@pytest.mark.parametrize("bounds", [(-1e200, 1e200), (0, 1e-200)])
def test_bounds_whose_square_is_no_double_cost_nothing(bounds):
    accountant = BudgetAccountant(epsilon=1.0)
    forest = PrivateForestRegressor(bounds=(0, 1), target_bounds=bounds)
    with pytest.raises(ValueError, match="apart"):
        PrivateSearchCV(forest, accountant=accountant).fit(X, X[:, 0])
    assert len(accountant) == 0


@pytest.mark.parametrize("changes", [{"random_state": 1}, {"on_leak": "warn", "bounds": None}])
def test_candidates_that_promise_nothing_are_refused(changes):
    with pytest.raises(PrivacyError, match="promises nothing"):
        PrivateSearchCV(clone(FOREST).set_params(**changes)).fit(X, Y)
    with pytest.raises(TypeError, match="forest of this library"):
        PrivateSearchCV("forest").fit(X, Y)


def test_rows_that_cannot_be_divided_are_refused_before_the_charge():
    import dask.dataframe as dd

    accountant = BudgetAccountant(epsilon=1.0)
    frame = dd.from_pandas(pd.DataFrame(X, columns=["a", "b"]).assign(y=Y), npartitions=2)
    forest = clone(FOREST).set_params(schema=SCHEMA, bounds=None, classes=None)
    with pytest.raises(TypeError, match="cannot be divided"):
        PrivateSearchCV(forest, accountant=accountant).fit(frame, "y")
    assert len(accountant) == 0


def test_an_interrupted_search_stays_charged_and_releases_nothing(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(PrivateTable, "open", interrupted)
    accountant = BudgetAccountant(epsilon=1.0)
    searched = PrivateSearchCV(FOREST, accountant=accountant)
    with pytest.raises(KeyboardInterrupt):
        searched.fit(X, Y)
    assert accountant.total() == (1.0, 0.0)
    assert [spend.state for spend in accountant.history()] == ["failed"]
    assert not [name for name in vars(searched) if name.endswith("_")]


def test_a_plan_that_leaves_something_is_still_the_one_that_was_charged():
    run = BudgetPlan.divide(1, 0, {"a": 0.25, "b": 0.5}, NeighboringRelation.ADD_OR_REMOVE_ONE)
    plan = plan_for(run, Fraction(2), Fraction(0))
    assert plan.amount("a") == Fraction(1, 4)
    assert plan.outline().pools[0].share == Fraction(1, 2)
