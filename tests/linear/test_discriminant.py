"""The linear discriminant: right without noise, bounded and honest with it."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.naive_bayes import CategoricalNB

from dpforest._curator import Curator, PrivateTable
from dpforest._linear import DiscriminantConfig, discriminant_scores
from dpforest._linear.discriminant import DEFAULTS, _spread_of_means
from dpforest._linear.standard import ordered_features, standards, units
from dpforest.mechanisms import RandomWords
from dpforest.privacy import BudgetPlan
from dpforest.schema import Classes, Nominal, Numeric, Schema

NUMBERS = Schema({f"x{i}": Numeric(-6, 6) for i in range(4)}, Classes([0, 1, 2]))
LETTERS = Schema({"a": Nominal(list("pqr")), "b": Nominal(list("stuv"))}, Classes([0, 1]))


def scores_of(X, y, schema, epsilon=1, noiseless=True, config=DEFAULTS):
    plan = BudgetPlan.divide(epsilon, 0, {"all": 1})
    counts = np.bincount(y, minlength=schema.target.n_classes).astype(float)
    with Curator(PrivateTable(X, y, schema), plan, RandomWords.seeded(0), noiseless=noiseless) as curator:
        found = discriminant_scores(curator, "all", Fraction(1), counts, 1.0, config)
    return found, curator.ledger


def predictions(found, number, X, schema):
    cells, table = schema.encode_features(X), found.tables[number]
    scores = np.log(found.counts) + sum(table[at, cells[:, at]] for at in range(len(table)))
    return scores.argmax(axis=1)


@pytest.fixture
def gaussians():
    """Three classes with one full covariance, which a discriminant without it cannot separate."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 6000)
    mix = np.array([[1.0, 0.9, 0, 0], [0, 0.4, 0, 0], [0, 0, 1, -0.9], [0, 0, 0, 0.4]])
    centres = 0.8 * np.array([[0, 0.6, 0, 0], [0, -0.6, 0, 0.3], [0.3, 0, 0.4, 0.5]])
    return centres[y] + rng.normal(size=(6000, 4)) @ mix, y


def test_without_noise_it_is_the_linear_discriminant(gaussians):
    X, y = gaussians
    found, _ = scores_of(X, y, NUMBERS)
    best = LinearDiscriminantAnalysis().fit(X, y).score(X, y)
    plain, with_covariance = ((predictions(found, number, X, NUMBERS) == y).mean() for number in (0, 1))
    assert with_covariance > best - 0.05  # features are bent by a tanh
    assert with_covariance > plain + 0.05


def test_what_all_features_share_does_not_outweigh_the_rest():
    """All features follow one quantity that hardly tells the classes; nothing is asked about covariances."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 9, 4000)
    shared = 0.5 * rng.normal(size=9)[y] + 0.6 * rng.normal(size=4000)
    X = shared[:, None] + 0.2 * rng.normal(size=(9, 12))[y] + 0.2 * rng.normal(size=(4000, 12))
    schema = Schema({f"x{i}": Numeric(-3, 3) for i in range(12)}, Classes(list(range(9))))
    found, _ = scores_of(X, y, schema, config=DiscriminantConfig(loudest_covariance=0))
    plain, some, much = ((predictions(found, number, X, schema) == y).mean() for number in range(3))
    assert plain + 0.1 < some < much - 0.1  # .40, .56, .71


def test_the_spread_of_class_means_is_their_covariance_weighted_by_rows():
    rng = np.random.default_rng(0)
    means, counts = 3 + rng.normal(size=(9, 4)), rng.integers(1, 100, 9).astype(float)
    assert np.allclose(_spread_of_means(means, counts), np.cov(means.T, aweights=counts, ddof=0))


def test_without_noise_categories_are_naive_bayes():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 5000)
    codes = np.stack([np.where(rng.random(5000) < 0.6, y, 2), (y + rng.integers(0, 3, 5000)) % 4], axis=1)
    X = np.stack([np.array(list("pqr"))[codes[:, 0]], np.array(list("stuv"))[codes[:, 1]]], 1).astype(object)
    found, _ = scores_of(X, y, LETTERS)
    ours = predictions(found, 0, X, LETTERS)
    assert (ours == CategoricalNB().fit(codes, y).predict(codes)).mean() > 0.99


def test_the_whole_share_is_spent_and_nothing_else(gaussians):
    X, y = gaussians
    for epsilon in (Fraction(1, 100), 1, 100):  # without products, with them, and with squares
        _, ledger = scores_of(X, y, NUMBERS, epsilon, noiseless=False)
        assert ledger.total() == epsilon
    assert {event.purpose for event in ledger} == {
        "centres of the features", "spreads of the features", "features by class", "products of the features",
    }  # fmt: skip


def test_classes_that_do_not_differ_get_no_scores():
    """Noise alone must not make classes out of nothing: with 200 rows and little budget all is drawn to 0."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(200, 4)), rng.integers(0, 3, 200)
    found, _ = scores_of(X, y, NUMBERS, Fraction(1, 50), noiseless=False)
    assert np.abs(found.tables).max() < 3.0
    assert (np.abs(found.tables).max(axis=(0, 2, 3)) < 1e-12).any()


def test_scales_are_bounded_and_silent_about_missing_values(gaussians):
    X, y = gaussians
    with Curator(
        PrivateTable(X, y, NUMBERS), BudgetPlan.divide(1, 0, {"all": 1}), RandomWords.seeded(0)
    ) as curator:
        scales = standards(curator, "all", Fraction(1), 6000.0).scales(NUMBERS)
    for scale in scales:
        assert np.abs(scale).max() <= 1
        assert (np.diff(scale[:-2]) >= 0).all()
        assert not scale[-2:].any()


def test_two_categories_are_ordered():
    schema = Schema({"sex": Nominal(["f", "m"]), "ward": Nominal(["a", "b", "c"])}, Classes([0, 1]))
    assert ordered_features(schema) == [0]


def test_units_keep_the_rate_drawable():
    for n_sums, epsilon in [(1, 0.01), (5000, 10.0), (100, 1000.0)]:
        assert epsilon / units(n_sums, epsilon) * n_sums <= 2


def test_products_are_not_asked_for_with_a_rate_too_small_to_represent():
    """Millions of rows at a tiny epsilon: pretend to have them, for the formula sees released counts only."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 4)), rng.integers(0, 3, 50)
    plan = BudgetPlan.divide(Fraction(1, 10_000), 0, {"all": 1})
    with Curator(PrivateTable(X, y, NUMBERS), plan, RandomWords.seeded(0)) as curator:
        discriminant_scores(curator, "all", Fraction(1), np.full(3, 1e8), 1.0)
    assert "products of the features" not in {event.purpose for event in curator.ledger}
