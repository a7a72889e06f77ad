"""Exit codes say one thing each: nothing charged, charged without a model, charged and written."""

import json
import os
import subprocess
import sys

import click
import pytest

import dpforest
from dpforest.cli import fit as fit_module
from dpforest.cli import main
from dpforest.cli.answers import AnsweringCommand
from dpforest.privacy import BudgetAccountant, BudgetUncertainError

FIT = "fit visits.csv --schema schema.json --epsilon 1 --budget budget.db --out model.json --quiet"


def charges(folder, address="budget.db"):
    return BudgetAccountant.open(folder / address, dataset="patients").history()


@pytest.fixture
def hidden(visits):
    """Make the budget unreachable, as a server that is away."""

    def hide(*_):
        (visits / "budget.db").rename(visits / "away.db")

    return hide


def test_written_though_the_budget_is_away_is_no_refusal(cli, visits, hidden, monkeypatch):
    """A program that took it for one would pay twice."""
    save = fit_module._save

    def save_then_hide(*arguments):
        path = save(*arguments)
        hidden()
        return path

    monkeypatch.setattr(fit_module, "_save", save_then_hide)
    told = json.loads(cli(f"{FIT} --json", code=6).stdout)
    assert (told["status"], told["budget_reachable"], told["remaining"]) == ("written", False, None)
    assert "do not fit again" in told["notes"][-1]
    [charge] = charges(visits, "away.db")
    assert (charge.state, charge.hash) == ("spent", told["charge"]["hash"])
    assert dpforest.load(visits / "model.json").receipt_.head == charge.hash


def test_a_settlement_that_cannot_be_written_is_no_refusal_either(cli, visits, hidden, monkeypatch):
    train = dpforest.PrivateForestClassifier._train

    def train_then_hide(*arguments):
        trained = train(*arguments)
        hidden()
        return trained

    monkeypatch.setattr(dpforest.PrivateForestClassifier, "_train", train_then_hide)
    done = cli(FIT, code=6)
    assert "do not fit again" in done.stderr
    assert "nothing is granted" not in done.stdout
    [charge] = charges(visits, "away.db")
    assert charge.state == "reserved"


@pytest.mark.parametrize("error", [MemoryError("no memory"), KeyboardInterrupt(), OSError("disk")])
def test_charged_and_failed_has_a_code_of_its_own(cli, visits, monkeypatch, error):
    def fail(*_):
        raise error

    monkeypatch.setattr(dpforest.PrivateForestClassifier, "_train", fail)
    refusal = json.loads(cli(f"{FIT} --json", code=5).stderr)
    assert refusal["error"] == "charged, no model"
    [charge] = charges(visits)
    assert (charge.state, charge.hash) == ("failed", refusal["charge"]["hash"])
    assert not (visits / "model.json").exists()


def test_a_charge_that_may_be_on_disk_is_not_called_a_refusal(cli, visits, monkeypatch):
    def vanish(*_):
        raise BudgetUncertainError("the server went away while it was writing.")

    monkeypatch.setattr("dpforest.privacy.budget.store.BudgetStore._add", vanish)
    refusal = json.loads(cli(f"{FIT} --json", code=5).stderr)
    assert "may have been charged" in refusal["message"]
    assert refusal["charge"] is None


def test_a_model_that_went_elsewhere_is_not_at_out(cli, visits, monkeypatch):
    def full(path, data, **_):
        if os.fspath(path).startswith("model"):
            raise OSError("no space left on device")
        with open(path, "wb") as file:
            file.write(data)

    monkeypatch.setattr("dpforest.modelfile.document.write_file", full)
    told = json.loads(cli(f"{FIT} --json", code=7).stdout)
    assert told["status"] == "written elsewhere"
    assert dpforest.load(told["model"]).receipt_.head == charges(visits)[0].hash


def test_a_fit_asked_for_again_by_its_name_does_not_pay_twice(cli, visits):
    named = f"{FIT} --charge-name week-3"
    first = json.loads(cli(f"{named} --json").stdout)
    before = (visits / "model.json").read_bytes()
    again = json.loads(cli(f"{named} --json").stdout)
    assert (again["status"], again["charge"]) == ("written before", first["charge"])
    assert (visits / "model.json").read_bytes() == before
    assert len(charges(visits)) == 1
    # another plan under the same name, and a model that is not there any more
    assert "another plan" in cli(named.replace("epsilon 1", "epsilon 0.5"), code=3).stderr
    (visits / "model.json").unlink()
    assert "not in model.json" in cli(named, code=5).stderr
    cli(FIT.replace("model.json", "other.json"))
    assert "not in other.json" in cli(named.replace("model.json", "other.json"), code=5).stderr
    assert [charge.name for charge in charges(visits)] == ["week-3", None]


def test_a_name_that_another_process_took_meanwhile_is_not_charged_again(cli, visits, monkeypatch):
    cli(f"{FIT} --charge-name week-3")
    monkeypatch.setattr(BudgetAccountant, "find", lambda *_: None)
    other = FIT.replace("model.json", "other.json")
    assert "made before" in cli(f"{other} --charge-name week-3", code=5).stderr
    assert len(charges(visits)) == 1


def test_a_fit_that_died_is_found_by_its_name(cli, visits):
    code = """
import os, signal, sys
import dpforest
from dpforest.cli import main
dpforest.PrivateForestClassifier._train = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
main(sys.argv[1:])
"""
    line = [*FIT.split(), "--charge-name", "week-3"]
    assert subprocess.run([sys.executable, "-c", code, *line], check=False).returncode == -9
    refusal = json.loads(cli([*line, "--json"], code=5).stderr)
    assert "reserved" in refusal["message"]
    assert refusal["charge"]["number"] == 1
    assert len(charges(visits)) == 1


# --- refusals that programs can read -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("fit --json", 2),
        ("fit nowhere.csv --schema schema.json --epsilon 1 --out m.json --json", 2),
        ("fit visits.csv --schema schema.json --epsilon one --out m.json --json", 2),
        ("no-such-command --json", 2),
        ("budget create --json", 2),
        (f"{FIT} --no-such-option --json", 2),
        (f"{FIT} --json --charge-name week".replace("--budget budget.db ", ""), 2),
        (f"{FIT} --json".replace("epsilon 1", "epsilon 3"), 3),
        (f"{FIT} --json".replace("budget.db", "nowhere.db"), 3),
        ("schema check visits.csv --json", 4),
        ("inspect schema.json --json", 1),
        ("verify schema.json --json", 1),
        ("audit run no-such-forest --json", 2),
        ("bench run no-such-table --json", 2),
    ],
)
def test_every_refusal_can_be_parsed_and_names_no_python_call(cli, visits, line, code):
    done = cli(line, code=code)
    refusal = json.loads(done.stderr)
    assert refusal["exit_code"] == code
    assert not done.stdout
    assert "BudgetAccountant" not in refusal["message"]
    assert "Cost.pure" not in refusal["message"]


def test_every_command_takes_json():
    waiting, found = [main], []
    while waiting:
        command = waiting.pop()
        if isinstance(command, click.Group):
            waiting += command.commands.values()
        else:
            found.append(command.name)
            assert isinstance(command, AnsweringCommand), command.name
    assert {"fit", "verify", "gallery", "run", "replay", "repair"} <= set(found)


def test_remarks_are_part_of_a_json_answer(cli, visits):
    (visits / "visits.csv").write_text("name,age,ward,outcome\nJo,20,A,home\n")
    done = cli(f"{FIT} --json".replace("--quiet", "").replace("--budget budget.db ", ""))
    assert not done.stderr
    notes = json.loads(done.stdout)["notes"]
    assert any("left out: name" in note for note in notes)
    assert any("charged to nobody" in note for note in notes)


def test_predictions_in_json_are_all_there(cli, visits):
    import datetime

    from dpforest.cli.tables import write_columns

    cli(FIT)
    day = datetime.date(2020, 1, 31)
    columns = {
        "age": [20, 30] * 30,
        "ward": ["A"] * 60,
        "day": [day, None] * 30,
        "x": [float("nan"), 1.5] * 30,
    }
    write_columns(visits / "new.parquet", [columns])
    done = cli("predict model.json new.parquet --keep day --keep x --json")
    told = json.loads(done.stdout)
    assert {len(values) for values in told["columns"].values()} == {60} == {told["rows"]}
    assert told["columns"]["day"][:2] == ["2020-01-31", None]
    assert told["columns"]["x"][:2] == [None, 1.5]
    assert not done.stderr


# --- odd input ------------------------------------------------------------------------------------------


def test_a_link_that_leads_nowhere_is_not_followed(cli, visits):
    for line in (
        FIT,
        "schema init visits.csv --out model.json",
        "predict other.json visits.csv --out model.csv",
    ):
        name = line.split("--out ")[1].split()[0]
        (visits / name).unlink(missing_ok=True)
        (visits / name).symlink_to(visits / "secret place")
        if "other.json" in line:
            cli(FIT.replace("model.json", "other.json"))
        assert "exists" in cli(line, code=2).stderr
        cli(f"{line} --overwrite")
        assert not (visits / name).is_symlink()
        assert not (visits / "secret place").exists()


def test_a_header_without_end_is_no_traceback(cli, visits):
    long = 200_000 * "a"
    (visits / "visits.csv").write_text(f"{long},age\n1,2\n")
    for line in ("schema init visits.csv", "schema check schema.json --data visits.csv", FIT):
        done = cli(line, code=0 if "init" in line else 4)
        assert "Traceback" not in done.output
    cli("schema init --dictionary visits.csv", code=4)
    (visits / "visits.csv").write_bytes(b"column,type\n\xff,numeric\n")
    cli("schema init --dictionary visits.csv", code=4)


def test_files_as_they_are(cli, visits):
    header, *lines = (visits / "visits.csv").read_text().replace(",", ";").splitlines()
    lines = [f"{line[:2]},5{line[2:]}" for line in lines if line[2] == ";"]
    (visits / "visits.csv").write_bytes("\n".join([header, *lines]).encode("cp1252"))
    options = ["--delimiter", ";", "--decimal", ",", "--encoding", "cp1252", "--quote", ""]
    check = ["schema", "check", "schema.json", "--data", "visits.csv", "--values", "--json"]
    found = {one["column"]: one for one in json.loads(cli([*check, *options]).stdout)["values_private"]}
    assert found["age"]["undeclared"] == 0
    assert found["ward"]["undeclared"] > 0
    blind = json.loads(cli([*check, "--delimiter", ";"], code=4).stdout)["values_private"]
    assert "decimal comma" in str(blind[0]["hints"])
    cli([*FIT.split(), *options])
    refused = cli([*FIT.split(), "--overwrite", "--encoding", "utf-16"], code=2)
    assert "cannot be read line by line" in refused.stderr


def test_values_are_counted_for_the_owner_and_kept_nowhere(cli, visits):
    cli("schema check schema.json --values", code=2)
    (visits / "wrong.json").write_text(
        (visits / "schema.json").read_text().replace('"home", "died"', '"0", "1"')
    )
    assert "PRIVATE" in cli("schema check schema.json --data visits.csv --values").stdout
    done = cli("schema check wrong.json --data visits.csv --values", code=4)
    assert "no label is a declared class" in done.stdout.replace("\n", " ")
    cli("schema check wrong.json --data visits.csv")  # and without being asked nothing is said
    before = {path.name: path.read_bytes() for path in visits.iterdir()}
    cli("schema check schema.json --data visits.csv --values")
    assert {path.name: path.read_bytes() for path in visits.iterdir()} == before
