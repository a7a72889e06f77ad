"""Every estimator, option, promise, kind of table and odd row, as replays to run.

The full product would be far too large. `quick_cases` tries every estimator with every option under some
promise, on a table and with a row that change from case to case; `all_cases` crosses estimators and options
with all promises and odd rows, and all kinds of tables with all odd rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import cycle, product
from typing import Any

import numpy as np

from dpforest.audit.replay.auditing import audit_replay
from dpforest.audit.replay.result import ReplayResult
from dpforest.audit.replay.worlds import MIXED, NUMBERS, RANGES, World
from dpforest.audit.subjects import OPTIONS, SPECIAL
from dpforest.forests.registry import ESTIMATORS
from dpforest.privacy import NeighboringRelation
from dpforest.schema import Classes, Range

SIZES = 24, 24, 24, 1, 0  # rows of the first table
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
class Case:
    """One replay to run.

    Parameters
    ----------
    name : str
        Estimator and option, promise, form of the table, rows of the table, odd row.
    estimator : estimator
        With the schema of the world.
    world : World
        The kind of table.
    odd, source : str
        Which odd row, which form.
    n_rows : int
        Rows of the first table.
    """

    name: str
    estimator: Any
    world: World
    odd: str
    source: str
    n_rows: int

    def run(self) -> ReplayResult:
        """Run it; equal cases give equal results."""
        rng = np.random.default_rng(len(self.name))
        target, make = self.estimator.schema.target, self.world.sources[self.source]
        rows = [self.world.usual(rng) for _ in range(self.n_rows)]
        labels = [_label(target, rng) for _ in range(self.n_rows)]
        by_label = self.estimator.privacy_plan().relation is NeighboringRelation.LABEL_CHANGE
        label = self.world.odd_label("usual" if by_label else self.odd, target)  # who is labelled is public
        kinds = self.world.kinds(target)
        return audit_replay(
            self.estimator,
            rows,
            labels,
            self.world.odd[self.odd],
            label,
            source=lambda X, y: make(kinds, X, y),
            name=self.name,
        )


def quick_cases() -> Iterator[Case]:
    """Yield every estimator and option twice, each time with another promise, table and row."""
    rng, promises = np.random.default_rng(0), cycle(PROMISES)
    for name, kind, changes in subjects():
        for world in (NUMBERS, MIXED):
            odd, source, size = rng.integers([len(world.odd), len(world.sources), len(SIZES)])
            yield _case(name, kind, changes, next(promises), world, odd, source, SIZES[size])


def all_cases() -> Iterator[Case]:
    """Yield estimators and options with all promises and odd rows, and all tables with all odd rows."""
    rng = np.random.default_rng(0)
    for (name, kind, changes), promise, world in product(subjects(), PROMISES, (NUMBERS, MIXED)):
        for odd in range(len(world.odd)):
            source, size = rng.integers([len(world.sources), len(SIZES)])
            yield _case(name, kind, changes, promise, world, odd, source, SIZES[size])
    for name in ("DiPriMeForestClassifier", "DiPriMeForestRegressor"):
        for promise, world in product(PROMISES, (NUMBERS, MIXED)):
            for odd, source in product(range(len(world.odd)), range(len(world.sources))):
                yield _case(name, ESTIMATORS[name], {}, promise, world, odd, source, SIZES[0])


def run_cases(cases: Iterable[Case], n_jobs: int) -> Iterator[ReplayResult]:
    """Run cases in some processes; results come in the order of the cases."""
    from joblib import Parallel, delayed

    yield from Parallel(n_jobs=n_jobs, return_as="generator")(delayed(case.run)() for case in cases)


def subjects() -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Yield every estimator with every option: name, class, parameters."""
    for name, kind in {**ESTIMATORS, **SPECIAL}.items():
        options = {"": {}, **OPTIONS.get(name, {}), **_MORE_OPTIONS.get(name, {})}
        for option, changes in options.items():
            yield f"{name}, {option}" if option else name, kind, changes


def _case(
    name: str,
    kind: Any,
    changes: dict[str, Any],
    promise: str,
    world: World,
    odd: int,
    source: int,
    n_rows: int,
) -> Case:
    row, form = list(world.odd)[odd], list(world.sources)[source]
    estimator = _estimator(kind, changes, PROMISES[promise], world, RANGES[source % 2])
    estimator.set_params(n_jobs=1 + odd % 2)  # threads divide the rows among themselves
    if estimator.privacy_plan().relation is not NeighboringRelation.ADD_OR_REMOVE_ONE:
        n_rows = SIZES[0]  # there must be somebody whose row or label can change
    return Case(f"{name} | {promise} | {form} | {n_rows} | {row}", estimator, world, row, form, n_rows)


def _estimator(
    kind: Any, changes: dict[str, Any], promise: dict[str, Any], world: World, target_range: Range
) -> Any:
    """Make an estimator on the columns of a world; options may want three classes."""
    n_classes = 3 if "schema" in changes else 2
    target = Classes(world.classes[:n_classes]) if kind._task == "classification" else target_range
    given = {"n_estimators": 3, "max_depth": 2, "epsilon": 4.0, "verbose": 1} | changes | promise
    given["schema"] = world.schema(target)
    _, accepts = kind._rules["n_estimators"]
    most = 3 if given.get("delta") else getattr(kind, "_most_trees", 3)
    if not accepts(given["n_estimators"]) or most == 1:  # a single tree by definition
        del given["n_estimators"]
    if "n_second" in kind().get_params():
        given["n_second"] = 2
    return kind(**given)


def _label(target: Classes | Range, rng: np.random.Generator) -> Any:
    """Draw a label; some rows have none."""
    if rng.random() < 0.3:
        return None
    if isinstance(target, Range):
        return target.low + rng.random() * (target.high - target.low)
    return target.labels[int(rng.integers(len(target.labels)))]
