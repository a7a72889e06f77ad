"""One budget over many fits, in one process: the ceiling, the messages, the identity."""

import contextvars
import copy
import gc
import os
import pickle
import stat
import threading
from fractions import Fraction

import pytest
from sklearn.base import BaseEstimator, clone

from dpforest.privacy import (
    BudgetAccountant,
    BudgetExceededError,
    BudgetPlan,
    BudgetStoreError,
    Charge,
    Cost,
    NeighboringRelation,
    PrivacyError,
    epsilon_to_rho,
)

ADD, REPLACE, LABEL = NeighboringRelation


def plan(epsilon, delta=0.0, relation=ADD, rows=1):
    return BudgetPlan.divide(epsilon, delta, {"all": 1}, relation, rows)


def test_ten_fits_at_a_tenth_meet_a_ceiling_of_one_exactly():
    accountant = BudgetAccountant(epsilon=1.0)
    for number in range(10):
        accountant.spend(plan(0.1), label=f"fit {number}")
    assert accountant.total() == (1.0, 0.0)
    assert accountant.remaining() == (0.0, 0.0)
    assert len(accountant) == 10
    assert [spend.label for spend in accountant.history()] == [f"fit {number}" for number in range(10)]
    with pytest.raises(BudgetExceededError):
        accountant.spend(plan(1e-9))
    assert len(accountant) == 10


def test_refusal_tells_requested_remaining_ceiling_and_remedy():
    accountant = BudgetAccountant(epsilon=3.0)
    accountant.spend(plan(2.5))
    with pytest.raises(BudgetExceededError) as refusal:
        accountant.check(plan(1.0))
    message = str(refusal.value)
    for words in ("requested epsilon = 1,", "remaining epsilon = 0.5", "ceiling epsilon = 3", "ask for less"):
        assert words in message
    assert isinstance(pickle.loads(pickle.dumps(refusal.value)), BudgetExceededError)


def test_checking_spends_nothing():
    accountant = BudgetAccountant(epsilon=1.0)
    for _ in range(5):
        accountant.check(plan(1.0))
    assert accountant.total() == (0.0, 0.0)
    assert len(accountant) == 0


def test_an_unused_accountant_is_true():
    """So that ``accountant or default`` never drops the user's accountant before its first spend."""
    assert BudgetAccountant(epsilon=1.0)


def test_a_plan_as_large_as_the_ceiling_is_granted_once():
    accountant = BudgetAccountant(epsilon=1.0, delta=1e-6)
    accountant.spend(plan(1.0, 1e-6))
    epsilon, delta = accountant.total()
    assert 0.999999 < epsilon <= 1
    assert delta == 1e-6
    with pytest.raises(BudgetExceededError):
        accountant.spend(plan(0.01, 1e-6))


def test_zcdp_fits_compose_better_than_their_epsilons_add():
    accountant = BudgetAccountant(epsilon=1.0, delta=1e-6)
    fits = epsilon_to_rho(1.0, 1e-6) // epsilon_to_rho(0.1, 1e-6)
    assert fits > 50
    for _ in range(fits):
        accountant.spend(plan(0.1, 1e-6))
    with pytest.raises(BudgetExceededError):
        accountant.spend(plan(0.1, 1e-6))
    assert 0.9 < accountant.total()[0] <= 1


def test_refusal_says_when_only_pure_plans_still_fit():
    with pytest.raises(BudgetExceededError, match=r"this budget has delta = 0 .*budget create --delta"):
        BudgetAccountant(epsilon=1.0).spend(plan(0.01, 1e-6))
    accountant = BudgetAccountant(epsilon=1.0, delta=1e-6)
    accountant.spend(plan(0.5))
    with pytest.raises(BudgetExceededError, match=r"remaining epsilon = 0.5, delta = 0; .* only plans with"):
        accountant.spend(plan(0.1, 1e-6))
    accountant.spend(plan(0.5))


@pytest.mark.parametrize("other", [plan(0.1, relation=REPLACE), plan(0.1, relation=LABEL), plan(0.1, rows=2)])
def test_promises_for_different_neighbours_are_never_added(other):
    accountant = BudgetAccountant(epsilon=1.0)
    accountant.spend(plan(0.1))
    for ask in (accountant.check, accountant.spend):
        with pytest.raises(PrivacyError, match="ADD_OR_REMOVE_ONE, at most 1"):
            ask(other)
    assert len(accountant) == 1
    fresh = BudgetAccountant(epsilon=1.0)
    fresh.spend(other)
    with pytest.raises(PrivacyError, match="one accountant each"):
        fresh.spend(plan(0.1))


def test_bare_costs_are_charged_for_the_relation_they_name():
    accountant = BudgetAccountant(epsilon=1.0, delta=1e-6)
    accountant.spend(Cost.pure(0.1), "a count", relation=REPLACE, max_rows_per_person=2)
    accountant.spend(plan(0.1, relation=REPLACE, rows=2))
    with pytest.raises(PrivacyError):
        accountant.spend(Cost.zcdp(0.001))
    assert accountant.total() == (0.2, 0.0)
    with pytest.raises(TypeError, match="a plan states its own relation"):
        accountant.spend(plan(0.1), relation=ADD)
    with pytest.raises(TypeError, match=r"got float: write Cost.pure\(0.5\)"):
        accountant.spend(0.5)


def test_history_is_exact():
    accountant = BudgetAccountant(epsilon=1.0, delta=1e-6)
    accountant.spend(plan(Fraction(1, 30)))
    accountant.spend(plan(0.1, 1e-6), label="Bäume")
    one, two = accountant.history()
    assert one.cost == Cost.pure(Fraction(1, 30))
    assert two.cost == Cost.zcdp(epsilon_to_rho(0.1, 1e-6))
    assert (two.label, two.relation, two.max_rows_per_person) == ("Bäume", ADD, 1)


def test_no_public_way_to_get_budget_back():
    public = {name for name in dir(BudgetAccountant) if not name.startswith("_")}
    asking = {"epsilon", "delta", "dataset", "check", "total", "remaining", "history", "verify", "current"}
    asking |= {"find", "find_charge", "neighbours"}
    assert public == asking | {"create", "open", "charging", "reserve", "spend"}
    assert {name for name in dir(Charge) if not name.startswith("_")} == {
        "check_process",
        "follow",
        "receipt",
        "settle",
    }
    with pytest.raises(ValueError, match="cost"):
        BudgetAccountant(epsilon=1.0).spend(Cost.pure(-0.1))


@pytest.mark.parametrize(("epsilon", "delta"), [(0, 0), (float("inf"), 0), (1.0, 1.0), (float("nan"), 0)])
def test_useless_ceilings_are_refused(epsilon, delta):
    with pytest.raises(ValueError, match="must"):
        BudgetAccountant(epsilon, delta)


class Holder(BaseEstimator):
    def __init__(self, accountant=None):
        self.accountant = accountant


def test_one_identity_however_it_is_copied():
    accountant = BudgetAccountant(epsilon=1.0)
    assert clone(accountant, safe=False) is accountant
    assert clone(Holder(accountant)).accountant is accountant
    assert copy.copy(accountant) is accountant
    assert copy.deepcopy({"inside": [accountant]})["inside"][0] is accountant
    assert pickle.loads(pickle.dumps(accountant)) is accountant
    assert repr(Holder(accountant)) == "Holder(accountant=BudgetAccountant(epsilon=1.0, delta=0.0))"


def test_a_handle_whose_record_is_gone_fails_closed():
    accountant = BudgetAccountant(epsilon=1.0)
    frozen = pickle.dumps(accountant)
    directory = accountant._store._database.path.parent
    assert directory.exists()
    if os.name == "posix":
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    del accountant
    gc.collect()
    assert not directory.exists()
    ghost = pickle.loads(frozen)
    assert "epsilon=1.0" in repr(ghost)
    for ask in (ghost.spend, ghost.check):
        with pytest.raises(BudgetStoreError, match="nothing is granted"):
            ask(plan(0.1))
    assert not directory.exists()  # asking must not make a fresh, empty budget


def test_a_record_of_another_budget_is_not_accepted():
    accountant, other = BudgetAccountant(epsilon=1.0), BudgetAccountant(epsilon=1.0)
    file = accountant._store._database.path
    file.write_bytes(other._store._database.path.read_bytes())
    with pytest.raises(BudgetStoreError, match="another accountant"):
        accountant.spend(plan(0.1))
    file.write_bytes(b"not a database at all" * 100)
    with pytest.raises(BudgetStoreError, match="cannot be reached"):
        accountant.spend(plan(0.1))


def test_with_makes_the_default_of_the_context_and_nests():
    outer, inner = BudgetAccountant(epsilon=1.0), BudgetAccountant(epsilon=2.0)
    assert BudgetAccountant.current() is None
    with outer as entered:
        assert entered is outer is BudgetAccountant.current()
        with inner, outer:
            assert BudgetAccountant.current() is outer
        with pytest.raises(BudgetExceededError), inner:
            BudgetAccountant.current().spend(plan(1.5 * inner.epsilon))
        assert BudgetAccountant.current() is outer
        seen = []
        thread = threading.Thread(target=lambda: seen.append(BudgetAccountant.current()))
        thread.start()
        thread.join()
        assert seen == [outer]  # a thread that has entered none works for who has
        assert contextvars.copy_context().run(BudgetAccountant.current) is outer
    assert BudgetAccountant.current() is None


def test_blocks_may_end_in_another_order_than_they_began():
    """A fit inside a block that is still open must not be charged to one that is over."""

    def block(accountant):
        with accountant:
            yield

    first, second, third = (BudgetAccountant(epsilon=1.0) for _ in range(3))
    blocks = [block(accountant) for accountant in (first, second, third)]
    for one in blocks:
        next(one)
    blocks[1].close()
    assert BudgetAccountant.current() is third
    blocks[2].close()
    assert BudgetAccountant.current() is first
    blocks[0].close()
    assert BudgetAccountant.current() is None
