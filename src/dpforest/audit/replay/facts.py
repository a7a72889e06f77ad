"""Everything that can be reached from an object, as text by path, so that two objects can be compared.

`watching` compares the arguments of questions with it, `running` released models. Values become digests: what
differs can be named without showing it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from enum import Enum
from fractions import Fraction
from types import FunctionType, ModuleType
from typing import Any, TypeAlias

import numpy as np

Facts: TypeAlias = dict[str, str]
_PLAIN = (str, bytes, bool, int, float, complex, Fraction, Enum, np.generic, np.dtype, slice, type(None))
_NAMED = (type, FunctionType, ModuleType)


def facts_of(value: Any, path: str = "") -> Facts:
    """Return the type and a digest of the value of everything reachable, by path.

    Parameters
    ----------
    value : object
        Arrays, containers, and objects by their state as pickle would see it.
    path : str
        Name of the value itself.

    Returns
    -------
    dict of str to str

    Examples
    --------
    >>> sorted(facts_of({"depth": 2, "cuts": (0.5, None)}, "tree"))
    ['tree', "tree['cuts']", "tree['cuts'][0]", "tree['cuts'][1]", "tree['depth']"]
    >>> differing(facts_of([1, 2], "x"), facts_of([1, 3], "x"))
    ['x']
    """
    facts: Facts = {}
    _walk(value, path, facts, set())
    return facts


def differing(first: Facts, second: Facts) -> list[str]:
    """Name the attributes in which two objects differ, without keys and positions: those may be values."""
    paths = [path for path in {**first, **second} if first.get(path) != second.get(path)]
    return list(dict.fromkeys(path.partition("[")[0] for path in paths))


def _walk(value: Any, path: str, facts: Facts, above: set[int]) -> None:
    kind = type(value).__qualname__
    if isinstance(value, _PLAIN):
        facts[path] = f"{kind} {_digest(repr(value).encode())}"
        return
    if isinstance(value, _NAMED):
        facts[path] = f"{kind} {value.__module__ if hasattr(value, '__module__') else ''} {value.__name__}"
        return
    if isinstance(value, np.ndarray) and value.dtype != object:
        facts[path] = f"{value.dtype} {value.shape} {_digest(np.ascontiguousarray(value).tobytes())}"
        return
    if id(value) in above:
        facts[path] = f"{kind} above"
        return
    parts = _parts(value)
    facts[path] = f"{kind} {len(parts)} {getattr(value, 'shape', '')}"
    for name, part in parts:
        _walk(part, path + name, facts, above | {id(value)})


def _parts(value: Any) -> list[tuple[str, Any]]:
    """Return what an object consists of, with the step that leads to each part."""
    if isinstance(value, Mapping):
        return [(f"[{key!r}]", part) for key, part in value.items()]
    if isinstance(value, np.ndarray):
        return [(f"[{at}]", part) for at, part in enumerate(value.ravel().tolist())]
    if isinstance(value, set | frozenset):
        return [(f"[{at}]", part) for at, part in enumerate(sorted(value, key=repr))]
    if isinstance(value, list | tuple):
        return [(f"[{at}]", part) for at, part in enumerate(value)]
    try:
        state = value.__getstate__()
    except TypeError:  # a lock
        return []
    states = state if isinstance(state, tuple) else (state,)  # attributes, and those in slots
    if all(part is None or isinstance(part, dict) for part in states):
        return [(f".{name}", part) for names in states if names for name, part in names.items()]
    return [(".state", state)]


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:24]
