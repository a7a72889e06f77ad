"""What the leaves of the forests of Fletcher and Islam 2017 look like, for the figures that show it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dpforest._arrays import FloatArray
from dpforest.papers.experiments.experiment import Cell, Setting
from dpforest.papers.published import domain_of, raw_matrix, raw_target
from dpforest.papers.published.draws import equal_parts
from dpforest.papers.published.smooth_sensitivity import label_probabilities, leaf_keys, table_depth

__all__ = ["leaf_counts", "over_leaves"]

N_TREES = 100


def leaf_counts(dataset: str, n_trees: int, disjoint: bool) -> FloatArray:
    """Return the class counts of all leaves with rows, of a forest fitted to all rows of a dataset."""
    from dpforest.papers.datasets import load

    X, y, schema = load(dataset)
    rows, labels, domain = raw_matrix(X, schema), raw_target(y, schema), domain_of(schema)
    rng = np.random.default_rng(0)
    depth, found = table_depth(domain), []
    everything = np.arange(len(rows))
    parts = equal_parts(len(rows), n_trees, rng) if disjoint else [everything] * n_trees
    for seed, part in zip(rng.integers(0, 2**64, size=n_trees, dtype=np.uint64), parts, strict=True):
        keys = leaf_keys(rows[part], np.full(len(part), seed), domain, depth)
        leaves, slot = np.unique(keys, return_inverse=True)
        codes = slot * domain.n_classes + labels[part].astype(np.int64)
        counts = np.bincount(codes, minlength=len(leaves) * domain.n_classes)
        found.append(counts.reshape(-1, domain.n_classes).astype(np.float64))
    return np.concatenate(found)


class over_leaves:  # noqa: N801 (a function with a memory, so that it can be sent to other processes)
    """Return a `compute` that averages something over the leaves with rows.

    Parameters
    ----------
    measure : callable
        From class counts and the budget of a tree to a number for every leaf.
    """

    def __init__(self, measure: Callable[[FloatArray, float], FloatArray]) -> None:
        self.measure = measure

    def __call__(self, cell: Cell, setting: Setting) -> float:
        n_trees, disjoint = setting.get("n_estimators", N_TREES), setting.get("disjoint", True)
        counts = leaf_counts(cell.dataset, n_trees, disjoint)
        return float(self.measure(counts, cell.epsilon / (1 if disjoint else n_trees)).mean())


def sensitivity(counts: FloatArray, epsilon: float) -> FloatArray:
    """Smooth sensitivity exp(-j epsilon) of every leaf, j the lead of its most frequent label."""
    ordered = np.sort(counts, axis=1)
    return np.asarray(np.exp(-epsilon * (ordered[:, -1] - ordered[:, -2])))


def flipped(counts: FloatArray, epsilon: float) -> FloatArray:
    """Probability that a leaf names a label that is not among its most frequent ones."""
    chances = label_probabilities(counts, epsilon)
    return np.asarray(1 - (chances * (counts == counts.max(axis=1, keepdims=True))).sum(axis=1))
