"""Files, numbers and left-overs that nobody meant: each is refused in words, or cleared away."""

import os
import random
import signal
import subprocess
import sys
import tempfile
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from dpforest.privacy import BudgetAccountant, BudgetStoreError, Cost, verify_budgets
from dpforest.privacy.budget.temporary import PREFIX


def test_flipped_bytes_are_refused_in_words(tmp_path):
    """Whatever a disk or a person does to the file: a refusal of the store, or nothing that matters."""
    path = tmp_path / "budget.db"
    accountant = BudgetAccountant.create(path, dataset="Bäume", epsilon=3.0)
    with (
        accountant.charging(analyst="Ä. Öz", purpose="Übersicht"),
        accountant.reserve(Cost.pure(1), "Zähler"),
    ):
        pass
    honest, end, rng, refused = path.read_bytes(), accountant.verify(), random.Random(0), 0
    used = [at for at, byte in enumerate(honest) if byte]
    for _ in range(1500):
        damaged = bytearray(honest)
        damaged[rng.choice(used)] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
        try:
            assert verify_budgets(path, {"Bäume": end}) == {"Bäume": end}
        except BudgetStoreError:
            refused += 1
    assert refused > 1000


@pytest.mark.parametrize(
    "amount",
    [Decimal("1e-99999999"), Decimal("1e99999999"), Fraction(1, 10**5000), 10**5000],
    ids=["tiny", "huge", "fraction", "integer"],
)
def test_numbers_without_end_are_refused_at_once(amount):
    with pytest.raises(ValueError, match=r"digits|finite"):
        BudgetAccountant(epsilon=amount)
    with pytest.raises(ValueError, match=r"digits|finite"):
        Cost.pure(amount)


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path, monkeypatch):
    code = (
        "import os, signal; from dpforest.privacy import BudgetAccountant\n"
        "accountant = BudgetAccountant(epsilon=1.0); os.kill(os.getpid(), signal.SIGKILL)"
    )
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    done = subprocess.run([sys.executable, "-c", code], check=False)
    assert done.returncode == -signal.SIGKILL
    [left] = tmp_path.glob(f"{PREFIX}*")
    first = BudgetAccountant(epsilon=1.0)
    assert not left.exists()
    second = BudgetAccountant(epsilon=1.0)  # and the living are left alone
    assert len(list(tmp_path.glob(f"{PREFIX}*"))) == 2
    first.spend(Cost.pure(1))
    child = os.fork()
    if not child:
        del first, second
        os._exit(0)
    os.waitpid(child, 0)
    assert first.remaining() == (0.0, 0.0)
    del first, second
    assert not list(Path(tmp_path).glob(f"{PREFIX}*"))
