"""Cut nodes into halves: thresholds for ordered features, sets of categories for nominal ones."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpforest import mechanisms
from dpforest.curator.utilities import Subsets
from dpforest.mechanisms import RandomWords
from dpforest.schema import Schema
from dpforest.structure.flat import EVERYTHING_LEFT


def balanced_cuts(
    features: NDArray[np.int32],
    counts: NDArray[np.int32],
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    members: NDArray[np.uint8],
    subsets: Subsets,
    schema: Schema,
    epsilon: Fraction,
    noise: RandomWords,
) -> NDArray[np.int64]:
    """Run the private median, or the balanced subset, of each node's feature at `epsilon`.

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
    epsilon : Fraction
        Paid for by the caller.
    noise : RandomWords
        Randomness.

    Returns
    -------
    ndarray of shape (n_nodes,)
        Thresholds as in `FlatTrees`.
    """
    cut = np.full(len(features), -1, np.int64)
    nominal = schema.nominal[features]
    ordered = ~nominal
    if ordered.any():
        cut[ordered] = mechanisms.quantile(counts[ordered], low[ordered], high[ordered], epsilon, noise)
    for feature in np.flatnonzero(schema.nominal):
        nodes, cells = features == feature, int(schema.n_cells[feature])
        sets = subsets.of(int(feature))[:, :cells]
        cut[nodes] = mechanisms.balanced_subset(
            counts[nodes, :cells], members[nodes, :cells], sets, epsilon, noise
        )
    coded = np.where(nominal, -subsets.first[features] - cut - 1, cut)
    return np.where(cut < 0, EVERYTHING_LEFT, coded)
