"""`estimate_schema`: bounds and categories that nobody knows, looked for privately and at a price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from dpforest._curator import TARGET, Curator, Noisy, PrivateTable, PrivateValues
from dpforest.estimates.bounds import Span, closer, is_narrow, parts_of, sure_span, worthwhile
from dpforest.estimates.categories import (
    EstimatedCategories,
    classes_of,
    feature_of,
    find_known,
    find_names,
)
from dpforest.estimates.magnitudes import OCTAVES, Magnitudes, TargetMagnitudes, octave_of_cell
from dpforest.estimates.paying import check_payable, paid_by
from dpforest.mechanisms import RandomWords
from dpforest.privacy import (
    BudgetAccountant,
    BudgetPlan,
    Kind,
    Ledger,
    NeighboringRelation,
    Pool,
    PrivacyGuarantee,
    Query,
    Receipt,
)
from dpforest.schema import Feature, Nominal, Numeric, Range, Schema, Target
from dpforest.schema.features import DEFAULT_BINS
from dpforest.schema.frames import frame_of
from dpforest.schema.places import named_target, stream_of
from dpforest.schema.streams import StreamColumn
from dpforest.schema.tables import as_array, column_names, is_rows

WHOLE = Fraction(1)
POOLS = (
    Pool("magnitudes", Fraction(3, 4), "in which powers of two the values of each column lie"),
    Pool("ranges", Fraction(1, 4), "a closer look at columns that are narrow and far from zero"),
)
CLASSES = "classes"
"""As target: classes that are to be found."""


class EstimatedColumn(NamedTuple):
    """What was found out about a column.

    `rows` is the noisy number of rows in the range and `noise_sd` the standard deviation of a count of one
    part of it: where `rows` is not far above that, nothing was found, and the column had better be declared.
    """

    low: float
    high: float
    rows: int
    noise_sd: float


Estimate = EstimatedColumn | EstimatedCategories


class EstimatedSchema(Schema):
    """A schema some of whose bounds or categories were estimated from private rows, and what that cost.

    It is a schema like any other and equal to one with the same columns. A model that is trained with it
    states its own promise; what both cost together is the sum, which an accountant keeps.

    Parameters
    ----------
    features, target
        As in `Schema`.
    estimated : mapping from str to EstimatedColumn or EstimatedCategories
        What was estimated of the features, by name.
    estimated_target : EstimatedColumn, EstimatedCategories or None
        What was estimated of the target.
    ledger : Ledger
        Every query that was made.
    receipt : Receipt or None
        Where the charge stands; None if nobody was charged.
    """

    estimated: Mapping[str, Estimate]
    estimated_target: Estimate | None
    ledger: Ledger
    receipt: Receipt | None

    def __init__(
        self,
        features: Mapping[str, Feature],
        target: Target,
        estimated: Mapping[str, Estimate],
        estimated_target: Estimate | None,
        ledger: Ledger,
        receipt: Receipt | None = None,
    ) -> None:
        super().__init__(features, target)
        for name, value in (
            ("estimated", dict(estimated)),
            ("estimated_target", estimated_target),
            ("ledger", ledger),
            ("receipt", receipt),
        ):
            object.__setattr__(self, name, value)

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """What was promised to the rows that the bounds were estimated from."""
        return self.ledger.plan.guarantee

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        found = self.estimated, self.estimated_target
        return type(self), (dict(self.features), self.target, *found, self.ledger, self.receipt)

    def __repr__(self) -> str:
        found = [*self.estimated, *(() if self.estimated_target is None else ("the target",))]
        names = ", ".join(found[:5]) + (" ..." if len(found) > 5 else "")
        return f"{super().__repr__()[:-1]}; estimated: {names}; {self.guarantee})"


def estimate_schema(
    X: Any,
    y: Any,
    *,
    epsilon: float,
    delta: float = 0.0,
    declared: Mapping[str, Feature] | None = None,
    categories: Sequence[str] | Mapping[str, Sequence[Any] | None] = (),
    target: Target | str | None = None,
    bins: int = DEFAULT_BINS,
    neighboring: str = "add_or_remove_one",
    max_rows_per_person: int = 1,
    accountant: BudgetAccountant | None = None,
) -> EstimatedSchema:
    """Estimate bounds of numeric columns, and categories of others, from private rows.

    Columns that are not declared are taken as numbers and looked at on a public grid of powers of two, or, if
    `categories` names them, as categories. Bounds cost pure epsilon. A category that is in no public list
    could give away the one person who has it: those that many rows hold are named, and delta is how likely,
    at most, a value of one person alone is. Declare everything that is known: the fewer columns are asked
    about, the less noise each of them gets.

    Parameters
    ----------
    X : data frame, array or stream
        Private features. The names and the number of its columns are taken as public. Columns that Parquet
        or Feather files store as text are refused as numbers; other types are not used. Of CSV, and of frames
        whose types follow from the values, nobody can say beforehand that a column holds words: as a number
        it is charged, and the bounds that are found mean nothing.
    y : array-like, or str
        Private target; of a place (a file, a folder), the name of its column.
    epsilon : float
        What may be spent; a tenth of what the model will get is a good start.
    delta : float, default=0.0
        How likely, at most, a category is named that one person alone has; well below one in the number of
        persons. Needed if categories or classes are looked for without a public list.
    declared : mapping from str to Numeric, Ordinal or Nominal, optional
        Columns whose domain is public.
    categories : sequence of str, or mapping from str to list or None
        Columns whose categories are looked for. With a list, which is public and may be far too long, those
        of it that surely occur are kept: pure, delta is not needed.
    target : Classes, Range or "classes", optional
        The target, if its domain is public; "classes" looks for its classes; otherwise the bounds of a
        numeric target are estimated.
    bins : int, default=256
        Grid cells of the estimated columns.
    neighboring : {"add_or_remove_one", "replace_one"}
        Which tables count as neighbours.
    max_rows_per_person : int, default=1
        How many rows one person holds at most.
    accountant : BudgetAccountant, optional
        Who is charged; by default that of the ``with`` block around the call, if there is one.

    Returns
    -------
    EstimatedSchema
        A schema that also says what was estimated and what it cost.

    Examples
    --------
    >>> import numpy as np
    >>> from dpforest import estimate_schema
    >>> from dpforest.schema import Classes
    >>> pressure = np.random.default_rng(0).normal(1013, 5, (20_000, 1))
    >>> schema = estimate_schema(pressure, pressure[:, 0] > 1013, epsilon=60.0, target=Classes([False, True]))
    >>> x = schema.features["x0"]
    >>> x.low, x.high
    (992.0, 1056.0)
    >>> print(schema.guarantee)
    epsilon = 60, delta = 0 for adding or removing one row (1 row per person)
    """
    X, y = named_target(X, y, None)
    names = _names_of(X)
    asked = _Asked.of(names, dict(declared or {}), categories, target)
    _refuse_words(X, y, [names[place] for place in asked.numbers if place != TARGET], target)
    Numeric(0, 1, bins=bins)  # refuses bins that are none, before anything is charged
    plan = asked.plan(epsilon, delta, NeighboringRelation[neighboring.upper()], max_rows_per_person)
    check_payable("estimate_schema", plan, asked.reach())
    table = PrivateTable(X, y, asked.wide)
    values = PrivateValues(X, y, asked.wide, asked.open)
    del X, y
    curator = Curator(table, plan, RandomWords.system(), values=values)
    with curator, paid_by(accountant, plan, "estimate_schema") as charge:
        charge.follow(curator.ledger)
        found = asked.answers(curator)
    charge.check_process()
    features = dict(asked.wide.features)
    for place, one in found.items():
        if place == TARGET:
            continue
        if isinstance(one, EstimatedColumn):
            features[names[place]] = Numeric(one.low, one.high, bins=bins)
        else:
            features[names[place]] = feature_of(one)
    stated = {names[place]: one for place, one in found.items() if place != TARGET}
    of_target = found.get(TARGET)
    released = _target_of(of_target, target)
    return EstimatedSchema(features, released, stated, of_target, curator.ledger, charge.receipt)


def _refuse_words(X: Any, y: Any, numbers: list[str], target: Target | str | None) -> None:
    """Refuse columns as numbers that a file stores as text, before anything is charged."""
    stream = stream_of(X)
    words = [] if stream is None else [name for name in numbers if name in stream.text_columns]
    if words:
        raise ValueError(
            f"{', '.join(map(repr, words[:10]))}: stored as text, and would be taken as numbers. Look for "
            "categories (categories=[...], --categories), declare them (declared={...}, --declared), or "
            "leave them out. Nothing was charged."
        )
    if target is None and isinstance(y, StreamColumn) and y.name in y.source.text_columns:
        raise ValueError(
            f"the target {y.name!r} is stored as text, and would be taken as a number. Look for its classes "
            "(target='classes', --classes) or declare them. Nothing was charged."
        )


def _target_of(found: Estimate | None, given: Target | str | None) -> Target:
    if isinstance(found, EstimatedColumn):
        return Range(found.low, found.high)
    if isinstance(found, EstimatedCategories):
        return classes_of(found)
    assert isinstance(given, Target)
    return given


class _Asked(NamedTuple):
    """What is to be found out; public.

    `numbers`, `open` and `lists` are places of columns, `TARGET` for the target: those whose bounds are
    looked for, those whose values are to be named, and those that a public list of categories is given for.
    """

    wide: Schema
    numbers: list[int]
    open: list[int]
    lists: dict[int, Sequence[Any]]

    @classmethod
    def of(
        cls,
        names: list[str],
        known: dict[str, Feature],
        categories: Sequence[str] | Mapping[str, Sequence[Any] | None],
        target: Target | str | None,
    ) -> _Asked:
        """Sort the columns, and refuse what is unclear."""
        if isinstance(categories, str):
            raise TypeError("categories must be a list of names of columns, or a mapping from names.")
        given = dict(categories) if isinstance(categories, Mapping) else dict.fromkeys(categories)
        strangers = [name for name in (*known, *given) if name not in names]
        if strangers:
            listed = ", ".join(map(repr, strangers[:10]))
            raise ValueError(f"declared or categories has columns that X has not: {listed}.")
        twice = sorted(set(known) & set(given))
        if twice:
            raise ValueError(
                f"columns are either declared or looked for: {', '.join(map(repr, twice[:10]))}."
            )
        if isinstance(target, str) and target != CLASSES:
            raise ValueError(f"target must be Classes(...), Range(...), 'classes' or None, got {target!r}.")
        lists = {names.index(name): Nominal(known_) for name, known_ in given.items() if known_ is not None}
        features: dict[str, Feature] = {name: known.get(name, Magnitudes()) for name in names}
        features |= {names[place]: feature for place, feature in lists.items()}
        numbers = [place for place, name in enumerate(names) if name not in known and name not in given]
        open_ = [names.index(name) for name, listed in given.items() if listed is None]
        numbers += [TARGET] if target is None else []
        open_ += [TARGET] if target == CLASSES else []
        if not numbers and not open_ and not lists:
            raise ValueError(
                "Everything is declared, nothing is to be estimated: use Schema(declared, target)."
            )
        wide = Schema(features, TargetMagnitudes() if target is None or isinstance(target, str) else target)
        return cls(wide, numbers, open_, {place: feature.categories for place, feature in lists.items()})

    def plan(
        self, epsilon: float, delta: float, relation: NeighboringRelation, max_rows_per_person: int
    ) -> BudgetPlan:
        """Divide epsilon by the number of columns of each kind; delta is for naming."""
        if bool(delta) != bool(self.open):
            raise ValueError(
                "delta must be positive if categories or classes without a public list are looked for, and 0 "
                f"if not; got {delta!r}."
            )
        kinds = {"names": len(self.open), "lists": len(self.lists)}
        whole = len(self.numbers) + sum(kinds.values())
        part = Fraction(len(self.numbers), whole)
        pools = [Pool(pool.name, pool.share * part, pool.purpose) for pool in POOLS]
        pools += [Pool(name, Fraction(n, whole), "categories of columns") for name, n in kinds.items()]
        return BudgetPlan.divide(epsilon, delta, pools, relation, max_rows_per_person, loose_delta=delta)

    def reach(self) -> dict[str, int]:
        """Tell how far a row moves what each pool pays for."""
        reach = {pool.name: len(self.numbers) for pool in POOLS} | {"names": len(self.open)}
        return {name: moved for name, moved in (reach | {"lists": len(self.lists)}).items() if moved}

    def answers(self, curator: Curator) -> dict[int, Estimate]:
        """Ask for everything; by place of the column."""
        found: dict[int, Estimate] = {}
        if self.numbers:
            found |= zip(self.numbers, find_ranges(curator, self.numbers), strict=True)
        delta = curator.ledger.plan.loose_delta
        found |= zip(self.open, find_names(curator, self.open, delta), strict=True)
        return found | dict(zip(self.lists, find_known(curator, self.lists), strict=True))


def find_ranges(curator: Curator, columns: list[int]) -> list[EstimatedColumn]:
    """Ask for the ranges of columns on the grid of magnitudes: first the octaves, then narrow ones closer.

    Which columns are asked about again, and on which parts, follows from the first answer.
    """
    octave = octave_of_cell()
    groups = {column: octave[:-2] if column == TARGET else octave for column in columns}
    counts, sd = curator.group_counts("magnitudes", WHOLE, Query(Kind.MAGNITUDES), groups)
    found, spans, narrow = [], [], []
    for at, line in enumerate(counts):
        sure = sure_span(Noisy(line, sd), len(columns))
        core = sure or Span(int(line.argmax()), int(line.argmax()) + 1)
        spans.append(worthwhile(OCTAVES, Noisy(line, sd), core, noted=2.0))
        found.append(_column(OCTAVES, spans[-1], line, sd))
        if sure is not None and is_narrow(sure):
            narrow.append(at)
    if not narrow:
        return found
    parts = [parts_of(spans[at]) for at in narrow]
    asked = {}
    for at, (of_cell, _) in zip(narrow, parts, strict=True):
        asked[columns[at]] = of_cell[:-2] if columns[at] == TARGET else of_cell
    counts, sd = curator.group_counts("ranges", WHOLE, Query(Kind.RANGES), asked)
    for at, (_, ends), line in zip(narrow, parts, counts, strict=True):
        own = line[: len(ends) - 1]
        found[at] = _column(ends, closer(ends, Noisy(own, sd), found[at].rows, len(narrow)), own, sd)
    return found


def _column(ends: Any, span: Span, counts: Any, sd: float) -> EstimatedColumn:
    rows = int(counts[span.low : span.high].sum())
    return EstimatedColumn(float(ends[span.low]), float(ends[span.high]), rows, sd)


def _names_of(X: Any) -> list[str]:
    names = column_names(X)
    if names is not None:
        return names
    if is_rows(X):
        raise ValueError(
            "X is a sequence of rows, which declares no number of features. Pass it as an array or a frame."
        )
    frame = frame_of(X)
    shape = (0, len(frame.labels)) if frame is not None else np.shape(as_array(X, "X"))
    if len(shape) != 2 or not shape[1]:
        raise ValueError("X must have two dimensions and at least one column.")
    return [f"x{place}" for place in range(shape[1])]
