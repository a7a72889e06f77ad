"""``dpforest inspect``: what a model file promises, what it cost and what it says. Costs no budget."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from dpforest.cli.answers import AnsweringCommand, answer, heading, table
from dpforest.cli.models import key_option, load_model
from dpforest.cli.promises import ledger_table, plan_table
from dpforest.cli.schema import FILE

if TYPE_CHECKING:
    from dpforest.forests.base import PrivateForest
    from dpforest.schema import Combination, Feature


@click.command(cls=AnsweringCommand)
@click.argument("model", type=FILE)
@key_option
@click.option("--tree", type=click.IntRange(0), help="Draw this tree.")
@click.option(
    "--depth", type=click.IntRange(0), default=3, show_default=True, help="Levels of the tree to draw."
)
def inspect(model: Path, key: Path | None, tree: int | None, depth: int) -> None:
    """Show guarantee, plan, ledger and trees of a MODEL file."""
    loaded = load_model(model, key)
    trees = loaded.trees_
    if tree is not None and tree >= trees.n_trees:
        raise click.UsageError(f"--tree {tree}: the model has trees 0 to {trees.n_trees - 1}.")
    drawn = [] if tree is None else list(draw(loaded, tree, depth))
    columns = [
        {"column": name, "declared": repr(column), "splits": splits}
        for (name, column), splits in zip(_columns(loaded), _splits(loaded), strict=True)
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
        },
        heading(f"{type(loaded).__name__}, {trees.n_trees} tree(s) of {trees.n_leaves} leaves"),
        f"Guarantee: {loaded.guarantee_}",
        "" if loaded.signed_by_ is None else f"Signed by {key}, fingerprint {loaded.signed_by_}",
        heading("Plan"),
        plan_table(loaded.ledger_.plan),
        heading("Ledger: every look at private rows"),
        ledger_table(loaded.ledger_),
        heading(f"Columns; the target is {loaded.schema_.target!r}"),
        table(
            ["column", "declared", "splits"],
            [list(map(str, column.values())) for column in columns],
            frozenset({"splits"}),
        ),
        heading("" if tree is None else f"Tree {tree}"),
        "\n".join(drawn),
    )


def _splits(model: PrivateForest) -> list[int]:
    """Count the nodes that cut each column."""
    from dpforest._structure.flat import EVERYTHING_LEFT

    trees = model.trees_
    cut = trees.feature[trees.threshold != EVERYTHING_LEFT]
    return [int((cut == at).sum()) for at in range(len(_columns(model)))]


def draw(model: PrivateForest, tree: int, levels: int) -> Iterator[str]:
    """Draw the upper levels of a tree, one line per node.

    Parameters
    ----------
    model : fitted estimator
        Whose tree.
    tree : int
        Which tree.
    levels : int
        How many levels.
    """
    from dpforest._structure.flat import EVERYTHING_LEFT

    trees, columns = model.trees_, _columns(model)

    def lines(level: int, node: int, indent: str) -> Iterator[str]:
        if level == trees.depth:
            yield f"{indent}{_leaf(model, tree, node)}"
            return
        at = 2**level - 1 + node
        cut = int(trees.threshold[tree, at])
        if cut == EVERYTHING_LEFT:  # nothing was left to split: all rows go on to the left
            yield from lines(level + 1, 2 * node, indent)
            return
        if level >= levels:
            yield f"{indent}..."
            return
        name, column = columns[trees.feature[tree, at]]
        left, right = _conditions(column, cut, trees.left_sets)
        yield f"{indent}{name} {left}"
        yield from lines(level + 1, 2 * node, indent + "|   ")
        yield f"{indent}{name} {right}"
        yield from lines(level + 1, 2 * node + 1, indent + "|   ")

    yield from lines(0, 0, "")


class Pair(NamedTuple):
    """A column of two features on the scale of their normal scores, and where it may be cut."""

    borders: list[float]

    def __repr__(self) -> str:
        return "normal scores"


def _columns(model: PrivateForest) -> list[tuple[str, Feature | Combination | Pair]]:
    """Return what a node may cut: features, then combinations of two."""
    from dpforest._structure.pairs import SCALE_UNIT

    schema, additive = model.schema_, model.additive_
    found: list[tuple[str, Feature | Combination | Pair]] = [*schema.features.items()]
    found += [(f"[{column.name}]", column) for column in schema.combinations]
    if additive is not None and additive.pairs is not None:
        for first, second, one, other in additive.pairs.columns.tolist():
            weight = f"{'+' if other > 0 else '-'} {abs(other / one):g}"
            borders = [cut / (one * SCALE_UNIT) for cut in additive.pairs.cuts.tolist()]
            found.append((f"[{schema.names[first]} {weight} {schema.names[second]}]", Pair(borders)))
    return found


def _conditions(column: Feature | Combination | Pair, cut: int, left_sets: Any) -> tuple[str, str]:
    """Say which values go left and which go right."""
    from dpforest.schema import Combination, Numeric, Ordinal

    if isinstance(column, Pair):
        border = column.borders[min(cut, len(column.borders) - 1)]
        return f"<= {border:.3g}", f"> {border:.3g}"
    if isinstance(column, Combination):
        first = 0 if column.sign > 0 else -1
        border, last = first + 2 * (cut + 1) / (column.n_cells - 2), column.n_cells - 3
        if cut >= last:
            return "is not missing", "is missing"
        return f"< {border:.3g}", f">= {border:.3g} or missing"
    known: list[str] = []
    if not isinstance(column, Numeric):
        known = list(map(str, column.levels if isinstance(column, Ordinal) else column.categories))
    cells = [*known, "missing", "undeclared"]
    if cut < 0:
        goes_left = left_sets[-cut - 1]
        left = [cell for at, cell in enumerate(cells) if goes_left[at]]
        right = [cell for at, cell in enumerate(cells) if not goes_left[at]]
        return f"in {{{', '.join(left)}}}", f"in {{{', '.join(right)}}}"
    if cut >= column.n_known - 1:
        left_out = "missing or undeclared" if cut == column.n_known - 1 else "undeclared"
        return f"is not {left_out}", f"is {left_out}"
    if not isinstance(column, Numeric):
        return f"up to {known[cut]}", f"above {known[cut]}, missing or undeclared"
    return f"< {column.threshold_value(cut):g}", f">= {column.threshold_value(cut):g}, missing or undeclared"


def _leaf(model: PrivateForest, tree: int, leaf: int) -> str:
    """Say what was released about a leaf."""
    from dpforest.schema import Classes

    released, target = model.leaf_statistics_[tree, leaf], model.schema_.target
    if model.additive_ is not None and model.additive_.pairs is not None:
        adds = model.leaf_votes_[tree, leaf]
        if not isinstance(target, Classes):
            law = model.schema_.range
            return f"-> adds {adds[0] * (law.high - law.low) / law.levels:.3g}"
        return "-> adds " + ", ".join(f"{k}: {add:.3g}" for k, add in zip(target.labels, adds, strict=True))
    if not isinstance(target, Classes):
        return f"-> noisy sums {int(released[0])} and {int(released[1])} of {target!r}"
    if released.ndim == 0:
        return f"-> {target.labels[int(released)]}"
    counts = zip(target.labels, released, strict=True)
    return "-> noisy counts " + ", ".join(f"{label}: {int(count)}" for label, count in counts)
