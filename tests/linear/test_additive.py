"""The additive part of numbers and its weights: right without noise, honest with it, paid for in full."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from dpforest._curator import Curator, PrivateTable
from dpforest._linear import AdditiveConfig, Centre, additive_parts, target_units, weigh_parts
from dpforest._linear.additive import ridge
from dpforest._linear.weights import part_bound, solve_weights
from dpforest.mechanisms import RandomWords
from dpforest.privacy import BudgetPlan
from dpforest.schema import Nominal, Numeric, Range, Schema

NUMBERS = Schema({f"x{i}": Numeric(-5, 5) for i in range(4)}, Range(-8, 8))
LETTERS = Schema({"a": Nominal(list("pqrs")), "b": Nominal(list("tuv"))}, Range(-4, 4))
CENTRE = Centre(2048, 2048)


def learn(X, y, schema, epsilon=1, noiseless=True):
    """Parts, their weights, predictions in units of the target, and the ledger."""
    plan = BudgetPlan.divide(epsilon, 0, {"all": 1})
    half = Fraction(1, 2)
    with Curator(PrivateTable(X, y, schema), plan, RandomWords.seeded(0), noiseless=noiseless) as curator:
        parts, known = additive_parts(curator, "all", half, len(y), CENTRE, AdditiveConfig())
        weighed = weigh_parts(curator, "all", half, len(y), CENTRE, parts) if parts else None
    table = np.zeros(()) if weighed is None else np.tensordot(weighed.weights, np.stack(parts), axes=1)
    cells = schema.encode_features(X)
    said = 0.0 if weighed is None else sum(table[at, cells[:, at]] for at in range(len(table)))
    return parts, weighed, schema.range.high * said, curator.ledger, known


def r2(y, said):
    return 1 - ((y - said) ** 2).mean() / y.var()


@pytest.fixture
def correlated():
    """A line in features that hang together, which one at a time would be followed twice."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8000, 1)) + 0.6 * rng.normal(size=(8000, 4))
    y = X @ [1.0, -0.5, 0.8, 0.0] + 0.3 * rng.normal(size=8000)
    return np.clip(X, -4.9, 4.9), np.clip(y, -7.9, 7.9)


def test_without_noise_it_is_about_linear_regression(correlated):
    X, y = correlated
    _, weighed, said, *_ = learn(X, y, NUMBERS, epsilon=100)
    best = LinearRegression().fit(X, y).score(X, y)
    assert r2(y, said) > best - 0.06  # scales are bent by a tanh
    assert weighed.r2 == pytest.approx(r2(y, said), abs=0.02)


def test_curves_are_followed():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(8000, 4))
    y = np.clip(X[:, 0] ** 2 - 1 + np.sin(2 * X[:, 1]), -7.9, 7.9)
    assert r2(y, learn(X, y, NUMBERS, epsilon=100)[2]) > 0.75


def test_categories_are_followed():
    rng = np.random.default_rng(2)
    codes = rng.integers(0, [4, 3], (6000, 2))
    y = np.array([-1.0, 0.0, 0.5, 1.5])[codes[:, 0]] + np.array([-0.5, 0.0, 0.5])[codes[:, 1]]
    y -= y.mean()
    X = np.stack([np.array(list("pqrs"))[codes[:, 0]], np.array(list("tuv"))[codes[:, 1]]], 1).astype(object)
    assert r2(y, learn(X, y, LETTERS)[2]) > 0.99
    assert r2(y, learn(X, y, LETTERS, noiseless=False)[2]) > 0.95


def test_weights_save_parts_that_say_the_same_twice(correlated):
    """With so little budget there are no products: each feature is followed on its own."""
    X, y = correlated
    parts, _, said, _, known = learn(X, y, NUMBERS, epsilon=Fraction(1, 12), noiseless=False)
    assert known.products is None
    cells = NUMBERS.encode_features(X)
    unweighed = 8 * sum(part[at, cells[:, at]] for part in parts for at in range(4))
    assert r2(y, unweighed) < 0
    assert r2(y, said) > 0.4


@pytest.mark.parametrize("epsilon", [Fraction(1, 50), 1, 100])
def test_the_whole_share_is_spent_and_nothing_else(correlated, epsilon):
    _, weighed, _, ledger, _ = learn(*correlated, NUMBERS, epsilon, noiseless=False)
    assert ledger.total() == (epsilon if weighed is not None else Fraction(epsilon) / 2)


def test_a_second_round_asks_about_the_target_only(correlated):
    X, y = correlated
    plan = BudgetPlan.divide(100, 0, {"all": 1})
    half = Fraction(1, 2)
    with Curator(PrivateTable(X, y, NUMBERS), plan, RandomWords.seeded(0)) as curator:
        _, known = additive_parts(curator, "all", half, len(y), CENTRE, AdditiveConfig())
        before = len(curator.ledger)
        additive_parts(curator, "all", half, len(y), CENTRE, AdditiveConfig(), known, "of what was left")
    asked = [str(event.query) for event in curator.ledger][before:]
    assert asked == ["features times the target of what was left"]
    assert curator.ledger.total() == 100


def test_a_target_without_signal_is_not_followed():
    """Noise alone explains nothing: what was found is no more than its noise, or next to nothing."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(4000, 4)), np.clip(rng.normal(size=4000), -7, 7)
    for epsilon in (Fraction(1, 10), 1, 10):
        _, weighed, said, *_ = learn(X, y, NUMBERS, epsilon, noiseless=False)
        assert r2(y, said) > -0.05
        assert weighed is None or weighed.r2 < 0.1 or weighed.explained < 2 * weighed.noise_sd


def test_ridge_takes_no_direction_for_more_than_its_noise():
    loud = ridge(np.array([[1.0, 0.999], [0.999, 1.0]]), np.array([0.1, -0.1]), 0.01, 0.2)
    assert np.abs(loud).max() < 1
    assert not ridge(np.eye(2), np.array([0.01, 0.0]), 0.01, 0.0).any()


def test_weights_are_the_prior_where_noise_is_loud_and_solve_where_it_is_not():
    products = np.array([[0.2, 0.1, 0.14], [0.1, 0.2, 0.1], [0.14, 0.1, 0.3]])
    loud = solve_weights(products, 100.0, np.ones(2), 1000.0)
    np.testing.assert_allclose(loud.weights, 0.6, atol=0.01)
    clear = solve_weights(products, 1e-9, np.ones(2), 1e12)
    np.testing.assert_allclose(clear.weights, np.linalg.solve(products[:2, :2], products[:2, 2]), atol=1e-3)
    assert clear.explained == pytest.approx(clear.weights @ products[:2, 2], abs=1e-6)
    assert clear.total == pytest.approx(0.3)


def test_units_leave_room_for_the_finest_targets():
    for reach in (1, 100, 2**16):
        assert 1 <= target_units(reach) * reach <= 2**21
    assert part_bound(np.zeros((2, 3))) > 0
