"""Random trees of Jagannathan and others: depth, budget, and the flaw of the original."""

import math

import numpy as np
import pytest
from scipy import stats

from dpforest.papers.baselines import JPWForestClassifier
from dpforest.papers.baselines.jpw import jpw_depth
from dpforest.papers.published import BROKEN_PROMISES, Domain, noisy_count_forest
from dpforest.privacy import PrivacyLeakWarning
from dpforest.schema import Classes, Nominal, Numeric, Schema
from tests.counting import encoded_rows, leaf_counts
from tests.neighbours import neighbours

FOUR_VALUES = Schema({f"c{i}": Nominal(list("abcd")) for i in range(22)}, Classes([0, 1]))


def leaf_rate(model):
    """The a in exp(-a |k|) of the leaf noise, from its standard deviation."""
    variance = model.ledger_.events[-1].parameters["noise_sd"] ** 2
    return 2 * math.asinh(1 / math.sqrt(2 * variance))


def letters(n_rows):
    return np.random.default_rng(0).choice(list("abcd"), (n_rows, 22)), np.arange(n_rows) % 2


@pytest.mark.parametrize(
    ("n_categories", "n_rows", "depth"),
    [
        ([0] * 14, 32_561, 7),  # half of the features
        ([5, 5, 2, 4, 3, 3, 4, 3], 12_960, 4),  # nursery: log(12960) / log(3.625) - 1 is 6.4, half is 4
        ([4] * 22, 1024, 4),  # log_4(1024) - 1
        ([0, 3, 0], 3000, 2),  # half of three, rounded up
        ([0] * 4, 0, 1),
        ([1], 100, 1),
    ],
)
def test_depth(n_categories, n_rows, depth):
    assert jpw_depth(np.array(n_categories), n_rows) == depth


def test_the_budget_is_divided_by_trees_after_the_count():
    X = np.random.default_rng(0).random((500, 4))
    declared = {"epsilon": 2.0, "bounds": (0, 1), "classes": [0, 1]}
    model = JPWForestClassifier(8, **declared).fit(X, X[:, 0] > 0.5)
    assert [event.purpose for event in model.ledger_] == ["number of rows", "leaf class counts"]
    assert leaf_rate(model) == pytest.approx(0.98 * 2 / 8, rel=1e-4)
    saved = JPWForestClassifier(8, max_depth=2, **declared).fit(X, X[:, 0] > 0.5)
    assert [event.purpose for event in saved.ledger_] == ["leaf class counts"]
    assert leaf_rate(saved) == pytest.approx(2 / 8, rel=1e-4)


def test_all_small_neighbours_keep_epsilon():
    """The released trees are public coins; given them, the loss is the rate times the L1 change of counts."""
    schema = Schema({"x": Numeric(0, 1, bins=2), "c": Nominal(["a", "b"])}, Classes([0, 1]))
    model = JPWForestClassifier(3, epsilon=1.0, schema=schema, max_depth=2).fit([[0.1, "a"]], [0])
    domain = [(x, c, y) for x in (0.1, 0.9) for c in "ab" for y in (0, 1)]

    def counts(records):
        X = np.array([record[:2] for record in records], object).reshape(-1, 2)
        return leaf_counts(encoded_rows(X, [record[2] for record in records], schema), model.trees_)

    losses = [
        leaf_rate(model) * np.abs(counts(after) - counts(before)).sum()
        for before, after in neighbours(domain, 3)
    ]
    assert min(losses) == pytest.approx(1, rel=1e-4)
    assert max(losses) <= 1 + 1e-6


def test_one_row_more_makes_the_original_deeper():
    """Probability 1 against 0: the promise that the registry names is broken."""
    assert BROKEN_PROMISES["noisy_count_forest"][0].loss == math.inf
    depths = []
    for n_rows in (1023, 1024):
        model = JPWForestClassifier(schema=FOUR_VALUES, as_published=True)
        with pytest.warns(PrivacyLeakWarning, match="depth from the number of rows"):
            depths.append(model.fit(*letters(n_rows)).published_.depth)
    assert depths == [3, 4]


def test_labels_of_the_original_are_those_of_whole_noisy_counts():
    """One leaf, three rows against one, budget 1: the chance of the minority from the law of the noise."""
    domain = Domain(np.zeros(1), np.ones(1), np.zeros(1, int), n_classes=2)
    X, y = np.full((4, 1), 0.5), np.array([0, 0, 0, 1])

    def at_least(count, value):  # whole part of count + Laplace(1), not below 0
        return 1.0 if value <= 0 else stats.laplace.sf(value - count)

    def exactly(count, value):
        return at_least(count, value) - at_least(count, value + 1)

    # of equal counts the class of the first row wins, which is the minority's one time in four
    chance = sum(exactly(1, v) * (1 - at_least(3, v) + exactly(3, v) / 4) for v in range(60))
    named = [
        noisy_count_forest(X, y, domain, np.random.default_rng(seed), epsilon=1.0, n_trees=1, max_depth=0)
        .votes(X[:1])
        .argmax()
        for seed in range(4000)
    ]
    assert stats.binomtest(int(sum(named)), 4000, chance).pvalue > 1e-6


def test_a_leaf_without_rows_has_no_noise():
    """Either label half of the time; one row makes the other one rarer than the budget allows."""
    broken = next(one for one in BROKEN_PROMISES["noisy_count_forest"] if one.what == "leaves without rows")
    tail = stats.laplace.sf
    # the row's class wins unless the other count is larger: the whole parts of L and of 1 + L
    larger = sum((tail(v - 1 - 1) - tail(v - 1) if v > 1 else 1 - tail(0)) * tail(v) for v in range(1, 60))
    assert math.log(0.5 / larger) == pytest.approx(broken.loss, abs=0.005)


def test_the_original_counts_rows_where_they_are():
    domain = Domain(np.zeros(1), np.array([3.0]), np.array([2]), n_classes=3)
    X = (np.arange(600.0) % 4)[:, None]  # two categories, missing and other
    y = (X[:, 0] % 3).astype(int)
    y[:100] = -1
    forest = noisy_count_forest(X, y, domain, np.random.default_rng(0), epsilon=1e9, max_depth=2, n_trees=5)
    np.testing.assert_array_equal(forest.votes(X)[100:], 5 * np.eye(3)[y[100:]])  # one vote per tree
    assert forest.votes(np.empty((0, 1))).shape == (0, 3)
    with pytest.raises(ValueError, match="classification"):
        noisy_count_forest(
            X, y, Domain(*(3 * [np.zeros(1)])), np.random.default_rng(0), epsilon=1, max_depth=1
        )
