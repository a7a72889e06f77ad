"""One greedy private decision tree (Friedman and Schuster 2010, "Data mining with differential privacy").

The first tree learner that asks the exponential mechanism for its splits instead of counting everything.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpforest._curator import Curator
from dpforest._structure import FlatTrees
from dpforest._structure.flat import EVERYTHING_LEFT
from dpforest._trees import class_shares, prune_by_errors, reachable_leaves
from dpforest._trees.growers import Level, draw_features, grow
from dpforest.forests.base import PrivateForest, PrivateForestClassifierBase
from dpforest.forests.docs import shared_parameters
from dpforest.forests.foresight import Ask, Shape, choose, codes_of, count_leaves, shapes_of
from dpforest.forests.parameters import ANY_DEPTH, MAX_DEPTH, choice, parameters, whole
from dpforest.forests.release import PrivateRelease
from dpforest.papers.baselines.greedy import CRITERIA, CRITERION_PARAMETER, CRITERION_RULE, Criterion
from dpforest.privacy import Kind, Pool, Query
from dpforest.schema import Schema

_OWN_PARAMETERS = (
    """n_estimators : 1, default=1
        Number of trees; there is one.
    """
    + CRITERION_PARAMETER.replace("{default}", "max_operator")
    + """pruning : bool, default=True
        Prune by the errors that the released counts lead to expect, as C4.5 does.
    """
)


@parameters
@shared_parameters(_OWN_PARAMETERS, "5 by default, as in the paper.", classifier=True)
class FriedmanSchusterTreeClassifier(PrivateForestClassifierBase):
    """One tree with private splits, stopped and pruned by noisy counts (FS).

    Every node releases its noisy size and is split if each class could have more rows in each child than the
    noise is wide. The exponential mechanism chooses feature and cut together, among all of them. Leaves
    release noisy class counts; pruning follows from these and costs nothing.

    **Guarantee.** Pure epsilon-DP for adding or removing one row ((epsilon, delta)-DP by zCDP if delta > 0):
    the two questions of each level and the leaves add up in equal parts; nodes of a level hold disjoint rows.

    **Departures from the paper.** `as_published=True` is the first author's program, line by line; with
    public ranges it keeps its promise, apart from doubles and from (4). (1) The original pays for a threshold
    of every continuous feature and then for the choice among the features; one mechanism over all cuts of all
    features costs once, however many there are. (2) Categories are cut into two sets, not into as many
    children as there are categories, and may be cut again. (3) Scores never fall, or never rise, when a row
    is added, so the exponent has no factor 1/2. (4) Information gain needs a bound on the number of rows,
    which the program reads off the private table; here it is capped beyond a public 65536 rows. (5) The gain
    ratio is left out: divided by the entropy of a split, which may be as small as one likes, it has no
    bounded sensitivity. (6) Nodes release their class counts, whose sum is the size, and counts of inner
    nodes are sums of leaves when it comes to pruning; the original scales its counts from the root down. (7)
    Noise is discrete; missing and undeclared values have cells of their own.

    Parameters
    ----------
    {parameters}

    Examples
    --------
    >>> import numpy as np
    >>> from dpforest.papers.baselines import FriedmanSchusterTreeClassifier
    >>> X = np.random.default_rng(0).random((5000, 3))
    >>> y = (X[:, 0] > 0.5).astype(int)
    >>> model = FriedmanSchusterTreeClassifier(epsilon=2.0, bounds=(0, 1), classes=[0, 1]).fit(X, y)
    >>> model.score(X, y) > 0.85
    True
    """

    n_estimators: Any = field(default=1, kw_only=False)
    max_depth: int | None = 5
    criterion: Criterion = "max_operator"
    pruning: bool = True

    _rules: ClassVar = {
        **PrivateForest._rules,
        "n_estimators": choice(1),
        "max_depth": whole(0, MAX_DEPTH),
        "criterion": CRITERION_RULE,
        "pruning": choice(True, False),
    }
    _published: ClassVar[str] = "greedy_tree"
    _published_depth: ClassVar[int] = ANY_DEPTH

    def _paper_options(self) -> dict[str, Any]:
        return {"max_depth": self.max_depth, "criterion": self.criterion, "pruning": self.pruning}

    def _pools(self) -> list[Pool]:
        depth = int(self.max_depth or 0)
        part = Fraction(1, 2 * depth + 1)
        return [
            Pool("counts", depth * part, "noisy size of every node above the leaves, which may stop it"),
            Pool("splits", depth * part, "splits by the labels, an equal part for each level"),
            Pool("leaves", part, "noisy class counts of every leaf"),
        ]

    def _shapes(self, schema: Schema) -> Iterator[Shape]:
        return shapes_of(schema, 1, int(self.max_depth or 0), schema.n_columns, codes_of(schema))

    def _asks(self, schema: Schema, shape: Shape) -> list[Ask]:
        level = Fraction(1, max(shape.depth, 1))
        splits = choose("splits", level, 1, CRITERIA[self.criterion].range_for(schema))
        return [Ask("counts", level), splits, count_leaves(schema)]

    def _grow(self, curator: Curator) -> FlatTrees:
        depth = int(self.max_depth or 0)
        share, n_columns = Fraction(1, max(depth, 1)), curator.schema.n_columns

        def level(trees: FlatTrees, at: int) -> Level:
            goes_on = self._is_large(curator, trees, at, share) & ~_ended_above(trees, at)
            features = draw_features(curator, trees, at, n_columns)
            feature, cut = curator.splits("splits", trees, at, features, CRITERIA[self.criterion], share)
            return feature, np.where(goes_on, cut, EVERYTHING_LEFT)

        return grow(curator, 1, depth, level)

    def _is_large(self, curator: Curator, trees: FlatTrees, at: int, share: Fraction) -> NDArray[np.bool_]:
        """Whether each node has more rows per child and class than its counts have noise."""
        query = Query(Kind.NODE_ROWS, level=at)
        counts, sd = curator.leaf_histograms("counts", replace(trees, depth=at), share, query)
        return np.asarray(counts.sum(axis=-1) > 2 * counts.shape[-1] * sd)

    def _votes(self, release: PrivateRelease) -> NDArray[np.float64]:
        statistics = release.statistics
        if release.settings["pruning"]:
            statistics = prune_by_errors(statistics, reachable_leaves(release.trees))
        return class_shares(statistics)


def _ended_above(trees: FlatTrees, at: int) -> NDArray[np.bool_]:
    """Whether the parent of each node was not split: its left child is the same node once more."""
    if at == 0:
        return np.zeros((trees.n_trees, 1), np.bool_)
    return np.repeat(trees.threshold[:, trees.level(at - 1)] == EVERYTHING_LEFT, 2, axis=1)
