"""``dpforest export``: a released model in another form."""

from __future__ import annotations

from pathlib import Path

import click

from dpforest.cli.answers import AnsweringCommand, answer
from dpforest.cli.models import key_option, load_model
from dpforest.cli.schema import FILE, NEW_FILE, check_new


@click.command(cls=AnsweringCommand)
@click.argument("model", type=FILE)
@click.option("--format", "form", type=click.Choice(["python"]), required=True, help="What to write.")
@click.option("--out", type=NEW_FILE, required=True, help="File to write.")
@click.option("--overwrite", is_flag=True, help="Replace an existing file.")
@key_option
def export(model: Path, form: str, out: Path, overwrite: bool, key: Path | None) -> None:
    """Write the model file MODEL in another form, of released values only.

    python: one file that predicts with Python alone, nothing to install. It was run on made-up rows and
    agreed with the model before it was written.
    """
    from dpforest.export import to_python
    from dpforest.modelfile.files import write_file

    check_new(out, overwrite)
    loaded = load_model(model, key)
    text = to_python(loaded).encode()
    write_file(out, text)
    told = f"Wrote {out}: {len(text) / 1000:,.0f} kB of Python. {loaded.guarantee_}"
    answer({"out": str(out), "format": form, "guarantee": loaded.guarantee_.to_dict()}, told)
