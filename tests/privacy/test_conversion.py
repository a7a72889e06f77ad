"""The zCDP conversion: never optimistic, as tight as its formula, and consistent both ways."""

import math
from decimal import Context, Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from dpforest.privacy import epsilon_to_rho, rho_to_epsilon

log_uniform = {
    "epsilon": st.floats(-7, 4).map(lambda power: 10.0**power),
    "rho": st.floats(-12, 3).map(lambda power: 10.0**power),
    "delta": st.floats(-30, -0.1).map(lambda power: 10.0**power),
}
FEW = settings(max_examples=40, deadline=None)
DIGITS = Context(prec=60)


def log_delta(rho: Fraction, epsilon: Fraction) -> Decimal:
    """Best delta of the published formula, by bisection on its derivative in the order, to 60 digits."""
    ln = DIGITS.ln
    rho_, epsilon_ = (DIGITS.divide(Decimal(x.numerator), Decimal(x.denominator)) for x in (rho, epsilon))
    low, high = Decimal(-60), Decimal(90)  # of the logarithm of the order minus one
    for _ in range(170):
        middle = (low + high) / 2
        shifted = DIGITS.exp(middle)
        slope = (2 * shifted + 1) * rho_ - epsilon_ + ln(DIGITS.divide(shifted, 1 + shifted))
        low, high = (low, middle) if slope > 0 else (middle, high)
    shifted = DIGITS.exp(low)
    order = 1 + shifted
    return shifted * (order * rho_ - epsilon_) + shifted * ln(shifted) - order * ln(order)


def exact(number: float) -> Fraction:
    return Fraction(repr(number))


@FEW
@given(rho=log_uniform["rho"], delta=log_uniform["delta"])
def test_conversion_is_the_published_formula_rounded_up(rho, delta):
    epsilon = rho_to_epsilon(rho, delta)
    target = DIGITS.ln(Decimal(repr(delta)))
    slack = Decimal("1e-35")
    assert log_delta(exact(rho), exact(epsilon)) <= target + slack
    if epsilon > 0:
        assert log_delta(exact(rho), exact(epsilon) * (1 - Fraction(1, 10**9))) > target - slack


@FEW
@given(rho=log_uniform["rho"], delta=log_uniform["delta"])
def test_never_worse_than_the_classical_formula(rho, delta):
    assert rho_to_epsilon(rho, delta) < rho + 2 * math.sqrt(rho * -math.log(delta))


def gaussian_log_delta(rho: float, epsilon: float) -> float:
    """Exact delta of Gaussian noise that costs rho (Balle and Wang 2018, Theorem 8), as a logarithm."""
    shift = math.sqrt(2 * rho)
    upper, lower = (
        norm.logcdf(shift / 2 - epsilon / shift),
        epsilon + norm.logcdf(-shift / 2 - epsilon / shift),
    )
    return upper + math.log1p(-math.exp(lower - upper))


@pytest.mark.parametrize("rho", [1e-4, 0.01, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 1e-2])
def test_gaussian_noise_really_keeps_the_promise(rho, delta):
    assert gaussian_log_delta(rho, rho_to_epsilon(rho, delta)) < math.log(delta)
    # The same check catches a conversion that forgets the factor 2 of the classical formula.
    assert delta > 1e-6 or gaussian_log_delta(rho, rho + math.sqrt(rho * -math.log(delta))) > math.log(delta)


@FEW
@given(epsilon=log_uniform["epsilon"], delta=log_uniform["delta"])
def test_way_back_is_safe_and_tight(epsilon, delta):
    rho = epsilon_to_rho(epsilon, delta)
    assert rho > 0
    assert rho_to_epsilon(rho, delta) <= epsilon
    # Where epsilon is tiny against delta, rho hardly depends on it and the rounding of rho shows.
    if epsilon > 1e-3 and delta < 0.1:
        assert rho_to_epsilon(rho * (1 + Fraction(1, 2**36)), delta) > epsilon


@FEW
@given(epsilon=log_uniform["epsilon"], delta=log_uniform["delta"], factor=st.floats(1.001, 10))
def test_more_epsilon_or_delta_never_buys_less(epsilon, delta, factor):
    rho = epsilon_to_rho(epsilon, delta)
    assert rho < epsilon_to_rho(epsilon * factor, delta) or epsilon * factor < delta
    assert rho <= epsilon_to_rho(epsilon, min(delta * factor, 0.99)) or delta * factor > 0.99
    assert rho_to_epsilon(rho, delta) <= rho_to_epsilon(rho * 2, delta)


@FEW
@given(epsilon=log_uniform["epsilon"], delta=log_uniform["delta"])
def test_rho_is_a_short_binary_number(epsilon, delta):
    rho = epsilon_to_rho(epsilon, delta)
    assert rho.numerator.bit_length() <= 41
    assert rho.denominator.bit_count() == 1


@pytest.mark.parametrize("delta", [Fraction(1, 10**400), 1 - 1e-16, Fraction(10**40 - 1, 10**40)])
def test_extreme_deltas_neither_crash_nor_promise_too_much(delta):
    rho = epsilon_to_rho(1.0, delta)
    assert 0 < rho_to_epsilon(rho, delta) <= 1


def test_nothing_spent_is_nothing_promised():
    assert rho_to_epsilon(0, 1e-6) == 0


@pytest.mark.parametrize("delta", [0, 0.0, 1, -1e-6])
def test_zcdp_needs_a_delta(delta):
    with pytest.raises(ValueError, match="delta must"):
        rho_to_epsilon(0.1, delta)
    with pytest.raises(ValueError, match="delta must"):
        epsilon_to_rho(1.0, delta)


def test_negative_rho_is_refused():
    with pytest.raises(ValueError, match="rho must be zero or more"):
        rho_to_epsilon(-0.1, 1e-6)
