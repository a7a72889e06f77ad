"""Attacks on the budget store that `tools.store` counts: rollbacks, absences, disks, forgeries, length.

Every trial returns how often it was tried and how often something was overspent, lost, or told wrongly.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import resource
import shutil
import signal
import sqlite3
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from dpforest.modelfile import ModelFileError
from dpforest.modelfile.document import read_document
from dpforest.modelfile.record import read_record
from dpforest.modelfile.signing import create_key, read_public_key
from dpforest.privacy import (
    BudgetAccountant,
    BudgetStoreError,
    BudgetTamperedError,
    Checkpoint,
    Cost,
    Spend,
    verify_budgets,
)
from dpforest.privacy.budget import store
from dpforest.privacy.budget.chain import read_link
from dpforest.privacy.budget.database import marks
from dpforest.privacy.budget.records import Entry, add_up, cost_text
from tests.modelfile.test_signing import forge, places

UNIT = Cost.pure(1)


def fork(work: Callable[[], int]) -> int:
    """Run a function in a child process that starts warm; its result, at most 255, is the exit code."""
    child = os.fork()
    if child:
        return child
    code = 255
    try:
        code = work()
    finally:
        os._exit(code)


def ended(child: int) -> int:
    """Wait for a child and return its exit code."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


# --- rollbacks -----------------------------------------------------------------------------------------


def files_beside_removed(folder: Path, trials: int) -> Counter[str]:
    """Charge, die at once, remove whatever lies beside the file, copy the file alone: is the charge there?"""
    path, found = folder / "beside.db", Counter(trials=trials)
    accountant = BudgetAccountant.create(path, dataset="d", epsilon=trials)

    def charge_and_die() -> int:
        accountant.spend(UNIT)
        os.kill(os.getpid(), signal.SIGKILL)
        return 1

    for number in range(1, trials + 1):
        with closing(sqlite3.connect(path, isolation_level=None)) as reader:  # keeps the file in use
            reader.execute("SELECT count(*) FROM dpforest_charges").fetchall()
            ended(fork(charge_and_die))
        for beside in folder.glob("beside.db-*"):
            beside.unlink()
        shutil.copy(path, folder / "copy.db")
        found["lost"] += int(BudgetAccountant.open(folder / "copy.db", dataset="d").total()[0] != number)
    return found


def old_copy_put_back(folder: Path, trials: int) -> Counter[str]:
    """Replace the file by an older copy while a handle is open: does the handle refuse?"""
    found: Counter[str] = Counter(trials=trials)
    for number in range(trials):
        path = folder / f"old {number}.db"
        accountant = BudgetAccountant.create(path, dataset="d", epsilon=10)
        for _ in range(random.randrange(3)):
            accountant.spend(UNIT)
        old = path.read_bytes()
        receipt = accountant.spend(UNIT)
        path.write_bytes(old)
        if random.random() < 0.5:  # the copy goes on by itself, in another process
            ended(
                fork(
                    lambda path=path: bool(BudgetAccountant.open(path, dataset="d").spend(Cost.pure(0.5))) * 0
                )
            )
        try:
            accountant.spend(UNIT)
            found["overspent"] += 1
        except BudgetTamperedError:
            pass
        try:
            verify_budgets(path, {"d": Checkpoint.parse(str(receipt))})
            found["lost"] += 1
        except BudgetTamperedError:
            pass
    return found


# --- exit codes ----------------------------------------------------------------------------------------


@contextmanager
def table_of_rows(folder: Path) -> Iterator[str]:
    """Write a small table with its schema; yield the beginning of a fit's command."""
    rng = np.random.default_rng(0)
    rows = "".join(f"{x:.3f},{int(x > 0.5)}\n" for x in rng.random(100))
    (folder / "rows.csv").write_text(f"x,y\n{rows}")
    kinds = {"x": {"type": "numeric", "min": 0, "max": 1}, "y": {"type": "class", "categories": [0, 1]}}
    (folder / "schema.json").write_text(json.dumps(kinds))
    yield (
        f"fit {folder}/rows.csv --schema {folder}/schema.json --epsilon 1 --quiet --depth 2 --trees 2 "
        "--estimator DiPriMeForestClassifier"
    )


def run_fit(line: str) -> int:
    """Run the command line in this process, silently."""
    from dpforest.cli import main

    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    try:
        main(line.split())
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def absences(
    address: str, folder: Path, trials: int, leave: Callable[[], None], come_back: Callable[[], None]
) -> Counter[str]:
    """Take the budget away at random moments of concurrent fits; compare every exit code with the record."""
    found: Counter[str] = Counter(trials=trials)
    accountant = BudgetAccountant.create(address, dataset="absences", epsilon=100 * trials)
    with table_of_rows(folder) as line:
        ended(fork(partial(run_fit, f"{line} --out {folder}/warm.json")))
        for trial in itertools.count():
            if found["away"] >= trials:
                break
            names = [f"fit-{trial}-{worker}" for worker in range(8)]
            paid = f"{line} --budget {address} --dataset absences"
            children = {
                name: fork(partial(run_fit, f"{paid} --charge-name {name} --out {folder}/{name}.json"))
                for name in names
            }
            time.sleep(random.uniform(0, 1.5))
            leave()
            found["away"] += 1
            time.sleep(random.uniform(0, 1.0))
            come_back()
            for name, child in children.items():
                code = ended(child)
                found[f"exit code {code}"] += 1
                charge, model = accountant.find(name), folder / f"{name}.json"
                if not _code_is_true(code, charge, model):
                    found["wrong exit codes"] += 1
                    found["lost"] += code in (0, 6) and charge is None
                    print(f"{name}: {code}, {charge}, {model.exists()}", file=sys.stderr)
    accountant.verify()
    return found


def _code_is_true(code: int, charge: Spend | None, model: Path) -> bool:
    if code in (0, 6):  # charged and written
        return charge is not None and read_record(model).receipt.head == charge.hash
    if code == 5:  # perhaps charged, no model
        return not model.exists()
    return code == 3 and charge is None and not model.exists()


# --- disks and clocks ----------------------------------------------------------------------------------


def disk_full(folder: Path, trials: int) -> Counter[str]:
    """Let files grow to a random size only: is everything that was granted on disk?"""
    found: Counter[str] = Counter(trials=trials)
    for number in range(trials):
        path, told = folder / f"full {number}.db", folder / f"granted {number}"
        BudgetAccountant.create(path, dataset="d", epsilon=10**6)
        told.touch()
        limit = path.stat().st_size + random.randrange(60_000)

        def charge_until_full(path: Path = path, told: Path = told, limit: int = limit) -> int:
            accountant, granted = BudgetAccountant.open(path, dataset="d"), os.open(told, os.O_WRONLY)
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            try:
                for count in itertools.count(1):
                    accountant.spend(UNIT)
                    os.pwrite(granted, f"{count}".encode(), 0)
            except BudgetStoreError:
                return 0
            return 1

        found["wrong exit codes"] += ended(fork(charge_until_full)) != 0
        recorded = verify_budgets(path)["d"].count
        granted = int(told.read_text() or 0)
        found["lost"] += recorded < granted
    return found


def read_only(trials: int) -> Counter[str]:
    """Charge a file, or in a directory, that may only be read: nothing may be granted."""
    found: Counter[str] = Counter(trials=trials)
    for number in range(trials):
        shelf = Path(tempfile.mkdtemp(prefix="dpforest-shelf-"))
        path = shelf / "budget.db"
        accountant = BudgetAccountant.create(path, dataset="d", epsilon=10)
        file, directory = [(0o444, 0o777), (0o666, 0o555), (0o444, 0o555)][number % 3]
        path.chmod(file)
        shelf.chmod(directory)

        def charge(accountant: BudgetAccountant = accountant) -> int:
            if os.geteuid() == 0:
                os.seteuid(65534)
            try:
                accountant.spend(UNIT)
            except BudgetStoreError:
                return 0
            return 1

        found["overspent"] += ended(fork(charge)) != 0
        shelf.chmod(0o755)
        shutil.rmtree(shelf)
    return found


def clock_moved_back(folder: Path, trials: int) -> Counter[str]:
    """Charge under a clock that runs backwards: order and totals must not care."""
    found: Counter[str] = Counter(trials=trials)
    accountant = BudgetAccountant.create(folder / "clock.db", dataset="d", epsilon=trials)
    honest = store.now
    try:
        for number in range(trials):
            store.now = lambda number=number: f"{2026 - number % 50}-01-01T00:00:00.000000+00:00"
            accountant.spend(UNIT)
            accountant._store.standing()
    finally:
        store.now = honest
    found["lost"] += trials - len(accountant.history())
    try:
        accountant.spend(UNIT)
        found["overspent"] += 1
    except BudgetStoreError:
        found["lost"] += 1
    except RuntimeError:  # the ceiling
        pass
    return found


# --- forgeries and length ------------------------------------------------------------------------------


def forgeries(folder: Path, trials: int) -> Counter[str]:
    """Lower epsilon, make void proven, change anything, redo the checksum: does the signature tell?"""
    found, path = Counter(trials=trials), folder / "signed.json"
    create_key(folder / "owner.key")
    from dpforest import DiPriMeForestClassifier

    accountant = BudgetAccountant.create(folder / "signed.db", dataset="d", epsilon=1)
    rows = np.random.default_rng(0).random((100, 2))
    model = DiPriMeForestClassifier(2, max_depth=2, bounds=(0, 1), classes=[0, 1], accountant=accountant)
    model.fit(rows, (rows[:, 0] > 0.5).astype(int)).save(path, key=folder / "owner.key")
    envelope, key, rng = json.loads(path.read_text()), read_public_key(folder / "owner.pub"), random.Random()
    ways = list(places(envelope["body"]))
    for _ in range(trials):
        path.write_text(json.dumps(forge(envelope, rng, ways)))
        try:
            read_document(path).require(key)
            found["not found"] += 1
        except ModelFileError:
            pass
    return found


def grow(path: Path, length: int) -> None:
    """Make a record of many honest entries, without asking for each."""
    BudgetAccountant.create(path, dataset="d", epsilon=10 * length).spend(UNIT, "fit")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("BEGIN")
        entry = read_link(Entry, connection.execute("SELECT * FROM dpforest_charges").fetchone())
        insert = f"INSERT INTO dpforest_charges VALUES ({marks((*entry.values(), ''))})"
        for number in range(2, length + 1):
            totals = cost_text(add_up(entry.total, entry.cost), "total_")
            entry = replace(entry, number=number, previous=entry.hash, **totals)
            connection.execute(insert, (*entry.values(), entry.hash))
        connection.execute("COMMIT")


def times_at(folder: Path, length: int, repeats: int = 40) -> dict[str, float]:
    """Milliseconds to open a record of some length and to reserve in it, and seconds to check all of it."""
    path = folder / f"{length}.db"
    grow(path, length)
    opening, reserving = [], []
    for _ in range(repeats):
        start = time.perf_counter()
        accountant = BudgetAccountant.open(path, dataset="d")
        opening.append(time.perf_counter() - start)
        start = time.perf_counter()
        accountant.reserve(UNIT, "fit")
        reserving.append(time.perf_counter() - start)
        del accountant
    start = time.perf_counter()
    verify_budgets(path)
    checked = time.perf_counter() - start
    path.unlink()
    return {
        "open, ms": 1000 * statistics.median(opening),
        "reserve, ms": 1000 * statistics.median(reserving),
        "full verify, s": checked,
    }
