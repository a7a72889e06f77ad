"""Exact privacy loss: all tables of up to four records over a small domain and all their add-one neighbours.

`loss` is the largest |log P(output | D) - log P(output | D')| over all pairs and outputs. It must not
exceed epsilon; on a pair known to be tight it must come near epsilon, otherwise noise is wasted; and the
same mechanism run with twice the epsilon (half the noise) must be caught.
"""

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
import pytest

from dpforest.mechanisms import (
    RandomWords,
    Rate,
    balanced_subset_log_pmf,
    discrete_laplace_log_pmf,
    exponential_log_pmf,
    permute_and_flip_log_pmf,
    quantile_log_pmf,
    subset_candidates,
)

EPSILON = Fraction(7, 10)
LogPmf = Callable[[np.ndarray, Fraction], np.ndarray]  # tables (n, domain) -> log probabilities (n, outputs)


def tables(domain: int, most: int = 4) -> np.ndarray:
    """All histograms of at most `most` records."""
    choices = itertools.product(range(most + 1), repeat=domain)
    return np.array([t for t in choices if sum(t) <= most])


def neighbours(data: np.ndarray) -> Iterator[np.ndarray]:
    yield from (data + record for record in np.eye(data.shape[1], dtype=int))


def loss(log_pmf: LogPmf, data: np.ndarray, epsilon: Fraction) -> float:
    before = log_pmf(data, epsilon)
    finite = np.isfinite(before)
    worst = 0.0
    for after in (log_pmf(more, epsilon) for more in neighbours(data)):
        assert np.array_equal(np.isfinite(after), finite), "an output is possible on one side only"
        worst = max(worst, np.abs(after[finite] - before[finite]).max())
    return worst


def laplace_counts(data: np.ndarray, epsilon: Fraction) -> np.ndarray:
    outputs = np.array(list(itertools.product(range(-2, 7), repeat=data.shape[1])))
    noise = outputs[None, :, :] - data[:, None, :]
    return discrete_laplace_log_pmf(noise, Rate.floor(epsilon)).sum(axis=2)


def median(data: np.ndarray, epsilon: Fraction, share: tuple[int, int] = (1, 2)) -> np.ndarray:
    n, cells = data.shape
    return quantile_log_pmf(data, np.zeros(n, int), np.full(n, cells - 1), epsilon, *share)


def lower_quartile(data: np.ndarray, epsilon: Fraction) -> np.ndarray:
    return median(data, epsilon, (1, 4))


def subset(data: np.ndarray, epsilon: Fraction) -> np.ndarray:
    sets = subset_candidates(data.shape[1], RandomWords.seeded(0))
    return balanced_subset_log_pmf(data, np.ones_like(data, dtype=bool), sets, epsilon)


def max_operator(data: np.ndarray, epsilon: Fraction) -> np.ndarray:
    """Split of four cells by the rows in the majority class of each side; base measure 1, 2, 3."""
    by_class = data.reshape(-1, 4, 2)
    left = np.cumsum(by_class, axis=1)[:, :-1]
    right = by_class.sum(axis=1, keepdims=True) - left
    return exponential_log_pmf(left.max(axis=2) + right.max(axis=2), [1, 2, 3], Rate.floor(epsilon))


def leaf_label(data: np.ndarray, epsilon: Fraction) -> np.ndarray:
    return permute_and_flip_log_pmf(data, Rate.floor(epsilon))


# name: mechanism, size of the record domain, table one of whose neighbours is nearly a worst case
MECHANISMS: dict[str, tuple[LogPmf, int, list[int]]] = {
    "laplace": (laplace_counts, 3, [0, 0, 0]),
    # Best thresholds lie right of cell 3; a record in cell 0 harms them and helps the others.
    "median": (median, 6, [5, 0, 0, 30, 0, 35]),
    "quartile": (lower_quartile, 6, [5, 0, 0, 30, 0, 105]),
    # {1, 2} against {0} is balanced; a record of category 1 harms it and helps {1} against {0, 2}.
    "subset": (subset, 4, [40, 10, 30, 0]),
    # Threshold 1 separates the classes; a stray record in empty cell 0 helps only threshold 0.
    "max operator": (max_operator, 8, [0, 0, 30, 0, 0, 15, 0, 15]),
    "leaf label": (leaf_label, 3, [30, 0, 0]),
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_no_neighbour_changes_a_probability_by_more_than_epsilon(name: str) -> None:
    log_pmf, domain, tight = MECHANISMS[name]
    assert loss(log_pmf, tables(domain), EPSILON) <= EPSILON + 1e-9
    assert loss(log_pmf, np.array([tight]), EPSILON) <= EPSILON + 1e-9


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_budget_is_used(name: str) -> None:
    log_pmf, _, tight = MECHANISMS[name]
    assert loss(log_pmf, np.array([tight]), EPSILON) >= 0.9 * EPSILON


@pytest.mark.parametrize("name", MECHANISMS)
def test_half_the_noise_is_caught(name: str) -> None:
    log_pmf, domain, tight = MECHANISMS[name]
    data = np.vstack([tables(domain), [tight]])
    assert loss(log_pmf, data, 2 * EPSILON) > 1.5 * EPSILON


def test_a_base_measure_that_follows_the_data_is_caught() -> None:
    """Planted bug: candidates are the occupied cells only, as in 'median of the observed values'."""

    def observed_only(data: np.ndarray, epsilon: Fraction) -> np.ndarray:
        utilities = -np.abs(2 * np.cumsum(data, axis=1) - data.sum(axis=1, keepdims=True))
        return exponential_log_pmf(
            utilities, np.maximum(data, data.sum(axis=1, keepdims=True) == 0), Rate(1, 2)
        )

    with pytest.raises(AssertionError, match="one side only"):
        loss(observed_only, tables(3), EPSILON)
