"""The rate of a mechanism: the exact rational `a` in every weight exp(-a * integer).

All noise and all selections of this package have weights of the form exp(-a k) with an integer k. The rate is
kept as a dyadic rational with a short numerator so that one and the same number can be used exactly by the
integer samplers (products stay below 2**63) and by float64 (21 bits fit in its 53-bit mantissa).

`noise` and `selection` take a Rate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from numbers import Rational

_NUMERATOR_BITS = 21
_LARGEST_SHIFT = 50


@dataclass(frozen=True, slots=True)
class Rate:
    """The rational num / 2**shift.

    Parameters
    ----------
    num : int
        Numerator, 0 < num < 2**21.
    shift : int
        Binary logarithm of the denominator, 0 <= shift <= 50.

    Examples
    --------
    >>> Rate(3, 2).value
    Fraction(3, 4)
    >>> float(Rate(3, 2))
    0.75
    """

    num: int
    shift: int

    def __post_init__(self) -> None:
        """Refuse what the integer samplers could not multiply without overflow."""
        if not 0 < self.num < 2**_NUMERATOR_BITS or not 0 <= self.shift <= _LARGEST_SHIFT:
            raise ValueError(
                f"Rate({self.num}, {self.shift}) needs 0 < num < 2**21 and 0 <= shift <= 50; "
                "use Rate.floor to round a Fraction down to a rate."
            )

    @classmethod
    def floor(cls, x: Fraction) -> Rate:
        """Largest rate with 21 significant bits that does not exceed x.

        Rounding is downwards only, so a mechanism run at the result never loses more privacy than one run at
        x. It gives up less than one part in a million of x.

        Parameters
        ----------
        x : Fraction
            Wanted rate, usually epsilon / (range of the utility).

        Returns
        -------
        Rate
            In lowest terms.

        Raises
        ------
        TypeError
            If x is not a rational number.
        ValueError
            If x is not positive, or below 2**-30.

        Examples
        --------
        >>> Rate.floor(Fraction(1, 2))
        Rate(num=1, shift=1)
        >>> third = Rate.floor(Fraction(1, 3))
        >>> third.value <= Fraction(1, 3), float(1 - 3 * third.value) < 1e-6
        (True, True)
        """
        if not isinstance(x, Rational):
            raise TypeError(
                f"A rate is made from an exact rational, not from {type(x).__name__}; "
                "write Fraction('0.1') or Fraction(value) first."
            )
        if x <= 0:
            raise ValueError(f"A rate must be positive, got {x}; give a positive epsilon.")
        exponent = x.numerator.bit_length() - x.denominator.bit_length()
        if x < Fraction(2) ** exponent:
            exponent -= 1
        shift = _NUMERATOR_BITS - 1 - exponent
        if shift < 0:
            return cls(
                2**_NUMERATOR_BITS - 1, 0
            )  # the largest rate there is: noise of any size is all but gone
        if shift > _LARGEST_SHIFT:
            raise ValueError(
                f"A rate must be at least 2**-30 (about 9.3e-10), got about {float(x):.3g}; "
                "give a larger epsilon, or a utility with a smaller range."
            )
        num = (x.numerator << shift) // x.denominator
        while shift > 0 and num % 2 == 0:
            num, shift = num // 2, shift - 1
        return cls(num, shift)

    @property
    def denominator(self) -> int:
        """The power of two below the fraction bar."""
        return 1 << self.shift

    @property
    def value(self) -> Fraction:
        """The rate as an exact Fraction."""
        return Fraction(self.num, self.denominator)

    def __float__(self) -> float:
        """Exact: a 21-bit numerator times a power of two is a float64."""
        return math.ldexp(self.num, -self.shift)
