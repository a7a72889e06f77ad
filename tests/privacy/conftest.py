"""Addresses of budgets that last: a file, and a real server where one is installed."""

import pytest


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request, tmp_path):
    """A place for a budget that lasts, on each kind of database."""
    if request.param == "sqlite":
        return str(tmp_path / "budget.db")
    return request.getfixturevalue("postgres_address")
