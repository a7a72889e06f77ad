"""A fitted model as text that people read: the scores of the features, then the rules of every tree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest._structure.additive import UNIT
from dpforest.inspection.rules import draw, scales_in_words
from dpforest.schema import Classes, Feature, Numeric, Ordinal

SHOWN = 9  # places of a grid whose scores are told


def to_rules(model: Any) -> str:
    """Write a fitted model as a list of rules with the noisy values that were released.

    Parameters
    ----------
    model : fitted forest of this library
        Any but one that was run as published.

    Returns
    -------
    str
        The promise; what every feature adds, if the model has a part that is a sum over features; the rules
        of every tree, a line each. Characters that do not print are written as Python escapes them.

    Examples
    --------
    >>> import numpy as np
    >>> from dpforest import DiPriMeForestClassifier
    >>> from dpforest.export import to_rules
    >>> X = np.random.default_rng(0).random((500, 1))
    >>> model = DiPriMeForestClassifier(1, bounds=(0, 1), classes=[0, 1], max_depth=1).fit(X, X[:, 0] > 0.5)
    >>> print(to_rules(model))
    DiPriMeForestClassifier: epsilon = 1...
    <BLANKLINE>
    Tree 1 of 1
    x0 < ...
    |   -> noisy counts 0: ..., 1: ...
    x0 >= ..., missing or undeclared
    |   -> noisy counts 0: ..., 1: ...
    """
    if not hasattr(model, "trees_"):
        raise TypeError("Only a fitted forest of this library can be exported, not one run as published.")
    return "\n".join(map(_printable, _lines(model))) + "\n"


def _lines(model: Any) -> Iterator[str]:
    trees = model.trees_
    yield f"{type(model).__name__}: {model.guarantee_}"
    if model.additive_ is not None:
        yield from _additive(model)
    if scales := scales_in_words(model):
        yield from ("", scales)
    for tree in range(trees.n_trees):
        yield from ("", f"Tree {tree + 1} of {trees.n_trees}")
        yield from draw(model, tree, trees.depth)


def _additive(model: Any) -> Iterator[str]:
    """Tell what the features add, before the trees, to the scores of the classes or to the target."""
    target, table = model.schema_.target, model.additive_.table / UNIT
    if not isinstance(target, Classes):
        law = model.schema_.range
        named = [("What every feature adds to the target", table[..., 0] * (law.high - law.low) / law.levels)]
    elif target.n_classes == 2:
        odds = table[..., 1] - table[..., 0]
        named = [(f"What every feature adds to the log odds of {target.labels[1]}", odds)]
    else:
        named = [
            (f"What every feature adds to the score of {label}", table[..., at])
            for at, label in enumerate(target.labels)
        ]
    for words, scores in named:
        yield from ("", words)
        for (name, feature), mine in zip(model.schema_.features.items(), scores, strict=True):
            yield f"{name}: {', '.join(_told(feature, mine))}"


def _told(feature: Feature, scores: NDArray[np.float64]) -> Iterator[str]:
    known = feature.n_known
    if isinstance(feature, Numeric):
        cells = np.unique(np.linspace(0, known - 2, SHOWN).astype(int))
        named = [(f"at {feature.border_text(int(cell))}", cell + 1) for cell in cells]
    else:
        levels = feature.levels if isinstance(feature, Ordinal) else feature.categories
        named = [(str(level), at) for at, level in enumerate(levels)]
    for words, cell in [*named, ("missing", known), ("undeclared", known + 1)]:
        yield f"{words}: {scores[cell]:+.3g}"


def _printable(line: str) -> str:
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)
