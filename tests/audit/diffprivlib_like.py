"""A small forest with the interface of diffprivlib's, and with its flaw: rows are dealt to trees in order.

As there: an accountant is never None, fits check and spend it, the default one is global, no rows are an
error, bounds and classes are parameters, every tree names one label by permute-and-flip.
"""

import math

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin


class BudgetAccountant:
    default = None

    def __init__(self, epsilon=math.inf):
        self.epsilon, self.spent = epsilon, []

    @classmethod
    def load_default(cls, accountant):
        if accountant is None:
            cls.default = accountant = cls.default or cls()
        if not isinstance(accountant, BudgetAccountant):
            raise TypeError("Accountant must be of type BudgetAccountant")
        return accountant

    def check(self, epsilon):
        if sum(self.spent) + epsilon > self.epsilon:
            raise ValueError("Privacy spend would exceed the ceiling")

    def __enter__(self):
        self.before, BudgetAccountant.default = BudgetAccountant.default, self
        return self

    def __exit__(self, *error):
        BudgetAccountant.default = self.before


BudgetAccountant.__module__ = "diffprivlib.accountant"


def chances(counts, epsilon):
    """Return the probabilities of two labels by permute-and-flip."""
    rare = 0.5 * math.exp(-epsilon * abs(counts[0] - counts[1]))
    return np.array([1 - rare, rare] if counts[0] >= counts[1] else [rare, 1 - rare])


class Stump:
    def __init__(self, labels, epsilon, rng):
        counts = [sum(labels == label) for label in (0, 1)]
        self.label = int(rng.random() < chances(counts, epsilon)[1])

    def predict(self, X):
        return np.full(len(X), self.label)


class RandomForestClassifier(ClassifierMixin, BaseEstimator):
    def __init__(
        self, n_estimators=10, *, epsilon=1.0, bounds=None, classes=None, by_coins=False, accountant=None,
        random_state=None,
    ):  # fmt: skip
        self.n_estimators = n_estimators
        self.epsilon = epsilon
        self.bounds = bounds
        self.classes = classes
        self.by_coins = by_coins
        self.random_state = random_state
        self.accountant = BudgetAccountant.load_default(accountant)

    def fit(self, X, y):
        self.accountant.check(self.epsilon)
        BudgetAccountant.load_default(None).check(self.epsilon)
        if not len(X):
            raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
        rng = np.random.default_rng(self.random_state)
        if self.by_coins:
            tree_of = rng.integers(self.n_estimators, size=len(X))
        else:
            tree_of = (np.arange(len(X)) // (len(X) / self.n_estimators)).astype(int)
        self.estimators_ = [Stump(y[tree_of == i], self.epsilon, rng) for i in range(self.n_estimators)]
        self.accountant.spent.append(self.epsilon)
        BudgetAccountant.load_default(None).spent.append(self.epsilon)
        return self

    def predict(self, X):
        return np.mean([tree.predict(X) for tree in self.estimators_], axis=0)
