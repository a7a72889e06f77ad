"""Columns in the types that a schema declares, and checks that rows are those of the catalogue.

`packages` and `openml` deliver columns in the right order but with types and codes of their own. A package or
a server may also change what it holds under an old name, so nothing is passed on before its number of rows,
its class counts and every single value fit the catalogue.
"""

from __future__ import annotations

from collections import Counter
from importlib import import_module
from typing import Any

from dpforest.papers.datasets.catalogue import Entry
from dpforest.papers.datasets.dataset import DatasetNotFoundError
from dpforest.schema import Classes, Nominal, Numeric, Range, Schema

__all__ = ["TARGET", "check", "pandas", "tidy"]

TARGET = "target"
UNKNOWN = "?"  # how UCI files write a missing value


def pandas() -> Any:
    """Import pandas, or say how to get it."""
    try:
        return import_module("pandas")
    except ImportError:
        raise DatasetNotFoundError('datasets are pandas tables: pip install "dpforest[datasets]".') from None


def tidy(features: Any, target: Any, schema: Schema) -> Any:
    """Give columns the names and types of a schema, by position.

    Parameters
    ----------
    features : pandas.DataFrame
        Features in the order of the schema; their names are not used.
    target : pandas.Series
        Targets.
    schema : Schema
        Names and types.

    Returns
    -------
    pandas.DataFrame
        Features and the column "target".

    Examples
    --------
    >>> from dpforest.schema import Classes, Nominal, Numeric, Schema
    >>> schema = Schema({"n": Numeric(0, 9, integer=True), "c": Nominal(["a"])}, Classes([0, 1]))
    >>> table = pandas().DataFrame({"V1": ["3", "4"], "V2": ["a ", "?"]})
    >>> tidy(table, pandas().Series(["1", "0"]), schema).to_dict("list")
    {'n': [3, 4], 'c': ['a', None], 'target': [1, 0]}
    """
    if features.shape[1] != schema.n_features:
        raise DatasetNotFoundError(f"{features.shape[1]} features instead of {schema.n_features}.")
    found = {
        name: _numbers(column, feature.integer) if isinstance(feature, Numeric) else _levels(column, feature)
        for (name, feature), (_, column) in zip(schema.features.items(), features.items(), strict=True)
    }
    if isinstance(schema.target, Classes):
        labels = {str(label): label for label in schema.target.labels}
        found[TARGET] = [labels.get(_text(value)) for value in target]
    else:
        found[TARGET] = _numbers(target, integer=False)
    return pandas().DataFrame(found)


def _numbers(column: Any, integer: bool) -> Any:
    numbers = pandas().to_numeric(column.astype(object).where(column.notna(), None), errors="coerce")
    numbers = numbers.astype("float64").reset_index(drop=True)
    return numbers.astype("int64") if integer and numbers.notna().all() else numbers


def _levels(column: Any, feature: Any) -> Any:
    declared = {str(level): level for level in feature.categories}
    missing = declared.get(UNKNOWN)
    seen = [None if _text(value) == UNKNOWN else _text(value) for value in column]
    # A text that is not declared stays as it is, for `check` to find.
    levels = [missing if text is None else declared.get(text, text) for text in seen]
    return pandas().Series(levels, dtype=object)


def _text(value: Any) -> str:
    """Text of a cell: 3.0 and 3 are both "3", missing is "?"."""
    if value is None or value != value:
        return UNKNOWN
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip()


def check(table: Any, entry: Entry, schema: Schema) -> None:
    """Raise unless rows are those of the catalogue.

    Parameters
    ----------
    table : pandas.DataFrame
        Output of `tidy`.
    entry : Entry
        What the catalogue says.
    schema : Schema
        Public domain that every value must lie in.

    Raises
    ------
    DatasetNotFoundError
        With what does not fit.
    """
    if len(table) != entry.info.n_rows:
        raise DatasetNotFoundError(f"{len(table)} rows instead of {entry.info.n_rows}.")
    if entry.class_counts:
        counts = Counter(map(_text, table[TARGET]))
        if counts != Counter(entry.class_counts):
            raise DatasetNotFoundError(f"class counts {dict(counts)} instead of {dict(entry.class_counts)}.")
    for name, feature in schema.features.items():
        column = table[name].dropna()
        if isinstance(feature, Nominal):
            outside = set(column) - set(feature.categories)
        elif isinstance(feature, Numeric):
            outside = set(column[(column < feature.low) | (column > feature.high)])
        else:
            outside = set()
        if outside:
            raise DatasetNotFoundError(f"column {name!r} holds {sorted(outside)[:3]}, outside of its domain.")
    if (
        isinstance(schema.target, Range)
        and not table[TARGET].between(schema.target.low, schema.target.high).all()
    ):
        raise DatasetNotFoundError("targets lie outside of their domain.")
