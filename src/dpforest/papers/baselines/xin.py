"""Greedy private forest on disjoint rows whose leaves name a label (Xin, Yang, Wang and Huang 2019)."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpforest._curator import PERMUTE_AND_FLIP, Curator, Noisy
from dpforest._structure import FlatTrees
from dpforest._trees import label_votes
from dpforest.forests.base import PrivateForestClassifierBase
from dpforest.forests.docs import shared_parameters
from dpforest.forests.foresight import Ask, Shape, choose
from dpforest.forests.parameters import parameters
from dpforest.forests.release import PrivateRelease
from dpforest.papers.baselines.greedy import DEPTH_BY_ROWS, PLAN_PARAMETERS, GreedyForest
from dpforest.schema import Schema

_OWN_PARAMETERS = (
    """n_estimators : int, default=10
        Number of trees.
    """
    + PLAN_PARAMETERS
)


@parameters
@shared_parameters(_OWN_PARAMETERS, DEPTH_BY_ROWS, classifier=True)
class XinForestClassifier(GreedyForest, PrivateForestClassifierBase):
    """Greedy trees on disjoint rows; each leaf votes with a privately chosen label.

    Every row is in one secret random tree. In every node the exponential mechanism chooses feature and cut by
    the Gini impurity; each leaf releases its most common label by permute-and-flip, and every tree has one
    vote.

    **Guarantee.** Pure epsilon-DP for adding or removing one row ((epsilon, delta)-DP by zCDP if delta > 0):
    levels and leaves of a tree add up, trees hold disjoint rows.

    **Departures from the paper.** The text was out of reach; this is a reconstruction from what Consul and
    Williamson (2020, 2021) and Huang, Lei and Kaban (2022) say of it: disjoint subsets, Gini impurity and
    labels by the exponential mechanism with smooth sensitivity. (1) Labels are chosen by their counts, which
    move by 1. With smooth sensitivity the exponential mechanism loses privacy without bound as the majority
    grows. (2) Splits are scored by n times the impurity, which moves by less than 2; no private sensitivity
    is needed. (3) Rows are assigned to trees independently; in equal groups one more row moves another. (4)
    Splits are binary, and numeric features are cut on their public grid. (5) The depth that
    `expected_leaf_rows` asks for follows from a noisy count, 2 % of the budget. (6) Empty leaves draw their
    label by the same mechanism; missing and undeclared values have cells of their own.

    Parameters
    ----------
    {parameters}

    Examples
    --------
    >>> import numpy as np
    >>> from dpforest.papers.baselines import XinForestClassifier
    >>> X = np.random.default_rng(0).random((5000, 3))
    >>> y = (X[:, 0] > 0.5).astype(int)
    >>> model = XinForestClassifier(epsilon=2.0, bounds=(0, 1), classes=[0, 1]).fit(X, y)
    >>> model.score(X, y) > 0.7
    True
    """

    _published: ClassVar[str] = "greedy_smooth_forest"
    _leaves_are_labels: ClassVar[bool] = True

    def _asks(self, schema: Schema, shape: Shape) -> list[Ask]:
        splits = choose("splits", Fraction(1, max(shape.depth, 1)), 1, self._score().range_for(schema))
        return [Ask("count"), splits, choose("leaves", Fraction(1), 1, 1, PERMUTE_AND_FLIP)]

    def _grow(self, curator: Curator) -> FlatTrees:
        depth = self._depth(curator, rows_shared_by=self.n_estimators)
        curator.scatter_rows(self.n_estimators)
        return self._grow_to(curator, depth)

    def _fill(self, curator: Curator, trees: FlatTrees) -> Noisy:
        return Noisy(curator.leaf_labels("leaves", trees), 0.0)

    def _votes(self, release: PrivateRelease) -> NDArray[np.float64]:
        return label_votes(release.statistics, release.schema.classes.n_classes)
