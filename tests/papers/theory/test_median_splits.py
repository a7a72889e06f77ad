"""Consul and Williamson (2021): exact mechanism, Theorems 1 to 3, Corollary 3.1, sensitivities.

Chance enters only through generated inputs: every assertion is about exact probabilities and expectations.
"""

import math

import numpy as np
import pytest

from dpforest.papers.theory import median_splits, noise


def squared_error(targets):
    return float(((targets - targets.mean()) ** 2).sum()) if len(targets) else 0.0


def smaller_side_tail(pmf, t):
    """P(smaller side holds at most t records)."""
    left = np.arange(len(pmf))
    return pmf[np.minimum(left, len(pmf) - 1 - left) <= t].sum()


def random_columns(seed, how_many):
    rng = np.random.default_rng(seed)
    for _ in range(how_many):
        n = int(rng.integers(2, 25))
        yield rng.random(n) ** rng.integers(1, 6)


def test_left_count_pmf_is_the_integral_of_the_median_density():
    values = np.array([0.05, 0.3, 0.3, 0.62, 0.9])
    grid = (np.arange(200_000) + 0.5) / 200_000
    left = np.searchsorted(values, grid)
    density = np.exp(-0.8 / 2 * np.abs(left - (len(values) - left)))
    expected = np.bincount(left, weights=density, minlength=len(values) + 1)
    assert median_splits.left_count_pmf(values, 0, 1, 0.8) == pytest.approx(
        expected / expected.sum(), abs=1e-5
    )


def test_median_density_is_private():
    rng, epsilon, worst = np.random.default_rng(0), 1.0, 0.0
    for column in random_columns(0, 200):
        more = np.append(column, rng.random())
        breaks = np.unique(np.concatenate(([0, 1], more)))
        middles = (breaks[1:] + breaks[:-1]) / 2

        def log_density(values, middles=middles):
            ordered = np.sort(values)
            edges = np.concatenate(([0], ordered, [1]))
            cell = np.searchsorted(ordered, middles)
            return np.log(median_splits.left_count_pmf(values, 0, 1, epsilon)[cell] / np.diff(edges)[cell])

        worst = max(worst, np.abs(log_density(column) - log_density(more)).max())
    assert 0.8 < worst <= epsilon + 1e-9


@pytest.mark.parametrize("as_published", [False, True])
def test_theorem_1_holds_for_every_split(as_published):
    rng, bound, epsilon, closest = np.random.default_rng(1), 2.0, 0.9, math.inf
    for n in (6, 7, 20, 21):
        runs = np.where(np.arange(n) < n // 2, -bound, bound)
        for targets in [runs, *(rng.choice([-bound, bound], n) for _ in range(20))]:
            exact = squared_error(targets[: n // 2]) + squared_error(targets[n // 2 :])
            for k in range(2, n - 1):
                t = min(k, n - k) - 1  # the theorem's event is "more than t"
                leaf_noise = sum(size * 2 * (2 * bound / (size * epsilon)) ** 2 for size in (k, n - k))
                loss = squared_error(targets[:k]) + squared_error(targets[k:]) + leaf_noise - exact
                limit = median_splits.regression_loss_bound(n, t, bound, epsilon, as_published=as_published)
                assert loss <= limit + 1e-9
                closest = min(closest, limit - loss)
    assert closest < 40  # the bound is of the right size for some split


def test_theorem_1_default_is_sharp_for_large_nodes():
    targets = np.repeat([-1.0, 1.0], 1000)
    loss = squared_error(targets[:1050])  # fifty records moved into a leaf of the other sign
    assert 0.9 < loss / median_splits.regression_loss_bound(2000, 949, 1.0, epsilon_leaf=1e9) <= 1


def test_theorem_1_default_is_never_weaker_and_grows_with_imbalance():
    limits = [median_splits.regression_loss_bound(100, t, 1.0, 1.0) for t in range(5, 50)]
    printed = [median_splits.regression_loss_bound(100, t, 1.0, 1.0, as_published=True) for t in range(5, 50)]
    assert all(a < b for a, b in zip(limits, printed, strict=True))
    assert limits == sorted(limits, reverse=True)


def expected_accuracy(labels, k, epsilon):
    """Exact expected accuracy of a split at k with Laplace-noised class counts."""
    right = 0.0
    for side in (labels[:k], labels[k:]):
        ones = int(side.sum())
        gap = abs(len(side) - 2 * ones)
        right += max(ones, len(side) - ones) - gap * noise.laplace_argmax_error(gap, epsilon)
    return right / len(labels)


def accuracy(labels, k):
    return sum(max(s.sum(), len(s) - s.sum()) for s in (labels[:k], labels[k:])) / len(labels)


def test_theorem_2_as_published_is_refuted():
    labels = np.repeat([0, 1], 200)
    loss = accuracy(labels, 200) - expected_accuracy(labels, 100, epsilon=1.0)
    printed = median_splits.accuracy_loss_bound(400, 99, 1.0, 2 / 3, as_published=True)
    assert loss > 0.2499
    assert printed < 1e-13
    assert loss <= median_splits.accuracy_loss_bound(400, 99, 1.0, 2 / 3)


def test_theorem_2_corrected_holds_for_every_split():
    rng, closest = np.random.default_rng(2), math.inf
    for n in (8, 9, 30, 31):
        for labels in [np.arange(n) * 2 // n, *(rng.integers(0, 2, n) for _ in range(60))]:
            for k in range(2, n - 1):
                t = min(k, n - k) - 1
                purity = min(max(s.mean(), 1 - s.mean()) for s in (labels[:k], labels[k:]))
                for epsilon in (0.2, 1.0, 5.0):
                    loss = accuracy(labels, n // 2) - expected_accuracy(labels, k, epsilon)
                    with_purity = median_splits.accuracy_loss_bound(n, t, epsilon, purity)
                    without = median_splits.accuracy_loss_bound(n, t, epsilon)
                    assert loss <= with_purity + 1e-12
                    assert with_purity <= without + 1e-12
                    closest = min(closest, without - loss)
    assert closest < 0.05


def test_theorem_2_noise_term_is_the_supremum():
    gaps = np.linspace(0, 20, 20_001)
    worst = max(gap * noise.laplace_argmax_error(gap, 1.0) for gap in gaps)
    assert median_splits.accuracy_loss_bound(1000, 499, 1.0) == pytest.approx(
        0.001 + 2 * worst / 1000, rel=1e-6
    )


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_theorem_3_and_corollary_hold_on_random_columns(epsilon):
    for column in random_columns(3, 150):
        ordered, n = np.sort(column), len(column)
        private = median_splits.left_count_pmf(column, 0, 1, epsilon)
        uniform = median_splits.left_count_pmf(column, 0, 1, 0.0)
        for t in range(1, (n - 1) // 2 + 1):
            spread = ordered[n - t - 1] - ordered[t]
            for slack in range(t):
                balanced = 1 - smaller_side_tail(private, t - slack)
                assert (
                    balanced
                    >= median_splits.balanced_split_probability(spread, 1, epsilon, slack=slack) - 1e-12
                )
            assert smaller_side_tail(private, t) <= smaller_side_tail(uniform, t) + 1e-12
            assert 1 - smaller_side_tail(uniform, t) == pytest.approx(
                median_splits.random_split_balance_probability(spread, 1)
            )


def test_theorem_3_is_attained():
    # Outermost records on the ends of the range: outside the centre exactly t records lie on one side.
    pmf = median_splits.left_count_pmf([0.0, 0.3, 0.7, 1.0], 0, 1, 1.0)
    attained = 1 - smaller_side_tail(pmf, 1)
    assert attained == pytest.approx(median_splits.balanced_split_probability(0.4, 1, 1.0))
    # A factor exp(-epsilon/2) or exp(-2 epsilon) in its place would be refuted or visibly weaker.
    assert (
        median_splits.balanced_split_probability(0.4, 1, 2.0)
        > attained
        > median_splits.balanced_split_probability(0.4, 1, 0.5)
    )


def test_balance_needs_spread():
    unsplit = median_splits.left_count_pmf(np.linspace(0.5, 0.500001, 20), 0, 1, 1.0)[[0, -1]].sum()
    assert unsplit == pytest.approx(0.9975, abs=1e-4)
    assert median_splits.balanced_split_probability(0.0, 1, 1.0) == 0.0
    assert median_splits.balanced_split_probability(1.0, 1, 1.0) == 1.0


def test_sensitivities_by_brute_force():
    rng, bound = np.random.default_rng(4), 1.5
    extremes = {n: [0.0, 0.0] for n in range(2, 8)}
    for _ in range(8_000):
        n = int(rng.integers(2, 8))
        targets = rng.choice([-bound, 0.0, bound], n)
        if rng.random() < 0.5:
            targets[:-1] = rng.choice([-bound, bound])
        fewer = targets[:-1]
        assert abs(targets.mean() - fewer.mean()) <= median_splits.mean_change(n, 2 * bound) + 1e-12
        change = targets.var() - fewer.var()
        low, high = median_splits.mean_squared_error_change(n, bound)
        assert low - 1e-12 <= change <= high + 1e-12
        extremes[n] = [min(extremes[n][0], change), max(extremes[n][1], change)]
        lowest, highest = median_splits.squared_error_change(n - 1, 2 * bound)
        assert lowest - 1e-12 <= squared_error(targets) - squared_error(fewer) <= highest + 1e-12
    for n in (3, 5, 7):  # the exact range is attained, the printed one is not
        low, high = median_splits.mean_squared_error_change(n, bound)
        assert extremes[n] == pytest.approx([low, high])
        printed_low, printed_high = median_splits.mean_squared_error_change(n, bound, as_published=True)
        assert printed_low < low
        assert high < printed_high


def test_unweighted_mean_of_child_variances_breaks_privacy():
    # Attribute 1 puts one record (y = -1) on the left; the added record joins it there with y = +1.
    n, epsilon = 100, 1.0

    def probability_of_first(size, first_score, second_score):
        logits = -epsilon * size / 8 * np.array([first_score, second_score])
        return noise.exponential_mechanism_pmf(logits, 1.0)[0]

    pooled_second = 1 - ((n - 1) / (n + 1)) ** 2
    before, after = probability_of_first(n, 0, 0), probability_of_first(n + 1, 0.5, 0.5 * pooled_second)
    assert math.log(before / after) == pytest.approx(5.37, abs=0.01)


@pytest.mark.parametrize(
    "call",
    [
        lambda: median_splits.left_count_pmf([2.0], 0, 1, 1.0),
        lambda: median_splits.regression_loss_bound(10, 5, 1.0, 1.0),
        lambda: median_splits.accuracy_loss_bound(10, 3, 1.0, 0.4),
        lambda: median_splits.balanced_split_probability(2.0, 1.0, 1.0),
    ],
)
def test_arguments_outside_the_hypotheses_are_refused(call):
    with pytest.raises(ValueError, match="must"):
        call()


def test_printed_theorem_2_needs_a_purity():
    with pytest.raises(ValueError, match="purity"):
        median_splits.accuracy_loss_bound(10, 3, 1.0, as_published=True)
