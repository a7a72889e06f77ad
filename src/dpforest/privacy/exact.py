"""Exact numbers: how a budget is read from the user, rounded and written as a float.

Budgets are added and compared as `fractions.Fraction`, so ten fits at 0.1 meet a ceiling of 1.0 exactly. A
float stands for its shortest decimal text, which is what its author typed: 0.1 is 1/10, not the binary
number nearby. Every rounding here has a direction, chosen by the caller so that the error falls on the safe
side. Called by every other module of this room.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from numbers import Rational, Real
from typing import TypeAlias

Number: TypeAlias = int | float | Fraction | Decimal

# Enough that the rounding is invisible, few enough that samplers work on machine-sized integers.
SIGNIFICANT_BITS = 40
# Written fractions: room for the budgets of 1e-300 that nobody uses, none for numbers that fill the memory.
_FRACTION = re.compile(r"[0-9]{1,1000}(/[1-9][0-9]{0,999})?")
_MOST_DIGITS = 1_000
_LONGEST_DENOMINATOR = 16_384


def read_number(value: object, name: str) -> Fraction:
    """Read a number exactly; a float is taken by its decimal text.

    Parameters
    ----------
    value : int, float, Fraction, Decimal or a numpy scalar
        What the user gave.
    name : str
        The parameter's name, for the error message.

    Examples
    --------
    >>> read_number(0.1, "epsilon")
    Fraction(1, 10)
    >>> read_number(True, "epsilon")
    Traceback (most recent call last):
    TypeError: epsilon must be a number, got bool: write for example epsilon=0.5.
    """
    if isinstance(value, bool) or not isinstance(value, Real | Decimal):
        raise TypeError(f"{name} must be a number, got {type(value).__name__}: write for example {name}=0.5.")
    if isinstance(value, Decimal) and value.is_finite():
        # Before it becomes a fraction: 1e-99999999 would fill the memory with zeros.
        _, digits, exponent = value.as_tuple()
        if len(digits) + abs(int(exponent)) > _MOST_DIGITS:
            raise ValueError(f"{name} has more than {_MOST_DIGITS} digits: write for example {name}=0.5.")
    if isinstance(value, Rational):
        above, below = int(value.numerator), int(value.denominator)
        if max(above.bit_length(), below.bit_length()) > 3 * _MOST_DIGITS:
            raise ValueError(f"{name} has more than {_MOST_DIGITS} digits: write for example {name}=0.5.")
        return Fraction(above, below)
    try:
        return Fraction(str(value))
    except ValueError:
        raise ValueError(
            f"{name} must be a finite number, got {value}: write for example {name}=0.5."
        ) from None


def read_epsilon(value: object) -> Fraction:
    """Read a promised epsilon: finite and positive.

    Examples
    --------
    >>> read_epsilon(2.5)
    Fraction(5, 2)
    """
    if isinstance(value, Real | Decimal) and not isinstance(value, Rational) and math.isinf(value):
        raise ValueError(
            f"epsilon must be finite, got {value}: an infinite epsilon promises nothing, so ask the "
            "estimator for its non-private form instead of planning a budget."
        )
    epsilon = read_number(value, "epsilon")
    if epsilon <= 0:
        raise ValueError(f"epsilon must be positive, got {value}: common choices lie between 0.1 and 10.")
    return epsilon


def read_delta(value: object) -> Fraction:
    """Read a promised delta: zero for pure privacy, below one otherwise.

    Examples
    --------
    >>> read_delta(1e-6)
    Fraction(1, 1000000)
    """
    delta = read_number(value, "delta")
    if not 0 <= delta < 1:
        raise ValueError(
            f"delta must satisfy 0 <= delta < 1, got {value}: use 0 for pure privacy, or far less than one "
            "over the number of rows, for example 1e-6."
        )
    return delta


def read_positive_integer(value: object, name: str) -> int:
    """Read a count that is at least one.

    Examples
    --------
    >>> read_positive_integer(3, "max_rows_per_person")
    3
    """
    number = read_number(value, name)
    if number.denominator != 1 or number < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, got {value}.")
    return int(number)


def read_fraction(text: object, name: str) -> Fraction:
    """Read what ``str`` of a fraction wrote, and nothing else: no signs, no exponents, no endless digits.

    `Fraction` itself would take ``"1e999999999"`` and fill the memory with zeros.

    Parameters
    ----------
    text : str
        For example ``"1/10"`` or ``"2"``.
    name : str
        What it is, for the error message.

    Examples
    --------
    >>> read_fraction("1/10", "epsilon")
    Fraction(1, 10)
    >>> read_fraction("1e9", "epsilon")
    Traceback (most recent call last):
    ValueError: epsilon must be written as a fraction such as 1/10.
    """
    if not isinstance(text, str) or not _FRACTION.fullmatch(text):
        raise ValueError(f"{name} must be written as a fraction such as 1/10.")
    return Fraction(text)


def check_addable(values: Iterable[Fraction], name: str) -> None:
    """Refuse fractions without a common denominator of sane length: adding them could take for ever.

    Parameters
    ----------
    values : iterable of Fraction
        Fractions read from a file.
    name : str
        What they are, for the error message.

    Examples
    --------
    >>> check_addable([Fraction(1, 3), Fraction(1, 4)], "shares")
    """
    common = 1
    for value in values:
        common = math.lcm(common, value.denominator)
        if common.bit_length() > _LONGEST_DENOMINATOR:
            raise ValueError(f"{name} have no common denominator of at most {_LONGEST_DENOMINATOR} bits.")


def floor_to_bits(value: Fraction) -> Fraction:
    """Round a non-negative number down to about 40 significant bits.

    Examples
    --------
    >>> floor_to_bits(Fraction(3, 4))
    Fraction(3, 4)
    >>> 0 <= Fraction(1, 3) - floor_to_bits(Fraction(1, 3)) < Fraction(1, 2**40)
    True
    """
    unit = _last_place(value)
    return math.floor(value / unit) * unit


def ceil_to_bits(value: Fraction) -> Fraction:
    """Round a non-negative number up to about 40 significant bits.

    Examples
    --------
    >>> 0 <= ceil_to_bits(Fraction(1, 3)) - Fraction(1, 3) < Fraction(1, 2**40)
    True
    """
    unit = _last_place(value)
    return math.ceil(value / unit) * unit


def floor_sqrt(value: Fraction) -> Fraction:
    """Square root rounded down to about 40 significant bits, in integers only.

    Examples
    --------
    >>> floor_sqrt(Fraction(1, 4))
    Fraction(1, 2)
    >>> floor_sqrt(Fraction(2)) ** 2 < 2
    True
    """
    if value < 0:
        raise ValueError(f"a square root needs a non-negative number, got {value}.")
    # isqrt(floor(v * 4**k)) / 2**k <= sqrt(v); k leaves at least SIGNIFICANT_BITS bits in the numerator.
    shift = max(0, SIGNIFICANT_BITS - (_exponent(value) - 1) // 2)
    return Fraction(math.isqrt(math.floor(value * 4**shift)), 2**shift)


def float_at_least(value: Fraction) -> float:
    """Smallest float whose decimal text is not below the exact value.

    Examples
    --------
    >>> float_at_least(Fraction(1, 10))
    0.1
    >>> float_at_least(Fraction(1, 3))
    0.33333333333333337
    """
    rounded = _nearest_float(value)
    while Fraction(repr(rounded)) < value:
        rounded = math.nextafter(rounded, math.inf)
    return rounded


def float_at_most(value: Fraction) -> float:
    """Largest float whose decimal text is not above the exact value.

    Examples
    --------
    >>> float_at_most(Fraction(2, 3))
    0.6666666666666666
    """
    rounded = _nearest_float(value)
    while Fraction(repr(rounded)) > value:
        rounded = math.nextafter(rounded, -math.inf)
    return rounded


def short(value: Fraction | float) -> str:
    """Write what was spent or promised for people: six significant digits, rounded up.

    Examples
    --------
    >>> short(Fraction(1, 3)), short(Fraction(2)), short(0.1)
    ('0.333334', '2', '0.1')
    """
    return _six_digits(value, ROUND_CEILING)


def short_rest(value: Fraction | float) -> str:
    """Write what is left for people: six significant digits, rounded down.

    Examples
    --------
    >>> short_rest(Fraction(2, 3))
    '0.666666'
    """
    return _six_digits(value, ROUND_FLOOR)


def _six_digits(value: Fraction | float, rounding: str) -> str:
    if isinstance(value, float):
        if not math.isfinite(value):
            return str(value)
        value = Fraction(repr(value))
    # integers are exact decimals, so the quotient is rounded once
    digits = Context(prec=6, rounding=rounding).divide(Decimal(value.numerator), Decimal(value.denominator))
    text = f"{float(digits):.6g}"
    return text if Decimal(text) == digits else str(digits)  # beyond the doubles


def _nearest_float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"a number of {len(str(int(value)))} digits is too large for a budget.") from None


def _last_place(value: Fraction) -> Fraction:
    """Return the worth of the last of the significant bits, a power of two."""
    return Fraction(2) ** (_exponent(value) - SIGNIFICANT_BITS)


def _exponent(value: Fraction) -> int:
    """Return k with value < 2**k and value >= 2**(k - 2); 0 for zero."""
    return value.numerator.bit_length() - value.denominator.bit_length() + 1 if value else 0
