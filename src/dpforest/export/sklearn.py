"""The trees of a fitted model as scikit-learn's, so that `export_text`, `plot_tree`, treelite and shap work.

A tree of scikit-learn asks whether a number is at most a threshold, in single precision. `NodeColumns` makes
such numbers of rows: the middle of its cell for every value, in the units of the feature, so that thresholds
can be read and no value is near one; one column of 0 and 1 for every set of categories; further columns for
combinations of two features.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.ensemble import RandomForestRegressor
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeRegressor

from dpforest._trees import cells_for, sum_leaf_values
from dpforest._trees.explaining import rows_of_leaves
from dpforest.export.python import CLOSE, made_up_rows
from dpforest.inspection.rules import Pair, columns_of_nodes, conditions
from dpforest.schema import Combination, Numeric

CHECKED_ROWS = 200


def to_sklearn(model: Any) -> Pipeline:
    """Write the trees of a fitted model as a random forest of scikit-learn.

    Its trees are regression trees that predict what each leaf adds to a prediction (`leaf_votes_`: noisy
    counts, shares or scores, one output per class), and the forest their mean. A part that is a sum over
    features, as default forests have it, is not in them: a forest of trees has no room for one.

    Parameters
    ----------
    model : fitted forest of this library
        Any but one that was run as published.

    Returns
    -------
    sklearn.pipeline.Pipeline
        ``pipeline["columns"]`` makes what nodes look at, ``pipeline["forest"].estimators_`` are the trees.
        Samples of leaves are released noisy counts where the model has such, but at least 1.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import export_text
    >>> from dpforest import DiPriMeForestClassifier
    >>> from dpforest.export import to_sklearn
    >>> X = np.random.default_rng(0).random((500, 1))
    >>> model = DiPriMeForestClassifier(2, bounds=(0, 1), classes=[0, 1], max_depth=1).fit(X, X[:, 0] > 0.5)
    >>> pipeline = to_sklearn(model)
    >>> names = list(pipeline["columns"].get_feature_names_out())
    >>> print(export_text(pipeline["forest"].estimators_[0], feature_names=names))
    |--- x0 <= ...
    |   |--- value: [...]
    |--- x0 >  ...
    |   |--- value: [...]
    """
    if not hasattr(model, "trees_"):
        raise TypeError("Only a fitted forest of this library can be exported, not one run as published.")
    columns = NodeColumns(model).fit()
    forest = RandomForestRegressor(model.trees_.n_trees)
    forest.estimators_ = [_tree(model, columns, number) for number in range(model.trees_.n_trees)]
    first = forest.estimators_[0]
    forest.n_features_in_, forest.n_outputs_ = first.n_features_in_, first.n_outputs_
    forest.estimator_ = DecisionTreeRegressor()
    found = Pipeline([("columns", columns), ("forest", forest)])
    _check(found, model)
    return found


class NodeColumns(TransformerMixin, BaseEstimator):
    """From rows to the numbers that the nodes of `to_sklearn` look at.

    Parameters
    ----------
    model : fitted forest of this library
        Whose nodes.
    """

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """List the columns; rows are not looked at."""
        trees, named = self.model.trees_, columns_of_nodes(self.model)
        scales = [_scale(column) for _, column in named]
        self.places_, self.borders_ = ([scale[side] for scale in scales] for side in (0, 1))
        by_set = trees.threshold < 0
        asked = {*zip(trees.feature[by_set].tolist(), trees.threshold[by_set].tolist(), strict=True)}
        self.sets_ = sorted(asked)
        names = [
            f"{named[at][0]} {conditions(named[at][1], cut, trees.left_sets)[1]}" for at, cut in self.sets_
        ]
        self.names_ = np.array([*(name for name, _ in named), *names], dtype=object)
        self.n_features_in_ = self.model.schema_.n_features
        return self

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns, as the rules of the model have them."""
        return self.names_

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return what nodes look at.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_features)
            Rows as the model takes them.
        """
        cells, left_sets = cells_for(self.model, X), self.model.trees_.left_sets
        ordered = [places[cells[:, column]] for column, places in enumerate(self.places_)]
        sets = [1.0 - left_sets[-cut - 1, cells[:, column]] for column, cut in self.sets_]
        return np.stack([*ordered, *sets], axis=1)

    def test(self, column: int, cut: int) -> tuple[int, float] | None:
        """Return column and threshold of a node of the model, or None if it sends all rows to the left."""
        if cut < 0:
            return len(self.places_) + self.sets_.index((column, cut)), 0.5
        borders = self.borders_[column]
        return (column, float(borders[cut])) if cut < len(borders) else None


def _scale(column: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return a number for every cell of a column, and the borders between them, in the column's own units.

    Missing and undeclared values lie above all others, as they do in the model.
    """
    if isinstance(column, Numeric):
        high = column.high + 0.5 * column.integer
        borders = np.append(column.borders, [high, 2 * high - column.borders[-1]])
    elif isinstance(column, Combination):
        borders = (0 if column.sign > 0 else -1) + 2 * np.arange(1, column.n_cells) / (column.n_cells - 2)
    elif isinstance(column, Pair):
        borders = np.array(column.borders)
    else:
        borders = np.arange(column.n_cells - 1) + 0.5
    first, last = (borders[1] - borders[0], borders[-1] - borders[-2]) if len(borders) > 1 else (1.0, 1.0)
    edges = np.concatenate([[borders[0] - first], borders, [borders[-1] + last]])
    places = (edges[1:] + edges[:-1]) / 2
    single = places.astype(np.float32)
    if not ((single[:-1] < borders) & (borders < single[1:])).all():  # too fine for single precision
        return np.arange(len(places), dtype=np.float64), np.arange(len(borders)) + 0.5
    return places, borders


def _tree(model: Any, columns: NodeColumns, number: int) -> DecisionTreeRegressor:
    """Write one tree; nodes in the order in which one reads them, the left side first."""
    trees, votes, rows = model.trees_, model.leaf_votes_[number], np.maximum(rows_of_leaves(model)[number], 1)
    n_inner, n_outputs = trees.n_leaves - 1, votes.shape[1]
    nodes: list[tuple[int, int, int, float, float]] = []  # left, right, column, threshold, rows
    values: list[NDArray[np.float64]] = []

    def write(node: int) -> int:
        if node >= n_inner:
            nodes.append((-1, -1, -2, -2.0, float(rows[node - n_inner])))
            values.append(votes[node - n_inner])
            return len(nodes) - 1
        test = columns.test(int(trees.feature[number, node]), int(trees.threshold[number, node]))
        if test is None:
            return write(2 * node + 1)
        at = len(nodes)
        nodes.append((-1, -1, -2, -2.0, 0.0))
        values.append(votes[0])
        left, right = write(2 * node + 1), write(2 * node + 2)
        weights = nodes[left][4], nodes[right][4]
        nodes[at] = left, right, *test, sum(weights)
        values[at] = np.average([values[left], values[right]], axis=0, weights=weights)
        return at

    write(0)
    made = DecisionTreeRegressor(max_depth=trees.depth or None)
    made.fit(np.zeros((2, len(columns.names_))), np.zeros((2, n_outputs)))  # to get an empty tree
    empty = made.tree_
    state = empty.__getstate__()
    written = np.zeros(len(nodes), state["nodes"].dtype)
    for name, values_of in zip(
        ("left_child", "right_child", "feature", "threshold", "weighted_n_node_samples"),
        zip(*nodes, strict=True),
        strict=True,
    ):
        written[name] = values_of
    written["n_node_samples"] = np.rint(written["weighted_n_node_samples"])
    made.tree_ = type(empty)(len(columns.names_), np.ones(n_outputs, np.intp), n_outputs)
    state |= {"max_depth": trees.depth, "node_count": len(nodes), "nodes": written}
    made.tree_.__setstate__(state | {"values": np.array(values)[:, :, None]})
    return made


def _check(found: Pipeline, model: Any) -> None:
    """Compare on made-up rows."""
    rows = made_up_rows(model.schema_, CHECKED_ROWS, np.random.default_rng(0))
    table = np.empty((len(rows), len(rows[0])), object)
    table[:] = rows
    wanted = sum_leaf_values(model.trees_, model.leaf_votes_, cells_for(model, table)) / model.trees_.n_trees
    scale = max(float(np.abs(model.leaf_votes_).max()), 1.0)
    if not np.allclose(found.predict(table).reshape(wanted.shape), wanted, rtol=0, atol=CLOSE * scale):
        raise RuntimeError("The exported trees do not predict as the model's do; they were not written.")
