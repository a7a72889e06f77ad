"""Where rows go in a fitted forest, and what that says; made of released values, hence free."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from dpforest._structure import FlatTrees
from dpforest._trees import Explanation, cells_for, explain, find_leaves


class Walking(BaseEstimator):
    """An estimator made of flat trees."""

    trees_: FlatTrees

    def _check_trees(self) -> None:
        check_is_fitted(self)
        if not hasattr(self, "trees_"):
            raise TypeError(f"{type(self).__name__} was run as published: it released no trees.")

    def apply(self, X: Any) -> NDArray[np.int64]:
        """Leaf that each row ends up in, tree by tree; leaves are numbered from 0, left to right.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_features)
            New rows.

        Returns
        -------
        ndarray of shape (n_rows, n_trees)
        """
        self._check_trees()
        return find_leaves(self.trees_, cells_for(self, X)).T

    def decision_path(self, X: Any) -> tuple[csr_matrix, NDArray[np.int64]]:
        """Nodes that each row passes, from the roots to the leaves.

        Node i of level l of a tree has number ``2**l - 1 + i`` among those of the tree.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_features)
            New rows.

        Returns
        -------
        indicator : sparse matrix of shape (n_rows, n_nodes of all trees)
            1 where a row passes a node.
        n_nodes_ptr : ndarray of shape (n_trees + 1,)
            The columns from ``n_nodes_ptr[i]`` to ``n_nodes_ptr[i + 1]`` belong to tree i.
        """
        leaves, depth = self.apply(X), self.trees_.depth
        n_rows, n_trees = leaves.shape
        n_nodes = 2 ** (depth + 1) - 1
        levels = np.arange(depth + 1)
        # the ancestor of leaf i on level l is node i >> (depth - l) of that level
        nodes = (
            (leaves[..., None] >> (depth - levels)) + 2**levels - 1 + np.arange(n_trees)[:, None] * n_nodes
        )
        begins = np.arange(n_rows + 1) * n_trees * (depth + 1)
        ones = np.ones(nodes.size, np.int64)
        indicator = csr_matrix((ones, nodes.ravel(), begins), shape=(n_rows, n_trees * n_nodes))
        return indicator, np.arange(n_trees + 1) * n_nodes

    def explain(self, X: Any) -> Explanation:
        """Tell what each feature contributed to the predictions of new rows.

        Exact for the released model: base and contributions add up to its score. Default forests are
        explained as log odds of the second class (with more classes, scores less their mean; with numbers,
        the target before it is clipped to its bounds), with delta > 0 before probabilities are corrected for
        clipped gradients, which changes log odds by up to ln 2; without a linear part, and for other forests,
        as probabilities or the target. What a combination of two features says is given to both in equal
        parts.
        Leaves and sums of few rows hold noise, and so do their explanations.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_features)
            New rows.

        Returns
        -------
        Explanation

        Examples
        --------
        >>> import numpy as np
        >>> from dpforest import PrivateForestClassifier
        >>> X = np.random.default_rng(0).random((5000, 2))
        >>> model = PrivateForestClassifier(epsilon=5.0, delta=1e-6, bounds=(0, 1), classes=[0, 1])
        >>> found = model.fit(X, X[:, 1] > 0.5).explain(np.array([[0.5, 0.9]]))
        >>> found.names[int(np.abs(found.values[0, :, 0]).argmax())], found.outputs
        ('x1', ['log odds of 1'])
        """
        self._check_trees()
        return explain(self, X)
