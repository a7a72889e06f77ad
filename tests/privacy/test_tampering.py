"""Editing, removing, adding or moving a row of a record is found; what is not found without a checkpoint."""

import shutil
import sqlite3
from contextlib import closing, contextmanager, suppress
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from dpforest.privacy import (
    BudgetAccountant,
    BudgetPlan,
    BudgetStoreError,
    BudgetTamperedError,
    Cost,
    verify_budgets,
)
from dpforest.privacy.budget.chain import read_link
from dpforest.privacy.budget.records import Entry

NAMES = "patients", "staff"
TABLES = {"dpforest_datasets": 2, "dpforest_charges": 14}


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    """A file with two datasets, charges in every state, and the checkpoints of its end."""
    path = tmp_path_factory.mktemp("honest") / "budget.db"
    for name in NAMES:
        accountant = BudgetAccountant.create(path, dataset=name, epsilon=10.0, delta=1e-6)
        accountant.spend(Cost.pure(0.5), "count")
        with accountant.reserve(BudgetPlan.divide(0.1, 1e-6, {"splits": 0.5, "leaves": 0.5}), "fit"):
            pass
        with pytest.raises(ZeroDivisionError), accountant.reserve(Cost.pure(0.5), "failed"):
            raise ZeroDivisionError
        accountant.reserve(Cost.pure(0.25), "dead")
        accountant.spend(Cost.pure(0.5), "count")
    return path, verify_budgets(path)


@pytest.fixture(scope="module")
def unguarded(honest, tmp_path_factory):
    """The same file without its guards."""
    path = tmp_path_factory.mktemp("unguarded") / "budget.db"
    shutil.copy(honest[0], path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        triggers = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for (name,) in triggers:
            connection.execute(f"DROP TRIGGER {name}")
    return path


@pytest.fixture(scope="module")
def workbench(tmp_path_factory):
    return tmp_path_factory.mktemp("workbench") / "budget.db"


@contextmanager
def break_in(unguarded, workbench):
    """Copy the file and yield a connection to do damage with."""
    shutil.copy(unguarded, workbench)
    with closing(sqlite3.connect(workbench, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("BEGIN")
        yield connection
        connection.execute("COMMIT")


def contents(connection):
    return [
        row for table in TABLES for row in connection.execute(f"SELECT rowid, * FROM {table} ORDER BY rowid")
    ]


def damage(connection, statement, parameters=()):
    """Run a statement that changes something, or give the example up."""
    before = contents(connection)
    try:
        connection.execute(statement, parameters)
    except (sqlite3.IntegrityError, OverflowError, UnicodeEncodeError):
        assume(False)
    if contents(connection) == before:
        assume(False)


tables = st.sampled_from(sorted(TABLES))
values = st.none() | st.text() | st.binary() | st.integers(-5, 50) | st.floats() | st.sampled_from(NAMES)
fast = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def rows_of(connection, table):
    return connection.execute(f"SELECT rowid, * FROM {table} ORDER BY rowid").fetchall()


def columns_of(connection, table):
    return [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]


@fast
@given(table=tables, row=st.integers(0, 13), column=st.integers(0, 19), value=values, nudge=st.booleans())
def test_an_edited_value_is_found(unguarded, workbench, table, row, column, value, nudge):
    with break_in(unguarded, workbench) as connection:
        columns = columns_of(connection, table)
        name = columns[column % len(columns)]
        chosen = rows_of(connection, table)[row % TABLES[table]]
        if nudge:  # the smallest change to what is there
            old = chosen[1 + columns.index(name)]
            value = old + 1 if isinstance(old, int) else f"{old or ''}0"
        damage(connection, f"UPDATE {table} SET {name} = ? WHERE rowid = ?", (value, chosen[0]))
    with pytest.raises(BudgetTamperedError):
        verify_budgets(workbench)


@pytest.mark.parametrize("table", TABLES)
def test_a_removed_row_is_found(honest, unguarded, workbench, table):
    for row in range(TABLES[table]):
        with break_in(unguarded, workbench) as connection:
            chosen = rows_of(connection, table)[row]
            damage(connection, f"DELETE FROM {table} WHERE rowid = ?", (chosen[0],))
        with pytest.raises(BudgetTamperedError):
            verify_budgets(workbench, honest[1])
        if table == "dpforest_datasets" or row not in (6, 13):  # all but the last of each chain
            with pytest.raises(BudgetTamperedError):
                verify_budgets(workbench)
            with pytest.raises(BudgetStoreError):
                BudgetAccountant.open(workbench, dataset=chosen[1])


def swapped(connection, first, second, columns):
    """Exchange some columns of two charges, by way of a number that nobody has."""
    table = rows_of(connection, "dpforest_charges")
    names = columns_of(connection, "dpforest_charges")
    before = contents(connection)
    setting = ", ".join(f"{name} = ?" for name in columns)
    update = f"UPDATE dpforest_charges SET {setting} WHERE rowid = ?"
    one, two = ([row[1 + names.index(name)] for name in columns] for row in (table[first], table[second]))
    aside = [
        value if name not in ("number", "settles") else -1 for name, value in zip(columns, one, strict=True)
    ]
    try:
        connection.execute(update, (*aside, table[first][0]))
        connection.execute(update, (*one, table[second][0]))
        connection.execute(update, (*two, table[first][0]))
    except sqlite3.IntegrityError:
        assume(False)
    assume({tuple(row[1:]) for row in contents(connection)} != {tuple(row[1:]) for row in before})


@fast
@given(data=st.data(), first=st.integers(0, 13), second=st.integers(0, 13))
def test_rows_that_changed_places_are_found(unguarded, workbench, data, first, second):
    with break_in(unguarded, workbench) as connection:
        names = columns_of(connection, "dpforest_charges")
        everything_else = [name for name in names if name not in ("dataset", "number")]
        columns = data.draw(
            st.sampled_from([["number"], ["number", "previous"], everything_else, ["dataset", "number"]])
            | st.lists(st.sampled_from(names), min_size=1, unique=True)
        )
        swapped(connection, first, second, columns)
    with pytest.raises(BudgetTamperedError):
        verify_budgets(workbench)


@fast
@given(row=st.integers(0, 13), number=st.integers(-1, 20), dataset=st.sampled_from([*NAMES, "nobody"]))
def test_a_row_that_was_added_is_found(unguarded, workbench, row, number, dataset):
    with break_in(unguarded, workbench) as connection:
        _, _, _, *rest = rows_of(connection, "dpforest_charges")[row]
        rest[1] = None  # or it would settle a second time, which the table itself refuses
        marks = ", ".join("?" * 22)
        damage(connection, f"INSERT INTO dpforest_charges VALUES ({marks})", (dataset, number, *rest))
    with pytest.raises(BudgetTamperedError):
        verify_budgets(workbench)


def forge(connection, change):
    """Rewrite the chain of the patients from its first entry on, with hashes that fit."""
    dataset = connection.execute("SELECT hash FROM dpforest_datasets WHERE name = 'patients'").fetchone()
    previous, rows = dataset[0], rows_of(connection, "dpforest_charges")
    total = Cost.pure(0)
    for rowid, *values in rows:
        if values[0] == "patients":
            entry = read_link(Entry, values)
            with suppress(ValueError):  # not a number: leave the totals
                total += change(entry).cost
            epsilon = None if total.epsilon is None else str(total.epsilon)
            entry = change(replace(entry, previous=previous, total_epsilon=epsilon, total_rho=str(total.rho)))
            previous = entry.hash
            connection.execute("DELETE FROM dpforest_charges WHERE rowid = ?", (rowid,))
            connection.execute(
                f"INSERT INTO dpforest_charges VALUES ({', '.join('?' * 22)})", (*entry.values(), entry.hash)
            )


def test_a_forger_who_rewrites_every_hash_is_found_only_by_a_checkpoint(honest, unguarded, workbench):
    """The honest limit of a chain without a secret; the documentation says so."""
    with break_in(unguarded, workbench) as connection:
        forge(
            connection,
            lambda entry: replace(entry, epsilon="1/1000", rho="0") if entry.number == 1 else entry,
        )
    assert verify_budgets(workbench)["patients"].count == 7
    with pytest.raises(BudgetTamperedError, match="not the one of the checkpoint"):
        verify_budgets(workbench, honest[1])


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"epsilon": "100", "rho": "5000"}, "more was charged than its ceiling"),
        ({"epsilon": "-1"}, "cannot be read"),
        ({"rho": "1e999999999"}, "cannot be read"),
        ({"relation": "replace_one"}, "does not carry on"),
        ({"total_epsilon": "1/10", "total_rho": "1/200"}, "does not carry on"),
        ({"state": "failed"}, "fails nothing"),
        ({"settles": 1}, "settles what is not reserved"),
    ],
)
def test_a_forger_is_held_to_the_rules_of_a_record(unguarded, workbench, changes, complaint):
    def change(entry):
        return replace(entry, **changes) if entry.number == 1 else entry

    with break_in(unguarded, workbench) as connection:
        forge(connection, change)
    with pytest.raises(BudgetTamperedError, match=complaint):
        verify_budgets(workbench)


def test_a_removed_end_is_found_only_by_a_checkpoint(honest, unguarded, workbench):
    with break_in(unguarded, workbench) as connection:
        connection.execute("DELETE FROM dpforest_charges WHERE dataset = 'patients' AND number >= 6")
    assert verify_budgets(workbench)["patients"].count == 5
    with pytest.raises(BudgetTamperedError, match="5 entries and had 7"):
        verify_budgets(workbench, honest[1])


def test_a_record_that_is_not_what_was_written_grants_nothing(unguarded, workbench):
    shutil.copy(unguarded, workbench)
    running = BudgetAccountant.open(workbench, dataset="patients")
    with break_in(unguarded, workbench) as connection:
        connection.execute("UPDATE dpforest_charges SET total_epsilon = '0' WHERE number = 7")
    with pytest.raises(BudgetTamperedError):
        BudgetAccountant.open(workbench, dataset="patients")
    for ask in (lambda: running.spend(Cost.pure(0.1)), running.remaining, running.history):
        with pytest.raises(BudgetTamperedError, match="entry 7"):
            ask()


def test_guards_stop_accidents(honest, workbench):
    shutil.copy(honest[0], workbench)
    with closing(sqlite3.connect(workbench)) as connection:
        for table in TABLES:
            for change in (f"DELETE FROM {table}", f"UPDATE {table} SET hash = ''"):
                with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                    connection.execute(change)
