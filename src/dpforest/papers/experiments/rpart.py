"""A classification tree as R's rpart grows and prunes it by default, for tables that compare with it.

Splits are by Gini's index; nodes of fewer than 20 rows are not split and children have at least 7; a set of
categories is found by ordering them by the share of the first class, which is exact for two classes. Nodes
whose errors are at most 1 % of the root's are not split, and then the tree is pruned to the subtree with the
least errors + 1 % of the root's errors per split (Breiman, Friedman, Olshen and Stone 1984, Section 3.3).
Not rebuilt: surrogate splits. A missing value goes where `raw_matrix` puts it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from dpforest.papers.experiments.methods import MethodNotAvailableError
from dpforest.papers.published import domain_of, raw_matrix, raw_target
from dpforest.schema import Schema

__all__ = ["Rpart", "make_rpart"]

MIN_SPLIT, MIN_LEAF, MAX_DEPTH, COMPLEXITY = 20, 7, 30, 0.01  # rpart.control


@dataclass
class _Node:
    """A node; a leaf has no test. Values in `left`, categories or numbers up to `cut`, go left."""

    majority: int
    errors: float
    feature: int = -1
    cut: float = np.nan
    left: frozenset[float] | None = None
    children: tuple[_Node, _Node] | None = None


class _Table(NamedTuple):
    """The rows, every column as places in the list of its values, and what a split must mend."""

    X: NDArray[np.float64]
    y: NDArray[np.int64]
    codes: tuple[NDArray[np.intp], ...]
    values: tuple[NDArray[np.float64], ...]
    n_classes: int
    price: float


class Rpart:
    """See the module.

    Parameters
    ----------
    schema : Schema
        How to read the table.

    Examples
    --------
    >>> schema = Schema.from_bounds((0, 1), n_features=1, classes=["no", "yes"])
    >>> X = np.linspace(0, 1, 100)[:, None]
    >>> model = Rpart(schema).fit(X, np.where(X[:, 0] > 0.3, "yes", "no"))
    >>> model.predict([[0.1], [0.9]]).tolist()
    ['no', 'yes']
    """

    def __init__(self, schema: Schema) -> None:
        self.schema = schema

    def fit(self, X: Any, y: Any) -> Self:
        """Grow and prune."""
        rows, target = raw_matrix(X, self.schema), raw_target(y, self.schema)
        known = target >= 0
        self._nominal = domain_of(self.schema).nominal
        X, y = rows[known], target[known]
        codes, values = zip(*(_coded(column) for column in X.T), strict=True)
        everything = np.bincount(y, minlength=len(self.schema.classes.labels))
        price = COMPLEXITY * float(everything.sum() - everything.max())
        self.root_ = self._grow(_Table(X, y, codes, values, len(everything), price), np.arange(len(X)), 0)
        _prune(self.root_, price)
        return self

    def _grow(self, table: _Table, rows: NDArray[np.intp], depth: int) -> _Node:
        counts = np.bincount(table.y[rows], minlength=table.n_classes).astype(np.float64)
        node = _Node(int(counts.argmax()), float(counts.sum() - counts.max()))
        if len(rows) < MIN_SPLIT or depth >= MAX_DEPTH or node.errors <= table.price:
            return node
        found = [self._split(table, rows, feature, counts) for feature in range(table.X.shape[1])]
        feature = int(np.argmax([gain for gain, _, _ in found]))
        gain, node.cut, node.left = found[feature]
        if gain <= 1e-9 * len(rows):
            return node
        node.feature = feature
        goes_left = _goes_left(node, table.X[rows, feature])
        node.children = (
            self._grow(table, rows[goes_left], depth + 1),
            self._grow(table, rows[~goes_left], depth + 1),
        )
        return node

    def _split(
        self, table: _Table, rows: NDArray[np.intp], feature: int, counts: NDArray[np.float64]
    ) -> tuple[float, float, frozenset[float] | None]:
        """Return the best test of a feature: what it gains, and its cut or set of categories."""
        slots = table.codes[feature][rows] * table.n_classes + table.y[rows]
        n_values = len(table.values[feature])
        by_value = np.bincount(slots, minlength=n_values * table.n_classes).reshape(n_values, -1)
        here = by_value.any(axis=1)
        values, by_value = table.values[feature][here], by_value[here].astype(np.float64)
        order = np.arange(len(values))
        if self._nominal[feature]:
            order = np.argsort(by_value[:, 0] / by_value.sum(axis=1), kind="stable")
        left = by_value[order].cumsum(axis=0)[:-1]
        right = counts - left
        n_left, n_right = left.sum(axis=1), right.sum(axis=1)
        allowed = (n_left >= MIN_LEAF) & (n_right >= MIN_LEAF)
        if not allowed.any():
            return 0.0, np.nan, None
        with np.errstate(invalid="ignore", divide="ignore"):
            purity = (left**2).sum(axis=1) / n_left + (right**2).sum(axis=1) / n_right
        gains = np.where(allowed, purity - (counts**2).sum() / counts.sum(), -np.inf)
        best = int(gains.argmax())
        if self._nominal[feature]:
            return float(gains[best]), np.nan, frozenset(values[order[: best + 1]].tolist())
        return float(gains[best]), float(values[best] + values[best + 1]) / 2, None

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict rows."""
        rows = raw_matrix(X, self.schema)
        codes = np.zeros(len(rows), np.intp)
        waiting = [(self.root_, np.arange(len(rows)))]
        for node, at in waiting:  # grows while it is read
            codes[at] = node.majority
            if node.children is not None:
                goes_left = _goes_left(node, rows[at, node.feature])
                waiting += [(node.children[0], at[goes_left]), (node.children[1], at[~goes_left])]
        named: NDArray[Any] = np.asarray(self.schema.classes.labels)[codes]
        return named


def _coded(column: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    values, codes = np.unique(column, return_inverse=True)
    return codes, values


def _goes_left(node: _Node, values: NDArray[np.float64]) -> NDArray[np.bool_]:
    return values <= node.cut if node.left is None else np.isin(values, list(node.left))


def _prune(node: _Node, price: float) -> float:
    """Cut off splits that do not pay, from below; return the errors left plus the price of splits."""
    if node.children is None:
        return node.errors
    below = sum(_prune(child, price) for child in node.children) + price
    if below >= node.errors:
        node.children = None
        return node.errors
    return below


def make_rpart(
    *, task: str, schema: Schema, epsilon: float, seed: int, parameters: Mapping[str, Any]
) -> Rpart:
    """Return a tree; it has no draws and no budget."""
    if task != "classification":
        raise MethodNotAvailableError(f"there is no form for {task}.")
    return Rpart(schema)
