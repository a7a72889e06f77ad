"""One budget among threads, processes and scikit-learn's workers: exactly the ceiling is granted."""

import os
import pickle
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from joblib.externals.loky import get_reusable_executor
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import GridSearchCV, cross_val_score

from dpforest.privacy import BudgetAccountant, BudgetExceededError, Checkpoint, Cost
from dpforest.privacy.budget.store import Standing

TRIES_IN_A_PROCESS = """
import pickle, sys
from dpforest.privacy import BudgetExceededError, Cost
accountant = pickle.load(sys.stdin.buffer)
granted = 0
for _ in range(15):
    try:
        accountant.spend(Cost.pure(0.1))
        granted += 1
    except BudgetExceededError:
        pass
print(granted)
"""

DROPS_IT_IN_A_FORK = """
import gc, os
from dpforest.privacy import BudgetAccountant, Cost
accountant = BudgetAccountant(epsilon=1.0)
child = os.fork()
if child == 0:
    accountant.spend(Cost.pure(0.25))
    del accountant
    gc.collect()
    os._exit(0)
os.waitpid(child, 0)
accountant.spend(Cost.pure(0.25))
print(accountant.total()[0])
"""


def spend_from_threads(accountant, tries=60):
    start = threading.Barrier(8)

    def attempt(number):
        if number < 8:
            start.wait()
        try:
            accountant.spend(Cost.pure(0.1))
        except BudgetExceededError:
            return 0
        return 1

    with ThreadPoolExecutor(8) as threads:
        return sum(threads.map(attempt, range(tries)))


def test_threads_are_granted_exactly_the_ceiling():
    accountant = BudgetAccountant(epsilon=2.0)
    assert spend_from_threads(accountant) == 20
    assert accountant.total() == (2.0, 0.0)


def test_the_thread_test_catches_a_store_that_checks_before_it_locks():
    class Careless:
        total = Cost.pure(0)

        def append(self, request, state, check):
            check(Standing(self.total, None, None, Checkpoint(0, "")))
            time.sleep(0.005)  # whatever a real store does between reading and writing
            self.total += request.cost

    accountant = BudgetAccountant(epsilon=2.0)
    accountant._store = Careless()
    assert spend_from_threads(accountant) > 20


def test_four_processes_are_granted_exactly_the_ceiling():
    accountant = BudgetAccountant(epsilon=2.0)
    handle = pickle.dumps(accountant)
    command = [sys.executable, "-c", TRIES_IN_A_PROCESS]
    workers = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(4)]
    for worker in workers:
        worker.stdin.write(handle)
        worker.stdin.close()
    granted = []
    for worker in workers:
        granted.append(int(worker.stdout.read()))
        worker.stdout.close()
        assert worker.wait() == 0
    assert sum(granted) == 20 == len(accountant)
    assert accountant.total() == (2.0, 0.0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_charges_but_cannot_end_the_budget():
    done = subprocess.run(
        [sys.executable, "-c", DROPS_IT_IN_A_FORK], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "0.5"


def charging_classifier(accountant):
    """Make a classifier that only charges; a local class, so that workers get it by value, not by import."""

    class Charging(ClassifierMixin, BaseEstimator):
        def __init__(self, accountant=None, constant=0):
            self.accountant = accountant
            self.constant = constant

        def fit(self, X, y):
            from dpforest.privacy import Cost

            self.accountant.spend(Cost.pure(1.0), label=f"constant={self.constant}")
            self.classes_ = np.array([0, 1])
            return self

        def predict(self, X):
            return np.full(len(X), self.constant)

    return Charging(accountant)


X, Y = np.zeros((20, 1)), np.arange(20) % 2


@pytest.fixture(scope="module")
def workers():
    yield 2
    get_reusable_executor().shutdown(wait=True)


def test_cross_validation_in_workers_is_refused_at_the_fourth_fit(workers):
    accountant = BudgetAccountant(epsilon=3.0)
    model = charging_classifier(accountant)
    with pytest.raises(BudgetExceededError, match="remaining epsilon = 0"):
        cross_val_score(model, X, Y, cv=5, n_jobs=workers, error_score="raise")
    assert len(accountant) == 3
    assert accountant.total() == (3.0, 0.0)


def test_grid_search_in_workers_charges_every_candidate_fold_and_the_last_fit(workers):
    grid = {"constant": [0, 1]}
    enough = BudgetAccountant(epsilon=5.0)
    GridSearchCV(charging_classifier(enough), grid, cv=2, n_jobs=workers, error_score="raise").fit(X, Y)
    assert len(enough) == 2 * 2 + 1
    short = BudgetAccountant(epsilon=4.0)
    with pytest.raises(BudgetExceededError):
        GridSearchCV(charging_classifier(short), grid, cv=2, n_jobs=workers, error_score="raise").fit(X, Y)
    assert sorted(spend.label for spend in short.history()) == ["constant=0"] * 2 + ["constant=1"] * 2
