"""The tree of Friedman and Schuster: its budget, its stops, its pruning, and its exact privacy loss."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from dpforest._structure.flat import EVERYTHING_LEFT
from dpforest._trees import reachable_leaves
from dpforest.mechanisms import Rate, discrete_laplace_log_pmf, exponential_log_pmf
from dpforest.papers.baselines import FriedmanSchusterTreeClassifier
from dpforest.privacy import PrivacyLeakWarning
from tests.forests.test_papers import epsilons, leaf_rate
from tests.neighbours import neighbours

X = np.random.default_rng(0).random((4000, 3))
Y = (X[:, 1] > 0.5).astype(int)
DECLARED = {"bounds": (0, 1), "classes": [0, 1]}
CRITERIA = ("gini", "max_operator", "information_gain")


def seeded(X, y, **options):
    with pytest.warns(PrivacyLeakWarning):
        return FriedmanSchusterTreeClassifier(**{**DECLARED, "random_state": 0, **options}).fit(X, y)


def test_all_questions_on_a_path_get_the_same_part():
    model = FriedmanSchusterTreeClassifier(epsilon=3.5, max_depth=3, **DECLARED).fit(X, Y)
    purposes = [event.purpose for event in model.ledger_]
    assert purposes[:2] == ["rows of the nodes, level 0", "splits by max_operator, level 0"]
    assert len(purposes) == 2 * 3 + 1
    assert epsilons(model, "splits") == pytest.approx([0.5] * 3)
    assert leaf_rate(model) == pytest.approx(0.5, rel=1e-4)
    sizes = {event.parameters["noise_sd"] for event in model.ledger_ if "rows of" in event.purpose}
    assert sizes == {model.ledger_.events[-1].parameters["noise_sd"]}


@pytest.mark.parametrize("criterion", CRITERIA)
def test_every_criterion_finds_the_feature_that_tells(criterion):
    model = seeded(X, Y, epsilon=10.0, criterion=criterion)
    assert model.trees_.feature[0, 0] == 1
    assert model.score(X, Y) > 0.9
    assert f"splits by {criterion}, level 0" in model.noise_scales_


def test_small_nodes_are_not_split_and_neither_is_what_hangs_below():
    """Ten rows are far fewer than 2 children x 2 classes x noise of 15."""
    model = seeded(X[:10], Y[:10], epsilon=1.0)
    assert (model.trees_.threshold == EVERYTHING_LEFT).all()
    stopped = 0
    for seed in range(30):
        trees = seeded(X[:400], Y[:400], epsilon=2.0, random_state=seed).trees_
        for level in range(4):
            ended = trees.threshold[:, trees.level(level)] == EVERYTHING_LEFT
            below = trees.threshold[:, trees.level(level + 1)] == EVERYTHING_LEFT
            assert (below | ~np.repeat(ended, 2, axis=1)).all()
            stopped += ended.sum()
    assert 0 < stopped < 30 * 15


def test_without_noise_it_is_a_greedy_tree():
    wavy = ((X[:, 0] > 0.3) ^ (X[:, 1] > 0.7)).astype(int)
    model = seeded(X[:3000], wavy[:3000], epsilon=np.inf, criterion="gini", pruning=False)
    peer = DecisionTreeClassifier(max_depth=5, random_state=0).fit(X[:3000], wavy[:3000])
    assert model.score(X[3000:], wavy[3000:]) > peer.score(X[3000:], wavy[3000:]) - 0.03


def test_pruning_changes_nothing_but_votes():
    pruned, whole = (seeded(X, Y, epsilon=1.0, pruning=pruning) for pruning in (True, False))
    np.testing.assert_array_equal(pruned.leaf_statistics_, whole.leaf_statistics_)
    np.testing.assert_array_equal(pruned.trees_.threshold, whole.trees_.threshold)
    reach = reachable_leaves(pruned.trees_)
    assert len(np.unique(pruned.leaf_votes_[reach], axis=0)) < len(
        np.unique(whole.leaf_votes_[reach], axis=0)
    )


@pytest.mark.parametrize("wrong", [{"criterion": "gain_ratio"}, {"n_estimators": 2}, {"max_depth": None}])
def test_what_it_has_not_is_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        FriedmanSchusterTreeClassifier(**DECLARED, **wrong).fit(X, Y)


class TinyTree:
    """Exact log-probabilities of a tree of depth 1 on a feature with three cells, by the max-operator.

    A record is (cell, class). An output is: noisy class counts of the root; whether it is split, and where;
    noisy class counts of both leaves. The root is split if its noisy size exceeds `least_rows`.
    """

    def __init__(self, epsilon, least_rows=3, stop_by="noisy"):
        self.part, self.least_rows, self.stop_by = Fraction(epsilon) / 3, least_rows, stop_by
        self.rate = Rate.floor(self.part)
        self.pairs = np.array(list(product((-1, 1, 5), repeat=2)))
        self.leaves = np.array(list(product((-1, 2), repeat=4))).reshape(-1, 2, 2)

    def log_pmf(self, records):
        counts = np.zeros((3, 2), int)
        for cell, label in records:
            counts[cell, label] += 1
        total = counts.sum(axis=0)
        left = np.array([counts[: cut + 1].sum(axis=0) for cut in range(2)])
        scores = (left.max(axis=1) + (total - left).max(axis=1))[None]
        cuts = exponential_log_pmf(scores, np.ones(2, np.int64), self.rate)[0]
        whole = np.stack([total, 0 * total])
        of_leaves = [np.stack([left[0], total - left[0]]), np.stack([left[1], total - left[1]]), whole]
        filled = [
            discrete_laplace_log_pmf(self.leaves - true, self.rate).sum(axis=(1, 2)) for true in of_leaves
        ]
        out = []
        for released in self.pairs:
            root = discrete_laplace_log_pmf(released - total, self.rate).sum()
            size = released.sum() if self.stop_by == "noisy" else total.sum()
            splits = size > self.least_rows
            out.append([root + (cuts[cut] if splits else -np.inf) + filled[cut] for cut in range(2)])
            out[-1].append(root + (-np.inf if splits else 0.0) + filled[2])
        return np.array(out)

    def loss(self, before, after):
        p, q = self.log_pmf(before), self.log_pmf(after)
        possible = np.isfinite(p) | np.isfinite(q)
        return np.abs(p[possible] - q[possible]).max()


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), 3])
def test_no_neighbours_differ_by_more_than_epsilon(epsilon):
    tree = TinyTree(epsilon)
    domain = list(product((0, 1, 2), (0, 1)))
    worst = max(tree.loss(before, after) for before, after in neighbours(domain, 4))
    assert worst <= epsilon + 1e-9
    tight = tree.loss([(0, 0)] * 5 + [(2, 1)] * 5, [(0, 0)] * 5 + [(2, 1)] * 5 + [(2, 1)])
    assert max(worst, tight) > 0.75 * epsilon


def test_stopping_by_the_exact_size_would_be_found():
    tree = TinyTree(1, stop_by="exact")
    assert tree.loss([(0, 0)] * 3, [(0, 0)] * 4) == np.inf
