"""Greedy private ensemble by the noisy maximal vote (Liu, Li, Li and Chen 2018; MaxTree)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpforest._curator import Utility
from dpforest._trees import class_shares, majority_votes
from dpforest.forests.base import PrivateForestClassifierBase
from dpforest.forests.docs import shared_parameters
from dpforest.forests.parameters import parameters
from dpforest.forests.release import PrivateRelease
from dpforest.papers.baselines.greedy import DEPTH_BY_ROWS, PLAN_PARAMETERS, GreedyForest

_OWN_PARAMETERS = (
    """n_estimators : int, default=10
        Number of trees.
    """
    + PLAN_PARAMETERS
)


@parameters
@shared_parameters(_OWN_PARAMETERS, DEPTH_BY_ROWS, classifier=True)
class MaxTreeClassifier(GreedyForest, PrivateForestClassifierBase):
    """Greedy trees whose splits are scored by the most common class of each side, one vote per tree.

    The score of a split, the rows that a majority vote on either side gets right, moves by at most 1 when a
    row comes: the least sensitive of the scores in use. In every node the exponential mechanism chooses
    feature and cut by it; leaves release noisy class counts.

    **Guarantee.** Pure epsilon-DP for adding or removing one row ((epsilon, delta)-DP by zCDP if delta > 0):
    every row is in every tree, and every question gets its part of epsilon divided by the number of trees.

    **Departures from the paper.** The text was out of reach; this is a reconstruction from its abstract and
    from what Huang, Lei and Kaban (2022) say of it: trees by the noisy maximal vote, an own division of the
    budget among their levels, an ensemble on bootstrapped samples. (1) A row may come up several times in a
    bootstrap sample, while its tree is charged for one: a log-ratio of 1.70 for a promised 1. Here every tree
    sees every row once, at epsilon divided by the number of trees. (2) The division of the budget is not the
    paper's: half for splits, in equal parts for each level, half for leaves. (3) Splits are chosen by the
    exponential mechanism, binary, and numeric features are cut on their public grid. (4) The depth that
    `expected_leaf_rows` asks for follows from a noisy count, 2 % of the budget. (5) Noise is discrete;
    missing and undeclared values have cells of their own.

    Parameters
    ----------
    {parameters}

    Examples
    --------
    >>> import numpy as np
    >>> from dpforest.papers.baselines import MaxTreeClassifier
    >>> X = np.random.default_rng(0).random((5000, 3))
    >>> y = (X[:, 0] > 0.5).astype(int)
    >>> model = MaxTreeClassifier(epsilon=2.0, bounds=(0, 1), classes=[0, 1]).fit(X, y)
    >>> model.score(X, y) > 0.7
    True
    """

    _published: ClassVar[str] = "maximal_vote_forest"

    def _score(self) -> Utility:
        return Utility.MAX_OPERATOR

    def _votes(self, release: PrivateRelease) -> NDArray[np.float64]:
        return majority_votes(class_shares(release.statistics))
