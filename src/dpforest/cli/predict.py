"""``dpforest predict``: answers of a published model for new rows. Costs no budget."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpforest.cli.answers import AnsweringCommand, answer, answers_in_json, note, table, working
from dpforest.cli.models import key_option, load_model
from dpforest.cli.schema import FILE, NEW_FILE, PLACE, check_new, compare_columns
from dpforest.cli.tables import Reading, plain_values, table_options, write_columns

if TYPE_CHECKING:
    from dpforest.schema.columns import Column
    from dpforest.schema.files import Files

_SHOWN = 10


@click.command(cls=AnsweringCommand)
@click.argument("model", type=FILE)
@click.argument("data", type=PLACE)
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
    """Predict the rows of the table DATA with a MODEL file.

    DATA is a file, a folder, or a pattern in quotes; it may be larger than memory if --out is given.
    """
    from dpforest.schema import SchemaError

    check_new(out, overwrite)
    loaded: Any = load_model(model, key).set_params(n_jobs=jobs)
    if proba and not hasattr(loaded, "predict_proba"):
        raise click.UsageError("--proba is for classifiers.")
    others = compare_columns(data, loaded.schema_, None, reading)
    lacking = [name for name in keep if name not in (*others, *loaded.schema_.names)]
    if lacking:
        raise SchemaError(f"{data} lacks the columns {', '.join(map(repr, lacking))} to keep.")
    rows, kept = reading.open(data, loaded.schema_), list(dict.fromkeys(keep))
    pieces = _Counted(_predictions(loaded, rows, kept, proba))
    with working("Predicting"):
        if out is not None:
            write_columns(out, pieces, _types(rows, kept))
            columns = {}
        else:
            parts = list(pieces)
            columns = {name: [value for part in parts for value in part[name]] for name in parts[0]}
    if out is not None:
        told = {"rows": pieces.n_rows, "out": str(out), "columns": pieces.names}
        answer(told, f"Wrote {out}: {pieces.n_rows} predictions.")
        return
    shown = [
        list(map(str, row)) for row in zip(*(values[:_SHOWN] for values in columns.values()), strict=True)
    ]
    if pieces.n_rows > _SHOWN and not answers_in_json():
        note(f"{pieces.n_rows - _SHOWN} more rows; --out writes them all.")
    plain = {name: [_plain(value) for value in values] for name, values in columns.items()}
    answer({"rows": pieces.n_rows, "columns": plain}, table(list(columns), shown))


def _predictions(model: Any, rows: Files, keep: Sequence[str], proba: bool) -> Iterator[dict[str, list[Any]]]:
    """Yield the columns of the answer, piece by piece; at least one piece, which may be empty."""
    from dpforest.schema.columns import ListColumn
    from dpforest.schema.streams import Piece

    names = list(dict.fromkeys([*model.schema_.names, *keep]))
    nothing: list[Column] = [ListColumn([]) for _ in names]
    for columns in chain(rows.read(names), [nothing]):
        X = Piece(names, columns).select(model.schema_.names)
        answers = {name: plain_values(columns[names.index(name)]) for name in keep}
        answers["prediction"] = model.predict(X).tolist()
        if proba:
            for label, share in zip(model.classes_, model.predict_proba(X).T, strict=True):
                answers[f"probability of {label}"] = share.tolist()
        yield answers


class _Counted:
    """Pieces of an answer; how many rows they had is known when they are through."""

    def __init__(self, pieces: Iterable[dict[str, list[Any]]]) -> None:
        self._pieces = pieces
        self.n_rows, self.names = 0, list[str]()

    def __iter__(self) -> Iterator[dict[str, list[Any]]]:
        for columns in self._pieces:
            self.n_rows, self.names = self.n_rows + len(columns["prediction"]), list(columns)
            yield columns


def _types(rows: Files, names: Sequence[str]) -> dict[str, Any]:
    """Return Arrow types that the values of all files fit, where files declare types."""
    from dpforest.schema.files import ArrowFile

    declared = [file.schema for file in rows.files if isinstance(file, ArrowFile)]
    if not names or len(declared) < len(rows.files):
        return {}
    fields = [[schema.field(name) for name in names] for schema in declared]
    arrow = import_module("pyarrow")
    common = arrow.unify_schemas([arrow.schema(some) for some in fields], promote_options="permissive")
    return dict(zip(common.names, common.types, strict=True))


def _plain(value: Any) -> Any:
    """Write a value of a kept column so that JSON can hold it: dates as text, what is no number as null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, str | int | None) else str(value)
