"""The written form of a schema: a dictionary, or JSON, with one entry per column.

    {"age": {"type": "integer", "min": 18, "max": 100},
     "crp": {"type": "numeric", "min": 0, "max": 500, "bins": 1024},
     "ward": {"type": "categorical", "categories": ["A", "B", "C"]},
     "pain": {"type": "ordinal", "levels": ["none", "some", "much"]},
     "income": {"type": "numeric", "min": 0, "max": 1e7, "transform": "asinh"},
     "since": {"type": "date", "min": "2015-01-01", "max": "2025-12-31"},
     "smoker": {"type": "boolean"},
     "target": {"type": "class", "categories": ["died", "home", "moved"]}}

A combination of two features is `{"type": "sum", "of": ["age", "crp"]}`, or "difference", under any name;
combinations are written behind the features.

A numeric target is `{"type": "numeric", "min": 0, "max": 10}`, with an optional number of "levels". Reading
is strict: a key that would be ignored is a declaration that would not hold. `Schema.from_dict`, `from_json`,
`to_dict` and `to_json` call the functions below.
"""

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from dpforest.schema.combinations import Combination
from dpforest.schema.declaration import finite_number, plain_number
from dpforest.schema.errors import SchemaError
from dpforest.schema.features import DEFAULT_BINS, Feature, Nominal, Numeric, Ordinal
from dpforest.schema.kinds import Boolean, Date
from dpforest.schema.target import DEFAULT_LEVELS, Classes, Range, Target

__all__ = ["DEFAULT_TARGET", "parse_document", "read_json", "write_document"]

DEFAULT_TARGET = "target"
# For each type: the keys it needs and the keys it may have.
_FEATURE_KEYS = {
    "numeric": ({"min", "max"}, {"bins", "transform"}),
    "integer": ({"min", "max"}, {"bins", "transform"}),
    "date": ({"min", "max"}, {"bins"}),
    "boolean": (set(), set()),
    "categorical": ({"categories"}, set()),
    "ordinal": ({"levels"}, set()),
}
_COMBINATION_SIGNS = {"sum": 1, "difference": -1}
_TARGET_KEYS = {"class": ({"categories"}, set()), "numeric": ({"min", "max"}, {"levels"})}


def read_json(source: str | os.PathLike[str]) -> Any:
    """Read strict JSON from a file, or from the text itself if it starts with a brace."""
    if isinstance(source, str) and source.lstrip().startswith("{"):
        text: str | bytes = source
    else:
        text = Path(source).read_bytes()
    try:
        return json.loads(text, parse_constant=_no_constant, object_pairs_hook=_no_repeats)
    except SchemaError:
        raise
    except (ValueError, RecursionError) as error:
        raise SchemaError(f"the schema is not valid JSON: {error}.") from None


def _no_constant(name: str) -> NoReturn:
    raise SchemaError(f"the schema holds {name}, which is not JSON. Give a finite number.")


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        repeated = sorted(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise SchemaError(f"the schema names {', '.join(map(repr, repeated))} twice. Remove one of them.")
    return found


def parse_document(
    document: Any, target: str | None
) -> tuple[dict[str, Feature], Target | None, tuple[Combination, ...]]:
    """Turn a dictionary into features, target and combinations, or say which entry is wrong."""
    if not isinstance(document, Mapping):
        raise SchemaError(
            f"a schema is a mapping from column names to entries, got {type(document).__name__}."
        )
    if target is not None and target != DEFAULT_TARGET and target not in document:
        raise SchemaError(f"the schema has no entry {target!r} for the target. Add it, or pass target=None.")
    others = {name: entry for name, entry in document.items() if name != target}
    made = {name for name, entry in others.items() if _is_combination(entry)}
    features = {name: _parse_feature(name, entry) for name, entry in others.items() if name not in made}
    combinations = tuple(_parse_combination(name, others[name]) for name in others if name in made)
    parsed_target = _parse_target(target, document[target]) if target in document else None
    return features, parsed_target, combinations


def _is_combination(entry: Any) -> bool:
    kind = entry.get("type") if isinstance(entry, Mapping) else None
    return isinstance(kind, str) and kind in _COMBINATION_SIGNS


def _parse_combination(name: Any, entry: Mapping[str, Any]) -> Combination:
    of = entry.get("of")
    if set(entry) != {"type", "of"} or not (
        isinstance(of, list) and len(of) == 2 and all(isinstance(part, str) for part in of)
    ):
        raise SchemaError(f'combination {name!r} needs exactly "type" and "of", two names of features.')
    return Combination(of[0], of[1], _COMBINATION_SIGNS[entry["type"]])


def _parse_feature(name: Any, entry: Any) -> Feature:
    label = f"feature {name!r}"
    kind = _check_keys(label, entry, _FEATURE_KEYS)
    try:
        if kind == "ordinal":
            return Ordinal(_json_list("levels", entry["levels"]))
        if kind == "categorical":
            return Nominal(_json_list("categories", entry["categories"]))
        if kind == "boolean":
            return Boolean()
        bins = entry.get("bins", DEFAULT_BINS)
        if kind == "date":
            return Date(_json_date("min", entry["min"]), _json_date("max", entry["max"]), bins)
        is_integer = kind == "integer"
        return Numeric(*_json_bounds(entry), integer=is_integer, bins=bins, transform=entry.get("transform"))
    except SchemaError as error:
        raise SchemaError(f"{label}: {error}") from None


def _parse_target(name: Any, entry: Any) -> Target:
    label = f"target {name!r}"
    kind = _check_keys(label, entry, _TARGET_KEYS)
    try:
        if kind == "class":
            return Classes(_json_list("categories", entry["categories"]))
        return Range(*_json_bounds(entry), levels=entry.get("levels", DEFAULT_LEVELS))
    except SchemaError as error:
        raise SchemaError(f"{label}: {error}") from None


def _check_keys(label: str, entry: Any, kinds: Mapping[str, tuple[set[str], set[str]]]) -> str:
    if not isinstance(entry, Mapping):
        raise SchemaError(f"{label} must be a mapping with a 'type', got {type(entry).__name__}.")
    kind = entry.get("type")
    if not isinstance(kind, str) or kind not in kinds:
        hint = " 'class' is for the target: name it with target=..." if kind == "class" else ""
        raise SchemaError(f"{label} has type {kind!r}; use one of {', '.join(map(repr, kinds))}.{hint}")
    needed, optional = kinds[kind]
    missing = needed - set(entry)
    unknown = set(entry) - needed - optional - {"type"}
    if missing:
        raise SchemaError(f"{label} of type {kind!r} lacks {', '.join(map(repr, sorted(missing)))}.")
    if unknown:
        allowed = ", ".join(map(repr, sorted(needed | optional)))
        raise SchemaError(
            f"{label} of type {kind!r} has unknown keys {', '.join(sorted(map(repr, unknown)))}; "
            f"it may have {allowed}."
        )
    return kind


def _json_bounds(entry: Mapping[str, Any]) -> tuple[float, float]:
    return finite_number("min", entry["min"]), finite_number("max", entry["max"])


def _json_date(key: str, value: Any) -> str:
    if not isinstance(value, str):
        raise SchemaError(f"{key} must be a date such as '2015-01-01', got {value!r}.")
    return value


def _json_list(key: str, values: Any) -> list[Any]:
    if not isinstance(values, list | tuple):
        raise SchemaError(
            f"{key} must be a list, got {type(values).__name__}. Give a list such as ['a', 'b']."
        )
    return list(values)


def write_document(
    features: Mapping[str, Feature],
    target: Target | None,
    name: str,
    combinations: Sequence[Combination] = (),
) -> dict[str, dict[str, Any]]:
    """Turn features, target and combinations into a dictionary that `parse_document` reads back."""
    document = {feature_name: _write_feature(feature) for feature_name, feature in features.items()}
    for combination in combinations:
        title = combination.name
        while title in document:  # a feature may have that name
            title += " "
        kind = "sum" if combination.sign > 0 else "difference"
        document[title] = {"type": kind, "of": [combination.first, combination.second]}
    if target is not None:
        if name in document:
            raise SchemaError(f"a feature is already named {name!r}. Pass another target=... name.")
        document[name] = _write_target(target)
    return document


def _write_feature(feature: Feature) -> dict[str, Any]:
    if isinstance(feature, Boolean):
        return {"type": "boolean"}
    if isinstance(feature, Nominal):
        return {"type": "categorical", "categories": list(feature.categories)}
    if isinstance(feature, Ordinal):
        return {"type": "ordinal", "levels": list(feature.levels)}
    bins = {"bins": feature.bins} if feature.bins != DEFAULT_BINS else {}
    if isinstance(feature, Date):
        return {"type": "date", "min": feature.first, "max": feature.last, **bins}
    bounds = {"min": plain_number(feature.low), "max": plain_number(feature.high)}
    transform = {} if feature.transform is None else {"transform": feature.transform}
    return {"type": "integer" if feature.integer else "numeric", **bounds, **bins, **transform}


def _write_target(target: Target) -> dict[str, Any]:
    if isinstance(target, Classes):
        return {"type": "class", "categories": list(target.labels)}
    bounds = {"min": plain_number(target.low), "max": plain_number(target.high)}
    levels = {"levels": target.levels} if target.levels != DEFAULT_LEVELS else {}
    return {"type": "numeric", **bounds, **levels}
