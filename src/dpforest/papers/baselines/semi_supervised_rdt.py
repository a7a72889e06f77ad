"""Random decision trees shaped by unlabelled rows (Jagannathan, Monteleoni and Pillaipakkamnatt 2013; SSRDT).

Random cuts fall where there may be nobody. Public rows show where: a node that few of them reach is left
whole, so that each leaf holds enough private labels to stand out of their noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpforest._curator import Curator
from dpforest._structure import FlatTrees
from dpforest._structure.flat import EVERYTHING_LEFT
from dpforest._trees import find_leaves, grow_multiway
from dpforest.forests.base import PrivateForest, PrivateForestClassifierBase
from dpforest.forests.depths import binary_depth
from dpforest.forests.docs import shared_parameters
from dpforest.forests.foresight import Ask, Shape, count_labels, shapes_of
from dpforest.forests.parameters import MAX_DEPTH, parameters, real
from dpforest.papers.published import Domain, PublishedForest, semi_supervised_random_trees
from dpforest.privacy import NeighboringRelation, Pool
from dpforest.schema import Schema

# 3, 6, 10, 20 and 40 were tried at epsilon 2 with a fifth of the rows labelled, on banknote, pendigits,
# mushroom, wall_robot_4, dry_bean, car and claves.
MIN_LABELS = 20.0


def leave_sparse_nodes_whole(trees: FlatTrees, cells: NDArray[Any], least_rows: float) -> FlatTrees:
    """Undo the splits of nodes that fewer than `least_rows` of some public rows reach.

    Parameters
    ----------
    trees : FlatTrees
        Random trees.
    cells : ndarray of shape (n_rows, n_features)
        Public rows.
    least_rows : float
        Rows that make a split worth its leaves.

    Returns
    -------
    FlatTrees
        As deep as the deepest split that is left.

    Examples
    --------
    >>> import numpy as np
    >>> trees = FlatTrees.unsplit(n_trees=1, depth=2)
    >>> trees.threshold[0] = [3, 1, 7]
    >>> shaped = leave_sparse_nodes_whole(trees, np.array([[0], [0], [2], [9]]), least_rows=2)
    >>> shaped.depth, [bool(cut == EVERYTHING_LEFT) for cut in shaped.threshold[0]]
    (2, [False, False, True])
    """
    rows = np.stack([np.bincount(leaf, minlength=trees.n_leaves) for leaf in find_leaves(trees, cells)])
    threshold = trees.threshold.copy()
    for level in range(trees.depth - 1, -1, -1):
        rows = rows[:, ::2] + rows[:, 1::2]
        threshold[:, trees.level(level)][rows < least_rows] = EVERYTHING_LEFT
    split = (threshold != EVERYTHING_LEFT).any(axis=0)
    depth = int(np.flatnonzero(split).max(initial=-1) + 1).bit_length()
    kept = [np.ascontiguousarray(cuts[:, : 2**depth - 1]) for cuts in (trees.feature, threshold)]
    return replace(trees, depth=depth, feature=kept[0], threshold=kept[1])


@parameters
@shared_parameters(
    """n_estimators : int, default=10
        Number of trees.
    min_labels : float, default=20.0
        How many labels, in units of sqrt(n_estimators) / epsilon, a node should hold to be split. Rows with
        and without label are counted; the labelled ones are taken to be spread evenly among them.
    """,
    "Features that a path may draw; None goes on while nodes hold enough rows.",
    classifier=True,
)
class SemiSupervisedRDTClassifier(PrivateForestClassifierBase):
    """Random trees that public rows shape, with noisy counts of private labels (SSRDT).

    The trees are those of `JPWForestClassifier`, but a node that too few rows reach is not split. Leaves
    release noisy counts of the labels; the class with the largest sum over the trees wins. Unlabelled rows
    have -1, None or nothing as label.

    **Guarantee.** Pure epsilon-DP for changing one label to another declared one ((epsilon, delta)-DP by zCDP
    if delta > 0). Features are public, and so is which rows have a declared label; a missing or undeclared
    label is no label. `neighboring` is not used. Trees cost nothing, a label is counted in every one of the k
    trees.

    **Departures from the paper.** The text was out of reach; this is a reconstruction from its abstract and
    from what Huang, Lei and Kaban (2022, Secs. 2 and 6.3) say: the private random trees of 2009 extended to
    take advantage of unlabelled data, where privacy of features is not required. How unlabelled rows shape
    the trees is therefore ours. (1) Noise is made for a changed label: with two classes one noisy count tells
    both (leaf sizes are public), with more it is doubled; scale k / epsilon on every count would cost 2
    epsilon. (2) Noise is discrete. (3) Since all features are public, labelled rows shape the trees as well.
    (4) Categories, missing and undeclared values are treated as in `JPWForestClassifier`.

    Parameters
    ----------
    {parameters}

    Examples
    --------
    >>> import numpy as np
    >>> from dpforest.papers.baselines import SemiSupervisedRDTClassifier
    >>> X = np.random.default_rng(0).random((5000, 2))
    >>> truth = (X[:, 0] > 0.5).astype(int)
    >>> y = np.where(np.arange(5000) % 5 == 0, truth, -1)
    >>> model = SemiSupervisedRDTClassifier(epsilon=2.0, bounds=(0, 1), classes=[0, 1])
    >>> model.fit(X, y).score(X, truth) > 0.8
    True
    """

    min_labels: float = MIN_LABELS

    _published: ClassVar[str] = "semi_supervised_random_trees"
    _unlabelled_code: ClassVar[int] = -1
    _rules: ClassVar = {**PrivateForest._rules, "min_labels": real(0, math.inf)}

    def _relation(self) -> NeighboringRelation:
        return NeighboringRelation.LABEL_CHANGE

    def _pools(self) -> list[Pool]:
        return [Pool("leaves", Fraction(1), "noisy class counts of every leaf, an equal part for each tree")]

    def _drawn_features(self) -> int:
        """Features that a path may draw."""
        return MAX_DEPTH if self.max_depth is None else self.max_depth

    def _shapes(self, schema: Schema) -> Iterator[Shape]:
        depth = binary_depth(schema, self._drawn_features(), self.n_estimators)
        return shapes_of(schema, self.n_estimators, depth)

    def _asks(self, schema: Schema, shape: Shape) -> list[Ask]:
        return [count_labels(schema, copies=shape.n_trees)]

    def _grow(self, curator: Curator) -> FlatTrees:
        depth = self._limits.depth
        trees = grow_multiway(curator, self.n_estimators, depth, self._drawn_features())
        cells, is_labelled = curator.public_cells()
        return leave_sparse_nodes_whole(trees, cells, self._least_rows(is_labelled))

    def _least_rows(self, is_labelled: NDArray[np.bool_]) -> float:
        """Rows, labelled or not, that a node must hold to be split."""
        labels = self.min_labels * math.sqrt(self.n_estimators) / float(self.epsilon)
        return max(2.0, labels * len(is_labelled) / max(int(is_labelled.sum()), 1))

    def _publish(
        self, X: NDArray[np.float64], y: NDArray[Any], domain: Domain, rng: np.random.Generator
    ) -> PublishedForest:
        return semi_supervised_random_trees(
            X[y >= 0],
            y[y >= 0],
            domain,
            rng,
            epsilon=float(self.epsilon),
            unlabelled=X[y < 0],
            least_rows=self._least_rows(y >= 0),
            max_depth=self._drawn_features(),
            n_trees=self.n_estimators,
        )
