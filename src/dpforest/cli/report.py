"""``dpforest report``: the model card, one page for people and one record for OpenDP's registry."""

from __future__ import annotations

import hashlib
from pathlib import Path

import click

from dpforest.cli.answers import AnsweringCommand, answer
from dpforest.cli.models import key_option, load_model
from dpforest.cli.schema import FILE, NEW_FILE, check_new, compare_columns
from dpforest.cli.tables import Reading, plain_values, table_options


@click.command(cls=AnsweringCommand)
@click.argument("model", type=FILE)
@click.option("--out", "-o", type=NEW_FILE, required=True, help="Where the page goes.")
@click.option("--overwrite", is_flag=True, help="Replace an existing file.")
@click.option("--title", default="Model card", show_default=True, help="Heading of the page.")
@key_option
@click.option("--public", type=FILE, help="Rows that are NOT private, to score the model on.")
@click.option("--target", default="target", show_default=True, help="Column of the target in --public.")
@click.option("--by", metavar="COLUMN", help="Nominal column: scores for each of its categories, too.")
@table_options
def report(
    model: Path,
    out: Path,
    overwrite: bool,
    title: str,
    key: Path | None,
    public: Path | None,
    target: str,
    by: str | None,
    reading: Reading,
) -> None:
    """Write the card of a MODEL file as one HTML page."""
    from dpforest.modelfile.files import write_file
    from dpforest.report import card, collect

    check_new(out, overwrite)
    loaded = load_model(model, key)
    scored = None
    if public is not None:
        compare_columns(public, loaded.schema_, target, reading)
        rows = reading.open(public, loaded.schema_, target)
        labels = [value for (piece,) in rows.read([target]) for value in plain_values(piece)]
        scored = rows.select(loaded.schema_.names), labels
    facts = collect(loaded, scored, by, checksum=hashlib.sha256(model.read_bytes()).hexdigest())
    page = card(facts, title).encode()
    write_file(out, page)
    answer(
        {"card": str(out), "bytes": len(page), "guarantee": facts.guarantee.to_dict()},
        f"Wrote {out}: one page, {len(page) / 1000:,.0f} kB, nothing to load. {facts.guarantee}",
    )
