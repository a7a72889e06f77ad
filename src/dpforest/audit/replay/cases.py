"""Every estimator, option, promise, kind of table and odd row, as replays to run.

The full product would be far too large. `quick_cases` tries every estimator with every option under some
promise, on a table and with a row that change from case to case; `all_cases` crosses estimators and options
with all promises and odd rows, and all kinds of tables with all odd rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count, product
from typing import Any

import numpy as np

from dpforest.audit.replay.auditing import audit_replay
from dpforest.audit.replay.result import ReplayResult
from dpforest.audit.replay.sources import MIXED_SOURCES, NUMBER_SOURCES
from dpforest.audit.subjects import OPTIONS, LinearPartForestClassifier
from dpforest.forests.saved import ESTIMATORS
from dpforest.privacy import NeighboringRelation
from dpforest.schema import Classes, Feature, Nominal, Numeric, Ordinal, Range, Schema

N_ROWS = 24
PROMISES: dict[str, dict[str, Any]] = {
    "pure": {},
    "delta": {"delta": 1e-6},
    "replace one": {"neighboring": "replace_one"},
    "replace one, delta": {"neighboring": "replace_one", "delta": 1e-6},
    "two rows": {"max_rows_per_person": 2},
    "two rows, delta": {"max_rows_per_person": 2, "delta": 1e-6},
}
# so much epsilon that default forests ask everything they can on a few rows
_EVERYTHING = {"all questions": {"epsilon": 5000.0, "max_depth": None}}
_MORE_OPTIONS: dict[str, dict[str, dict[str, Any]]] = {
    "PrivateForestClassifier": _EVERYTHING,
    "PrivateForestRegressor": {**_EVERYTHING, "boosted": {"epsilon": 5000.0, "n_estimators": 3}},
    "SemiSupervisedPartitioningEnsembleClassifier": {
        "persons in both, noisy depth": {"persons_in_both": True, "max_depth": None}
    },
}


@dataclass(frozen=True)
class World:
    """A kind of table: its columns, a row of each kind, and the forms that it may be handed over in."""

    features: dict[str, Feature]
    types: list[type]
    usual: Callable[[np.random.Generator], list[Any]]
    odd: dict[str, list[Any]]
    classes: tuple[Any, ...]
    sources: dict[str, Callable[..., Any]]

    def schema(self, target: Classes | Range) -> Schema:
        """Return the schema with a target."""
        return Schema(self.features, target)


NAN, INF = math.nan, math.inf
LARGE = 2**53  # its successor is no double
NUMBERS = World(
    {
        "age": Numeric(0, 8, bins=4),
        "visits": Numeric(0, 7, integer=True, bins=4),
        "smokes": Nominal([False, True]),
        "code": Nominal([LARGE, LARGE + 1, LARGE + 2]),
    },
    [float, int, bool, int],
    lambda rng: [8 * rng.random(), int(rng.integers(8)), bool(rng.integers(2)), LARGE + int(rng.integers(3))],
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


@dataclass(frozen=True)
class Case:
    """One replay to run."""

    name: str
    estimator: Any
    world: World
    odd: str
    source: str

    def run(self) -> ReplayResult:
        """Run it."""
        rng = np.random.default_rng(len(self.name))
        target = self.estimator.schema.target
        rows = [self.world.usual(rng) for _ in range(N_ROWS)]
        labels = [self._label(rng) for _ in range(N_ROWS)]
        label: Any = target.labels[-1] if isinstance(target, Classes) else target.high
        if self.estimator.privacy_plan().relation is not NeighboringRelation.LABEL_CHANGE:
            odd_labels = _ODD_LABELS if isinstance(target, Classes) else _ODD_TARGETS
            label = odd_labels.get(self.odd, label)
        make = self.world.sources[self.source]
        types = [*self.world.types, type(target.labels[0]) if isinstance(target, Classes) else float]
        kinds = dict(zip([*self.world.features, "target"], types, strict=True))
        return audit_replay(
            self.estimator,
            rows,
            labels,
            self.world.odd[self.odd],
            label,
            source=lambda X, y: make(kinds, X, y),
            name=self.name,
        )

    def _label(self, rng: np.random.Generator) -> Any:
        target = self.estimator.schema.target
        if isinstance(target, Range):
            return target.low + rng.random() * (target.high - target.low)
        known = target.labels[rng.integers(len(target.labels))]
        return known if rng.random() < 0.7 else None


def subjects() -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Yield every estimator with every option: name, class, parameters."""
    known = {**{name: ESTIMATORS[name] for name in ESTIMATORS}, "LinearPart": LinearPartForestClassifier}
    for name, kind in known.items():
        options = {"": {}, **OPTIONS.get(name, {}), **_MORE_OPTIONS.get(name, {})}
        for option, changes in options.items():
            yield f"{name}, {option}" if option else name, kind, changes


def _estimator(
    kind: Any, changes: dict[str, Any], promise: dict[str, Any], world: World, target_range: Range
) -> Any:
    """Make an estimator on the columns of a world; options may want three classes."""
    n_classes = 3 if "schema" in changes else 2
    target = Classes(world.classes[:n_classes]) if kind._task == "classification" else target_range
    given = {"n_estimators": 3, "max_depth": 2, "epsilon": 4.0, "verbose": 1} | changes | promise
    given["schema"] = world.schema(target)
    _, accepts = kind._rules["n_estimators"]
    if not accepts(given["n_estimators"]):  # a single tree by definition
        del given["n_estimators"]
    if "n_second" in kind().get_params():
        given["n_second"] = 2
    return kind(**given)


def quick_cases() -> Iterator[Case]:
    """Yield every estimator and option twice, each time with another promise, table and row."""
    number = count()
    for name, kind, changes in subjects():
        for _ in range(2):
            at = next(number)
            promise = list(PROMISES)[at % len(PROMISES)]
            world = (NUMBERS, MIXED)[at % 2]
            yield _case(name, kind, changes, promise, world, at * 5, at * 3)


def all_cases() -> Iterator[Case]:
    """Yield estimators and options with all promises and odd rows, and all tables with all odd rows."""
    rng = np.random.default_rng(0)
    for (name, kind, changes), promise, world in product(subjects(), PROMISES, (NUMBERS, MIXED)):
        for odd in range(len(world.odd)):
            yield _case(name, kind, changes, promise, world, odd, int(rng.integers(len(world.sources))))
    for name in ("DiPriMeForestClassifier", "DiPriMeForestRegressor"):
        for promise, world in product(PROMISES, (NUMBERS, MIXED)):
            for odd, source in product(range(len(world.odd)), range(len(world.sources))):
                yield _case(name, ESTIMATORS[name], {}, promise, world, odd, source)


def _case(
    name: str, kind: Any, changes: dict[str, Any], promise: str, world: World, odd: int, source: int
) -> Case:
    row = list(world.odd)[odd % len(world.odd)]
    form = list(world.sources)[source % len(world.sources)]
    estimator = _estimator(kind, changes, PROMISES[promise], world, RANGES[source % 2])
    return Case(f"{name} | {promise} | {form} | {row}", estimator, world, row, form)
