"""Objects of other libraries, as they are: their constructors, accountants, classes and habits."""

import math
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier

from dpforest.audit import CannotAuditError, audit
from dpforest.audit.fitting import Subject
from dpforest.audit.observe import observe
from tests.audit import diffprivlib_like
from tests.audit.diffprivlib_like import BudgetAccountant, RandomForestClassifier

PAIR = (([[0.0]], [0]), ([[0.0], [1.0]], [0, 1]))


@pytest.fixture(autouse=True)
def no_default_accountant(monkeypatch):
    monkeypatch.setitem(sys.modules, "diffprivlib", SimpleNamespace(BudgetAccountant=BudgetAccountant))
    monkeypatch.setattr(BudgetAccountant, "default", None)


def found(subject, pair=PAIR, runs=300, **options):
    return audit(subject, pair, runs=runs, progress=False, **{"claim": 1.0, **options})


# --- a forest with the interface and the flaw of diffprivlib's -------------------------------------------


def test_the_flaw_of_diffprivlibs_forest_is_found_and_named():
    """Rows are dealt to trees in their order; one more row in front moves those of many trees."""
    model = RandomForestClassifier(bounds=(0, 1), classes=[0, 1])
    result = audit(model, runs=1000, random_state=0, progress=False)
    assert result.violation, str(result)
    assert result.loss > 1.5
    assert "with targets 0 and 1 in turn, and one row more" in result.pair
    assert "tree" in result.event
    assert 'besides, "fit fails (ValueError)" tells apart: no row' in result.note


def test_dealt_out_by_coins_it_is_not_flawed_so():
    model = RandomForestClassifier(bounds=(0, 1), classes=[0, 1], by_coins=True)
    assert not audit(model, "labels in turn", runs=1000, random_state=0, progress=False).violation


def test_its_accountants_are_left_alone():
    own, default = BudgetAccountant(1.0), BudgetAccountant(1.0)
    with default:
        model = RandomForestClassifier(2, epsilon=0.9, bounds=(0, 1), classes=[0, 1], accountant=own)
        implicit = RandomForestClassifier(2, epsilon=0.9, bounds=(0, 1), classes=[0, 1])
        for subject in (model, implicit):
            audit(subject, "duplicates", runs=40, random_state=0, progress=False)
        assert BudgetAccountant.default is default
    assert model.accountant is own
    assert own.spent == default.spent == []


# --- what is not of scikit-learn's kind ------------------------------------------------------------------


class Plain:
    """Neither get_params nor a constructor that scikit-learn could call again; fit returns nothing."""

    def __init__(self, scale, start):
        self.generator = np.random.default_rng(start)
        self.noise = scale
        self.seen = []

    def fit(self, X, y):
        self.seen.append(1)
        self.count = len(X) + self.generator.laplace(scale=self.noise)

    def predict(self, X):
        return np.full(len(X), self.count)


class Seeded(Plain):
    def __init__(self, scale=1.0, random_state=None):
        super().__init__(scale, 0)
        self.random_state = random_state

    def fit(self, X, y):
        self.count = len(X) + np.random.default_rng(self.random_state).laplace(scale=self.noise)


def test_a_plain_class_is_audited():
    assert found(Seeded(0.2), random_state=0).violation
    assert not found(Seeded(1.0), random_state=0).violation


def test_runs_do_not_share_what_a_model_keeps():
    """Each starts with a fresh copy, so a list that fits append to has one entry after any of them."""
    subject = Subject(Plain(1.0, 0), observe)
    first, second = (subject.output(np.zeros((1, 1)), np.zeros(1), 0, 0, number) for number in range(2))
    assert first.seen == second.seen == [1]


def test_a_generator_that_every_run_starts_alike_is_a_leak():
    """A copied generator repeats itself: the model as given would release the same noise to everybody."""
    assert found(Plain(1.0, 0)).violation


def test_classes_and_factories_make_a_model_for_every_run():
    assert not found(Seeded, random_state=0).violation
    assert found(lambda: Seeded(0.2), random_state=0).violation
    holds_a_lock = Seeded(0.2)
    holds_a_lock.lock = threading.Lock()
    with pytest.raises(CannotAuditError, match=r"no fresh copy of Seeded can be made .*a function without"):
        found(holds_a_lock)


def test_a_class_that_needs_arguments_says_so():
    with pytest.raises(CannotAuditError, match=r"making one failed with TypeError.*Give an instance"):
        found(Plain)


def test_what_learns_without_a_target_is_audited():
    class Counts:
        def fit(self, X):
            self.rows = len(X)

        def predict(self, X):
            return X

    assert found(Counts()).violation
    assert found(lambda X: len(X)).violation


def test_a_function_may_return_a_fitted_model_or_a_number():
    assert found(lambda X, y: DecisionTreeClassifier().fit(X, y)).violation
    assert found(lambda X, y: float(len(X))).violation


def test_what_is_neither_is_refused():
    with pytest.raises(CannotAuditError, match=r"int cannot be audited: give an object with fit\(X, y\)"):
        found(3)


def test_a_parameter_that_fit_derives_from_rows_is_seen():
    class Bounded(ClassifierMixin, BaseEstimator):
        def __init__(self, bounds=None):
            self.bounds = bounds

        def fit(self, X, y):
            self.bounds = (X.min(), X.max())
            return self

        def predict(self, X):
            return np.zeros(len(X))

    result = found(Bounded())
    assert result.violation
    assert "bounds" in result.event


def test_an_object_with_slots_is_read():
    class Slotted:
        __slots__ = ("rows",)

        def fit(self, X, y):
            self.rows = len(X)

        def predict(self, X):
            return np.zeros(len(X))

    assert found(Slotted).violation


def test_a_model_that_answers_with_single_numbers_or_not_at_all():
    class Odd:
        def fit(self, X, y):
            self.answer = math.nan if len(X) > 1 else 0.0

        def predict(self, X):
            return self.answer

        def predict_proba(self, X):
            raise NotImplementedError

    assert found(Odd()).violation


def test_the_stand_in_keeps_its_promise_by_coins():
    """The stand-in's own mechanism is right: what is found is the dealing, not the noise."""
    chance = diffprivlib_like.chances([1, 0], epsilon=1.0)
    other = diffprivlib_like.chances([0, 0], epsilon=1.0)
    assert np.abs(np.log(chance / other)).max() <= 1 + 1e-12
