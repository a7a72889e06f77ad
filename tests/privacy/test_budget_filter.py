"""The accountant's rule against the worst analyst who picks every next step from what came before."""

import math
from fractions import Fraction
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.privacy import BudgetPlan, Cost, epsilon_to_rho
from dpforest.privacy.budget.filter import BudgetFilter

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
