"""Where an accountant keeps what was spent.

The accountant only needs `BudgetStore`: read everything, and append one spend if a rule, asked inside the
same transaction, does not object. `TemporaryStore` is an SQLite file that lives as long as the accountant
that made it, so that threads and worker processes share one budget. A store that outlives the process can
take its place without a change to the accountant.
"""

from __future__ import annotations

import os
import secrets
import shutil
import sqlite3
import tempfile
import weakref
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Protocol

from dpforest.privacy.composition import Cost
from dpforest.privacy.errors import BudgetStoreError
from dpforest.privacy.relation import NeighboringRelation

_BUSY_SECONDS = 60.0
_TABLES = """
CREATE TABLE identity (token TEXT NOT NULL);
CREATE TABLE spends (
    number INTEGER PRIMARY KEY,
    epsilon TEXT,            -- a fraction such as 1/10; NULL if no pure epsilon is promised
    rho TEXT NOT NULL,       -- a fraction
    relation TEXT NOT NULL,
    max_rows_per_person INTEGER NOT NULL,
    label TEXT NOT NULL
);
"""


@dataclass(frozen=True)
class Spend:
    """One grant of budget, as it is recorded.

    Parameters
    ----------
    cost : Cost
        Per person.
    relation : NeighboringRelation
        Which tables count as neighbours.
    max_rows_per_person : int
        How many rows one person holds at most.
    label : str
        The caller's note.
    """

    cost: Cost
    relation: NeighboringRelation
    max_rows_per_person: int
    label: str = ""


class BudgetStore(Protocol):
    """What an accountant needs from whoever keeps its records."""

    @property
    def token(self) -> str:
        """Unguessable name of this budget, the same in every process."""

    def records(self) -> tuple[Spend, ...]:
        """Return every grant, oldest first."""

    def append(self, spend: Spend, check: Callable[[tuple[Spend, ...]], None]) -> None:
        """Record a grant, or raise what `check` raises and record nothing.

        `check` sees every earlier grant, and no other grant may happen between its answer and the recording.
        """


class TemporaryStore:
    """An SQLite file in a private temporary directory, removed with the object that made it.

    Pickling gives a handle on the same file. A handle whose file is gone, or belongs to another budget,
    refuses. A connection is opened per call, so neither threads nor forks share one.

    Parameters
    ----------
    path : Path
        The file.
    token : str
        What the file must call itself.
    """

    def __init__(self, path: Path, token: str) -> None:
        self._path = path
        self._token = token

    @classmethod
    def create(cls) -> TemporaryStore:
        """Make a new, empty store that this object owns."""
        directory = Path(tempfile.mkdtemp(prefix="dpforest-budget-"))  # readable by this user only
        store = cls(directory / "budget.sqlite", secrets.token_hex(16))
        weakref.finalize(store, _remove_if_owner, directory, os.getpid())
        with closing(sqlite3.connect(store._path, isolation_level=None)) as connection:
            connection.executescript(_TABLES)
            connection.execute("INSERT INTO identity VALUES (?)", (store._token,))
        return store

    @property
    def token(self) -> str:
        """Unguessable name of this budget, the same in every process."""
        return self._token

    def records(self) -> tuple[Spend, ...]:
        """Return every grant, oldest first."""
        with self._connection() as connection:
            return _read(connection)

    def append(self, spend: Spend, check: Callable[[tuple[Spend, ...]], None]) -> None:
        """Record a grant, or raise what `check` raises and record nothing.

        Parameters
        ----------
        spend : Spend
            What is asked for.
        check : callable
            Raises if the earlier grants leave no room.
        """
        with self._connection() as connection:
            # IMMEDIATE takes the write lock before reading: two processes can never both see the old total.
            connection.execute("BEGIN IMMEDIATE")
            check(_read(connection))
            connection.execute(
                "INSERT INTO spends (epsilon, rho, relation, max_rows_per_person, label) "
                "VALUES (?, ?, ?, ?, ?)",
                (
                    None if spend.cost.epsilon is None else str(spend.cost.epsilon),
                    str(spend.cost.rho),
                    spend.relation.value,
                    spend.max_rows_per_person,
                    spend.label,
                ),
            )
            connection.execute("COMMIT")

    def __reduce__(self) -> tuple[type[TemporaryStore], tuple[Path, str]]:
        return TemporaryStore, (self._path, self._token)

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """Open the file, or fail closed; leaving without COMMIT rolls back."""
        try:
            # mode=rw: a missing file is an error, never a fresh and empty budget.
            address = f"{self._path.as_uri()}?mode=rw"
            with closing(
                sqlite3.connect(address, uri=True, timeout=_BUSY_SECONDS, isolation_level=None)
            ) as connection:
                # The file does not outlive its maker, so there is no power failure to survive.
                connection.execute("PRAGMA synchronous = OFF")
                if connection.execute("SELECT token FROM identity").fetchall() != [(self._token,)]:
                    raise BudgetStoreError(
                        "the budget record belongs to another accountant, so nothing is granted."
                    )
                yield connection
        except sqlite3.Error as problem:
            raise BudgetStoreError(
                f"the budget record cannot be reached ({problem}), so nothing is granted: an accountant "
                "lives as long as the object and process that made it; keep that one alive or make a new one."
            ) from problem


def _read(connection: sqlite3.Connection) -> tuple[Spend, ...]:
    rows = connection.execute(
        "SELECT epsilon, rho, relation, max_rows_per_person, label FROM spends ORDER BY number"
    )
    return tuple(
        Spend(
            Cost(None if epsilon is None else Fraction(epsilon), Fraction(rho)),
            NeighboringRelation(relation),
            max_rows_per_person,
            label,
        )
        for epsilon, rho, relation, max_rows_per_person, label in rows
    )


def _remove_if_owner(directory: Path, owner: int) -> None:
    # A forked child inherits the finalizer but not the right to end the parent's budget.
    if os.getpid() == owner:
        shutil.rmtree(directory, ignore_errors=True)
