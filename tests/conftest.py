import secrets

import pytest
from hypothesis import settings

from tests.privacy.servers import postgres_server, server_binaries

# The machine may be slow and busy: a test fails for what it finds, never for how long it took.
settings.register_profile("dpforest", deadline=None)
settings.load_profile("dpforest")


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
