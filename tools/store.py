"""The budget store under fire: kills, races, rollbacks, absences, full disks, forgeries; and how fast it is.

    make bench TARGET=store                              # everything, as two tables; about half an hour
    python -m tools.store --scale 0.1               # a tenth of the trials
    python -m tools.store --race budget.db          # 8 processes, 1,000 requests, a ceiling of 100
    python -m tools.store --kill 300                # kill -9 at 300 random moments of concurrent fits
    python -m tools.store --kill 300 --postgres     # the same against a PostgreSQL server

PostgreSQL is measured where a server is installed; it is started on loopback and stopped afterwards. The last
three are run by the tests too, in smaller numbers, and fail if anything is lost or granted twice.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from rich.console import Console
from rich.table import Table

from dpforest.privacy import BudgetAccountant, BudgetExceededError, BudgetPlan, Checkpoint
from tests.privacy.servers import killable_server, postgres_server, server_binaries
from tools import store_trials as trials
from tools.store_trials import fork

FIT = BudgetPlan.divide(1.0, 0.0, {"splits": 0.5, "leaves": 0.5})


# --- racing for a ceiling ------------------------------------------------------------------------------


def ask(accountant: BudgetAccountant, tries: int) -> int:
    """Ask again and again; tell how often it was granted."""
    granted = 0
    for _ in range(tries):
        try:
            with accountant.reserve(FIT, "race"):
                granted += 1
        except BudgetExceededError:
            pass
    return granted


def race(address: str, dataset: str, processes: int, tries: int, ceiling: int) -> dict[str, float]:
    """Let processes race for a ceiling; what was granted, what the record says, and how long it took."""
    accountant = BudgetAccountant.create(address, dataset=dataset, epsilon=ceiling)
    start = time.perf_counter()
    children = [fork(partial(ask, accountant, tries)) for _ in range(processes)]
    granted = sum(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children)
    seconds = time.perf_counter() - start
    recorded = Counter(spend.state for spend in accountant.history())
    asked = processes * tries
    return {"asked": asked, "granted": granted, "recorded": recorded["spent"], "seconds": seconds}


# --- kill -9 -------------------------------------------------------------------------------------------

X = np.random.default_rng(0).random((200, 3))
Y = (X[:, 0] > 0.5).astype(int)
WORKERS = 4
FITS_PER_DATASET = 60  # few enough that every second round or so also meets an exhausted budget


def fit(accountant: BudgetAccountant | None, label: str) -> None:
    """Fit a small forest whose charge carries the label."""
    from dpforest import DiPriMeForestClassifier  # slow to import, and a race needs none

    kind = type(label, (DiPriMeForestClassifier,), {})
    kind(2, max_depth=3, epsilon=1.0, bounds=(0, 1), classes=[0, 1], accountant=accountant).fit(X, Y)


def fit_until_refused(address: str, dataset: str, releases: int, late: bool, worker: str) -> int:
    """Fit models and release each by writing down its name; `late` plants a bug: charging afterwards."""
    accountant = BudgetAccountant.open(address, dataset=dataset)
    for number in itertools.count():
        label = f"fit_{worker}_{number}"
        try:
            fit(None if late else accountant, label)
            os.write(releases, f"{label}\n".encode())
            if late:
                accountant.spend(FIT, label)
        except BudgetExceededError:
            return 0
    return 1


def kill_all(children: list[int]) -> int:
    """Kill children one by one, at random moments; tell how many were still at work."""
    killed = 0
    time.sleep(random.uniform(0, 0.2))
    for child in random.sample(children, len(children)):
        time.sleep(random.uniform(0, 0.05))
        os.kill(child, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code not in (0, -signal.SIGKILL):
            fail(f"a worker ended with {code}")
        killed += code != 0
    return killed


def survive_kills(address: str, directory: Path, kills: int, late: bool) -> Counter[str]:
    """Kill workers at random moments and look at the record after each round."""
    fit(None, "warm")  # children start with compiled kernels
    found: Counter[str] = Counter()
    for number in itertools.count():
        if found["kills"] >= kills:
            break
        dataset, path = f"round {number}", directory / f"releases {number}"
        accountant = BudgetAccountant.create(address, dataset=dataset, epsilon=FITS_PER_DATASET)
        releases = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        noted = accountant.verify()
        for wave in range(3):
            names = [f"{wave}_{worker}" for worker in range(WORKERS)]
            work = partial(fit_until_refused, address, dataset, releases, late)
            children = [fork(partial(work, name)) for name in names]
            found["kills"] += kill_all(children)
            noted = look_after(address, dataset, noted, path)
            if accountant.remaining() == (0.0, 0.0):
                found["exhausted datasets"] += 1
                break
        os.close(releases)
        found.update(spend.state for spend in accountant.history())
        found["released"] += len(path.read_text().splitlines())
        found["datasets"] += 1
    return found


def look_after(address: str, dataset: str, noted: Checkpoint, releases: Path) -> Checkpoint:
    """Fail unless the record opens, links up, keeps its ceiling, lost nothing and covers every release."""
    accountant = BudgetAccountant.open(address, dataset=dataset)
    end = accountant.verify(noted)
    if accountant.total()[0] > FITS_PER_DATASET:
        fail("more was charged than the ceiling")
    charged = {spend.label for spend in accountant.history() if spend.state == "spent"}
    if missing := set(releases.read_text().splitlines()) - charged:
        fail(f"released without a charge: {sorted(missing)}")
    return end


def fail(what: str) -> NoReturn:
    sys.exit(f"FAILED: {what}")


# --- throughput ----------------------------------------------------------------------------------------


def rate(address: str, dataset: str, processes: int, tries: int) -> float:
    """Fits that can be paid for in a second: a reservation and a settlement each."""
    done = race(address, dataset, processes, tries, processes * tries)
    if not done["asked"] == done["granted"] == done["recorded"]:
        fail(f"{done}")
    return done["granted"] / done["seconds"]


def reservations(address: str, dataset: str, tries: int, ceiling: float) -> float:
    """Reservations, or refusals if the ceiling is too low, in a second."""
    accountant = BudgetAccountant.create(address, dataset=dataset, epsilon=ceiling)
    start = time.perf_counter()
    for _ in range(tries):
        with suppress(BudgetExceededError):
            accountant.reserve(FIT, "reserved only")
    return tries / (time.perf_counter() - start)


def measure_throughput(addresses: dict[str, str], console: Console) -> None:
    shown = Table(title="per second; every commit is forced to disk")
    pair = "reserve + settle"
    for column in ("", "reserve", "refuse", f"{pair}, 1 process", f"{pair}, 8 processes"):
        shown.add_column(column, justify="left" if not column else "right")
    for name, address in addresses.items():
        figures = (
            reservations(address, "all", 200, ceiling=200),
            reservations(address, "none", 200, ceiling=0.5),
            rate(address, "one", 1, 200),
            rate(address, "eight", 8, 25),
        )
        shown.add_row(name, *(f"{figure:.0f}" for figure in figures))
    console.print(shown)


def measure_long_records(directory: Path, console: Console, longest: int) -> None:
    """Opening and charging must not get slower as the record grows; checking the whole record may."""
    shown = Table(title="one record, SQLite; medians")
    found = {length: trials.times_at(directory, length) for length in (1_000, longest)}
    for column in ("entries", *found[longest]):
        shown.add_column(column, justify="right")
    for length, times in found.items():
        shown.add_row(f"{length:,}", *(f"{figure:.2f}" for figure in times.values()))
    console.print(shown)


def run_trials(directory: Path, scale: float, server: Any) -> Iterator[tuple[str, str, Counter[str]]]:
    """Run every trial and yield its name, where it ran, and what it counted."""

    def count(full: int) -> int:
        return max(1, round(scale * full))

    def racing(address: str) -> Counter[str]:
        found: Counter[str] = Counter(trials=1000)
        done = race(address, "race", processes=8, tries=125, ceiling=100)
        found["overspent"] = int(max(0, done["granted"] - 100))
        found["lost"] = int(done["granted"] - done["recorded"])
        return found

    def killing(address: str, folder: Path) -> Counter[str]:
        found = survive_kills(address, folder, count(300), late=False)  # stops at the first fault
        return Counter(trials=found["kills"], overspent=0, lost=0)

    file, away = directory / "budget.db", directory / "away.db"
    hide, show = partial(os.rename, file, away), partial(os.rename, away, file)
    yield "8 processes race", "SQLite", racing(str(file))
    yield "fits killed", "SQLite", killing(str(file), directory)
    yield "file away during fits", "SQLite", trials.absences(str(file), directory, count(100), hide, show)
    if server is not None:
        (folder := directory / "server").mkdir()
        yield "8 processes race", "PostgreSQL", racing(server.url)
        yield "fits killed", "PostgreSQL", killing(server.url, folder)
        crashed = trials.absences(server.url, folder, count(100), server.kill, server.start)
        yield "server killed during fits", "PostgreSQL", crashed
    yield "files beside it removed", "SQLite", trials.files_beside_removed(directory, count(300))
    yield "old copy put back", "SQLite", trials.old_copy_put_back(directory, count(300))
    yield "disk full", "SQLite", trials.disk_full(directory, count(100))
    yield "read-only", "SQLite", trials.read_only(count(30))
    yield "clock moved back", "SQLite", trials.clock_moved_back(directory, count(300))
    yield "forged models", "", trials.forgeries(directory, count(1000))


def measure_trials(directory: Path, scale: float, server: Any, console: Console) -> None:
    shown = Table(title="attacks on the store")
    counted = ("overspent", "lost", "wrong exit codes", "not found")
    for column in ("attack", "on", "trials", *counted, "exit codes met", "seconds"):
        shown.add_column(column, justify="left" if column in ("attack", "on") else "right")
    start = time.perf_counter()
    for name, where, found in run_trials(directory, scale, server):
        seconds = time.perf_counter() - start
        codes = ", ".join(
            f"{key[10:]}: {n}" for key, n in sorted(found.items()) if key.startswith("exit code ")
        )
        figures = [str(found[what]) for what in counted]
        shown.add_row(name, where, str(found["trials"]), *figures, codes, f"{seconds:.0f}")
        print(f"{name}, {where}: {dict(found)}", file=sys.stderr)
        start = time.perf_counter()
    console.print(shown)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--race", metavar="ADDRESS", help="a new file or a postgresql:// address")
    parser.add_argument("--kill", type=int, metavar="N", help="kill -9 this often")
    parser.add_argument("--late", action="store_true", help="plant a bug for --kill: charge after release")
    parser.add_argument("--postgres", action="store_true", help="use a PostgreSQL server for --kill")
    parser.add_argument("--scale", type=float, default=1.0, help="of the number of trials")
    options = parser.parse_args()
    if options.race:
        print(json.dumps(race(options.race, "race", processes=8, tries=125, ceiling=100)))
        return
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        addresses = {"SQLite": str(directory / "budget.db")}
        if options.kill:
            if options.postgres:
                addresses["PostgreSQL"] = stack.enter_context(postgres_server())
            address = addresses["PostgreSQL" if options.postgres else "SQLite"]
            print(json.dumps(survive_kills(address, directory, options.kill, options.late)))
            return
        server = stack.enter_context(killable_server()) if server_binaries() else None
        if server is not None:
            addresses["PostgreSQL"] = server.url
        console = Console(width=140)
        fit(None, "warm")  # children start with compiled kernels
        measure_trials(directory, options.scale, server, console)
        measure_throughput(addresses, console)
        measure_long_records(directory, console, max(10_000, round(1_000_000 * options.scale)))


if __name__ == "__main__":
    main()
