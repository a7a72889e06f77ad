"""What the project is made of is pinned by hashes, and can be listed by one command."""

import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import requires
from pathlib import Path

ROOT = Path(__file__).parents[2]


def names(requirements):
    found = {re.split(r"[^A-Za-z0-9._-]", text, maxsplit=1)[0] for text in requirements}
    return {re.sub(r"[-_.]+", "-", name).lower() for name in found} - {"dpforest"}


def test_every_package_for_development_is_pinned_with_hashes():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    needed = names([*project["dependencies"], *extras["test"], *extras["dev"], *extras["frames"]])
    entries = re.split(r"\n(?=[a-z0-9])", (ROOT / "requirements-dev.lock").read_text())
    pinned = {entry.split("==")[0]: entry for entry in entries if "==" in entry}
    assert needed <= {name.split("[")[0] for name in pinned}, "run: make lock"
    assert all("--hash=sha256:" in entry for entry in pinned.values())


def test_the_bill_of_materials_names_what_runs():
    done = subprocess.run(
        [sys.executable, "-m", "tools.sbom"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    bill = json.loads(done.stdout)
    listed = {part["name"]: part["version"] for part in bill["components"]}
    always = [text for text in requires("dpforest") if ";" not in text]
    assert names(always) <= set(listed)
    assert bill["metadata"]["component"]["name"] == "dpforest"
