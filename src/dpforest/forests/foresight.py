"""What parameters and schema alone tell about a fit that must fail, found before anything is charged.

An estimator states the largest forest that it may come to (`Shape`) and the faintest form of every kind of
question that it may ask (`Ask`): the least part of a pool, in the most copies, with the widest reach. Noise
and choices only get easier with a larger part, so if these can be paid, all can. Depths that follow from
noisy counts are limited to what has room and can be paid for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import ClassVar, NamedTuple

from sklearn.base import BaseEstimator

from dpforest._curator import COARSE_LEVELS, EXPONENTIAL
from dpforest._curator.payment import Payments
from dpforest.forests.parameters import MAX_DEPTH, MAX_TABLE_ENTRIES
from dpforest.mechanisms import RandomWords
from dpforest.privacy import BudgetPlan, Kind, Query
from dpforest.schema import Classes, Schema

_SUBSETS = 512  # most cuts of a nominal feature, unless each category is cut off on its own
_NUMBER_BYTES = 8
_ANY = Query(Kind.LEAF_COUNTS)  # prices do not depend on what is asked
WHOLE = Fraction(1)


class Shape(NamedTuple):
    """The largest forest that a fit may come to.

    `slots` features are compared in a node, by tables that tell `codes` apart in every cell.
    """

    n_trees: int
    depth: int
    slots: int = 0
    codes: int = 1


class Ask(NamedTuple):
    """The faintest form of a question.

    Parameters
    ----------
    pool : str
        Pool that pays.
    share : Fraction
        Least part of it.
    copies : int
        Most trees that a row is counted in.
    reach : int
        How far a row moves the answer, at most: L1 norm, range of scores, or L1 norm of every block.
    mechanism : str
        What makes a choice; empty for a noisy table.
    squared : int
        Squared L2 norm, where it is not that of `reach`.
    blocks : int
        Sums that are asked for together; 0 for a table that is not of this kind.
    """

    pool: str
    share: Fraction = WHOLE
    copies: int = 1
    reach: int = 1
    mechanism: str = ""
    squared: int = 0
    blocks: int = 0

    def pay(self, plan: BudgetPlan) -> None:
        """Pay for it from a plan of which nothing was spent; raise if no mechanism is that faint.

        Pools that are not in the plan are not asked.
        """
        if self.pool not in plan or not self.share:
            return
        payments = Payments(plan, RandomWords.system(), None, noiseless=False)
        if self.mechanism:
            payments.for_choice(self.pool, self.share, _ANY, self.copies, self.reach, self.mechanism)
        elif self.blocks:
            payments.for_sums(self.pool, self.share, _ANY, [1] * self.blocks, self.reach)
        else:
            squared = self.squared or self.reach**2
            payments.for_noise(self.pool, self.share, _ANY, self.copies, self.reach, squared)

    def can_be_paid(self, plan: BudgetPlan) -> bool:
        """Whether there is a mechanism that is that faint."""
        try:
            self.pay(plan)
        except ValueError:
            return False
        return True


def codes_of(schema: Schema) -> int:
    """Return what tables of cells tell apart at most: classes, or coarse levels of a number."""
    return schema.classes.n_classes if isinstance(schema.target, Classes) else COARSE_LEVELS


def choose(pool: str, share: Fraction, copies: int, reach: int, mechanism: str = EXPONENTIAL) -> Ask:
    """State a choice."""
    return Ask(pool, share, copies, reach, mechanism)


def count_leaves(schema: Schema, copies: int = 1, pool: str = "leaves", share: Fraction = WHOLE) -> Ask:
    """State the leaf statistics of rows that come and go: a count, or the levels of a target."""
    return Ask(pool, share, copies, 1 if isinstance(schema.target, Classes) else schema.range.levels)


def count_labels(schema: Schema, copies: int = 1) -> Ask:
    """State the class counts of leaves under label privacy."""
    moved = 1 if schema.classes.n_classes == 2 else 2
    return Ask("leaves", WHOLE, copies, moved, squared=moved)


def largest_payable(
    owner: str, plan: BudgetPlan, shapes: Iterable[Shape], asks: Callable[[Shape], list[Ask]]
) -> Shape:
    """Return the first of some forests, largest first, for every question of which a plan can pay.

    Parameters
    ----------
    owner : str
        Name of the estimator, for the error message.
    plan : BudgetPlan
        What may be spent.
    shapes : iterable of Shape
        What a fit may come to.
    asks : callable
        What may be asked for a forest.
    """
    refusal = ""
    for shape in shapes:
        refusal = _refusal(plan, asks(shape))
        if not refusal:
            return shape
    raise ValueError(
        f"{owner}: the budget is too small for its smallest part, {refusal} Nothing was charged. Raise "
        "epsilon, or lower max_rows_per_person, the number of trees or their depth."
    )


def _refusal(plan: BudgetPlan, asks: Iterable[Ask]) -> str:
    for ask in asks:
        try:
            ask.pay(plan)
        except ValueError as error:
            return f"{plan.pool(ask.pool).purpose} ({error})"
    return ""


def shapes_of(
    schema: Schema,
    n_trees: int,
    max_depth: int | None,
    slots: int = 0,
    codes: int = 1,
    most: int = MAX_DEPTH,
) -> Iterator[Shape]:
    """State a forest of a given depth, or else all that have room and at most so many levels, largest first.

    Examples
    --------
    >>> from dpforest.schema import Numeric
    >>> schema = Schema({"x": Numeric(0, 1)}, Classes([0, 1]))
    >>> [shape.depth for shape in shapes_of(schema, 1, None, most=2)]
    [2, 1, 0]
    """
    depths = [max_depth] if max_depth is not None else range(room_for(schema, n_trees, slots, most), -1, -1)
    return (Shape(n_trees, depth, slots, codes) for depth in depths)


def room_for(schema: Schema, n_trees: int, slots: int = 0, most: int = MAX_DEPTH) -> int:
    """Levels that complete trees may have if their tables are to fit; 0 if not even one does.

    Examples
    --------
    >>> from dpforest.schema import Numeric
    >>> schema = Schema({"x": Numeric(0, 1)}, Classes([0, 1]))
    >>> room_for(schema, 10), room_for(schema, 65_536)
    (15, 8)
    """
    fits = (depth for depth in range(most, 0, -1) if not _too_large(Shape(n_trees, depth, slots), schema))
    return next(fits, 0)


def check_size(owner: str, shape: Shape, schema: Schema, one_against_rest: bool) -> None:
    """Refuse tables that have no room.

    Parameters
    ----------
    owner : str
        Name of the estimator, for the error message.
    shape : Shape
        The largest forest.
    schema : Schema
        Cells and classes.
    one_against_rest : bool
        Whether nominal features are cut into one category and the rest.
    """
    large = _too_large(shape, schema)
    if shape.slots * int(schema.n_cells.max()) * shape.codes > MAX_TABLE_ENTRIES:
        large = "the table of one node: give features fewer bins, or compare fewer of them (max_features)"
    cells = schema.n_cells[schema.nominal].tolist()
    cuts = sum(n if one_against_rest else min(2 ** min(n - 1, 20), _SUBSETS) for n in cells)
    if cuts * max(cells, default=0) > MAX_TABLE_ENTRIES * _NUMBER_BYTES:
        large = "the list of cuts of nominal features: declare fewer categories"
    if large:
        raise ValueError(_no_room(owner, large))


def check_tables(owner: str, tables: Mapping[str, int]) -> None:
    """Refuse any other tables that have no room; each is named, with what helps, and has so many entries."""
    for large, entries in tables.items():
        if entries > MAX_TABLE_ENTRIES:
            raise ValueError(_no_room(owner, large))


def _no_room(owner: str, large: str) -> str:
    return f"{owner}: a fit has no room for {large}. Nothing was charged."


def _too_large(shape: Shape, schema: Schema) -> str:
    """Name a table that grows with the trees and has no room, or nothing."""
    n_outputs = schema.classes.n_classes if isinstance(schema.target, Classes) else 2
    if shape.n_trees * 2**shape.depth * n_outputs > MAX_TABLE_ENTRIES:
        return "the statistics of all leaves: lower n_estimators or max_depth"
    # nodes know which cells of each feature they can still hold: two numbers, or a byte for every category
    box = max(_NUMBER_BYTES, int(schema.n_cells[schema.nominal].max(initial=0)))
    if shape.n_trees * 2 ** max(shape.depth - 1, 0) * shape.slots * box > MAX_TABLE_ENTRIES * _NUMBER_BYTES:
        return "the boxes of all nodes: lower n_estimators, max_depth or max_features"
    return ""


class Foreseeing(BaseEstimator):
    """An estimator that knows before a fit how far it can go."""

    _one_against_rest: ClassVar[bool] = False  # whether nominal cuts take one category from the rest
    _limits: Shape  # of the fit that is being made

    def _shapes(self, schema: Schema) -> Iterator[Shape]:
        """State the forests that a fit may come to, largest first: it will come to none that is larger."""
        raise NotImplementedError

    def _asks(self, schema: Schema, shape: Shape) -> list[Ask]:
        """State the faintest form of every kind of question that a fit to such a forest may ask."""
        raise NotImplementedError

    def _foresee(self, plan: BudgetPlan, schema: Schema) -> None:
        """Refuse what has no room or cannot be paid for, before any row is read; limit the rest."""
        owner = type(self).__name__
        check_size(owner, next(self._shapes(schema)), schema, self._one_against_rest)
        shapes = self._shapes(schema)
        self._limits = largest_payable(owner, plan, shapes, lambda shape: self._asks(schema, shape))
