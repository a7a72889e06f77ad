"""The README's ten commands, each run exactly as it is written there, by the shell, as a new user would."""

import csv
import json
import os
import re
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


@pytest.fixture(scope="module")
def shell(tmp_path_factory):
    """Run a line in an empty folder that has the examples, with the installed command on the path."""
    folder = tmp_path_factory.mktemp("walk")
    (folder / "examples").symlink_to(ROOT / "examples")
    programs = Path(sys.executable).parent
    assert (programs / "dpforest").exists(), "install the package again: pip install --editable ."
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}

    def run(line):
        return subprocess.run(
            ["bash", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )

    return run, folder


def test_the_ten_commands_of_the_readme(shell, monkeypatch):
    run, folder = shell
    assert sum(line.startswith("dpforest ") for line in COMMANDS) == 10
    answers = {}
    for line in COMMANDS:
        done = run(line)
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        assert "Traceback" not in done.stderr
        answers[" ".join(line.split()[1:3])] = done.stdout
    assert "valid schema of 4 features" in answers["schema check"]
    assert "leaf class counts" in answers["plan --schema"]
    assert "epsilon = 1, delta = 0 for adding or removing one row" in answers["fit visits.csv"]
    assert "is intact" in answers["budget verify"]
    assert "PrivateForestClassifier" in answers["budget history"]
    predictions = list(csv.DictReader((folder / "predictions.csv").read_text().splitlines()))
    assert len(predictions) == 2000
    assert {row["prediction"] for row in predictions} == {"home", "died"}
    assert dpforest.load(folder / "model.json").guarantee_.status == "proven"

    # what the text below the commands says; in this process, which has compiled everything by now
    monkeypatch.chdir(folder)
    fit = next(line.split()[1:] for line in COMMANDS if line.startswith("dpforest fit"))
    codes = [CliRunner().invoke(main, [*fit, "--overwrite", "--quiet"]).exit_code for _ in range(3)]
    assert codes == [0, 0, 3]
    left = json.loads(CliRunner().invoke(main, ["budget", "show", "budget.db", "--json"]).stdout)
    assert left["datasets"][0]["remaining"] == {"epsilon": 0.0, "delta": 0.0}
