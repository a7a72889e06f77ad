"""Run the tests on the oldest and the newest dependencies, and on every Python that can be had.

    make test-matrix                                  # the quick half, in every combination
    make test-matrix PART=all                         # the whole suite; PART=smoke: a minute each
    python -m tools.test_matrix --python 3.11 --dependencies oldest

Every combination gets an environment of its own in `.venvs/`, made by uv: oldest dependencies are the lowest
that pyproject.toml allows (what these need in turn is the newest). A Python that is not here is fetched. What
cannot be had is said in the table, not passed over; the exit code is 1 if a test failed.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
RESOLUTIONS = {"oldest": "lowest-direct", "newest": "highest"}
# What touches other packages most: readers of tables, files of models, the command line, estimators.
PARTS = {
    "smoke": [
        "tests/schema/test_tables.py",
        "tests/modelfile/test_round_trip.py",
    ],  # does it install and run?
    "quick": [
        "tests/schema/test_tables.py",
        "tests/modelfile",
        "tests/cli/test_commands.py",
        "tests/test_shrinkage.py",
    ]
    + [f"tests/forests/test_{name}.py" for name in ("sklearn", "papers", "registry")],
    "all": [],
}


class Outcome(NamedTuple):
    """What came of one combination."""

    python: str
    dependencies: str
    result: str
    seconds: float
    failures: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        return "failed" in self.result or "error" in self.result


def run(command: list[str | Path], timeout: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
    )


def find_uv() -> str:
    beside = Path(sys.executable).with_name("uv")
    return str(beside) if beside.exists() else "uv"


def try_combination(python: str, dependencies: str, part: str, workers: int) -> Outcome:
    """Make the environment, install, test; every step that fails ends it and says why."""
    start, home = time.monotonic(), ROOT / ".venvs" / f"{python}-{dependencies}"

    def outcome(result: str) -> Outcome:
        return Outcome(python, dependencies, result, time.monotonic() - start)

    made = run([find_uv(), "venv", "--quiet", "--clear", "--python", python, home], 600)
    if made.returncode:
        return outcome(f"no Python: {last_line(made.stderr)}")
    inside = home / "bin" / "python"
    options = ["--quiet", "--python", inside, "--resolution", RESOLUTIONS[dependencies]]
    installed = run([find_uv(), "pip", "install", *options, "--editable", ".[test]"], 1800)
    if installed.returncode:
        return outcome(f"not installable: {last_line(installed.stderr)}")
    tests = [inside, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", str(workers), *PARTS[part]]
    try:
        tested = run(tests, 3600)
    except subprocess.TimeoutExpired:
        return outcome("error: not done within an hour")
    (home / "tests.log").write_text(tested.stdout + tested.stderr)
    failures = tuple(re.findall(r"^(?:FAILED|ERROR) .*$", tested.stdout, re.MULTILINE))
    return outcome(summary(tested.stdout, tested.returncode))._replace(failures=failures)


def last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:120] if lines else "uv says nothing"


def summary(output: str, code: int) -> str:
    """Count what pytest prints: with -q there are dots and letters, and a line for each failure.

    >>> summary("..s.  [ 50%]\\nF...  [100%]\\nFAILED tests/a.py::test_b", 1)
    '1 failed, 6 passed, 1 skipped'
    """
    output = re.split(r"^=+ (?:FAILURES|ERRORS) =+$", output, flags=re.MULTILINE)[0]
    marks = "".join(re.findall(r"^([.FEsxX]+)\s*(?:\[\s*\d+%\])?$", output, re.MULTILINE))
    if not marks:
        return f"error: no test ran (exit code {code})"
    names = {"F": "failed", "E": "error", ".": "passed", "s": "skipped", "x": "expected to fail"}
    return ", ".join(f"{marks.count(mark)} {name}" for mark, name in names.items() if mark in marks)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", nargs="+", default=list(PYTHONS))
    parser.add_argument("--dependencies", nargs="+", choices=RESOLUTIONS, default=list(RESOLUTIONS))
    parser.add_argument("--part", choices=PARTS, default="quick")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    console = Console(width=120)
    table = Table(title=f"{options.part} tests")
    for column in ("Python", "dependencies", "result", "s"):
        table.add_column(column)
    outcomes = []
    for python in options.python:
        for dependencies in options.dependencies:
            done = try_combination(python, dependencies, options.part, options.workers)
            outcomes.append(done)
            console.print(f"{done.python} {done.dependencies}: {done.result}")
            for line in done.failures:
                console.print(line, markup=False, highlight=False)
            table.add_row(done.python, done.dependencies, done.result, f"{done.seconds:.0f}")
    console.print(table)
    sys.exit(any(done.failed for done in outcomes))


if __name__ == "__main__":
    main()
