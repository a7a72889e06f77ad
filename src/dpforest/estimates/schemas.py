"""`estimate_schema`: bounds that nobody knows, looked for privately and at a price."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from dpforest._curator import TARGET, Curator, Noisy, PrivateTable
from dpforest.estimates.bounds import Span, closer, is_narrow, parts_of, sure_span, worthwhile
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
from dpforest.schema import Feature, Numeric, Range, Schema, Target
from dpforest.schema.features import DEFAULT_BINS
from dpforest.schema.frames import frame_of
from dpforest.schema.tables import as_array, column_names, is_rows

WHOLE = Fraction(1)
POOLS = (
    Pool("magnitudes", Fraction(3, 4), "in which powers of two the values of each column lie"),
    Pool("ranges", Fraction(1, 4), "a closer look at columns that are narrow and far from zero"),
)


class EstimatedColumn(NamedTuple):
    """What was found out about a column.

    `rows` is the noisy number of rows in the range and `noise_sd` the standard deviation of a count of one
    part of it: where `rows` is not far above that, nothing was found, and the column had better be declared.
    """

    low: float
    high: float
    rows: int
    noise_sd: float


class EstimatedSchema(Schema):
    """A schema some of whose bounds were estimated from private rows, and what that cost.

    It is a schema like any other and equal to one with the same columns. A model that is trained with it
    states its own promise; what both cost together is the sum, which an accountant keeps.

    Parameters
    ----------
    features, target
        As in `Schema`.
    estimated : mapping from str to EstimatedColumn
        What was estimated, by column.
    ledger : Ledger
        Every look that was taken.
    receipt : Receipt or None
        Where the charge stands; None if nobody was charged.
    """

    estimated: Mapping[str, EstimatedColumn]
    ledger: Ledger
    receipt: Receipt | None

    def __init__(
        self,
        features: Mapping[str, Feature],
        target: Target,
        estimated: Mapping[str, EstimatedColumn],
        ledger: Ledger,
        receipt: Receipt | None = None,
    ) -> None:
        super().__init__(features, target)
        for name, value in (("estimated", dict(estimated)), ("ledger", ledger), ("receipt", receipt)):
            object.__setattr__(self, name, value)

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """What was promised to the rows that the bounds were estimated from."""
        return self.ledger.plan.guarantee

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return type(self), (dict(self.features), self.target, self.estimated, self.ledger, self.receipt)

    def __repr__(self) -> str:
        names = ", ".join(list(self.estimated)[:5]) + (" ..." if len(self.estimated) > 5 else "")
        return f"{super().__repr__()[:-1]}; estimated: {names}; {self.guarantee})"


def estimate_schema(
    X: Any,
    y: Any,
    *,
    epsilon: float,
    declared: Mapping[str, Feature] | None = None,
    target: Target | None = None,
    bins: int = DEFAULT_BINS,
    neighboring: str = "add_or_remove_one",
    max_rows_per_person: int = 1,
    accountant: BudgetAccountant | None = None,
) -> EstimatedSchema:
    """Estimate the bounds of numeric columns from private rows, with pure differential privacy.

    Columns that are not declared are taken as numbers and looked at on a public grid of powers of two.
    Categories and classes are not looked for: declare a list that surely holds all of them, which costs
    nothing and may be longer than need be. Declare every bound that is known, too: the fewer columns are
    asked about, the less noise each of them gets.

    Parameters
    ----------
    X : data frame, array or stream
        Private features. The names and the number of its columns are taken as public, its types are not used.
    y : array-like
        Private target.
    epsilon : float
        What may be spent; a tenth of what the model will get is a good start.
    declared : mapping from str to Numeric, Ordinal or Nominal, optional
        Columns whose domain is public.
    target : Classes or Range, optional
        The target, if its domain is public; otherwise the bounds of a numeric target are estimated.
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
    known = dict(declared or {})
    names = _names_of(X)
    strangers = [name for name in known if name not in names]
    if strangers:
        raise ValueError(f"declared has columns that X has not: {', '.join(map(repr, strangers[:10]))}.")
    features: dict[str, Feature] = {name: known.get(name, Magnitudes()) for name in names}
    asked = [place for place, name in enumerate(names) if name not in known]
    asked += [TARGET] if target is None else []
    if not asked:
        raise ValueError("Everything is declared, nothing is to be estimated: use Schema(declared, target).")
    Numeric(0, 1, bins=bins)  # refuses bins that are none, before anything is charged
    plan = BudgetPlan.divide(epsilon, 0, POOLS, NeighboringRelation[neighboring.upper()], max_rows_per_person)
    check_payable("estimate_schema", plan, {pool.name: len(asked) for pool in POOLS})
    wide = Schema(features, TargetMagnitudes() if target is None else target)
    table = PrivateTable(X, y, wide)
    del X, y
    curator = Curator(table, plan, RandomWords.system())
    with curator, paid_by(accountant, plan, "estimate_schema") as charge:
        charge.follow(curator.ledger)
        found = find_ranges(curator, asked)
    charge.check_process()
    stated = {}
    for column, place in zip(found, asked, strict=True):
        stated["target" if place == TARGET else names[place]] = column
        if place != TARGET:
            features[names[place]] = Numeric(column.low, column.high, bins=bins)
    released = Range(found[-1].low, found[-1].high) if target is None else target
    return EstimatedSchema(features, released, stated, curator.ledger, charge.receipt)


def find_ranges(curator: Curator, columns: list[int]) -> list[EstimatedColumn]:
    """Ask for the ranges of columns on the grid of magnitudes: first the octaves, then narrow ones closer.

    Which columns get the closer look, and on which parts, follows from the first answer.
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
