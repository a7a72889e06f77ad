"""``dpforest plan``: what a fit would spend and how loud its noise would be, without any data.

The noise is told by a rehearsal: the same fit on made-up rows, drawn from the schema. It spends nothing,
because nobody's rows are looked at.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpforest.cli.answers import AnsweringCommand, answer, heading, working
from dpforest.cli.models import make_estimator, model_options
from dpforest.cli.promises import ledger_table, plan_table
from dpforest.cli.schema import load_schema

if TYPE_CHECKING:
    from dpforest.forests.base import PrivateForest
    from dpforest.privacy import Event
    from dpforest.schema import Schema
    from dpforest.search import Simulation

BEST = 0.85
FACTORS = (0.1, 0.3, 3.0, 10.0)


@click.command(cls=AnsweringCommand)
@model_options
@click.option(
    "--rows",
    type=click.IntRange(0, 10_000_000),
    default=0,
    help="About how many rows the table has, if that is public; tells the depth that such a fit would have.",
)
@click.option(
    "--simulate",
    "simulating",
    is_flag=True,
    help="Tell how well fits do on made-up rows, at several epsilons.",
)
@click.option(
    "--best",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=BEST,
    show_default=True,
    help="How well the target of made-up rows can be predicted at best.",
)
def plan(
    schema_file: Path, target: str | None, rows: int, simulating: bool, best: float, **options: Any
) -> None:
    """Show what a fit would spend and how loud its noise would be. Reads no data."""
    schema, _ = load_schema(schema_file, target)
    if simulating and not rows:
        raise click.UsageError("--simulate needs --rows: about how many rows the table has.")
    model = make_estimator(schema, **options)
    intended = model.privacy_plan()
    with working("Rehearsing the fit on made-up rows"):
        model.fit(*_made_up_rows(schema, rows))
    trees = model.trees_
    shape = {"trees": trees.n_trees, "depth": trees.depth, "leaves_per_tree": trees.n_leaves}
    copies = model.ledger_.events[-1].parameters["trees_per_row"]
    per_leaf = rows * int(str(copies)) / (trees.n_trees * trees.n_leaves)
    about = f"{rows} rows" if rows else "no rows; --rows tells more"
    found = _simulated(model, options["epsilon"], rows, best) if simulating else None
    told: list[Any] = [] if found is None else [heading("Which epsilon, by simulation"), str(found)]
    answer(
        {
            "estimator": type(model).__name__,
            "plan": intended.to_dict(),
            "pools": intended.to_records(),
            "guarantee": intended.guarantee.to_dict(),
            "simulation": None if found is None else {"words": found.words, "lines": _lines(found)},
            "rehearsal": {"rows": rows, **shape, "queries": [_query(event) for event in model.ledger_]},
        },
        heading(f"What {type(model).__name__} will spend"),
        plan_table(intended),
        f"In all {intended.guarantee}.",
        heading(f"Every query and its noise, from a rehearsal on {about}"),
        ledger_table(model.ledger_),
        f"{shape['trees']} tree(s) of depth {shape['depth']}, {shape['leaves_per_tree']} leaves each"
        + (f", {per_leaf:.3g} rows per leaf on average." if rows else "."),
        *told,
    )


def _lines(found: Simulation) -> list[dict[str, Any]]:
    """Lines of a simulation; no epsilon stands for no noise."""
    return [
        line | {"epsilon": None if math.isinf(line["epsilon"]) else line["epsilon"]}
        for line in found.to_records()
    ]


def _query(event: Event) -> dict[str, Any]:
    return {"purpose": event.purpose, "mechanism": event.mechanism, "parameters": dict(event.parameters)}


def _made_up_rows(schema: Schema, n_rows: int) -> tuple[Any, Any]:
    """Draw rows for a rehearsal; the target follows features, as it would."""
    import numpy as np

    from dpforest.search.made_up import made_up_features, made_up_target

    rng = np.random.default_rng(0)
    X = made_up_features(schema, n_rows, rng)
    return X, made_up_target(X, schema, BEST, rng)[0]


def _simulated(model: PrivateForest, epsilon: float, rows: int, best: float) -> Simulation:
    from dpforest.search import simulate

    tried = sorted({*(float(f"{epsilon * factor:.12g}") for factor in FACTORS), epsilon})
    with working(f"Training on made-up rows, {len(tried) + 1} times 3"):
        return simulate(model, rows, epsilons=tried, best=best, repeats=3)
