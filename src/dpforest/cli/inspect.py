"""``dpforest inspect``: what a model file promises, what it cost and what it says. Costs no budget."""

from __future__ import annotations

from pathlib import Path

import click

from dpforest.cli.answers import AnsweringCommand, answer, heading, table
from dpforest.cli.models import key_option, load_model
from dpforest.cli.promises import ledger_table, plan_table
from dpforest.cli.schema import FILE


@click.command(cls=AnsweringCommand)
@click.argument("model", type=FILE)
@key_option
@click.option("--tree", type=click.IntRange(0), help="Draw this tree.")
@click.option(
    "--depth", type=click.IntRange(0), default=3, show_default=True, help="Levels of the tree to draw."
)
def inspect(model: Path, key: Path | None, tree: int | None, depth: int) -> None:
    """Show guarantee, plan, ledger and trees of a MODEL file."""
    from dpforest.inspection.rules import columns_of_nodes, draw, scales_in_words, splits_of

    loaded = load_model(model, key)
    trees = loaded.trees_
    if tree is not None and tree >= trees.n_trees:
        raise click.UsageError(f"--tree {tree}: the model has trees 0 to {trees.n_trees - 1}.")
    drawn = [] if tree is None else list(draw(loaded, tree, depth))
    scales = "" if tree is None else scales_in_words(loaded, tree)
    columns = [
        {"column": name, "declared": repr(column), "splits": splits}
        for (name, column), splits in zip(columns_of_nodes(loaded), splits_of(loaded), strict=True)
    ]
    answer(
        {
            "estimator": type(loaded).__name__,
            "guarantee": loaded.guarantee_.to_dict(),
            "ledger": loaded.ledger_.to_dict(),
            "receipt": None if loaded.receipt_ is None else loaded.receipt_.to_dict(),
            "signed_by": loaded.signed_by_,
            "schema_declared": loaded.schema is not None,
            "target": repr(loaded.schema_.target),
            "columns": columns,
            "trees": trees.n_trees,
            "depth": trees.depth,
            "leaves_per_tree": trees.n_leaves,
            "tree": drawn or None,
            "scales": scales or None,
        },
        heading(f"{type(loaded).__name__}, {trees.n_trees} tree(s) of {trees.n_leaves} leaves"),
        f"Guarantee: {loaded.guarantee_}",
        "" if loaded.signed_by_ is None else f"Signed by {key}, fingerprint {loaded.signed_by_}",
        heading("Plan"),
        plan_table(loaded.ledger_.plan),
        heading("Ledger: every query of private rows"),
        ledger_table(loaded.ledger_),
        heading(f"Columns; the target is {loaded.schema_.target!r}"),
        table(
            ["column", "declared", "splits"],
            [list(map(str, column.values())) for column in columns],
            frozenset({"splits"}),
        ),
        heading("" if tree is None else f"Tree {tree}"),
        "\n".join(drawn),
        scales,
    )
