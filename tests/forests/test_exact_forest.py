"""The whole forest, exactly: two trees, one private median each, noisy leaf counts, secret assignment.

The probability of a released forest is written down from the `log_pmf` of its mechanisms; `tests/curator`
shows that the curator's answers follow them.
"""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dpforest.mechanisms import Rate, discrete_laplace_log_pmf, quantile_log_pmf
from tests.neighbours import neighbours


class TinyForest:
    """Exact log-probabilities of DiPriMe with two trees of depth 1 on one feature with `n_cells` cells.

    A record is (cell, class); an output of a tree is (threshold, four leaf counts).
    """

    def __init__(self, epsilon, n_cells, counts, scatter="independent", leaf_rate=1):
        self.epsilon, self.n_cells, self.scatter = Fraction(epsilon), n_cells, scatter
        self.counts = np.array(list(product(counts, repeat=4))).reshape(-1, 2, 2)
        self.leaf_rate = Rate.floor(self.epsilon / 2 * leaf_rate)
        self.known = {}

    def tree(self, records):
        """Log-probability of each output, shape (thresholds * leaf counts,)."""
        key = tuple(sorted(records))
        if key not in self.known:
            cells = np.bincount([cell for cell, _ in key], minlength=self.n_cells)[None]
            split = quantile_log_pmf(cells, [0], [self.n_cells - 1], self.epsilon / 2)[0][:-1]
            out = []
            for cut, log_p in enumerate(split):
                true = np.zeros((2, 2), int)
                for cell, label in key:
                    true[int(cell > cut), label] += 1
                out.append(
                    log_p + discrete_laplace_log_pmf(self.counts - true, self.leaf_rate).sum(axis=(1, 2))
                )
            self.known[key] = np.concatenate(out)
        return self.known[key]

    def forest(self, records):
        """Log-probability of each pair of outputs, averaged over all assignments of rows to trees."""
        n = len(records)
        if self.scatter == "independent":
            assignments = list(product((0, 1), repeat=n))
        else:  # equal sizes, as papers assume
            assignments = [a for a in product((0, 1), repeat=n) if sum(a) == n // 2]
        total = -np.inf  # added up one by one: all terms at once would take gigabytes
        for assignment in assignments:
            first = self.tree([r for r, tree in zip(records, assignment, strict=True) if tree == 0])
            second = self.tree([r for r, tree in zip(records, assignment, strict=True) if tree == 1])
            total = np.logaddexp(total, first[:, None] + second[None])
        return total - np.log(len(assignments))

    def loss(self, before, after):
        return np.abs(self.forest(after) - self.forest(before)).max()


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), 2])
def test_no_neighbours_differ_by_more_than_epsilon(epsilon):
    forest = TinyForest(epsilon, n_cells=4, counts=(-1, 1, 4))
    domain = [(cell, label) for cell in (0, 3) for label in (0, 1)]
    worst = max(forest.loss(before, after) for before, after in neighbours(domain, 3))
    assert worst <= epsilon + 1e-9


TIGHT = ([(0, 0)] * 7, [(0, 0)] * 7 + [(1, 1)])


def test_the_budget_is_used_up_on_a_tight_pair():
    forest = TinyForest(1, n_cells=30, counts=(-1, 9))
    assert 0.9 <= forest.loss(*TIGHT) <= 1 + 1e-9


def test_halved_noise_is_caught():
    assert TinyForest(1, n_cells=30, counts=(-1, 9), leaf_rate=2).loss(*TIGHT) > 1.3


def test_equal_sized_groups_are_caught():
    """Adding a row moves another row to the other tree: the usual parallel composition argument fails."""
    before = [(0, 0)] * 8
    exact = TinyForest(1, n_cells=4, counts=(-1, 9))
    equal = TinyForest(1, n_cells=4, counts=(-1, 9), scatter="equal")
    after = [*before, (3, 1)]
    assert equal.loss(before, after) > 1.05
    assert exact.loss(before, after) <= 1 + 1e-9
