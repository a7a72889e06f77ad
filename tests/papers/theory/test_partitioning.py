"""Huang, Lei and Kaban (2022): equations 5 to 7, exactly; no statistical assertions."""

import itertools
import math

import numpy as np
import pytest

from dpforest.papers.theory import median_splits, partitioning


@pytest.mark.parametrize("depth", [1, 2, 5, 10, 30])
@pytest.mark.parametrize("ratio", [1.0, 1.0 + 1e-12, math.sqrt(2), 1.5, 2.0, 0.5])
def test_level_budgets_grow_geometrically_and_add_up(depth, ratio):
    budgets = partitioning.level_budgets(0.7, depth, ratio)
    assert budgets.sum() == pytest.approx(0.7, rel=1e-12)
    assert len(budgets) == depth
    assert budgets[1:] / budgets[:-1] == pytest.approx(np.full(depth - 1, ratio))


@pytest.mark.parametrize("depth", [1, 3, 8])
def test_first_level_share_is_the_papers_constant(depth):
    assert partitioning.first_level_share(depth) == pytest.approx(1 / (2 * 1.5**depth - 2))
    assert partitioning.level_budgets(1.0, depth)[0] == pytest.approx(partitioning.first_level_share(depth))


def test_handing_the_whole_budget_to_every_level_costs_depth_times_as_much():
    # n zeros, then one more record at 0.99: thresholds beyond it go from probability 0.01 to about 0.01/e.
    zeros = np.zeros(50)
    before = median_splits.left_count_pmf(zeros, 0, 1, 1.0)[-1] * 0.01
    after = median_splits.left_count_pmf(np.append(zeros, 0.99), 0, 1, 1.0)[-1]
    assert 10 * math.log(before / after) == pytest.approx(9.94, abs=0.01)


def test_rank_utility_changes_by_one_half_for_every_record():
    for size in range(12):
        for rank in range(size + 1):
            here = partitioning.rank_utility(rank, size)
            for joined in (0, 1):  # the new record counts towards the rank or not
                assert abs(partitioning.rank_utility(rank + joined, size + 1) - here) == 0.5


def test_equation_5_is_private_for_fixed_candidates_and_twice_as_costly_for_replacement():
    domain, candidates = (0.1, 0.4, 0.6, 0.9), (0.2, 0.5, 0.8)
    worst_add = worst_replace = 0.0
    for size in range(5):
        for values in itertools.combinations_with_replacement(domain, size):
            before = np.log(partitioning.candidate_probabilities(values, candidates, 1.0))
            for new in domain:
                after = np.log(partitioning.candidate_probabilities((*values, new), candidates, 1.0))
                worst_add = max(worst_add, np.abs(after - before).max())
                if values:
                    after = np.log(partitioning.candidate_probabilities((*values[1:], new), candidates, 1.0))
                    worst_replace = max(worst_replace, np.abs(after - before).max())
    assert 0.7 < worst_add <= 1 + 1e-9
    assert 1.2 < worst_replace <= 2 + 1e-9


def test_candidates_between_the_datas_extremes_are_not_private():
    # The paper's range [min, max]: eleven zeros allow no positive threshold, one more record makes it sure.
    zeros, more = np.zeros(11), np.append(np.zeros(11), 1.0)
    assert zeros.max() == 0.0
    candidates = np.random.default_rng(0).uniform(more.min(), more.max(), 50)
    assert partitioning.candidate_probabilities(more, candidates, 1.0)[candidates > 0].sum() == pytest.approx(
        1.0
    )


def test_rank_counts_records_equal_to_the_candidate():
    # Ranks 1 and 2 of three are equally far from the middle.
    pmf = partitioning.candidate_probabilities([0.2, 0.5, 0.8], [0.2, 0.5], 1.0)
    assert pmf == pytest.approx([0.5, 0.5])


def test_dense_candidates_tend_to_the_exact_median_mechanism():
    values = [0.05, 0.3, 0.62, 0.9]
    candidates = (np.arange(100_000) + 0.5) / 100_000
    pmf = partitioning.candidate_probabilities(values, candidates, 0.8)
    by_rank = np.bincount(np.searchsorted(values, candidates), weights=pmf)
    assert by_rank == pytest.approx(median_splits.left_count_pmf(values, 0, 1, 0.8), abs=1e-4)


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
@pytest.mark.parametrize("failure", [0.5, 0.05, 1e-4])
def test_rank_error_bound_holds_exactly(epsilon, failure):
    rng = np.random.default_rng(1)
    for _ in range(30):
        values, candidates = rng.random(60), rng.random(int(rng.integers(1, 80)))
        pmf = partitioning.candidate_probabilities(values, candidates, epsilon)
        distance = np.abs(np.searchsorted(np.sort(values), candidates, side="right") - 30)
        beyond = distance - distance.min() > partitioning.rank_error_bound(len(candidates), epsilon, failure)
        assert pmf[beyond].sum() <= failure


@pytest.mark.parametrize(
    "call",
    [
        lambda: partitioning.rank_utility(5, 4),
        lambda: partitioning.candidate_probabilities([0.1], [0.2], 0.0),
        lambda: partitioning.rank_error_bound(0, 1.0, 0.1),
        lambda: partitioning.first_level_share(0),
        lambda: partitioning.level_budgets(-1.0, 3),
    ],
)
def test_arguments_outside_the_hypotheses_are_refused(call):
    with pytest.raises(ValueError, match=r"must|need"):
        call()
