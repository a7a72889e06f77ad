import json

import numpy as np
import pytest
from click.testing import CliRunner

from dpforest.cli import main

SCHEMA = {
    "age": {"type": "integer", "min": 18, "max": 100},
    "ward": {"type": "categorical", "categories": ["A", "B", "C"]},
    "outcome": {"type": "class", "categories": ["home", "died"]},
}


@pytest.fixture
def cli(tmp_path, monkeypatch):
    """Run a command in an empty folder; the answer has exit_code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def run(line, code=0):
        done = CliRunner().invoke(main, line.split() if isinstance(line, str) else line)
        assert done.exit_code == code, f"{line}: {done.exit_code}\n{done.output}\n{done.exception!r}"
        return done

    return run


@pytest.fixture
def visits(cli, tmp_path):
    """A private table, its schema and a budget, in the folder of `cli`."""
    rng = np.random.default_rng(0)
    rows = [
        f"{rng.integers(18, 101)},{rng.choice(list('ABCz'))},{rng.choice(['home', 'died'])}"
        for _ in range(400)
    ]
    (tmp_path / "visits.csv").write_text("\n".join(["age,ward,outcome", *rows, ""]))
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    cli("budget create budget.db --dataset patients --epsilon 2 --schema schema.json")
    return tmp_path
