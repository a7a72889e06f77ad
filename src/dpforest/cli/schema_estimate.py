"""``dpforest schema estimate``: bounds and categories that nobody knows, looked for privately and charged."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpforest.cli.answers import AnsweringCommand, ChargedError, answer, heading, note, table, working
from dpforest.cli.budget import open_budget
from dpforest.cli.schema import FILE, NEW_FILE, check_new, compare_columns
from dpforest.cli.tables import Reading, table_options

if TYPE_CHECKING:
    from dpforest.estimates.schemas import Estimate, EstimatedSchema
    from dpforest.schema import Feature, Target


@click.command(cls=AnsweringCommand)
@click.argument("data", type=FILE)
@click.option("--target", metavar="NAME", required=True, help="Column to predict.")
@click.option("--epsilon", type=float, required=True, help="What may be spent; say a tenth of a model's.")
@click.option("--delta", type=float, default=0.0, help="How likely, at most, a value of one person is named.")
@click.option("--categories", metavar="NAME", multiple=True, help="Column whose categories are looked for.")
@click.option("--classes", is_flag=True, help="Look for the classes of the target, too.")
@click.option(
    "--declared",
    "draft",
    type=FILE,
    help="Schema of what is known, such as `schema init` drafts; bounds left open (null) are estimated.",
)
@click.option("--budget", metavar="ADDRESS", help="File or postgresql:// address of the budget to charge.")
@click.option("--dataset", metavar="NAME", help="Whose budget; needed if the file keeps several.")
@click.option("--analyst", metavar="NAME", default="", help="Who asks; kept with the charge.")
@click.option("--purpose", metavar="TEXT", default="", help="What for; kept with the charge.")
@click.option("--out", type=NEW_FILE, required=True, help="Schema file to write.")
@click.option("--overwrite", is_flag=True, help="Replace an existing file.")
@table_options
def estimate(
    data: Path,
    target: str,
    epsilon: float,
    delta: float,
    categories: tuple[str, ...],
    classes: bool,
    draft: Path | None,
    budget: str | None,
    dataset: str | None,
    analyst: str,
    purpose: str,
    out: Path,
    overwrite: bool,
    reading: Reading,
) -> None:
    """Estimate unknown bounds and categories of the table DATA, privately, and write a schema.

    Costs epsilon, and delta where categories or classes are looked for, charged before the first
    query. Without --declared every column of the header that is not among --categories is taken as a number:
    name columns of words. Parquet and Feather files tell which these are, and are refused otherwise; a CSV
    file cannot, so that a forgotten one is charged, and its bounds mean nothing.

    Exit codes with nothing charged: 1 failed, 2 usage, 3 budget refused, 4 schema mismatch; 5 if the charge
    was made and there is no schema.
    """
    from dpforest.estimates import estimate_schema
    from dpforest.schema import Numeric, Range, Schema

    check_new(out, overwrite)
    names, known, known_target = _declared(draft, target, data, reading)
    known = {name: feature for name, feature in known.items() if name not in categories}
    features: dict[str, Feature] = {name: known.get(name, Numeric(0, 1)) for name in names}
    readable = Schema(features, known_target or Range(0, 1))
    ignored = compare_columns(data, readable, target, reading)
    if ignored:
        note(f"Columns that are not declared are left out: {', '.join(ignored)}.")
    if budget is None:
        note("No --budget: these queries are charged to nobody, so keep count yourself.")
    accountant = None if budget is None else open_budget(budget, dataset)
    rows = reading.open(data, readable, target)
    charging: Any = nullcontext()
    if accountant is not None:
        charging = accountant.charging(analyst=analyst, purpose=purpose)
    with charging as notes:
        try:
            with working("Estimating"):
                found = estimate_schema(
                    rows.select(names),
                    rows.column(target),
                    epsilon=epsilon,
                    delta=delta,
                    declared=known,
                    categories=categories,
                    target="classes" if classes else known_target,
                    accountant=accountant,
                )
            text = found.to_json(target=target)
            _write(out, text)
        except (Exception, KeyboardInterrupt) as error:
            if notes is None or not (notes.receipts or isinstance(error, KeyboardInterrupt)):
                raise
            charge = notes.receipts[0].to_dict() if notes.receipts else None
            raise ChargedError(f"they were charged, and there is no schema: {error}", charge) from error
    _tell(found, out, target)


def _write(out: Path, text: str) -> None:
    from dpforest.modelfile.files import write_file

    write_file(out, f"{text}\n".encode())


def _tell(found: EstimatedSchema, out: Path, target: str) -> None:
    named = dict(found.estimated)
    named |= {} if found.estimated_target is None else {target: found.estimated_target}
    answer(
        {
            "out": str(out),
            "schema": found.to_dict(target),
            "estimated": {name: one._asdict() for name, one in named.items()},
            "guarantee": found.guarantee.to_dict(),
            "ledger": found.ledger.to_dict(),
            "charge": None if found.receipt is None else found.receipt.to_dict(),
        },
        heading(
            f"Wrote {out}: {len(named)} columns estimated, {found.n_features + 1 - len(named)} declared."
        ),
        table(
            ["column", "found", "noisy rows", "noise"],
            [[name, *_found(one)] for name, one in named.items()],
            frozenset({"noisy rows", "noise"}),
        ),
        f"Guarantee: {found.guarantee}. A model trained with the schema costs its own epsilon.",
    )


def _found(one: Estimate) -> tuple[str, str, str]:
    """Say what was found of a column, in how many rows, and how noisy a count is."""
    from dpforest.estimates import EstimatedColumn

    noise = f"{one.noise_sd:.3g}"
    if isinstance(one, EstimatedColumn):
        return f"{one.low:g} to {one.high:g}", str(one.rows), noise
    listed = ", ".join(map(str, one.categories[:5])) + (" ..." if len(one.categories) > 5 else "")
    what = f"{len(one.categories)} categories: {listed}" if one.categories else "nothing"
    return what, str(sum(one.counts)), noise


def _declared(
    draft: Path | None, target: str, data: Path, reading: Reading
) -> tuple[list[str], dict[str, Feature], Target | None]:
    """Return the names of the features, those that are declared, and the target if it is."""
    from dpforest.schema import SchemaError
    from dpforest.schema.documents import parse_document, read_json

    if draft is None:
        return [name for name in reading.open(data).names if name != target], {}, None
    document = read_json(draft)
    if not isinstance(document, dict) or target not in document:
        raise SchemaError(f"{draft} has no entry {target!r} for the target.")
    names = [name for name in document if name != target]
    open_ = {name for name, entry in document.items() if _is_open(entry)}
    known: dict[str, Feature] = {}
    for name in names:
        if name not in open_:
            known |= parse_document({name: document[name]}, None)[0]
    known_target = None if target in open_ else parse_document({target: document[target]}, target)[1]
    return names, known, known_target


def _is_open(entry: Any) -> bool:
    """Whether the bounds of a number are left open."""
    if not isinstance(entry, dict) or entry.get("type") not in ("numeric", "integer"):
        return False
    return entry.get("min") is None and entry.get("max") is None
