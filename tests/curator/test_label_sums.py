"""Noisy sums of public weights by class: the exact effect of one changed label, and noise to match."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.stats import chisquare

from dpforest._curator import Curator, PrivateTable
from dpforest._rows import LabelSums
from dpforest.mechanisms import RandomWords, Rate, discrete_laplace_log_pmf
from dpforest.privacy import BudgetPlan, NeighboringRelation, PrivacyError
from dpforest.schema import Classes, Numeric, Schema
from tests.counting import rows_of_cells

WEIGHTS = np.array([[3, -1], [0, 2], [1, 1], [-4, 0]], np.int32)  # the largest L1 norm is 4


def schema_of(n_classes):
    return Schema({"x": Numeric(0, 1)}, Classes(list(range(n_classes))))


def curator_of(labels, n_classes, epsilon=1, delta=0, relation=NeighboringRelation.LABEL_CHANGE):
    plan = BudgetPlan.divide(epsilon, delta, {"weights": 1}, relation=relation)
    table = PrivateTable(np.zeros((len(labels), 1)), labels, schema_of(n_classes))
    return Curator(table, plan, RandomWords.seeded(0))


def sums_of(labels, n_classes):
    """The sums before noise, by a plain loop; labels of -1 have no row of weights."""
    sums = np.zeros((WEIGHTS.shape[1], n_classes), int)
    known = [label for label in labels if label >= 0]
    for row, label in zip(WEIGHTS, known, strict=True):
        sums[:, label] += row
    return sums


def rate_of(curator):
    """The a in exp(-a |k|), from the standard deviation on the ledger."""
    return 2 * np.arcsinh(1 / np.sqrt(2 * curator.ledger.events[-1].parameters["noise_sd"] ** 2))


def test_sums_are_those_of_a_loop():
    labels = [2, -1, 0, 2, -1, 1]
    rows = rows_of_cells(np.zeros((6, 1), np.uint8), labels, np.ones(1, int), 3)
    by_row = np.full((6, 2), 99, np.int32)  # weights of rows without a label are not looked at
    by_row[[0, 2, 3, 5]] = WEIGHTS
    np.testing.assert_array_equal(rows.fold(LabelSums(rows.grid, by_row)), sums_of(labels, 3))
    with pytest.raises(ValueError, match="every row"):
        rows.fold(LabelSums(rows.grid, WEIGHTS))


def test_weights_for_fewer_rows_are_refused_before_anything_is_charged():
    with curator_of([0, 1, 0, 1], 2) as curator:
        with pytest.raises(ValueError, match="every labelled row"):
            curator.label_sums("weights", WEIGHTS[:3])
        assert len(curator.ledger) == 0


@pytest.mark.parametrize("n_classes", [2, 3])
def test_no_changed_label_costs_more_than_epsilon(n_classes):
    """All labellings of four rows and all changes of one label; the log-ratio of Laplace noise is exact.

    With two classes the second column alone is released, and the first follows.
    """
    with curator_of([0, 1, 0, 1], n_classes) as curator:
        curator.label_sums("weights", WEIGHTS)
        rate = rate_of(curator)
    released = slice(1, None) if n_classes == 2 else slice(None)
    losses = []
    for labels in product(range(n_classes), repeat=4):
        for row, label in product(range(4), range(n_classes)):
            changed = [*labels[:row], label, *labels[row + 1 :]]
            moved = sums_of(changed, n_classes)[:, released] - sums_of(labels, n_classes)[:, released]
            losses.append(rate * np.abs(moved).sum())  # reached where all outputs lie beyond both sums
    assert 0.999 <= max(losses) <= 1 + 1e-6  # a norm that forgets the second class gives 2 with three


def test_answers_follow_the_charged_noise():
    """Ten thousand terms in one call; chi-square on cells of 1000 or more, false alarms below 1e-6."""
    labels, wide = [0, 1, 1, 0], np.zeros((4, 20_000), np.int32)
    epsilon = Fraction(1, 2)
    with curator_of(labels, 2, epsilon=epsilon) as curator:
        wide[:, 0] = 1  # the longest row has norm 1
        noise = curator.label_sums("weights", wide).values[:, 1]
    noise[0] -= 2
    values = np.arange(-3, 4)
    expected = np.exp(discrete_laplace_log_pmf(values, Rate.floor(epsilon))) * len(noise)
    seen = np.array([(noise == value).sum() for value in values])
    rest = [len(noise) - expected.sum(), len(noise) - seen.sum()]
    assert chisquare([*seen, rest[1]], [*expected, rest[0]]).pvalue > 1e-6


def test_two_classes_add_up_to_the_public_total():
    with curator_of([0, 1, 0, 1], 2) as curator:
        sums = curator.label_sums("weights", WEIGHTS).values
    np.testing.assert_array_equal(sums.sum(axis=1), WEIGHTS.sum(axis=0))


def test_gaussian_noise_is_made_for_the_euclidean_norm():
    """The longest row is (-4, 0), squared norm 16; with three classes a change moves it twice."""
    sds = []
    for n_classes in (2, 3):
        with curator_of([0, 1, 0, 1], n_classes, delta=1e-6) as curator:
            sds.append(curator.label_sums("weights", WEIGHTS).sd)
            rho = float(curator.ledger.plan.total)
        assert sds[-1] == pytest.approx(np.sqrt(16 * (n_classes - 1) / (2 * rho)), rel=1e-3)


def test_nobody_labelled_is_answered_with_noise():
    with curator_of([None, None], 3) as curator:
        assert curator.label_sums("weights", np.empty((0, 5), np.int32)).values.shape == (5, 3)
        assert rate_of(curator) == pytest.approx(1 / 2, rel=1e-4)


def test_private_features_are_refused_before_anything_is_charged():
    with curator_of([0, 1, 0, 1], 2, relation=NeighboringRelation.ADD_OR_REMOVE_ONE) as curator:
        with pytest.raises(PrivacyError, match="public only under label privacy"):
            curator.label_sums("weights", WEIGHTS)
        assert len(curator.ledger) == 0
