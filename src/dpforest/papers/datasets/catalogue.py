"""Which datasets exist, and what is public about their columns.

`catalogue.json` lists every dataset with its size, class counts, licence and fidelity; `domains.json` holds
public domains in the form that `Schema.from_dict` reads, from data dictionaries or, where these give none,
round numbers outside the published range. `loading` reads both through this module.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from dpforest.papers.datasets.dataset import DatasetInfo
from dpforest.schema import Schema

__all__ = ["Entry", "catalogue", "domain"]


@dataclass(frozen=True)
class Entry:
    """One dataset of the catalogue.

    Parameters
    ----------
    info : DatasetInfo
        Size, licence, fidelity.
    class_counts : mapping of str to int
        Rows of each class, by the text of its label; empty where they are not known.
    domain : str
        Name in `domains.json`, empty if there is none.
    origin : str
        Who published the rows, where no package and no OpenML number has them.
    """

    info: DatasetInfo
    class_counts: Mapping[str, int]
    domain: str
    origin: str


@cache
def catalogue() -> Mapping[str, Entry]:
    """Return every dataset that can be asked for by name, except drawn ones and views.

    Examples
    --------
    >>> catalogue()["iris"].info.n_rows
    150
    """
    return {name: _entry(name, facts) for name, facts in _read("catalogue.json").items()}


@cache
def domain(name: str) -> Schema:
    """Return the public domain of a name in `domains.json`.

    Examples
    --------
    >>> domain("iris").features["sepal_width"]
    Numeric(0, 10)
    """
    return Schema.from_dict(_read("domains.json")[name])


def _entry(name: str, facts: Mapping[str, Any]) -> Entry:
    known = _read("domains.json")
    key = facts.get("domain", name)
    columns = known.get(key)
    classes = facts.get("classes")
    if columns is not None and facts["task"] == "classification":
        classes = len(columns["target"]["categories"])
    info = DatasetInfo(
        name=name,
        task=facts["task"],
        n_rows=facts["rows"],
        n_features=facts["features"] if columns is None else len(columns) - 1,
        n_classes=classes,
        licence=facts["licence"],
        fidelity=facts["fidelity"],
        papers=tuple(facts.get("papers", ())),
        note=facts.get("note", ""),
    )
    domain_name = key if columns is not None else ""
    return Entry(info, facts.get("class_counts", {}), domain_name, facts.get("origin", ""))


@cache
def _read(name: str) -> dict[str, Any]:
    text = files("dpforest.papers.datasets").joinpath(name).read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found
