"""Private random forest on coarse bins (Patil and Singh 2014; DP-RF), with a form for regression.

The regression form is that of Consul and Williamson (2021, Sec. 4).
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpforest._curator import Utility
from dpforest._trees import class_shares, majority_votes
from dpforest.forests.base import PrivateForestClassifierBase, PrivateForestRegressorBase
from dpforest.forests.docs import shared_parameters
from dpforest.forests.parameters import parameters, whole
from dpforest.forests.release import PrivateRelease
from dpforest.mechanisms import RandomWords
from dpforest.papers.baselines.greedy import (
    BINS_BY_DEFAULT,
    BINS_PARAMETER,
    BINS_RULE,
    CRITERIA,
    CRITERION_PARAMETER,
    CRITERION_RULE,
    DEPTH_BY_ROWS,
    PLAN_PARAMETERS,
    Criterion,
    GreedyForest,
    coarse,
)
from dpforest.schema import Schema

_TREES = """n_estimators : int, default=10
        Number of trees.
    """
_FEATURES = """max_features : int, optional
        Features, drawn with public coins, that a node compares; None compares all.
    """


@parameters
class _PatilSingh(GreedyForest):
    """Growth, the same for both tasks."""

    max_features: int | None = None
    bins: int = BINS_BY_DEFAULT

    _published: ClassVar[str] = "private_random_forest"
    _not_published: ClassVar[frozenset[str]] = GreedyForest._not_published | {"criterion"}
    _rules: ClassVar = {**GreedyForest._rules, "max_features": whole(1, or_none=True), "bins": BINS_RULE}

    def _score(self) -> Utility:
        return Utility.SQUARED_ERROR

    def _columns(self, schema: Schema, words: RandomWords) -> Schema:
        return coarse(schema, self.bins)

    def _paper_options(self) -> dict[str, Any]:
        return {**super()._paper_options(), "max_features": self.max_features}


@parameters
@shared_parameters(
    _TREES + CRITERION_PARAMETER.replace("{default}", "gini") + _FEATURES + BINS_PARAMETER + PLAN_PARAMETERS,
    DEPTH_BY_ROWS,
    classifier=True,
)
class PatilSinghForestClassifier(_PatilSingh, PrivateForestClassifierBase):
    """Forest of greedy trees on coarse public bins, one vote per tree (DP-RF).

    In every node the exponential mechanism chooses a feature and a cut of its bins; leaves release noisy
    class counts, and each tree votes for the most common class of its leaf.

    **Guarantee.** Pure epsilon-DP for adding or removing one row ((epsilon, delta)-DP by zCDP if delta > 0):
    every row is in every tree, and every question gets its part of epsilon divided by the number of trees.

    **Departures from the paper.** Its text was out of reach; `as_published=True` is the program with which
    Consul and Williamson (2021) compare, line by line. (1) They and the paper speak of bootstrap samples. A
    row that came up several times in a sample would count several times, while its tree is charged for one: a
    log-ratio of 1.70 for a promised 1. In their program and here every tree sees every row once, which is
    what the charge pays for. Trees differ by their noise and by `max_features`. (2) Splits are binary: the
    program has one child per bin, and so many small nodes. (3) There are 8 bins by default, a power of two,
    where the program has 5: with binary splits more bins do not mean smaller nodes. (4) Scores are n times
    the Gini impurity, which moves by less than 2 for any n; the program takes the impurity itself to move by
    1, and so chooses almost at random. Information gain has a public bound. (5) The depth that
    `expected_leaf_rows` asks for follows from a noisy count, 2 % of the budget. (6) Inner nodes release
    nothing but their splits. (7) Noise is discrete; missing and undeclared values have cells of their own.

    Parameters
    ----------
    {parameters}

    Examples
    --------
    >>> import numpy as np
    >>> from dpforest.papers.baselines import PatilSinghForestClassifier
    >>> X = np.random.default_rng(0).random((5000, 3))
    >>> y = (X[:, 0] > 0.5).astype(int)
    >>> model = PatilSinghForestClassifier(epsilon=2.0, bounds=(0, 1), classes=[0, 1]).fit(X, y)
    >>> model.score(X, y) > 0.7
    True
    """

    criterion: Criterion = "gini"

    _rules: ClassVar = {**_PatilSingh._rules, "criterion": CRITERION_RULE}

    def _score(self) -> Utility:
        return CRITERIA[self.criterion]

    def _votes(self, release: PrivateRelease) -> NDArray[np.float64]:
        return majority_votes(class_shares(release.statistics))


@parameters
@shared_parameters(_TREES + _FEATURES + BINS_PARAMETER + PLAN_PARAMETERS, DEPTH_BY_ROWS, classifier=False)
class PatilSinghForestRegressor(_PatilSingh, PrivateForestRegressorBase):
    """Forest of greedy trees on coarse public bins, for regression (DP-RF of Consul and Williamson 2021).

    Splits are chosen by the squared error of their two sides. Leaves release the noisy sums of y and of its
    distance to the upper bound, whose ratio, added up over trees, is the prediction.

    **Guarantee.** Pure epsilon-DP for adding or removing one row ((epsilon, delta)-DP by zCDP if delta > 0).

    **Departures from the paper** (2021, Sec. 4) as in `PatilSinghForestClassifier`, and in the leaves: noise
    on a mean, scaled by the private number of rows, is not private.

    Parameters
    ----------
    {parameters}

    Examples
    --------
    >>> import numpy as np
    >>> from dpforest.papers.baselines import PatilSinghForestRegressor
    >>> X = np.random.default_rng(0).random((5000, 2))
    >>> model = PatilSinghForestRegressor(epsilon=2.0, bounds=(0, 1), target_bounds=(0, 1)).fit(X, X[:, 0])
    >>> model.score(X, X[:, 0]) > 0.3
    True
    """
