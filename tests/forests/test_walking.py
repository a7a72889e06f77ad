"""What scikit-learn's users look for in a fitted forest: leaves, paths, logarithms, a view in notebooks."""

import numpy as np
import pytest

from dpforest import (
    DiPriMeForestClassifier,
    PrivateForestClassifier,
    PrivateForestRegressor,
    RandomDecisionTreesRegressor,
)
from dpforest.privacy import BudgetAccountant

X = np.random.default_rng(0).random((400, 3))
Y = (X[:, 0] > 0.5).astype(int)
MODELS = {
    "pure": PrivateForestClassifier(bounds=(0, 1), classes=[0, 1], epsilon=20),
    "boosted": PrivateForestClassifier(bounds=(0, 1), classes=[0, 1], epsilon=20, delta=1e-6),
    "medians": DiPriMeForestClassifier(3, bounds=(0, 1), classes=[0, 1], max_depth=2),
    "numbers": RandomDecisionTreesRegressor(4, bounds=(0, 1), target_bounds=(0, 1), max_depth=3),
    "guided numbers": PrivateForestRegressor(bounds=(0, 1), target_bounds=(0, 1)),
}


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    return MODELS[request.param].fit(X, Y)


def test_leaves_are_those_whose_votes_make_the_prediction(model):
    leaves = model.apply(X)
    assert leaves.shape == (400, model.trees_.n_trees)
    votes = sum(model.leaf_votes_[tree, leaves[:, tree]] for tree in range(model.trees_.n_trees))
    if model.additive_ is None:
        np.testing.assert_allclose(votes, model._sum_votes(X))
    else:  # the rest of a prediction is a function of the features alone
        assert leaves.min() >= 0
        assert leaves.max() < model.trees_.n_leaves


def test_paths_lead_from_the_roots_to_these_leaves(model):
    indicator, begins = model.decision_path(X)
    depth, n_trees = model.trees_.depth, model.trees_.n_trees
    assert indicator.shape == (400, begins[-1])
    assert begins.tolist() == [tree * (2 ** (depth + 1) - 1) for tree in range(n_trees + 1)]
    passed = indicator.toarray()
    assert (passed.sum(axis=1) == n_trees * (depth + 1)).all()
    for tree, leaves in enumerate(model.apply(X).T):
        own = passed[:, begins[tree] : begins[tree + 1]]
        assert own[:, 0].all()
        assert own[np.arange(400), 2**depth - 1 + leaves].all()
        children = np.flatnonzero(own[7])[1:]
        assert (own[7, (children - 1) // 2] == 1).all()  # every node's parent is passed too


def test_logarithms_are_those_of_the_probabilities():
    model = MODELS["pure"].fit(X, Y)
    np.testing.assert_array_equal(np.exp(model.predict_log_proba(X)) > 0.5, model.predict_proba(X) > 0.5)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X), atol=1e-12)


def test_a_notebook_shows_the_promise():
    view = MODELS["pure"].fit(X, Y)._repr_mimebundle_(include=None, exclude=None)
    assert "epsilon = 20, delta = 0 for adding" in view["text/html"]
    assert view["text/plain"].startswith("PrivateForestClassifier(")


def test_weights_of_rows_are_refused_with_the_reason_and_cost_nothing():
    accountant = BudgetAccountant(epsilon=1.0)
    model = PrivateForestClassifier(bounds=(0, 1), classes=[0, 1], accountant=accountant)
    with pytest.raises(TypeError, match="takes no sample_weight: a weight multiplies"):
        model.fit(X, Y, sample_weight=np.ones(400))
    with pytest.raises(TypeError, match="unexpected keyword argument 'weight'"):
        model.fit(X, Y, weight=1)
    assert accountant.total() == (0.0, 0.0)
    model.fit(X, Y, sample_weight=None)
