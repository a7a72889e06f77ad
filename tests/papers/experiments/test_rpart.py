"""The tree that stands in for R's rpart: its limits, its sets of categories and its pruning."""

import numpy as np
import pandas as pd
import pytest

from dpforest.papers.experiments.methods import MethodNotAvailableError, find
from dpforest.papers.experiments.rpart import Rpart
from dpforest.schema import Classes, Nominal, Numeric, Schema


def numbers(n_features=1):
    return Schema.from_bounds((0, 1), n_features=n_features, classes=[0, 1])


def depth(node):
    return 0 if node.children is None else 1 + max(map(depth, node.children))


def test_children_have_seven_rows_at_least():
    X = np.linspace(0, 1, 40)[:, None]
    y = (np.arange(40) < 3).astype(int)  # the best cut would leave three rows on one side
    root = Rpart(numbers()).fit(X, y).root_
    assert root.children is None or root.cut >= X[6, 0]


def test_fewer_than_twenty_rows_are_not_split():
    X = np.linspace(0, 1, 19)[:, None]
    assert Rpart(numbers()).fit(X, (X[:, 0] > 0.5).astype(int)).root_.children is None


def test_the_best_set_of_categories_is_found():
    letters = np.repeat(list("abcd"), 25)
    schema = Schema({"letter": Nominal(list("abcd"))}, Classes([0, 1]))
    y = np.isin(letters, ["a", "d"]).astype(int)  # no cut of an order finds it
    X = pd.DataFrame({"letter": letters})
    model = Rpart(schema).fit(X, y)
    assert depth(model.root_) == 1
    assert (model.predict(X) == y).all()


@pytest.mark.parametrize(("hidden", "found"), [(8, 0), (40, 1)])
def test_a_split_pays_if_it_mends_one_percent_of_the_errors_at_the_root(hidden, found):
    """Of about 2,000 rows half are of class 1, so that the root errs in half: a split must mend about ten."""
    y = np.repeat([1, 0], [1000, 960])
    y = np.append(y, np.arange(hidden) % 4 == 0)  # three of four are of class 0: half of them are mended
    X = np.zeros((len(y), 2))
    X[-hidden:, 0] = 1
    assert depth(Rpart(numbers(2)).fit(X, y).root_) == found


def test_exclusive_or_survives_pruning_as_a_whole():
    """The first split mends nothing, the two below it everything: the subtree pays, so it stays."""
    rng = np.random.default_rng(0)
    X = rng.random((2000, 2))
    y = ((X[:, 0] > 0.5) ^ (X[:, 1] > 0.52)).astype(int)
    model = Rpart(numbers(2)).fit(X, y)
    assert np.mean(model.predict(X) == y) > 0.95


def test_numbers_have_no_such_tree():
    facts = {"schema": Schema({"a": Numeric(0, 1)}, Classes([0])), "epsilon": 1, "seed": 0, "parameters": {}}
    with pytest.raises(MethodNotAvailableError, match="regression"):
        find("rpart").factory(task="regression", **facts)
