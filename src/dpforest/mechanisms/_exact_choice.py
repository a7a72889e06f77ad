"""The exponential mechanism in arbitrary precision, for the rare rows that float64 cannot decide.

Called by `selection` only. It evaluates the same function of the same random bits as the compiled kernel: the
index at which the cumulative weights pass U times their sum, U the real number whose binary digits are the
words.
"""

from __future__ import annotations

import decimal
from collections.abc import Sequence
from decimal import Decimal

from dpforest.mechanisms.randomness import RandomWords
from dpforest.mechanisms.rates import Rate


def exact_choice(
    utilities: Sequence[int],
    base: Sequence[int],
    rate: Rate,
    first_word: int,
    words: RandomWords,
    digits: int = 40,
) -> int:
    """Index drawn with probability proportional to base * exp(rate * utility), at U = 0.first_word...

    All quantities are held as intervals. While the interval of U times the sum contains a boundary, U gets 64
    more bits and the sums 20 more digits (64 bits are worth 19.3, so the sums stay ahead of U). The interval
    shrinks to a point, which is a boundary with probability 0. Tests start with fewer digits, where a wrong
    rounding would show.
    """
    candidates = [i for i, weight in enumerate(base) if weight > 0]
    best = max(utilities[i] for i in candidates)
    # (best - u) * num / 2**shift, exactly, as a decimal: 1 / 2**shift = 5**shift / 10**shift.
    exponents = [
        Decimal(f"{-(best - utilities[i]) * rate.num * 5**rate.shift}E-{rate.shift}") for i in candidates
    ]
    weights = [base[i] for i in candidates]
    drawn, bits = first_word, 64
    while True:
        below, above = _context(digits, decimal.ROUND_FLOOR), _context(digits, decimal.ROUND_CEILING)
        low, high = _cumulative_bounds(weights, exponents, digits)
        scale = Decimal(2**bits)
        target_low = below.divide(below.multiply(Decimal(drawn), low[-1]), scale)
        target_high = above.divide(above.multiply(Decimal(drawn + 1), high[-1]), scale)
        for i, index in enumerate(candidates):
            # 0 <= target < sum holds without computing: the first start and the last end need no test.
            after_start = i == 0 or target_low >= high[i - 1]
            before_end = i == len(candidates) - 1 or target_high <= low[i]
            if after_start and before_end:
                return index
        drawn = (drawn << 64) | int(words.take(1)[0])
        bits, digits = bits + 64, digits + 20


def _cumulative_bounds(
    weights: Sequence[int], exponents: Sequence[Decimal], digits: int
) -> tuple[list[Decimal], list[Decimal]]:
    """Lower and upper bounds of the cumulative sums of weight * exp(exponent)."""
    nearest = _context(digits, decimal.ROUND_HALF_EVEN)
    below, above = _context(digits, decimal.ROUND_FLOOR), _context(digits, decimal.ROUND_CEILING)
    low, high = [Decimal(0)], [Decimal(0)]
    for weight, exponent in zip(weights, exponents, strict=True):
        if exponent == 0:
            small = large = Decimal(1)
        else:
            # Decimal.exp is correctly rounded, so the true value lies between the neighbours of the result,
            # also where it underflows to zero.
            rounded = nearest.exp(exponent)
            small, large = max(Decimal(0), nearest.next_minus(rounded)), nearest.next_plus(rounded)
        low.append(below.add(low[-1], below.multiply(Decimal(weight), small)))
        high.append(above.add(high[-1], above.multiply(Decimal(weight), large)))
    return low[1:], high[1:]


def _context(digits: int, rounding: str) -> decimal.Context:
    # No traps: underflow is a legitimate result here, and the bounds stay true.
    return decimal.Context(
        prec=digits, rounding=rounding, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX, clamp=0, traps=[]
    )
