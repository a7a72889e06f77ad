"""The part of a released model that is a sum over features, and how trees add to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest._structure.pairs import Pairs

UNIT = 2**16  # scores are kept as whole multiples of 1 / UNIT
_NO_SPANS = np.empty((0, 2))


@dataclass(frozen=True, eq=False)
class Additive:
    """A score for every cell of every feature, and how the trees beside it add to their sum.

    Parameters
    ----------
    table : ndarray of int64, shape (n_features, n_cells, n_outputs)
        Scores in units of 1 / UNIT.
    tree_weight : float
        What the trees' scores are multiplied by.
    spans : ndarray of shape (n_trees, 2) or (0, 2)
        For numbers: what the first and last level of each tree's own target stand for.
    pairs : Pairs or None
        For boosted models: the columns of two features that their trees cut, behind the features.
    gains : ndarray of int64, shape (n_features,), or None
        For boosted models: what each feature adds to the fit, by released values, in units of 1 / UNIT.
    clip : float or None
        For boosted models of classes: length of gradients beyond which they were clipped; see `link`.

    Examples
    --------
    >>> import numpy as np
    >>> part = Additive.of(np.array([[[0.0], [1.5]], [[0.25], [0.0]]]), tree_weight=1.0)
    >>> part.sum(np.array([[1, 0], [0, 1]]))
    array([[1.75],
           [0.  ]])
    """

    table: NDArray[np.int64]
    tree_weight: float
    spans: NDArray[np.float64]
    pairs: Pairs | None = None
    gains: NDArray[np.int64] | None = None
    clip: float | None = None

    @classmethod
    def of(
        cls, scores: NDArray[np.float64], tree_weight: float, spans: NDArray[np.float64] = _NO_SPANS
    ) -> Additive:
        """Round scores to whole units."""
        return cls(np.rint(scores * UNIT).astype(np.int64), float(tree_weight), spans)

    def sum(self, cells: NDArray[Any]) -> NDArray[np.float64]:
        """Sum of the scores of each row's cells; columns behind the features are left out."""
        total = np.zeros((len(cells), self.table.shape[2]), np.int64)
        for feature, scores in enumerate(self.table):
            total += scores[cells[:, feature]]
        return total / UNIT

    def widen(self, cells: NDArray[Any]) -> NDArray[Any]:
        """Return the cells of rows with the columns that trees cut beside the features."""
        return cells if self.pairs is None else self.pairs.append(cells)

    def spreads(self, n_cells: NDArray[np.int32]) -> NDArray[np.float64]:
        """How much the scores of each feature differ between its own cells, on average over outputs.

        Parameters
        ----------
        n_cells : ndarray of shape (n_features,)
            Cells of each feature; the table may have more.
        """
        own = zip(self.table / UNIT, n_cells, strict=True)
        return np.array([scores[:n].std(axis=0).mean() for scores, n in own])
