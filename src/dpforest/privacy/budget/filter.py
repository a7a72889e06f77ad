"""The rule by which an accountant grants or refuses, and the proof that it keeps its ceiling."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpforest.privacy.composition import Cost, pure_epsilon_from_rho
from dpforest.privacy.conversion import epsilon_to_rho, rho_to_epsilon
from dpforest.privacy.exact import (
    Number,
    float_at_least,
    float_at_most,
    read_delta,
    read_epsilon,
    read_number,
)


@dataclass(frozen=True)
class BudgetFilter:
    """Grants costs while their total keeps a ceiling of (epsilon, delta).

    The rule looks at the total of all costs granted so far, including the new one:

    * ceiling (E, 0): grant iff all are pure and their epsilons sum to at most E;
    * ceiling (E, delta > 0): grant iff all are pure and sum to at most E, *or* the rhos sum to at most
      R = `epsilon_to_rho` (E, delta).

    Each cost may be chosen after seeing everything released before, so this needs an argument.

    *Pure rule.* On any transcript the log likelihood ratio between two neighbours is a sum of terms, each
    bounded by the epsilon chosen at that point, hence at most E in absolute value.

    *Union.* Let P and Q be the distributions of the whole transcript on two neighbours, for an analyst who
    picks every next request from what was released before. Call A the transcripts at whose end all costs
    are pure and sum to at most E, and B all others.

    1. On A the likelihood ratio is at most e^E pointwise, so for every set S of transcripts
       P(S and A) <= e^E Q(S and A).
    2. A transcript in B fails the pure rule at its end, so its last grant was made by the rho rule and its
       total rho is at most R. Totals only grow, so every prefix had a total of at most R as well.
    3. Compare with an interaction that is identical except that it stops for good, with a mark, as soon as a
       grant would lift the total rho above R. It never stops on a transcript in B, so those have the same
       probability in both interactions, under P and under Q.
    4. The stopped interaction is R-zCDP although its costs are chosen along the way (Feldman and Zrnic 2021,
       Renyi filters; Whitehouse, Ramdas, Rogers and Wu 2023): the bounds are linear in the order alpha, so
       one stopping rule serves all orders. Converted, it is (E, delta)-DP.
    5. Hence P(S and B) <= e^E Q(S and B) + delta, and with step 1, P(S) <= e^E Q(S) + delta.

    Parameters
    ----------
    epsilon, delta : Fraction
        The ceiling, per person.
    rho : Fraction or None
        R above; None if delta is 0.

    Examples
    --------
    >>> rule = BudgetFilter.for_ceiling(1.0, 0.0)
    >>> rule.grants(10 * Cost.pure(0.1)), rule.grants(11 * Cost.pure(0.1)), rule.grants(Cost.zcdp(0.001))
    (True, False, False)
    """

    epsilon: Fraction
    delta: Fraction
    rho: Fraction | None

    @classmethod
    def for_ceiling(cls, epsilon: Number, delta: Number) -> BudgetFilter:
        """Make the rule for a ceiling.

        Parameters
        ----------
        epsilon, delta : number
            The ceiling; floats are read by their decimal text.
        """
        most, slack = read_epsilon(epsilon), read_delta(delta)
        return cls(most, slack, epsilon_to_rho(most, slack) if slack else None)

    def grants(self, total: Cost) -> bool:
        """Whether a total, the new request included, keeps the ceiling.

        Parameters
        ----------
        total : Cost
            Sum of everything granted and the request.
        """
        if total.epsilon is not None and total.epsilon <= self.epsilon:
            return True
        return self.rho is not None and total.rho <= self.rho

    def spent(self, total: Cost) -> tuple[float, float]:
        """Return a granted total as (epsilon, delta), rounded up, by the rule that needs less epsilon.

        Parameters
        ----------
        total : Cost
            Sum of everything granted.
        """
        pairs = [] if total.epsilon is None else [(float_at_least(total.epsilon), 0.0)]
        if self.rho is not None:
            pairs.append((rho_to_epsilon(total.rho, self.delta), float_at_least(self.delta)))
        return min(pairs)

    def rest(self, total: Cost) -> tuple[float, float]:
        """Return the largest (epsilon, delta) that one more plan may ask for, rounded down.

        Parameters
        ----------
        total : Cost
            Sum of everything granted.
        """
        pure = Fraction(0) if total.epsilon is None else max(self.epsilon - total.epsilon, Fraction(0))
        left = Fraction(0) if self.rho is None else self.rho - total.rho
        if left <= 0:
            return float_at_most(pure), 0.0
        pure = max(pure, pure_epsilon_from_rho(left))
        # Rounding up and down may differ in the last place, so each guess is tried the way a plan would be.
        guesses = (
            float_at_most(self.epsilon),
            rho_to_epsilon(left, self.delta),
            rho_to_epsilon(left * (1 - Fraction(1, 2**30)), self.delta),
        )
        fits = (guess for guess in guesses if guess > 0 and epsilon_to_rho(guess, self.delta) <= left)
        concentrated = next(fits, 0.0)
        if read_number(concentrated, "epsilon") >= pure:
            return concentrated, float_at_most(self.delta)
        return float_at_most(pure), 0.0
