"""Random decision trees with noisy counts (Jagannathan, Pillaipakkamnatt and Wright 2009, 2012).

The first private random forest; the papers call it RDT or JPW. Trees are drawn without a look at the rows, so
the whole budget goes to the class counts of the leaves.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpforest._curator import Curator
from dpforest._structure import FlatTrees
from dpforest._trees import grow_multiway
from dpforest.forests.base import PrivateForestClassifierBase
from dpforest.forests.depths import binary_depth
from dpforest.forests.docs import shared_parameters
from dpforest.forests.foresight import Ask, Shape, count_leaves, shapes_of
from dpforest.forests.parameters import ANY_DEPTH, parameters
from dpforest.forests.pools import counting_share
from dpforest.papers.published import Domain, PublishedForest, noisy_count_forest
from dpforest.privacy import Pool
from dpforest.schema import Schema


def jpw_depth(n_categories: NDArray[Any], n_rows: float) -> int:
    """Features that a path may draw: min(m / 2, log_b n - 1), at least 1.

    m is the number of features, half of it rounded up; b the average number of values, an ordered feature
    counting as the two sides of its cut.

    Parameters
    ----------
    n_categories : ndarray of int, shape (m,)
        Categories of every nominal feature, 0 for the others.
    n_rows : float
        Number of rows.

    Examples
    --------
    >>> import numpy as np
    >>> [jpw_depth(np.full(22, 4), n) for n in (1023, 1024, 10**9)]
    [3, 4, 11]
    >>> jpw_depth(np.zeros(10), 10**9)
    5
    """
    m = len(n_categories)
    branches = max(float(np.where(n_categories > 0, n_categories, 2).mean()), 2.0)
    by_rows = math.log(max(n_rows, 1.0)) / math.log(branches) + 1e-9  # a power of b is that power
    return max(1, min(math.ceil(m / 2), int(by_rows) - 1))


@parameters
@shared_parameters(
    """n_estimators : int, default=10
        Number of trees.
    """,
    "Features that a path may draw; None takes the smaller of half their number and log_b(n) - 1, b the "
    "average number of values, n a noisy count.",
    classifier=True,
)
class JPWForestClassifier(PrivateForestClassifierBase):
    """Random trees that all see all rows, noisy class counts, summed over the trees (JPW, RDT).

    A node draws a feature with public coins. A nominal one is taken apart into its categories, and so is used
    once per path; an ordered one is cut at a random place. Leaves release noisy class counts, and the class
    with the largest sum over the trees wins.

    **Guarantee.** Pure epsilon-DP for adding or removing one row ((epsilon, delta)-DP by zCDP if delta > 0):
    a row is in one leaf of each of the k trees, so counts carry noise with pmf exp(-|i| epsilon / k).

    **Departures from the paper** (2012). Its text was out of reach beyond the abstract; `as_published=True`
    is what Fletcher and Islam (2017, Secs. 3.1 and 5.2) ran, after their text and program. (1) The depth
    depends on the private number of rows. Here that number is released first, with noise, for 2 % of the
    budget; `max_depth` saves it. (2) Noise is discrete. (3) A split into m categories takes about log2(m)
    binary levels, and a tree has at most 2**15 leaves, so paths through many nominal features may end
    earlier. (4) Missing and undeclared values have cells of their own. (5) Half of an odd number of features
    is rounded up. (6) Counts are added up over the trees, where the program has one vote per tree, and a leaf
    without rows has noisy counts like any other.

    Parameters
    ----------
    {parameters}

    Examples
    --------
    >>> import numpy as np
    >>> from dpforest.papers.baselines import JPWForestClassifier
    >>> X = np.random.default_rng(0).random((20000, 4))
    >>> y = (X[:, 0] > 0.5).astype(int)
    >>> model = JPWForestClassifier(100, epsilon=1.0, bounds=(0, 1), classes=[0, 1]).fit(X, y)
    >>> model.score(X, y) > 0.7
    True
    """

    _published: ClassVar[str] = "noisy_count_forest"
    _published_depth: ClassVar[int] = ANY_DEPTH

    def _pools(self) -> list[Pool]:
        counting = counting_share(self.max_depth is None)
        return [
            Pool("count", counting, "noisy number of rows, from which the depth follows"),
            Pool("leaves", 1 - counting, "noisy class counts of every leaf, an equal part for each tree"),
        ]

    def _shapes(self, schema: Schema) -> Iterator[Shape]:
        drawn_features = schema.n_features if self.max_depth is None else self.max_depth
        depth = binary_depth(schema, drawn_features, self.n_estimators)
        return shapes_of(schema, self.n_estimators, depth)

    def _asks(self, schema: Schema, shape: Shape) -> list[Ask]:
        return [Ask("count"), count_leaves(schema, copies=shape.n_trees)]

    def _grow(self, curator: Curator) -> FlatTrees:
        schema, drawn_features = curator.schema, self.max_depth
        if drawn_features is None:
            categories = np.where(schema.nominal, schema.n_cells - 2, 0)  # without missing and other
            drawn_features = jpw_depth(categories, curator.row_count("count"))
        depth = binary_depth(schema, drawn_features, self.n_estimators)
        return grow_multiway(curator, self.n_estimators, depth, drawn_features)

    def _publish(
        self, X: NDArray[np.float64], y: NDArray[Any], domain: Domain, rng: np.random.Generator
    ) -> PublishedForest:
        depth = self.max_depth
        if depth is None:
            depth = jpw_depth(domain.n_categories, int((y >= 0).sum()))
        return noisy_count_forest(
            X,
            y,
            domain,
            rng,
            epsilon=float(self.epsilon),
            n_trees=self.n_estimators,
            max_depth=depth,
        )
