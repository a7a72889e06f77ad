"""Many greedy trees under a relaxed definition of privacy (Rana, Gupta and Venkatesh 2015; RGV).

What the paper promises is not differential privacy; what this estimator promises by default is.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any, ClassVar

from dpforest._curator import Utility
from dpforest.forests.base import PrivateForestClassifierBase
from dpforest.forests.docs import shared_parameters
from dpforest.forests.parameters import parameters, whole
from dpforest.papers.baselines.greedy import (
    CRITERIA,
    CRITERION_PARAMETER,
    CRITERION_RULE,
    DEPTH_BY_ROWS,
    PLAN_PARAMETERS,
    Criterion,
    GreedyForest,
)

_OWN_PARAMETERS = (
    """n_estimators : int, default=100
        Number of trees.
    """
    + CRITERION_PARAMETER.replace("{default}", "gini")
    + """max_features : int, optional
        Features, drawn with public coins, that a node compares; None compares all.
    """
    + PLAN_PARAMETERS
)


@parameters
@shared_parameters(_OWN_PARAMETERS, "5 by default. " + DEPTH_BY_ROWS, classifier=True)
class RanaForestClassifier(GreedyForest, PrivateForestClassifierBase):
    """A large forest of greedy trees (RGV), at epsilon for the whole of it.

    In every node the exponential mechanism chooses feature and cut by the labels; leaves release noisy class
    counts, which are added up over the trees.

    **Guarantee.** Pure epsilon-DP for adding or removing one row ((epsilon, delta)-DP by zCDP if delta > 0),
    *because epsilon is divided by the number of trees here, and not in the paper*. The paper spends epsilon
    in each of its 100 to 1400 trees and promises something else: that statistics such as the variance of the
    estimate hardly change with one row, and that certain adversaries who know all other rows learn little
    about its values. That definition hides what a person's values are, not whether the person is in the
    table. As epsilon-DP such a forest is worth n_estimators times epsilon at best, and that is the only sense
    in which this library speaks of privacy. ``as_published=True`` runs it, warns, and says in `guarantee_`
    that the definition is a relaxed one and that nothing is promised.

    **Departures from the paper.** The text was out of reach; this is a reconstruction from its abstract and
    from what Fletcher and Islam (2017, Sec. 5.2) and Consul and Williamson (2020, 2021) say of it: trees like
    those of Friedman and Schuster, numeric features, bootstrapped samples, the whole budget in each tree. (1)
    Epsilon is divided, as said. (2) Every tree sees every row once, not a bootstrap sample, in which a row
    may count several times. (3) The number of trees is a parameter; the paper's formulas for it, which are
    for two classes, are part of its definition of privacy. (4) Trees are not stopped by noisy counts: at an
    n-th of the budget these would stop everything. (5) Splits are binary. (6) Noise is discrete; missing and
    undeclared values have cells of their own.

    Parameters
    ----------
    {parameters}

    Examples
    --------
    >>> import numpy as np
    >>> from dpforest.papers.baselines import RanaForestClassifier
    >>> X = np.random.default_rng(0).random((20000, 3))
    >>> y = (X[:, 0] > 0.5).astype(int)
    >>> model = RanaForestClassifier(epsilon=2.0, bounds=(0, 1), classes=[0, 1]).fit(X, y)
    >>> model.score(X, y) > 0.7
    True
    """

    n_estimators: Any = field(default=100, kw_only=False)
    max_depth: int | None = 5
    criterion: Criterion = "gini"
    max_features: int | None = None

    _published: ClassVar[str] = "relaxed_forest"
    _rules: ClassVar = {
        **GreedyForest._rules,
        "criterion": CRITERION_RULE,
        "max_features": whole(1, or_none=True),
    }

    def _score(self) -> Utility:
        return CRITERIA[self.criterion]

    def _paper_options(self) -> dict[str, Any]:
        return {**super()._paper_options(), "criterion": self.criterion, "max_features": self.max_features}
