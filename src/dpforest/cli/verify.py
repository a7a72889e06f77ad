"""``dpforest verify``: what holds of a model file that somebody published."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpforest.cli.answers import FAILED, AnsweringCommand, answer, table
from dpforest.cli.models import WORD_OF_THE_WRITER
from dpforest.cli.schema import FILE

if TYPE_CHECKING:
    from dpforest.forests.base import PrivateForest


@click.command(cls=AnsweringCommand)
@click.argument("model", type=FILE)
@click.option("--key", type=FILE, help="Public key of the owner, got from somewhere you trust.")
@click.option("--budget", metavar="ADDRESS", help="Budget in which the charge must be found.")
def verify(model: Path, key: Path | None, budget: str | None) -> None:
    """Check a MODEL file: is it intact, who signed it, was it charged, what does it promise.

    The exit code is 0 if everything that was asked for holds, and 1 if anything does not.
    """
    import dpforest

    loaded = dpforest.load(model)  # or not a model at all
    claims = [
        ("intact", True, "yes: the checksum matches, and everything in the file is in range"),
        ("signed", *_signed(model, key)),
        ("promise", *_promise(loaded)),
        ("charged", *_charged(loaded, budget)),
    ]
    holds = all(one is not False for _, one, _ in claims)
    answer(
        {
            "holds": holds,
            **{name: {"holds": one, "why": why} for name, one, why in claims},
            "guarantee": loaded.guarantee_.to_dict(),
            "receipt": None if loaded.receipt_ is None else loaded.receipt_.to_dict(),
        },
        table(
            ["", "holds", ""],
            [[name, {True: "yes", False: "NO", None: "-"}[one], why] for name, one, why in claims],
        ),
        "" if holds else "\nThis model is not what it should be: do not rely on it.",
    )
    if not holds:
        sys.exit(FAILED)


def _signed(path: Path, key: Path | None) -> tuple[bool | None, str]:
    from dpforest.modelfile import ModelFileError
    from dpforest.modelfile.document import read_document
    from dpforest.modelfile.signing import fingerprint, read_public_key

    document = read_document(path)
    if key is None:
        claimed = "" if document.signature is None else f" (it claims the key {document.signature['key']})"
        return None, f"no key was given: {WORD_OF_THE_WRITER}{claimed}"
    public_key = read_public_key(key)
    try:
        document.require(public_key)
    except ModelFileError as error:
        return False, str(error)
    return True, f"by the holder of {key}, fingerprint {fingerprint(public_key)}, over the whole file"


def _promise(model: PrivateForest) -> tuple[bool, str]:
    return model.guarantee_.is_proven, str(model.guarantee_)


def _charged(model: PrivateForest, budget: str | None) -> tuple[bool | None, str]:
    """Look the receipt up, and whether the charge pays for what the model says it spent."""
    from dpforest.privacy import BudgetAccountant, list_budgets

    receipt = model.receipt_
    if receipt is None:
        told = "the file has no receipt: the fit was charged to nobody"
        return (None if budget is None else False), told
    where = f"charge {receipt.count} of {receipt.dataset!r}"
    if budget is None:
        return None, f"{where}, says the file; no --budget was given to look it up"
    known: dict[str, Any] = {dataset.name: dataset for dataset in list_budgets(budget)}
    if receipt.dataset not in known or known[receipt.dataset].hash != receipt.budget:
        return False, f"{budget} does not keep the budget that the receipt names ({receipt.dataset!r})"
    found = BudgetAccountant.open(budget, dataset=receipt.dataset).find_charge(receipt)
    if found is None:
        return False, f"{where} is not in {budget}: the record was rolled back, or the receipt is forged"
    if not found.pays_for(model.ledger_.plan):
        return False, f"{where} was made for another plan than the one in the file"
    by = f" by {found.analyst or found.who}" + (f" for {found.purpose}" if found.purpose else "")
    return True, f"{where} in {budget}, {found.when[:19]} UTC{by}; state {found.state}"
