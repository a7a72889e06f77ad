"""Between zCDP and (epsilon, delta): the tight numeric conversion, both ways, always rounded safely.

The formula is linear in rho with coefficients that depend on an order alpha > 1. Any order gives a true
statement, so the search for a good one is done in floats and only the formula itself with care: exactly, but
for logarithms of 120 digits whose error is added on the safe side.
Called by the plan (what is one promise worth in rho?) and by the budget filter (what do rhos add up to?).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache

from dpforest.privacy.exact import (
    Number,
    float_at_least,
    floor_to_bits,
    read_delta,
    read_epsilon,
    read_number,
)

# The natural logarithm of a Decimal is correctly rounded, so with orders alpha kept in
# 1 + exp(-40) .. 1 + exp(150) the sum in `_overhead` is off by less than 1e-95, well inside the margin.
_DECIMALS = Context(prec=120)
_MARGIN = Fraction(1, 10**90)
_LOG_ORDERS = (-40.0, 150.0)


def rho_to_epsilon(rho: Number, delta: Number) -> float:
    """Smallest epsilon we can prove for a rho-zCDP mechanism at this delta, rounded up.

    For every order alpha > 1 a rho-zCDP mechanism is (epsilon, delta)-DP with

        epsilon = alpha rho + (ln(1 / delta) - ln(alpha)) / (alpha - 1) + ln(1 - 1 / alpha)

    (Canonne, Kamath and Steinke 2020, Section 2.3, solved for epsilon). We look for the best order in
    floats, then evaluate the formula at the order found, exactly but for a logarithm of 120 digits, and
    round up. Since *any* order gives a valid epsilon, a poor search could cost accuracy but never privacy.
    The order 1 + sqrt(ln(1 / delta) / rho) is always tried too, at which the formula is below the classical
    rho + 2 sqrt(rho ln(1 / delta)), so the result is never worse than that. For fixed epsilon the logarithm
    of delta is convex in alpha, hence the set of orders that reach a given epsilon is an interval and a
    search by sections finds the best.

    Parameters
    ----------
    rho : number
        zCDP parameter, zero or more.
    delta : number
        Strictly between 0 and 1.

    Returns
    -------
    float
        epsilon, zero or more.

    Examples
    --------
    >>> round(rho_to_epsilon(0.1, 1e-6), 4)
    2.1419
    >>> 0.1 + 2 * (0.1 * math.log(1e6)) ** 0.5  # the classical conversion
    2.45...
    """
    return _rho_to_epsilon(read_number(rho, "rho"), _positive_delta(delta))


def epsilon_to_rho(epsilon: Number, delta: Number) -> Fraction:
    """Largest rho whose conversion stays within (epsilon, delta), rounded down to about 40 significant bits.

    The formula of `rho_to_epsilon` is linear in rho, epsilon = alpha rho + overhead(alpha). So each order
    allows the rho that solves it, and the best order is searched directly, without inverting anything. Then
    ``rho_to_epsilon(result, delta) <= epsilon`` is enforced, so that the two functions never disagree.

    Parameters
    ----------
    epsilon : number
        Finite and positive.
    delta : number
        Strictly between 0 and 1.

    Returns
    -------
    Fraction
        rho, positive, its denominator a power of two.

    Examples
    --------
    >>> rho = epsilon_to_rho(1.0, 1e-6)
    >>> round(float(rho), 6)
    0.024356
    >>> rho_to_epsilon(rho, 1e-6) <= 1.0
    True
    """
    return _epsilon_to_rho(read_epsilon(epsilon), _positive_delta(delta))


def _positive_delta(value: object) -> Fraction:
    delta = read_delta(value)
    if delta == 0:
        raise ValueError(
            "delta must be positive to convert from or to zCDP, got 0: with delta = 0 plan pure epsilons."
        )
    return delta


@lru_cache(maxsize=1024)
def _rho_to_epsilon(rho: Fraction, delta: Fraction) -> float:
    if rho < 0:
        raise ValueError(f"rho must be zero or more, got {rho}.")
    if rho == 0:
        return 0.0
    rho_approximately, log_inverse_delta = float(rho), -_log(delta)
    best = _lowest(
        lambda log_order: (
            rho_approximately * math.exp(log_order) + _overhead_approximately(log_order, log_inverse_delta)
        )
    )
    classical = (math.log(log_inverse_delta) - _log(rho)) / 2
    epsilon = min(
        (1 + order) * rho + _overhead(order, delta) for order in map(_order_minus_one, (best, classical))
    )
    return float_at_least(max(epsilon, Fraction(0)))


@lru_cache(maxsize=1024)
def _epsilon_to_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    epsilon_approximately, log_inverse_delta = float(epsilon), -_log(delta)
    best = _lowest(
        lambda log_order: (
            (_overhead_approximately(log_order, log_inverse_delta) - epsilon_approximately)
            / (1 + math.exp(log_order))
        )
    )
    # The classical rho is (sqrt(eps + L) - sqrt(L))^2 with L = ln(1/delta); written so that nothing cancels.
    classical_root = epsilon_approximately / (
        math.sqrt(epsilon_approximately + log_inverse_delta) + math.sqrt(log_inverse_delta)
    )
    classical = math.log(log_inverse_delta) / 2 - math.log(classical_root)
    exact = max(
        (epsilon - _overhead(order, delta)) / (1 + order)
        for order in map(_order_minus_one, (best, classical))
    )
    if exact <= 0:
        raise ValueError(
            f"epsilon={float(epsilon)!r} with delta={float(delta)!r} is too small to be split: raise one."
        )
    rho = floor_to_bits(exact)
    while read_number(_rho_to_epsilon(rho, delta), "epsilon") > epsilon:
        rho = floor_to_bits(rho * (1 - Fraction(1, 2**38)))
    return rho


def _overhead(order_minus_one: Fraction, delta: Fraction) -> Fraction:
    """Upper bound of (ln(1/delta) - ln(alpha)) / (alpha - 1) + ln(1 - 1/alpha), tight to 1e-90."""
    context = _DECIMALS
    shifted = context.divide(Decimal(order_minus_one.numerator), Decimal(order_minus_one.denominator))
    order = context.add(shifted, 1)
    log_order = context.ln(order)
    log_delta = context.ln(context.divide(Decimal(delta.numerator), Decimal(delta.denominator)))
    fraction = context.divide(context.minus(context.add(log_delta, log_order)), shifted)
    return Fraction(context.add(fraction, context.ln(context.divide(shifted, order)))) + _MARGIN


def _overhead_approximately(log_order: float, log_inverse_delta: float) -> float:
    """Return the same in floats, at alpha = 1 + exp(log_order)."""
    log_alpha = max(log_order, 0.0) + math.log1p(math.exp(-abs(log_order)))
    return (log_inverse_delta - log_alpha) * math.exp(-log_order) - (log_alpha - log_order)


def _order_minus_one(log_order: float) -> Fraction:
    low, high = _LOG_ORDERS
    return Fraction(math.exp(min(max(log_order, low), high)))


def _lowest(function: Callable[[float], float]) -> float:
    """Find where a function that falls and then rises is lowest, by golden sections."""
    low, high = _LOG_ORDERS
    ratio = (math.sqrt(5) - 1) / 2
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = function(left), function(right)
    for _ in range(60):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = function(right)
    return (low + high) / 2


def _log(value: Fraction) -> float:
    """Logarithm of a positive fraction, also where it is too small or too close to 1 for a float."""
    if Fraction(1, 2) < value < 2:
        return math.log1p(float(value - 1))
    return math.log(value.numerator) - math.log(value.denominator)
