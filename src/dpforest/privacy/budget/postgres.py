"""A budget in a PostgreSQL database, shared by machines. Needs psycopg: ``pip install 'dpforest[postgres]'``.

Writers of a dataset take turns by an advisory lock. Entries are added by a function of the server that checks
them (`postgres_function`), so an analyst's role needs no right to insert, update or delete: `grant` gives it
SELECT and that function. A connection is opened per transaction, so neither threads nor forks share one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from importlib import import_module
from typing import Any

from dpforest.privacy.budget import database
from dpforest.privacy.budget.database import TABLES, Execute, marks
from dpforest.privacy.budget.postgres_function import FUNCTIONS, LOCKS
from dpforest.privacy.budget.records import at_machine
from dpforest.privacy.errors import BudgetStoreError, BudgetUncertainError

_CONNECT_SECONDS = 10
_SILENT_SECONDS = 60  # after which a server that does not answer any more counts as gone
_TABLES = ("dpforest_format", "dpforest_datasets", "dpforest_charges")
_APPEND = "dpforest_append(dpforest_charges)"
_GUARDS = (
    "CREATE FUNCTION dpforest_append_only() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN RAISE EXCEPTION 'budget records are append-only'; END $$",
    *(
        f"CREATE TRIGGER {table}_keeps BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
        "FOR EACH STATEMENT EXECUTE FUNCTION dpforest_append_only()"
        for table in _TABLES
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
                for statement in TABLES + _GUARDS + FUNCTIONS:
                    execute(statement, ())
                [(schema,)] = execute("SELECT quote_ident(current_schema())", ())
                # pg_temp last, or a table of the caller's own would be taken for the record
                execute(f"ALTER FUNCTION {_APPEND} SET search_path = {schema}, pg_temp", ())

    def grant(self, role: str) -> None:
        """Let a role read and charge, and nothing else.

        Parameters
        ----------
        role : str
            A role of the server, made by its administrator.
        """
        with self._transaction("BEGIN READ WRITE") as execute:
            [(quoted, schema, makes)] = execute(
                "SELECT quote_ident(?), quote_ident(current_schema()), "
                "has_schema_privilege(?, current_schema(), 'CREATE')",
                (role, role),
            )
            if makes:
                raise BudgetStoreError(
                    f"{role} may create functions in the schema {schema}, and so replace those that guard "
                    f"the budget: REVOKE CREATE ON SCHEMA {schema} FROM PUBLIC, {quoted} first."
                )
            execute(f"GRANT USAGE ON SCHEMA {schema} TO {quoted}", ())
            execute(f"GRANT SELECT ON {', '.join(_TABLES)} TO {quoted}", ())
            execute(f"GRANT EXECUTE ON FUNCTION {_APPEND} TO {quoted}", ())

    def login(self, execute: Execute) -> str:
        """Return the role that is logged in, and the machine.

        Parameters
        ----------
        execute : callable
            Of a transaction.
        """
        [(role,)] = execute("SELECT session_user", ())
        return at_machine(role)

    def append(self, execute: Execute, values: Sequence[Any]) -> None:
        """Add an entry, if the server finds it right.

        Parameters
        ----------
        execute : callable
            Of a transaction that writes.
        values : sequence
            The columns of the entry, then its hash.
        """
        execute(f"SELECT dpforest_append(ROW({marks(values)})::dpforest_charges)", values)

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
            [(forced, _)] = execute(
                "SELECT current_setting('fsync'), CASE current_setting('synchronous_commit') WHEN 'off' "
                "THEN set_config('synchronous_commit', 'on', true) END",
                (),
            )
            if forced != "on":
                raise BudgetStoreError(
                    "the PostgreSQL server runs with fsync = off and may forget charges, so nothing is "
                    "granted: turn it on."
                )
            execute("SELECT pg_advisory_xact_lock(?::int, hashtext(?))", (LOCKS, dataset))
            yield execute

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Execute]:
        """Connect and begin, or fail closed; leaving by an error rolls back."""
        psycopg = _psycopg()
        try:
            with closing(
                psycopg.connect(
                    self._url,
                    connect_timeout=_CONNECT_SECONDS,
                    tcp_user_timeout=1000 * _SILENT_SECONDS,
                    autocommit=True,
                )
            ) as connection:

                def execute(statement: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
                    if parameters:
                        cursor = connection.execute(statement.replace("?", "%s"), parameters)
                    else:
                        cursor = connection.execute(statement)
                    return cursor.fetchall() if cursor.description else []

                connection.execute(begin)
                execute("SELECT set_config('lock_timeout', ?, true)", (f"{database.BUSY_SECONDS}s",))
                yield execute
                if "READ ONLY" in begin:
                    return
                try:
                    connection.execute("COMMIT")
                except psycopg.Error as problem:
                    raise BudgetUncertainError(
                        f"the budget's server went away while it was writing ({_first_line(problem)})."
                    ) from problem
        except psycopg.errors.LockNotAvailable as problem:
            raise BudgetStoreError(
                f"somebody else has kept this budget locked for {database.BUSY_SECONDS} seconds, so nothing "
                "is granted: try again, or ask the owner of the server who holds the lock (pg_locks)."
            ) from problem
        except psycopg.Error as problem:
            raise BudgetStoreError(
                f"the budget record cannot be reached ({_first_line(problem)}), so nothing is granted: check "
                "the server, that the budget was created there, and your rights to read and to charge."
            ) from problem

    def __repr__(self) -> str:
        return f"PostgresDatabase({self._url!r})"


def _first_line(problem: Exception) -> str:
    return str(problem).partition("\n")[0]


def _psycopg() -> Any:
    """Import the driver only here, because it is optional."""
    try:
        return import_module("psycopg")
    except ImportError as missing:
        raise ImportError(
            "postgresql:// addresses need psycopg: install it with `pip install 'dpforest[postgres]'`."
        ) from missing
