"""Keys, signatures and receipts on the command line: what `verify` says of honest and of forged models."""

import hashlib
import json
import shutil

import pytest

FIT = (
    "fit visits.csv --schema schema.json --epsilon 1 --budget budget.db --out model.json --quiet "
    "--sign owner.key --analyst Meyer --purpose readmissions"
)


@pytest.fixture
def signed(cli, visits):
    """The folder of `visits` with a key and a model that is signed and charged."""
    cli("keys create owner.key")
    cli("keys create other.key")
    shutil.copy(visits / "budget.db", visits / "before.db")
    cli(FIT)
    return visits


def claims(cli, line, code):
    return json.loads(cli(f"{line} --json", code=code).stdout)


def test_an_honest_model_holds_in_every_way(cli, signed):
    told = claims(cli, "verify model.json --key owner.pub --budget budget.db", 0)
    assert told["holds"]
    assert {told[what]["holds"] for what in ("intact", "signed", "promise", "charged")} == {True}
    assert "by Meyer for readmissions" in told["charged"]["why"]
    shown = cli("verify model.json --key owner.pub --budget budget.db").stdout
    assert "by the holder of owner.pub" in " ".join(shown.split())
    cli("inspect model.json --key owner.pub")
    cli("predict model.json visits.csv --key owner.pub")
    history = json.loads(cli("budget history budget.db --json").stdout)["datasets"]["patients"]
    assert (history[0]["analyst"], history[0]["purpose"]) == ("Meyer", "readmissions")


def test_without_a_key_a_promise_is_the_writers_word(cli, signed):
    told = claims(cli, "verify model.json", 0)
    assert told["signed"]["holds"] is None
    assert "word of whoever wrote it" in told["signed"]["why"]
    assert told["charged"]["holds"] is None
    for line in ("inspect model.json", "predict model.json visits.csv"):
        assert "word of whoever wrote it" in cli(line).stderr


def forge(folder, change):
    envelope = json.loads((folder / "model.json").read_text())
    change(envelope)
    body = json.dumps(envelope["body"], ensure_ascii=False, separators=(",", ":"))
    envelope["sha256"] = hashlib.sha256(body.encode()).hexdigest()
    (folder / "model.json").write_text(json.dumps(envelope))


def test_forgeries_are_found(cli, signed):
    honest = (signed / "model.json").read_bytes()
    forge(signed, lambda envelope: envelope["body"]["receipt"].update(number=2))
    told = claims(cli, "verify model.json --key owner.pub --budget budget.db", 1)
    assert "forged" in told["signed"]["why"]
    assert "rolled back, or the receipt is forged" in told["charged"]["why"]
    cli("predict model.json visits.csv --key owner.pub", code=1)
    (signed / "model.json").write_bytes(honest)
    forge(signed, lambda envelope: envelope.update(signature=None))
    assert "not signed" in claims(cli, "verify model.json --key owner.pub", 1)["signed"]["why"]
    (signed / "model.json").write_bytes(honest)
    assert "another key" in claims(cli, "verify model.json --key other.pub", 1)["signed"]["why"]


def test_the_receipt_of_another_plan_is_found_by_the_budget(cli, signed):
    """A model that says half of what it spent, or was never charged, with the receipt of an honest one."""
    receipt = json.loads((signed / "model.json").read_text())["body"]["receipt"]
    cli("fit visits.csv --schema schema.json --epsilon 0.5 --out model.json --overwrite --quiet")
    forge(signed, lambda envelope: envelope["body"].update(receipt=receipt))
    told = claims(cli, "verify model.json --budget budget.db", 1)
    assert "another plan" in told["charged"]["why"]


def test_a_rolled_back_budget_is_found_by_the_receipt_of_a_model(cli, signed):
    shutil.copy(signed / "before.db", signed / "budget.db")
    cli("budget verify budget.db")  # links up
    told = claims(cli, "verify model.json --key owner.pub --budget budget.db", 1)
    assert "rolled back" in told["charged"]["why"]
    cli("budget charge budget.db --epsilon 1 --purpose restored --charge-name restored")
    assert (
        json.loads(cli("budget show budget.db --json").stdout)["datasets"][0]["remaining"]["epsilon"] == 1.0
    )
    cli("budget create elsewhere.db --dataset patients --epsilon 1")
    told = claims(cli, "verify model.json --budget elsewhere.db", 1)
    assert "does not keep the budget" in told["charged"]["why"]


def test_a_model_that_nobody_was_charged_for_says_so(cli, signed):
    cli("fit visits.csv --schema schema.json --epsilon 1 --out free.json --quiet")
    assert "charged to nobody" in claims(cli, "verify free.json", 0)["charged"]["why"]
    claims(cli, "verify free.json --budget budget.db", 1)


def test_keys_that_cannot_sign_cost_nothing(cli, signed):
    (signed / "owner.key").chmod(0o644)
    line = FIT.replace("model.json", "more.json")
    assert "chmod 600" in cli(line, code=1).stderr
    (signed / "other.pub").chmod(0o600)
    assert "not a private" in cli(line.replace("owner.key", "other.pub"), code=1).stderr
    assert len(json.loads(cli("budget history budget.db --json").stdout)["datasets"]["patients"]) == 1
    cli("keys create owner.key", code=2)


def test_an_owner_repairs_a_broken_record_under_protocol(cli, signed):
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(signed / "budget.db", isolation_level=None)) as connection:
        connection.execute("DROP TRIGGER dpforest_charges_keeps_on_update")
        connection.execute("UPDATE dpforest_charges SET epsilon = '1/10' WHERE number = 1")
    cli("budget verify budget.db", code=3)
    cli("budget repair budget.db --dataset patients --epsilon 1 --reason edited --analyst owner")
    cli("budget verify budget.db")
    [one] = json.loads(cli("budget history budget.db --json").stdout)["datasets"]["patients"]
    assert (one["state"], one["purpose"], one["analyst"], one["epsilon"]) == (
        "repaired",
        "edited",
        "owner",
        "1",
    )
    cli("budget grant budget.db somebody", code=2)
