"""What MkDocs is told beside mkdocs.yml: pages that are kept elsewhere, the reference, the navigation.

README, CONTRIBUTING, SECURITY and CHANGELOG are pages of the site, and links to them work there and in the
repository. The reference has a page for every public room, with every name of its `__all__`. A section of the
navigation is a folder of docs/; pages that `ORDER` does not name come last, so that no page is left out.
"""

from __future__ import annotations

import importlib
import re
import types
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
KEPT_ELSEWHERE = {
    "index.md": "README.md",
    "contributing.md": "CONTRIBUTING.md",
    "security.md": "SECURITY.md",
    "changelog.md": "CHANGELOG.md",
}
ROOMS = ("schema", "privacy", "estimates", "search", "audit", "inspection", "report", "export", "modelfile")
NOT_SHOWN = ("cli", "forests", "papers")  # commands have their page, estimators are names of dpforest itself
RESEARCH = ("dpforest.papers.baselines", "dpforest.papers.theory")
SECTIONS = {"tutorials": "Tutorials", "how-to": "How-to", "explanation": "Explanation"}
ORDER = {
    "tutorials": (
        "first-model",
        "hospital",
        "choosing-epsilon",
        "unknown-bounds",
        "semi-supervised",
        "larger-than-memory",
        "auditing",
    ),
    "how-to": (
        "schema",
        "budget",
        "postgresql",
        "signing",
        "model-card",
        "imbalance",
        "choosing",
        "unknown-domains",
        "public-rows",
        "larger-than-memory",
        "clusters",
        "export",
        "pictures",
        "estimator",
        "mechanism",
    ),
    "explanation": (
        "promise",
        "privacy",
        "claims",
        "threat-model",
        "hazards",
        "architecture",
        "default-forest",
        "five-papers",
        "broken-promises",
    ),
}
AT_THE_END = {"explanation": ("papers.md", "compare.md", "results.md")}


def rooms() -> list[str]:
    """Return every public room: the package, its rooms in the order of use and any new one, research last."""
    folders = {path.parent.name for path in (ROOT / "src" / "dpforest").glob("[a-z]*/__init__.py")}
    ranked = [room for room in ROOMS if room in folders]
    others = sorted(folders - set(ROOMS) - set(NOT_SHOWN))
    return ["dpforest", *(f"dpforest.{room}" for room in ranked + others), *RESEARCH]


FIRST = ("PrivateForestClassifier", "PrivateForestRegressor")


def public_names(module: str) -> list[str]:
    """Return what a room offers, without its version; the default forests come first."""
    names = [name for name in importlib.import_module(module).__all__ if not name.startswith("__")]
    return sorted(names, key=lambda name: name not in FIRST)


def methods(thing: type) -> list[str]:
    """Return the methods and properties that a class has from this package, also through its bases."""
    kinds = (types.FunctionType, classmethod, property)
    found = {}
    for base in thing.__mro__:
        if base.__module__.startswith("dpforest"):
            found |= {name: kind for name, kind in vars(base).items() if isinstance(kind, kinds)}
    return [name for name in found if not name.startswith("_")]


def reference_page(module: str) -> str:
    """Return the page of a room: what it says of itself, then every public name.

    Methods that all forests inherit are told once, of the default ones.
    """
    page = f"# `{module}`\n\n::: {module}\n    options: {{members: [], show_root_heading: false}}\n"
    for name in public_names(module):
        thing = getattr(importlib.import_module(module), name)
        if not isinstance(thing, type | types.FunctionType):  # a constant, or a union of types
            page += f"\n## `{name}`\n\n`{thing!r}`\n"
            continue
        page += f"\n::: {module}.{name}\n"
        if name in FIRST:
            told = ", ".join(methods(thing))
            page += f"    options: {{inherited_members: true, members: [{told}]}}\n"
    return page


def adapted(text: str, folder: str) -> str:
    """Turn links of a page of the repository into links of the site; `folder` is where the page is in it."""
    up = "../" * (folder.count("/") + 1) if folder else ""
    text = re.sub(r"\]\(docs/", "](", text) if not folder else text
    for page, source in KEPT_ELSEWHERE.items():
        outside = f"{up}../{source}" if folder else source
        text = text.replace(f"]({outside}", f"]({up}{page}")
        text = text.replace(f"](../{source}", f"]({page}") if not folder else text
    return re.sub(r'(<img src=")docs/', r"\1", text) if not folder else text


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are kept elsewhere, and the reference."""
    from mkdocs.structure.files import File

    for page, source in KEPT_ELSEWHERE.items():
        text = (ROOT / source).read_text("utf-8")
        files.append(File.generated(config, page, content=text))
    for module in rooms():
        files.append(File.generated(config, f"reference/{module}.md", content=reference_page(module)))
    config["nav"] = navigation([file.src_uri for file in files.documentation_pages()])
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Let links out of docs/ end on the site."""
    return adapted(markdown, page.file.src_uri.rpartition("/")[0])


def navigation(pages: list[str]) -> list[Any]:
    """Return the navigation: start, the sections, the reference, and what concerns the project."""
    sections: list[Any] = [{"Start": "index.md"}]
    for folder, name in SECTIONS.items():
        here = [page for page in pages if page.startswith(f"{folder}/") and page != "how-to/command-line.md"]
        order = [f"{folder}/{stem}.md" for stem in ORDER[folder]]
        ranked = sorted(here, key=lambda page: (order.index(page) if page in order else len(order), page))
        more = [page for page in AT_THE_END.get(folder, ()) if page in pages]
        sections.append({name: ranked + more})
    told = [{module: f"reference/{module}.md"} for module in rooms()]
    sections.append({"Reference": [{"Command line": "how-to/command-line.md"}, *told]})
    sections.append({"Project": ["contributing.md", "security.md", "changelog.md"]})
    return [section for section in sections if next(iter(section.values()))]
