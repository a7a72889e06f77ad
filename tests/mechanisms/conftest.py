"""Goodness of fit. A test fails at p < 1e-6, its false-alarm rate; cells are pooled to >= 1000 expected."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

ALARM = 1e-6
LEAST_EXPECTED = 1000


def pooled(expected: np.ndarray) -> np.ndarray:
    """Group number of every cell: neighbours are joined until a group expects enough."""
    groups, filled, group = [], 0.0, 0
    for value in expected:
        if filled >= LEAST_EXPECTED:
            group, filled = group + 1, 0.0
        groups.append(group)
        filled += value
    groups = np.array(groups)
    if group and filled < LEAST_EXPECTED:
        groups[groups == group] = group - 1
    return groups


def chi_square_p(observed: np.ndarray, expected: np.ndarray) -> float:
    assert observed.sum() == pytest.approx(expected.sum())
    groups = pooled(expected)
    seen = np.bincount(groups, weights=observed)
    wanted = np.bincount(groups, weights=expected)
    assert wanted.size >= 2, "nothing to compare: one group only"
    return float(stats.chi2.sf(((seen - wanted) ** 2 / wanted).sum(), wanted.size - 1))


@pytest.fixture
def index_fit() -> Callable[[np.ndarray, np.ndarray], float]:
    """P-value of drawn indices under log probabilities."""

    def p_value(drawn: np.ndarray, log_pmf: np.ndarray) -> float:
        observed = np.bincount(drawn, minlength=log_pmf.size)
        return chi_square_p(observed, drawn.size * np.exp(log_pmf))

    return p_value


@pytest.fixture
def integer_fit() -> Callable[[np.ndarray, Callable[[np.ndarray], np.ndarray], int], float]:
    """P-value of drawn integers under a log pmf; both tails beyond `reach` are joined to the last cell."""

    def p_value(drawn: np.ndarray, log_pmf: Callable[[np.ndarray], np.ndarray], reach: int) -> float:
        mass = np.exp(log_pmf(np.arange(-reach, reach + 1)))
        mass[[0, -1]] += (1 - mass.sum()) / 2
        observed = np.bincount(np.clip(drawn, -reach, reach) + reach, minlength=2 * reach + 1)
        return chi_square_p(observed, drawn.size * mass)

    return p_value


@pytest.fixture
def two_sample_p() -> Callable[[np.ndarray, np.ndarray], float]:
    """P-value of the hypothesis that two samples of integers come from one distribution."""

    def p_value(first: np.ndarray, second: np.ndarray) -> float:
        low, high = min(first.min(), second.min()), max(first.max(), second.max())
        counts = np.array([np.bincount(s - low, minlength=high - low + 1) for s in (first, second)])
        groups = pooled(counts.mean(axis=0))
        table = np.array([np.bincount(groups, weights=row) for row in counts])
        return float(stats.chi2_contingency(table, correction=False).pvalue)

    return p_value
