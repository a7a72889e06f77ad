"""A plan divides a promise exactly, and refuses to promise more than it has."""

import json
import math
import pickle
import subprocess
import sys
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from dpforest.privacy import (
    BudgetPlan,
    Cost,
    NeighboringRelation,
    Pool,
    epsilon_to_rho,
    gaussian_variance_from_rho,
)
from dpforest.privacy.exact import float_at_least

ADD, REPLACE, LABEL = NeighboringRelation


def test_pure_amounts_are_exact():
    plan = BudgetPlan.divide(0.3, 0.0, {"a": 0.1, "b": 0.2, "c": 0.7})
    assert plan.currency == "pure"
    assert [plan.amount(name) for name in "abc"] == [Fraction(3, 100), Fraction(6, 100), Fraction(21, 100)]
    assert plan.cost == Cost.pure(0.3)


def test_zcdp_plan_converts_the_whole_promise_once():
    plan = BudgetPlan.divide(1.0, 1e-6, {"splits": 0.5, "leaves": 0.5})
    assert plan.currency == "zcdp"
    assert plan.amount("splits") + plan.amount("leaves") == epsilon_to_rho(1.0, 1e-6) == plan.cost.rho
    assert not plan.cost.is_pure


@pytest.mark.parametrize(("relation", "steps"), [(ADD, 3), (REPLACE, 6), (LABEL, 3)])
def test_rows_of_a_person_divide_epsilon_and_rho_by_square(relation, steps):
    pure = BudgetPlan.divide(1.0, 0.0, {"all": 1}, relation, 3)
    assert pure.amount("all") == Fraction(1, steps)
    assert pure.cost == Cost.pure(1)
    zcdp = BudgetPlan.divide(1.0, 1e-6, {"all": 1}, relation, 3)
    assert zcdp.amount("all") * steps**2 == epsilon_to_rho(1.0, 1e-6) == zcdp.cost.rho


@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_gaussian_noise_hides_a_whole_person(relation):
    """Exact delta of Gaussian counts when one person's rows move the count as far as they can."""
    rows, delta = 4, 1e-6
    plan = BudgetPlan.divide(1.0, delta, {"all": 1}, relation, rows)
    moved = rows if relation is ADD else 2 * rows
    shift = moved / math.sqrt(gaussian_variance_from_rho(plan.amount("all"), 1))
    true_delta = norm.cdf(shift / 2 - 1 / shift) - math.e * norm.cdf(-shift / 2 - 1 / shift)
    assert true_delta < delta
    # Dividing rho by the number of steps instead of its square would break the promise.
    shift *= math.sqrt(moved)
    assert norm.cdf(shift / 2 - 1 / shift) - math.e * norm.cdf(-shift / 2 - 1 / shift) > delta


def test_parts_of_the_table_count_once():
    plan = BudgetPlan.divide(
        1.0, 0.0, [Pool("n", 0.1), Pool("train", 0.9, rows="training"), Pool("score", 0.6, rows="held out")]
    )
    assert plan.amount("train") == Fraction(9, 10)
    with pytest.raises(ValueError, match="exceed the budget"):
        BudgetPlan.divide(1.0, 0.0, [Pool("n", 0.2), Pool("train", 0.9, rows="training")])
    with pytest.raises(ValueError, match="exceed the budget"):
        BudgetPlan.divide(1.0, 0.0, [Pool("a", 0.6, rows="training"), Pool("b", 0.6, rows="training")])


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.fractions(0, 1), st.sampled_from(["all rows", "left", "right"])), min_size=1, max_size=8
    ),
    st.sampled_from([0.0, 1e-6]),
)
def test_accepted_plans_spend_at_most_the_promise_on_every_row(pools, delta):
    pools = [Pool(str(number), share, rows=rows) for number, (share, rows) in enumerate(pools)]
    try:
        plan = BudgetPlan.divide(1, delta, pools)
    except ValueError:
        on = {
            rows: sum(pool.share for pool in pools if pool.rows in ("all rows", rows))
            for rows in ("left", "right")
        }
        assert max(on.values()) > 1 or not any(pool.share for pool in pools)
        return
    for part in ("left", "right"):
        seen = [plan.amount(pool.name) for pool in plan.pools if pool.rows in ("all rows", part)]
        assert sum(seen) <= plan.total


def test_a_share_of_zero_leaves_the_pool_out():
    plan = BudgetPlan.divide(1.0, 0.0, {"count": 0.0, "leaves": 1})
    assert "count" not in plan
    assert "leaves" in plan
    with pytest.raises(KeyError, match=r"no pool 'count'.*'leaves'"):
        plan.amount("count")


def test_thirds_of_floats_that_overflow_are_named():
    with pytest.raises(ValueError, match=r"exceed the budget by 1e-16.*Fraction\(1, 3\)"):
        BudgetPlan.divide(
            1.0, 0.0, {"a": 0.3333333333333333, "b": 0.3333333333333333, "c": 0.3333333333333335}
        )
    assert BudgetPlan.divide(1.0, 0.0, dict.fromkeys("abc", Fraction(1, 3))).total == 1


@pytest.mark.parametrize("shares", [{}, {"a": 0}, [Pool("a", 0.1), Pool("a", 0.1)]])
def test_pools_need_names_and_contents(shares):
    with pytest.raises(ValueError, match="at least one pool and distinct names"):
        BudgetPlan.divide(1.0, 0.0, shares)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"epsilon": math.inf}, ValueError, "non-private form"),
        ({"epsilon": math.nan}, ValueError, "finite"),
        ({"epsilon": True}, TypeError, "bool"),
        ({"epsilon": "1"}, TypeError, "str"),
        ({"delta": 1.0}, ValueError, "0 <= delta < 1"),
        ({"shares": {"a": -0.1}}, ValueError, "share of pool 'a'"),
        ({"shares": {"a": "half"}}, TypeError, "share of pool 'a'"),
        ({"relation": "replace_one"}, TypeError, "NeighboringRelation"),
        ({"max_rows_per_person": 0}, ValueError, "max_rows_per_person"),
    ],
)
def test_bad_parameters_are_named_with_a_remedy(change, error, words):
    with pytest.raises(error, match=words):
        BudgetPlan.divide(**{"epsilon": 1.0, "delta": 0.0, "shares": {"a": 1}, **change})


def test_printed_plan_shows_shares_amounts_and_promise():
    text = str(
        BudgetPlan.divide(
            2.0, 0.0, [Pool("splits", 0.25, "choose cuts"), Pool("leaves", 0.5, "count labels")], REPLACE, 2
        )
    )
    lines = text.splitlines()
    assert lines[0].split() == ["pool", "purpose", "rows", "share", "epsilon"]
    assert lines[1].split() == ["splits", "choose", "cuts", "all", "rows", "25%", "0.125"]
    assert lines[3].split() == ["total", "75%", "0.375"]
    assert "one person costs 4 times as much" in text
    assert "epsilon = 2, delta = 0 for replacing the rows of one person (at most 2 rows per person)" in text
    assert len({len(line) for line in lines[:4]}) == 1  # columns line up


def test_notes_name_the_single_step_and_the_parts():
    pools = [Pool("a", 0.5), Pool("b", 0.5, rows="odd"), Pool("c", 0.5, rows="even")]
    text = str(BudgetPlan.divide(1.0, 1e-6, pools, LABEL, 3))
    assert "rho is per label changed; one person costs 9 times as much" in text
    assert "the total counts the costliest part only" in text
    assert "one person costs" not in str(BudgetPlan.divide(1.0, 0.0, {"a": 1}))


def test_binary_floats_cannot_enter_a_plan_unread():
    with pytest.raises(TypeError, match=r"BudgetPlan\.divide"):
        BudgetPlan(0.1, Fraction(0), ADD, 1, (Pool("a", 1),))


def test_plan_as_data():
    plan = BudgetPlan.divide(1.0, 1e-6, [Pool("splits", 0.5, "<cuts>")])
    assert json.loads(json.dumps(plan.to_records()))[0]["rho"] == float_at_least(plan.amount("splits"))
    assert list(plan.to_frame().columns) == ["pool", "purpose", "rows", "share", "rho"]
    assert "&lt;cuts&gt;" in plan._repr_html_()
    assert pickle.loads(pickle.dumps(plan)) == plan
    assert plan.guarantee.epsilon == 1.0


def test_a_plan_cannot_be_changed():
    plan = BudgetPlan.divide(1.0, 0.0, {"a": 1})
    with pytest.raises(AttributeError):
        plan.epsilon = Fraction(100)
    with pytest.raises(AttributeError):
        plan.pools[0].share = Fraction(100)


def test_promise_on_the_model_is_never_below_the_plan():
    assert Fraction(repr(BudgetPlan.divide(Fraction(1, 3), 0, {"a": 1}).guarantee.epsilon)) >= Fraction(1, 3)


def test_planning_needs_neither_pandas_nor_numba_and_says_how_to_get_frames():
    code = """
import sys
sys.modules["pandas"] = None
from dpforest.privacy.plan import BudgetPlan
assert "numba" not in sys.modules and "matplotlib" not in sys.modules
try:
    BudgetPlan.divide(1.0, 0.0, {"a": 1}).to_frame()
except ImportError as missing:
    print(missing)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "dpforest[frames]" in done.stdout
