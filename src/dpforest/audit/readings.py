"""Turn whatever was released into readings: numbers, and short phrases for everything that is none.

`observe` reads models with `read`, and `columns` makes numbers of the phrases: "is None", "= 'died'",
"is float64 of shape (3,)", "fails (ValueError)" can give a table away as any number can.
"""

from __future__ import annotations

import numbers
import zlib
from collections.abc import Mapping, Sequence, Set
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Phrase(str):
    """What is said of something that is no number; it goes on where the name ends."""

    __slots__ = ()


Reading = float | Phrase
Observation = Mapping[str, Reading]

MAX_READINGS = 400  # of one object
MAX_TEXT = 60
EXACT_INTEGERS = 2**53
IGNORED = frozenset({"random_state", "accountant"})  # set by the auditor, not released


def read(name: str, value: Any, entries: int = MAX_READINGS, depth: int = 3) -> dict[str, Reading]:
    """Read anything: numbers, texts, arrays, containers, and what objects keep.

    Parameters
    ----------
    name : str
        What to call it; may be empty for a mapping.
    value : object
        What was released.
    entries : int, default=400
        Most entries of one array or list that are read one by one.
    depth : int, default=3
        Containers and objects inside each other that are opened.

    Returns
    -------
    dict of str to float or Phrase
        Readings that were read before stay as they are.

    Examples
    --------
    >>> read("mean", float("nan")), read("label", "died"), read("note", None)
    ({'mean': nan}, {'label': "= 'died'"}, {'note': 'is None'})
    >>> read("sums", np.array([1.5, np.nan]))
    {'type of sums': 'is float64 of shape (2,)', 'sums 0': 1.5, 'sums 1': nan, 'NaN entries of sums': 1.0}
    >>> read("", {"rows": 3, "kept": [True]})
    {'rows': 3.0, 'type of kept': 'is list of length 1', 'kept 0': 1.0}
    """
    found: dict[str, Reading] = {}
    _read(name, value, entries, depth, found)
    return found


def _read(name: str, value: Any, entries: int, depth: int, found: dict[str, Reading]) -> None:
    single = value if type(value) is float else _single(value)  # most are
    if single is not None:
        found[name] = single
        return
    if hasattr(value, "__array__") and not isinstance(value, np.ndarray):
        value = np.asarray(value)
    if isinstance(value, np.ndarray):
        _read_array(name, value, entries, depth, found)
        return
    if not isinstance(value, Mapping) or name:
        found[f"type of {name}"] = _type(value)
    for key, part in list(parts(value).items())[: entries if depth else 0]:
        if len(found) >= MAX_READINGS:
            return
        if key not in IGNORED:
            _read(f"{name} {key}" if name else str(key), part, entries, depth - 1, found)


def _single(value: Any) -> Reading | None:
    """Read what is one number or one text; None for all else."""
    if isinstance(value, Phrase):
        return value
    if value is None:
        return Phrase("is None")
    if isinstance(value, str | bytes):
        return _text(repr(value))
    if isinstance(value, numbers.Integral) and abs(int(value)) > EXACT_INTEGERS:
        return _text(str(value))  # neighbouring integers would be one double
    if isinstance(value, bool | np.bool_ | numbers.Real):
        try:
            return float(value)
        except (OverflowError, TypeError, ValueError):
            return _text(repr(value))
    return None


def _text(text: str) -> Phrase:
    if len(text) <= MAX_TEXT:
        return Phrase(f"= {text}")
    checksum = zlib.crc32(text.encode("utf-8", "replace"))  # tells long texts apart that begin alike
    return Phrase(f"= {text[:MAX_TEXT]}... ({len(text)} characters, checksum {checksum:x})")


def _type(value: Any) -> Phrase:
    sized = isinstance(value, Sequence | Mapping | Set)
    return Phrase(f"is {type(value).__name__}" + (f" of length {len(value)}" if sized else ""))


def _read_array(name: str, value: NDArray[Any], entries: int, depth: int, found: dict[str, Reading]) -> None:
    if value.ndim == 0 and value.dtype.kind in "biuf":
        found[name] = float(value)
        return
    found[f"type of {name}"] = Phrase(f"is {value.dtype} of shape {value.shape}")
    if value.dtype.names and depth:
        for field in value.dtype.names:
            _read_array(f"{name} {field}", value[field], entries, depth - 1, found)
        return
    for at, entry in enumerate(value.ravel()[:entries].tolist()):
        if len(found) >= MAX_READINGS:
            break
        _read(f"{name} {at}", entry, entries, depth - 1, found)
    if value.dtype.kind in "fc":
        found[f"NaN entries of {name}"] = float(np.isnan(value).sum())


def parts(value: Any) -> Mapping[Any, Any]:
    """Return what is inside a container or an object; nothing if nothing can be seen.

    Examples
    --------
    >>> parts(["a", "b"])
    {0: 'a', 1: 'b'}
    """
    if isinstance(value, Mapping):
        return value
    if isinstance(value, complex):
        return {"real": value.real, "imaginary": value.imag}
    if isinstance(value, Set):
        return dict(enumerate(sorted(value, key=repr)))
    if isinstance(value, Sequence):
        return dict(enumerate(value))
    if isinstance(value, type | ModuleType | FunctionType) or type(value).__module__.startswith(
        "numpy.random"
    ):
        return {}
    try:
        state = value.__getstate__()
    except Exception:  # what cannot be pickled may still have attributes
        state = getattr(value, "__dict__", None)
    if isinstance(state, tuple):  # attributes and slots, or whatever an object saves
        return {key: part for side in state if isinstance(side, Mapping) for key, part in side.items()}
    return state if isinstance(state, Mapping) else {}
