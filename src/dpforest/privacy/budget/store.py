"""Where an accountant keeps what was spent.

`BudgetStore` is one dataset's record in a `Database`: a row that fixes the ceiling, and an append-only chain
of entries. The accountant decides what fits (`check`); the store sees to it that nothing happens between that
decision and its being on disk, that entries are only ever added, and that a record which is not what was
written grants nothing. The same code keeps the record of a temporary accountant, of a file and of a server.

Each entry carries the totals up to it under its hash, so a decision needs the last entry only. Opening checks
a fixed number of links at the end; `history` reads, and `verify` in `verification` streams, all of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from dpforest.privacy.budget.chain import Checkpoint, Receipt, Walk, read_link, read_repairs, walk_along
from dpforest.privacy.budget.database import FORMAT_VERSION, Address, Database, Execute, at_address, marks
from dpforest.privacy.budget.records import Dataset, Entry, State, add_up, check_amount, cost_text, now
from dpforest.privacy.budget.spends import Request, Spend
from dpforest.privacy.composition import Cost
from dpforest.privacy.errors import (
    BudgetStoreError,
    BudgetTamperedError,
    BudgetUncertainError,
    ChargeRepeatedError,
)

_ENTRIES = "SELECT * FROM dpforest_charges WHERE dataset = ? AND number > ? ORDER BY number LIMIT ?"
_ENTRY = "SELECT * FROM dpforest_charges WHERE dataset = ? AND number = ?"
_LAST_ENTRIES = "SELECT * FROM dpforest_charges WHERE dataset = ? ORDER BY number DESC LIMIT ?"
_NAMED = "SELECT * FROM dpforest_charges WHERE dataset = ? AND name = ?"
_SETTLEMENT = "SELECT * FROM dpforest_charges WHERE dataset = ? AND settles = ?"
_REPAIRS = "SELECT * FROM dpforest_charges WHERE dataset = ? AND state = 'repaired' ORDER BY number"
_CHECKED_AT_OPENING = 64
_AT_A_TIME = 5_000  # entries that are read in one go: writers wait no longer than that takes


@dataclass(frozen=True)
class Standing:
    """Where a dataset's chain ends: all that a decision needs.

    Parameters
    ----------
    total : Cost
        Everything charged so far.
    relation, max_rows_per_person
        Which neighbours it is stated for; None if nothing decided that yet.
    end : Checkpoint
        What the next entry follows.
    """

    total: Cost
    relation: str | None
    max_rows_per_person: int | None
    end: Checkpoint


class BudgetStore:
    """The record of one dataset. Pickling gives a handle on the same record.

    A handle remembers its dataset's row and the newest entry that it has seen, so a record that is gone, was
    replaced by another of the same name, or by an older copy of itself, refuses.

    Parameters
    ----------
    database : Database
        Where the record is.
    dataset : Dataset
        Whose record it is.
    seen : Checkpoint, optional
        The newest entry that is known of.
    """

    def __init__(self, database: Database, dataset: Dataset, seen: Checkpoint | None = None) -> None:
        self._database = database
        self._dataset = dataset
        self._seen = seen or Checkpoint(0, dataset.hash)

    @classmethod
    def create(cls, database: Database, dataset: Dataset) -> BudgetStore:
        """Begin the record of a new dataset.

        Parameters
        ----------
        database : Database
            Where to keep it; its tables are made if need be.
        dataset : Dataset
            As `Dataset.new` makes it.
        """
        database.prepare()
        with database.writing(dataset.name) as execute:
            check_format(execute)
            if execute("SELECT name FROM dpforest_datasets WHERE name = ?", (dataset.name,)):
                raise BudgetStoreError(
                    f"there is a budget for {dataset.name!r} already, and it cannot be replaced: open it."
                )
            row = (*dataset.values(), dataset.hash)
            execute(f"INSERT INTO dpforest_datasets VALUES ({marks(row)})", row)  # noqa: S608 - marks only
        return cls(database, dataset)

    @classmethod
    def open(cls, database: Database, name: str) -> BudgetStore:
        """Find the record of a dataset and check its end.

        Parameters
        ----------
        database : Database
            Where it is kept.
        name : str
            The dataset.
        """
        with database.reading() as execute:
            known = {dataset.name: dataset for dataset in read_datasets(execute)}
            if name not in known:
                names = ", ".join(map(repr, known)) or "none"
                raise BudgetStoreError(f"there is no budget for {name!r} here; there is {names}.")
            rows = execute(_LAST_ENTRIES, (name, _CHECKED_AT_OPENING))[::-1]
            seen = _check_end(known[name], rows)
        return cls(database, known[name], seen)

    @property
    def dataset(self) -> Dataset:
        """Whose record it is, and its ceiling."""
        return self._dataset

    @property
    def database(self) -> Database:
        """Where it is kept."""
        return self._database

    @property
    def address(self) -> str | None:
        """Where the record is, or None if it ends with this process."""
        return self._database.address

    @property
    def identity(self) -> tuple[str | None, str]:
        """The same in every process, and for no other record."""
        return self._database.address, self._dataset.hash

    @property
    def seen(self) -> Checkpoint:
        """The newest entry that is known of."""
        return self._seen

    def remember(self, seen: Checkpoint) -> None:
        """Take note of an entry that somebody has seen; older ones than the newest change nothing.

        Parameters
        ----------
        seen : Checkpoint
            A place in this record.
        """
        if seen.count > self._seen.count:
            self._seen = seen

    def standing(self) -> Standing:
        """Return the total and the end of the record."""
        seen = self._seen
        with self._database.reading() as execute:
            return self._standing(execute, seen)

    def append(self, request: Request, state: State, check: Callable[[Standing], None]) -> Receipt:
        """Record a charge, or raise what `check` raises and record nothing.

        When this returns, the charge is on disk.

        Parameters
        ----------
        request : Request
            What is asked for.
        state : {"reserved", "spent"}
            Whether it will be settled later.
        check : callable
            Raises if what was charged earlier leaves no room. No other charge can happen between its answer
            and the recording.

        Returns
        -------
        Receipt
            The place of the charge in the chain.
        """
        check_amount(request.cost)

        def charge(execute: Execute, standing: Standing) -> Entry:
            self._refuse_repetition(execute, request)
            check(standing)
            costs = cost_text(request.cost) | cost_text(add_up(standing.total, request.cost), "total_")
            return Entry(
                dataset=self._dataset.name,
                number=standing.end.count + 1,
                state=state,
                settles=None,
                name=request.name,
                analyst=request.analyst,
                purpose=request.purpose,
                who=self._database.login(execute),
                at=now(),
                label=request.label,
                relation=request.relation.value,
                max_rows_per_person=request.max_rows_per_person,
                **costs,
                plan=None if request.plan is None else json.dumps(request.plan.to_dict()),
                queries=None,
                previous=standing.end.head,
            )

        place = self._add(charge)
        return Receipt(place.count, place.head, self._dataset.name, self._dataset.hash)

    def settle(self, reservation: Checkpoint, state: State, queries: list[dict[str, Any]] | None) -> None:
        """Record how a reservation ended; its charge stays.

        Parameters
        ----------
        reservation : Checkpoint
            What `append` returned.
        state : {"spent", "failed"}
            How it ended.
        queries : list of dict or None
            The queries that were asked, JSON-ready.
        """

        def settlement(execute: Execute, standing: Standing) -> Entry:
            rows = execute(_ENTRY, (self._dataset.name, reservation.count))
            if not rows or rows[0][-1] != reservation.head:
                raise BudgetTamperedError(f"reservation {reservation.count} is not in the record any more.")
            costs = cost_text(Cost.pure(0)) | cost_text(standing.total, "total_")
            return replace(
                read_link(Entry, rows[0]),
                number=standing.end.count + 1,
                state=state,
                settles=reservation.count,
                name=None,
                who=self._database.login(execute),
                at=now(),
                **costs,
                plan=None,
                queries=None if queries is None else json.dumps(queries),
                previous=standing.end.head,
            )

        self._add(settlement)

    def find(self, name: str) -> Spend | None:
        """Return the charge of a name and what became of it, or None.

        Parameters
        ----------
        name : str
            As it was given to the request.
        """
        with self._database.reading() as execute:
            self._check_identity(execute)
            return self._spend(execute, execute(_NAMED, (self._dataset.name, name)))

    def charge_at(self, place: Checkpoint) -> Spend | None:
        """Return the charge at a place of the chain and what became of it, or None if it is not there.

        Parameters
        ----------
        place : Checkpoint
            What `append` returned.
        """
        with self._database.reading() as execute:
            self._check_identity(execute)
            rows = execute(_ENTRY, (self._dataset.name, place.count))
            return self._spend(execute, [row for row in rows if row[-1] == place.head])

    def count_charges(self) -> int:
        """Return how many charges there are, settled or not."""
        with self._database.reading() as execute:
            self._check_identity(execute)
            asked = "SELECT COUNT(*) FROM dpforest_charges WHERE dataset = ? AND settles IS NULL"
            [(count,)] = execute(asked, (self._dataset.name,))
            return int(count)

    def history(self) -> tuple[Spend, ...]:
        """Return every charge with its settlement, oldest first; the whole record is checked on the way."""
        found: dict[int, Spend] = {}
        for entry in self.entries():
            if entry.settles is None:
                found[entry.number] = Spend.from_entry(entry)
            elif entry.settles in found:
                found[entry.settles] = found[entry.settles].settled_by(entry)
        return tuple(found.values())

    def entries(self, walk: Walk | None = None) -> Iterator[Entry]:
        """Yield all entries, each checked against the one before; the ceiling is checked at the end.

        Parameters
        ----------
        walk : Walk, optional
            What to check with; afterwards it knows where the record ends.
        """
        if walk is None:
            walk = self.walk()
        after = -(2**63)  # nobody can hide an entry below the first
        while True:
            # One transaction for each part: entries are only added, so the parts fit together.
            with self._database.reading() as execute:
                self._check_identity(execute)
                rows = execute(_ENTRIES, (self._dataset.name, after, _AT_A_TIME))
            yield from walk_along(walk, rows)
            if len(rows) < _AT_A_TIME:
                break
            after = rows[-1][1]
        walk.finish()

    def walk(self) -> Walk:
        """Return a walk along the whole record that knows of its repairs."""
        with self._database.reading() as execute:
            self._check_identity(execute)
            rows = execute(_REPAIRS, (self._dataset.name,))
        return Walk(self._dataset, read_repairs(rows))

    def _add(self, make: Callable[[Execute, Standing], Entry]) -> Checkpoint:
        """Append what `make` makes of the standing, in one transaction."""
        seen, entry = self._seen, None
        try:
            with self._database.writing(self._dataset.name) as execute:
                entry = make(execute, self._standing(execute, seen))
                self._database.append(execute, (*entry.values(), entry.hash))
        except BudgetUncertainError as problem:
            if entry is None or not self._holds(entry, problem):
                raise BudgetStoreError(
                    "the budget record could not be written, so nothing is granted and nothing was charged: "
                    "check that the disk is not full and that the server stays up."
                ) from None
        place = Checkpoint(entry.number, entry.hash)
        self.remember(place)
        return place

    def _holds(self, entry: Entry, problem: BudgetUncertainError) -> bool:
        """Whether an entry is on disk whose commit got no answer; if that cannot be found out, say so."""
        try:
            # Behind whatever is still being written.
            with self._database.writing(self._dataset.name) as execute:
                rows = execute(_ENTRY, (self._dataset.name, entry.number))
        except BudgetStoreError:
            raise problem from None
        return bool(rows) and rows[0][-1] == entry.hash

    def _refuse_repetition(self, execute: Execute, request: Request) -> None:
        if request.name is None:
            return
        found = self._spend(execute, execute(_NAMED, (self._dataset.name, request.name)))
        if found is not None:
            raise ChargeRepeatedError(
                f"a charge with the name {request.name!r} was made before (number {found.number}, "
                f"{found.state}, {found.when[:19]} UTC): nothing was charged now. A second look at the rows "
                "is a second release and needs a name, and a charge, of its own."
            )

    def _spend(self, execute: Execute, rows: list[tuple[Any, ...]]) -> Spend | None:
        if not rows:
            return None
        spend = Spend.from_entry(read_link(Entry, rows[0]))
        settled = execute(_SETTLEMENT, (self._dataset.name, spend.number))
        return spend.settled_by(read_link(Entry, settled[0])) if settled else spend

    def _standing(self, execute: Execute, seen: Checkpoint) -> Standing:
        self._check_identity(execute)
        rows = execute(_LAST_ENTRIES, (self._dataset.name, 1))
        dataset = self._dataset
        if rows:
            last = read_link(Entry, rows[0])
            end = Checkpoint(last.number, last.hash)
            standing = Standing(last.total, last.relation, last.max_rows_per_person, end)
        else:
            end = Checkpoint(0, dataset.hash)
            standing = Standing(Cost.pure(0), dataset.relation, dataset.max_rows_per_person, end)
        if end != seen:
            self._refuse_if_older(execute, seen, end)
        # Entries of a transaction that writes are not on disk yet, but `end` was there before it began.
        self.remember(end)
        return standing

    def _refuse_if_older(self, execute: Execute, seen: Checkpoint, end: Checkpoint) -> None:
        rows = execute(_ENTRY, (self._dataset.name, seen.count)) if seen.count else [(self._dataset.hash,)]
        if end.count < seen.count or not rows or rows[0][-1] != seen.head:
            raise BudgetTamperedError(
                f"the budget record of {self._dataset.name!r} is older than it was, or another: entry "
                f"{seen.count}, which this process has seen, is not in it. Nothing is granted: put the "
                "newest record back."
            )

    def _check_identity(self, execute: Execute) -> None:
        check_format(execute)
        rows = execute("SELECT * FROM dpforest_datasets WHERE name = ?", (self._dataset.name,))
        if [read_link(Dataset, row) for row in rows] != [self._dataset]:
            raise BudgetStoreError(
                "the budget record is gone or belongs to another accountant, so nothing is granted."
            )


def list_budgets(address: Address) -> tuple[Dataset, ...]:
    """Return the datasets whose budgets are kept in a file or on a server, by name.

    Parameters
    ----------
    address : str or path
        As in `BudgetAccountant.open`.
    """
    with at_address(address).reading() as execute:
        return read_datasets(execute)


def check_format(execute: Execute) -> None:
    """Refuse records of other versions."""
    versions = execute("SELECT version FROM dpforest_format", ())
    if versions != [(FORMAT_VERSION,)]:
        raise BudgetStoreError(
            f"the budget record has format {versions[:1]} and this dpforest knows {FORMAT_VERSION}, so "
            "nothing is granted: use the version of dpforest that made it."
        )


def read_datasets(execute: Execute) -> tuple[Dataset, ...]:
    """Return the first links of all chains, checked."""
    check_format(execute)
    rows = execute("SELECT * FROM dpforest_datasets ORDER BY name", ())
    return tuple(read_link(Dataset, row) for row in rows)


def _check_end(dataset: Dataset, rows: list[tuple[Any, ...]]) -> Checkpoint:
    """Check the last links of a chain, and that they keep its ceiling."""
    if len(rows) < _CHECKED_AT_OPENING:
        walk = Walk(dataset)
    else:
        walk, rows = Walk.begin_at(dataset, rows[0]), rows[1:]
    # A repair vouches for everything before it.
    repairs = [at for at, row in enumerate(rows) if row[2] == "repaired"]
    if repairs:
        walk, rows = Walk.begin_at(dataset, rows[repairs[-1]]), rows[repairs[-1] + 1 :]
    for _ in walk_along(walk, rows):
        pass
    return walk.finish()
