"""Consul and Williamson (2020): trees of noisy medians, against exact distributions and built trees."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom

from dpforest.papers.theory import median_splits, median_trees


def squared_error(targets):
    return float(((targets - targets.mean()) ** 2).sum()) if len(targets) else 0.0


def build_tree(columns, attributes, depth, left_count):
    """Record sets of all nodes in heap order; ``left_count(node, size)`` decides every split."""
    nodes = {1: np.arange(columns.shape[1])}
    for node in range(1, 2**depth):
        members = nodes[node]
        ordered = members[np.argsort(columns[attributes[node]][members])]
        k = left_count(node, len(ordered))
        nodes[2 * node], nodes[2 * node + 1] = ordered[:k], ordered[k:]
    return nodes


def noisy_split(rng, epsilon):
    def left_count(_, size):
        j = np.arange(size + 1)
        weights = np.exp(-epsilon * np.abs(j - size / 2))
        return int(rng.choice(size + 1, p=weights / weights.sum()))

    return left_count


def tree_pairs(seed, how_many):
    """Exact and noisy trees on the same attributes, with targets in {-1, 1}."""
    rng = np.random.default_rng(seed)
    for _ in range(how_many):
        depth, leaf_size = int(rng.integers(1, 4)), int(rng.integers(1, 9))
        n = leaf_size * 2**depth
        columns = rng.random((int(rng.integers(1, 4)), n))
        attributes = rng.integers(len(columns), size=2**depth)
        exact = build_tree(columns, attributes, depth, lambda _, size: size // 2)
        noisy = build_tree(columns, attributes, depth, noisy_split(rng, rng.uniform(0.3, 2)))
        targets = rng.choice([-1.0, 1.0], n)
        if rng.random() < 0.5:  # pure leaves in the exact tree: the worst case for moved records
            for leaf in range(2**depth, 2 ** (depth + 1)):
                targets[exact[leaf]] = rng.choice([-1.0, 1.0])
        yield depth, exact, noisy, targets


def test_theorem_1_and_corollary_corrected_hold_on_random_trees():
    for depth, exact, noisy, targets in tree_pairs(0, 1500):
        off = {node: abs(len(noisy[node]) - len(exact[node])) for node in exact}
        leaves = range(2**depth, 2 ** (depth + 1))
        changes = [
            squared_error(targets[noisy[leaf]]) - squared_error(targets[exact[leaf]]) for leaf in leaves
        ]
        for leaf, change in zip(leaves, changes, strict=True):
            path = [off[leaf >> up] for up in reversed(range(depth))]
            assert abs(change) <= median_trees.leaf_loss_change(path, 1.0) + 1e-9
        worst_leaf = max(off[leaf] for leaf in leaves)
        assert abs(sum(changes)) <= median_trees.tree_loss_change(depth, worst_leaf, 1.0) + 1e-9
        moved = sum(len(np.setdiff1d(noisy[leaf], exact[leaf])) for leaf in leaves)
        assert 4 * moved <= median_trees.tree_loss_change(depth, worst_leaf, 1.0)
        n, worst_node = len(targets), max(off.values())
        if 0 < worst_node < n / 2**depth:  # Theorem 3 without leaf noise
            assert (
                4 * moved <= median_trees.tree_loss_bound(n, depth, worst_node, 1.0, epsilon_leaf=1e9) + 1e-6
            )


def test_theorem_1_as_published_is_refuted_by_a_leaf_of_the_right_size():
    columns = np.arange(16.0)[np.newaxis]
    attributes = np.zeros(4, dtype=int)
    exact = build_tree(columns, attributes, 2, lambda _, size: size // 2)
    noisy = build_tree(columns, attributes, 2, lambda node, size: {1: 12, 2: 8, 3: 2}[node])
    targets = np.zeros(16)
    targets[8:12] = [-1, 1, -1, 1]
    change = squared_error(targets[noisy[5]]) - squared_error(targets[exact[5]])
    assert len(noisy[5]) == len(exact[5])
    assert change == pytest.approx(4.0)
    assert median_trees.leaf_loss_change([4, 0], 1.0, as_published=True) == 0.0
    assert change <= median_trees.leaf_loss_change([4, 0], 1.0)


def test_corollary_as_published_is_refuted_at_depth_3():
    size, runs = 200, 8
    targets = np.tile(np.repeat([-1.0, 1.0], size), 4)
    edges = [j * size + min(j, runs - j) for j in range(runs + 1)]
    sizes = np.diff(edges)
    assert np.abs(sizes - size).max() == 1
    loss = sum(squared_error(targets[a:b]) for a, b in itertools.pairwise(edges))
    assert loss == pytest.approx(63.1, abs=0.1)
    assert loss > median_trees.tree_loss_change(3, 1, 1.0, as_published=True)
    assert loss <= median_trees.tree_loss_change(3, 1, 1.0)


@pytest.mark.parametrize("as_published", [False, True])
def test_theorem_2_covers_the_exact_distribution(as_published):
    closest = 0.0
    for depth in (1, 2, 3, 4):
        for epsilon in (0.1, 0.3, 1.0, 2.0, 5.0):
            for n in (2**depth, 3 * 2**depth, 5 * 2**depth):
                sizes = [n] if as_published else [n, n + 1]  # the printed bound needs a multiple of 2**depth
                for size in sizes:
                    pmf = median_trees.leaf_count_pmf(size, depth, epsilon)
                    off = np.abs(np.arange(size + 1) - size / 2**depth)
                    for t in np.unique(off[off > 0]):
                        limit = median_trees.leaf_count_tail(t, depth, epsilon, as_published=as_published)
                        tail = pmf[off >= t - 1e-12].sum()
                        assert tail <= limit + 1e-12
                        closest = max(closest, tail / limit)
    assert closest > 0.9


def test_theorem_2_as_published_needs_a_divisible_number_of_records():
    pmf = median_trees.leaf_count_pmf(5, 1, 8.0)
    assert pmf[np.abs(np.arange(6) - 2.5) >= 0.5].sum() == pytest.approx(1.0)
    assert median_trees.leaf_count_tail(0.5, 1, 8.0, as_published=True) == pytest.approx(0.125)
    assert median_trees.leaf_count_tail(0.5, 1, 8.0) == 1.0


def test_theorem_2_does_not_hold_for_the_private_median():
    pmf = median_splits.left_count_pmf(np.linspace(0.5, 0.500001, 20), 0, 1, 1.0)
    tail = pmf[np.abs(np.arange(21) - 10) >= 9].sum()
    assert tail > 0.99
    assert median_trees.leaf_count_tail(9, 1, 1.0) < 0.03


def test_laplace_model_tail_is_exact_and_below_the_printed_bounds():
    # 400,000 sums; six standard errors, two-sided 2e-9 for each of the three thresholds.
    rng, draws = np.random.default_rng(5), 400_000
    sums = sum(rng.laplace(0, 2.0**-i, draws) for i in range(4))
    for t in (1.0, 3.0, 6.0):
        tail = median_trees.leaf_count_tail_laplace_model(t, 4, 1.0)
        assert abs((np.abs(sums) >= t).mean() - tail) < 6 * math.sqrt(tail * (1 - tail) / draws)
    for depth in range(1, 11):
        for t in np.linspace(0.2, 60, 120):
            exact = median_trees.leaf_count_tail_laplace_model(t, depth, 1.0)
            assert exact <= median_trees.leaf_count_tail(t, depth, 1.0, as_published=True)


def test_leaf_count_pmf_matches_building_trees():
    # 20,000 paths; cells with a thousand expected counts within five and a half standard errors, 4e-8 each.
    rng, n, depth, epsilon, runs = np.random.default_rng(6), 24, 2, 0.7, 20_000
    pmf = median_trees.leaf_count_pmf(n, depth, epsilon)
    assert pmf.sum() == pytest.approx(1.0)
    assert pmf @ np.arange(n + 1) == pytest.approx(n / 2**depth)
    split = noisy_split(rng, epsilon)
    seen = np.bincount([split(0, split(0, n)) for _ in range(runs)], minlength=n + 1)
    common = runs * pmf >= 1000
    errors = np.abs(seen - runs * pmf)[common] / np.sqrt(runs * pmf * (1 - pmf))[common]
    assert common.sum() >= 5
    assert errors.max() < 5.5


def test_chebyshev_is_tighter_further_out_than_printed():
    unit = math.sqrt(8 * (1 - 4.0**-10) / 3)
    tighter = [
        u
        for u in np.linspace(0.5, 8, 3001)
        if median_trees.leaf_count_tail_chebyshev(u * unit, 10, 1.0, as_published=True)
        < median_trees.leaf_count_tail_subexponential(u * unit, 10, 1.0, as_published=True)
    ]
    assert max(tighter) == pytest.approx(6.04, abs=0.01)


def test_theorem_3_corrected_holds_on_built_trees():
    # 400 trees, bound claimed with probability 1 - q: fails beyond the 1e-7 quantile of Bin(400, q).
    rng, n, depth, epsilon_split, epsilon_leaf = np.random.default_rng(7), 256, 3, 2.0, 1.0
    deviation, trees, failures = 8.0, 400, 0
    limit = median_trees.tree_loss_bound(n, depth, deviation, 1.0, epsilon_leaf)
    confidence = median_trees.tree_loss_confidence(deviation, depth, epsilon_split)
    assert 0.5 < confidence < 1
    columns = rng.random((3, n))
    attributes = rng.integers(3, size=2**depth)
    exact = build_tree(columns, attributes, depth, lambda _, size: size // 2)
    leaves = range(2**depth, 2 ** (depth + 1))
    targets = np.ones(n)
    for leaf in leaves:
        targets[exact[leaf]] = (-1.0) ** leaf
    for _ in range(trees):
        noisy = build_tree(columns, attributes, depth, noisy_split(rng, epsilon_split))
        loss = sum(squared_error(targets[noisy[leaf]]) for leaf in leaves)
        leaf_noise = sum(8 / (max(len(noisy[leaf]), 1e-9) * epsilon_leaf**2) for leaf in leaves)
        failures += loss + leaf_noise > limit
    assert failures <= binom.isf(1e-7, trees, 1 - confidence)


def test_bounds_move_the_right_way():
    for tail in (median_trees.leaf_count_tail, median_trees.leaf_count_tail_laplace_model):
        over_t = [tail(t, 3, 1.0) for t in (2, 4, 8, 16, 32)]
        over_epsilon = [tail(8, 3, epsilon) for epsilon in (0.1, 0.5, 1.0, 4.0)]
        assert over_t == sorted(over_t, reverse=True)
        assert over_epsilon == sorted(over_epsilon, reverse=True)
    assert median_trees.leaf_count_tail(1e6, 3, 1.0) < 1e-12
    assert median_trees.tree_loss_confidence(1e6, 3, 1.0) == pytest.approx(1.0)
    assert median_trees.tree_loss_confidence(0.1, 3, 1.0) == 0.0
    assert median_trees.tree_loss_confidence(
        20, 3, 1.0, as_published=True
    ) > median_trees.tree_loss_confidence(20, 3, 1.0)


@pytest.mark.parametrize(
    "call",
    [
        lambda: median_trees.leaf_loss_change([], 1.0),
        lambda: median_trees.tree_loss_change(0, 1.0, 1.0),
        lambda: median_trees.leaf_count_tail(0, 3, 1.0),
        lambda: median_trees.tree_loss_bound(64, 3, 8, 1.0, 1.0),
        lambda: median_trees.leaf_count_pmf(4, 1, 0.0),
    ],
)
def test_arguments_outside_the_hypotheses_are_refused(call):
    with pytest.raises(ValueError, match=r"must|need"):
        call()
