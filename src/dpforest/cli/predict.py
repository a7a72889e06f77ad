"""``dpforest predict``: answers of a published model for new rows. Costs no budget."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dpforest.cli.answers import AnsweringCommand, answer, note, table, working
from dpforest.cli.schema import FILE, NEW_FILE, check_new, compare_columns
from dpforest.cli.tables import read_values, table_options, write_columns

_SHOWN = 10


@click.command(cls=AnsweringCommand)
@click.argument("model", type=FILE)
@click.argument("data", type=FILE)
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
    out: Path | None,
    overwrite: bool,
    proba: bool,
    keep: tuple[str, ...],
    jobs: int | None,
    delimiter: str | None,
    missing: tuple[str, ...],
) -> None:
    """Predict the rows of the table DATA with a MODEL file."""
    import dpforest
    from dpforest.schema import SchemaError
    from dpforest.schema.files import open_file

    check_new(out, overwrite)
    loaded: Any = dpforest.load(model).set_params(n_jobs=jobs)
    if proba and not hasattr(loaded, "predict_proba"):
        raise click.UsageError("--proba is for classifiers.")
    others = compare_columns(data, loaded.schema_, None, delimiter)
    lacking = [name for name in keep if name not in (*others, *loaded.schema_.names)]
    if lacking:
        raise SchemaError(f"{data} lacks the columns {', '.join(map(repr, lacking))} to keep.")
    rows = open_file(data, delimiter, missing)
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
    answer({"rows": n_rows, "columns": columns}, table(list(columns), shown))
    if n_rows > _SHOWN:
        note(f"{n_rows - _SHOWN} more rows; --out writes them all.")
