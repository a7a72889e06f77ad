"""The tables of the cases: columns of numbers or of all kinds, with rows as they should be and odd ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpforest.audit.replay.sources import MIXED_SOURCES, NUMBER_SOURCES, Form
from dpforest.schema import Classes, Feature, Nominal, Numeric, Ordinal, Range, Schema


@dataclass(frozen=True)
class World:
    """A kind of table.

    Parameters
    ----------
    features, types
        Its columns: what is declared, and the type of their values.
    usual : callable
        Draws a row.
    odd : dict
        Rows that somebody may have.
    classes : tuple
        Labels of the target, if it is one of classes.
    sources : dict
        Forms in which the table may be handed over.
    """

    features: dict[str, Feature]
    types: list[type]
    usual: Callable[[np.random.Generator], list[Any]]
    odd: dict[str, list[Any]]
    classes: tuple[Any, ...]
    sources: dict[str, Form]

    def schema(self, target: Classes | Range) -> Schema:
        """Return the schema with a target."""
        return Schema(self.features, target)

    def kinds(self, target: Classes | Range) -> dict[str, type]:
        """Return the type of every column, the target last."""
        last = type(target.labels[0]) if isinstance(target, Classes) else float
        return dict(zip([*self.features, "target"], [*self.types, last], strict=True))

    def odd_label(self, odd: str, target: Classes | Range) -> Any:
        """Return the label that goes with an odd row."""
        if isinstance(target, Classes):
            return _ODD_LABELS.get(odd, target.labels[-1])
        return _ODD_TARGETS.get(odd, target.high)


NAN, INF = math.nan, math.inf
LARGE = 2**53  # its successor is no double
NUMBERS = World(
    {
        "age": Numeric(0, 8, bins=4),
        "visits": Numeric(0, 7, integer=True, bins=4),
        "smokes": Nominal([False, True]),
        "code": Nominal([LARGE, LARGE + 2, LARGE + 4]),
    },
    [float, int, bool, int],
    lambda rng: [8 * rng.random(), int(rng.integers(8)), bool(rng.integers(2)), LARGE + int(rng.integers(5))],
    {
        "usual": [7.9, 1, True, LARGE + 1],
        "missing": [NAN, NAN, NAN, NAN],
        "nothing": [None, None, None, None],
        "far above": [1e300, 10**15, 17, 2**63 - 1],
        "far below": [-1e300, -(10**15), -1, -(2**63)],
        "infinite": [INF, INF, -INF, INF],
        "largest single": [3.4028235e38, 1.17549435e-38, 0.1, 3.4028235e38],
        "border": [8.0, 7.5, 1.0, LARGE - 1],
    },
    (0, 1, 2),
    NUMBER_SOURCES,
)
MIXED = World(
    {
        "age": Numeric(0, 8, bins=4),
        "ward": Nominal(["a", "b", "c"]),
        "grade": Ordinal(["low", "middle", "high"]),
        "smokes": Nominal([False, True]),
    },
    [float, str, str, bool],
    lambda rng: [
        8 * rng.random(),
        "abc"[rng.integers(3)],
        ["low", "middle", "high"][rng.integers(3)],
        bool(rng.integers(2)),
    ],
    {
        "usual": [7.9, "c", "high", True],
        "nothing": [None, None, None, None],
        "missing": [NAN, NAN, NAN, NAN],
        "undeclared": [1e300, "zz", "highest", None],
        "infinite": [-INF, "", "1", False],
        "long": [-0.0, "a" * 5000, "\u00e4\n\"',;\0", True],
    },
    ("died", "home", "moved"),
    MIXED_SOURCES,
)
RANGES = Range(0, 1), Range(1e8 + 3, 1e8 + 5)  # the second is one single precision number wide
_ODD_LABELS = {"missing": NAN, "nothing": None, "undeclared": "nobody", "far above": 77, "infinite": INF}
_ODD_TARGETS = {
    "missing": NAN, "nothing": None, "far above": 1e300, "far below": -1e300, "infinite": INF, "long": -INF,
    "border": 1e8 + 8, "undeclared": 70000.0, "largest single": 3.4028235e38,
}  # fmt: skip
