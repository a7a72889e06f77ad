"""The README's thirteen commands, each run exactly as it is written there, by the shell, as a user would."""

import csv
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import dpforest
from dpforest.cli import main

ROOT = Path(__file__).parents[2]
SECTION = (ROOT / "README.md").read_text().split("## From a CSV to a published model")[1].split("\n## ")[0]
COMMANDS = re.findall(r"```sh\n(.*?)```", SECTION, re.DOTALL)[0].splitlines()


@pytest.fixture
def shell(tmp_path):
    """Run a line in an empty folder beside the examples, with the installed command on the path."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    folder = tmp_path / "hospital"
    folder.mkdir()
    programs = Path(sys.executable).parent
    assert (programs / "dpforest").exists(), "install the package again: pip install --editable ."
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}

    def run(line):
        return subprocess.run(
            ["bash", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )

    return run, folder


def run_here(line):
    """Run a command in this process, which need not start and load everything first."""
    return CliRunner().invoke(main, shlex.split(line, comments=True)[1:])


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_the_commands_of_the_readme(shell, monkeypatch, request, database):
    run, folder = shell
    assert sum(line.startswith("dpforest ") for line in COMMANDS) == 13
    budget, commands = "budget.db", COMMANDS
    if database == "postgresql":  # as the text below the commands says: an address in place of the file
        budget = request.getfixturevalue("postgres_address")
        commands = [line.replace("budget.db", f"'{budget}'") for line in COMMANDS]
    monkeypatch.chdir(folder)
    answers = {}
    for line in commands:
        # with a server, what has nothing to do with the budget is the same command as with a file
        if database == "sqlite" or budget in line or not line.startswith("dpforest "):
            done = run(line)
            code = done.returncode
        else:
            done = run_here(line)
            code = done.exit_code
        assert code == 0, f"{line}\n{done.stdout}{done.stderr}"
        assert "Traceback" not in done.stderr
        answers[" ".join(line.split()[1:3])] = done.stdout
    assert "valid schema of 4 features" in answers["schema check"]
    assert "leaf class counts" in answers["plan --schema"]
    assert "epsilon = 1, delta = 0 for adding or removing one row" in answers["fit visits.csv"]
    assert "is intact" in answers["budget verify"]
    assert "PrivateForestClassifier" in answers["budget history"]
    assert "by the holder of owner.pub" in " ".join(answers["verify model.json"].split())
    predictions = list(csv.DictReader((folder / "predictions.csv").read_text().splitlines()))
    assert len(predictions) == 2000
    assert {row["prediction"] for row in predictions} == {"home", "died"}
    assert "epsilon = 1, delta = 0" in (folder / "card.html").read_text()
    assert dpforest.load(folder / "model.json", key=folder / "owner.pub").guarantee_.status == "proven"

    # what the text below the commands says; in this process, which has compiled everything by now
    fit = next(shlex.split(line)[1:] for line in commands if line.startswith("dpforest fit"))
    codes = [CliRunner().invoke(main, [*fit, "--overwrite", "--quiet"]).exit_code for _ in range(3)]
    assert codes == [0, 0, 3]
    left = json.loads(CliRunner().invoke(main, ["budget", "show", budget, "--json"]).stdout)
    assert left["datasets"][0]["remaining"] == {"epsilon": 0.0, "delta": 0.0}
