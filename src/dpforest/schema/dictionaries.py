"""Schemas from descriptions that a table may have already: Frictionless table schemas, pandera.

Only what they state as public limits is taken over, ranges and lists of values; both become the dictionary
form that `documents` reads. A column without a limit is not known, and is named.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpforest.schema.errors import SchemaError

_NUMBERS = {"integer": "integer", "number": "numeric", "year": "integer"}
_MOMENTS = frozenset({"date", "datetime"})


def of_frictionless(description: Mapping[str, Any], target: str | None) -> dict[str, Any]:
    """Turn a Frictionless table schema into the dictionary form of a schema."""
    fields = description.get("fields")
    if not isinstance(fields, list) or not all(isinstance(f, Mapping) and "name" in f for f in fields):
        raise SchemaError("a Frictionless table schema has a list 'fields', each with a 'name'.")
    found, lacking = {}, []
    for field in fields:
        name, limits = str(field["name"]), field.get("constraints") or {}
        entry = _entry(str(field.get("type", "string")), limits, is_target=name == target)
        if entry is None:
            lacking.append(name)
        else:
            found[name] = entry
    if lacking:
        raise SchemaError(
            f"nothing says which values may occur in {', '.join(map(repr, lacking[:10]))}: give 'minimum' "
            "and 'maximum', or 'enum' (pandera: in_range, isin)."
        )
    if target is not None and target not in found:
        raise SchemaError(f"there is no column {target!r} for the target.")
    return found


def of_pandera(description: Any, target: str | None) -> dict[str, Any]:
    """Turn a pandera `DataFrameSchema` into the dictionary form of a schema; pandera is not imported."""
    if isinstance(description, type) and hasattr(description, "to_schema"):  # a DataFrameModel
        description = description.to_schema()
    columns = getattr(description, "columns", None)
    if not isinstance(columns, Mapping):
        raise SchemaError("a pandera schema has 'columns'; give a DataFrameSchema, or Model.to_schema().")
    fields = []
    for name, column in columns.items():
        listed = getattr(column.dtype, "categories", None)  # of a categorical type
        limits: dict[str, Any] = {} if listed is None else {"enum": list(listed)}
        for check in column.checks or ():
            stated = getattr(check, "statistics", None) or {}
            limits |= {
                ours: stated[theirs]
                for theirs, ours in (
                    ("min_value", "minimum"),
                    ("max_value", "maximum"),
                    ("allowed_values", "enum"),
                )
                if stated.get(theirs) is not None
            }
        fields.append({"name": name, "type": _type_of(str(column.dtype)), "constraints": limits})
    return of_frictionless({"fields": fields}, target)


def _type_of(dtype: str) -> str:
    low = dtype.lower()
    for start, kind in (("int", "integer"), ("uint", "integer"), ("float", "number"), ("decimal", "number")):
        if low.startswith(start):
            return kind
    return (
        "boolean" if low.startswith("bool") else "datetime" if low.startswith(("date", "time")) else "string"
    )


def _entry(kind: str, limits: Mapping[str, Any], is_target: bool) -> dict[str, Any] | None:
    """Return the entry of one column, or None if nothing limits it."""
    listed = limits.get("enum")
    if listed is None and kind == "boolean":
        listed = [False, True] if is_target else None
        if not is_target:
            return {"type": "boolean"}
    if listed is not None:
        return {"type": "class" if is_target else "categorical", "categories": list(listed)}
    low, high = limits.get("minimum"), limits.get("maximum")
    if low is None or high is None:
        return None
    if kind in _MOMENTS:
        return None if is_target else {"type": "date", "min": str(low), "max": str(high)}
    if kind not in _NUMBERS:
        return None
    return {"type": "numeric" if is_target else _NUMBERS[kind], "min": low, "max": high}
