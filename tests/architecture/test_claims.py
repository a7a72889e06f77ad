"""The table of claims names tests and mutants that exist."""

import re
from pathlib import Path

import pytest

from tests.mutants.test_mutants import MUTANTS

ROOT = Path(__file__).parents[2]
ROWS = [
    [cell.strip() for cell in line.strip("|\n").split("|")]
    for line in (ROOT / "docs/explanation/claims.md").read_text().splitlines()
    if line.startswith("| ") and not line.startswith("| claim")
]
TESTS = {
    name
    for path in (ROOT / "tests").rglob("test_*.py")
    for name in re.findall(r"def (test_\w+)", path.read_text())
}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_every_claim_has_a_proof_a_test_and_a_mutant_that_exist(row):
    _, proof, exact, _, mutant = row
    named = re.findall(r"`(test_\w+)`", exact)
    assert proof
    assert named
    assert set(named) <= TESTS
    assert mutant in MUTANTS
