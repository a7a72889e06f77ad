"""The accountant's rule against the worst analyst who picks every next step from what came before."""

import math
import sqlite3
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from dpforest.privacy import (
    BudgetAccountant,
    BudgetExceededError,
    BudgetPlan,
    BudgetTamperedError,
    Cost,
    Ledger,
    epsilon_to_rho,
    rho_to_epsilon,
)
from dpforest.privacy.budget.chain import read_link
from dpforest.privacy.budget.filter import BudgetFilter
from dpforest.privacy.budget.records import Entry

CEILING, DELTA = 1, Fraction(1, 50)
# Randomized response at a tenth or four tenths: its log likelihood ratio is plus or minus that many tenths.
STEPS = [(size, pure) for size in (1, 4) for pure in (True, False)]


def worst_delta(grants) -> float:
    """Largest delta at epsilon = 1 over all adaptive analysts whose every step `grants` allows.

    delta = E[max(0, 1 - exp(1 - loss))] under the first neighbour, so the best next step depends on the loss
    so far and on what was spent: a finite game, solved exactly by looking ahead.
    """

    allowed = cache(lambda *counts: grants(dict(zip(STEPS, counts, strict=True))))

    @cache
    def value(loss: int, *counts: int) -> float:
        best = max(0.0, 1 - math.exp(CEILING - loss / 10))
        for position, (size, _) in enumerate(STEPS):
            after = (*counts[:position], counts[position] + 1, *counts[position + 1 :])
            if allowed(*after):
                nearer = 1 / (1 + math.exp(-size / 10))
                best = max(
                    best, nearer * value(loss + size, *after) + (1 - nearer) * value(loss - size, *after)
                )
        return best

    return value(0, 0, 0, 0, 0)


def cost(size: int, pure: bool) -> Cost:
    epsilon = Fraction(size, 10)
    return Cost.pure(epsilon) if pure else Cost.zcdp(epsilon**2 / 2)


def total(counts) -> Cost:
    return sum((count * cost(*step) for step, count in counts.items() if count), Cost.pure(0))


def test_worst_adaptive_analyst_stays_within_the_ceiling():
    rule = BudgetFilter.for_ceiling(CEILING, DELTA)
    assert worst_delta(lambda counts: rule.grants(total(counts))) <= DELTA


def test_the_game_catches_a_rule_that_keeps_two_separate_budgets():
    rho = epsilon_to_rho(CEILING, DELTA)

    def two_purses(counts) -> bool:
        pure = total({step: count for step, count in counts.items() if step[1]})
        rest = total({step: count for step, count in counts.items() if not step[1]})
        return pure.epsilon <= CEILING and rest.rho <= rho

    assert worst_delta(two_purses) > 2 * DELTA


def test_pure_ceiling_refuses_what_is_not_pure():
    rule = BudgetFilter.for_ceiling(1.0, 0.0)
    assert rule.grants(Cost.pure(1))
    assert not rule.grants(Cost.zcdp(Fraction(1, 10**12)))


def test_many_small_pure_steps_may_pass_epsilon_by_the_second_rule():
    rule = BudgetFilter.for_ceiling(1.0, 1e-6)
    many = 200 * Cost.pure(0.01)
    assert many.epsilon == 2
    assert rule.grants(many)
    epsilon, delta = rule.spent(many)
    assert epsilon < 1
    assert delta == 1e-6


def test_spent_prefers_the_smaller_statement():
    rule = BudgetFilter.for_ceiling(1.0, 1e-6)
    assert rule.spent(Cost.pure(0.5)) == (0.5, 0.0)
    assert rule.spent(Cost.pure(0)) == (0.0, 0.0)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.tuples(st.fractions(Fraction(1, 50), Fraction(1, 2), max_denominator=1000), st.booleans()),
        max_size=8,
    ),
    st.sampled_from([0.0, 1e-9, 1e-6, 0.01]),
)
def test_what_remains_can_be_spent_and_hardly_more(requests, delta):
    rule = BudgetFilter.for_ceiling(1.0, delta)
    so_far = Cost.pure(0)
    for epsilon, pure in requests:
        wish = so_far + BudgetPlan.divide(epsilon, 0 if pure or not delta else delta, {"all": 1}).cost
        if rule.grants(wish):
            so_far = wish
    assert rule.spent(so_far)[0] <= 1
    epsilon, rest_delta = rule.rest(so_far)
    assert rest_delta in (0.0, delta)
    if epsilon > 0:
        assert rule.grants(so_far + BudgetPlan.divide(epsilon, rest_delta, {"all": 1}).cost)
    more = epsilon * 1.001 + 1e-6
    for wish_delta in {0.0, delta}:
        assert not rule.grants(so_far + BudgetPlan.divide(more, wish_delta, {"all": 1}).cost)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_fresh_budget_remains_whole(delta):
    assert BudgetFilter.for_ceiling(0.7, delta).rest(Cost.pure(0)) == (0.7, delta)


# --- loose deltas ----------------------------------------------------------------------------------------


def test_loose_deltas_are_refused_unless_a_part_of_delta_was_set_aside():
    for delta in (0, 1e-6):
        accountant = BudgetAccountant(epsilon=1.0, delta=delta)
        with pytest.raises(BudgetExceededError, match="set aside"):
            accountant.spend(Cost.pure(0.1, 1e-9))
        assert len(accountant) == 0
    with pytest.raises(ValueError, match="part of delta"):
        BudgetAccountant(epsilon=1.0, delta=1e-7, loose_delta=1e-6)


def test_a_budget_with_loose_deltas_adds_them_and_converts_with_the_rest():
    accountant = BudgetAccountant(epsilon=1.0, delta=1e-6, loose_delta=4e-7)
    plain = BudgetFilter.for_ceiling(1.0, 6e-7)
    assert accountant.dataset.rule.rho == plain.rho
    accountant.spend(Cost.pure(0.1, 3e-7))
    assert accountant.total() == (0.1, 3e-7)
    accountant.check(Cost.zcdp(plain.rho - Fraction(1, 200)))
    with pytest.raises(BudgetExceededError):
        accountant.check(Cost.zcdp(plain.rho))
    with pytest.raises(BudgetExceededError, match="remaining 1e-07 of 4e-07"):
        accountant.spend(Cost.pure(0.1, 2e-7))
    accountant.spend(Cost.zcdp(0.001, 1e-7))
    epsilon, delta = accountant.total()
    assert delta == pytest.approx(1e-6)
    assert epsilon == rho_to_epsilon(Fraction(1, 200) + Fraction(1, 1000), Fraction(6, 10**7))
    rest = BudgetPlan.divide(*accountant.remaining(), {"all": 1})
    accountant.spend(rest)


def worst_with_loose_steps(grants, loose, epsilon=1) -> float:
    """`worst_delta` for an analyst who may also take steps that tell everything with probability `loose`."""
    kinds = [Cost.pure(0.4), Cost.zcdp(Fraction(4, 10) ** 2 / 2), Cost.pure(0.1, loose)]

    @cache
    def value(loss: int, *counts: int) -> float:
        best = max(0.0, 1 - math.exp(epsilon - loss / 10))
        for position in range(len(kinds)):
            after = (*counts[:position], counts[position] + 1, *counts[position + 1 :])
            taken = [n * kind for n, kind in zip(after, kinds, strict=True) if n]
            if not grants(sum(taken, Cost.pure(0))):
                continue
            size, lost = (4, 0) if position < 2 else (1, float(loose))
            nearer = 1 / (1 + math.exp(-size / 10))
            told = nearer * value(loss + size, *after) + (1 - nearer) * value(loss - size, *after)
            best = max(best, lost + (1 - lost) * told)
        return best

    return value(0, 0, 0, 0)


@pytest.mark.parametrize(
    ("ceiling", "delta", "aside"), [(1, "1/50", "1/100"), (1, "1/50", "1/50"), (2, "1/20", "3/200")]
)
def test_no_analyst_with_loose_steps_beats_the_ceiling(ceiling, delta, aside):
    """Exact, over all adaptive analysts of a finite game; without the limit for loose steps one does."""
    rule = BudgetFilter.for_ceiling(ceiling, Fraction(delta), Fraction(aside))
    worst = worst_with_loose_steps(rule.grants, Fraction(1, 200), ceiling)
    assert worst <= Fraction(delta)
    assert worst >= 0.9 * float(Fraction(aside)), "loose steps are granted at all"
    twice = replace(rule, loose=rule.delta + rule.loose)
    assert worst_with_loose_steps(twice.grants, Fraction(1, 200), ceiling) > Fraction(delta)


def test_one_loose_step_and_one_gaussian_step_in_closed_form():
    """The worst pair of both: randomised response that tells all with probability d, beside two Gaussians.

    The hockey-stick divergence of the pair is d + (1 - d) times that of the rest; it stays below delta.
    """
    loose, epsilon = Fraction(1, 1000), 0.5
    rule = BudgetFilter.for_ceiling(epsilon, Fraction(1, 100), loose)
    mean = math.sqrt(2 * float(rule.rho))  # N(0, 1) against N(mean, 1) is rho-zCDP, exactly
    apart = norm.cdf(mean / 2 - epsilon / mean) - math.exp(epsilon) * norm.cdf(-mean / 2 - epsilon / mean)
    assert rule.grants(Cost.zcdp(rule.rho, loose))
    assert float(loose) + (1 - float(loose)) * apart <= 0.01
    assert not rule.grants(Cost.zcdp(rule.rho, 2 * loose))


def test_plans_with_a_loose_delta_count_in_pure_epsilon_if_that_is_all_of_delta():
    pure = BudgetPlan.divide(1, 1e-6, {"all": 1}, loose_delta=1e-6)
    assert (pure.currency, pure.total, pure.guarantee.delta) == ("pure", 1, 1e-6)
    assert pure.cost == Cost.pure(1, 1e-6)
    both = BudgetPlan.divide(1, 1e-6, {"all": 1}, loose_delta=4e-7)
    assert both.total == BudgetPlan.divide(1, 6e-7, {"all": 1}).total
    assert both.cost == Cost.zcdp(both.total, 4e-7)
    for plan in (pure, both):
        assert BudgetPlan.from_dict(plan.to_dict()) == plan
        ledger = Ledger(plan)
        ledger.charge("all", 0.5, "threshold", "first", {"loose_delta": Fraction(3, 10**7)})
        with pytest.raises(BudgetExceededError, match="loose delta"):
            ledger.charge("all", 0.5, "threshold", "second", {"loose_delta": Fraction(8, 10**7)})
        assert Ledger.from_dict(ledger.to_dict()) == ledger
    with pytest.raises(ValueError, match="part of its delta"):
        BudgetPlan.divide(1, 1e-7, {"all": 1}, loose_delta=1e-6)
    record = both.to_dict() | {"loose_delta": "1/10000000"}
    ledger = ledger.to_dict() | {"plan": record}
    with pytest.raises(BudgetExceededError, match="loose delta"):
        Ledger.from_dict(ledger)


@pytest.mark.parametrize("change", [{"delta": "1/2"}, {"delta": "1/2", "total_delta": "1/2"}])
def test_a_loose_delta_that_was_never_granted_is_found(tmp_path, change):
    """A forger who rewrites the hash too: totals must add up, and stay below what was set aside."""
    accountant = BudgetAccountant.create(
        tmp_path / "b.db", dataset="d", epsilon=1, delta=0.5, loose_delta=0.1
    )
    accountant.spend(Cost.pure(0.5, 0.05))
    with closing(sqlite3.connect(tmp_path / "b.db", isolation_level=None)) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        entry = replace(
            read_link(Entry, connection.execute("SELECT * FROM dpforest_charges").fetchone()), **change
        )
        columns = ", ".join(f"{field} = ?" for field in [*change, "hash"])
        connection.execute(f"UPDATE dpforest_charges SET {columns}", (*change.values(), entry.hash))
    with pytest.raises(BudgetTamperedError):
        BudgetAccountant.open(tmp_path / "b.db", dataset="d").verify()
