"""What private steps cost together: pure and zero-concentrated differential privacy.

Two currencies. *Pure*: epsilons of steps on the same rows add. *zCDP* (Bun and Steinke 2016): a step is
rho-zCDP if the Renyi divergence of every order alpha > 1 between its outputs on neighbours is at most alpha
times rho; rhos of steps on the same rows add, also when each step is chosen after seeing the earlier outputs.

Facts used, each from the named source:

* an epsilon-DP step is epsilon^2 / 2-zCDP (Bun and Steinke 2016, Proposition 1.4);
* an exponential mechanism run at epsilon has log ratios inside an interval of length epsilon ("bounded
  range"), which makes it epsilon^2 / 8-zCDP (Cesar and Rogers 2021, building on Dong et al. 2020).
  Permute-and-flip is not of this kind and pays epsilon^2 / 2;
* discrete Gaussian noise with parameter sigma on integers of squared L2 sensitivity D is D / (2 sigma^2)-zCDP
  (Canonne, Kamath and Steinke 2020, Theorem 4, summed over the coordinates);
* rho-zCDP implies (epsilon, delta)-DP as in `rho_to_epsilon` (Canonne, Kamath and Steinke 2020, Section 2.3);
* k hops of neighbours cost k * epsilon, or k^2 * rho (Bun and Steinke 2016, Proposition 1.9).

A step may also have a *loose delta*: its output on two neighbours is, with probability 1 - delta each, that
of a step which is epsilon-DP (or rho-zCDP), and anything otherwise. That is (epsilon, delta)-DP, and
delta-approximate zCDP (Bun and Steinke 2016, Definition 8.1). Loose deltas add; see `BudgetFilter`.

Called by the plan (to turn a promise into amounts), the mechanisms (to turn an amount into noise) and the
budget filter (to add up what was spent). Every rounding goes to the safe side.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpforest.privacy.exact import (
    Number,
    ceil_to_bits,
    floor_sqrt,
    read_number,
    read_positive_integer,
)
from dpforest.privacy.relation import NeighboringRelation

_LEAST_VARIANCE = Fraction(1, 2**12)


@dataclass(frozen=True)
class Cost:
    """What a private step costs one person, in both currencies.

    Adding costs composes the steps in sequence; multiplying by a whole number repeats a step.

    Parameters
    ----------
    epsilon : Fraction or None
        Pure epsilon, or None if the step promises no pure epsilon.
    rho : Fraction
        zCDP parameter, at most epsilon^2 / 2 if the step is pure.
    delta : Fraction
        Loose delta, zero or more: how likely, at most, the step is neither.

    Examples
    --------
    >>> fit = Cost.pure(0.5)
    >>> fit + fit == 2 * fit
    True
    >>> 2 * fit
    Cost(epsilon=Fraction(1, 1), rho=Fraction(1, 4), delta=Fraction(0, 1))
    >>> (fit + Cost.zcdp(0.1)).is_pure
    False
    """

    epsilon: Fraction | None
    rho: Fraction
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if self.delta < 0:
            raise ValueError(f"a cost cannot be negative, got delta={self.delta}.")
        if self.rho < 0 or (self.epsilon is not None and not 0 <= 2 * self.rho <= self.epsilon**2):
            raise ValueError(
                f"a cost needs 0 <= rho <= epsilon**2 / 2, got epsilon={self.epsilon}, rho={self.rho}: "
                "use Cost.pure(epsilon) or Cost.zcdp(rho)."
            )
        if self.epsilon is not None and self.epsilon < 0:
            raise ValueError(
                f"a cost cannot be negative, got epsilon={self.epsilon}: budget is never given back."
            )

    @classmethod
    def pure(cls, epsilon: Number, delta: Number = 0) -> Cost:
        """Return the cost of an epsilon-DP step, or of an (epsilon, delta)-DP step with a loose delta.

        Parameters
        ----------
        epsilon, delta : number
            Zero or more.
        """
        exact = read_number(epsilon, "epsilon")
        return cls(exact, exact**2 / 2, read_number(delta, "delta"))

    @classmethod
    def zcdp(cls, rho: Number, delta: Number = 0) -> Cost:
        """Return the cost of a rho-zCDP step, or of a delta-approximate one.

        Parameters
        ----------
        rho, delta : number
            Zero or more.
        """
        return cls(None, read_number(rho, "rho"), read_number(delta, "delta"))

    @property
    def is_pure(self) -> bool:
        """Whether a pure epsilon is promised."""
        return self.epsilon is not None

    def __add__(self, other: Cost) -> Cost:
        if not isinstance(other, Cost):
            return NotImplemented
        pure = None if self.epsilon is None or other.epsilon is None else self.epsilon + other.epsilon
        return Cost(pure, self.rho + other.rho, self.delta + other.delta)

    def __mul__(self, times: int) -> Cost:
        if isinstance(times, bool) or not isinstance(times, int):
            return NotImplemented
        pure = None if self.epsilon is None else self.epsilon * times
        return Cost(pure, self.rho * times, self.delta * times)

    __rmul__ = __mul__


def pure_epsilon_from_rho(rho: Fraction) -> Fraction:
    """Epsilon at which any epsilon-DP mechanism may run for `rho`: sqrt(2 rho), rounded down.

    Parameters
    ----------
    rho : Fraction
        What may be spent.

    Examples
    --------
    >>> pure_epsilon_from_rho(Fraction(1, 2))
    Fraction(1, 1)
    """
    return floor_sqrt(2 * rho)


def exponential_epsilon_from_rho(rho: Fraction) -> Fraction:
    """Epsilon at which an exponential mechanism may run for `rho`: sqrt(8 rho), rounded down.

    Valid for the exponential mechanism only, whose log ratios have bounded range; not for permute-and-flip.

    Parameters
    ----------
    rho : Fraction
        What may be spent.

    Examples
    --------
    >>> exponential_epsilon_from_rho(Fraction(1, 2))
    Fraction(2, 1)
    """
    return floor_sqrt(8 * rho)


def gaussian_variance_from_rho(rho: Fraction, sensitivity_sq: Number) -> Fraction:
    """Parameter sigma^2 of discrete Gaussian noise that costs at most `rho`, rounded up.

    It is at least 2**-12, which is as good as no noise and the least that can be sampled.

    Parameters
    ----------
    rho : Fraction
        What may be spent, positive.
    sensitivity_sq : number
        Squared L2 distance between the integer vectors of two neighbours, at most.

    Examples
    --------
    >>> gaussian_variance_from_rho(Fraction(1, 8), 3)
    Fraction(12, 1)
    """
    if rho <= 0:
        raise ValueError(f"rho must be positive, got {rho}: no finite noise is free.")
    return max(ceil_to_bits(read_number(sensitivity_sq, "sensitivity_sq") / (2 * rho)), _LEAST_VARIANCE)


def row_multiplier(relation: NeighboringRelation, max_rows_per_person: int = 1) -> int:
    """Into how many single steps of the mechanisms one person's change can be broken.

    The mechanisms' constants are for adding or removing one row, or, under ``LABEL_CHANGE``, for changing
    one label (their label queries double their own constants, since a changed label leaves one count and
    enters another). A person with up to m rows is then m steps away; replacing them removes up to m rows
    and adds up to m others, 2 m steps; changing their labels is m steps.

    A pure budget is divided by the multiplier k and a rho by its square. Delta needs no inflation: steps of
    rho-zCDP add up to k^2 rho-zCDP for the person (Bun and Steinke 2016, Proposition 1.9), which is a
    statement about Renyi divergence with no delta in it; the conversion to (epsilon, delta) is done once,
    at the end, from k^2 rho. Group privacy applied *after* the conversion would instead multiply delta by a
    sum of powers of e^epsilon.

    Parameters
    ----------
    relation : NeighboringRelation
        What one person may change.
    max_rows_per_person : int
        m, at least 1.

    Examples
    --------
    >>> row_multiplier(NeighboringRelation.REPLACE_ONE, 3)
    6
    """
    rows = read_positive_integer(max_rows_per_person, "max_rows_per_person")
    return 2 * rows if relation is NeighboringRelation.REPLACE_ONE else rows
