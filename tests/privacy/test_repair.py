"""A broken record grants nothing; its owner can let it grant again, under protocol; nothing is removed."""

import sqlite3
from contextlib import closing

import pytest

from dpforest.privacy import (
    BudgetAccountant,
    BudgetStoreError,
    BudgetTamperedError,
    Cost,
    repair_budget,
    verify_budgets,
)


@pytest.fixture
def broken(address):
    """A budget of 3 with charges of 1, 1/2 and 1/4, the second of which somebody made look smaller."""
    accountant = BudgetAccountant.create(address, dataset="patients", epsilon=3.0)
    for epsilon in (1, 0.5, 0.25):
        accountant.spend(Cost.pure(epsilon))
    break_in(address, "UPDATE dpforest_charges SET epsilon = '1/100' WHERE number = 2")
    return address


def break_in(address, statement):
    if "://" in address:
        import psycopg

        with psycopg.connect(address, autocommit=True) as owner:
            owner.execute("ALTER TABLE dpforest_charges DISABLE TRIGGER USER")
            owner.execute(statement)
            owner.execute("ALTER TABLE dpforest_charges ENABLE TRIGGER USER")
        return
    with closing(sqlite3.connect(address, isolation_level=None)) as connection:
        for change in ("update", "delete"):
            connection.execute(f"DROP TRIGGER IF EXISTS dpforest_charges_keeps_on_{change}")
        connection.execute(statement)


def test_a_repaired_record_grants_again_and_counts_at_least_what_was_charged(broken):
    with pytest.raises(BudgetTamperedError):
        verify_budgets(broken)
    place = repair_budget(broken, "patients", reason="entry 2 edited by hand", charge=Cost.pure(0.5))
    assert place.count == 4
    accountant = BudgetAccountant.open(broken, dataset="patients")
    assert accountant.total() == (1.75, 0.0)  # the last charge still matches its hash: counted by itself
    accountant.spend(Cost.pure(1))
    assert accountant.verify(place).count == 5
    assert [spend.state for spend in accountant.history()] == ["spent", "repaired", "spent"]
    assert accountant.history()[1].purpose == "entry 2 edited by hand"
    with pytest.raises(BudgetStoreError, match="nothing to repair"):
        repair_budget(broken, "patients", reason="again", charge=Cost.pure(0))


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE dpforest_charges SET epsilon = '1/2' WHERE number = 2",
        "DELETE FROM dpforest_charges WHERE number = 3",
        "UPDATE dpforest_charges SET total_epsilon = '0' WHERE number = 4",
        "DELETE FROM dpforest_charges WHERE number = 4",
    ],
)
def test_a_protocol_holds_what_it_vouched_for(broken, change):
    repair_budget(broken, "patients", reason="entry 2 edited", charge=Cost.pure(0.5))
    BudgetAccountant.open(broken, dataset="patients").spend(Cost.pure(0.1))
    break_in(broken, change)
    with pytest.raises(BudgetTamperedError):
        verify_budgets(broken)
    repair_budget(broken, "patients", reason="and again", charge=Cost.pure(0.4))
    verify_budgets(broken)
    assert BudgetAccountant.open(broken, dataset="patients").total()[0] >= 1.75


def test_missing_and_strange_entries_can_be_vouched_for_too(broken):
    break_in(broken, "DELETE FROM dpforest_charges WHERE number = 1")
    repair_budget(broken, "patients", reason="first entries lost", charge=Cost.pure(1.5))
    assert BudgetAccountant.open(broken, dataset="patients").total() == (1.75, 0.0)
    verify_budgets(broken)


def test_a_repair_needs_a_reason_and_cannot_lift_the_ceiling(broken):
    with pytest.raises(ValueError, match="reason"):
        repair_budget(broken, "patients", reason="", charge=Cost.pure(0))
    with pytest.raises(BudgetStoreError, match="nothing left"):
        repair_budget(broken, "patients", reason="lost", charge=Cost.pure(2))
    with pytest.raises(BudgetStoreError, match="no budget"):
        repair_budget(broken, "nobody", reason="lost", charge=Cost.pure(0))
