"""What was spent, query by query.

The curator owns one open ledger per fit and charges it *before* every query; growers, leaves and reports
only read it. Spending can never exceed the plan: each charge is checked against its pool, and the
composition of pools is monotone.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from threading import Lock
from typing import Any

from dpforest.privacy.errors import BudgetExceededError, PrivacyError
from dpforest.privacy.events import Event, Kind, Query
from dpforest.privacy.exact import (
    Number,
    check_addable,
    float_at_least,
    read_fraction,
    read_number,
    short,
    short_rest,
)
from dpforest.privacy.plan import BudgetPlan
from dpforest.privacy.tables import data_frame, html_table, text_table


class Ledger:
    """Append-only record of every query of the private rows, held to a plan.

    Nothing removes or edits an event. A copy or an unpickled ledger is frozen: it is a record of what was
    spent, and charging it would spend the same plan twice. So is the copy that a fork makes.

    Parameters
    ----------
    plan : BudgetPlan
        What may be spent.

    Examples
    --------
    >>> plan = BudgetPlan.divide(1.0, 0.0, {"splits": 0.6, "leaves": 0.4})
    >>> ledger = Ledger(plan)
    >>> event = ledger.charge("leaves", 1, "discrete Laplace", "count labels")
    >>> event.cost
    Fraction(2, 5)
    >>> ledger.charge("leaves", 0.25, "discrete Laplace", "count again")
    Traceback (most recent call last):
    dpforest.privacy.errors.BudgetExceededError: pool 'leaves': requested epsilon 0.1, remaining 0 of 0.4: ...
    >>> print(ledger)
    pool    mechanism         purpose       rows      epsilon
    leaves  discrete Laplace  count labels  all rows      0.4
    spent epsilon = 0.4 of 1 per row
    """

    def __init__(self, plan: BudgetPlan) -> None:
        self._plan = plan
        self._events: tuple[Event, ...] = ()
        # Sums over all events, kept so that a charge does not grow dearer with every query before it.
        self._spent: dict[str, Fraction] = {}  # costs, by pool
        self._loose = Fraction(0)
        self._frozen = False
        self._lock = Lock()
        self._process = os.getpid()

    @property
    def plan(self) -> BudgetPlan:
        """What may be spent."""
        return self._plan

    @property
    def events(self) -> tuple[Event, ...]:
        """All queries so far, oldest first."""
        return self._events

    @property
    def is_frozen(self) -> bool:
        """Whether the ledger is closed for good."""
        return self._frozen or os.getpid() != self._process

    def charge(
        self,
        pool: str,
        fraction_of_pool: Number,
        mechanism: str,
        query: Query | str,
        parameters: Mapping[str, Any] | None = None,
    ) -> Event:
        """Pay for one query, before it happens.

        Parameters
        ----------
        pool : str
            The pool that pays; its draws compose in sequence.
        fraction_of_pool : number
            How much, as a part of what the pool held at first.
        mechanism : str
            What is about to be run.
        query : Query or str
            What for; see `Event`.
        parameters : mapping, optional
            Public details, see `Event`.

        Returns
        -------
        Event
            With the exact cost to run the mechanism at.

        Raises
        ------
        BudgetExceededError
            If the pool does not hold that much any more; nothing is charged then.
        """
        holds = self._plan.amount(pool)
        cost = holds * read_number(fraction_of_pool, "fraction_of_pool")
        if cost <= 0:
            raise ValueError(
                f"a query costs something, got {short(cost)} for pool {pool!r}: no mechanism is free."
            )
        asked = Query(Kind.OTHER, query) if isinstance(query, str) else query
        event = Event(pool, mechanism, asked, cost, self._plan.pool(pool).rows, parameters or {})
        with self._lock:
            if self.is_frozen:
                raise PrivacyError(
                    "this ledger is closed: queries end when the model is released, fit again instead."
                )
            loose = self._loose + _loose(event)
            if loose > self._plan.loose_delta:
                raise BudgetExceededError("the plan has set aside no such loose delta for single queries.")
            remaining = self.remaining(pool)
            if cost > remaining:
                raise BudgetExceededError(
                    f"pool {pool!r}: requested {self._plan.symbol} {short(cost)}, "
                    f"remaining {short_rest(remaining)} of {short(holds)}: "
                    "give the pool a larger share in the plan or ask less often."
                )
            self._events = (*self._events, event)
            self._spent[pool], self._loose = holds - remaining + cost, loose
        return event

    def freeze(self) -> None:
        """Close the ledger for good; it can be read but not charged any more."""
        with self._lock:
            self._frozen = True

    def spent(self, pool: str) -> Fraction:
        """Return what was drawn from a pool, per row.

        Parameters
        ----------
        pool : str
            The pool.
        """
        name = self._plan.pool(pool).name
        return self._spent.get(name, Fraction(0))

    def remaining(self, pool: str) -> Fraction:
        """Return what a pool still holds, per row.

        Parameters
        ----------
        pool : str
            The pool.
        """
        return self._plan.amount(pool) - self.spent(pool)

    def total(self) -> Fraction:
        """Return what was spent on one row: queries of all rows in sequence, disjoint parts in parallel."""
        return self._plan.compose({pool.name: self.spent(pool.name) for pool in self._plan.pools})

    def to_records(self) -> list[dict[str, Any]]:
        """Return one dictionary per query, JSON-ready; ``exact`` is the cost as a fraction."""
        return [
            {
                "pool": event.pool,
                "mechanism": event.mechanism,
                "purpose": event.purpose,
                "rows": event.rows,
                **event.query.to_dict(),
                self._plan.symbol: float_at_least(event.cost),
                "exact": str(event.cost),
                "parameters": dict(event.parameters),
            }
            for event in self._events
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready record of the plan and all queries, exact: costs are written as fractions.

        Examples
        --------
        >>> ledger = Ledger(BudgetPlan.divide(1.0, 0.0, {"leaves": 1}))
        >>> _ = ledger.charge("leaves", 0.5, "discrete Laplace", "count labels")
        >>> Ledger.from_dict(ledger.to_dict()) == ledger
        True
        """
        return {
            "plan": self._plan.to_dict(),
            "queries": [
                {
                    "pool": event.pool,
                    "mechanism": event.mechanism,
                    **event.query.to_dict(),
                    "cost": str(event.cost),
                    "parameters": dict(event.parameters),
                }
                for event in self._events
            ],
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Ledger:
        """Rebuild what `to_dict` wrote, frozen; refuses queries that the plan does not pay for.

        Parameters
        ----------
        record : mapping
            The dictionary.
        """
        plan = BudgetPlan.from_dict(record["plan"])
        events = tuple(
            Event(
                str(query["pool"]),
                str(query["mechanism"]),
                Query.from_dict(query),
                read_fraction(query["cost"], "cost"),
                plan.pool(str(query["pool"])).rows,
                query["parameters"],
            )
            for query in record["queries"]
        )
        check_addable((event.cost for event in events), "costs")
        ledger = cls(plan)
        ledger._events, ledger._spent, ledger._frozen = events, _spent(events), True
        ledger._loose = sum(map(_loose, events), Fraction(0))
        if ledger._loose > plan.loose_delta:
            raise BudgetExceededError("the queries took more loose delta than the plan has set aside.")
        for pool in plan.pools:
            if ledger.remaining(pool.name) < 0:
                raise BudgetExceededError(f"the queries cost more than pool {pool.name!r} of the plan holds.")
        return ledger

    def to_frame(self) -> Any:
        """Return the queries as a pandas DataFrame; pandas must be installed."""
        return data_frame(self.to_records(), [*self._header(), "exact", "parameters"])

    def __iter__(self) -> Iterator[Event]:
        return iter(self._events)

    def __len__(self) -> int:
        return len(self._events)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ledger):
            return NotImplemented
        return self._plan == other._plan and self._events == other._events

    __hash__ = None  # type: ignore[assignment]  # it grows

    def __getstate__(self) -> tuple[BudgetPlan, tuple[Event, ...]]:
        return self._plan, self._events

    def __setstate__(self, state: tuple[BudgetPlan, tuple[Event, ...]]) -> None:
        self._plan, self._events = state
        self._spent, self._loose = _spent(self._events), sum(map(_loose, self._events), Fraction(0))
        self._frozen = True
        self._lock = Lock()
        self._process = os.getpid()

    def __repr__(self) -> str:
        symbol, total = self._plan.symbol, self._plan.total
        return f"<Ledger of {len(self)} queries: {symbol} {short(self.total())} of {short(total)} per row>"

    def __str__(self) -> str:
        table = text_table(self._header(), self._rows(), frozenset({self._plan.symbol}))
        return f"{table}\n{self._summary()}"

    def _repr_html_(self) -> str:
        return html_table(self._header(), self._rows(), self._summary())

    def _header(self) -> list[str]:
        return ["pool", "mechanism", "purpose", "rows", self._plan.symbol]

    def _rows(self) -> list[list[str]]:
        return [
            [event.pool, event.mechanism, event.purpose, event.rows, short(event.cost)]
            for event in self._events
        ]

    def _summary(self) -> str:
        return f"spent {self._plan.symbol} = {short(self.total())} of {short(self._plan.total)} per row"


def _loose(event: Event) -> Fraction:
    """Return the loose delta that a query took for itself; see `Cost`."""
    delta = read_fraction(event.parameters.get("loose_delta", "0"), "loose_delta")
    if delta < 0:
        raise ValueError("a loose delta is zero or more.")
    return delta


def _spent(events: Iterable[Event]) -> dict[str, Fraction]:
    """Add up the costs of events by pool."""
    found: dict[str, Fraction] = {}
    for event in events:
        found[event.pool] = found.get(event.pool, Fraction(0)) + event.cost
    return found
