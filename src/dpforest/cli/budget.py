"""``dpforest budget``: a data owner's ceiling over everything that is ever released about a dataset."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpforest.cli.answers import AnsweringCommand, answer, heading, note, table, working
from dpforest.cli.schema import FILE, load_schema

if TYPE_CHECKING:
    from dpforest.privacy import BudgetAccountant

_ADDRESS = click.argument("address", metavar="BUDGET")
_DATASET = click.option("--dataset", metavar="NAME", help="Only this dataset.")


@click.group()
def budget() -> None:
    """Keep what is released about a dataset within a ceiling.

    BUDGET is a file, or postgresql://user@host/name. One budget file can keep several datasets. What was
    charged is never given back, and a ceiling cannot be raised.
    """


@budget.command(cls=AnsweringCommand)
@_ADDRESS
@click.option("--dataset", metavar="NAME", required=True, help="A name for the dataset.")
@click.option("--epsilon", type=float, required=True, help="Ceiling, per person.")
@click.option("--delta", type=float, default=0.0, show_default=True, help="Ceiling; 0 allows pure fits only.")
@click.option(
    "--loose-delta",
    type=float,
    default=0.0,
    show_default=True,
    help="Part of delta set aside for queries that name categories; for good.",
)
@click.option(
    "--schema", "schema_file", type=FILE, help="Allow fits with this schema only, here and in Python."
)
@click.option("--target", metavar="NAME", help="Column that the schema's fits predict.")
@click.option(
    "--neighboring",
    type=click.Choice(["add_or_remove_one", "replace_one", "label_change"]),
    default="add_or_remove_one",
    show_default=True,
    help="What one person may change.",
)
@click.option(
    "--rows-per-person", type=int, default=1, show_default=True, help="Most rows that one person has."
)
def create(
    address: str,
    dataset: str,
    epsilon: float,
    delta: float,
    loose_delta: float,
    schema_file: Path | None,
    target: str | None,
    neighboring: str,
    rows_per_person: int,
) -> None:
    """Begin the budget of a dataset."""
    from dpforest.privacy import BudgetAccountant, NeighboringRelation
    from dpforest.privacy.exact import short

    document = None
    if schema_file is not None:
        schema, target = load_schema(schema_file, target)
        document = schema.to_dict(target)
    accountant = BudgetAccountant.create(
        address,
        dataset=dataset,
        epsilon=epsilon,
        delta=delta,
        loose_delta=loose_delta,
        schema=document,
        relation=NeighboringRelation(neighboring),
        max_rows_per_person=rows_per_person,
    )
    answer(
        _standing(accountant),
        f"{address} now keeps the budget of {dataset!r}: epsilon = {short(epsilon)}, delta = {short(delta)} "
        f"in all for {NeighboringRelation(neighboring).phrase()}.",
    )


@budget.command(cls=AnsweringCommand)
@_ADDRESS
@_DATASET
def show(address: str, dataset: str | None) -> None:
    """Show what was spent and what is left."""
    standings = [_standing(accountant) for accountant in _accountants(address, dataset)]
    rows = [
        [
            one["dataset"],
            *(_amount(one[what]) for what in ("ceiling", "spent")),
            _amount(one["remaining"], is_rest=True),
            str(one["charges"]),
            one["neighboring"] or "not yet decided",
        ]
        for one in standings
    ]
    answer(
        {"datasets": standings},
        table(
            ["dataset", "epsilon", "spent", "left", "charges", "neighbouring"], rows, frozenset({"charges"})
        ),
    )


@budget.command(cls=AnsweringCommand)
@_ADDRESS
@click.option(
    "--checkpoint",
    "checkpoints",
    multiple=True,
    metavar="DATASET=CHECKPOINT",
    help="What an earlier verify printed; finds also what was cut off at the end.",
)
def verify(address: str, checkpoints: tuple[str, ...]) -> None:
    """Check that no record was edited, removed, added or moved. Exit code 3 if one was."""
    from dpforest.privacy import verify_budgets

    noted = {}
    for text in checkpoints:
        dataset, equals, checkpoint = text.rpartition("=")
        if not equals:
            raise click.UsageError(f"--checkpoint {text}: write DATASET=CHECKPOINT.")
        noted[dataset] = checkpoint
    with working(f"Checking {address}") as say:
        found = verify_budgets(address, noted, lambda name, count: say(f"{name}: {count:,} entries checked"))
    ends = {name: str(end) for name, end in found.items()}
    answer(
        {"intact": True, "checkpoints": ends},
        f"{address} is intact. Note these checkpoints down elsewhere, for a later --checkpoint:",
        *(f"{name}={end}" for name, end in ends.items()),
    )


@budget.command(cls=AnsweringCommand)
@_ADDRESS
@_DATASET
def history(address: str, dataset: str | None) -> None:
    """List every charge: who, when, what for, how much. The whole record is checked on the way."""
    spends = {one.dataset.name: one.history() for one in _accountants(address, dataset)}
    shown: list[Any] = []
    for name, charges in spends.items():
        rows = [
            [
                str(one.number),
                one.when[:19],
                f"{one.analyst} ({one.who})" if one.analyst else one.who,
                one.name or "",
                one.label,
                one.purpose,
                one.state,
                _cost(one),
            ]
            for one in charges
        ]
        header = ["number", "when (UTC)", "who", "name", "what", "purpose", "state", "cost"]
        shown += [heading(name), table(header, rows)]
    answer(
        {"datasets": {name: [one.to_dict() for one in charges] for name, charges in spends.items()}}, *shown
    )


@budget.command(cls=AnsweringCommand)
@_ADDRESS
@click.option("--dataset", metavar="NAME", help="Whose budget; needed if the file keeps several.")
@click.option("--epsilon", type=float, required=True, help="How much; it is gone for good.")
@click.option("--analyst", metavar="NAME", default="", help="Who charges.")
@click.option("--purpose", metavar="TEXT", required=True, help="What for.")
@click.option("--charge-name", metavar="NAME", help="A charge of this name is made once.")
def charge(
    address: str, dataset: str | None, epsilon: float, analyst: str, purpose: str, charge_name: str | None
) -> None:
    """Charge what was released by other means, or was lost with a record that was restored."""
    from dpforest.privacy import Cost

    accountant = open_budget(address, dataset)
    relation, rows = accountant.neighbours()
    with accountant.charging(analyst=analyst, purpose=purpose, name=charge_name):
        receipt = accountant.spend(Cost.pure(epsilon), "by hand", relation=relation, max_rows_per_person=rows)
    answer(
        {"charge": receipt.to_dict(), **_standing(accountant)},
        f"Charged epsilon = {epsilon:g} as number {receipt.count} of {receipt.dataset!r}.",
    )


@budget.command(cls=AnsweringCommand)
@_ADDRESS
@click.argument("role")
def grant(address: str, role: str) -> None:
    """Let a ROLE of a PostgreSQL server read and charge, and nothing else."""
    from dpforest.privacy.budget.database import at_address
    from dpforest.privacy.budget.postgres import PostgresDatabase

    database = at_address(address)
    if not isinstance(database, PostgresDatabase):
        raise click.UsageError("grant is for postgresql:// addresses; a file has the rights of its folder.")
    database.grant(role)
    answer({"role": role}, f"{role} may read the budgets in {address} and charge them.")


@budget.command(cls=AnsweringCommand)
@_ADDRESS
@click.option("--dataset", metavar="NAME", required=True, help="Whose record is broken.")
@click.option("--reason", metavar="TEXT", required=True, help="What happened; kept for good.")
@click.option(
    "--epsilon", type=float, required=True, help="What entries that cannot be read any more cost at most."
)
@click.option("--analyst", metavar="NAME", default="", help="Who answers for it.")
def repair(address: str, dataset: str, reason: str, epsilon: float, analyst: str) -> None:
    """Let a broken record grant again, under protocol. For its owner alone.

    Try to restore an untouched copy first. Nothing is removed: an entry vouches for the broken ones, says why
    and what they cost. Entries that can still be read count by themselves.
    """
    from dpforest.privacy import Cost, repair_budget

    place = repair_budget(address, dataset, reason=reason, charge=Cost.pure(epsilon), analyst=analyst)
    answer(
        {"checkpoint": str(place)},
        f"Entry {place.count} of {dataset!r} vouches for what was broken. Note its checkpoint down:",
        f"{dataset}={place}",
    )


def open_budget(address: str, dataset: str | None) -> BudgetAccountant:
    """Open the budget of a dataset, which need not be named if it is the only one.

    Parameters
    ----------
    address : str
        File or server.
    dataset : str or None
        Name of the dataset.
    """
    from dpforest.privacy import BudgetAccountant, list_budgets

    if dataset is None:
        names = [known.name for known in list_budgets(address)]
        if not names:
            raise click.UsageError(f"{address} keeps no budget yet: dpforest budget create makes one.")
        if len(names) > 1:
            raise click.UsageError(
                f"{address} keeps several budgets; give --dataset, one of {', '.join(names)}."
            )
        dataset = names[0]
    return BudgetAccountant.open(address, dataset=dataset)


def _accountants(address: str, dataset: str | None) -> list[BudgetAccountant]:
    from dpforest.privacy import BudgetAccountant, list_budgets

    names = [dataset] if dataset is not None else [known.name for known in list_budgets(address)]
    if not names:
        note(f"{address} keeps no budget yet.")
    return [BudgetAccountant.open(address, dataset=name) for name in names]


def _standing(accountant: BudgetAccountant) -> dict[str, Any]:
    kept = accountant.dataset
    return {
        "dataset": kept.name,
        "ceiling": {"epsilon": accountant.epsilon, "delta": accountant.delta},
        "spent": dict(zip(("epsilon", "delta"), accountant.total(), strict=True)),
        "remaining": dict(zip(("epsilon", "delta"), accountant.remaining(), strict=True)),
        "charges": len(accountant),
        "neighboring": kept.relation,
        "max_rows_per_person": kept.max_rows_per_person,
        "schema_sha256": kept.schema_hash,
        "made_by": kept.who,
        "made_at": kept.created,
    }


def _amount(pair: dict[str, float], is_rest: bool = False) -> str:
    from dpforest.privacy.exact import short, short_rest

    text = short_rest if is_rest else short
    return text(pair["epsilon"]) + (f" (delta {text(pair['delta'])})" if pair["delta"] else "")


def _cost(spend: Any) -> str:
    from dpforest.privacy.exact import short

    pure = spend.cost.epsilon
    cost = f"epsilon {short(pure)}" if pure is not None else f"rho {short(spend.cost.rho)}"
    return cost + (f", delta {short(spend.cost.delta)}" if spend.cost.delta else "")
