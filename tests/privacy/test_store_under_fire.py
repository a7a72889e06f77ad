"""A budget that lasts among racing and dying processes, full disks and files that cannot be written.

The races and kills run in a process of their own that forks; `python -m tools.store --kill 300` is the
long form.
"""

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from dpforest import DiPriMeForestClassifier
from dpforest.privacy import BudgetAccountant, BudgetStoreError, Cost

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")


def store_under_fire(*options):
    command = [sys.executable, "-m", "tools.store", *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)


def test_eight_processes_are_granted_exactly_the_ceiling(address):
    done = store_under_fire("--race", address)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["asked"], found["granted"], found["recorded"]) == (1000, 100, 100)
    accountant = BudgetAccountant.open(address, dataset="race")
    assert accountant.total() == (100.0, 0.0)
    assert accountant.verify().count == 200


@pytest.mark.parametrize(("kills", "where"), [(30, ()), (10, ("--postgres",))])
def test_nothing_is_lost_and_nothing_is_released_unpaid_when_fits_are_killed(kills, where, request):
    if where:
        request.getfixturevalue("postgres")  # skips where there is no server
    done = store_under_fire("--kill", str(kills), *where)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["kills"] >= kills
    assert found["released"] > 0  # there was something to lose
    assert found["released"] <= found["spent"]


def test_the_kill_test_catches_charging_after_the_release():
    done = store_under_fire("--kill", "40", "--late")
    assert done.returncode == 1
    assert "released without a charge" in done.stderr


# --- places that cannot be written ---------------------------------------------------------------------

UNTIL_THE_DISK_IS_FULL = """
import resource, sys, warnings
import numpy as np
from dpforest import DiPriMeForestClassifier
from dpforest.privacy import BudgetAccountant, BudgetStoreError, BudgetStoreWarning
warnings.simplefilter("ignore", BudgetStoreWarning)
path, limit = sys.argv[1], int(sys.argv[2])
looks, may_look = [], DiPriMeForestClassifier._train
def looking(self, *arguments, **options):
    looks.append(1)
    return may_look(self, *arguments, **options)
DiPriMeForestClassifier._train = looking
accountant = BudgetAccountant.open(path, dataset="patients")
X, y = np.random.default_rng(0).random((50, 2)), np.arange(50) % 2
model = DiPriMeForestClassifier(1, max_depth=1, bounds=(0, 1), classes=[0, 1], accountant=accountant)
model.fit(X, y)
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
fits = 1
try:
    for _ in range(2000):
        model.fit(X, y)
        fits += 1
except BudgetStoreError as error:
    print(fits, len(looks), error)
"""


def fill_the_disk(path, limit):
    BudgetAccountant.create(path, dataset="patients", epsilon=10_000)
    done = subprocess.run(
        [sys.executable, "-c", UNTIL_THE_DISK_IS_FULL, str(path), str(limit)],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    fits, looks, message = done.stdout.split(maxsplit=2)
    assert int(fits) == int(looks) > 0  # the refused fit never looked
    assert "nothing is granted" in message
    return int(fits)


def test_a_disk_quota_refuses_before_any_look(tmp_path):
    fits = fill_the_disk(tmp_path / "budget.db", limit=40_960)
    accountant = BudgetAccountant.open(tmp_path / "budget.db", dataset="patients")  # the chain links up
    assert fits <= len(accountant) <= fits + 1
    accountant.spend(Cost.pure(1))  # there is room again


def test_a_full_disk_refuses_before_any_look(tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", small]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("a small disk can be mounted by root only")
    try:
        fits = fill_the_disk(small / "budget.db", 0)
        accountant = BudgetAccountant.open(small / "budget.db", dataset="patients")
        assert fits <= len(accountant) <= fits + 1
    finally:
        subprocess.run(["umount", small], check=True)


@contextmanager
def ordinary_user():
    """Root may write everywhere, so be somebody else for a while."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def shelf():
    """A directory that other users can reach, unlike `tmp_path`."""
    directory = Path(tempfile.mkdtemp(prefix="dpforest-shelf-"))
    yield directory
    directory.chmod(0o755)
    shutil.rmtree(directory)


@pytest.mark.parametrize(("file", "directory"), [(0o444, 0o777), (0o666, 0o555), (0o444, 0o555)])
def test_a_budget_that_cannot_be_written_refuses_before_any_look(file, directory, shelf, monkeypatch):
    path = shelf / "budget.db"
    accountant = BudgetAccountant.create(path, dataset="patients", epsilon=3.0)
    accountant.spend(Cost.pure(1))
    path.chmod(file)
    shelf.chmod(directory | stat.S_IXUSR)
    model = DiPriMeForestClassifier(1, max_depth=1, bounds=(0, 1), classes=[0, 1])
    X, y = np.random.default_rng(0).random((50, 2)), np.arange(50) % 2
    model.fit(X, y)  # compiled now, as root or not
    model.set_params(accountant=accountant)
    monkeypatch.setattr(DiPriMeForestClassifier, "_train", lambda *_: pytest.fail("looked without paying"))
    with ordinary_user():
        with pytest.raises(BudgetStoreError, match="nothing is granted"):
            model.fit(X, y)
        assert accountant.remaining() == (2.0, 0.0)  # an auditor may still read and check
        assert accountant.verify().count == 1
