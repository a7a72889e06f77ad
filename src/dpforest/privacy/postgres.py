"""A budget in a PostgreSQL database, shared by machines. Needs psycopg: ``pip install 'dpforest[postgres]'``.

Writers of a dataset take turns by an advisory lock, which needs no right to update anything: an analyst's
role can do with SELECT and INSERT. A connection is opened per transaction, so neither threads nor forks share
one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from importlib import import_module
from typing import Any

from dpforest.privacy.database import BUSY_SECONDS, TABLES, Execute
from dpforest.privacy.errors import BudgetStoreError

_LOCKS = 0x64706672  # keeps our advisory locks apart from those of other programs
_CONNECT_SECONDS = 10
_GUARDS = (
    "CREATE FUNCTION dpforest_append_only() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN RAISE EXCEPTION 'budget records are append-only'; END $$",
    *(
        f"CREATE TRIGGER {table}_keeps BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
        "FOR EACH STATEMENT EXECUTE FUNCTION dpforest_append_only()"
        for table in ("dpforest_format", "dpforest_datasets", "dpforest_charges")
    ),
)


class PostgresDatabase:
    """A PostgreSQL database.

    Parameters
    ----------
    url : str
        Where it is; without a password, because it travels with pickled estimators.
    """

    def __init__(self, url: str) -> None:
        self._url = url

    @classmethod
    def at(cls, url: str) -> PostgresDatabase:
        """Return the database at an address; nothing is opened yet.

        Parameters
        ----------
        url : str
            ``postgresql://user@host/name``.
        """
        scheme = url.partition("://")[0]
        if scheme not in ("postgresql", "postgres"):
            raise ValueError(f"a budget is a file or a postgresql:// address, got {scheme}://...")
        try:
            parts = _psycopg().conninfo.conninfo_to_dict(url)
        except _psycopg().Error:  # its message may quote a password
            raise ValueError("this postgresql:// address cannot be read.") from None
        if "password" in parts:
            raise ValueError(
                "leave the password out of the address, which travels with pickled estimators: put it into "
                "the environment variable PGPASSWORD or into ~/.pgpass."
            )
        return cls(url)

    @property
    def address(self) -> str:
        """The URL."""
        return self._url

    def prepare(self) -> None:
        """Make the tables if they are not there."""
        with self.writing("") as execute:
            if execute("SELECT to_regclass('dpforest_format')", ()) == [(None,)]:
                for statement in TABLES + _GUARDS:
                    execute(statement, ())

    @contextmanager
    def reading(self) -> Iterator[Execute]:
        """Begin a transaction that sees one state of the tables."""
        with self._transaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY") as execute:
            yield execute

    @contextmanager
    def writing(self, dataset: str) -> Iterator[Execute]:
        """Begin a transaction that no other writer of the dataset overlaps.

        Parameters
        ----------
        dataset : str
            Its name.
        """
        # READ COMMITTED, so that statements after the lock see what the last holder of the lock wrote; a
        # stricter level would see the tables as they were before the wait.
        with self._transaction("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE") as execute:
            [(forced, *_)] = execute(
                "SELECT current_setting('fsync'), set_config('lock_timeout', ?, true), "
                "CASE current_setting('synchronous_commit') WHEN 'off' "
                "THEN set_config('synchronous_commit', 'on', true) END",
                (f"{BUSY_SECONDS}s",),
            )
            if forced != "on":
                raise BudgetStoreError(
                    "the PostgreSQL server runs with fsync = off and may forget charges, so nothing is "
                    "granted: turn it on."
                )
            execute("SELECT pg_advisory_xact_lock(?::int, hashtext(?))", (_LOCKS, dataset))
            yield execute

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Execute]:
        """Connect and begin, or fail closed; leaving by an error rolls back."""
        psycopg = _psycopg()
        try:
            with closing(
                psycopg.connect(self._url, connect_timeout=_CONNECT_SECONDS, autocommit=True)
            ) as connection:

                def execute(statement: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
                    cursor = connection.execute(statement.replace("?", "%s"), parameters)
                    return cursor.fetchall() if cursor.description else []

                connection.execute(begin)
                yield execute
                connection.execute("COMMIT")
        except psycopg.Error as problem:
            raise BudgetStoreError(
                f"the budget record cannot be reached ({problem}), so nothing is granted: check the server, "
                "that BudgetAccountant.create made the budget there, and your rights to read and insert."
            ) from problem

    def __repr__(self) -> str:
        return f"PostgresDatabase({self._url!r})"


def _psycopg() -> Any:
    """Import the driver only here, because it is optional."""
    try:
        return import_module("psycopg")
    except ImportError as missing:
        raise ImportError(
            "postgresql:// addresses need psycopg: install it with `pip install 'dpforest[postgres]'`."
        ) from missing
