"""What each feature contributed to predictions, exactly for the released model; made of it alone, hence free.

Scores that are sums are taken apart as they are: the part of each feature by its cell, and for every tree the
steps from what the root says to what the leaf says, each given to the feature that the node looked at (path
attribution, Saabas 2014). Votes that are added up and then normalised are no such sums. There all trees go
down together, level by level and tree by tree, from the prediction at the roots to that at the leaves; every
step is the change of the prediction itself, so that the steps add up to it whatever the normalising does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from dpforest._structure.additive import UNIT
from dpforest._structure.pairs import SCALE_UNIT
from dpforest._trees.paths import node_values
from dpforest._trees.prediction import cells_for, find_leaves
from dpforest.privacy.tables import data_frame
from dpforest.schema import Classes

Floats = NDArray[np.float64]
_BLOCK = 8192  # rows that are explained at once


@dataclass(frozen=True, eq=False)
class Explanation:
    """Contributions of features to predictions.

    Parameters
    ----------
    names : list of str
        Features.
    outputs : list of str
        What is explained: one thing for two classes and for numbers, else one for every class.
    values : ndarray of shape (n_rows, n_features, n_outputs)
        What each feature adds.
    base : ndarray of shape (n_outputs,)
        What the model says before it looks at a row.
    """

    names: list[str]
    outputs: list[str]
    values: Floats
    base: Floats

    @property
    def scores(self) -> Floats:
        """What is explained, row by row: the base and all contributions."""
        found: Floats = self.base + self.values.sum(axis=1)
        return found

    def to_frame(self, output: int = -1) -> Any:
        """Return the contributions to one output as a pandas frame, a line per row.

        Parameters
        ----------
        output : int
            Which output; by default the last, which is the only one if there is one.
        """
        rows = self.values[:, :, output].tolist()
        return data_frame([dict(zip(self.names, row, strict=True)) for row in rows], self.names)


def explain(model: Any, X: Any) -> Explanation:
    """Take the predictions of a fitted model apart.

    Parameters
    ----------
    model : fitted estimator
        Any forest of this library.
    X : data frame or array
        Rows.
    """
    cells, names = cells_for(model, X), list(model.schema_.names)
    outputs, turn = outputs_of(model)
    levels = nodes_of(model)
    base = sum_of_roots(model, levels)
    values = np.zeros((len(cells), len(names), len(outputs)))
    for first in range(0, len(cells), _BLOCK):
        block = slice(first, first + _BLOCK)
        raw = np.repeat(base, len(cells[block]), axis=0)
        before = turn(raw)
        for features, change in _steps(model, levels, cells[block]):
            raw = raw + change
            after = turn(raw)
            _give(values[block], features, after - before)
            before = after
    return Explanation(names, outputs, values, turn(base)[0])


def outputs_of(model: Any) -> tuple[list[str], Callable[[Floats], Floats]]:
    """Name what is explained, and return the function from sums of votes to it."""
    target, is_sum = model.schema_.target, model.additive_ is not None
    if not isinstance(target, Classes):
        law = model.schema_.range
        if is_sum:
            return ["target"], lambda raw: law.low + (law.high - law.low) * raw / law.levels
        return ["target"], lambda raw: model._answers(raw)[:, None]
    words = ("log odds of {}" if target.n_classes == 2 else "score of {}") if is_sum else "probability of {}"
    if target.n_classes == 2:
        named = [words.format(target.labels[1])]
        return named, lambda raw: raw[:, 1:] - raw[:, :1] if is_sum else model._answers(raw)[:, 1:]
    named = [words.format(label) for label in target.labels]
    return named, lambda raw: raw - raw.mean(axis=1, keepdims=True) if is_sum else model._answers(raw)


def nodes_of(model: Any) -> list[Floats]:
    """Return what the nodes of every level add to a prediction: released counts, or means of their leaves."""
    return node_values(model.trees_, *votes_of(model), n_cells_of(model))


def votes_of(model: Any) -> tuple[Floats, Floats | None]:
    """Return what leaves add to a prediction, and the rows that weigh them; None if votes are the counts."""
    votes, released = model.leaf_votes_, model.leaf_statistics_
    if model.additive_ is not None:
        n_outputs = model.additive_.table.shape[2]
        weight = model.additive_.tree_weight if isinstance(model.schema_.target, Classes) else 1.0
        return weight * votes[..., :n_outputs], rows_of_leaves(model)
    is_count = votes.shape == released.shape and bool((votes == released).all())
    return votes, None if is_count else rows_of_leaves(model)


def rows_of_leaves(model: Any) -> Floats:
    """Return the released number of rows of every leaf, at least 0; 1 where none was released."""
    released, additive = model.leaf_statistics_, model.additive_
    if released.ndim != 3 or (additive is not None and additive.pairs is not None):
        return np.ones(released.shape[:2])
    row = 1 if isinstance(model.schema_.target, Classes) else model.schema_.range.levels
    found: Floats = np.maximum(released.sum(axis=2, dtype=np.float64) / row, 0.0)
    return found


def sum_of_roots(model: Any, levels: list[Floats]) -> Floats:
    """Return the sum of votes before anything is known of a row."""
    roots: Floats = levels[0].sum(axis=0)
    return roots if model.additive_ is None else roots + usual_scores(model).sum(axis=0)


def usual_scores(model: Any) -> Floats:
    """Return the mean score of every feature of the additive part, over cells as they are likely.

    Boosted models know how likely: the scale of an ordered feature is the normal score of each cell. Of other
    features all declared values count alike.
    """
    additive, schema = model.additive_, model.schema_
    found = np.zeros((schema.n_features, additive.table.shape[2]))
    for at, feature in enumerate(schema.features.values()):
        likely = np.ones(feature.n_known)
        if additive.pairs is not None and not feature.is_nominal:
            middle = ndtr(additive.pairs.scales[at, : feature.n_known] / SCALE_UNIT)
            likely = np.diff(np.concatenate([[0.0], (middle[1:] + middle[:-1]) / 2, [1.0]]))
        found[at] = np.average(additive.table[at, : feature.n_known] / UNIT, axis=0, weights=likely)
    return found


def n_cells_of(model: Any) -> NDArray[np.int64]:
    """Cells of every column that nodes look at."""
    additive = model.additive_
    own: NDArray[np.int64] = model.schema_.n_cells.astype(np.int64)
    if additive is None or additive.pairs is None:
        return own
    return np.append(own, np.full(len(additive.pairs.columns), additive.pairs.n_codes))


def _features_of_columns(model: Any) -> NDArray[np.int64]:
    """Return the two features that every column is made of; a feature is made of itself, twice."""
    schema = model.schema_
    found = [(at, at) for at in range(schema.n_features)]
    found += [(schema.names.index(c.first), schema.names.index(c.second)) for c in schema.combinations]
    if model.additive_ is not None and model.additive_.pairs is not None:
        found += model.additive_.pairs.columns[:, :2].tolist()
    return np.array(found, np.int64)


def _steps(
    model: Any, levels: list[Floats], cells: NDArray[Any]
) -> Iterator[tuple[NDArray[np.int64], Floats]]:
    """Yield what the cell of each feature and then every node on the way adds, and its two features."""
    trees, made_of = model.trees_, _features_of_columns(model)
    if model.additive_ is not None:
        usual = usual_scores(model)
        for at, table in enumerate(model.additive_.table):
            yield np.full((len(cells), 2), at), table[cells[:, at]] / UNIT - usual[at]
    leaves = find_leaves(trees, cells)
    for level in range(trees.depth):
        for tree in range(trees.n_trees):
            node = leaves[tree] >> (trees.depth - level)
            child = leaves[tree] >> (trees.depth - level - 1)
            column = trees.feature[tree, trees.level(level)][node]
            yield made_of[column], levels[level + 1][tree, child] - levels[level][tree, node]


def _give(values: Floats, features: NDArray[np.int64], change: Floats) -> None:
    """Give one half of a change to each of the two features of every row."""
    rows = np.arange(len(values))
    for side in (0, 1):
        values[rows, features[:, side]] += change / 2
