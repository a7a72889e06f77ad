"""The greedy forms as published: they learn, they take any table, and their flaws are really there."""

import math
import pickle

import numpy as np
import pytest
from scipy import stats

from dpforest.papers.published import (
    Domain,
    greedy_smooth_forest,
    greedy_tree,
    local_sensitivity_forest,
    maximal_vote_forest,
    private_extra_trees,
    private_random_forest,
    relaxed_forest,
)
from dpforest.papers.published.bootstrap_forests import bootstrap
from dpforest.papers.published.draws import probabilities
from dpforest.papers.published.extra_trees import noisy_shares, random_split
from dpforest.papers.published.greedy_smooth import attribute_exponents as smooth_exponents
from dpforest.papers.published.greedy_tree import _Growing, _Node
from dpforest.papers.published.local_sensitivity import Grown, prune
from dpforest.papers.published.local_sensitivity import attribute_exponents as local_exponents
from dpforest.papers.published.multiway import LEAF, BinnedRows, class_scores, depth_from_rows
from dpforest.papers.published.private_random_forest import error_exponents, gini_exponents
from dpforest.papers.published.smooth_sensitivity import label_probabilities
from dpforest.papers.published.trees import Ranges, Split
from tests.neighbours import neighbours
from tests.papers.published.conftest import unit_cube
from tests.papers.published.test_edges import MIXED, mixed_rows
from tests.papers.published.test_flaws_of_median_forests import keeps_word, promise

FORMS = {
    "DP-RF": lambda *a, **o: private_random_forest(*a, **{"epsilon": 10.0, "max_depth": 3, **o}),
    "DP-ERT": lambda *a, **o: private_extra_trees(*a, **{"epsilon": 20.0, "max_depth": 6, **o}),
    "FS": lambda *a, **o: greedy_tree(*a, **{"epsilon": 10.0, **o}),
    "FS, gini": lambda *a, **o: greedy_tree(*a, **{"epsilon": 10.0, "criterion": "gini", **o}),
    "FS, gain": lambda *a, **o: greedy_tree(*a, **{"epsilon": 20.0, "criterion": "information_gain", **o}),
    "MaxTree": lambda *a, **o: maximal_vote_forest(*a, **{"epsilon": 10.0, **o}),
    "RGV": lambda *a, **o: relaxed_forest(*a, **{"epsilon": 2.0, "n_trees": 10, **o}),
    "DP-DF": lambda *a, **o: local_sensitivity_forest(*a, **{"epsilon": 10.0, **o}),
    "Xin": lambda *a, **o: greedy_smooth_forest(*a, **{"epsilon": 5.0, **o}),
}


# --- they run and learn ----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_classes_of_mixed_features(form, mixed_classes, rng):
    X, y, domain = mixed_classes
    votes = FORMS[form](X[:5000], y[:5000], domain, rng).votes(X[5000:])
    assert votes.shape == (1000, 3)
    assert (votes.argmax(axis=1) == y[5000:]).mean() >= 0.75
    again = [FORMS[form](X[:500], y[:500], domain, np.random.default_rng(7)).votes(X[:50]) for _ in range(2)]
    np.testing.assert_array_equal(*again)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n_rows", [0, 1, 5, 300])
def test_any_number_of_rows(form, n_rows, rng):
    X, y = mixed_rows(rng, n_rows), rng.integers(3, size=n_rows)
    forest = FORMS[form](X, y, MIXED, rng)
    votes = forest.votes(mixed_rows(rng, 20))
    assert votes.shape == (20, 3)
    assert np.isfinite(votes).all()
    assert forest.votes(np.empty((0, 3))).shape == (0, 3)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(forest)).votes(X), forest.votes(X))


@pytest.mark.parametrize("form", FORMS)
def test_rows_without_a_label_are_left_out_and_one_class_is_enough(form, rng):
    X, y = mixed_rows(rng, 200), rng.integers(3, size=200)
    y[::2] = -1
    known = y >= 0
    votes = [
        FORMS[form](*rows, MIXED, np.random.default_rng(3)).votes(X)
        for rows in ((X, y), (X[known], y[known]))
    ]
    np.testing.assert_array_equal(*votes)
    single = FORMS[form](np.full((50, 2), 0.25), np.zeros(50, int), unit_cube(2, n_classes=1), rng)
    assert np.isfinite(single.votes(rng.random((5, 2)))).all()


def test_numeric_targets(step_targets, rng):
    X, y, domain = step_targets
    predicted = FORMS["DP-RF"](X[:5000], y[:5000], domain, rng).votes(X[5000:])
    assert predicted.shape == (1000, 1)
    assert np.mean((predicted[:, 0] - y[5000:]) ** 2) < 0.5 * np.var(y[5000:])
    for form in ("MaxTree", "RGV", "DP-DF", "Xin", "FS"):
        with pytest.raises(ValueError, match="classification"):
            FORMS[form](X, y, domain, rng)


def test_routing_equals_a_walk_row_by_row(rng):
    X, y = mixed_rows(rng, 300), rng.integers(3, size=300)
    codes = BinnedRows.of(X, y, MIXED).codes
    for tree in FORMS["DP-RF"](X, y, MIXED, rng).trees:
        walked = []
        for row in codes:
            node, used = 0, []
            while tree.feature[node] != LEAF:
                used.append(tree.feature[node])
                node = tree.first_child[node] + row[tree.feature[node]]
            assert len(used) == len(set(used))  # a feature once per path
            walked.append(node)
        np.testing.assert_array_equal(tree.leaf_of(codes), walked)


@pytest.mark.parametrize("criterion", ["gini", "max_operator", "information_gain"])
def test_scores_from_first_principles(criterion, rng):
    rows = BinnedRows.of(mixed_rows(rng, 80), rng.integers(3, size=80), MIXED)
    here = np.arange(60)

    def score(labels):
        n = np.bincount(labels, minlength=3)
        if criterion == "max_operator":
            return n.max()
        shares = n / n.sum()
        if criterion == "gini":
            return -n.sum() * (1 - (shares**2).sum())
        return n.sum() * sum(p * math.log2(p) for p in shares if p > 0)

    expected = [
        sum(score(rows.target[here][rows.codes[here, j] == v]) for v in np.unique(rows.codes[here, j]))
        for j in range(3)
    ]
    np.testing.assert_allclose(class_scores(rows, here, criterion), expected)


def test_roots_differ_and_pruning_takes_back_what_is_no_purer(rng):
    X = rng.random((2000, 3))
    forest = local_sensitivity_forest(
        X, (X[:, 0] > 0.5).astype(int), unit_cube(3, n_classes=2), rng, epsilon=50.0, n_trees=3, max_depth=2
    )
    assert sorted(tree.feature[0] for tree in forest.trees) == [0, 1, 2]


def a_tree(counts, children):
    """A tree by the noisy counts of its nodes and their children; a feature is its level."""
    parent = {child: node for node, below in children.items() for child in below if child >= 0}
    n = range(len(counts))
    return Grown(
        [0 if node in children else LEAF for node in n],
        [parent.get(node, -1) for node in n],
        [list(children.get(node, [])) for node in n],
        [np.array(one, float) for one in counts],
    )


def test_pruning_begins_on_the_third_level_and_climbs():
    """As `DP_Tree._traverse_down` and `_prune_leaf` do."""
    pure, mixed = [[20, 1], [1, 20]], [[15, 15], [15, 15]]
    below = {0: [1, 2], 1: [3, 4], 2: [5, 6]}
    on_second = a_tree([[50, 50], [30, 30], [20, 20], *mixed, *pure], below)
    prune(on_second)  # nodes of the second level are not looked at first
    assert on_second.feature[:3] == [0, 0, 0]
    deep = a_tree([[50, 50], [30, 30], [30, 30], [30, 30], *mixed], {0: [1], 1: [2], 2: [3, -1], 3: [4, 5]})
    prune(deep)  # the third level goes, then what is above it, but not the root
    assert deep.feature[:4] == [0, LEAF, LEAF, LEAF]
    kept = a_tree([[50, 50], [30, 30], [21, 21], *pure], {0: [1], 1: [2], 2: [3, 4]})
    prune(kept)
    assert kept.feature[:3] == [0, 0, 0]


def test_only_what_occurs_is_counted_and_has_a_child(rng):
    """Values that no row of a node has end at the node; so do classes: they get no noise."""
    X = np.array([[0.1, 0.1], [0.9, 0.1]] * 400)
    y = np.array([0, 1] * 400)
    forest = local_sensitivity_forest(
        X, y, unit_cube(2, n_classes=3), rng, epsilon=50.0, n_trees=1, max_depth=1
    )
    (tree,) = forest.trees
    assert tree.is_node.sum() == (3 if tree.feature[0] == 0 else 2)
    votes = forest.votes(np.array([[0.1, 0.1], [0.9, 0.9], [0.5, 0.5]]))
    assert (votes[:, 2] == 0).all()
    np.testing.assert_array_equal(votes[2], tree.values[0])  # bin 2 of either feature was never seen


def test_as_called_trees_have_no_end_and_rows_no_way_down(rng):
    X = rng.random((3000, 4))
    y = (X[:, 0] > 0.3).astype(int)
    told = {"epsilon": 50.0, "n_trees": 1, "max_depth": 1}
    usual = local_sensitivity_forest(X, y, unit_cube(4, n_classes=2), rng, **told)
    called = local_sensitivity_forest(X, y, unit_cube(4, n_classes=2), rng, **told, as_called=True)
    assert max(tree.is_node.sum() for tree in usual.trees) <= 6
    assert min(tree.is_node.sum() for tree in called.trees) > 20
    assert len(np.unique(usual.votes(X).argmax(axis=1))) == 2
    assert (called.votes(X).argmax(axis=1) == 1).all()  # the most common class


def test_random_trees_cut_what_is_left_and_sets_of_categories(rng):
    """Every set of categories but all and none, with its complement once; thresholds inside the range."""
    domain = Domain(np.zeros(2), np.array([1.0, 5.0]), np.array([0, 4]), n_classes=2)
    left = Ranges.whole(domain).divide(Split(0, 0.3))[0]
    cuts = [random_split(0, left, rng).threshold for _ in range(200)]
    assert 0 <= min(cuts) < 0.05 < 0.25 < max(cuts) <= 0.3
    sets = {tuple(random_split(1, left, rng).categories) for _ in range(400)}
    assert len(sets) == 2 ** (4 - 1) - 1
    assert all(0 < len(one) < 4 for one in sets)


def test_leaves_without_rows_have_shares_that_noise_never_has(rng):
    """A share of exactly 1 is impossible without a row; with one it needs a count and none beside it."""
    broken = promise("leaves without rows", "private_extra_trees")
    empty = noisy_shares(np.zeros((2000, 2)), 1.0, rng)
    assert ((empty > 0) & (empty < 1)).all()
    one = noisy_shares(np.tile([0.0, 1.0], (4000, 1)), 1.0, rng)
    chance = 0.5 * (1 - 0.5 * math.exp(-1))
    assert chance == pytest.approx(0.41, abs=0.005)
    assert stats.binomtest(int((one[:, 1] == 1).sum()), 4000, chance).pvalue > 1e-6
    assert broken.loss == math.inf


def test_mean_impurities_choose_almost_at_random():
    """A feature that tells the classes apart among others that do not: hardly preferred, at any size."""
    for n in (100, 100_000):
        codes = np.zeros((n, 5), int)
        codes[: n // 2, 0] = 1
        rows = BinnedRows(codes, codes[:, 0], np.full(5, 5), 2)
        chance = probabilities(gini_exponents(rows, np.arange(n), 0.1))[0]
        assert chance == pytest.approx(np.exp(0.025) / (np.exp(0.025) + 4))


def test_questions_of_the_greedy_tree_have_equal_parts(rng):
    """(2 + n) d + 2 of them, n numeric features: seen in the noise of a tree without splits."""
    mixed = Domain(np.zeros(3), np.array([1.0, 1.0, 3.0]), np.array([0, 0, 2]), n_classes=2)
    few = np.zeros((10, 3)), np.zeros(10, int)
    noise = []
    for _ in range(2000):
        growing = _Growing(*few, mixed, rng, 1.0 / ((2 + 2) * 5 + 2), "max_operator")
        growing.grow(5)
        noise.append(growing.root.n_rows)
        if noise[-1] < 2 * 2 * 22 * 2**0.5:  # rows that would drown in noise are not split
            assert growing.root.split is None
    assert np.mean(np.array(noise) == 0) == pytest.approx(0.5 * np.exp(-10 / 22), abs=0.06)


def test_counts_are_calibrated_from_the_root_down():
    growing = _Growing(
        np.zeros((0, 1)), np.zeros(0, int), unit_cube(1, n_classes=2), None, 1.0, "max_operator"
    )
    leaves = [_Node(30.0, vote=np.array([1.0, 0.0])), _Node(10.0, vote=np.array([0.5, 0.5]))]
    growing.root = _Node(100.0, Split(0, 0.5), leaves)
    growing.calibrate()
    assert [leaf.n_rows for leaf in leaves] == [75.0, 25.0]
    np.testing.assert_allclose(growing.root.counts, [87.5, 12.5])
    growing.prune()  # 12.5 errors either way, and a leaf is estimated from more rows
    assert growing.root.split is None
    np.testing.assert_allclose(growing.finished().values, [[0.875, 0.125]])


def test_thresholds_are_drawn_by_width_and_score(rng):
    """Rows of two classes left and right of 0.5: the interval between them wins at a large budget."""
    X = np.concatenate([rng.uniform(0, 0.4, 200), rng.uniform(0.6, 1, 200)])[:, None]
    growing = _Growing(X, (X[:, 0] > 0.5).astype(int), unit_cube(1, n_classes=2), rng, 5.0, "max_operator")
    cuts = [growing._split(np.arange(400), 0, Ranges.whole(growing.domain)).threshold for _ in range(300)]
    assert np.mean([X[199:, 0].min() < 1 and 0.35 < cut < 0.65 for cut in cuts]) > 0.95
    assert stats.kstest([cut for cut in cuts if 0.4 < cut < 0.6], stats.uniform(0.4, 0.2).cdf).pvalue > 1e-6


# --- flaws -----------------------------------------------------------------------------------------------


def test_a_row_comes_up_several_times_in_a_bootstrap_sample(rng):
    """Binomially often, with mean 1; the log-ratio follows from the moment-generating function."""
    rows = BinnedRows(np.zeros((100, 1), int), np.eye(1, 100, dtype=int)[0], np.array([5]), 2)
    times = [bootstrap(rows, rng).target.sum() for _ in range(4000)]
    expected = stats.binom(100, 0.01).pmf(np.arange(4))
    seen = np.bincount(np.minimum(times, 4), minlength=5)
    assert stats.chisquare(seen, 4000 * np.append(expected, 1 - expected.sum())).pvalue > 1e-6
    # Laplace noise on M rows instead of none makes a count beyond 100 likelier by exp(M).
    pmf = stats.binom(100, 0.01).pmf(np.arange(101))
    loss = math.log((pmf * np.exp(np.arange(101.0))).sum())
    assert 10 * math.log((pmf * np.exp(0.1 * np.arange(101.0))).sum()) == pytest.approx(1.05, abs=0.005)
    assert keeps_word(loss, promise("bootstrap samples", "maximal_vote_forest"))
    assert keeps_word(100 * loss, promise("a relaxed definition, not epsilon-DP", "relaxed_forest"))


def test_fitted_forests_have_that_noise_and_spend_it_in_every_tree(rng):
    """One leaf without rows: the mean absolute value of Laplace noise is its scale."""
    domain = unit_cube(1, n_classes=2)
    for form, per_tree in ((private_random_forest, 0.2), (relaxed_forest, 2.0)):
        shares = []
        for _ in range(40):
            forest = form(
                np.zeros((1000, 1)), np.zeros(1000, int), domain, rng, epsilon=2.0, n_trees=10, max_depth=0
            )
            shares += [tree.values[0, 1] for tree in forest.trees]
        if form is relaxed_forest:  # shares of the empty class: positive noise over about 1000 rows
            assert np.mean(shares) * 1000 == pytest.approx(1 / per_tree / 2, rel=0.35)
        else:
            assert np.mean(shares) < 0.01  # one vote per tree, and 1000 rows against noise of 5


def test_features_are_chosen_at_the_budget_of_the_whole_tree():
    """Regression: 1000 rows at -1, and one at 1 that nine features tell apart and the tenth does not."""
    codes = np.zeros((1001, 10), int)
    codes[1000, 1:] = 1
    rows = BinnedRows(codes, np.append(np.full(1000, -1.0), 1.0), np.full(10, 5), 0)
    before, after = (
        np.log(probabilities(error_exponents(rows, np.arange(n), 1.0, 1.0)))[0] for n in (1000, 1001)
    )
    broken = promise("features chosen at the budget of the whole tree", "private_random_forest")
    assert keeps_word(before - after, broken)
    assert broken.claimed == 1 / 2 / (1 + 1)  # half of the budget for two levels


def test_the_depth_tells_the_number_of_rows(rng):
    assert (depth_from_rows(3124), depth_from_rows(3125)) == (2, 3)
    domain = unit_cube(4, n_classes=2)
    for form in ("private_random_forest", "local_sensitivity_forest", "greedy_smooth_forest"):
        assert promise("depth from the number of rows", form).loss == math.inf
    X = rng.random((3125, 4))
    y = rng.integers(2, size=3125)
    depths = []
    for n in (3124, 3125):
        forest = private_random_forest(X[:n], y[:n], domain, rng, epsilon=1e6, n_trees=1)
        depths.append(forest.trees[0].n_nodes > 1 + 5 + 25)
    assert depths == [False, True]


@pytest.mark.parametrize(("n_rows", "depth"), [(1235, 2), (27_000, 4), (4910, 3), (90_000, 5), (110_019, 5)])
def test_depths_of_the_published_table(n_rows, depth):
    """DP-RF and DP-DF in Table 2 of Consul and Williamson (2021); Banknote aims at 10 rows, here 25."""
    assert depth_from_rows(n_rows) == depth


TWO_VALUES = Domain(np.zeros(2), np.full(2, 3.0), np.array([2, 2]), n_classes=2)


def attributes(records, exponents, *options):
    """Log-probabilities of two attributes with two values each, for records (a, b, class)."""
    table = np.array(records, dtype=float).reshape(-1, 3)
    rows = BinnedRows.of(table[:, :2], table[:, 2].astype(int), TWO_VALUES)
    return np.log(probabilities(exponents(rows, np.arange(len(table)), *options)))


def test_a_noisy_size_makes_the_choice_too_sharp():
    """Three equal parts of a budget of 1: the counts of the root, its attribute, a leaf."""
    one, two = [(0, 0, 0)], [(0, 0, 0), (1, 0, 1)]
    broken = promise("local sensitivity at a noisy size", "local_sensitivity_forest")
    losses = []
    for released in (50, 500):
        size = 2.0 * released
        counts = stats.laplace(scale=3).logpdf(released) - stats.laplace(scale=3).logpdf(released - 1)
        choice = (
            attributes(one, local_exponents, size, 1 / 3)[1]
            - attributes(two, local_exponents, size, 1 / 3)[1]
        )
        losses.append(counts + choice)
    assert keeps_word(losses[0], broken)
    assert losses[1] > 10 * losses[0] > 10 * broken.claimed


DOMAIN = [(a, b, y) for a in (0, 1) for b in (0, 1) for y in (0, 1)]


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_with_the_true_size_both_choices_keep_their_budget(epsilon):
    """What the module texts say is true: on all tables of up to four rows."""
    for before, after in neighbours(DOMAIN, 4):
        for exponents, options in (
            (smooth_exponents, [(epsilon,), (epsilon,)]),
            (local_exponents, [(len(before), epsilon), (len(after), epsilon)]),
        ):
            change = attributes(before, exponents, *options[0]) - attributes(after, exponents, *options[1])
            assert np.abs(change).max() <= epsilon


def test_labels_of_the_greedy_forest_are_those_of_smooth_sensitivity(rng):
    """A single leaf with counts (3, 1) names the minority as often as Theorem 1 of 2017 says."""
    domain = unit_cube(1, n_classes=2)
    X, y = np.zeros((4, 1)), np.array([0, 0, 0, 1])
    chance = label_probabilities(np.array([[3.0, 1.0]]), 1.0)[0, 1]
    named = sum(
        greedy_smooth_forest(X, y, domain, rng, epsilon=1.0, n_trees=1, max_depth=0).votes(X[:1])[0, 1]
        for _ in range(4000)
    )
    assert stats.binomtest(int(named), 4000, chance).pvalue > 1e-6
    assert promise("smooth sensitivity in the exponential mechanism", "greedy_smooth_forest").loss == 6.32
