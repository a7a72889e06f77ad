"""``dpforest fit``: from a private table to a model that can be published.

Everything that can fail without a look at the rows is checked first, because a charge is never given back.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpforest.cli.answers import AnsweringCommand, answer, note, working
from dpforest.cli.budget import open_budget
from dpforest.cli.models import make_estimator, model_options
from dpforest.cli.schema import FILE, NEW_FILE, check_new, compare_columns, load_schema
from dpforest.cli.tables import table_options

if TYPE_CHECKING:
    from dpforest.forests.base import PrivateForest
    from dpforest.schema import Schema


@click.command(cls=AnsweringCommand)
@click.argument("data", type=FILE)
@model_options
@click.option("--budget", metavar="ADDRESS", help="File or postgresql:// address of the budget to charge.")
@click.option("--dataset", metavar="NAME", help="Whose budget; needed if the file keeps several.")
@click.option("--out", type=NEW_FILE, required=True, help="Model file to write.")
@click.option("--overwrite", is_flag=True, help="Replace an existing file.")
@click.option("--jobs", type=int, help="Threads; -1 takes all cores.")
@click.option("--quiet", is_flag=True, help="Do not list the looks while they are made.")
@table_options
def fit(
    data: Path,
    schema_file: Path,
    target: str | None,
    budget: str | None,
    dataset: str | None,
    out: Path,
    overwrite: bool,
    jobs: int | None,
    quiet: bool,
    delimiter: str | None,
    missing: tuple[str, ...],
    **options: Any,
) -> None:
    """Train a private forest on the table DATA and write it to a file.

    The whole budget of the fit is charged before the first look at a row, and is not given back if anything
    fails later. Exit codes: 2 usage, 3 budget refused, 4 schema mismatch.
    """
    from dpforest.schema.files import open_file

    check_new(out, overwrite)
    schema, target = load_schema(schema_file, target)
    model = make_estimator(schema, **options)
    ignored = compare_columns(data, schema, target, delimiter)
    if ignored:
        note(f"Columns that the schema does not declare are left out: {', '.join(ignored)}.")
    accountant = None
    if budget is None:
        note("No --budget: this fit is charged to nobody, so keep count yourself.")
    else:
        accountant = open_budget(budget, dataset)
        _check_schema(accountant, schema, target)
        accountant.check(model.privacy_plan())
    rows = open_file(data, delimiter, missing)
    model.set_params(accountant=accountant, n_jobs=jobs, verbose=0 if quiet else 1)
    with working(f"Training {type(model).__name__}"):
        model.fit(rows.select(schema.names), rows.column(target))
    out = _save(model, out)
    from dpforest.privacy.exact import short_rest

    remaining = None if accountant is None else accountant.remaining()
    left = (
        ""
        if remaining is None
        else f" Left in the budget: epsilon = {short_rest(remaining[0])}, delta = {short_rest(remaining[1])}."
    )
    answer(
        {
            "model": str(out),
            "estimator": type(model).__name__,
            "guarantee": model.guarantee_.to_dict(),
            "ledger": model.ledger_.to_dict(),
            "trees": model.trees_.n_trees,
            "depth": model.trees_.depth,
            "remaining": None if remaining is None else {"epsilon": remaining[0], "delta": remaining[1]},
        },
        f"Wrote {out}: {type(model).__name__}, {model.trees_.n_trees} tree(s) of depth {model.trees_.depth}, "
        f"made of {len(model.ledger_)} looks at the rows.",
        f"Guarantee: {model.guarantee_}.{left}",
    )


def _save(model: PrivateForest, path: Path) -> Path:
    """Write the model, somewhere else if need be: its charge cannot be taken back."""
    try:
        model.save(path)
    except OSError as error:
        path = Path(tempfile.mkdtemp(prefix="dpforest-")) / path.name
        note(f"The model goes to {path} instead: {error}")
        model.save(path)
    return path


def _check_schema(accountant: Any, schema: Schema, target: str) -> None:
    from dpforest.privacy import schema_hash
    from dpforest.schema import SchemaError

    recorded = accountant.dataset.schema_hash
    if recorded is not None and recorded != schema_hash(schema.to_dict(target)):
        raise SchemaError(f"the budget of {accountant.dataset.name!r} was made for another schema.")
