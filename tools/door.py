"""Change one row of a table, in every format and type: all other rows keep their cells, in silence.

    python -m tools.door                       # 100,000 pairs of tables, 100,000 odd values per format
    python -m tools.door --pairs 2000 --values 2000 --seed 7

*Pairs.* A table is built by a library from Python values, or holds random bits of one type. A row is added,
removed or changed, first, last or in the middle, and the table is built again by the same library, which may
choose other types because of that row. The cells and target codes of all other rows, and what is warned or
raised, must be as they were; and they must be the cells of the values alone.

*Values.* Tables full of odd values (strange objects, random bits, torn lines) are fitted: nothing may be
raised, warned, printed or logged.

What a library itself refuses to build is no table; such cases are counted and left out.
"""

from __future__ import annotations

import argparse
import io
import json
import logging
import sys
import tempfile
import time
import warnings
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet

from dpforest import RandomDecisionTreesClassifier, RandomDecisionTreesRegressor
from dpforest.schema import Classes, Nominal, Numeric, Ordinal, Range, Schema
from dpforest.schema.door import read_blocks
from dpforest.schema.files import open_file
from dpforest.schema.values import read_value
from tools.odd_values import (
    ARROW_TYPES,
    LINES,
    NUMPY_TYPES,
    POOLS,
    ROWS,
    TAME,
    WILD,
    arrow_bits,
    numpy_bits,
    pick,
)

FEATURES = [
    Numeric(0, 100, bins=16), Numeric(-5, 5, integer=True, bins=16), Numeric(0, 2e9, bins=64),
    Nominal([True, False]), Nominal(["1", "2", "007", "x"]), Nominal(["x", "y", "True", "False"]),
    Nominal([2**53, 2**60, 1]), Nominal(["2020-01-31", "1999-12-31", "12:30", "0.1"]),
    Ordinal([1, 2.5, 3]), Ordinal(["0", "1", "86400"]),
]  # fmt: skip
TARGETS = [
    Classes([0, 1, 2]),
    Classes(["x", "y", "1"]),
    Classes([False, True]),
    Range(0, 10),
    Range(1e8 + 3, 1e8 + 5),
]


class NotBuiltError(Exception):
    """The library does not make such a table."""


# --- tables of Python values --------------------------------------------------------------------------------
# Every maker takes a dictionary of columns, the last of which is the target, and returns X and y.


def to_lists(columns):
    *features, target = columns.values()
    return [list(row) for row in zip(*features, strict=True)], list(target)


def to_objects(columns):
    table = np.empty((len(columns["target"]), len(columns)), dtype=object)
    for j, values in enumerate(columns.values()):
        for i, value in enumerate(values):
            table[i, j] = value
    return table[:, :-1], table[:, -1]


def to_array(columns):
    table = np.array([list(row) for row in zip(*columns.values(), strict=True)])
    table = table.reshape(-1, len(columns))
    return table[:, :-1], table[:, -1]


def to_masked(columns):
    X, y = to_objects(columns)
    return np.ma.array(X, mask=np.array([[v is None for v in row] for row in X]).reshape(X.shape)), y


def to_pandas(columns, change=lambda frame: frame):
    frame = change(pd.DataFrame(columns))
    return frame.drop(columns="target"), frame["target"]


def to_pandas_objects(columns):
    return to_pandas({name: pd.Series(list(values), dtype=object) for name, values in columns.items()})


def to_pandas_arrow(columns):
    table = arrow_table(columns)
    return to_pandas({name: pd.Series(pd.arrays.ArrowExtensionArray(table[name])) for name in columns})


def to_unnamed(columns):
    X, y = to_pandas(columns)
    return X.set_axis(range(X.shape[1]), axis=1), y


def to_polars(columns):
    frame = pl.DataFrame(columns)
    return frame.drop("target"), frame["target"]


def arrow_table(columns):
    """Build a table; Arrow silently cuts times down to dates where it meets a date first."""
    table = pa.table(columns)
    for name, values in columns.items():
        for value, held in zip(values, table[name].to_pylist(), strict=True):
            if read_value(value) != read_value(held) and read_value(value).kind != "missing":
                raise ValueError("the library changed a value")
    return table


def to_arrow(columns, change=lambda table: table):
    table = arrow_table(columns)
    return change(table.drop_columns("target")), table["target"]


def to_file(columns, directory, kind, lines=None):
    path = Path(directory) / f"rows.{kind}"
    if kind == "csv":
        lines = map(to_line, zip(*columns.values(), strict=True)) if lines is None else lines
        path.write_bytes(b"\n".join([to_line(columns), *lines]))
    elif kind == "parquet":
        pyarrow.parquet.write_table(arrow_table(columns), path, row_group_size=2)
    else:
        pyarrow.feather.write_feather(arrow_table(columns), str(path), chunksize=2)
    file = open_file(path)
    return file.select([name for name in file.names if name != "target"]), file.column("target")


def to_line(values):
    def field(value):
        if isinstance(value, bytes):
            return value
        text = "" if value is None else str(value)
        quoted = '"' + text.replace('"', '""') + '"' if set(text) & set(',"\r\n') else text
        return quoted.encode("utf-8", "surrogatepass")

    return b",".join(map(field, values))


MAKERS = {
    "lists": to_lists,
    "objects": to_objects,
    "array": to_array,
    "masked": to_masked,
    "pandas": to_pandas,
    "pandas objects": to_pandas_objects,
    "pandas nullable": lambda columns: to_pandas(columns, pd.DataFrame.convert_dtypes),
    "pandas categories": lambda columns: to_pandas(columns, lambda frame: frame.astype("category")),
    "pandas arrow": to_pandas_arrow,
    "pandas without names": to_unnamed,
    "polars": to_polars,
    "arrow": to_arrow,
    "arrow batch": lambda columns: to_arrow(
        columns, lambda table: pa.record_batch(table.to_pydict(), table.schema)
    ),
    "arrow dataset": lambda columns: to_arrow(columns, pyarrow.dataset.dataset),
    "arrow reader": lambda columns: to_arrow(columns, lambda table: table.to_reader(2)),
}
FILES = ("csv", "parquet", "feather")
BY_POSITION = {"lists", "objects", "array", "masked", "pandas without names"}
TAKES_ANYTHING = {"lists", "objects", "masked", "pandas objects"}


def build(make, *arguments):
    """Build a table; what a library says while it does so is its own matter."""
    with warnings.catch_warnings(), redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        try:
            return make(*arguments)
        except Exception as error:
            raise NotBuiltError from error


# --- pairs --------------------------------------------------------------------------------------------------


def encode(X, y, schema):
    """Cells and codes of all rows as a fit sees them; a warning is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        blocks = list(read_blocks(X, y, schema))
    none = np.empty((0, schema.n_columns + 1), dtype=np.int64)
    return np.concatenate([none, *(np.column_stack([cells, codes]) for cells, codes in blocks)])


def edit(rng, rows, new):
    """Add, remove or change one row; return the new rows and how many before and after it are the same."""
    place = pick(rng, [0, len(rows) // 2, len(rows)])
    kind = pick(rng, ["add", "remove", "change"]) if rows else "add"
    if kind == "add":
        return [*rows[:place], new, *rows[place:]], place, len(rows) - place
    place = min(place, len(rows) - 1)
    kept = [new] if kind == "change" else []
    return [*rows[:place], *kept, *rows[place + 1 :]], place, len(rows) - place - 1


def compare(one, other, before, after):
    """Say what differs in the rows that two tables share, at most in a few words."""
    if len(one) < before + after or len(other) < before + after:
        return f"{len(one)} and {len(other)} rows are fewer than the {before + after} that are shared"
    ends = (one[:before], other[:before]), (one[len(one) - after :], other[len(other) - after :])
    for old, new in ends:
        if not np.array_equal(old, new):
            return f"cells {old.tolist()} became {new.tolist()}"
    return None


def by_law(rows, schema):
    """Cells and codes of rows, one value at a time."""
    features = list(schema.features.values())
    cells = [[f.cell_of(v) for f, v in zip(features, row[:-1], strict=True)] for row in rows]
    codes = [schema.target.encode([row[-1]]).tolist() for row in rows]
    return np.array([[*cell, *code] for cell, code in zip(cells, codes, strict=True)]).reshape(
        -1, schema.n_columns + 1
    )


def value_pair(rng, directory):
    """One pair of tables that a library builds from Python values; None if all is well."""
    name = pick(rng, [*MAKERS, *FILES])
    pools = [pick(rng, list(POOLS.values())) for _ in range(rng.integers(2, 5))]
    names = [f"c{j}" for j in range(len(pools) - 1)]
    schema = Schema({n: pick(rng, FEATURES) for n in names}, pick(rng, TARGETS))
    rows = [[pick(rng, pool) for pool in pools] for _ in range(rng.integers(0, 6))]
    odd = TAME + WILD if name in TAKES_ANYTHING else TAME
    new = [pick(rng, odd if rng.random() < 0.6 else pool) for pool in pools]
    changed, before, after = edit(rng, rows, new)
    found = []
    for table in (rows, changed):
        columns = {n: [row[j] for row in table] for j, n in enumerate([*names, "target"])}
        lines = None
        if name == "csv":
            lines = [to_line(row) for row in table]
            if table is changed and rng.random() < 0.3:
                lines[before : len(lines) - after] = [pick(rng, LINES)]
        elif name not in BY_POSITION:
            columns = {n: columns[n] for n in [*rng.permutation(names).tolist(), "target"]}
        made = (
            build(to_file, columns, directory, name, lines) if name in FILES else build(MAKERS[name], columns)
        )
        found.append(encode(*made, schema))
    problem = compare(*found, before, after)
    if problem is None and name != "csv":  # where a value may only resemble its text
        problem = compare(by_law(rows, schema), found[0], len(rows), 0)
    return None if problem is None else f"{name}: {problem}; rows {rows!r:.500}, new {new!r:.500}"


# --- random bits of one type --------------------------------------------------------------------------------


def to_masked_bits(values):
    hidden = [value.tobytes()[:1] < b"\x30" for value in values]
    return np.ma.array(values[:, None], mask=np.array(hidden, dtype=bool)[:, None])


# polars stops the process at types and text that it does not know.
POLARS = {kind: kind for kind in ARROW_TYPES if str(kind) not in ("string", "large_string")}
POLARS = {kind: kind for kind in POLARS if not str(kind).startswith(("decimal256", "month", "fixed"))}


def to_bit_file(values, directory, kind):
    path = Path(directory) / f"bits.{kind}"
    write = pyarrow.parquet.write_table if kind == "parquet" else pyarrow.feather.write_feather
    write(pa.table({"a": values}), str(path))
    return open_file(path)


# One column of a type, in every library that takes it.
OF_NUMPY = {
    "array": lambda values, _: values[:, None],
    "masked": lambda values, _: to_masked_bits(values),
    "list of arrays": lambda values, _: [np.array([value]) for value in values],
    "pandas": lambda values, _: pd.DataFrame({"a": values}),
    "pandas categories": lambda values, _: pd.DataFrame({"a": pd.Series(values).astype("category")}),
    "polars": lambda values, _: pl.DataFrame({"a": values}),
}
OF_ARROW = {
    "arrow": lambda values, _: pa.table({"a": values}),
    "arrow in pieces": lambda values, _: pa.table({"a": pa.chunked_array([values[:1], values[1:]])}),
    "arrow codes": lambda values, _: pa.table({"a": values.dictionary_encode()}),
    "pandas arrow": lambda values, _: pd.DataFrame(
        {"a": pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([values])))}
    ),
    "polars": lambda values, _: pl.from_arrow(pa.table({"a": values.cast(POLARS[values.type])})),
    "parquet": lambda values, directory: to_bit_file(values, directory, "parquet"),
    "feather": lambda values, directory: to_bit_file(values, directory, "feather"),
}


def bit_pair(rng, directory):
    """One pair of tables of random bits of one type; None if all is well."""
    kind = pick(rng, [*NUMPY_TYPES, *ARROW_TYPES])
    size = int(rng.integers(0, 6))
    changed, before, after = edit(rng, list(range(size)), size)
    if isinstance(kind, pa.DataType):
        name, values = pick(rng, list(OF_ARROW)), arrow_bits(rng, kind, size + 1)
        make, tables = OF_ARROW[name], [values[:size], values.take(pa.array(changed, pa.int64()))]
    else:
        name, values = pick(rng, list(OF_NUMPY)), numpy_bits(rng, kind, size + 1)
        make, tables = OF_NUMPY[name], [values[:size], values[changed]]
    schema = Schema({"a": pick(rng, FEATURES)}, Classes([0]))
    cells = [encode(build(make, table, directory), [0] * len(table), schema) for table in tables]
    problem = compare(*cells, before, after)
    return None if problem is None else f"{name} of {kind}: {problem}; values {values!r:.300}"


def run_pairs(count, seed, directory):
    """Put `count` pairs through, those that libraries build; return counts and the first failures."""
    found, failures, number = Counter(), [], 0
    while number - found["not built"] < count:
        rng = np.random.default_rng([seed, number])
        number += 1
        pair = pick(rng, [value_pair, bit_pair])
        try:
            problem = pair(rng, directory)
            found["same" if problem is None else "changed"] += 1
        except NotBuiltError:
            found["not built"] += 1
            continue
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
            found["raised"] += 1
        if problem is not None:
            failures.append(f"pair {number} ({pair.__name__}): {problem}")
    return {"pairs": count, **found, "failures": len(failures), "first_failures": failures[:20]}


# --- odd values ---------------------------------------------------------------------------------------------


def odd_tables(rng, name, size, directory):
    """One table of about `size` odd values in a format, as X and y."""
    n_rows = max(1, size // 5)
    anything = [*TAME, *WILD, *(value for pool in POOLS.values() for value in pool)]
    columns = {n: [pick(rng, anything) for _ in range(n_rows)] for n in (*"abcd", "target")}
    if name == "csv":
        words = [*LINES, *(to_line([value]) for value in TAME)]
        lines = [b",".join(pick(rng, words) for _ in range(5)) for _ in range(n_rows)]
        return to_file(columns, directory, "csv", [line.replace(b"\n", b"") for line in lines])
    if name in TAKES_ANYTHING:
        X, y = MAKERS[name](columns)
        if name == "lists":
            X[:: max(1, n_rows // 50)] = [pick(rng, ROWS) for _ in X[:: max(1, n_rows // 50)]]
        return X, y
    if name in OF_NUMPY:
        make, bits = OF_NUMPY[name], numpy_bits(rng, pick(rng, NUMPY_TYPES), size)
    else:
        make, bits = OF_ARROW[name], arrow_bits(rng, pick(rng, ARROW_TYPES), size)
    return make(bits, directory), bits


def run_values(count, seed, directory):
    """Fit tables of `count` odd values in every format; return counts and what was raised or heard."""
    found, failures = Counter(), []
    heard = io.StringIO()
    handler = logging.StreamHandler(heard)
    logging.getLogger().addHandler(handler)
    for name in sorted({"csv", *TAKES_ANYTHING, *OF_NUMPY, *OF_ARROW}):
        number = 0
        while found[name] < count:
            rng = np.random.default_rng([seed, number, len(name)])
            number += 1
            try:
                X, y = build(odd_tables, rng, name, min(count, 5_000), directory)
            except NotBuiltError:
                continue
            wide = name in TAKES_ANYTHING or name == "csv"
            features = {n: pick(rng, FEATURES) for n in ("abcd" if wide else "a")}
            target = pick(rng, TARGETS)
            model = (
                RandomDecisionTreesRegressor if isinstance(target, Range) else RandomDecisionTreesClassifier
            )
            try:
                with redirect_stdout(heard), redirect_stderr(heard), warnings.catch_warnings():
                    warnings.simplefilter("error")
                    model(1, schema=Schema(features, target), max_depth=1).fit(X, y)
            except Exception as error:
                failures.append(f"{name}, table {number}: {type(error).__name__}: {error!s:.200}")
            found[name] += min(count, 5_000)
    logging.getLogger().removeHandler(handler)
    if heard.getvalue():
        failures.append(f"heard: {heard.getvalue()!r:.200}")
    return {"values": dict(found), "failures": len(failures), "first_failures": failures[:20]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=100_000)
    parser.add_argument("--values", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory() as directory:
        for run, count in ((run_pairs, options.pairs), (run_values, options.values)):
            started = time.perf_counter()
            results.append(run(count, options.seed, directory))
            print(json.dumps({**results[-1], "seconds": round(time.perf_counter() - started, 1)}, indent=1))
    sys.exit(any(result["failures"] for result in results))


if __name__ == "__main__":
    main()
