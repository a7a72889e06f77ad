"""Costs add as the theorems say, and an amount never buys more than it should."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.privacy import (
    Cost,
    NeighboringRelation,
    exponential_epsilon_from_rho,
    gaussian_variance_from_rho,
    pure_epsilon_from_rho,
    row_multiplier,
)

amounts = st.fractions(min_value=0, max_value=10, max_denominator=10**6)
costs = amounts.map(Cost.pure) | amounts.map(Cost.zcdp)


@given(costs, costs, costs)
def test_order_of_steps_does_not_matter(one, two, three):
    assert one + two == two + one
    assert (one + two) + three == one + (two + three)


@given(costs, costs)
def test_composition_is_pure_only_if_both_are_and_never_costs_less(one, two):
    both = one + two
    assert both.is_pure == (one.is_pure and two.is_pure)
    assert both.rho == one.rho + two.rho
    if one.epsilon is not None and two.epsilon is not None:
        assert both.epsilon == one.epsilon + two.epsilon
        # Many small pure steps are cheaper in rho than one large: that is what zCDP is for.
        assert both.rho <= Cost.pure(both.epsilon).rho


@given(costs, st.integers(1, 20))
def test_repeating_is_adding(cost, times):
    repeated = cost
    for _ in range(times - 1):
        repeated = repeated + cost
    assert times * cost == cost * times == repeated


def test_ten_tenths_are_one():
    assert (10 * Cost.pure(0.1)).epsilon == 1


@pytest.mark.parametrize("make", [Cost.pure, Cost.zcdp])
def test_no_cost_is_negative(make):
    with pytest.raises(ValueError, match="cost"):
        make(-0.1)
    with pytest.raises(ValueError, match="cost"):
        make(0.1) * -1


def test_a_pure_cost_cannot_claim_more_rho_than_it_has():
    with pytest.raises(ValueError, match="rho"):
        Cost(Fraction(1), Fraction(1))


@pytest.mark.parametrize("wrong", [1, 0.5, "x"])
def test_only_costs_add_to_costs(wrong):
    with pytest.raises(TypeError):
        Cost.pure(1) + wrong
    with pytest.raises(TypeError):
        Cost.pure(1) * 0.5


@settings(deadline=None)
@given(st.fractions(min_value=Fraction(1, 10**9), max_value=100))
def test_amounts_buy_what_the_theorems_allow_and_hardly_less(rho):
    nearly = 1 - Fraction(1, 10**9)
    assert nearly * rho <= exponential_epsilon_from_rho(rho) ** 2 / 8 <= rho
    assert nearly * rho <= pure_epsilon_from_rho(rho) ** 2 / 2 <= rho
    for sensitivity_sq in (1, 2, 50):
        assert nearly * rho <= sensitivity_sq / (2 * gaussian_variance_from_rho(rho, sensitivity_sq)) <= rho


def test_noise_is_never_free():
    with pytest.raises(ValueError, match="rho must be positive"):
        gaussian_variance_from_rho(Fraction(0), 1)


def test_steps_from_one_neighbour_to_the_other():
    add, replace, label = NeighboringRelation
    assert [row_multiplier(relation, 1) for relation in (add, replace, label)] == [1, 2, 1]
    assert [row_multiplier(relation, 3) for relation in (add, replace, label)] == [3, 6, 3]
    with pytest.raises(ValueError, match="max_rows_per_person"):
        row_multiplier(add, 0)
