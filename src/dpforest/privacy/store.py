"""Where an accountant keeps what was spent.

`BudgetStore` is one dataset's record in a `Database`: a row that fixes the ceiling, and an append-only chain
of entries. The accountant decides what fits (`check`); the store sees to it that nothing happens between that
decision and its being on disk, that entries are only ever added, and that a record which is not what was
written grants nothing. The same code keeps the record of a temporary accountant, of a file and of a server.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from dpforest.privacy.chain import Chain, Checkpoint, read_link
from dpforest.privacy.composition import Cost
from dpforest.privacy.database import FORMAT_VERSION, Address, Database, Execute, at_address
from dpforest.privacy.errors import BudgetStoreError, BudgetTamperedError
from dpforest.privacy.records import Dataset, Entry, State, cost_text, now, whoami
from dpforest.privacy.spends import Request

_ENTRIES = "SELECT * FROM dpforest_charges WHERE dataset = ? ORDER BY number"
_ENTRY = "SELECT * FROM dpforest_charges WHERE dataset = ? AND number = ?"
_LAST_ENTRY = "SELECT * FROM dpforest_charges WHERE dataset = ? ORDER BY number DESC LIMIT 1"


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

    A handle remembers its dataset's row, so a record that is gone, or was replaced by another of the same
    name, refuses.

    Parameters
    ----------
    database : Database
        Where the record is.
    dataset : Dataset
        Whose record it is.
    """

    def __init__(self, database: Database, dataset: Dataset) -> None:
        self._database = database
        self._dataset = dataset

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
            _check_format(execute)
            if execute("SELECT name FROM dpforest_datasets WHERE name = ?", (dataset.name,)):
                raise BudgetStoreError(
                    f"there is a budget for {dataset.name!r} already, and it cannot be replaced: open it."
                )
            execute(
                "INSERT INTO dpforest_datasets VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (*dataset.values(), dataset.hash),
            )
        return cls(database, dataset)

    @classmethod
    def open(cls, database: Database, name: str) -> BudgetStore:
        """Find the record of a dataset and check all of it.

        Parameters
        ----------
        database : Database
            Where it is kept.
        name : str
            The dataset.
        """
        with database.reading() as execute:
            known = {dataset.name: dataset for dataset in _read_datasets(execute)}
        if name not in known:
            names = ", ".join(map(repr, known)) or "none"
            raise BudgetStoreError(f"there is no budget for {name!r} here; there is {names}.")
        store = cls(database, known[name])
        store.chain()
        return store

    @property
    def dataset(self) -> Dataset:
        """Whose record it is, and its ceiling."""
        return self._dataset

    @property
    def address(self) -> str | None:
        """Where the record is, or None if it ends with this process."""
        return self._database.address

    @property
    def identity(self) -> tuple[str | None, str]:
        """The same in every process, and for no other record."""
        return self._database.address, self._dataset.hash

    def standing(self) -> Standing:
        """Return the total and the end of the record."""
        with self._database.reading() as execute:
            return self._standing(execute)

    def append(self, request: Request, state: State, check: Callable[[Standing], None]) -> Checkpoint:
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
        Checkpoint
            The place of the charge in the chain.
        """
        with self._database.writing(self._dataset.name) as execute:
            standing = self._standing(execute)
            check(standing)
            epsilon, rho = cost_text(request.cost)
            total_epsilon, total_rho = cost_text(standing.total + request.cost)
            charge = Entry(
                dataset=self._dataset.name,
                number=standing.end.count + 1,
                state=state,
                settles=None,
                who=whoami(),
                at=now(),
                label=request.label,
                relation=request.relation.value,
                max_rows_per_person=request.max_rows_per_person,
                epsilon=epsilon,
                rho=rho,
                total_epsilon=total_epsilon,
                total_rho=total_rho,
                plan=None if request.plan is None else json.dumps(request.plan.to_dict()),
                looks=None,
                previous=standing.end.head,
            )
            _insert_entry(execute, charge)
        return Checkpoint(charge.number, charge.hash)

    def settle(self, reservation: Checkpoint, state: State, looks: list[dict[str, Any]] | None) -> None:
        """Record how a reservation ended; its charge stays.

        Parameters
        ----------
        reservation : Checkpoint
            What `append` returned.
        state : {"spent", "failed"}
            How it ended.
        looks : list of dict or None
            The looks that were made, JSON-ready.
        """
        with self._database.writing(self._dataset.name) as execute:
            standing = self._standing(execute)
            rows = execute(_ENTRY, (self._dataset.name, reservation.count))
            if not rows or rows[0][-1] != reservation.head:
                raise BudgetTamperedError(f"reservation {reservation.count} is not in the record any more.")
            total_epsilon, total_rho = cost_text(standing.total)
            settlement = replace(
                read_link(Entry, rows[0]),
                number=standing.end.count + 1,
                state=state,
                settles=reservation.count,
                who=whoami(),
                at=now(),
                epsilon="0",
                rho="0",
                total_epsilon=total_epsilon,
                total_rho=total_rho,
                plan=None,
                looks=None if looks is None else json.dumps(looks),
                previous=standing.end.head,
            )
            _insert_entry(execute, settlement)

    def chain(self) -> Chain:
        """Return the whole record, checked from its first to its last link."""
        with self._database.reading() as execute:
            self._check_identity(execute)
            return Chain.read(self._dataset, execute(_ENTRIES, (self._dataset.name,)))

    def _standing(self, execute: Execute) -> Standing:
        self._check_identity(execute)
        rows = execute(_LAST_ENTRY, (self._dataset.name,))
        if not rows:
            dataset = self._dataset
            end = Checkpoint(0, dataset.hash)
            return Standing(Cost.pure(0), dataset.relation, dataset.max_rows_per_person, end)
        last = read_link(Entry, rows[0])
        end = Checkpoint(last.number, rows[0][-1])
        return Standing(last.total, last.relation, last.max_rows_per_person, end)

    def _check_identity(self, execute: Execute) -> None:
        _check_format(execute)
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
        return _read_datasets(execute)


def verify_budgets(
    address: Address, checkpoints: Mapping[str, Checkpoint | str] | None = None
) -> dict[str, Checkpoint]:
    """Check every record in a file or on a server, and return where each ends.

    Parameters
    ----------
    address : str or path
        As in `BudgetAccountant.open`.
    checkpoints : mapping of dataset to Checkpoint or its text, optional
        Ends that were noted down earlier. Without them, entries removed from the very end, a removed dataset
        of which nothing is left, and a record forged from some entry to its end are not found.

    Returns
    -------
    dict of dataset to Checkpoint
        To be noted down, elsewhere.

    Raises
    ------
    BudgetTamperedError
        If a record is not what was written.
    """
    noted = checkpoints or {}
    with at_address(address).reading() as execute:
        datasets = _read_datasets(execute)
        names = {name for (name,) in execute("SELECT DISTINCT dataset FROM dpforest_charges", ())}
        chains = {
            dataset.name: Chain.read(dataset, execute(_ENTRIES, (dataset.name,))) for dataset in datasets
        }
    for name in sorted(names.union(noted).difference(chains)):
        raise BudgetTamperedError(f"the budget of {name!r} was removed, so nothing is granted.")
    for name, checkpoint in noted.items():
        chains[name].require(checkpoint)
    return {name: chain.checkpoint() for name, chain in chains.items()}


def _check_format(execute: Execute) -> None:
    versions = execute("SELECT version FROM dpforest_format", ())
    if versions != [(FORMAT_VERSION,)]:
        raise BudgetStoreError(
            f"the budget record has format {versions[:1]} and this dpforest knows {FORMAT_VERSION}, so "
            "nothing is granted: use the version of dpforest that made it."
        )


def _read_datasets(execute: Execute) -> tuple[Dataset, ...]:
    _check_format(execute)
    rows = execute("SELECT * FROM dpforest_datasets ORDER BY name", ())
    return tuple(read_link(Dataset, row) for row in rows)


def _insert_entry(execute: Execute, entry: Entry) -> None:
    execute(
        "INSERT INTO dpforest_charges VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (*entry.values(), entry.hash),
    )
