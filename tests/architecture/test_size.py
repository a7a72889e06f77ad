"""Files that one can read at a sitting, and functions that fit on a screen where trust is needed."""

import ast
import statistics
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "dpforest"
TRUSTED = ("_curator", "mechanisms", "privacy", "_rows", "schema")


def test_files_are_short():
    lengths = [len(path.read_text().splitlines()) for path in SOURCE.rglob("*.py")]
    assert statistics.median(lengths) < 200


@pytest.mark.parametrize("room", TRUSTED)
def test_functions_of_the_trusted_core_fit_on_a_screen(room):
    for path in (SOURCE / room).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                length = node.end_lineno - node.lineno + 1
                assert length <= 60, f"{path}: {node.name} has {length} lines"
