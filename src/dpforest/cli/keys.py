"""``dpforest keys``: keys with which an owner signs models."""

from __future__ import annotations

from pathlib import Path

import click

from dpforest.cli.answers import AnsweringCommand, answer
from dpforest.cli.schema import NEW_FILE


@click.group()
def keys() -> None:
    """Make keys that sign models."""


@keys.command(cls=AnsweringCommand)
@click.argument("key", type=NEW_FILE)
def create(key: Path) -> None:
    """Make a private key in the file KEY, and its public key beside it with the suffix .pub.

    Keep KEY as you keep an SSH key: who has it can sign in your name. Publish the other, and its fingerprint,
    where readers of your models will look for it.
    """
    from dpforest.modelfile.signing import create_key, public_path

    made = create_key(key)
    public = public_path(key)
    answer(
        {"private_key": str(key), "public_key": str(public), "fingerprint": made},
        f"Wrote {key} (private, for your eyes only) and {public} (to be published).",
        f"Fingerprint: {made}",
    )
