"""The budget store under load: how fast it grants, whether it grants too much, and what survives kill -9.

    make bench TARGET=store                              # reservations per second, SQLite and PostgreSQL
    python -m benchmarks.store --race budget.db          # 8 processes, 1,000 requests, a ceiling of 100
    python -m benchmarks.store --kill 300                # kill -9 at 300 random moments of concurrent fits
    python -m benchmarks.store --kill 300 --postgres     # the same against a PostgreSQL server

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
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import NoReturn

import numpy as np
from rich.console import Console
from rich.table import Table

from dpforest.privacy import BudgetAccountant, BudgetExceededError, BudgetPlan, Checkpoint
from tests.privacy.servers import postgres_server, server_binaries

FIT = BudgetPlan.divide(1.0, 0.0, {"splits": 0.5, "leaves": 0.5})


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


def measure_long_records(console: Console, length: int = 5_000) -> None:
    """A charge must not get slower as the record grows; checking the whole record may."""
    accountant = BudgetAccountant(epsilon=2 * length)  # a temporary file: no time goes to the disk

    def charge(times: int) -> float:
        start = time.perf_counter()
        for _ in range(times):
            accountant.spend(FIT, "long")
        return 1000 * (time.perf_counter() - start) / times

    first, _, last = charge(200), charge(length), charge(200)
    start = time.perf_counter()
    accountant.verify()
    whole = 1000 * (time.perf_counter() - start)
    console.print(
        f"temporary accountant: {first:.2f} ms a charge at first, {last:.2f} ms after {length:,} charges; "
        f"checking that record takes {whole:.0f} ms"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--race", metavar="ADDRESS", help="a new file or a postgresql:// address")
    parser.add_argument("--kill", type=int, metavar="N", help="kill -9 this often")
    parser.add_argument("--late", action="store_true", help="plant a bug for --kill: charge after release")
    parser.add_argument("--postgres", action="store_true", help="use a PostgreSQL server for --kill")
    options = parser.parse_args()
    if options.race:
        print(json.dumps(race(options.race, "race", processes=8, tries=125, ceiling=100)))
        return
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        addresses = {"SQLite": str(directory / "budget.db")}
        if (options.postgres or not options.kill) and server_binaries():
            addresses["PostgreSQL"] = stack.enter_context(postgres_server())
        if options.kill:
            address = addresses["PostgreSQL" if options.postgres else "SQLite"]
            print(json.dumps(survive_kills(address, directory, options.kill, options.late)))
            return
        console = Console(width=120)
        measure_throughput(addresses, console)
        measure_long_records(console)


if __name__ == "__main__":
    main()
