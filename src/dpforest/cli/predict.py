"""``dpforest predict``: answers of a published model for new rows. Costs no budget."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click

from dpforest.cli.answers import AnsweringCommand, answer, answers_in_json, note, table, working
from dpforest.cli.models import key_option, load_model
from dpforest.cli.schema import FILE, NEW_FILE, check_new, compare_columns
from dpforest.cli.tables import Reading, read_values, table_options, write_columns

_SHOWN = 10


@click.command(cls=AnsweringCommand)
@click.argument("model", type=FILE)
@click.argument("data", type=FILE)
@key_option
@click.option(
    "--out", type=NEW_FILE, help="CSV, Parquet or Feather file to write; default: the first rows are shown."
)
@click.option("--overwrite", is_flag=True, help="Replace an existing file.")
@click.option("--proba", is_flag=True, help="Add the probability of every class.")
@click.option("--keep", multiple=True, metavar="COLUMN", help="Copy a column of DATA to the output.")
@click.option("--jobs", type=int, help="Threads; -1 takes all cores.")
@table_options
def predict(
    model: Path,
    data: Path,
    key: Path | None,
    out: Path | None,
    overwrite: bool,
    proba: bool,
    keep: tuple[str, ...],
    jobs: int | None,
    reading: Reading,
) -> None:
    """Predict the rows of the table DATA with a MODEL file."""
    from dpforest.schema import SchemaError

    check_new(out, overwrite)
    loaded: Any = load_model(model, key).set_params(n_jobs=jobs)
    if proba and not hasattr(loaded, "predict_proba"):
        raise click.UsageError("--proba is for classifiers.")
    others = compare_columns(data, loaded.schema_, None, reading)
    lacking = [name for name in keep if name not in (*others, *loaded.schema_.names)]
    if lacking:
        raise SchemaError(f"{data} lacks the columns {', '.join(map(repr, lacking))} to keep.")
    rows = reading.open(data, loaded.schema_)
    X = rows.select(loaded.schema_.names)
    with working("Predicting"):
        columns = read_values(rows, list(dict.fromkeys(keep)))
        columns["prediction"] = loaded.predict(X).tolist()
        if proba:
            shares = loaded.predict_proba(X)
            for label, share in zip(loaded.classes_, shares.T, strict=True):
                columns[f"probability of {label}"] = share.tolist()
    n_rows = len(columns["prediction"])
    if out is not None:
        write_columns(out, columns)
        answer(
            {"rows": n_rows, "out": str(out), "columns": list(columns)}, f"Wrote {out}: {n_rows} predictions."
        )
        return
    shown = [
        list(map(str, row)) for row in zip(*(values[:_SHOWN] for values in columns.values()), strict=True)
    ]
    if n_rows > _SHOWN and not answers_in_json():
        note(f"{n_rows - _SHOWN} more rows; --out writes them all.")
    plain = {name: [_plain(value) for value in values] for name, values in columns.items()}
    answer({"rows": n_rows, "columns": plain}, table(list(columns), shown))


def _plain(value: Any) -> Any:
    """Write a value of a kept column so that JSON can hold it: dates as text, what is no number as null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, str | int | None) else str(value)
