"""A budget that lasts, the same on a file and on a server: states, identity, refusals, what is recorded."""

import copy
import json
import pickle
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

from dpforest import DiPriMeForestClassifier
from dpforest.privacy import (
    BudgetAccountant,
    BudgetExceededError,
    BudgetPlan,
    BudgetStoreError,
    BudgetStoreWarning,
    BudgetTamperedError,
    BudgetUncertainError,
    ChargeRepeatedError,
    Checkpoint,
    Cost,
    NeighboringRelation,
    PrivacyError,
    list_budgets,
    schema_hash,
    verify_budgets,
)
from dpforest.privacy.budget.sqlite import SqliteDatabase
from dpforest.schema import Classes, Nominal, Numeric, Schema

ADD, REPLACE, LABEL = NeighboringRelation
ROOT = Path(__file__).parents[2]
X = np.random.default_rng(0).random((100, 2))
Y = (X[:, 0] > 0.5).astype(int)
IN_ANOTHER_PROCESS = """
import pickle, sys
from dpforest.privacy import Cost
accountant = pickle.load(sys.stdin.buffer)
accountant.spend(Cost.pure(0.5), "elsewhere")
print(accountant.remaining()[0])
"""


def create(address, epsilon=3.0, dataset="patients", **more):
    return BudgetAccountant.create(address, dataset=dataset, epsilon=epsilon, **more)


def states(accountant):
    return [spend.state for spend in accountant.history()]


def test_a_charge_is_on_disk_before_the_look_and_settled_after_it(address):
    accountant = create(address)
    with accountant.reserve(Cost.pure(1), "count"):
        assert states(accountant) == ["reserved"]
        assert accountant.total() == (1.0, 0.0)
    assert states(accountant) == ["spent"]
    with pytest.raises(KeyboardInterrupt), accountant.reserve(Cost.pure(1), "count"):
        raise KeyboardInterrupt
    accountant.reserve(Cost.pure(1), "the process died here")
    assert states(accountant) == ["spent", "failed", "reserved"]
    assert accountant.total() == (3.0, 0.0)  # all three count, for ever
    with pytest.raises(BudgetExceededError, match="remaining epsilon = 0"):
        accountant.reserve(Cost.pure(0.001))
    assert len(accountant) == 3


def test_settling_again_does_nothing(address):
    accountant = create(address)
    with accountant.reserve(Cost.pure(1)) as charge:
        charge.settle()
        charge.settle(failed=True)
    assert states(accountant) == ["spent"]
    assert accountant.verify().count == 2


def test_every_estimator_leaves_its_plan_and_its_looks(address):
    accountant = create(address)
    model = DiPriMeForestClassifier(2, epsilon=1.0, bounds=(0, 1), classes=[0, 1], accountant=accountant)
    model.fit(X, Y)
    [spend] = accountant.history()
    assert (spend.state, spend.label) == ("spent", "DiPriMeForestClassifier")
    assert BudgetPlan.from_dict(spend.plan) == model.privacy_plan()
    assert list(spend.queries) == json.loads(json.dumps(model.ledger_.to_dict()["queries"]))
    started, ended = datetime.fromisoformat(spend.when), datetime.fromisoformat(spend.settled)
    assert started.tzinfo == UTC
    assert timedelta(0) < ended - started < timedelta(minutes=5)
    assert json.loads(json.dumps(spend.to_dict()))["epsilon"] == "1"


def test_a_failed_fit_stays_charged_and_tells_the_looks_it_made(address, monkeypatch):
    accountant = create(address)
    model = DiPriMeForestClassifier(2, epsilon=1.0, bounds=(0, 1), classes=[0, 1], accountant=accountant)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(DiPriMeForestClassifier, "_fill", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    [spend] = accountant.history()
    assert spend.state == "failed"
    pools = {query["pool"] for query in spend.queries}
    assert "splits" in pools
    assert "leaves" not in pools


def test_it_outlasts_everybody_who_uses_it(address):
    create(address, epsilon=1.0, delta=1e-6).spend(Cost.pure(Fraction(1, 30)), "Bäume")
    again = BudgetAccountant.open(address, dataset="patients")
    assert (again.epsilon, again.delta) == (1.0, 1e-6)
    [spend] = again.history()
    assert (spend.cost, spend.label) == (Cost.pure(Fraction(1, 30)), "Bäume")
    for _ in range(9):
        again.spend(Cost.pure(0.1))
    again.spend(Cost.pure(Fraction(2, 30)))
    assert again.remaining()[0] < 1e-3  # exactly used up by the pure rule


def test_one_budget_however_it_travels(address):
    accountant = create(address)
    assert BudgetAccountant.open(address, dataset="patients") is accountant
    assert clone(DiPriMeForestClassifier(accountant=accountant)).accountant is accountant
    assert copy.deepcopy([accountant])[0] is accountant
    frozen = pickle.dumps(accountant)
    assert pickle.loads(frozen) is accountant
    out = subprocess.run(
        [sys.executable, "-c", IN_ANOTHER_PROCESS], input=frozen, capture_output=True, check=True
    )
    assert float(out.stdout) == 2.5 == accountant.remaining()[0]
    assert f"dataset={'patients'!r}" in repr(accountant)


def test_a_relative_path_means_the_same_file_from_everywhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    accountant = create("budget.db")
    monkeypatch.chdir("/")
    accountant.spend(Cost.pure(1))
    assert BudgetAccountant.open(tmp_path / "budget.db", dataset="patients") is accountant


def test_many_datasets_in_one_place_do_not_mix(address):
    accountants = {name: create(address, dataset=name) for name in ("patients", "staff", "Ärzte; DROP TABLE")}
    accountants["staff"].spend(Cost.pure(3))
    assert accountants["patients"].remaining() == (3.0, 0.0)
    assert {dataset.name for dataset in list_budgets(address)} == set(accountants)
    ends = verify_budgets(address)
    assert {name: end.count for name, end in ends.items()} == {
        "patients": 0,
        "staff": 1,
        "Ärzte; DROP TABLE": 0,
    }
    assert ends["staff"] == accountants["staff"].verify()


def test_a_budget_is_never_replaced(address):
    create(address, epsilon=1.0).spend(Cost.pure(1))
    with pytest.raises(BudgetStoreError, match="already"):
        create(address, epsilon=100.0)
    with pytest.raises(BudgetStoreError, match="no budget for 'other' here; there is 'patients'"):
        BudgetAccountant.open(address, dataset="other")


def test_the_ceiling_protects_whom_the_owner_said(address):
    accountant = create(address, relation=REPLACE, max_rows_per_person=2)
    with pytest.raises(PrivacyError, match="REPLACE_ONE, at most 2"):
        accountant.reserve(BudgetPlan.divide(1, 0, {"all": 1}, ADD))
    accountant.reserve(BudgetPlan.divide(1, 0, {"all": 1}, REPLACE, 2))
    with pytest.raises(PrivacyError, match="REPLACE_ONE, at most 2"):
        accountant.reserve(Cost.pure(1))


def test_the_schema_is_recorded_by_its_hash(address):
    schema = Schema({"age": Numeric(18, 100), "ward": Nominal(["A", "B"])}, Classes(["home", "died"]))
    accountant = create(address, schema=schema)
    same = Schema({"ward": Nominal(["A", "B"]), "age": Numeric(18, 100)}, Classes(["home", "died"]))
    other = Schema({"ward": Nominal(["A", "B"]), "age": Numeric(18, 101)}, Classes(["home", "died"]))
    assert accountant.dataset.schema_hash == schema_hash(same) == schema_hash(schema.to_dict())
    assert accountant.dataset.schema_hash != schema_hash(other)


@pytest.mark.parametrize("name", ["", "two\nlines", "\x1b[2J", "a" * 201, "\udc80", "zero\0"])
def test_names_and_labels_that_would_not_come_back_are_refused(name, tmp_path):
    with pytest.raises(ValueError, match=r"printable|empty"):
        create(tmp_path / "budget.db", dataset=name)
    if name:
        with pytest.raises(ValueError, match="printable"):
            create(tmp_path / "budget.db").reserve(Cost.pure(1), name)


def test_an_amount_with_endless_digits_is_refused_and_costs_nothing(address):
    accountant = create(address)
    for amount in (Fraction(1, 2**1279 - 1), Fraction(2**600 + 1, 2**601)):
        with pytest.raises(ValueError, match="digits"):
            accountant.spend(Cost.pure(amount))
    assert len(accountant) == 0
    accountant.spend(Cost.pure(1))
    accountant.verify()


def test_odd_amounts_never_lock_later_charges_out(address):
    """Denominators without common factors: their exact sum would have thousands of digits."""
    accountant = create(address)
    odd = [Cost.pure(Fraction(1, 2**512 - 2 * k - 1)) for k in range(6)]
    for cost in odd:
        accountant.spend(cost)
    accountant.spend(Cost.pure(2.5))
    total = accountant._store.standing().total
    exact = sum((cost.epsilon for cost in odd), Fraction(5, 2))
    assert exact <= total.epsilon < exact + Fraction(1, 2**1000)  # rounded up, and by next to nothing
    assert total.epsilon != exact
    assert accountant.verify().count == 7
    with pytest.raises(BudgetExceededError):
        accountant.spend(Cost.pure(0.5))


def test_a_charge_says_who_and_why(address):
    accountant = create(address)
    with accountant.charging(analyst="A. Meyer", purpose="readmissions, ward B"):
        pickle.loads(pickle.dumps(accountant)).spend(Cost.pure(1), "count")
    accountant.spend(Cost.pure(1))
    first, second = accountant.history()
    assert (first.analyst, first.purpose, first.label) == ("A. Meyer", "readmissions, ward B", "count")
    assert (second.analyst, second.purpose) == ("", "")
    assert first.to_dict()["analyst"] == "A. Meyer"
    with pytest.raises(ValueError, match="printable"), accountant.charging(purpose="two\nlines"):
        accountant.spend(Cost.pure(1))


def test_blocks_of_different_threads_do_not_mix(tmp_path):
    accountant, both = create(tmp_path / "budget.db"), threading.Barrier(2)

    def charge(who):
        with accountant.charging(analyst=who, name=who):
            both.wait(30)
            accountant.spend(Cost.pure(0.5), who)
            both.wait(30)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(charge, ["Ada", "Emmy"]))
    assert {(one.label, one.analyst, one.name) for one in accountant.history()} == {
        ("Ada", "Ada", "Ada"),
        ("Emmy", "Emmy", "Emmy"),
    }
    with accountant.charging(analyst="Ada"), ThreadPoolExecutor(1) as pool:  # a worker thread inside a block
        pool.submit(accountant.spend, Cost.pure(0.5)).result()
    accountant.spend(Cost.pure(0.5))
    assert [one.analyst for one in accountant.history()[2:]] == ["Ada", ""]


def test_a_named_charge_is_made_once(address):
    """Whoever asks again learns what became of the first; nobody gets a second look for it."""
    accountant = create(address)
    with accountant.charging(name="week 3") as notes, accountant.reserve(Cost.pure(1)):
        pass
    assert [receipt.count for receipt in notes.receipts] == [1]
    found = accountant.find("week 3")
    assert (found.state, found.number, found.hash) == ("spent", 1, notes.receipts[0].head)
    assert accountant.find("week 4") is None
    with (
        accountant.charging(name="week 3") as again,
        pytest.raises(ChargeRepeatedError, match="number 1, spent"),
    ):
        accountant.reserve(Cost.pure(1))
    assert not again.receipts
    assert accountant.total() == (1.0, 0.0)


def test_a_receipt_proves_that_the_charge_is_still_there(address):
    accountant = create(address)
    with accountant.reserve(Cost.pure(1)) as charge:
        receipt = charge.receipt
    assert accountant.verify(str(receipt)).count == 2
    with pytest.raises(BudgetTamperedError, match="not the one of the checkpoint"):
        accountant.verify(Checkpoint(1, 64 * "0"))
    with pytest.raises(BudgetTamperedError, match="2 entries and had 7"):
        accountant.verify(Checkpoint(7, receipt.head))
    for text in ("", "1", "1:", "-1:" + receipt.head, "1:" + receipt.head.upper().replace("A", "G")):
        with pytest.raises(ValueError, match="a checkpoint is"):
            accountant.verify(text)


def test_a_settlement_that_cannot_be_written_warns_and_the_charge_stays(tmp_path):
    accountant = create(tmp_path / "budget.db")
    charge = accountant.reserve(Cost.pure(1))
    (tmp_path / "budget.db").rename(tmp_path / "away.db")
    with pytest.warns(BudgetStoreWarning, match="stays reserved"):
        charge.settle()
    (tmp_path / "away.db").rename(tmp_path / "budget.db")
    assert states(accountant) == ["reserved"]


@pytest.mark.parametrize("then", ["on disk", "not on disk", "away", "away again"])
def test_a_commit_whose_answer_was_lost_is_looked_up(tmp_path, monkeypatch, then):
    """A charge that may be on disk is not called a refusal, and one that is not there is not granted."""
    accountant, writing, times = create(tmp_path / "budget.db"), SqliteDatabase.writing, []

    @contextmanager
    def loses_the_answer(self, dataset):
        times.append(1)
        if len(times) == 2 and then.startswith("away"):
            raise (BudgetUncertainError if then == "away again" else BudgetStoreError)("connection refused")
        with writing(self, dataset) as execute:
            yield execute
            if len(times) == 1 and then == "not on disk":
                raise BudgetUncertainError("went away")
        if len(times) == 1:
            raise BudgetUncertainError("went away")

    monkeypatch.setattr(SqliteDatabase, "writing", loses_the_answer)
    if then == "on disk":
        assert accountant.verify(accountant.spend(Cost.pure(1))).count == 1
    elif then == "not on disk":
        with pytest.raises(BudgetStoreError, match="nothing was charged"):
            accountant.spend(Cost.pure(1))
    else:
        with pytest.raises(BudgetUncertainError, match="went away"):
            accountant.spend(Cost.pure(1))
    assert len(accountant) == (then != "not on disk")


def test_files_that_are_no_budgets_are_refused_and_left_alone(tmp_path):
    with pytest.raises(BudgetStoreError, match=r"unable to open.*created before"):
        BudgetAccountant.open(tmp_path / "missing.db", dataset="patients")
    assert not (tmp_path / "missing.db").exists()
    (tmp_path / "text.db").write_text("epsilon = 1" * 1000)
    (tmp_path / "empty.db").touch()
    with sqlite3.connect(tmp_path / "other.db") as connection:
        connection.execute("CREATE TABLE mine (x)")
    connection.close()
    before = (tmp_path / "other.db").read_bytes()
    for name in ("text.db", "empty.db", "other.db"):
        with pytest.raises(BudgetStoreError):
            BudgetAccountant.open(tmp_path / name, dataset="patients")
    for name in ("text.db", "other.db", "no/such/directory.db"):
        with pytest.raises(BudgetStoreError):
            create(tmp_path / name)
    assert (tmp_path / "other.db").read_bytes() == before


def test_a_format_from_the_future_is_refused(tmp_path):
    accountant = create(tmp_path / "budget.db")
    with sqlite3.connect(tmp_path / "budget.db") as connection:
        connection.execute("DROP TRIGGER dpforest_format_keeps_on_update")
        connection.execute("UPDATE dpforest_format SET version = 4")
    connection.close()
    with pytest.raises(BudgetStoreError, match="use the version of dpforest that made it"):
        accountant.spend(Cost.pure(1))
    with pytest.raises(BudgetStoreError, match="use the version of dpforest that made it"):
        list_budgets(tmp_path / "budget.db")


@pytest.mark.parametrize(
    "url", ["mysql://me@host/name", "sqlite:///budget.db", "postgresql://me:secret@host/name"]
)
def test_addresses_that_are_refused(url):
    with pytest.raises(ValueError, match=r"postgresql://|password") as refusal:
        BudgetAccountant.open(url, dataset="patients")
    assert "secret" not in str(refusal.value)
