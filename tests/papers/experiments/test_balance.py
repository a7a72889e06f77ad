"""Histograms of how published trees cut their rows."""

from types import SimpleNamespace

import numpy as np
import pytest

from dpforest.papers.experiments.experiment import Cell
from dpforest.papers.experiments.methods import MethodNotAvailableError
from dpforest.papers.experiments.tables._balance import histogram, leaf_fractions, left_fractions, mean_nodes
from dpforest.papers.published.multiway import MultiwayTree
from dpforest.papers.published.trees import LEAF, BinaryTree

TREE = BinaryTree(  # x < 0.25, then x < 0.1 on the left; a split on the right that no row reaches stays out
    feature=np.array([0, 0, LEAF, LEAF, LEAF]),
    threshold=np.array([0.25, 0.1, np.nan, np.nan, np.nan]),
    left_set=np.full(5, -1),
    left=np.array([1, 3, 0, 0, 0]),
    right=np.array([2, 4, 0, 0, 0]),
    sets=np.zeros((0, 1), bool),
    closed=False,
    values=np.zeros((5, 1)),
)


def test_rows_of_leaves_and_of_splits_are_counted():
    X = np.array([0.05, 0.06, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])[:, None]
    assert leaf_fractions(TREE, X).tolist() == [0.7, 0.2, 0.1]
    assert left_fractions(TREE, X).tolist() == pytest.approx([0.3, 2 / 3])
    assert left_fractions(TREE, X[3:]).tolist() == [0.0]  # the second split has no row


def test_bins_of_a_histogram_hold_all_values_once(monkeypatch):
    ends = (0.25, 0.5, 1.0)
    compute = histogram("splits", ends, n_fits=2)
    monkeypatch.setattr(compute, "_measure", lambda cell: np.array([0.0, 0.25, 0.3, 1.0]))
    cell = Cell("iris", "DiPriMe", 2.0)
    assert [compute(cell, {"bin_end": end}) for end in ends] == [0.25, 0.5, 0.25]


def test_nodes_are_counted_and_places_that_stand_for_missing_children_are_not():
    few = MultiwayTree(
        np.array([0, LEAF, LEAF]), np.array([1, 0, 0]), np.zeros((3, 2)), np.array([0, 0, 1], bool)
    )
    model = SimpleNamespace(published_=SimpleNamespace(trees=[TREE, few]))
    assert mean_nodes(model, None) == (5 + 2) / 2
    with pytest.raises(MethodNotAvailableError):
        mean_nodes(SimpleNamespace(), None)
