"""``dpforest fit``: from a private table to a model that can be published.

Everything that can fail without a look at the rows is checked first, because a charge is never given back.
After the charge the exit code says what became of it: a program that asks again must know whether it would
pay again.
"""

from __future__ import annotations

import inspect
import sys
import tempfile
import warnings
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpforest.cli.answers import (
    WRITTEN_BUDGET_AWAY,
    WRITTEN_ELSEWHERE,
    AnsweringCommand,
    ChargedError,
    answer,
    answers_in_json,
    note,
    working,
)
from dpforest.cli.budget import open_budget
from dpforest.cli.models import make_estimator, model_options
from dpforest.cli.schema import FILE, NEW_FILE, PLACE, check_new, compare_columns, load_schema
from dpforest.cli.tables import Reading, table_options

if TYPE_CHECKING:
    from dpforest.forests.base import PrivateForest
    from dpforest.privacy import BudgetAccountant
    from dpforest.schema import Schema


@click.command(cls=AnsweringCommand)
@click.argument("data", type=PLACE)
@model_options
@click.option("--budget", metavar="ADDRESS", help="File or postgresql:// address of the budget to charge.")
@click.option("--dataset", metavar="NAME", help="Whose budget; needed if the file keeps several.")
@click.option("--analyst", metavar="NAME", default="", help="Who asks; kept with the charge.")
@click.option("--purpose", metavar="TEXT", default="", help="What for; kept with the charge.")
@click.option(
    "--charge-name", metavar="NAME", help="Name of the charge: asking again under it never pays again."
)
@click.option("--sign", "key", type=FILE, metavar="KEY", help="Private key that signs the model.")
@click.option("--out", type=NEW_FILE, required=True, help="Model file to write.")
@click.option("--overwrite", is_flag=True, help="Replace an existing file.")
@click.option("--jobs", type=int, help="Threads; -1 takes all cores.")
@click.option(
    "--memory-limit",
    type=click.IntRange(min=0),
    metavar="MB",
    help="Encoded rows to keep in memory; default 128. The rest goes to a nameless private file in TMPDIR.",
)
@click.option("--no-cache", is_flag=True, help="Keep no copy: read the rows again on every pass.")
@click.option(
    "--public",
    type=PLACE,
    metavar="TABLE",
    help="Features of public rows: what they tell costs nothing, and nothing is promised to them.",
)
@click.option("--quiet", is_flag=True, help="Do not list the queries while they are asked.")
@table_options
def fit(
    data: Path,
    schema_file: Path,
    target: str | None,
    budget: str | None,
    dataset: str | None,
    analyst: str,
    purpose: str,
    charge_name: str | None,
    key: Path | None,
    out: Path,
    overwrite: bool,
    jobs: int | None,
    memory_limit: int | None,
    no_cache: bool,
    public: Path | None,
    quiet: bool,
    reading: Reading,
    **options: Any,
) -> None:
    """Train a private forest on the table DATA and write it to a file.

    DATA is a file, a folder, or a pattern in quotes such as "visits/*.parquet"; it may be larger than memory.

    The whole budget of the fit is charged before anything is asked of the rows, and is not given back if
    anything fails later.

    Exit codes with nothing charged: 1 failed, 2 usage, 3 budget refused, 4 schema mismatch. With the charge
    made: 0 the model is written; 5 there is no model; 6 it is written, but the budget cannot be reached now;
    7 it is written, but elsewhere. With --charge-name, the same command again answers 0 if its model is at
    --out and 5 if not, and charges nothing.
    """
    from dpforest.forests.charging import check_lock
    from dpforest.schema import Source
    from dpforest.schema.streams import MEMORY_LIMIT

    schema, target = load_schema(schema_file, target)
    model = make_estimator(schema, **options)
    accountant = None if budget is None else open_budget(budget, dataset)
    if charge_name is not None and _is_done(accountant, charge_name, model, out):
        return
    check_new(out, overwrite)
    _check_key(key)
    ignored = compare_columns(data, schema, target, reading)
    known = {} if public is None else {"X_public": _read_public(model, public, schema, reading)}
    if ignored:
        note(f"Columns that the schema does not declare are left out: {', '.join(ignored)}.")
    if accountant is None:
        note("No --budget: this fit is charged to nobody, so keep count yourself.")
    else:
        check_lock(accountant, schema, target)
        accountant.check(model.privacy_plan())
    limit = MEMORY_LIMIT if memory_limit is None else memory_limit * 2**20
    rows = Source(reading.open(data, schema, target), limit, cache=not no_cache)
    model.set_params(accountant=accountant, n_jobs=jobs, verbose=0 if quiet or answers_in_json() else 1)
    charging: Any = nullcontext()
    if accountant is not None:
        charging = accountant.charging(analyst=analyst, purpose=purpose, name=charge_name)
    away = _train(model, rows.select(schema.names), rows.column(target), charging, known)
    _tell(model, _save(model, out, key), out, accountant, away)


def _read_public(model: PrivateForest, public: Path, schema: Schema, reading: Reading) -> Any:
    """Open the public rows, for estimators that take some."""
    from dpforest.schema import Source

    if "X_public" not in inspect.signature(model.fit).parameters:
        raise click.UsageError(f"{type(model).__name__} takes no --public rows.")
    compare_columns(public, schema, None, reading)
    return Source(reading.open(public, schema, None)).select(schema.names)


def _train(model: PrivateForest, X: Any, y: Any, charging: Any, known: dict[str, Any]) -> list[str]:
    """Fit; say so if the charge was made and there is no model. Returns what the store complained about."""
    from dpforest._jit import when_compiling
    from dpforest.privacy import BudgetStoreWarning, BudgetUncertainError, ChargeRepeatedError

    with charging as notes, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            doing = f"Training {type(model).__name__}"
            compiling = f"{doing}; it is compiled for this machine now, some seconds, the first time only"
            with working(doing) as show, when_compiling(lambda: show(compiling)):
                model.fit(X, y, **known)
        except BudgetUncertainError as error:
            raise ChargedError(
                f"the fit may have been charged, and there is no model: {error}", None
            ) from error
        except ChargeRepeatedError as error:  # by another process, since we looked
            raise ChargedError(str(error), None) from error
        except (Exception, KeyboardInterrupt) as error:
            # Nobody knows what an interrupt interrupted: perhaps the charge, just after it was written.
            if notes is None or not (notes.receipts or isinstance(error, KeyboardInterrupt)):
                raise
            charge = notes.receipts[0].to_dict() if notes.receipts else None
            was = "was" if notes.receipts else "may have been"
            what = str(error) or "interrupted"
            raise ChargedError(f"the fit {was} charged, and there is no model: {what}", charge) from error
    away = [str(one.message) for one in caught if issubclass(one.category, BudgetStoreWarning)]
    for one in caught:
        if not issubclass(one.category, BudgetStoreWarning):
            note(str(one.message))
    return away


def _save(model: PrivateForest, path: Path, key: Path | None) -> Path:
    """Write the model, somewhere else if need be: its charge cannot be taken back."""
    try:
        model.save(path, key)
    except OSError as error:
        path = Path(tempfile.mkdtemp(prefix="dpforest-")) / path.name
        note(f"The model goes to {path} instead: {error}")
        try:
            model.save(path, key)
        except OSError as again:
            if model.receipt_ is None:
                raise
            raise ChargedError(
                f"the fit was charged, and its model cannot be written: {again}", model.receipt_.to_dict()
            ) from again
    return path


def _tell(
    model: PrivateForest, written: Path, wanted: Path, accountant: BudgetAccountant | None, away: list[str]
) -> None:
    """Say what was made and what is left, and end with the exit code that fits."""
    from dpforest.privacy import BudgetStoreError
    from dpforest.privacy.exact import short_rest

    remaining, left = None, ""
    try:
        remaining = None if accountant is None else accountant.remaining()
    except BudgetStoreError as problem:  # the model is paid for and written all the same
        away.append(str(problem))
    if remaining is not None:
        left = (
            f" Left in the budget: epsilon = {short_rest(remaining[0])}, delta = {short_rest(remaining[1])}."
        )
    if away:
        note(f"The model is charged and written: do not fit again. The budget is away now: {away[-1]}")
    answer(
        {
            "status": "written" if written == wanted else "written elsewhere",
            "model": str(written),
            "charge": None if model.receipt_ is None else model.receipt_.to_dict(),
            "budget_reachable": None if accountant is None else not away,
            "estimator": type(model).__name__,
            "guarantee": model.guarantee_.to_dict(),
            "ledger": model.ledger_.to_dict(),
            "trees": model.trees_.n_trees,
            "depth": model.trees_.depth,
            "remaining": None if remaining is None else {"epsilon": remaining[0], "delta": remaining[1]},
        },
        f"Wrote {written}: {type(model).__name__}, {model.trees_.n_trees} tree(s) of depth "
        f"{model.trees_.depth}, made of {len(model.ledger_)} queries to the rows.",
        f"Guarantee: {model.guarantee_}.{left}",
    )
    if written != wanted:
        sys.exit(WRITTEN_ELSEWHERE)
    if away:
        sys.exit(WRITTEN_BUDGET_AWAY)


def _is_done(accountant: BudgetAccountant | None, name: str, model: PrivateForest, out: Path) -> bool:
    """Whether the fit of this name was made before, which never means to make it again for nothing."""
    from dpforest.modelfile import ModelFileError, read_record
    from dpforest.privacy import PrivacyError

    if accountant is None:
        raise click.UsageError("--charge-name needs a --budget.")
    earlier = accountant.find(name)
    if earlier is None:
        return False
    charge = {
        "dataset": accountant.dataset.name,
        "budget": accountant.dataset.hash,
        "number": earlier.number,
        "hash": earlier.hash,
    }
    if not earlier.pays_for(model.privacy_plan()):
        raise PrivacyError(f"the charge {name!r} was made for another plan: give this fit a name of its own.")
    receipt = None
    with suppress(ModelFileError):
        receipt = read_record(out).receipt if out.exists() else None
    if receipt is None or receipt.to_dict() != charge:
        raise ChargedError(
            f"the charge {name!r} was made before (number {earlier.number}, {earlier.state}, "
            f"{earlier.when[:19]} UTC), and its model is not in {out}. Nothing was charged now. Looking at "
            "the rows again would be a second release: give it another name, and it pays again.",
            charge,
        )
    told = f"{out} holds the model of the charge {name!r} already; nothing was charged now."
    answer({"status": "written before", "model": str(out), "charge": charge}, told)
    return True


def _check_key(key: Path | None) -> None:
    from dpforest.modelfile.signing import read_private_key

    if key is not None:
        read_private_key(key)
