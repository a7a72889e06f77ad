"""The rules of a released forest in words: what a node asks, which way values go, what a leaf says.

Callers: ``dpforest inspect`` and the model card. Everything is made of released values and the public schema.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from dpforest._structure.flat import EVERYTHING_LEFT
from dpforest._structure.pairs import SCALE_UNIT
from dpforest.schema import Classes, Combination, Date, Feature, Numeric, Ordinal


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
    first: str
    second: str

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
            times = "" if abs(other) == one else f"{abs(other / one):g} "
            title = f"[{schema.names[first]} {'+' if other > 0 else '-'} {times}{schema.names[second]}]"
            borders = [cut / (one * SCALE_UNIT) for cut in additive.pairs.cuts.tolist()]
            found.append((title, Pair(borders, schema.names[first], schema.names[second])))
    return found


def scales_in_words(model: Any, tree: int | None = None) -> str:
    """Say on which scales columns in brackets add two features, in the units of these; "" if none is cut.

    Parameters
    ----------
    model : fitted estimator
        Whose nodes.
    tree : int, optional
        Of one tree alone.
    """
    trees, columns = model.trees_, columns_of_nodes(model)
    chosen = slice(None) if tree is None else slice(tree, tree + 1)
    cut = np.unique(trees.feature[chosen][trees.threshold[chosen] != EVERYTHING_LEFT])
    made: list[Any] = [columns[at][1] for at in cut if at >= model.schema_.n_features]
    used = dict.fromkeys(name for pair in made for name in (pair.first, pair.second))
    if not used:
        return ""
    if isinstance(made[0], Pair):
        how = "its normal score (0 about in the middle of the people; missing counts as 0)"
    else:
        how = "its place in the declared range, from 0 to 1"
    places = [f"{name} {', '.join(_places(model, name))}" for name in used]
    return f"Columns in [brackets] add or subtract two features, each by {how}. About: {'; '.join(places)}."


def _places(model: Any, name: str) -> Iterator[str]:
    """Tell some places on the scale of a feature that is added to another."""
    feature, pairs = model.schema_.features[name], model.additive_ and model.additive_.pairs
    known = feature.n_known
    if pairs is None:
        scale, wanted = (np.arange(known) + 0.5) / known, [0.0, 0.5, 1.0]
    else:
        scale = pairs.scales[model.schema_.names.index(name), :known] / SCALE_UNIT
        wanted = [-1.0, 0.0, 1.0]
    for place in wanted:
        cell = int(np.abs(scale - place).argmin())
        if pairs is None or abs(scale[cell] - place) < 0.5:  # a scale of few values may not come near
            yield f"{place:g} at {_value_of(feature, cell)}"


def _value_of(feature: Any, cell: int) -> str:
    """Name a value of a cell, of those at the ends the ends."""
    if not isinstance(feature, Numeric):
        return str(feature.levels[cell])
    at_an_end = cell in (0, feature.n_known - 1)
    if isinstance(feature, Date):
        return str(feature.last if cell else feature.first) if at_an_end else feature.border_text(cell)[:10]
    end = feature.high if cell else feature.low
    return f"{end if at_an_end else feature.threshold_value(cell):.4g}"


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
