import numpy as np
import pytest

from dpforest._curator import Curator, PrivateTable
from dpforest.mechanisms import RandomWords
from dpforest.privacy import BudgetPlan
from dpforest.schema import Classes, Nominal, Numeric, Range, Schema

FEATURES = {"number": Numeric(0, 1, bins=4), "letter": Nominal(["a", "b", "c"])}
CLASSES = Schema(FEATURES, target=Classes([0, 1, 2]))
TARGET = Schema(FEATURES, target=Range(0, 1, levels=8))


def rows_of(records):
    """Columns in the form that schemas read: a list of (number, letter, y) triples becomes X and y."""
    X = np.empty((len(records), 2), object)
    for i, (number, letter, _) in enumerate(records):
        X[i] = [number, letter]
    return X, np.array([y for _, _, y in records])


@pytest.fixture
def open_curator():
    """Make a curator over a few records with a seeded tape."""

    def make(records, schema=CLASSES, epsilon=1, delta=0, seed=0, **options):
        plan = BudgetPlan.divide(epsilon, delta, {"everything": 1})
        return Curator(PrivateTable(*rows_of(records), schema), plan, RandomWords.seeded(seed), **options)

    return make
