"""scikit-learn's common checks, and a budget that survives scikit-learn's copies and processes."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from dpforest import DiPriMeForestClassifier, PrivateForestClassifier, PrivateSearchCV
from dpforest.privacy import BudgetAccountant, BudgetExceededError
from tests.forests.conftest import BASELINES, MODELS

# The checks fit without declaring anything, hence on_leak="warn"; the budget is large enough to learn by.
CHECKED = [
    clone(model).set_params(schema=None, on_leak="warn", epsilon=100.0)
    for name, model in MODELS.items()
    if name in ("guided", "guided regression")
    or name in ("DiPriMe", "DiPriMeExp", "DiPriMeFlip", "DiPriMe regression", "random forest")
    or name in ("random trees", "random trees regression", "SPE", "SPE regression", "SSPE-1", "SSPE-2", "PTE")
    or name in BASELINES
]
_MINUS_ONE = (
    "-1 means unlabelled, as in scikit-learn's semi-supervised module, but the check uses it as a class"
)
EXPECTED_FAILURES = {
    estimator: {"check_classifiers_classes": _MINUS_ONE}
    for estimator in (
        "SemiSupervisedPartitioningEnsembleClassifier",
        "SemiSupervisedRDTClassifier",
        "TransductiveOutputPerturbationClassifier",
        "TransductivePartitioningEnsembleClassifier",
    )
}


@pytest.mark.filterwarnings("ignore::dpforest.privacy.PrivacyLeakWarning")
@parametrize_with_checks(
    CHECKED, expected_failed_checks=lambda e: EXPECTED_FAILURES.get(type(e).__name__, {})
)
def test_common_checks(estimator, check):
    check(estimator)


X = np.random.default_rng(0).random((300, 3))
Y = (X[:, 0] > 0.5).astype(int)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_cross_validation_is_refused_at_the_fourth_fit(n_jobs):
    accountant = BudgetAccountant(epsilon=3.0)
    model = DiPriMeForestClassifier(epsilon=1.0, bounds=(0, 1), classes=[0, 1], accountant=accountant)
    with pytest.raises(BudgetExceededError, match="requested"):
        cross_val_score(model, X, Y, cv=5, n_jobs=n_jobs, error_score="raise")
    assert len(accountant) == 3
    assert accountant.total() == (3.0, 0.0)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_grid_search_charges_every_fit(n_jobs):
    accountant = BudgetAccountant(epsilon=100.0)
    model = DiPriMeForestClassifier(epsilon=1.0, bounds=(0, 1), classes=[0, 1], accountant=accountant)
    GridSearchCV(model, {"max_depth": [1, 2]}, cv=3, n_jobs=n_jobs).fit(X, Y)
    assert accountant.total() == (7.0, 0.0)  # 2 x 3 fits and the refit


def test_an_accountant_in_a_with_block_is_charged_by_default():
    model = DiPriMeForestClassifier(epsilon=1.0, bounds=(0, 1), classes=[0, 1])
    with BudgetAccountant(epsilon=1.5) as accountant:
        make_pipeline(model).fit(X, Y)
        with pytest.raises(BudgetExceededError):
            model.fit(X, Y)
    model.fit(X, Y)
    assert accountant.total() == (1.0, 0.0)


def test_a_failed_fit_stays_charged(monkeypatch):
    accountant = BudgetAccountant(epsilon=1.0)
    model = DiPriMeForestClassifier(epsilon=1.0, bounds=(0, 1), classes=[0, 1], accountant=accountant)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(DiPriMeForestClassifier, "_fill", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    assert accountant.total() == (1.0, 0.0)
    assert not hasattr(model, "trees_")


def test_metadata_routing_finds_forests_that_take_no_weights():
    forest = PrivateForestClassifier(bounds=(0, 1), classes=[0, 1])
    with config_context(enable_metadata_routing=True):
        request = forest.get_metadata_routing()
        assert set(request.fit.requests) == {"X_public"}
        search = GridSearchCV(make_pipeline(forest), {"privateforestclassifier__max_depth": [1, 2]}, cv=2)
        assert search.fit(X, Y).predict(X).shape == (300,)
        # params={}: with routing on, scikit-learn 1.6 cannot do without.
        scores = cross_val_score(PrivateSearchCV(forest), X, Y, cv=2, params={}, error_score="raise")
        assert scores.shape == (2,)


def test_predictions_are_arrays_whatever_transformers_are_told_to_give():
    """`set_output` is for transformers; a pipeline with one may hand a frame on, named or not."""
    forest = PrivateForestClassifier(bounds=(-9, 9), classes=[0, 1])
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    pipeline = make_pipeline(FunctionTransformer(), forest).set_output(transform="pandas").fit(frame, Y)
    assert isinstance(pipeline.predict(frame), np.ndarray)
    assert pipeline[-1].feature_names_in_.tolist() == ["a", "b", "c"]
    with config_context(transform_output="pandas"):
        assert isinstance(forest.fit(frame, Y).predict_proba(frame), np.ndarray)


def test_estimators_are_trees_in_the_default_forests():
    for n, delta in itertools.product((1, 4), (0.0, 1e-6)):
        model = PrivateForestClassifier(n, bounds=(0, 1), classes=[0, 1], delta=delta).fit(X, Y)
        assert model.trees_.n_trees == n
    with pytest.raises(ValueError, match="More trees need delta > 0"):
        PrivateForestClassifier(11, bounds=(0, 1), classes=[0, 1]).fit(X, Y)
