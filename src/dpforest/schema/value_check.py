"""How well private rows fit a declaration: for the eyes of their owner alone.

A value that is missing, undeclared or beyond its bounds never stops a fit and is never mentioned by one: that
would tell something about a row. So a schema that does not fit at all, such as labels "no" and "yes" against
``Classes([0, 1])``, trains a useless model without a word. `Schema.check` counts what a fit would meet. Its
counts are exact and therefore private: nothing here is kept in a schema, a model or a record, and what it
returns must not be published.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpforest.schema.columns import Coded, Part
from dpforest.schema.door import read_pieces
from dpforest.schema.encoding import cells_of, numbers_of
from dpforest.schema.features import LevelFeature, Nominal, Numeric, Ordinal
from dpforest.schema.kinds import Date
from dpforest.schema.target import Classes, Range
from dpforest.schema.values import read_text

if TYPE_CHECKING:
    from dpforest.schema.schema import Schema

__all__ = ["ColumnCheck", "ValueCheck", "check_values"]

_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d+,\d+\s*")
_DAY_FIRST = re.compile(r"\s*\d{1,2}[./-]\d{1,2}[./-]\d{2,4}.*")
_HINTS = {
    "comma": "numbers with a decimal comma, which read as text: give the decimal sign "
    "(--decimal ,; Source(path, decimal=',', numbers=[...])), or convert them",
    "date": "dates that are not written as 2020-01-31, which read as text",
    "moment": "dates where a number is declared: they count as seconds since 1970",
    "space": "values that would be declared without the spaces around them",
    "case": "values that would be declared in other case",
}


@dataclass
class ColumnCheck:
    """What a fit would meet in one column. Private.

    Parameters
    ----------
    column : str
        Its name.
    declared : str
        What it is declared as.
    rows, missing, undeclared, clipped : int
        How many values there are; how many are missing, are no declared value (or no number), or lie beyond
        the declared bounds.
    oddities : Counter
        How many values have a form that is probably a mistake, by kind.
    is_label : bool
        Whether it is the column of class labels.
    """

    column: str
    declared: str
    rows: int = 0
    missing: int = 0
    undeclared: int = 0
    clipped: int = 0
    oddities: Counter[str] = field(default_factory=Counter)
    is_label: bool = False

    @property
    def fits(self) -> bool:
        """Whether at least half of the values that are there are declared ones within their bounds."""
        there = self.rows - self.missing
        return 2 * (self.undeclared + self.clipped) <= there and (there > 0 or self.rows == 0)

    @property
    def hints(self) -> list[str]:
        """What is probably wrong, in words."""
        found = [f"{count} {_HINTS[kind]}" for kind, count in sorted(self.oddities.items())]
        there = self.rows - self.missing
        if self.is_label and there and self.undeclared == there:
            found.append("no label is a declared class: the model would learn nothing")
        elif self.rows and not there:
            found.append("every value is missing")
        elif not self.fits:
            found.append("most values are not declared, or beyond their bounds")
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dictionary."""
        return {
            "column": self.column,
            "declared": self.declared,
            "rows": self.rows,
            "missing": self.missing,
            "undeclared": self.undeclared,
            "clipped": self.clipped,
            "fits": self.fits,
            "hints": self.hints,
        }


@dataclass(frozen=True)
class ValueCheck:
    """What a fit would meet, column by column. Private: for the owner of the rows alone.

    Parameters
    ----------
    columns : tuple of ColumnCheck
        Features, then the target.
    """

    columns: tuple[ColumnCheck, ...]

    @property
    def fits(self) -> bool:
        """Whether every column does."""
        return all(column.fits for column in self.columns)

    def to_records(self) -> list[dict[str, Any]]:
        """Return a JSON-ready dictionary per column."""
        return [column.to_dict() for column in self.columns]

    def __str__(self) -> str:
        lines = ["private, for the owner of the rows alone: do not publish these counts"]
        for one in self.columns:
            counts = f"{one.missing} missing, {one.undeclared} undeclared, {one.clipped} clipped"
            lines.append(f"{one.column}: {one.rows} values, {counts}")
            lines += [f"  {hint}" for hint in one.hints]
        return "\n".join(lines)


def check_values(schema: Schema, X: Any, y: Any = None, target: str = "target") -> ValueCheck:
    """Count what a fit would meet; see `Schema.check`."""
    features = list(schema.features.items())
    checks = [ColumnCheck(name, repr(feature)) for name, feature in features]
    asked = y is not None and schema.target is not None
    if asked:
        checks.append(ColumnCheck(target, repr(schema.target), is_label=isinstance(schema.target, Classes)))
    for table, column in read_pieces(X, y if asked else None, schema, "the schema"):
        for (_, feature), check, values in zip(features, checks, table.columns, strict=False):
            _count(values.read(0, len(values)), feature, check)
        if column is not None:
            _count(column.read(0, len(column)), schema.target, checks[-1])
    return ValueCheck(tuple(checks))


def _count(part: Part, declared: Any, check: ColumnCheck) -> None:
    check.rows += len(part)
    feature = Nominal(declared.labels) if isinstance(declared, Classes) else declared
    undeclared: NDArray[np.intp]
    if isinstance(feature, Nominal | Ordinal):
        cells = cells_of(part, feature)
        undeclared = np.flatnonzero(cells == feature.other_cell)
        check.missing += int((cells == feature.missing_cell).sum())
    else:
        assert isinstance(feature, Numeric | Range)
        numbers, undeclared = numbers_of(part)
        check.missing += int(np.isnan(numbers).sum()) - len(undeclared)
        with np.errstate(invalid="ignore"):
            check.clipped += int(((numbers < feature.low) | (numbers > feature.high)).sum())
        if not isinstance(feature, Date):
            check.oddities.update(_moments(part))
    check.undeclared += len(undeclared)
    check.oddities.update(_oddities(part, undeclared, feature))


def _texts(part: Part) -> list[Any]:
    if isinstance(part, Coded):
        values = [*_texts(part.values), None]
        return [values[code] for code in part.codes]
    return part if isinstance(part, list) else []


def _moments(part: Part) -> Counter[str]:
    seen = Counter(text for text in _texts(part) if type(text) is str)
    return +Counter({"moment": sum(n for text, n in seen.items() if read_text(text).kind == "moment")})


def _oddities(part: Part, places: NDArray[np.intp], feature: Any) -> Counter[str]:
    """Tell apart the commonest mistakes among values that are not declared."""
    texts = _texts(part)
    seen = Counter(texts[place] for place in places if texts and type(texts[place]) is str)
    levels = feature._levels if isinstance(feature, LevelFeature) else ()
    folded = {str(level).casefold() for level in levels}
    found: Counter[str] = Counter()
    for text, count in seen.items():
        kind = None
        if isinstance(feature, LevelFeature):
            if feature.cell_of(text.strip()) != feature.other_cell:
                kind = "space"
            elif text.strip().casefold() in folded:
                kind = "case"
        elif _DECIMAL_COMMA.fullmatch(text):
            kind = "comma"
        elif _DAY_FIRST.fullmatch(text):
            kind = "date"
        if kind is not None:
            found[kind] += count
    return found
