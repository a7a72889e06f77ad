"""The one thing a published forest can do: give scores for rows."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpforest._arrays import FloatArray
from dpforest.papers.published.domain import Domain, checked_rows
from dpforest.papers.published.trees import BinaryTree

__all__ = ["BinaryForest", "PublishedForest"]


class PublishedForest(ABC):
    """A forest fitted by a paper's own algorithm. It promises no privacy whatever."""

    @abstractmethod
    def votes(self, X: FloatArray) -> FloatArray:
        """Return the paper's scores.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Rows as `raw_matrix` gives them.

        Returns
        -------
        ndarray of float64, shape (n, n_outputs)
            Classification: one score per class, the paper predicts the class with the largest. Regression:
            one column of predictions.
        """


@dataclass(frozen=True)
class BinaryForest(PublishedForest):
    """Trees whose leaf values are added up or averaged.

    Parameters
    ----------
    trees : sequence of BinaryTree
        The trees.
    domain : Domain
        Public facts.
    average : bool
        Whether votes are the mean over the trees instead of the sum.
    """

    trees: Sequence[BinaryTree]
    domain: Domain
    average: bool

    def votes(self, X: FloatArray) -> FloatArray:
        """Return the paper's scores."""
        X = checked_rows(X, self.domain)
        total = np.zeros((len(X), self.domain.n_outputs))
        for tree in self.trees:
            total += tree.values[tree.leaf_of(X)]
        return total / len(self.trees) if self.average else total
