"""Budgets are read as their authors wrote them, and every rounding errs on the stated side."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.privacy.exact import (
    ceil_to_bits,
    float_at_least,
    float_at_most,
    floor_sqrt,
    floor_to_bits,
    read_delta,
    read_epsilon,
    read_number,
    read_positive_integer,
)

positive = st.fractions(min_value=0, max_value=10**9).filter(bool) | st.builds(
    lambda base, power: base * Fraction(10) ** power,
    st.fractions(min_value=Fraction(1, 9), max_value=9),
    st.integers(-60, 60),
)


@pytest.mark.parametrize("value", [0.1, "0.1f", np.float64(0.1), Decimal("0.1"), Fraction(1, 10)])
def test_every_spelling_of_a_tenth_is_a_tenth(value):
    value = np.float32(0.1) if value == "0.1f" else value
    assert read_number(value, "epsilon") == Fraction(1, 10)


def test_whole_numbers_of_numpy_are_read():
    assert read_number(np.int64(3), "epsilon") == 3
    assert read_positive_integer(np.int32(3), "max_rows_per_person") == 3


@pytest.mark.parametrize("value", [True, np.True_, "1.0", None, [1.0], np.array(1.0), 1j])
def test_what_is_not_a_number_is_refused_by_kind(value):
    with pytest.raises(TypeError, match=r"epsilon must be a number, got \w+"):
        read_epsilon(value)


@pytest.mark.parametrize("value", [math.nan, Decimal("nan"), 0, 0.0, -1.0, -math.inf])
def test_useless_epsilons_are_refused(value):
    with pytest.raises(ValueError, match="epsilon must be"):
        read_epsilon(value)


@pytest.mark.parametrize("value", [math.inf, np.inf, np.float32("inf"), Decimal("inf")])
def test_infinite_epsilon_points_to_the_non_private_form(value):
    with pytest.raises(ValueError, match="non-private form"):
        read_epsilon(value)


@pytest.mark.parametrize("value", [-1e-9, 1, 1.5, math.nan, math.inf])
def test_useless_deltas_are_refused(value):
    with pytest.raises(ValueError, match="delta must"):
        read_delta(value)


@pytest.mark.parametrize("value", [0, -1, 1.5])
def test_rows_per_person_are_counted_in_whole_rows(value):
    with pytest.raises(ValueError, match="whole number of at least 1"):
        read_positive_integer(value, "max_rows_per_person")


@settings(deadline=None)
@given(positive)
def test_roundings_err_on_the_named_side_and_little(value):
    assert floor_to_bits(value) <= value <= ceil_to_bits(value)
    assert ceil_to_bits(value) - floor_to_bits(value) <= value / 2**37
    assert floor_to_bits(floor_to_bits(value)) == floor_to_bits(value)
    root = floor_sqrt(value)
    assert root**2 <= value <= (root * (1 + Fraction(1, 2**37))) ** 2


@settings(deadline=None)
@given(positive)
def test_floats_bound_the_exact_value_by_their_text(value):
    low, high = float_at_most(value), float_at_least(value)
    assert read_number(low, "low") <= value <= read_number(high, "high")
    assert math.nextafter(math.nextafter(low, math.inf), math.inf) >= high


@settings(deadline=None)
@given(st.floats(min_value=1e-9, max_value=1e9))
def test_floats_survive_the_way_through_fractions(value):
    assert (
        float_at_least(read_number(value, "epsilon")) == value == float_at_most(read_number(value, "epsilon"))
    )
