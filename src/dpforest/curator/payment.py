"""Paying for a look: turn a share of a pool into a charge on the ledger and the mechanism that it buys.

Only `queries` calls this. A payment returns what the mechanism may be run at, so a query cannot run one
without having paid, nor at another rate than it paid for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest import mechanisms
from dpforest.mechanisms import RandomWords, Rate
from dpforest.privacy import (
    BudgetPlan,
    Event,
    Ledger,
    exponential_epsilon_from_rho,
    gaussian_variance_from_rho,
    pure_epsilon_from_rho,
)

EXPONENTIAL, PERMUTE_AND_FLIP = "exponential mechanism", "permute-and-flip"


class Payments:
    """The ledger of one fit and the noise that it pays for.

    Parameters
    ----------
    plan : BudgetPlan
        What may be spent.
    words : RandomWords
        Randomness of the noise.
    on_charge : callable, optional
        Called with every event after it was charged.
    noiseless : bool
        Charge as usual, but answer exactly; the fit is then void of any promise.
    """

    def __init__(
        self, plan: BudgetPlan, words: RandomWords, on_charge: Callable[[Event], None] | None, noiseless: bool
    ) -> None:
        self.ledger = Ledger(plan)
        self._words = words
        self._on_charge = on_charge
        self._noiseless = noiseless

    @property
    def _is_pure(self) -> bool:
        return self.ledger.plan.currency == "pure"

    def for_noise(
        self, pool: str, share: Fraction, purpose: str, copies: int, l1: int, l2_squared: int
    ) -> Callable[[NDArray[np.int64]], NDArray[np.int64]]:
        """Charge for one noisy table and return the noise.

        Parameters
        ----------
        pool : str
            Pool that pays.
        share : Fraction
            Part of the pool.
        purpose : str
            What the table is for.
        copies : int
            Tables that one row is counted in; each gets an equal part of the charge.
        l1, l2_squared : int
            How far one table moves between neighbours: L1 norm (pure) and squared L2 norm (zCDP).
        """
        amount = self.ledger.plan.amount(pool) * share / copies
        if self._is_pure:
            rate = Rate.floor(amount / l1)
            name, sd = "discrete Laplace", math.sqrt(mechanisms.discrete_laplace_variance(rate))
        else:
            variance = gaussian_variance_from_rho(amount, l2_squared)
            name, sd = "discrete Gaussian", math.sqrt(mechanisms.discrete_gaussian_parameter(variance))
        self._charge(pool, share, purpose, name, {"trees_per_row": copies, "noise_sd": sd})
        if self._noiseless:
            return lambda counts: counts
        if self._is_pure:
            return lambda counts: mechanisms.discrete_laplace(counts, rate, self._words)
        return lambda counts: mechanisms.discrete_gaussian(counts, variance, self._words)

    def for_sums(
        self, pool: str, share: Fraction, purpose: str, blocks: list[int], bound: int
    ) -> tuple[Callable[[NDArray[np.int64]], NDArray[np.int64]], NDArray[np.float64]]:
        """Charge for vectors of sums of which a row moves one, and no block of it by more than `bound` in L1.

        Returns the noise, for tables with one vector per row, and the variance of every coordinate. Under
        zCDP the noise is Gaussian: a block's L2 norm is at most its L1 norm, so the squared L2 norm of all
        blocks together moves by at most bound**2 times their number.
        """
        amount, size = self.ledger.plan.amount(pool) * share, sum(blocks)
        if self._is_pure:
            rate = Rate.floor(amount / bound)
            by_block = [mechanisms.block_norm_variance(block, size, rate) for block in blocks]
            name, variance = "block norm", np.repeat(by_block, blocks)
        else:
            wanted = gaussian_variance_from_rho(amount, len(blocks) * bound**2)
            name, variance = "discrete Gaussian", np.full(size, float(wanted))
        parameters = {"trees_per_row": 1, "noise_sd": math.sqrt(variance[0]), "blocks": len(blocks)}
        self._charge(pool, share, purpose, name, {**parameters, "bound": bound})
        if self._noiseless:
            return lambda sums: sums, np.zeros(size)
        if self._is_pure:
            return lambda sums: mechanisms.block_norm(sums, blocks, rate, self._words), variance
        return lambda sums: mechanisms.discrete_gaussian(sums, wanted, self._words), variance

    def for_choice(
        self, pool: str, share: Fraction, purpose: str, copies: int, score_range: int, mechanism: str
    ) -> Fraction:
        """Charge for one choice in every node and return the epsilon to make it with.

        Parameters
        ----------
        pool, share, purpose, copies
            As in `for_noise`.
        score_range : int
            Range W of the score between neighbours.
        mechanism : str
            `EXPONENTIAL` or `PERMUTE_AND_FLIP`; under zCDP the first costs epsilon**2 / 8 (bounded range),
            the second epsilon**2 / 2.
        """
        amount = self.ledger.plan.amount(pool) * share / copies
        if self._is_pure:
            epsilon = amount
        elif mechanism == EXPONENTIAL:
            epsilon = exponential_epsilon_from_rho(amount)
        else:
            epsilon = pure_epsilon_from_rho(amount)
        if self._noiseless:
            epsilon = Fraction(2**20) * score_range  # a gap of one unit decides, ties are broken at random
        parameters = {"trees_per_row": copies, "epsilon": float(epsilon), "score_range": score_range}
        self._charge(pool, share, purpose, mechanism, parameters)
        return epsilon

    def _charge(
        self, pool: str, share: Fraction, purpose: str, mechanism: str, parameters: dict[str, Any]
    ) -> None:
        event = self.ledger.charge(pool, share, mechanism=mechanism, purpose=purpose, parameters=parameters)
        if self._on_charge is not None:
            self._on_charge(event)
