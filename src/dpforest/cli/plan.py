"""``dpforest plan``: what a fit would spend and how loud its noise would be, without any data.

The noise is told by a rehearsal: the same fit on made-up rows, drawn from the schema. It spends nothing,
because nobody's rows are looked at.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpforest.cli.answers import AnsweringCommand, answer, heading, working
from dpforest.cli.models import make_estimator, model_options
from dpforest.cli.promises import ledger_table, plan_table
from dpforest.cli.schema import load_schema

if TYPE_CHECKING:
    from dpforest.privacy import Event
    from dpforest.schema import Schema


@click.command(cls=AnsweringCommand)
@model_options
@click.option(
    "--rows",
    type=click.IntRange(0, 10_000_000),
    default=0,
    help="About how many rows the table has, if that is public; tells the depth that such a fit would have.",
)
def plan(schema_file: Path, target: str | None, rows: int, **options: Any) -> None:
    """Show what a fit would spend and how loud its noise would be. Reads no data."""
    schema, _ = load_schema(schema_file, target)
    model = make_estimator(schema, **options)
    intended = model.privacy_plan()
    with working("Rehearsing the fit on made-up rows"):
        model.fit(*_made_up_rows(schema, rows))
    trees = model.trees_
    shape = {"trees": trees.n_trees, "depth": trees.depth, "leaves_per_tree": trees.n_leaves}
    copies = model.ledger_.events[-1].parameters["trees_per_row"]
    per_leaf = rows * int(str(copies)) / (trees.n_trees * trees.n_leaves)
    about = f"{rows} rows" if rows else "no rows; --rows tells more"
    answer(
        {
            "estimator": type(model).__name__,
            "plan": intended.to_dict(),
            "pools": intended.to_records(),
            "guarantee": intended.guarantee.to_dict(),
            "rehearsal": {"rows": rows, **shape, "queries": [_query(event) for event in model.ledger_]},
        },
        heading(f"What {type(model).__name__} will spend"),
        plan_table(intended),
        f"In all {intended.guarantee}.",
        heading(f"Every look and its noise, from a rehearsal on {about}"),
        ledger_table(model.ledger_),
        f"{shape['trees']} tree(s) of depth {shape['depth']}, {shape['leaves_per_tree']} leaves each"
        + (f", {per_leaf:.3g} rows per leaf on average." if rows else "."),
    )


def _query(event: Event) -> dict[str, Any]:
    return {"purpose": event.purpose, "mechanism": event.mechanism, "parameters": dict(event.parameters)}


def _made_up_rows(schema: Schema, n_rows: int) -> tuple[Any, Any]:
    """Draw rows from the declared domain, every value on its own."""
    import numpy as np

    from dpforest.schema import Classes, Nominal, Numeric

    rng = np.random.default_rng(0)
    numeric = all(isinstance(feature, Numeric) for feature in schema.features.values())
    X = np.empty((n_rows, schema.n_features), np.float64 if numeric else object)
    for column, feature in enumerate(schema.features.values()):
        if isinstance(feature, Numeric):
            X[:, column] = rng.uniform(feature.low, feature.high, n_rows)
        else:
            levels = feature.categories if isinstance(feature, Nominal) else feature.levels
            X[:, column] = [levels[pick] for pick in rng.integers(feature.n_known, size=n_rows)]
    if isinstance(schema.target, Classes):
        y: Any = np.array(schema.target.labels)[rng.integers(schema.target.n_classes, size=n_rows)]
    else:
        y = rng.uniform(schema.range.low, schema.range.high, n_rows)
    return X, y
