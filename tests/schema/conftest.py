"""Tables of one column in every library, for the tests of this room."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest


def as_lists(columns):
    return [list(row) for row in zip(*columns.values(), strict=True)]


def as_objects(columns):
    table = np.empty((len(next(iter(columns.values()))), len(columns)), dtype=object)
    for j, values in enumerate(columns.values()):
        table[:, j] = values
    return table


MAKERS = {
    "lists": as_lists,
    "object array": as_objects,
    "pandas": pd.DataFrame,
    "pandas nullable": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "pandas objects": lambda columns: pd.DataFrame(columns, dtype=object),
    "polars": pl.DataFrame,
    "polars shuffled": lambda columns: pl.DataFrame(columns).select(list(columns)[::-1]),
    "arrow": pa.table,
    "arrow batch": pa.record_batch,
}


@pytest.fixture(params=MAKERS)
def make_table(request):
    """Turn a dictionary of lists, None where missing, into a table of some library."""
    return MAKERS[request.param]
