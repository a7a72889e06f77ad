"""The budget of one boosted model: what is left of it, in shares of the whole."""

from __future__ import annotations

import math
from fractions import Fraction

POOL = "model"
COUNTING = Fraction(1, 100)  # of the whole budget, for the first count
_FINEST = 2**24  # shares that follow from released numbers are whole multiples of 1 / _FINEST


def fine(share: float) -> Fraction:
    """Round a share down to a fraction that adds up exactly."""
    return Fraction(math.floor(share * _FINEST), _FINEST)


class Purse:
    """Shares of the whole budget that are not yet spent; all are paid by one pool.

    Whatever is taken stays within the pool, however the shares were computed; the ledger checks it again.

    Parameters
    ----------
    rho : float
        The whole budget.

    Examples
    --------
    >>> purse = Purse(0.02)
    >>> purse.take(0.25), purse.left  # a share of the pool, which is less than the whole, and what is left
    (Fraction(25, 99), Fraction(37, 50))
    """

    def __init__(self, rho: float) -> None:
        self.rho = rho
        self.left = 1 - COUNTING

    def take(self, share: float | Fraction) -> Fraction:
        """Take a share of the whole budget, or all that is left if that is less, as a share of the pool."""
        exact = share if isinstance(share, Fraction) else fine(share)
        taken = min(exact, self.left)
        self.left -= taken
        return taken / (1 - COUNTING)

    def noise(self, share: float | Fraction) -> float:
        """Return the standard deviation of noise for a row of length 1 that a share of the whole buys."""
        return 1 / math.sqrt(2 * float(share) * self.rho)
