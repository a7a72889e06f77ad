"""``dpforest export``: a released model in another form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dpforest.cli.answers import AnsweringCommand, answer
from dpforest.cli.models import key_option, load_model
from dpforest.cli.schema import FILE, NEW_FILE, check_new


@click.command(cls=AnsweringCommand)
@click.argument("model", type=FILE)
@click.option(
    "--to", "form", type=click.Choice(["python", "onnx", "rules"]), required=True, help="What to write."
)
@click.option("--out", type=NEW_FILE, required=True, help="File to write.")
@click.option("--overwrite", is_flag=True, help="Replace an existing file.")
@key_option
def export(model: Path, form: str, out: Path, overwrite: bool, key: Path | None) -> None:
    """Write the model file MODEL in another form, of released values only.

    python: one file that predicts with Python alone, nothing to install. onnx: a graph from raw columns to
    probabilities, for ONNX runtimes. Either was run on made-up rows and agreed with the model before it was
    written. rules: text for people, with the noisy values that were released.
    """
    from dpforest.modelfile.files import write_file

    check_new(out, overwrite)
    loaded = load_model(model, key)
    content = _written(loaded, form)
    write_file(out, content)
    told = f"Wrote {out}: {len(content) / 1000:,.0f} kB. {loaded.guarantee_}"
    answer({"out": str(out), "form": form, "guarantee": loaded.guarantee_.to_dict()}, told)


def _written(model: Any, form: str) -> bytes:
    from dpforest.export import to_onnx, to_python, to_rules

    if form != "onnx":
        return (to_python(model) if form == "python" else to_rules(model)).encode()
    content: bytes = to_onnx(model).SerializeToString()
    return content
