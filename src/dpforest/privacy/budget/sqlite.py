"""A budget in one SQLite file, shared by all processes of one machine.

Every commit is in the file itself, forced to disk, before it returns (a rollback journal, not a write-ahead
log): the file alone is the whole record, so that copying it, or losing what lies beside it, forgets nothing.
The write lock is taken before anything is read. A connection is opened per transaction, so neither threads
nor forks share one. Network file systems do not keep the promises this rests on: to share a budget between
machines use `postgres`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from dpforest.privacy.budget.database import BUSY_SECONDS, TABLES, Execute, marks
from dpforest.privacy.budget.records import whoami
from dpforest.privacy.budget.temporary import temporary_directory
from dpforest.privacy.errors import BudgetStoreError, BudgetUncertainError

# Against accidents: who may write the file may also drop these.
_GUARDS = tuple(
    f"CREATE TRIGGER {table}_keeps_on_{change} BEFORE {change} ON {table} "
    "BEGIN SELECT RAISE(ABORT, 'budget records are append-only'); END"
    for table in ("dpforest_format", "dpforest_datasets", "dpforest_charges")
    for change in ("update", "delete")
)
_EXISTING, _NEW = "mode=rw", "mode=rwc"  # rw falls back to reading where a file may only be read


class SqliteDatabase:
    """An SQLite file.

    Parameters
    ----------
    path : Path
        The file, absolute.
    temporary : bool
        Whether the file ends with the object that made it. There is then no power failure to survive, and
        nothing is forced to disk.
    """

    def __init__(self, path: Path, temporary: bool = False) -> None:
        self._path = path
        self._temporary = temporary

    @classmethod
    def temporary(cls) -> SqliteDatabase:
        """Make a database in a directory of its own, removed with the object that this returns."""
        directory, keep_until = temporary_directory()
        database = cls(directory / "budget.sqlite", temporary=True)
        keep_until(database)
        return database

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    @property
    def address(self) -> str | None:
        """The path, or None if temporary."""
        return None if self._temporary else str(self._path)

    def prepare(self) -> None:
        """Make the file and its tables if they are not there."""
        with self._connection(_NEW) as connection:
            if _tables(connection):
                return
            connection.execute("BEGIN IMMEDIATE")
            if not _tables(connection):  # nobody else was faster
                for statement in TABLES + _GUARDS:
                    connection.execute(statement)
            connection.execute("COMMIT")

    def login(self, execute: Execute) -> str:
        """Return the user of the operating system, and the machine.

        Parameters
        ----------
        execute : callable
            Not needed here.
        """
        return whoami()

    def append(self, execute: Execute, values: Sequence[Any]) -> None:
        """Add an entry.

        Parameters
        ----------
        execute : callable
            Of a transaction that writes.
        values : sequence
            The columns of the entry, then its hash.
        """
        execute(f"INSERT INTO dpforest_charges VALUES ({marks(values)})", values)  # noqa: S608 - marks only

    @contextmanager
    def reading(self) -> Iterator[Execute]:
        """Begin a transaction that sees one state of the tables."""
        with self._connection(_EXISTING) as connection:
            connection.execute("BEGIN")
            yield _executor(connection)

    @contextmanager
    def writing(self, dataset: str) -> Iterator[Execute]:
        """Begin a transaction that no other writer overlaps, whatever the dataset.

        Parameters
        ----------
        dataset : str
            Not needed here: the whole file is locked.
        """
        with self._connection(_EXISTING) as connection:
            # IMMEDIATE takes the write lock before reading: two processes can never both see the old total.
            connection.execute("BEGIN IMMEDIATE")
            yield _executor(connection)
            try:
                connection.execute("COMMIT")
            except sqlite3.Error as problem:
                raise BudgetUncertainError(
                    f"the budget went away while it was written ({problem})."
                ) from problem

    @contextmanager
    def _connection(self, mode: str) -> Iterator[sqlite3.Connection]:
        """Open the file, or fail closed; leaving without COMMIT rolls back."""
        try:
            # _EXISTING: a missing file is an error, never a fresh and empty budget.
            address = f"{self._path.as_uri()}?{mode}"
            with closing(
                sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
            ) as connection:
                # EXTRA: also the removal of the journal, which is what commits, is forced to disk.
                connection.execute(f"PRAGMA synchronous = {'OFF' if self._temporary else 'EXTRA'}")
                yield connection
        except (sqlite3.Error, UnicodeError) as problem:
            raise BudgetStoreError(
                f"the budget record cannot be reached ({_why(problem)}), so nothing is granted: "
                f"{self._hint()}."
            ) from problem

    def _hint(self) -> str:
        if self._temporary:
            return (
                "an accountant lives as long as the object and process that made it; keep that one alive or "
                "make a new one"
            )
        return (
            f"check that {self._path} is a budget that was created before, that you may write to it and to "
            "its directory, and that the disk is not full"
        )

    def __repr__(self) -> str:
        return f"SqliteDatabase({str(self._path)!r})"


def _why(problem: Exception) -> str:
    if isinstance(problem, UnicodeError):  # its message quotes the bytes
        return "it holds text that is not Unicode"
    if "locked" in str(problem):
        return f"another process has been writing for {BUSY_SECONDS} seconds; try again"
    return str(problem).encode("ascii", "backslashreplace").decode()


def _executor(connection: sqlite3.Connection) -> Execute:
    def execute(statement: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return connection.execute(statement, parameters).fetchall()

    return execute


def _tables(connection: sqlite3.Connection) -> bool:
    """Whether our tables are there; refuses to move in with somebody else's."""
    names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    if names and "dpforest_format" not in names:
        raise BudgetStoreError("this SQLite file holds other tables: give the budget a file of its own.")
    return bool(names)
