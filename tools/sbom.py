"""A bill of materials: every package that dpforest needs, as it is installed here, in CycloneDX's JSON.

make sbom                     # writes sbom.json
python -m tools.sbom     # to the screen
"""

from __future__ import annotations

import json
import re
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from typing import Any

ROOT = "dpforest"


def needed(name: str) -> dict[str, Distribution]:
    """Return a package and all that it needs, by name; optional ones count if they are installed."""
    found: dict[str, Distribution] = {}
    waiting = [name]
    while waiting:
        one = _normal(waiting.pop())
        if one in found:
            continue
        try:
            found[one] = distribution(one)
        except PackageNotFoundError:
            continue
        waiting += [_name(text) for text in found[one].requires or []]
    return found


def _name(requirement: str) -> str:
    return re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0]


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def component(one: Distribution) -> dict[str, Any]:
    """Describe a package; its hash is that of the list of its files and their hashes."""
    from hashlib import sha256

    name, record = _normal(one.metadata["Name"]), one.read_text("RECORD") or ""
    about: dict[str, Any] = {
        "type": "library",
        "bom-ref": f"pkg:pypi/{name}@{one.version}",
        "name": name,
        "version": one.version,
        "purl": f"pkg:pypi/{name}@{one.version}",
        "hashes": [{"alg": "SHA-256", "content": sha256(record.encode()).hexdigest()}],
    }
    licence = one.metadata.get("License-Expression") or one.metadata.get("License")
    if licence and len(licence) < 100:
        about["licenses"] = [{"license": {"name": licence}}]
    return about


def bill() -> dict[str, Any]:
    """Return the bill of materials."""
    found = needed(ROOT)
    parts = {name: component(one) for name, one in sorted(found.items())}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {**parts[ROOT], "type": "application"}},
        "components": [part for name, part in parts.items() if name != ROOT],
        "dependencies": [
            {
                "ref": parts[name]["bom-ref"],
                "dependsOn": sorted(
                    {
                        parts[_normal(_name(text))]["bom-ref"]
                        for text in one.requires or []
                        if _normal(_name(text)) in parts
                    }
                ),
            }
            for name, one in sorted(found.items())
        ],
    }


if __name__ == "__main__":
    json.dump(bill(), sys.stdout, indent=1)
    print()
