"""What only a PostgreSQL server can get wrong: settings that forget, rights that are too large."""

import time
from fractions import Fraction

import psycopg
import pytest

from dpforest.privacy import BudgetAccountant, BudgetStoreError, Cost, Dataset
from dpforest.privacy.postgres import PostgresDatabase
from dpforest.privacy.store import BudgetStore


def test_an_analyst_who_may_only_read_and_insert_can_spend_and_nothing_else(postgres_address):
    owned = BudgetAccountant.create(postgres_address, dataset="patients", epsilon=1.0)
    schema = postgres_address.rpartition("%3D")[2]
    role = f"analyst_{schema}"
    with psycopg.connect(postgres_address, autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {role} LOGIN")
        owner.execute(f"GRANT USAGE ON SCHEMA {schema} TO {role}")
        owner.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {role}")
        owner.execute(f"GRANT INSERT ON dpforest_charges TO {role}")
    theirs = postgres_address.replace("dpforest@", f"{role}@")
    accountant = BudgetAccountant.open(theirs, dataset="patients")
    with accountant.reserve(Cost.pure(0.5)):
        pass
    assert owned.remaining() == (0.5, 0.0)
    with pytest.raises(BudgetStoreError, match="permission denied"):
        BudgetAccountant.create(theirs, dataset="more", epsilon=100.0)
    with psycopg.connect(theirs, autocommit=True) as analyst:
        for change in ("UPDATE dpforest_charges SET epsilon = '0'", "DELETE FROM dpforest_charges"):
            with pytest.raises(psycopg.Error, match="permission denied"):
                analyst.execute(change)


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
    store = BudgetStore(nobody, Dataset.new("patients", Fraction(1), Fraction(0)))
    with pytest.raises(BudgetStoreError, match="nothing is granted"):
        store.standing()
