"""Cut nodes into halves: thresholds for ordered features, sets of categories for nominal ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest import mechanisms
from dpforest._curator.payment import NO_CANDIDATE, Choice
from dpforest._curator.utilities import Subsets
from dpforest._structure.flat import EVERYTHING_LEFT
from dpforest.schema import Schema


def balanced_cuts(
    features: NDArray[np.int32],
    counts: NDArray[np.int64],
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    members: NDArray[np.uint8],
    subsets: Subsets,
    schema: Schema,
    choose: Choice,
    n_threads: int = 1,
) -> NDArray[np.int64]:
    """Cut each node's feature by the score -|rows left - rows right|, which one row moves by 1 (W = 2).

    Parameters
    ----------
    features : ndarray of shape (n_nodes,)
        Feature of each node.
    counts : ndarray of shape (n_nodes, n_cells)
        Private rows by cell of that feature.
    low, high, members : ndarray
        The node's public box (see `FlatTrees.boxes`).
    subsets : Subsets
        Candidate sets of nominal features.
    schema : Schema
        Which features are nominal.
    choose : Choice
        Paid for by the caller, at W = 2.
    n_threads : int
        Threads that share the nodes.

    Returns
    -------
    ndarray of shape (n_nodes,)
        Thresholds as in `FlatTrees`.
    """
    cut = np.full(len(features), NO_CANDIDATE, np.int64)
    nominal = schema.nominal[features]
    ordered = ~nominal
    if ordered.any():
        some = slice(None) if ordered.all() else ordered  # no copies where all are
        scored = mechanisms.quantile_utilities(counts[some], low[some], high[some], n_threads=n_threads)
        cut[some] = choose(*scored)
    for feature in np.flatnonzero(schema.nominal):
        nodes, cells = features == feature, int(schema.n_cells[feature])
        sets = subsets.of(int(feature))[:, :cells]
        cut[nodes] = choose(*mechanisms.subset_utilities(counts[nodes, :cells], members[nodes, :cells], sets))
    coded = np.where(nominal, -subsets.first[features] - cut - 1, cut)
    return np.where(cut < 0, EVERYTHING_LEFT, coded)
