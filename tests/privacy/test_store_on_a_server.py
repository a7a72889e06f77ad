"""What only a PostgreSQL server can get wrong: settings that forget, rights that are too large."""

import time
from dataclasses import replace

import psycopg
import pytest

from dpforest.privacy import BudgetAccountant, BudgetStoreError, Cost, Dataset
from dpforest.privacy.budget import database
from dpforest.privacy.budget.filter import BudgetFilter
from dpforest.privacy.budget.postgres import PostgresDatabase
from dpforest.privacy.budget.postgres_function import LOCKS
from dpforest.privacy.budget.store import BudgetStore


@pytest.fixture
def granted(postgres_address):
    """The owner's accountant of a budget of 1, the address of an analyst and the analyst's role."""
    owned = BudgetAccountant.create(postgres_address, dataset="patients", epsilon=1.0)
    role = f"analyst_{postgres_address.rpartition('%3D')[2]}"
    with psycopg.connect(postgres_address, autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {role} LOGIN")
    PostgresDatabase.at(postgres_address).grant(role)
    return owned, postgres_address.replace("dpforest@", f"{role}@"), role


def test_an_analyst_can_read_and_charge_and_nothing_else(granted):
    owned, theirs, role = granted
    accountant = BudgetAccountant.open(theirs, dataset="patients")
    with accountant.reserve(Cost.pure(0.5)):
        pass
    assert owned.remaining() == (0.5, 0.0)
    assert owned.history()[0].who.startswith(f"{role}@")  # the login, whatever the program says
    with pytest.raises(BudgetStoreError, match="permission denied"):
        BudgetAccountant.create(theirs, dataset="more", epsilon=100.0)
    with psycopg.connect(theirs, autocommit=True) as analyst:
        for change in (
            "UPDATE dpforest_charges SET epsilon = '0'",
            "DELETE FROM dpforest_charges",
            "TRUNCATE dpforest_charges",
            "INSERT INTO dpforest_charges SELECT * FROM dpforest_charges",
            "UPDATE dpforest_datasets SET epsilon = '100'",
        ):
            with pytest.raises(psycopg.Error, match="permission denied"):
                analyst.execute(change)


def entry_after(accountant, **changes):
    """An entry that would be right, but for some changes, under its own correct hash."""
    from dpforest.privacy.budget.chain import read_link
    from dpforest.privacy.budget.records import Entry

    with accountant._store._database.reading() as execute:
        last = read_link(Entry, execute("SELECT * FROM dpforest_charges ORDER BY number DESC LIMIT 1")[0])
    honest = replace(last, number=last.number + 1, previous=last.hash, total_epsilon="1/2", total_rho="1/16")
    return replace(honest, **changes)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"total_epsilon": "1/4", "total_rho": "1/32"}, "totals do not add up"),
        ({"total_epsilon": "0", "total_rho": "0"}, "totals do not add up"),
        ({"epsilon": "-1/4"}, "not an exact fraction"),
        ({"epsilon": "1e9"}, "not an exact fraction"),
        ({"epsilon": "2", "rho": "2", "total_epsilon": "9/4", "total_rho": "65/32"}, "ceiling"),
        ({"delta": "1/9"}, "totals do not add up"),
        ({"delta": "1/9", "total_delta": "1/9"}, "ceiling"),
        ({"delta": "-1/9"}, "not an exact fraction"),
        ({"number": 7}, "does not follow"),
        ({"previous": 64 * "0"}, "does not follow"),
        ({"relation": "replace_one"}, "other neighbours"),
        ({"state": "failed"}, "reserved or spent"),
        ({"state": "repaired"}, "reserved or spent"),
        ({"settles": 1, "epsilon": "0", "rho": "0", "total_epsilon": "1/4", "total_rho": "1/32"}, "settles"),
        ({"label": "two\nlines"}, "control characters"),
        ({"analyst": 201 * "a"}, "too long"),
        ({"who": "dpforest@server"}, "does not name its login"),
        ({"plan": "{"}, "json"),
        ({"dataset": "nobody"}, "dataset"),
        ({}, "its hash is wrong"),
    ],
)
def test_no_program_of_an_analyst_can_add_a_wrong_entry(granted, changes, complaint):
    """Not even one that calls the server's function by hand, with hashes that fit."""
    owned, theirs, _ = granted
    accountant = BudgetAccountant.open(theirs, dataset="patients")
    accountant.spend(Cost.pure(0.25))
    entry = entry_after(accountant, **changes)
    values = (*entry.values(), entry.hash if changes else 64 * "0")
    record = f"{theirs.rpartition('%3D')[2]}.dpforest_charges"
    with psycopg.connect(theirs, autocommit=True) as analyst:
        call = f"SELECT dpforest_append(ROW({', '.join(['%s'] * len(values))})::{record})"
        with pytest.raises(psycopg.Error, match=complaint):
            analyst.execute(call, values)
        analyst.execute("CREATE TEMPORARY TABLE dpforest_charges AS SELECT * FROM dpforest_charges")
        right = entry_after(accountant)
        analyst.execute(call, (*right.values(), right.hash))  # the function does not take it for the record
    assert owned.total() == (0.5, 0.0)
    assert owned.verify().count == 2


def test_a_role_that_could_replace_the_guards_is_not_let_in(granted, postgres_address):
    _, _, role = granted
    schema = postgres_address.rpartition("%3D")[2]
    with psycopg.connect(postgres_address, autocommit=True) as owner:
        owner.execute(f"GRANT CREATE ON SCHEMA {schema} TO {role}")
    with pytest.raises(BudgetStoreError, match="may create functions"):
        PostgresDatabase.at(postgres_address).grant(role)


@pytest.mark.parametrize(
    ("ask", "lock"),
    [
        ("spend", "LOCK TABLE dpforest_charges IN ACCESS EXCLUSIVE MODE"),
        ("remaining", "LOCK TABLE dpforest_charges IN ACCESS EXCLUSIVE MODE"),
        ("spend", f"SELECT pg_advisory_xact_lock({LOCKS}, hashtext('patients'))"),
    ],
)
def test_waiting_for_a_lock_ends_with_a_message(postgres_address, monkeypatch, ask, lock):
    accountant = BudgetAccountant.create(postgres_address, dataset="patients", epsilon=1.0)
    monkeypatch.setattr(database, "BUSY_SECONDS", 1)
    with psycopg.connect(postgres_address) as other:
        other.execute(lock)
        with pytest.raises(BudgetStoreError, match="locked for 1 seconds, so nothing is granted"):
            accountant.spend(Cost.pure(0.5)) if ask == "spend" else accountant.remaining()
        other.rollback()
    assert accountant.remaining() == (1.0, 0.0)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE dpforest_charges SET label = ''",
        "DELETE FROM dpforest_charges",
        "TRUNCATE dpforest_charges",
        "DELETE FROM dpforest_datasets",
    ],
)
def test_even_the_owner_cannot_change_a_record_by_accident(postgres_address, change):
    BudgetAccountant.create(postgres_address, dataset="patients", epsilon=1.0).spend(Cost.pure(0.5))
    with (
        psycopg.connect(postgres_address, autocommit=True) as owner,
        pytest.raises(psycopg.Error, match="append-only"),
    ):
        owner.execute(change)


def test_a_server_set_to_forget_or_to_strict_snapshots_is_overruled(postgres, postgres_address):
    """A default of late commits would lose a charge, one of early snapshots would grant it twice."""
    accountant = BudgetAccountant.create(postgres_address, dataset="patients", epsilon=1.0)
    with psycopg.connect(postgres, autocommit=True) as owner:
        owner.execute("ALTER ROLE dpforest SET synchronous_commit = off")
        owner.execute("ALTER ROLE dpforest SET default_transaction_isolation = serializable")
    try:
        with accountant._store._database.writing("patients") as execute:
            asked = "SELECT current_setting('synchronous_commit'), current_setting('transaction_isolation')"
            assert execute(asked, ()) == [("on", "read committed")]
    finally:
        with psycopg.connect(postgres, autocommit=True) as owner:
            owner.execute("ALTER ROLE dpforest RESET ALL")


def test_a_server_that_may_forget_everything_is_refused(postgres, postgres_address):
    accountant = BudgetAccountant.create(postgres_address, dataset="patients", epsilon=1.0)

    def configure(change, value):
        with psycopg.connect(postgres, autocommit=True) as owner:
            owner.execute(change)
            owner.execute("SELECT pg_reload_conf()")
            until = time.monotonic() + 30
            while owner.execute("SHOW fsync").fetchone() != (value,) and time.monotonic() < until:
                time.sleep(0.01)

    configure("ALTER SYSTEM SET fsync = off", "off")
    try:
        with pytest.raises(BudgetStoreError, match="fsync = off"):
            accountant.reserve(Cost.pure(0.5))
    finally:
        configure("ALTER SYSTEM RESET fsync", "on")
    accountant.reserve(Cost.pure(0.5))
    assert len(accountant) == 1


def test_a_server_that_is_gone_grants_nothing():
    nobody = PostgresDatabase.at("postgresql://me@127.0.0.1:1/none?connect_timeout=2")
    store = BudgetStore(nobody, Dataset.new("patients", BudgetFilter.for_ceiling(1, 0)))
    with pytest.raises(BudgetStoreError, match="nothing is granted"):
        store.standing()
