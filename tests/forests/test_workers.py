"""A budget that was entered is charged by every fit inside the block, in whatever thread or process."""

import copy
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest
from joblib import Parallel, delayed, parallel_config
from joblib.externals.loky import get_reusable_executor
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline

from dpforest import DiPriMeForestClassifier
from dpforest.privacy import BudgetAccountant, BudgetExceededError, LeftBehind, PrivacyError, nobody_pays

X = np.random.default_rng(0).random((60, 2))
Y = (X[:, 0] > 0.5).astype(int)
MODEL = DiPriMeForestClassifier(2, epsilon=1.0, bounds=(0, 1), classes=[0, 1], max_depth=1)
GRID = {"dipri__max_depth": [1, 2]}


# joblib's multiprocessing backend forks while its own threads run
pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


@pytest.fixture(scope="module")
def processes():
    """Worker processes take seconds to start; all tests share them, as a user's calls do."""
    yield
    get_reusable_executor().shutdown(wait=True)


@pytest.fixture(params=["sequential", "threading", "loky", "multiprocessing"])
def workers(request, processes):
    """Run what scikit-learn and joblib do in parallel by one of joblib's backends."""
    with parallel_config(backend=request.param, n_jobs=1 if request.param == "sequential" else 2):
        yield request.param


def named(model):
    pipeline = make_pipeline(model)
    pipeline.steps[0] = ("dipri", model)
    return pipeline


def test_every_fold_is_charged(workers):
    with BudgetAccountant(epsilon=100.0) as accountant:
        cross_val_score(clone(MODEL), X, Y, cv=5, error_score="raise")
    assert len(accountant) == 5


def test_searches_pipelines_and_searches_within_folds_are_charged(workers):
    search = GridSearchCV(named(clone(MODEL)), GRID, cv=2, error_score="raise")
    with BudgetAccountant(epsilon=100.0) as accountant:
        search.fit(X, Y)
    assert len(accountant) == 2 * 2 + 1
    with BudgetAccountant(epsilon=100.0) as accountant:
        cross_val_score(search, X, Y, cv=3, error_score="raise")
    assert len(accountant) == 3 * (2 * 2 + 1)


def test_plain_jobs_are_charged(workers):
    with BudgetAccountant(epsilon=100.0) as accountant:
        models = Parallel()(delayed(clone(MODEL).fit)(X, Y) for _ in range(5))
    assert len(accountant) == 5
    for model in models:
        assert str(accountant._store._database.path) not in repr(pickle.dumps(model))


def test_models_made_in_workers_are_charged(workers):
    if workers == "multiprocessing":
        return  # cannot be sent a local function

    def make_and_fit(X, y):
        from dpforest import DiPriMeForestClassifier

        model = DiPriMeForestClassifier(2, bounds=(0, 1), classes=[0, 1], max_depth=1)
        return model.fit(X, y).guarantee_.epsilon

    with BudgetAccountant(epsilon=100.0) as accountant:
        assert Parallel()(delayed(make_and_fit)(X, Y) for _ in range(5)) == [1.0] * 5
        with BudgetAccountant(epsilon=100.0) as inner:
            Parallel()(delayed(make_and_fit)(X, Y) for _ in range(2))
        Parallel()(delayed(make_and_fit)(X, Y) for _ in range(2))
    assert (len(accountant), len(inner)) == (7, 2)
    Parallel()(delayed(make_and_fit)(X, Y) for _ in range(2))
    assert len(accountant) == 7


def test_an_accountant_of_its_own_goes_before_the_one_entered(workers):
    own = BudgetAccountant(epsilon=100.0)
    with BudgetAccountant(epsilon=100.0) as entered:
        cross_val_score(clone(MODEL).set_params(accountant=own), X, Y, cv=5, error_score="raise")
    assert (len(own), len(entered)) == (5, 0)


def test_outside_the_block_nobody_is_charged(workers):
    model = clone(MODEL)
    with BudgetAccountant(epsilon=100.0) as accountant:
        pass
    cross_val_score(model, X, Y, cv=2, error_score="raise")
    assert len(accountant) == 0
    assert model.accountant is None


def in_a_thread(job):
    """Return what a job in a new thread returned or raised."""
    seen = []

    def run():
        try:
            seen.append(job())
        except PrivacyError as refused:
            seen.append(refused)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return seen[0]


def test_a_thread_works_for_the_innermost_block_and_refuses_to_guess():
    outer, inner, other = (BudgetAccountant(epsilon=100.0) for _ in range(3))
    with outer:
        with inner:
            assert in_a_thread(BudgetAccountant.current) is inner
        assert in_a_thread(BudgetAccountant.current) is outer

        def elsewhere():
            with other:
                return in_a_thread(lambda: clone(MODEL).fit(X, Y)), BudgetAccountant.current()

        refused, own = in_a_thread(elsewhere)
        assert isinstance(refused, PrivacyError)
        assert "as a parameter" in str(refused)
        assert own is other
        assert BudgetAccountant.current() is outer
    with outer, nobody_pays(), inner:
        assert in_a_thread(BudgetAccountant.current) is inner
    assert in_a_thread(BudgetAccountant.current) is None
    assert len(outer) + len(inner) + len(other) == 0


FITS_AGAIN_ELSEWHERE = """
import pickle, sys
import numpy as np
ROW = np.array([[0.5, 0.5]])
for model in map(pickle.loads, pickle.load(sys.stdin.buffer)):
    assert model.predict(ROW).shape == (1,)
    try:
        model.fit(ROW, [0])
    except RuntimeError as refused:
        print("stayed behind" in str(refused) and not hasattr(model, "trees_"))
    model.set_params(accountant=None).fit(ROW, [0])
"""


def test_a_fitted_model_leaves_its_accountant_behind(tmp_path):
    accountant = BudgetAccountant.create(tmp_path / "budget.db", dataset="patients", epsilon=100.0)
    given = clone(MODEL).set_params(accountant=accountant).fit(X, Y)
    with accountant:
        entered = clone(MODEL).fit(X, Y)
        pickles = [pickle.dumps(given), pickle.dumps(entered), pickle.dumps(make_pipeline(entered))]
    pickles.append(pickle.dumps(given))
    for dump in pickles:
        assert b"budget.db" not in dump
        assert str(tmp_path).encode() not in dump
    assert pickle.loads(pickles[0]).accountant is accountant, "at home it is found again"
    assert copy.copy(given).accountant is copy.deepcopy(given).accountant is accountant
    done = subprocess.run(
        [sys.executable, "-c", FITS_AGAIN_ELSEWHERE],
        input=pickle.dumps(pickles[:2]),
        capture_output=True,
        check=True,
    )
    assert done.stdout.split() == [b"True"] * 2
    assert len(accountant) == 2


def test_models_that_come_back_from_workers_know_their_accountant(workers):
    with BudgetAccountant(epsilon=100.0) as accountant:
        models = cross_validate(clone(MODEL), X, Y, cv=2, return_estimator=True)["estimator"]
    assert len(accountant) == 2
    for model in models:
        assert not isinstance(model.accountant, LeftBehind)
        model.predict(X)


def test_a_fitted_model_that_is_fitted_again_elsewhere_is_refused_there(processes):
    model = clone(MODEL)
    with BudgetAccountant(epsilon=100.0) as accountant:
        model.fit(X, Y)
        with pytest.raises(PrivacyError, match="stayed behind"):
            Parallel(n_jobs=2, backend="loky")(delayed(model.fit)(X, Y) for _ in range(2))
    assert len(accountant) == 1
    model.fit(X, Y)


def test_the_fourth_fold_is_refused(workers):
    with BudgetAccountant(epsilon=3.0) as accountant, pytest.raises(BudgetExceededError):
        cross_val_score(clone(MODEL), X, Y, cv=5, error_score="raise")
    assert len(accountant) == 3


FORKS_IN_THE_MIDDLE = """
import os
import numpy as np
from dpforest import DiPriMeForestClassifier
from dpforest._curator import Curator
from dpforest.privacy import BudgetAccountant, PrivacyError

X = np.random.default_rng(0).random((50, 2))

def fit_and_fork(where, accountant):
    model = DiPriMeForestClassifier(2, bounds=(0, 1), classes=[0, 1], max_depth=2, accountant=accountant)
    asked, children = getattr(Curator, where), []

    def forking(self, *args, **named):
        if not children:
            children.append(os.fork())
        return asked(self, *args, **named)

    setattr(Curator, where, forking)
    try:
        model.fit(X, X[:, 0] > 0.5)
    except PrivacyError as refused:
        os._exit(7 if children[0] == 0 and not hasattr(model, "trees_") else 1)
    finally:
        setattr(Curator, where, asked)
    if children[0] == 0:
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]), model.guarantee_.status

for where in ("medians", "leaf_histograms", "__exit__"):
    accountant = BudgetAccountant(epsilon=100.0)
    print(*fit_and_fork(where, accountant), *[spend.state for spend in accountant.history()])
    print(*fit_and_fork(where, None), "spent")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no fork on this system")
def test_a_fork_in_the_middle_of_a_fit_releases_one_model():
    """The child, whose noise is its own, is refused at its next look, or at the latest at the release."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKS_IN_THE_MIDDLE],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == ["7 proven spent"] * 6
