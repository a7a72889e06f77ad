"""A rate is never above what was asked, hardly below, and the same number for integers and floats."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpforest.mechanisms import Rate


@given(st.fractions(min_value=Fraction(1, 2**30), max_value=2**21 - 1))
def test_floor_rounds_down_by_less_than_a_millionth(x: Fraction) -> None:
    rate = Rate.floor(x)
    assert rate.value <= x
    assert x - rate.value < x / 10**6
    assert Fraction(float(rate)) == rate.value


@pytest.mark.parametrize(("num", "shift"), [(1, 0), (2**21 - 1, 0), (2**21 - 1, 50), (3, 1), (2**20 + 1, 50)])
def test_floor_keeps_a_rate_that_needs_no_rounding(num: int, shift: int) -> None:
    assert Rate.floor(Fraction(num, 2**shift)) == Rate(num, shift)


@pytest.mark.parametrize("x", [Fraction(0), Fraction(-1), Fraction(1, 2**30 + 1)])
def test_floor_refuses_what_it_cannot_represent_and_names_a_remedy(x: Fraction) -> None:
    with pytest.raises(ValueError, match="give a"):
        Rate.floor(x)


def test_floor_refuses_a_float() -> None:
    # 0.1 is not one tenth; whoever means 0.1 must say so.
    with pytest.raises(TypeError, match="Fraction"):
        Rate.floor(0.1)  # type: ignore[arg-type]


@pytest.mark.parametrize(("num", "shift"), [(0, 0), (2**21, 0), (1, 51), (1, -1)])
def test_rate_refuses_numbers_that_would_overflow(num: int, shift: int) -> None:
    with pytest.raises(ValueError, match=r"Rate\.floor"):
        Rate(num, shift)


def test_a_huge_rate_is_rounded_down_to_the_largest():
    assert Rate.floor(Fraction(10**12)) == Rate(2**21 - 1, 0)
