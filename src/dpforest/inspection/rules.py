"""The rules of a released forest in words: what a node asks, which way values go, what a leaf says.

Callers: ``dpforest inspect`` and the model card. Everything is made of released values and the public schema.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from dpforest._structure.flat import EVERYTHING_LEFT
from dpforest._structure.pairs import SCALE_UNIT
from dpforest.schema import Classes, Combination, Feature, Numeric, Ordinal


class Rule(NamedTuple):
    """A condition and what follows from it, or a leaf, from which nothing follows.

    `cut_off` marks a rule whose consequences were not asked for.
    """

    words: str
    follows: tuple[Rule, ...] = ()
    cut_off: bool = False


class Pair(NamedTuple):
    """A column of two features on the scale of their normal scores, and where it may be cut."""

    borders: list[float]

    def __repr__(self) -> str:
        return "normal scores"


def rules_of(model: Any, tree: int, levels: int | None = None) -> tuple[Rule, ...]:
    """Return the rules of a tree, nested.

    Parameters
    ----------
    model : fitted estimator
        Whose tree.
    tree : int
        Which tree.
    levels : int, optional
        How many levels; all of them by default.
    """
    trees, columns = model.trees_, columns_of_nodes(model)
    last = trees.depth if levels is None else levels

    def below(level: int, node: int) -> tuple[Rule, ...]:
        if level == trees.depth:
            return (Rule(leaf_words(model, tree, node)),)
        at = 2**level - 1 + node
        cut = int(trees.threshold[tree, at])
        if cut == EVERYTHING_LEFT:  # nothing was left to split: all rows go on to the left
            return below(level + 1, 2 * node)
        if level >= last:
            return (Rule("...", cut_off=True),)
        name, column = columns[trees.feature[tree, at]]
        left, right = conditions(column, cut, trees.left_sets)
        return (
            Rule(f"{name} {left}", below(level + 1, 2 * node)),
            Rule(f"{name} {right}", below(level + 1, 2 * node + 1)),
        )

    return below(0, 0)


def draw(model: Any, tree: int, levels: int) -> Iterator[str]:
    """Draw the upper levels of a tree, one line per node.

    Parameters
    ----------
    model, tree, levels
        As in `rules_of`.
    """

    def lines(rules: tuple[Rule, ...], indent: str) -> Iterator[str]:
        for rule in rules:
            yield f"{indent}{rule.words}"
            yield from lines(rule.follows, indent + "|   ")

    yield from lines(rules_of(model, tree, levels), "")


def splits_of(model: Any) -> list[int]:
    """Count the nodes that cut each column."""
    trees = model.trees_
    cut = trees.feature[trees.threshold != EVERYTHING_LEFT]
    return [int((cut == at).sum()) for at in range(len(columns_of_nodes(model)))]


def columns_of_nodes(model: Any) -> list[tuple[str, Feature | Combination | Pair]]:
    """Return what a node may cut: features, then combinations of two."""
    schema, additive = model.schema_, model.additive_
    found: list[tuple[str, Feature | Combination | Pair]] = [*schema.features.items()]
    found += [(f"[{column.name}]", column) for column in schema.combinations]
    if additive is not None and additive.pairs is not None:
        for first, second, one, other in additive.pairs.columns.tolist():
            weight = f"{'+' if other > 0 else '-'} {abs(other / one):g}"
            borders = [cut / (one * SCALE_UNIT) for cut in additive.pairs.cuts.tolist()]
            found.append((f"[{schema.names[first]} {weight} {schema.names[second]}]", Pair(borders)))
    return found


def conditions(column: Feature | Combination | Pair, cut: int, left_sets: Any) -> tuple[str, str]:
    """Say which values go left and which go right."""
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
    return f"< {column.border_text(cut)}", f">= {column.border_text(cut)}, missing or undeclared"


def leaf_words(model: Any, tree: int, leaf: int) -> str:
    """Say what was released about a leaf."""
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
