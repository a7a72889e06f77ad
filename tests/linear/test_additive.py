"""The additive part of numbers: right without noise, honest with it, chosen by what is public."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from dpforest._curator import Curator, PrivateTable, Wanted
from dpforest._linear import (
    AdditiveConfig,
    affordable_basis,
    fit_additive,
    number_can_be_fitted,
    scaling_share,
    standards,
)
from dpforest.mechanisms import RandomWords
from dpforest.privacy import BudgetPlan
from dpforest.schema import Nominal, Numeric, Range, Schema

CONFIG = AdditiveConfig()
NUMBERS = Schema({f"x{i}": Numeric(-5, 5) for i in range(4)}, Range(-8, 8))
LETTERS = Schema({"a": Nominal(list("pqrs")), "b": Nominal(list("tuv"))}, Range(-4, 4))
PLACES = Schema({"x": Numeric(0, 1), "town": Nominal(range(400)), "kind": Nominal(range(3))}, Range(0, 1))


def learn(X, y, schema, epsilon=1, noiseless=False, seed=0):
    """Predictions in units of the target, and the ledger."""
    plan = BudgetPlan.divide(epsilon, 0, {"all": 1})
    basis = affordable_basis(schema, len(y) * float(epsilon), CONFIG)
    half = schema.range.levels / 2
    wanted = Wanted(half, half * np.quantile(np.abs(y), 0.75) / schema.range.high)
    with Curator(PrivateTable(X, y, schema), plan, RandomWords.seeded(seed), noiseless=noiseless) as curator:
        scaling = scaling_share(Fraction(1), basis, CONFIG, known=False)
        standard = standards(curator, "all", scaling, len(y))
        table = fit_additive(curator, "all", 1 - scaling, len(y), wanted, basis, standard, CONFIG)
    cells = schema.encode_features(X)
    said = sum(table[at, cells[:, at]] for at in range(len(table)))
    return said * wanted.width / half * schema.range.high, curator.ledger


def r2(y, said):
    return 1 - ((y - said) ** 2).mean() / y.var()


@pytest.fixture
def correlated():
    """A line in features that hang together, which one at a time would be followed twice."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8000, 1)) + 0.6 * rng.normal(size=(8000, 4))
    y = X @ [1.0, -0.5, 0.8, 0.0] + 0.3 * rng.normal(size=8000)
    return np.clip(X, -4.9, 4.9), np.clip(y, -7.9, 7.9)


@pytest.mark.parametrize(("epsilon", "lost"), [(100, 0.03), (1, 0.1)])
def test_it_is_about_linear_regression(correlated, epsilon, lost):
    X, y = correlated
    best = LinearRegression().fit(X, y).score(X, y)
    assert r2(y, learn(X, y, NUMBERS, epsilon, noiseless=epsilon == 100)[0]) > best - lost


def test_curves_are_followed():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(8000, 4))
    y = np.clip(X[:, 0] ** 2 - 1 + np.sin(2 * X[:, 1]), -7.9, 7.9)
    assert r2(y, learn(X, y, NUMBERS, 100)[0]) > 0.8


def test_categories_are_followed():
    rng = np.random.default_rng(2)
    codes = rng.integers(0, [4, 3], (6000, 2))
    y = np.array([-1.0, 0.0, 0.5, 1.5])[codes[:, 0]] + np.array([-0.5, 0.0, 0.5])[codes[:, 1]]
    y -= y.mean()
    X = np.stack([np.array(list("pqrs"))[codes[:, 0]], np.array(list("tuv"))[codes[:, 1]]], 1).astype(object)
    assert r2(y, learn(X, y, LETTERS)[0]) > 0.95


@pytest.mark.parametrize("epsilon", [Fraction(1, 50), 1, 100])
def test_the_whole_share_is_spent_and_nothing_else(correlated, epsilon):
    assert learn(*correlated, NUMBERS, epsilon)[1].total() == epsilon


def test_a_target_without_signal_costs_next_to_nothing():
    """With fixed seeds; what stands out of the noise by chance is drawn to 0."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(4000, 4)), np.clip(rng.normal(size=4000), -7, 7)
    for epsilon in (Fraction(1, 10), 1):
        found = [r2(y, learn(X, y, NUMBERS, epsilon, seed=seed)[0]) for seed in range(20)]
        assert np.mean(found) > -0.01
        assert min(found) > -0.1


def test_more_rows_buy_finer_functions_and_wider_features():
    shapes = [affordable_basis(NUMBERS, enough, CONFIG) for enough in (60, 80, 300, 3000, 300_000)]
    assert shapes[0] is None
    assert [basis.shape for basis in shapes[1:]] == ["line", "square", "curve", "curve"]
    assert shapes[3].n_knots < shapes[4].n_knots == CONFIG.most_knots
    nominal = [affordable_basis(PLACES, enough, CONFIG).nominal for enough in (1000, 100_000)]
    assert nominal == [[2], [2, 1]]


def test_noise_is_about_what_was_foreseen():
    """Of lines without signal, in the sum over features; by a factor of 3, which formulas can live with."""
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(4000, 4)).clip(-4.9, 4.9), np.clip(rng.normal(size=4000), -7, 7)
    keep_all = AdditiveConfig(surely=0.0, by_chance=0.0, loudest_squares=0.0, loudest_curves=0.0)
    basis = affordable_basis(NUMBERS, 1e4, keep_all)
    plan, half = BudgetPlan.divide(Fraction(1, 10), 0, {"all": 1}), NUMBERS.range.levels / 2
    wanted, squares = Wanted(half, half * 1.15 / 8), []
    for seed in range(60):
        with Curator(PrivateTable(X, y, NUMBERS), plan, RandomWords.seeded(seed)) as curator:
            blocks = basis.blocks(NUMBERS, [np.tanh(np.linspace(-4, 4, int(n))) for n in NUMBERS.n_cells[:4]])
            weights = curator.fitted_weights("all", Fraction(1), "weights", blocks, len(y), wanted)
        cells = NUMBERS.encode_features(X)
        said = sum(
            (block.values @ weights[i : i + 1])[cells[:, block.feature], 0] / 64
            for i, block in enumerate(blocks)
        )
        squares.append(said.var())
    assert 1 / 3 < np.mean(squares) / basis.noise(NUMBERS, 400) < 3


def test_what_is_too_faint_is_known_before():
    basis = affordable_basis(NUMBERS, 1000, CONFIG)
    plans = [BudgetPlan.divide(epsilon, 0, {"all": 1}) for epsilon in (1, Fraction(1, 10**12))]
    assert [number_can_be_fitted(NUMBERS, plan, "all", Fraction(1), basis) for plan in plans] == [True, False]
