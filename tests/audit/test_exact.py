"""The exact auditor on mechanisms whose loss is known."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dpforest.audit import audit_exact, neighbours
from dpforest.mechanisms import (
    Rate,
    discrete_gaussian_log_pmf,
    discrete_laplace_log_pmf,
    exponential_log_pmf,
    permute_and_flip_log_pmf,
)
from dpforest.privacy import NeighboringRelation

OUTPUTS = np.arange(-3, 8)


def label_counts(rows):
    return [np.bincount(rows, minlength=2)]


MECHANISMS = {
    "discrete Laplace": lambda rows: discrete_laplace_log_pmf(OUTPUTS - len(rows), Rate.floor(Fraction(1))),
    "exponential": lambda rows: exponential_log_pmf(label_counts(rows), [1, 1], Rate.floor(Fraction(1)))[0],
    "permute and flip": lambda rows: permute_and_flip_log_pmf(label_counts(rows), Rate.floor(Fraction(1)))[0],
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_our_mechanisms_use_their_budget_and_no_more(name):
    result = audit_exact(MECHANISMS[name], [0, 1], 4, claim=1.0, name=name)
    assert not result.violation
    assert result.loss > 0.7
    assert (result.how, result.confidence, result.runs) == ("exact", 1.0, 0)


@pytest.mark.parametrize("name", MECHANISMS)
def test_replacing_a_row_costs_twice(name):
    result = audit_exact(MECHANISMS[name], [0, 1], 5, claim=1.0, relation=NeighboringRelation.REPLACE_ONE)
    if name == "discrete Laplace":  # of the number of rows, which a replacement does not change
        assert result.loss == 0
    else:
        assert result.violation


def test_an_impossible_output_is_an_infinite_loss_in_either_direction():
    def support_from_data(rows):
        return {value: -math.log(len(set(rows))) for value in set(rows)} if rows else {"none": 0.0}

    result = audit_exact(support_from_data, "ab", 2, claim=10.0)
    assert result.loss == math.inf
    result = audit_exact(support_from_data, "ab", claim=10.0, pairs=[("a", "ab")])
    assert (result.loss, result.event, result.pair) == (math.inf, "output b", "'a', and 'a', 'b'")


def test_order_is_tried_on_demand():
    """Code that gives itself away when a row is put in front of others, not when it is appended."""

    def odd_one_in_front(rows):
        return {"seen" if rows == (1, 0, 0) else "not seen": 0.0}

    assert audit_exact(odd_one_in_front, [0, 1], 3, claim=2.0).loss == 0
    result = audit_exact(odd_one_in_front, [0, 1], 3, claim=2.0, ordered=True)
    assert result.violation
    assert "1, 2 x 0" in result.pair


def test_delta_forgives_rare_outcomes():
    """The Gaussian has no pure guarantee; with delta its loss is what its privacy curve says."""
    outputs = np.arange(-60, 62)

    def noisy(rows):
        return discrete_gaussian_log_pmf(outputs - len(rows), Fraction(9))

    pure = audit_exact(noisy, "a", 1, claim=1.0)
    approximate = audit_exact(noisy, "a", 1, claim=1.0, delta=1e-2)
    assert pure.loss > 5
    p, q = np.exp(noisy(())), np.exp(noisy(("a",)))
    spent = np.maximum(q - math.exp(approximate.loss) * p, 0).sum()
    assert spent == pytest.approx(1e-2, rel=1e-6)


def test_nothing_to_compare_is_an_error():
    with pytest.raises(ValueError, match="No neighbouring tables"):
        audit_exact(lambda rows: {0: 0.0}, "a", 0, claim=1.0)


def test_neighbours_of_replacement_have_equal_size():
    pairs = list(neighbours("ab", 2, NeighboringRelation.REPLACE_ONE))
    assert (("b",), ("a",)) in pairs
    assert all(len(first) == len(second) for first, second in pairs)
