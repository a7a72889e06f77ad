"""How high a noisy count must be before the value that was counted may be named.

What a value is called can be known to one person alone: no noise on its count makes it safe to say the name.
So counts of values that nobody declared are released only from a threshold on, and that a value which one
person alone holds reaches it has a probability of at most delta (Korolova et al. 2009).
"""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction

from dpforest.mechanisms.rates import Rate

_DECIMALS = Context(prec=80)
_MARGIN = Decimal(10) ** -60


def naming_threshold(rate: Rate, delta: Fraction, values: int, rows: int) -> int:
    """Return the least whole number that unknown values reach with probability at most delta, all together.

    Noise with pmf proportional to exp(-a |k|) is t or more with probability exp(-a t) / (1 + exp(-a)), for
    t >= 0. One person's `rows` rows hold at most `values` values that no other row holds, each in at most
    `rows` of them; so one of these is named with probability at most
    values exp(-a (T - rows)) / (1 + exp(-a)), which is at most delta from

        T = rows + (ln(values / delta) - ln(1 + exp(-a))) / a

    on. Logarithms have 80 digits, and what they may be off by is added.

    Parameters
    ----------
    rate : Rate
        Rate a of the noise.
    delta : Fraction
        In (0, 1).
    values : int
        Most values that one person alone may hold: rows times columns.
    rows : int
        Most rows of one person.

    Returns
    -------
    int
        The least noisy count at which a value may be named; above `rows`.

    Examples
    --------
    >>> naming_threshold(Rate(1, 0), Fraction(1, 10**6), 1, 1)
    15
    """
    if not 0 < delta < 1 or values < 1 or rows < 1:
        raise ValueError("a threshold needs delta in (0, 1), and at least one value and one row.")
    context = _DECIMALS
    a = context.divide(Decimal(rate.num), Decimal(rate.denominator))
    odds = context.divide(Decimal(values * delta.denominator), Decimal(delta.numerator))
    tail = context.ln(context.add(1, context.exp(context.minus(a))))
    above = context.divide(context.subtract(context.ln(odds), tail), a)
    return rows + max(1, math.ceil(context.add(above, _MARGIN)))
