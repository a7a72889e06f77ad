"""How evenly forests cut their rows: histograms of leaves and of splits, and numbers of nodes.

Measured is the paper's own form of every method; for histograms it is fitted several times to all rows, a bin
is a setting, and its value the part of all leaves or splits that fall into it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.papers.experiments.experiment import Cell, Setting
from dpforest.papers.experiments.methods import AS_PUBLISHED, MethodNotAvailableError, find
from dpforest.papers.experiments.metrics import Fold, register_metric
from dpforest.papers.published import raw_matrix
from dpforest.papers.published.multiway import MultiwayForest, MultiwayTree, bin_codes
from dpforest.papers.published.trees import LEAF, BinaryTree

__all__ = ["NODES", "bins", "histogram"]

END, NODES = "bin_end", "nodes"
Quantity = Callable[[Any, NDArray[Any]], NDArray[np.float64]]


def bins(ends: Sequence[float]) -> tuple[dict[str, float], ...]:
    """Return the settings of a histogram, by the upper ends of its bins; the first begins at zero."""
    return tuple({END: end} for end in ends)


def leaf_fractions(tree: Any, rows: NDArray[Any]) -> NDArray[np.float64]:
    """Return the part of the rows in every leaf of a tree."""
    counts = np.bincount(tree.leaf_of(rows), minlength=tree.n_nodes)
    return np.asarray(counts[(tree.feature == LEAF) & _is_node(tree)] / len(rows))


def _is_node(tree: Any) -> NDArray[np.bool_]:
    return tree.is_node if isinstance(tree, MultiwayTree) else np.ones(tree.n_nodes, np.bool_)


def left_fractions(tree: BinaryTree, rows: NDArray[Any]) -> NDArray[np.float64]:
    """Return the part of a node's rows that goes left, for every split that has rows."""
    here = np.bincount(tree.leaf_of(rows), minlength=tree.n_nodes).astype(np.float64)
    splits = np.flatnonzero(tree.feature != LEAF)
    for node in splits[::-1]:  # children come after their parents
        here[node] += here[tree.left[node]] + here[tree.right[node]]
    filled = splits[here[splits] > 0]
    return np.asarray(here[tree.left[filled]] / here[filled])


class _Measured:
    """A function with a memory, so that it can be sent to other processes."""

    def __init__(self, quantity: Quantity, n_fits: int, parameters: dict[str, Any]) -> None:
        self.quantity, self.n_fits, self.parameters = quantity, n_fits, parameters
        self._found: dict[Cell, NDArray[np.float64]] = {}

    def of(self, cell: Cell) -> NDArray[np.float64]:
        """Fit, once for all settings, and measure every tree."""
        where = Cell(cell.dataset, cell.method, cell.epsilon)
        if where not in self._found:
            self._found[where] = self._measure(where)
        return self._found[where]

    def _measure(self, cell: Cell) -> NDArray[np.float64]:
        from dpforest.papers.datasets import load

        X, y, schema = load(cell.dataset)
        method = find(cell.method + AS_PUBLISHED)
        if method is None:
            raise LookupError(f"there is no method {cell.method + AS_PUBLISHED!r}.")
        told = {**self.parameters.get("", {}), **self.parameters.get(cell.method, {})}
        found = []
        for seed in range(self.n_fits):
            model = method.factory(
                task="classification", schema=schema, epsilon=cell.epsilon, seed=seed, parameters=told
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the published form is meant
                forest = model.fit(X, y).published_
            rows: NDArray[Any] = raw_matrix(X, schema)
            if isinstance(forest, MultiwayForest):
                rows = bin_codes(rows, forest.domain)
            found += [self.quantity(tree, rows) for tree in forest.trees]
        return np.concatenate(found)


class _Histogram(_Measured):
    def __init__(
        self, ends: Sequence[float], quantity: Quantity, n_fits: int, parameters: dict[str, Any]
    ) -> None:
        super().__init__(quantity, n_fits, parameters)
        self.ends = ends

    def __call__(self, cell: Cell, setting: Setting) -> float:
        """Return the part of all values in a bin; the last bin has its end, too."""
        place = self.ends.index(setting[END])
        begin = self.ends[place - 1] if place else 0.0
        end = setting[END] if place + 1 < len(self.ends) else np.inf
        values = self.of(cell)
        return float(np.mean((values >= begin) & (values < end)))


def mean_nodes(model: Any, fold: Fold) -> float:
    """Return the mean number of nodes in the trees of a paper's own form, leaves included."""
    forest: Any = getattr(model, "published_", None)
    if forest is None:
        raise MethodNotAvailableError("nodes of the papers' own forms are counted.")
    return float(np.mean([_is_node(tree).sum() for tree in forest.trees]))


register_metric(NODES, mean_nodes, better="")


def histogram(
    of: str, ends: Sequence[float], n_fits: int, **parameters: dict[str, Any]
) -> Callable[[Cell, Setting], float]:
    """Return the `compute` of a histogram.

    Parameters
    ----------
    of : {"leaves", "splits"}
        Rows in a leaf as a part of all, or rows that go left as a part of those in a node.
    ends : sequence of float
        As for `bins`.
    n_fits : int
        Number of fits.
    **parameters
        For the methods, by name; ``shared`` for all.

    Returns
    -------
    callable
        ``compute(cell, setting)`` of an `Experiment`.
    """
    quantity: Quantity = leaf_fractions if of == "leaves" else left_fractions
    return _Histogram(ends, quantity, n_fits, {"": parameters.pop("shared", {}), **parameters})
