"""``dpforest schema``: draft and check the public description of a table.

A draft is made from a public dictionary, or from column names and types; values of rows are read only with
``--public``, and counted with ``check --values``.
"""

from __future__ import annotations

import csv
import glob
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpforest.cli.answers import SCHEMA_MISMATCH, AnsweringCommand, answer, heading, note, table, working
from dpforest.cli.tables import Reading, column_types, read_public_rows, table_options

if TYPE_CHECKING:
    from dpforest.schema import Schema
    from dpforest.schema.value_check import ValueCheck


class _Place(click.Path):
    """Where rows are: a file, a folder, or a pattern that some file fits."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if glob.has_magic(str(value)) and glob.glob(str(value), recursive=True):
            return Path(value)
        return super().convert(value, param, ctx)


FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
PLACE = _Place(exists=True, path_type=Path)
NEW_FILE = click.Path(dir_okay=False, writable=True, path_type=Path)
DICTIONARY_COLUMNS = ("column", "type", "min", "max", "values")
_MAX_BYTES = 2**26


@click.group()
def schema() -> None:
    """Declare what is public about a table."""


@schema.command(cls=AnsweringCommand)
@click.argument("table", type=FILE, required=False)
@click.option(
    "--dictionary",
    type=FILE,
    help="Public data dictionary: CSV with the columns column, type, min, max and values (separated by |).",
)
@click.option("--target", metavar="NAME", help="Column to predict.")
@click.option("--public", is_flag=True, help="TABLE is public: read bounds and categories off its values.")
@click.option("--out", type=NEW_FILE, help="Write here instead of to the screen.")
@click.option("--overwrite", is_flag=True, help="Replace an existing file.")
@table_options
def init(
    table: Path | None,
    dictionary: Path | None,
    target: str | None,
    public: bool,
    out: Path | None,
    overwrite: bool,
    reading: Reading,
) -> None:
    """Draft a schema from a dictionary, or from the header of TABLE.

    Of TABLE only the names and types of the columns are read, never a value; --public reads the values, for
    tables that may be published as they are. What a header cannot tell is left open, to be filled in.
    """
    check_new(out, overwrite)
    document: dict[str, Any]
    if public:
        if table is None or dictionary is not None:
            raise click.UsageError("--public needs a TABLE, and no dictionary.")
        from dpforest.schema import Schema

        frame = read_public_rows(table, reading)
        document = Schema.from_public_frame(frame, target=target).to_dict(target or "target")
    elif dictionary is not None:
        document = _from_dictionary(dictionary)
        if table is not None:
            document = _for_columns(document, table, reading)
    elif table is not None:
        document = {name: _draft(kind) for name, kind in column_types(table, reading).items()}
    else:
        raise click.UsageError("give a TABLE or a --dictionary.")
    _mark_target(document, target)
    unfinished = _problems(document, target or _labelled(document))
    text = json.dumps(document, indent=1, ensure_ascii=False)
    if out is not None:
        from dpforest.modelfile.files import write_file

        write_file(out, f"{text}\n".encode())
        shown = f"Wrote {out}: {len(document)} columns."
    else:
        shown = text
    if unfinished:
        note(f"To be filled in: {' '.join(unfinished)}")
    answer({"schema": document, "unfinished": unfinished, "out": out and str(out)}, shown)


@schema.command(cls=AnsweringCommand)
@click.argument("file", type=FILE)
@click.option(
    "--target", metavar="NAME", help="Column to predict; default: the one of type class, or 'target'."
)
@click.option("--data", type=PLACE, help="Table whose column names are compared.")
@click.option(
    "--values",
    is_flag=True,
    help="For the owner alone: also count the values of --data that are missing, undeclared or clipped.",
)
@table_options
def check(file: Path, target: str | None, data: Path | None, values: bool, reading: Reading) -> None:
    """Check a schema FILE, and that a table has its columns. Exit code 4 if not.

    Without --values no value of the table is read. With it, exact counts are shown, and the exit code is 4 if
    most values of a column do not fit: that is private, costs nothing because it is kept nowhere, and must
    not leave the owner of the rows.
    """
    declared, name = load_schema(file, target)
    if values and data is None:
        raise click.UsageError("--values needs --data.")
    ignored = [] if data is None else compare_columns(data, declared, name, reading)
    found = None if data is None or not values else _check_values(declared, name, data, reading)
    rows = [
        [feature_name, type(feature).__name__, repr(feature), str(feature.n_cells)]
        for feature_name, feature in declared.features.items()
    ]
    rows += [[c.name, "Combination", repr(c), str(c.n_cells)] for c in declared.combinations]
    if declared.target is not None:
        rows.append([f"{name} (target)", type(declared.target).__name__, repr(declared.target), ""])
    matching = [] if data is None else [f"{data} has every column."]
    answer(
        {
            "valid": True,
            "columns": declared.to_dict(name),
            "target": name if declared.target is not None else None,
            "n_features": declared.n_features,
            "ignored_columns": ignored,
            "values_private": None if found is None else found.to_records(),
        },
        table(["column", "kind", "declared", "cells"], rows, frozenset({"cells"})),
        heading(f"{file} is a valid schema of {declared.n_features} features."),
        *matching,
        *([] if found is None else _values_table(found)),
    )
    if found is not None and not found.fits:
        sys.exit(SCHEMA_MISMATCH)


def _check_values(declared: Schema, target: str, data: Path, reading: Reading) -> ValueCheck:
    from dpforest.schema.value_check import check_values

    rows = reading.open(data, declared, target)
    y = None if declared.target is None else rows.column(target)
    with working(f"Reading {data}"):
        return check_values(declared, rows.select(declared.names), y, target)


def _values_table(found: ValueCheck) -> Iterator[Any]:
    yield heading("PRIVATE, for the owner of the rows alone; kept nowhere, and not to be published:")
    numbers = ("rows", "missing", "undeclared", "clipped")
    rows = [
        [one.column, *(str(getattr(one, name)) for name in numbers), "; ".join(one.hints)]
        for one in found.columns
    ]
    yield table(["column", *numbers, "probably"], rows, frozenset(numbers))


def check_new(path: Path | None, overwrite: bool) -> None:
    """Refuse to replace a file unasked, or to write where nothing can be written, before any work is done."""
    if path is None:
        return
    if os.path.lexists(path) and not overwrite:  # also a link that leads nowhere
        raise click.UsageError(f"{path} exists; give --overwrite to replace it.")
    if not path.resolve().parent.is_dir():
        raise click.UsageError(f"there is no folder {path.resolve().parent}.")


def load_schema(path: Path, target: str | None) -> tuple[Schema, str]:
    """Read a schema file.

    Parameters
    ----------
    path : Path
        The file.
    target : str or None
        Name of the target's entry; None takes the only one of type class, or ``"target"``.

    Returns
    -------
    schema, target
        The schema and the name of its target.
    """
    from dpforest.schema import Schema, SchemaError
    from dpforest.schema.documents import read_json

    if path.stat().st_size > _MAX_BYTES:
        raise SchemaError(f"{path} is too large for a schema (at most {_MAX_BYTES} bytes).")
    document = read_json(path)
    if not isinstance(document, dict):
        raise SchemaError(f"{path} must hold one entry per column.")
    if target is not None and target not in document:
        raise SchemaError(f"{path} has no column {target!r} for the target.")
    target = target or _labelled(document) or "target"
    problems = _problems(document, target)
    if problems:
        raise SchemaError(f"{path}: {' '.join(problems)}")
    return Schema.from_dict(document, target), target


def compare_columns(data: Path, declared: Schema, target: str | None, reading: Reading) -> list[str]:
    """Refuse a table that lacks a declared column; return the columns that nobody asked for."""
    from dpforest.schema import SchemaError
    from dpforest.schema.files import lacks
    from dpforest.schema.streams import places_of

    file = reading.open(data)
    wanted = [*declared.names, *([] if target is None or declared.target is None else [target])]
    lacking = [name for name in wanted if name not in file.names]
    if lacking:
        raise SchemaError(lacks(data, lacking, wanted))
    places_of(wanted, file.names, data)
    # With all that is declared in it, the first line is a header: what else it names is no record.
    return [name for name in file.names if name not in wanted]


def _labelled(document: dict[str, Any]) -> str | None:
    """Return the only column of type class."""
    found = [
        name for name, entry in document.items() if isinstance(entry, dict) and entry.get("type") == "class"
    ]
    return found[0] if len(found) == 1 else None


def _problems(document: dict[str, Any], target: str | None) -> list[str]:
    """Say what is wrong with each entry on its own, all at once."""
    from dpforest.schema import SchemaError
    from dpforest.schema.documents import parse_document

    found = []
    for name, entry in document.items():
        try:
            parse_document({name: entry}, target if name == target else None)
        except SchemaError as error:
            found.append(str(error))
    return found


def _draft(kind: str | None) -> dict[str, Any]:
    if kind == "categorical":
        return {"type": "categorical", "categories": []}
    return {"type": kind or "numeric", "min": None, "max": None}


def _mark_target(document: dict[str, Any], target: str | None) -> None:
    from dpforest.schema import SchemaError

    if target is None:
        return
    if target not in document:
        raise SchemaError(f"there is no column {target!r} for the target.")
    entry = document[target]
    if entry.get("type") == "categorical":
        document[target] = {"type": "class", "categories": entry["categories"]}
    elif entry.get("type") == "integer":
        document[target] = {**entry, "type": "numeric"}
        document[target].pop("bins", None)


def _from_dictionary(path: Path) -> dict[str, Any]:
    from dpforest.schema import SchemaError

    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = list(csv.DictReader(file))
    except (csv.Error, UnicodeDecodeError) as error:
        raise SchemaError(f"{path} cannot be read as a dictionary in UTF-8 ({error}).") from None
    if not rows or not {"column", "type"} <= set(rows[0]):
        raise SchemaError(f"{path} must have the columns {', '.join(DICTIONARY_COLUMNS)}.")
    return {row["column"]: _entry(row) for row in rows}


def _entry(row: dict[str, Any]) -> dict[str, Any]:
    kind = (row["type"] or "").strip()
    values = [text.strip() for text in (row.get("values") or "").split("|") if text.strip()]
    if kind in ("numeric", "integer"):
        return {"type": kind, "min": _number(row.get("min")), "max": _number(row.get("max"))}
    if kind == "date":
        return {"type": kind, "min": (row.get("min") or "").strip(), "max": (row.get("max") or "").strip()}
    if kind == "boolean":
        return {"type": kind}
    return {"type": kind, "levels" if kind == "ordinal" else "categories": values}


def _number(text: str | None) -> float | int | None:
    try:
        number: float | int | None = json.loads(text) if text else None
    except ValueError:
        return None
    return number


def _for_columns(document: dict[str, Any], table: Path, reading: Reading) -> dict[str, Any]:
    """Keep the entries of the columns that a table has, in their order."""
    from dpforest.schema import SchemaError
    from dpforest.schema.streams import places_of

    names = reading.open(table).names
    lacking = [str(place) for place, name in enumerate(names, 1) if name not in document]
    if lacking:
        # By place: without a header these would be fields of a record.
        hint = " It seems to have one column only: give its --delimiter." if len(names) == 1 else ""
        raise SchemaError(
            f"the dictionary has no entry for column {', '.join(lacking[:10])} of {table}. Add entries, or "
            f"check that the first line names the columns.{hint}"
        )
    places_of(names, names, table)
    return {name: document[name] for name in names}
