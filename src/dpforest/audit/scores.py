"""Numbers learned from all columns of an output, large where the first table is likelier.

The optimal test between two distributions thresholds their likelihood ratio, and a learned score comes near
it (Bichsel et al. 2021, DP-Sniper). `events` learns the scores on some runs and cuts them on others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpforest._arrays import FloatArray

BINS = 8


class Score(Protocol):
    """A number learned from all columns."""

    def __call__(self, matrix: FloatArray) -> FloatArray:
        """Score each run."""

    def weights(self) -> FloatArray:
        """How much each column counts."""


@dataclass(frozen=True)
class SumScore:
    """A sum over columns of a step function of each: for many that each tell a little.

    Parameters
    ----------
    edges : tuple of ndarray
        Where the steps of each column are.
    heights : tuple of ndarray
        What each step adds.
    """

    edges: tuple[FloatArray, ...]
    heights: tuple[FloatArray, ...]

    @classmethod
    def learn(cls, first: FloatArray, second: FloatArray) -> SumScore:
        """Fit the log-odds of the first table against the second, one step per bin of every column."""
        from sklearn.linear_model import LogisticRegression

        both, labels = _labelled(first, second)
        edges = tuple(_bin_edges(column) for column in both.T)
        heights = []
        for edge, a, b in zip(edges, first.T, second.T, strict=True):
            counts = [np.bincount(np.searchsorted(edge, x, "right"), minlength=len(edge) + 1) for x in (a, b)]
            # one pseudo-observation per bin, so that rare bins say little
            heights.append(np.log((counts[0] + 1) / (counts[1] + 1)))
        # columns repeat each other (a count, its sum, its prediction); weights keep them from adding up twice
        parts = cls(edges, tuple(heights)).parts(both)
        fit = LogisticRegression(C=0.1, max_iter=200).fit(parts, labels)
        return cls(edges, tuple(w * h for w, h in zip(fit.coef_[0], heights, strict=True)))

    def parts(self, matrix: FloatArray) -> FloatArray:
        """Return what each column adds, shape (n_runs, n_columns)."""
        columns = zip(self.edges, self.heights, matrix.T, strict=True)
        return np.stack([height[np.searchsorted(edge, x, "right")] for edge, height, x in columns], axis=1)

    def __call__(self, matrix: FloatArray) -> FloatArray:
        """Score each run."""
        return np.asarray(self.parts(matrix).sum(axis=1))

    def weights(self) -> FloatArray:
        """Return how far each column can move the score."""
        return np.array([np.ptp(height) for height in self.heights])


@dataclass(frozen=True)
class TreeScore:
    """A small decision tree: for a few columns that tell much only together.

    Parameters
    ----------
    tree : DecisionTreeClassifier
        Fitted to ranks, the first table being class 1.
    values : tuple of ndarray
        The values of each column that have ranks: trees of scikit-learn compare in single precision, which
        neither holds all doubles nor tells all of them apart.
    """

    tree: Any
    values: tuple[FloatArray, ...]

    @classmethod
    def learn(cls, first: FloatArray, second: FloatArray) -> TreeScore:
        """Grow the tree, with leaves of some runs each."""
        from sklearn.tree import DecisionTreeClassifier

        both, labels = _labelled(first, second)
        values = tuple(np.unique(column) for column in both.T)
        tree = DecisionTreeClassifier(max_depth=5, min_samples_leaf=20, random_state=0)
        return cls(tree.fit(_ranks(both, values), labels), values)

    def __call__(self, matrix: FloatArray) -> FloatArray:
        """Return the share of the first table in the leaf of each run."""
        return np.asarray(self.tree.predict_proba(_ranks(matrix, self.values))[:, 1])

    def weights(self) -> FloatArray:
        """Return how much each column adds to the purity of the leaves."""
        return np.asarray(self.tree.feature_importances_)


@dataclass(frozen=True)
class Chosen:
    """A score of some of the columns.

    Parameters
    ----------
    score : Score
        Learned from these columns alone.
    columns : ndarray of int
        Which they are.
    """

    score: Score
    columns: NDArray[np.intp]

    def __call__(self, matrix: FloatArray) -> FloatArray:
        """Score each run."""
        return self.score(matrix[:, self.columns])

    def main(self, most: int) -> list[int]:
        """Return the columns that count most."""
        order = np.argsort(-self.score.weights(), kind="stable")[:most]
        return [int(column) for column in self.columns[order]]


def _ranks(matrix: FloatArray, values: tuple[FloatArray, ...]) -> FloatArray:
    """Replace numbers by how many known values are below them; NaN is above all."""
    ranks = [np.searchsorted(known, column, "left") for known, column in zip(values, matrix.T, strict=True)]
    return np.stack(ranks, axis=1).astype(np.float64)


def _labelled(first: FloatArray, second: FloatArray) -> tuple[FloatArray, NDArray[np.int64]]:
    return np.concatenate([first, second]), np.repeat([1, 0], [len(first), len(second)])


def _bin_edges(column: FloatArray) -> FloatArray:
    """Return where bins begin, the first one apart: values of the column, which may be infinite."""
    known = np.sort(column[~np.isnan(column)])
    values = np.unique(known)
    if len(values) > BINS:
        values = np.unique(known[(np.arange(BINS) * len(known)) // BINS])
    return values[1:]
