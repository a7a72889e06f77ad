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
    short,
)


@dataclass(frozen=True)
class BudgetFilter:
    """Grants costs while their total keeps a ceiling of (epsilon, delta).

    The rule looks at the total of all costs granted so far, including the new one:

    * ceiling (E, 0): grant iff all are pure and their epsilons sum to at most E;
    * ceiling (E, delta > 0): grant iff all are pure and sum to at most E, *or* the rhos sum to at most
      R = `epsilon_to_rho` (E, delta - L);
    * and, always, iff the loose deltas sum to at most L, a part of delta that is set aside for them when the
      budget is made. It is 0 unless asked for: loose deltas are then refused.

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

    *Loose deltas.* A step with loose delta d answers by a good mechanism with probability 1 - d, and by
    another one otherwise, as a hidden coin decides; so on both neighbours. The coins of a transcript are all
    good with probability w = the product of (1 - d), a function of the transcript.

    1. Some coin is bad with probability at most the expected sum of d, hence at most L.
    2. Where all are good, the transcript's density is w times that of an interaction with the good mechanisms
       alone, under P and under Q. For these, steps 1 to 5 above hold with delta - L in the place of delta,
       and as well for the function w between 0 and 1 on S in the place of S itself.
    3. So P(S) <= e^E Q(S) + (delta - L) + L. That L is fixed beforehand matters: were it taken from delta
       along the way, one branch could spend it on coins, another on the conversion of rho, and both count.

    Parameters
    ----------
    epsilon, delta : Fraction
        The ceiling, per person.
    rho : Fraction or None
        R above; None if delta is L.
    loose : Fraction
        L above.

    Examples
    --------
    >>> rule = BudgetFilter.for_ceiling(1.0, 0.0)
    >>> rule.grants(10 * Cost.pure(0.1)), rule.grants(11 * Cost.pure(0.1)), rule.grants(Cost.zcdp(0.001))
    (True, False, False)
    >>> rule = BudgetFilter.for_ceiling(1.0, 1e-6, loose=1e-7)
    >>> rule.grants(Cost.pure(0.5, 1e-7)), rule.grants(2 * Cost.pure(0.5, 1e-7))
    (True, False)
    """

    epsilon: Fraction
    delta: Fraction
    rho: Fraction | None
    loose: Fraction = Fraction(0)

    @classmethod
    def for_ceiling(cls, epsilon: Number, delta: Number, loose: Number = 0) -> BudgetFilter:
        """Make the rule for a ceiling.

        Parameters
        ----------
        epsilon, delta : number
            The ceiling; floats are read by their decimal text.
        loose : number
            The part of delta that is set aside for loose deltas.
        """
        most, slack, aside = read_epsilon(epsilon), read_delta(delta), read_delta(loose)
        if aside > slack:
            raise ValueError(f"the loose delta is a part of delta, got {short(aside)} of {short(slack)}.")
        return cls(most, slack, epsilon_to_rho(most, slack - aside) if slack > aside else None, aside)

    @property
    def converted(self) -> Fraction:
        """The part of delta at which rhos are converted."""
        return self.delta - self.loose

    def grants(self, total: Cost) -> bool:
        """Whether a total, the new request included, keeps the ceiling.

        Parameters
        ----------
        total : Cost
            Sum of everything granted and the request.
        """
        if total.delta > self.loose:
            return False
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
        pairs = []
        if total.epsilon is not None:
            pairs.append((float_at_least(total.epsilon), float_at_least(total.delta)))
        if self.rho is not None:
            delta = float_at_least(self.converted + total.delta)
            pairs.append((rho_to_epsilon(total.rho, self.converted), delta))
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
            rho_to_epsilon(left, self.converted),
            rho_to_epsilon(left * (1 - Fraction(1, 2**30)), self.converted),
        )
        fits = (guess for guess in guesses if guess > 0 and epsilon_to_rho(guess, self.converted) <= left)
        concentrated = next(fits, 0.0)
        if read_number(concentrated, "epsilon") >= pure:
            return concentrated, float_at_most(self.converted)
        return float_at_most(pure), 0.0
