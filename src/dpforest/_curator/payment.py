"""Paying for a query: turn a share of a pool into a charge on the ledger and the mechanism that it buys.

This is the one place where a mechanism meets a private table. Only `queries` and `sums` call it. A payment
returns the mechanism itself, fixed at what was paid for: a query cannot run one without having paid, nor at
another rate, because it never sees a rate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpforest import mechanisms
from dpforest._curator.observer import Look, Observer
from dpforest.mechanisms import Gradient, Problem, RandomWords, Rate, Steer
from dpforest.privacy import (
    BudgetPlan,
    Event,
    Ledger,
    NeighboringRelation,
    PrivacyError,
    Query,
    exponential_epsilon_from_rho,
    gaussian_variance_from_rho,
    pure_epsilon_from_rho,
)
from dpforest.privacy.exact import float_at_least

EXPONENTIAL, PERMUTE_AND_FLIP = "exponential mechanism", "permute-and-flip"
NESTED = "nested exponential mechanism"
NESTED_OR_RIVAL = "nested exponential mechanism with rivals"
NAMED = "nested exponential mechanism with classes"
BOUNDED_RANGE = (EXPONENTIAL, NESTED, NESTED_OR_RIVAL, NAMED)  # all of them exponential mechanisms
LAPLACE, GAUSSIAN, BLOCK_NORM = "discrete Laplace", "discrete Gaussian", "block norm"
PERTURBED = "objective perturbation"
NO_CANDIDATE = -1
_SHARPEST = Fraction(2**20)  # a rate at which a gap of one unit decides and ties are broken at random

Mechanism: TypeAlias = Callable[..., NDArray[np.int64]]
# Private scores and public base weights (0: not a candidate; left out: all alike) in, the index of one
# candidate in every row out; `NO_CANDIDATE` where there is none.
Choice: TypeAlias = Mechanism


class PairLeaves(Protocol):
    """Cuts of two levels: what their tables say of leaves (`pairs.PairCandidates`)."""

    def soft_scores(self, tables: NDArray[Any], finely: mechanisms.SoftUnits) -> NDArray[np.int64]:
        """Score all cuts of both children of every cut, leaves by logarithms of sums over their classes."""

    def leaf_counts(self, tables: NDArray[Any], chosen: NDArray[np.int64]) -> NDArray[np.int64]:
        """Count the rows of the four leaves of chosen cuts by class."""


class Noisy(NamedTuple):
    """Released values and the standard deviation of the noise in each of them, 0 if there was none."""

    values: NDArray[np.int64]
    sd: float


class Noise(NamedTuple):
    """Noise that was paid for: a private table in, the same with noise out, and how much noise it is."""

    add: Mechanism
    sd: float

    def __call__(self, table: NDArray[Any]) -> Noisy:
        """Add it."""
        return Noisy(self.add(table), self.sd)


class Fit(NamedTuple):
    """A perturbed objective that was paid for.

    `minimum` takes what `dpforest.mechanisms.perturbed_minimum` takes of the rows, and returns where the
    minimum is, in units of 2**-grid, and grid.
    """

    minimum: Callable[[Gradient, Steer], tuple[NDArray[np.int64], int]]
    ridge: float


class Payments:
    """The ledger of one fit and the mechanisms that it pays for.

    Parameters
    ----------
    plan : BudgetPlan
        What may be spent.
    words : RandomWords
        Randomness of the mechanisms.
    on_charge : callable, optional
        Called with every event after it was charged.
    noiseless : bool
        Charge as usual, but answer exactly; the fit is then void of any promise.
    observer : Observer, optional
        Who watches a fit that is void of any promise.
    n_threads : int
        Threads that share the nodes of a choice.
    """

    def __init__(
        self,
        plan: BudgetPlan,
        words: RandomWords,
        on_charge: Callable[[Event], None] | None,
        noiseless: bool,
        observer: Observer | None = None,
        n_threads: int = 1,
    ) -> None:
        self.ledger = Ledger(plan)
        self._words = words
        self._on_charge = on_charge
        self._noiseless = noiseless
        self._observer = observer
        self._n_threads = n_threads

    @property
    def is_noiseless(self) -> bool:
        """Whether answers are exact, and the fit void of any promise."""
        return self._noiseless

    @property
    def _is_pure(self) -> bool:
        return self.ledger.plan.currency == "pure"

    def for_noise(
        self, pool: str, share: Fraction, query: Query, copies: int, l1: int, l2_squared: int
    ) -> Noise:
        """Charge for one noisy table and return the noise.

        Parameters
        ----------
        pool : str
            Pool that pays.
        share : Fraction
            Part of the pool.
        query : Query
            What the table is for.
        copies : int
            Tables that one row is counted in; each gets an equal part of the charge.
        l1, l2_squared : int
            How far one table moves between neighbours: L1 norm (pure) and squared L2 norm (zCDP).
        """
        amount = self.ledger.plan.amount(pool) * share / copies
        parameters: dict[str, Any] = {"trees_per_row": copies}
        if self._is_pure:
            rate = Rate.floor(amount / l1)
            parameters["noise_sd"] = math.sqrt(mechanisms.discrete_laplace_variance(rate))
            event = self._charge(pool, share, query, LAPLACE, parameters)
            look = Look(event, rate.value, copies, l1)
            add = self._sell_noise(look, lambda x: mechanisms.discrete_laplace(x, rate, self._words))
            return Noise(add, 0.0 if self._noiseless else parameters["noise_sd"])
        variance = gaussian_variance_from_rho(amount, l2_squared)
        drawn = mechanisms.discrete_gaussian_parameter(variance)  # no less than the variance asked for
        parameters["noise_sd"] = math.sqrt(drawn)
        event = self._charge(pool, share, query, GAUSSIAN, parameters)
        look = Look(event, drawn, copies, l2_squared)
        add = self._sell_noise(look, lambda x: mechanisms.discrete_gaussian(x, variance, self._words))
        return Noise(add, 0.0 if self._noiseless else parameters["noise_sd"])

    def for_naming(
        self, pool: str, share: Fraction, query: Query, columns: int, delta: Fraction
    ) -> tuple[Noise, int]:
        """Charge for counts of values that nobody declared; return the noise, and from where on to name them.

        A row adds 1 to one value of every column. Those that other rows hold too are a noisy table as any
        other. One that only the rows of one person hold is not in the neighbour's table at all; that any of
        these is named has a probability of at most `delta`, and otherwise the two tables are alike
        (`mechanisms.naming_threshold`). Pure epsilon beside the loose delta, only.
        """
        plan = self.ledger.plan
        if not self._is_pure or plan.relation is NeighboringRelation.LABEL_CHANGE:
            raise PrivacyError("Values are named under pure epsilon for whole rows, with a loose delta.")
        rate, rows = Rate.floor(plan.amount(pool) * share / columns), plan.max_rows_per_person
        threshold = mechanisms.naming_threshold(rate, delta, rows * columns, rows)
        sd = math.sqrt(mechanisms.discrete_laplace_variance(rate))
        parameters = {"trees_per_row": 1, "noise_sd": sd, "threshold": threshold, "loose_delta": delta}
        event = self._charge(pool, share, query, LAPLACE, parameters)
        look = Look(event, rate.value, 1, columns)
        add = self._sell_noise(look, lambda x: mechanisms.discrete_laplace(x, rate, self._words))
        return Noise(add, 0.0 if self._noiseless else sd), threshold

    def for_sums(
        self, pool: str, share: Fraction, query: Query, blocks: list[int], bound: int
    ) -> tuple[Mechanism, NDArray[np.float64]]:
        """Charge for vectors of sums of which a row moves one, and no block of it by more than `bound` in L1.

        Returns the noise, for tables with one vector per row, and the variance of every coordinate. Under
        zCDP the noise is Gaussian: a block's L2 norm is at most its L1 norm, so the squared L2 norm of all
        blocks together moves by at most bound**2 times their number.
        """
        amount, size = self.ledger.plan.amount(pool) * share, sum(blocks)
        parameters: dict[str, Any] = {"trees_per_row": 1, "blocks": len(blocks), "bound": bound}
        if self._is_pure:
            rate = mechanisms.block_norm_rate(amount / bound, size)
            by_block = [mechanisms.block_norm_variance(block, size, rate) for block in blocks]
            spread = np.repeat(by_block, blocks)
            parameters["noise_sd"] = math.sqrt(spread[0])
            event = self._charge(pool, share, query, BLOCK_NORM, parameters)
            look = Look(event, rate.value, 1, bound, tuple(blocks))
            noise = self._sell_noise(look, lambda x: mechanisms.block_norm(x, blocks, rate, self._words))
        else:
            squared = len(blocks) * bound**2
            variance = gaussian_variance_from_rho(amount, squared)
            spread = np.full(size, float(variance))
            parameters["noise_sd"] = math.sqrt(spread[0])
            event = self._charge(pool, share, query, GAUSSIAN, parameters)
            look = Look(event, mechanisms.discrete_gaussian_parameter(variance), 1, squared)
            noise = self._sell_noise(look, lambda x: mechanisms.discrete_gaussian(x, variance, self._words))
        return noise, np.zeros(size) if self._noiseless else spread

    def for_fit(self, pool: str, share: Fraction, query: Query, problem: Problem) -> Fit:
        """Charge for the minimum of a convex objective of the rows; pure epsilon only.

        An observer sees, beside the answer, the gradient of the rows there, in units of the linear term: with
        the same answer it moves between neighbours by what the linear term hides.
        """
        if not self._is_pure:
            raise PrivacyError("Perturbed objectives are priced in pure epsilon.")
        terms = mechanisms.terms(problem, self.ledger.plan.amount(pool) * share)
        variance = mechanisms.block_norm_variance(problem.blocks[0], sum(problem.blocks), terms.rate)
        sd = math.ldexp(math.sqrt(variance), -terms.bits)
        parameters = {
            "trees_per_row": 1,
            "blocks": len(problem.blocks),
            "ridge": terms.known.ridge,
            "noise_sd": sd,
        }
        event = self._charge(pool, share, query, PERTURBED, parameters)
        shape = sum(problem.blocks), problem.n_outputs
        look = Look(event, terms.rate.value, 1, terms.hides, problem.blocks)

        def minimum(gradient: Gradient, steer: Steer) -> tuple[NDArray[np.int64], int]:
            def run(_: NDArray[np.int64]) -> NDArray[np.int64]:
                if self._noiseless:
                    return mechanisms.rounded_minimum(terms, gradient, steer, np.zeros(shape))
                return mechanisms.perturbed_minimum(problem, terms, gradient, steer, self._words)

            answer = self._sell(look, run)(np.zeros(shape[::-1], np.int64))
            if self._observer is not None:
                w = np.ldexp(answer.astype(np.float64), -terms.grid)
                w *= min(1.0, 60 / max(np.sqrt((w**2).sum()), 1e-300))  # inside of `LONGEST`
                position = np.rint(np.ldexp(w, mechanisms.POSITION_BITS)).astype(np.int64)
                there = np.trunc(np.ldexp(gradient(position), terms.bits)).astype(np.int64).T
                self._sell(look, np.zeros_like)(there)
            return answer, terms.grid

        return Fit(minimum, terms.known.ridge)

    def for_choice(
        self,
        pool: str,
        share: Fraction,
        query: Query,
        copies: int,
        score_range: int,
        mechanism: str,
        leaves: PairLeaves | None = None,
    ) -> Choice:
        """Charge for one choice in every node and return the mechanism that makes it.

        Parameters
        ----------
        pool, share, query, copies
            As in `for_noise`.
        score_range : int
            Range W of the score between neighbours.
        mechanism : str
            One of `BOUNDED_RANGE`, which cost epsilon**2 / 8 under zCDP, or `PERMUTE_AND_FLIP`, which costs
            epsilon**2 / 2.
        leaves : PairLeaves, optional
            Of `NAMED`, how its tables are scored, and counts of leaves; public.
        """
        amount = self.ledger.plan.amount(pool) * share / copies
        if self._is_pure:
            epsilon = amount
        elif mechanism in BOUNDED_RANGE:
            epsilon = exponential_epsilon_from_rho(amount)
        else:
            epsilon = pure_epsilon_from_rho(amount)
        if self._noiseless:
            epsilon = _SHARPEST * score_range
        unit, is_nested = 1, mechanism in (NESTED, NESTED_OR_RIVAL, NAMED)
        if is_nested:  # scores are weighed in finer units, and pay for their rounding
            widened = mechanisms.named_range if mechanism == NAMED else mechanisms.nested_range
            unit, score_range = mechanisms.NESTED_UNIT, widened(score_range)
        rate = Rate.floor(epsilon * unit / score_range)
        if is_nested and rate.value < mechanisms.SMALLEST_NESTED_RATE.value:
            raise ValueError("The budget is too small for a nested choice; choose one level at a time.")
        parameters = {"trees_per_row": copies, "epsilon": float_at_least(epsilon), "score_range": score_range}
        event = self._charge(pool, share, query, mechanism, parameters)
        look = Look(event, rate.value / unit, copies, score_range)
        if mechanism == NESTED:
            return self._sell(
                look,
                lambda scores, base: mechanisms.nested_exponential(
                    scores[:, 0], scores[:, 1], base, rate, self._words, self._n_threads
                ),
            )
        if mechanism == NESTED_OR_RIVAL:
            return self._sell(look, partial(_nested_or_rival, rate, self._words, self._n_threads))
        if mechanism == NAMED:
            return self._sell(look, partial(_named, rate, self._words, self._n_threads, leaves))
        if mechanism == PERMUTE_AND_FLIP:
            return self._sell(look, lambda scores: mechanisms.permute_and_flip(scores, rate, self._words))
        return self._sell(
            look, lambda scores, base=None: _choose(scores, base, rate, self._words, self._n_threads)
        )

    def free_choice(self, coins: RandomWords) -> Choice:
        """Return the choice of the best, ties broken with public coins, for scores that are public."""
        if self.ledger.plan.relation is not NeighboringRelation.LABEL_CHANGE:
            raise PrivacyError("Features are private here; they are public only under label privacy.")

        def choose(scores: NDArray[np.int64], base: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
            if self._observer is not None:
                self._observer.unpaid(scores)
            return _choose(scores, base, Rate.floor(_SHARPEST), coins, self._n_threads)

        return choose

    def _charge(
        self, pool: str, share: Fraction, query: Query, mechanism: str, parameters: dict[str, Any]
    ) -> Event:
        event = self.ledger.charge(pool, share, mechanism=mechanism, query=query, parameters=parameters)
        if self._on_charge is not None:
            self._on_charge(event)
        return event

    def _sell_noise(self, look: Look, noise: Mechanism) -> Mechanism:
        return self._sell(look, np.asarray if self._noiseless else noise)

    def _sell(self, look: Look, mechanism: Mechanism) -> Mechanism:
        """Hand out a mechanism that was paid for; an observer, if there is one, stands in front of it."""
        observer = self._observer
        if observer is None:
            return mechanism
        return lambda table, *public: observer.answer(look, mechanism, table, *public)


def _choose(
    scores: NDArray[np.int64],
    base: NDArray[np.int64] | None,
    rate: Rate,
    words: RandomWords,
    n_threads: int,
) -> NDArray[np.int64]:
    """Run the exponential mechanism in every row that has a candidate; which rows have one is public."""
    weights = np.ones_like(scores) if base is None else base
    can_choose = weights.any(axis=1)
    if len(scores) and can_choose.all():
        return mechanisms.exponential(scores, weights, rate, words, n_threads)
    chosen = np.full(len(scores), NO_CANDIDATE, np.int64)
    if can_choose.any():
        some = scores[can_choose], weights[can_choose]
        chosen[can_choose] = mechanisms.exponential(*some, rate, words, n_threads)
    return chosen


def _nested_or_rival(
    rate: Rate,
    words: RandomWords,
    n_threads: int,
    table: NDArray[np.int64],
    base: NDArray[np.int64],
    odds: NDArray[np.float64],
) -> NDArray[np.int64]:
    """Run the mechanism on one table that holds the scores of cuts and, behind them, of their rivals."""
    scores, rivals = with_rivals(table, base)
    return mechanisms.nested_or_rival(
        scores[:, 0], scores[:, 1], base, rate, rivals, float(odds[0]), words, n_threads
    )


def _named(
    rate: Rate,
    words: RandomWords,
    n_threads: int,
    leaves: PairLeaves | None,
    tables: NDArray[Any],
    base: NDArray[np.int64],
    first_group: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Run the mechanism on the rows of nodes by pairs of groups, which all counts of leaves follow from.

    `first_group` says where the groups of every column begin: who measures how far tables move needs it.
    """
    if leaves is None:
        raise TypeError("Classes of leaves need to know how leaves are counted.")
    scores = leaves.soft_scores(tables, mechanisms.soft_units(rate))
    counts = partial(leaves.leaf_counts, tables)
    return mechanisms.named_exponential(scores[:, 0], scores[:, 1], base, rate, counts, words, n_threads)


def with_rivals(
    table: NDArray[np.int64], base: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Take such a table apart: scores of shape (rows, 2, m, m), and of the rivals (rows, k)."""
    rows, m = base.shape
    return table[:, : 2 * m * m].reshape(rows, 2, m, m), table[:, 2 * m * m :]
