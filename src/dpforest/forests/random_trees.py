"""Random decision trees with noisy counts and three voting rules (Bojarski et al. 2014).

Their regression form is what Consul and Williamson (2021) call DP-ERT.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dpforest._curator import MAX_ROWS, Curator
from dpforest._structure import FlatTrees
from dpforest._trees import class_shares, grow_random, majority_votes
from dpforest.forests.base import (
    PrivateForest,
    PrivateForestClassifierBase,
    PrivateForestRegressorBase,
)
from dpforest.forests.depths import height_by_noise
from dpforest.forests.docs import shared_parameters
from dpforest.forests.foresight import Ask, Shape, count_leaves, shapes_of
from dpforest.forests.parameters import Rule, choice, parameters, whole
from dpforest.forests.pools import counting_share
from dpforest.forests.release import PrivateRelease
from dpforest.privacy import Pool
from dpforest.schema import Schema

if TYPE_CHECKING:
    from dpforest.papers.published import Domain, PublishedForest

_DEPTH = (
    "Height of the trees; None takes the largest at which an average leaf equals its noise, by a noisy count."
)
_TREES = """n_estimators : int or "log", default="log"
        Number of trees; "log" takes an odd number near log2 of a noisy number of rows.
    """


def _trees_rule() -> Rule:
    text, accept = whole(1, 65536)
    return f'{text} or "log"', lambda value: value == "log" or accept(value)


def log_trees(n_rows: float) -> int:
    """Odd number of trees near log2(n), so that a majority of two classes is never a tie (k = Theta(log n)).

    Examples
    --------
    >>> log_trees(8000)
    13
    """
    return 2 * (int(math.log2(min(max(n_rows, 2.0), MAX_ROWS))) // 2) + 1


@parameters
class _RandomTrees(PrivateForest):
    """Plan and growth, the same for both tasks."""

    n_estimators: Any = field(default="log", kw_only=False)

    _published: ClassVar[str] = "random_decision_trees"
    _rules: ClassVar = {**PrivateForest._rules, "n_estimators": _trees_rule()}

    def _pools(self) -> list[Pool]:
        counts = self.n_estimators == "log" or self.max_depth is None
        counting = counting_share(counts)
        return [
            Pool("count", counting, "noisy number of rows, from which trees and height follow"),
            Pool("leaves", 1 - counting, "noisy statistics of every leaf, an equal part for each tree"),
        ]

    def _shapes(self, schema: Schema) -> Iterator[Shape]:
        n_trees = log_trees(MAX_ROWS) if self.n_estimators == "log" else self.n_estimators
        return shapes_of(schema, n_trees, self.max_depth)

    def _asks(self, schema: Schema, shape: Shape) -> list[Ask]:
        return [Ask("count"), count_leaves(schema, copies=shape.n_trees)]

    def _grow(self, curator: Curator) -> FlatTrees:
        n_rows = curator.row_count("count") if "count" in curator.ledger.plan else 0
        n_trees = log_trees(n_rows) if self.n_estimators == "log" else self.n_estimators
        depth = self.max_depth
        if depth is None:
            wanted = height_by_noise(n_rows, n_trees, min(float(self.epsilon), 1e6))
            depth = min(wanted, self._limits.depth)
        return grow_random(curator, n_trees, depth, in_box=False)

    def _publish(
        self, X: NDArray[np.float64], y: NDArray[Any], domain: Domain, rng: np.random.Generator
    ) -> PublishedForest:
        n_trees = log_trees(len(X)) if self.n_estimators == "log" else self.n_estimators
        depth = self.max_depth
        if depth is None:
            depth = height_by_noise(len(X), n_trees, float(self.epsilon))
        from dpforest.papers.published import random_decision_trees

        return random_decision_trees(
            X,
            y,
            domain,
            rng,
            epsilon=float(self.epsilon),
            n_trees=n_trees,
            max_depth=depth,
            voting=getattr(self, "voting", "threshold"),
        )


@parameters
@shared_parameters(
    _TREES
    + """voting : {{"majority", "threshold", "probabilistic"}}, default="threshold"
        Each tree votes for its leaf's most common class; or the class shares of the leaves are averaged and
        the largest wins; or a class is drawn with the averaged shares as probabilities.
    """,
    _DEPTH,
    classifier=True,
)
class RandomDecisionTreesClassifier(_RandomTrees, PrivateForestClassifierBase):
    """Complete random trees that all see all rows, noisy class counts, three voting rules.

    Every node draws a feature and a place in its whole public range with public coins. Leaves release noisy
    class counts; theta, the share of each class in a leaf, follows from them.

    **Guarantee.** Pure epsilon-DP for adding or removing one row ((epsilon, delta)-DP by zCDP if delta > 0):
    a row is in one leaf of each of the k trees, so counts carry noise with pmf exp(-|i| epsilon / k).

    **Differs from the paper** (Bojarski, Choromanska, Choromanski and LeCun 2014, Algorithm 2) in five ways.
    (1) The noise has scale k / epsilon. The paper's g(eta / k) is a rate, and its "standard deviation"
    costs a factor of sqrt(2). (2) k = Theta(log n) and eta = 1000 / n depend on the private n; here k follows
    from a noisy count, 2 % of the budget, or from the user. (3) A negative count is set to zero; the paper
    draws theta at random, which throws pure leaves away. (4) More than two classes: theta is a vector.
    (5) Missing and undeclared values have cells of their own; nominal features are cut by random subsets.

    Parameters
    ----------
    {parameters}

    Examples
    --------
    >>> import numpy as np
    >>> from dpforest import RandomDecisionTreesClassifier
    >>> X = np.random.default_rng(0).random((20000, 3))
    >>> y = (X[:, 0] > 0.5).astype(int)
    >>> model = RandomDecisionTreesClassifier(epsilon=1.0, bounds=(0, 1), classes=[0, 1]).fit(X, y)
    >>> model.score(X, y) > 0.8
    True
    """

    voting: Literal["majority", "threshold", "probabilistic"] = "threshold"

    _rules: ClassVar = {**_RandomTrees._rules, "voting": choice("majority", "threshold", "probabilistic")}

    def _votes(self, release: PrivateRelease) -> NDArray[np.float64]:
        shares = class_shares(release.statistics)
        return majority_votes(shares) if release.settings["voting"] == "majority" else shares

    def _check_target(self, schema: Schema) -> None:
        super()._check_target(schema)
        if self.voting == "probabilistic" and (self.class_weight, self.threshold) != (None, None):
            raise ValueError(
                f"{type(self).__name__}: voting='probabilistic' draws a class: neither class_weight nor "
                "threshold would decide it."
            )

    def predict(self, X: Any) -> NDArray[Any]:
        """Class of each row; ``voting="probabilistic"`` draws it anew at every call.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_features)
            New rows.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        check_is_fitted(self)
        if self.settings_["voting"] != "probabilistic":
            return super().predict(X)
        ends = self.predict_proba(X).cumsum(axis=1)
        drawn = np.random.default_rng(self.settings_.seed).random((len(ends), 1)) * ends[:, -1:]
        best: NDArray[Any] = (drawn >= ends).sum(axis=1)
        return np.take(self.classes_, best)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.voting == "probabilistic"
        return tags


@parameters
@shared_parameters(_TREES, _DEPTH, classifier=False)
class RandomDecisionTreesRegressor(_RandomTrees, PrivateForestRegressorBase):
    """Complete random trees that all see all rows, for regression (DP-ERT of Consul and Williamson 2021).

    Grows as `RandomDecisionTreesClassifier` does; leaves release the noisy sums of y and of its distance to
    the upper bound, whose ratio, added up over trees, is the prediction.

    **Guarantee.** Pure epsilon-DP for adding or removing one row ((epsilon, delta)-DP by zCDP if delta > 0).

    **Differs from the paper** (2021, Sec. 4) in the leaves: Laplace noise on a mean, scaled by the private
    number of rows, is not private.

    Parameters
    ----------
    {parameters}

    Examples
    --------
    >>> import numpy as np
    >>> from dpforest import RandomDecisionTreesRegressor
    >>> X = np.random.default_rng(0).random((20000, 2))
    >>> model = RandomDecisionTreesRegressor(bounds=(0, 1), target_bounds=(0, 1)).fit(X, X[:, 0])
    >>> model.score(X, X[:, 0]) > 0.3
    True
    """
