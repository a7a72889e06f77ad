"""One query of the private rows: what was asked and run, and what it cost. Made by `Ledger.charge`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from numbers import Integral, Rational
from types import MappingProxyType
from typing import TypeAlias

Parameter: TypeAlias = "str | int | float | bool | tuple[Parameter, ...] | None"


class Kind(Enum):
    """What a query of the rows is about; the value is how it is written in records and for people."""

    ROW_COUNT = "number of rows"
    CLASS_COUNTS = "rows of each class"
    TARGET_TOTAL = "target of all rows"
    TARGET_MEDIAN = "median of the target"
    TARGET_DISTANCE = "distance of the target to its median"
    LOWER_BOUND = "lower clip bound"
    UPPER_BOUND = "upper clip bound"
    CENTRES = "centres of the features"
    SPREADS = "spreads of the features"
    FEATURE_SUMS = "features by class"
    CATEGORY_SUMS = "categories by class"
    FITTED_WEIGHTS = "weights of the features"
    DIRECTION = "direction through the features"
    PRODUCTS = "products of the features"
    TARGET_SUMS = "features times the target"  # this and the next two: in models of earlier versions
    CATEGORY_COUNTS = "rows of each category"
    PART_PRODUCTS = "products of the parts and the target"
    MEDIANS = "private medians"
    SPLITS = "splits"
    MEDIAN_FEATURES = "features by their median cut"
    NODE_ROWS = "rows of the nodes"
    NODE_TARGETS = "targets of the nodes"
    MAJORITY = "rows of the majority in their leaves"  # in models of earlier versions
    LEAF_COUNTS = "leaf class counts"
    LEAF_SUMS = "leaf target sums"
    LEAF_LABELS = "leaf labels"
    LABEL_SUMS = "label sums"
    PART_WEIGHTS = "weights of the parts"
    MARGINALS = "marginals of the features"
    TARGET_MEAN = "mean of the target"
    RESIDUALS = "quantile of the residuals"
    GRADIENTS = "gradients along the features"
    STEP_LENGTH = "length of a step"
    CUTS = "cuts by gradients"
    LEAF_GRADIENTS = "leaf gradients"
    MAGNITUDES = "magnitudes of the columns"
    RANGES = "ranges of the columns"
    NAMES = "values of the columns"
    SCORE = "score of a model"
    BEST_RUN = "choice of the best run"
    OTHER = "other"


@dataclass(frozen=True)
class Query:
    """What was asked, in fields.

    Parameters
    ----------
    kind : Kind
        What it is about.
    detail : str
        More about it; all there is to say about `Kind.OTHER`.
    level : int or None
        Level of the nodes, where they are of one level.
    tree : int or None
        Number of the tree, where trees are asked about one after the other.

    Examples
    --------
    >>> print(Query(Kind.SPLITS, "by gini", level=2))
    splits by gini, level 2
    """

    kind: Kind
    detail: str = ""
    level: int | None = None
    tree: int | None = None

    def __post_init__(self) -> None:
        for number in (self.level, self.tree):
            if number is not None and (type(number) is not int or number < 0):
                raise ValueError("the level and the tree of a query are whole numbers from 0, or None.")

    def __str__(self) -> str:
        what = self.detail if self.kind is Kind.OTHER else f"{self.kind.value} {self.detail}".rstrip()
        tree = "" if self.tree is None else f", tree {self.tree}"
        return what + tree + ("" if self.level is None else f", level {self.level}")

    def to_dict(self) -> dict[str, str | int | None]:
        """Return the fields, JSON-ready."""
        return {"kind": self.kind.value, "detail": self.detail, "level": self.level, "tree": self.tree}

    @classmethod
    def from_dict(cls, record: Mapping[str, object]) -> Query:
        """Rebuild what `to_dict` wrote."""
        detail, level, tree = record["detail"], record["level"], record["tree"]
        if not isinstance(detail, str):
            raise ValueError("the detail of a query is text.")
        return cls(Kind(record["kind"]), detail, level, tree)  # type: ignore[arg-type]  # checked above


@dataclass(frozen=True)
class Event:
    """A mechanism that was run on private rows.

    One event may stand for many answers if they look at disjoint rows, such as all nodes of one level in
    trees grown on separate rows; `parameters` then says so.

    Parameters
    ----------
    pool : str
        The pool of the plan that paid.
    mechanism : str
        What was run.
    query : Query
        What for.
    cost : Fraction
        Epsilon or rho per row, in the plan's currency.
    rows : str
        The part of the table that was looked at.
    parameters : mapping
        Public details that JSON can hold. Fractions are stored as text and lists as tuples; arrays are
        refused, so that no private table can end up here by mistake.

    Examples
    --------
    >>> half = Fraction(1, 2)
    >>> event = Event("leaves", "discrete Laplace", Query(Kind.LEAF_COUNTS), half, "all rows", {"rate": half})
    >>> event.parameters["rate"]
    '1/2'
    """

    pool: str
    mechanism: str
    query: Query
    cost: Fraction
    rows: str
    parameters: Mapping[str, Parameter] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        frozen = {str(name): _plain(value, str(name)) for name, value in self.parameters.items()}
        object.__setattr__(self, "parameters", MappingProxyType(frozen))

    @property
    def kind(self) -> Kind:
        """What the query is about."""
        return self.query.kind

    @property
    def level(self) -> int | None:
        """Level of the nodes that were asked about, if they are of one."""
        return self.query.level

    @property
    def tree(self) -> int | None:
        """Number of the tree that was asked about, if it is one of several."""
        return self.query.tree

    @property
    def purpose(self) -> str:
        """What for, in words."""
        return str(self.query)

    def __reduce__(self) -> tuple[Callable[..., Event], tuple[object, ...]]:
        # A mapping proxy does not pickle; a copy of what it shows does.
        return Event, (self.pool, self.mechanism, self.query, self.cost, self.rows, dict(self.parameters))


def _plain(value: object, name: str) -> Parameter:
    """Return a value that is immutable and that JSON can hold."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Rational):
        return str(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if isinstance(value, list | tuple):
        return tuple(_plain(item, name) for item in value)
    raise TypeError(
        f"parameter {name!r} of an event must be text, a finite number, None or a list of these, "
        f"got {type(value).__name__}: write it as text."
    )
