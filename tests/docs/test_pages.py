"""Every block of code in the documentation is run, page by page, in the order in which it is read.

A page runs in an empty folder that has the made-up hospital's files. Tutorials must bring everything else
along; other pages may use the names of `KNOWN`. Blocks of ``sh`` hold commands of `dpforest`, or run one of
the examples; addresses of servers are replaced by that of a real one. ``<!-- raises NAME -->`` before a block
says how it ends, ``<!-- run by FOLDER -->`` which tests run it instead, for what it needs is not everywhere.
"""

import re
import runpy
import shlex
import sys
import textwrap
import types
from pathlib import Path

import pytest
from click.testing import CliRunner

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(
    r"^(?:<!-- (?:raises (?P<raises>\w+)|run by (?P<elsewhere>\S+)) -->\n)?"
    r"^(?P<indent> *)```(?P<language>python|sh)\n(?P<code>.*?)^ *```$",
    re.DOTALL | re.MULTILINE,
)
SERVER = "postgresql://owner@db.example.org/budgets"
WALKED = {"README.md"}  # its commands are run by tests/cli/test_walkthrough.py, as a user would

KNOWN = """
import numpy as np
import pandas as pd
from quickstart import hospital
import dpforest
from dpforest import PrivateForestClassifier, PrivateForestRegressor, estimate_schema, private_score
from dpforest.privacy import BudgetAccountant
from dpforest.schema import Boolean, Classes, Date, Nominal, Numeric, Ordinal, Range, Schema, Source

schema = Schema(
    {"age": Numeric(18, 100, integer=True), "crp": Numeric(0, 500), "oxygen": Numeric(60, 100),
     "ward": Nominal(["surgery", "medicine", "intensive"])},
    target=Classes(["home", "died"]),
)
X, y = hospital(2_000, seed=1)
X_new, y_new = hospital(500, seed=2)
model = PrivateForestClassifier(epsilon=1.0, schema=schema).fit(X, y)
"""


def blocks(page):
    return list(BLOCK.finditer(page.read_text("utf-8")))


def pages():
    for page in PAGES:
        if found := blocks(page):
            name = page.relative_to(ROOT).as_posix()
            yield pytest.param(page, found, id=name)


@pytest.fixture
def hospital_folder(tmp_path, monkeypatch):
    """Change to an empty folder beside the examples, which can be imported as in a script that lies there."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    folder = tmp_path / "hospital"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    return folder


def files_of_the_hospital(folder, names):
    """Write what pages outside of the tutorials read."""
    runpy.run_path(str(ROOT / "examples" / "hospital_csv.py"), run_name="__main__")
    table, outcome = names["hospital"](2_000, seed=1)
    for name in ("visits", "new-visits"):
        (folder / name).mkdir()
        table.assign(outcome=outcome).to_parquet(folder / name / "2024-01.parquet")
    main(["schema", "init", "visits.csv", "--dictionary", "dictionary.csv", "--target", "outcome", "--out",
          "schema.json"])  # fmt: skip
    main(["keys", "create", "owner.key"])
    names["model"].save("model.json", key="owner.key")


def main(arguments):
    from dpforest.cli import main as command

    done = CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert done.exit_code == 0, f"dpforest {shlex.join(arguments)}\n{done.output}"


def run_line(line):
    """Run one line of a shell block: a command of ours, or one of the examples."""
    words = shlex.split(line, comments=True)
    match words:
        case []:
            return
        case ["dpforest", *arguments]:
            main(arguments)
        case ["python", script] if script.startswith("../examples/"):
            runpy.run_path(script, run_name="__main__")
        case _:
            pytest.fail(f"a block of sh holds what cannot be tested: {line}")


@pytest.mark.parametrize(("page", "found"), list(pages()))
def test_the_code_of_a_page_runs(page, found, hospital_folder, request, monkeypatch):
    address = request.getfixturevalue("postgres_address") if SERVER in page.read_text("utf-8") else SERVER
    module = types.ModuleType("page")  # a real one, so that classes of the page can be pickled
    monkeypatch.setitem(sys.modules, "page", module)
    names = vars(module)
    if page.parent.name != "tutorials":
        exec(compile(KNOWN, "known", "exec"), names)
        files_of_the_hospital(hospital_folder, names)
    for block in found:
        if block["elsewhere"]:
            assert page.name in "".join(test.read_text() for test in (ROOT / block["elsewhere"]).glob("*.py"))
            continue
        code = textwrap.dedent(block["code"]).replace(SERVER, address)
        if block["language"] == "sh":
            if page.name not in WALKED:
                for line in code.replace("\\\n", " ").splitlines():
                    run_line(line)
            continue
        # lines of a traceback point into the page
        padding = "\n" * page.read_text("utf-8").count("\n", 0, block.start("code"))
        program = compile(padding + code, str(page), "exec")
        if block["raises"]:
            with pytest.raises(Exception) as caught:  # noqa: PT011
                exec(program, names)
            assert type(caught.value).__name__ == block["raises"]
        else:
            exec(program, names)


def test_every_fence_has_a_language():
    """Code without a language is code that nobody runs."""
    for page in PAGES:
        fences = re.findall(r"^ *```(\w*)$", page.read_text("utf-8"), re.MULTILINE)
        assert len(fences) % 2 == 0, page
        assert set(fences[::2]) <= {"python", "sh", "json", "text", "toml", "sql"}, page


def test_every_picture_has_words_and_a_script():
    """Pictures are drawn by scripts, which name them; who cannot see them is told what they show."""
    scripts = "".join(path.read_text("utf-8") for path in (ROOT / "tools").glob("*.py"))
    for page in PAGES:
        for words, name in re.findall(r"!\[(.*?)\]\((.*?)\)", page.read_text("utf-8")):
            picture = (page.parent / name).resolve()
            assert picture.exists(), f"{page}: {name}"
            assert len(words) > 20, f"{page}: {name}"
            assert picture.name in scripts, f"no script in tools/ draws {name}"
