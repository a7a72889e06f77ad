"""What a store needs from a database, its tables, and which database an address means.

A database gives out transactions; within one, statements are plain SQL with ``?`` for parameters, understood
by `sqlite` and `postgres` alike. Whatever the driver complains about comes out as `BudgetStoreError`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol, TypeAlias

# Runs a statement and returns its rows.
Execute: TypeAlias = Callable[[str, Sequence[Any]], list[tuple[Any, ...]]]
Address: TypeAlias = str | os.PathLike[str]

FORMAT_VERSION = 3
BUSY_SECONDS = 60  # to wait for other writers before giving up

# The columns are the fields of `records.Dataset` and `records.Entry`, in their order, and the hash.
TABLES = (
    "CREATE TABLE dpforest_format (version BIGINT NOT NULL)",
    f"INSERT INTO dpforest_format VALUES ({FORMAT_VERSION})",  # noqa: S608 - a constant
    """
    CREATE TABLE dpforest_datasets (
        name TEXT NOT NULL PRIMARY KEY,
        schema_hash TEXT,
        epsilon TEXT NOT NULL,
        delta TEXT NOT NULL,
        rho TEXT,
        loose TEXT NOT NULL,
        relation TEXT,
        max_rows_per_person BIGINT,
        who TEXT NOT NULL,
        created TEXT NOT NULL,
        token TEXT NOT NULL,
        hash TEXT NOT NULL
    )
    """,
    # Should a lock ever fail, the constraints still keep two writers from adding the same link, and one
    # reservation from being settled or one name from being charged twice.
    """
    CREATE TABLE dpforest_charges (
        dataset TEXT NOT NULL,
        number BIGINT NOT NULL,
        state TEXT NOT NULL,
        settles BIGINT,
        name TEXT,
        analyst TEXT NOT NULL,
        purpose TEXT NOT NULL,
        who TEXT NOT NULL,
        at TEXT NOT NULL,
        label TEXT NOT NULL,
        relation TEXT NOT NULL,
        max_rows_per_person BIGINT NOT NULL,
        epsilon TEXT,
        rho TEXT NOT NULL,
        delta TEXT NOT NULL,
        total_epsilon TEXT,
        total_rho TEXT NOT NULL,
        total_delta TEXT NOT NULL,
        plan TEXT,
        queries TEXT,
        previous TEXT NOT NULL,
        hash TEXT NOT NULL,
        PRIMARY KEY (dataset, number),
        UNIQUE (dataset, settles),
        UNIQUE (dataset, name)
    )
    """,
)


class Database(Protocol):
    """Where the tables are."""

    @property
    def address(self) -> str | None:
        """What `at_address` understands, or None if the database ends with this object."""

    def prepare(self) -> None:
        """Make the tables if they are not there."""

    def login(self, execute: Execute) -> str:
        """Return who writes, for the record."""

    def append(self, execute: Execute, values: Sequence[Any]) -> None:
        """Add an entry: its columns, then its hash."""

    def reading(self) -> AbstractContextManager[Execute]:
        """Begin a transaction that sees one state of the tables."""

    def writing(self, dataset: str) -> AbstractContextManager[Execute]:
        """Begin a transaction that no other writer of the dataset overlaps.

        Leaving it commits to disk; an error inside undoes everything. An error while it commits is a
        `BudgetUncertainError`: nobody knows whether the transaction is on disk.
        """


def at_address(address: Address) -> Database:
    """Return the database that an address means; nothing is opened yet.

    Parameters
    ----------
    address : str or path
        A file (SQLite), or ``postgresql://user@host/name``.
    """
    if isinstance(address, str) and "://" in address:
        from dpforest.privacy.budget.postgres import PostgresDatabase

        return PostgresDatabase.at(address)
    from dpforest.privacy.budget.sqlite import SqliteDatabase

    return SqliteDatabase(Path(address).resolve())


def marks(values: Sequence[Any]) -> str:
    """Return the place holders for the values of a row."""
    return ", ".join("?" * len(values))
