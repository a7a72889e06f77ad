"""A long record costs no more to open and to charge than a short one; its full check needs no memory."""

import sqlite3
import tracemalloc
from contextlib import closing
from dataclasses import replace

import pytest

from dpforest.privacy import BudgetAccountant, BudgetTamperedError, Cost, verify_budgets
from dpforest.privacy.budget import sqlite as sqlite_module
from dpforest.privacy.budget.chain import read_link
from dpforest.privacy.budget.records import Entry, add_up, cost_text


def grow(path, length):
    """Append honest entries without asking, many at a time."""
    BudgetAccountant.create(path, dataset="patients", epsilon=10 * length).spend(Cost.pure(1), "fit")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("BEGIN")
        entry = read_link(Entry, connection.execute("SELECT * FROM dpforest_charges").fetchone())
        for number in range(2, length + 1):
            totals = cost_text(add_up(entry.total, entry.cost), "total_")
            entry = replace(entry, number=number, previous=entry.hash, **totals)
            connection.execute(
                f"INSERT INTO dpforest_charges VALUES ({', '.join('?' * 22)})", (*entry.values(), entry.hash)
            )
        connection.execute("COMMIT")


@pytest.fixture
def rows_read(monkeypatch):
    """Count the rows that statements return."""
    counted, executor = [], sqlite_module._executor

    def counting(connection):
        execute = executor(connection)

        def count(statement, parameters=()):
            rows = execute(statement, parameters)
            counted.append(len(rows))
            return rows

        return count

    monkeypatch.setattr(sqlite_module, "_executor", counting)
    return counted


def test_opening_and_charging_read_as_much_of_a_long_record_as_of_a_short_one(tmp_path, rows_read):
    read = {}
    for length in (100, 12_000):
        path = tmp_path / f"{length}.db"
        grow(path, length)
        rows_read.clear()
        accountant = BudgetAccountant.open(path, dataset="patients")
        with accountant.charging(name="one more"), accountant.reserve(Cost.pure(1)):
            pass
        accountant.remaining()
        read[length] = sum(rows_read)
    assert read[100] == read[12_000] < 150


def test_a_full_check_streams_and_tells_how_far_it_is(tmp_path):
    path, told = tmp_path / "budget.db", []
    grow(path, 12_000)
    tracemalloc.start()
    end = verify_budgets(path, progress=lambda name, count: told.append((name, count)))["patients"]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert end.count == 12_000
    assert told == [("patients", 1000 * thousand) for thousand in range(1, 13)]
    assert peak < 30e6  # 5,000 entries at a time; all of them would take more than twice as much


def test_the_end_of_a_long_record_is_checked_at_opening(tmp_path):
    path = tmp_path / "budget.db"
    grow(path, 200)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("DROP TRIGGER dpforest_charges_keeps_on_delete")
        connection.execute("DELETE FROM dpforest_charges WHERE number = 170")
    with pytest.raises(BudgetTamperedError, match="170"):
        BudgetAccountant.open(path, dataset="patients")
