"""Addresses of budgets that last: a file, and a real server where one is installed."""

import secrets

import pytest

from tests.privacy.servers import postgres_server, server_binaries


@pytest.fixture(scope="session")
def postgres():
    """Address of a running PostgreSQL server."""
    if server_binaries() is None:
        pytest.skip("no PostgreSQL server is installed here (Debian: apt-get install postgresql)")
    with postgres_server() as url:
        yield url


@pytest.fixture
def postgres_address(postgres):
    """Address of a fresh, empty corner of the server."""
    import psycopg

    name = f"corner_{secrets.token_hex(8)}"
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return f"{postgres}?options=-csearch_path%3D{name}"


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request, tmp_path):
    """A place for a budget that lasts, on each kind of database."""
    if request.param == "sqlite":
        return str(tmp_path / "budget.db")
    return request.getfixturevalue("postgres_address")
