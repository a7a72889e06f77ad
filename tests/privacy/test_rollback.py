"""A record forgets nothing: the file alone is all of it, and who has seen a newer one refuses an older."""

import pickle
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from dpforest.privacy import BudgetAccountant, BudgetStoreError, BudgetTamperedError, Cost

KILLED = """
import os, signal, sys
from dpforest.privacy import BudgetAccountant, Cost
accountant = BudgetAccountant.open(sys.argv[1], dataset="patients")
accountant.spend(Cost.pure(1))
os.kill(os.getpid(), signal.SIGKILL)
"""


def create(path):
    return BudgetAccountant.create(path, dataset="patients", epsilon=3.0)


def test_the_file_alone_holds_every_charge(tmp_path):
    """Also while somebody reads, and when the process dies at once: nothing waits in a file beside it."""
    path, copy = tmp_path / "budget.db", tmp_path / "copy.db"
    accountant = create(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("SELECT count(*) FROM dpforest_charges").fetchall()
        charge = accountant.reserve(Cost.pure(1))
        shutil.copy(path, copy)
        assert BudgetAccountant.open(copy, dataset="patients").remaining() == (2.0, 0.0)
        charge.settle()
    subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    for beside in tmp_path.glob("budget.db-*"):
        beside.unlink()
    assert accountant.remaining() == (1.0, 0.0)
    accountant.verify()


def test_an_older_copy_is_refused_by_who_has_seen_a_newer_one(tmp_path):
    path, copy = tmp_path / "budget.db", tmp_path / "copy.db"
    accountant = create(path)
    accountant.spend(Cost.pure(1))
    shutil.copy(path, copy)
    receipt = accountant.spend(Cost.pure(1))
    newest = path.read_bytes()
    shutil.copy(copy, path)
    for ask in (
        lambda: accountant.reserve(Cost.pure(1)),
        accountant.remaining,
        lambda: accountant.verify(receipt),
        lambda: BudgetAccountant.open(path, dataset="patients").spend(Cost.pure(1)),
    ):
        with pytest.raises(BudgetTamperedError, match=r"older|checkpoint"):
            ask()
    path.write_bytes(newest)
    assert accountant.remaining() == (1.0, 0.0)


def test_a_copy_that_went_on_by_itself_is_refused(tmp_path):
    """As long as before, or longer, but with other entries at its end."""
    path, copy = tmp_path / "budget.db", tmp_path / "copy.db"
    accountant = create(path)
    accountant.spend(Cost.pure(1))
    shutil.copy(path, copy)
    accountant.spend(Cost.pure(0.5))
    other = BudgetAccountant.open(copy, dataset="patients")
    for _ in range(2):
        other.spend(Cost.pure(0.1))
        shutil.copy(copy, path)
        with pytest.raises(BudgetTamperedError, match="older than it was, or another"):
            accountant.spend(Cost.pure(0.1))


def test_what_a_pickle_has_seen_is_remembered_by_who_unpickles_it(tmp_path):
    path = tmp_path / "budget.db"
    accountant = create(path)
    old = path.read_bytes()
    accountant.spend(Cost.pure(1))
    path.write_bytes(old)
    code = (
        "import pickle, sys; accountant = pickle.load(sys.stdin.buffer)\n"
        "try: accountant.remaining()\nexcept Exception as error: print(type(error).__name__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=pickle.dumps(accountant), capture_output=True, check=True
    )
    assert done.stdout.strip() == b"BudgetTamperedError"


def test_a_budget_of_the_same_name_is_another(tmp_path):
    path = tmp_path / "budget.db"
    accountant = create(path)
    path.unlink()
    create(path)
    with pytest.raises(BudgetStoreError, match="another"):
        accountant.spend(Cost.pure(1))
