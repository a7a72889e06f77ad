"""A fitted object is one whole release or nothing, and later changes of parameters do not touch it."""

import pickle
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import dpforest
from dpforest.privacy import BudgetAccountant, PrivacyError
from tests.forests.conftest import MODELS, fit, is_classifier, patients_table

pytestmark = pytest.mark.filterwarnings("ignore::dpforest.privacy.PrivacyLeakWarning")

# The rooms that ever see an estimator: deeper down an interrupt is one of the line that calls.
ROOMS = tuple(str(Path(dpforest.__file__).parent / room) for room in ("forests", "baselines"))


@pytest.fixture(scope="module")
def patients():
    return patients_table(400)


def fitted_names(model):
    return {name for name in vars(model) if name.endswith("_")}


@contextmanager
def interrupt_at(place):
    """Raise at the first visit of a line, given by file and number; with None, list all lines visited."""
    visited = {}

    def trace(frame, event, _):
        if not frame.f_code.co_filename.startswith(ROOMS):
            return None
        if event == "line":
            here = frame.f_code.co_filename, frame.f_lineno
            if here == place and here not in visited:
                visited[here] = True
                raise KeyboardInterrupt
            visited[here] = True
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield visited
    finally:
        sys.settrace(before)


# model, parameters of the first fit, parameters of the second
REFITS = {
    "from noise to none": ("DiPriMe", {"epsilon": 1.0}, {"epsilon": np.inf}),
    "from none to noise": ("guided", {"epsilon": np.inf}, {"epsilon": 1.0}),
    "from the paper's form": ("SPE", {"as_published": True}, {"as_published": False}),
    "to the paper's form": ("PTE", {"as_published": False}, {"as_published": True}),
    "of a baseline": ("TOP", {"epsilon": 1.0}, {"epsilon": np.inf}),
    "of numbers": ("guided regression", {"epsilon": 1.0}, {"epsilon": np.inf}),
}


@pytest.mark.parametrize("name", REFITS)
def test_an_interrupt_anywhere_leaves_a_whole_model_or_none(name):
    """Every line of a second fit is interrupted once: old and new are never mixed."""
    kind, first, second = REFITS[name]
    small = {"max_depth": 1, "n_estimators": 1 if kind in ("guided", "guided regression", "TOP") else 2}
    table = patients_table(30)
    old = fit(clone(MODELS[kind]).set_params(**small), table, **first)
    model = clone(old)
    with interrupt_at(None) as lines:
        fit(model, table, **second)
    whole = fitted_names(model)
    outcomes = []
    for place in lines:
        model = clone(old)
        model.__dict__.update(vars(old))
        try:
            with interrupt_at(place):
                fit(model, table, **second)
        except KeyboardInterrupt:
            found = fitted_names(model)
        else:
            continue  # a line that chance, or a cache, leads to
        if not found:
            outcomes.append("none")
            with pytest.raises(NotFittedError):
                check_is_fitted(model)
        elif vars(model)["guarantee_"] is old.guarantee_:
            outcomes.append("old")
            assert all(getattr(model, attribute) is getattr(old, attribute) for attribute in found)
            assert found == fitted_names(old)
        else:
            outcomes.append("new")
            assert found == whole
            shared = {attribute for attribute in found if vars(model)[attribute] is vars(old).get(attribute)}
            assert not shared & {"trees_", "leaf_statistics_", "leaf_votes_", "ledger_", "settings_"}
            assert model.guarantee_.epsilon == second.get("epsilon", 1.0)
    assert outcomes.count("none") > 60
    assert outcomes.count("old") < 15, "an old model is gone as soon as a fit begins"
    assert outcomes.count("new") < 5


def test_a_failed_fit_forgets_the_old_model(model, patients):
    fit(model, patients)
    with pytest.raises(ValueError, match="epsilon=0"):
        fit(model, patients, epsilon=0)
    assert not fitted_names(model)
    with pytest.raises(NotFittedError):
        model.predict(patients[0])


CHANGES = {
    "n_estimators": 7,
    "epsilon": np.inf,
    "delta": 0.25,
    "schema": None,
    "bounds": (5, 6),
    "classes": ["x", "y", "z"],
    "target_bounds": (7, 8),
    "class_weight": {"x": 5},
    "threshold": 0.01,
    "max_depth": 3,
    "neighboring": "replace_one",
    "max_rows_per_person": 9,
    "on_leak": "warn",
    "as_published": True,
    "random_state": 3,
    "variant": "exponential",
    "max_features": 1,
    "split_share": 0.9,
    "expected_leaf_rows": 3,
    "disjoint": False,
    "version": "2020",
    "label_mechanism": "exponential",
    "feature_privacy": False,
    "persons_in_both": True,
    "n_second": 3,
    "criterion": "information_gain",
    "pruning": False,
    "bins": 4,
    "min_labels": 1.0,
    "n_neighbors": 1,
    "regularization": 5.0,
}
NOT_OF_THE_MODEL = {"accountant", "n_jobs", "verbose"}


def what_it_says(model, X, path):
    """Everything that a user can learn from a fitted model."""
    said = {"predict": model.predict(X), "guarantee": repr(model.guarantee_), "ledger": str(model.ledger_)}
    if is_classifier(model):
        said["predict_proba"] = model.predict_proba(X)
    if model.leaf_statistics_.ndim == 3:
        said["feature_importances_"] = model.feature_importances_
    if hasattr(model, "explain_plan"):
        said["explain_plan"] = model.explain_plan()
    model.save(path)
    return said | {"file": path.read_bytes(), "html": model._repr_html_().split("</span>")[0]}


@pytest.mark.parametrize("voting", ["threshold", "majority", "probabilistic"])
def test_parameters_set_after_a_fit_change_nothing_until_the_next(model, voting, patients, tmp_path):
    changes = CHANGES | {"voting": {"threshold": "majority"}.get(voting, "threshold")}
    if hasattr(model, "voting"):
        model.set_params(voting=voting, random_state=0 if voting == "probabilistic" else None)
    elif voting != "threshold":
        return
    fit(model, patients)
    path = tmp_path / "model.json"
    before, kept = what_it_says(model, patients[0], path), vars(model).copy()
    given = model.get_params(deep=False)
    model.set_params(**{name: changes[name] for name in given if name not in NOT_OF_THE_MODEL})
    for same in (model, pickle.loads(pickle.dumps(model))):
        after = what_it_says(same, patients[0], path)
        assert after.keys() == before.keys()
        for what, said in after.items():
            np.testing.assert_array_equal(said, before[what], err_msg=what)
    assert all(value is kept[name] for name, value in vars(model).items() if name.endswith("_"))


def test_every_parameter_is_changed_above():
    """A new parameter belongs in the list, or predictions may come to follow it unnoticed."""
    known = set().union(*(model.get_params(deep=False) for model in MODELS.values()))
    assert known == {*CHANGES, "voting", *NOT_OF_THE_MODEL}


@pytest.mark.parametrize("name", ["SPE", "PTE", "TOP", "random trees regression"])
def test_nothing_of_the_papers_own_form_survives_a_private_fit(name, patients):
    model = fit(clone(MODELS[name]), patients, as_published=True)
    assert model.guarantee_.status == "void"
    fit(model, patients, as_published=False)
    assert model.guarantee_.is_proven
    assert not hasattr(model, "published_")
    assert b"published_" not in pickle.dumps(model).replace(b"as_published", b"")
    fresh = fit(clone(model), patients)
    assert fitted_names(model) == fitted_names(fresh)
    fit(model, patients, as_published=True)
    assert not {"trees_", "ledger_", "leaf_statistics_", "leaf_votes_"} & fitted_names(model)


def test_names_of_columns_are_those_of_the_last_fit(patients):
    X, label, _ = patients
    model = clone(MODELS["DiPriMe"]).fit(X, label)
    assert list(model.feature_names_in_) == ["age", "ward", "crp"]
    model.fit(X.to_numpy(), label)
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == 3


def test_what_a_training_sets_on_itself_is_not_kept(patients):
    class Careless(dpforest.DiPriMeForestClassifier):
        def _grow(self, curator):
            self.rows_ = self._cache = curator._rows
            return super()._grow(curator)

    model = fit(Careless(schema=MODELS["DiPriMe"].schema), patients)
    assert not {"rows_", "_cache"} & set(vars(model))


VOID = {
    "a seed": {"random_state": 0},
    "no noise": {"epsilon": np.inf},
    "the paper's form": {"as_published": True},
    "a domain read off the rows": {"on_leak": "warn", "schema": None},
    "bounds read off the rows": {"on_leak": "warn", "schema": None, "classes": ["died", "home"]},
}


class Unreadable:
    """A table that must not be touched."""

    def __getattr__(self, name):
        raise AssertionError(f"the rows were looked at: {name}")

    def __len__(self):
        raise AssertionError("the rows were counted")


@pytest.mark.parametrize("changes", VOID.values(), ids=VOID)
def test_a_fit_that_promises_nothing_is_not_charged(changes):
    accountant = BudgetAccountant(epsilon=10.0)
    model, rows = clone(MODELS["DiPriMe"]).set_params(**changes), Unreadable()
    refused = pytest.raises(PrivacyError, match=r"without a privacy guarantee.*remove the cause")
    with accountant, refused:
        model.fit(rows, rows)
    with refused:
        model.set_params(accountant=accountant).fit(rows, rows)
    assert len(accountant) == 0


def test_a_declared_table_is_charged_even_if_leaks_would_only_warn(patients):
    accountant = BudgetAccountant(epsilon=10.0)
    fit(clone(MODELS["DiPriMe"]), patients, on_leak="warn", accountant=accountant)
    assert len(accountant) == 1


def test_nothing_stays_of_a_fit_that_ended_while_another_was_under_way():
    """Two threads may fit one object; whoever ends last leaves its own release, and nothing beside it."""
    X = np.random.default_rng(0).random((50, 2))
    y = X[:, 0] > 0.5

    class Slow(dpforest.DiPriMeForestClassifier):
        def _train(self, curator):
            model.set_params(as_published=True).fit(X, y)  # in another thread, say
            model.set_params(as_published=False)
            return super()._train(curator)

    model = Slow(n_estimators=1, max_depth=1, bounds=(0, 1), classes=[False, True])
    alone = dpforest.DiPriMeForestClassifier(**model.get_params()).fit(X, y)
    model.fit(X, y)
    assert model.guarantee_.status == "proven"
    assert fitted_names(model) == fitted_names(alone)
