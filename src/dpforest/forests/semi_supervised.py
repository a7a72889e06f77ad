"""Private ensembles from labelled and unlabelled rows (Huang, Lei and Kaban 2022, Algorithms 3 and 4).

Median splits need no labels, so unlabelled rows can shape the trees and labelled rows are left for the
leaves. Unlabelled rows have -1, None or nothing as label, as in scikit-learn's semi-supervised module, or one
that is not declared. Where only labels are private, a label may change to another declared one unnoticed;
which rows are labelled is public.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpforest._curator import Curator
from dpforest._structure import FlatTrees
from dpforest._trees import (
    find_leaves,
    geometric_shares,
    grow_median,
    grow_public_median,
    sum_leaf_values,
)
from dpforest.forests.base import PrivateForest, PrivateForestClassifierBase
from dpforest.forests.depths import depth_by_halvings
from dpforest.forests.docs import shared_parameters
from dpforest.forests.foresight import Ask, Shape, count_labels, count_leaves
from dpforest.forests.parameters import ANY_DEPTH, choice, parameters, whole
from dpforest.forests.partitioning import (
    BUDGET_RATIO,
    LEAF_ROWS,
    first_median,
    median_shapes,
)
from dpforest.forests.pools import counting_share
from dpforest.forests.release import Trained
from dpforest.privacy import NeighboringRelation, Pool
from dpforest.schema import Schema

if TYPE_CHECKING:
    from dpforest.papers.published import Domain, PublishedForest

# Labelled rows per leaf where trees cost nothing. 1.25, 2.5 and 5 were tried at epsilon 2 with a fifth of the
# rows labelled, on banknote, wall_robot_4, magic, pendigits and mushroom.
PUBLIC_LEAF_ROWS = 2.5

_DEPTH = (
    "None takes the number of features, or less where leaves would hold under 5 rows on average (under 2.5 "
    "labelled rows where features are public)."
)


@parameters
class _LabelPrivate(PrivateForestClassifierBase):
    """What both estimators share when only labels are private: trees from public features."""

    _published_depth: ClassVar[int] = ANY_DEPTH
    _unlabelled_code: ClassVar[int] = -1
    _one_against_rest: ClassVar[bool] = True

    def _shapes(self, schema: Schema) -> Iterator[Shape]:
        return median_shapes(schema, self.n_estimators, self.max_depth)

    def _asks(self, schema: Schema, shape: Shape) -> list[Ask]:
        return [count_labels(schema)]

    def _public_depth(self, curator: Curator, n_trees: int) -> int:
        """Limit the depth by the public number of labelled rows."""
        if self.max_depth is not None:
            return int(self.max_depth)
        _, is_labelled = curator.public_cells()
        limit = depth_by_halvings(curator.schema, int(is_labelled.sum()), n_trees, PUBLIC_LEAF_ROWS)
        return min(limit, self._limits.depth)


@parameters
@shared_parameters(
    """n_estimators : int, default=10
        Number of trees.
    feature_privacy : bool, default=True
        True protects whole rows (SSPE-1). False protects labels only, features are public (SSPE-2): the
        guarantee is then for changing one label, and `neighboring` is not used.
    persons_in_both : bool, default=False
        Say True if a person may have an unlabelled and a labelled row: the budget is then shared by trees
        and leaves instead of given to both. Only with `feature_privacy`. With `max_rows_per_person` a person
        may have so many rows in each of the two sets.
    """,
    _DEPTH,
    classifier=True,
)
class SemiSupervisedPartitioningEnsembleClassifier(_LabelPrivate):
    """Median trees shaped by unlabelled rows, leaves filled by labelled ones (SSPE-1 and SSPE-2).

    **Guarantee.** ``feature_privacy=True``: pure epsilon-DP for adding or removing one row, labelled or not.
    An unlabelled row touches the trees only, a labelled one the leaves only, so each gets the whole budget; a
    person with a row in both sets is covered by ``persons_in_both=True``. Giving a label to a row that had
    none counts as removing one row and adding another. ``feature_privacy=False``: epsilon-DP for changing
    one label to another declared one. Features are public, and so is which rows have a declared label; trees
    are cut at exact medians.

    **Differs from the paper** (Huang, Lei and Kaban 2022, Algorithm 3) as `PartitioningEnsembleClassifier`
    does, and in the label noise of SSPE-2: a changed label moves two counts, so Laplace(1 / epsilon) on all
    counts costs 2 epsilon. Here two classes share one noisy count (leaf sizes are public), and more classes
    get twice the noise.

    Parameters
    ----------
    {parameters}

    Examples
    --------
    >>> import numpy as np
    >>> from dpforest import SemiSupervisedPartitioningEnsembleClassifier
    >>> X = np.random.default_rng(0).random((5000, 2))
    >>> truth = (X[:, 0] > 0.5).astype(int)
    >>> y = np.where(np.arange(5000) % 5 == 0, truth, -1)
    >>> model = SemiSupervisedPartitioningEnsembleClassifier(epsilon=2.0, bounds=(0, 1), classes=[0, 1])
    >>> model.fit(X, y).score(X, truth) > 0.7
    True
    """

    feature_privacy: bool = True
    persons_in_both: bool = False

    _published: ClassVar[str] = "partitioning_ensemble"
    _not_published: ClassVar[frozenset[str]] = frozenset({"persons_in_both"})
    _rules: ClassVar = {
        **PrivateForest._rules,
        "feature_privacy": choice(True, False),
        "persons_in_both": choice(True, False),
    }

    def _relation(self) -> NeighboringRelation:
        return super()._relation() if self.feature_privacy else NeighboringRelation.LABEL_CHANGE

    def _pools(self) -> list[Pool]:
        if not self.feature_privacy:
            return [Pool("leaves", Fraction(1), "noisy class counts of every leaf")]
        counting = self._counted() * counting_share(self.max_depth is None)
        each = (1 - counting) / 2 if self.persons_in_both else 1 - counting
        parts = ("all rows", "all rows") if self.persons_in_both else ("unlabelled rows", "labelled rows")
        splitting = each if self.max_depth != 0 else Fraction(0)
        return [
            Pool("count", counting, "noisy number of rows, which limits the depth"),
            Pool("splits", splitting, "private medians, each level 3/2 of the one above", parts[0]),
            Pool("leaves", each, "noisy class counts of every leaf", parts[1]),
        ]

    def _asks(self, schema: Schema, shape: Shape) -> list[Ask]:
        if not self.feature_privacy:
            return super()._asks(schema, shape)
        return [Ask("count", Fraction(1, self._counted())), first_median(shape), count_leaves(schema)]

    def _counted(self) -> int:
        """How many times the price of one row a person pays for the number of all rows.

        Someone with a row in each set moves it by 2: twice the epsilon, or four times the rho. Trees and
        leaves look at one set each, so that their prices add up as they are.
        """
        if not self.persons_in_both:
            return 1
        return 4 if self.delta else 2

    def _grow(self, curator: Curator) -> FlatTrees:
        n_trees = self.n_estimators
        if not self.feature_privacy:
            trees = grow_public_median(curator, n_trees, self._public_depth(curator, n_trees))
            curator.scatter_rows(n_trees)
            return trees
        depth = self.max_depth
        if depth is None:
            n_rows = curator.row_count("count", Fraction(1, self._counted()))
            limit = depth_by_halvings(curator.schema, n_rows, n_trees, LEAF_ROWS)
            depth = min(limit, self._limits.depth)
        curator.scatter_rows(n_trees)
        shares = geometric_shares(depth, BUDGET_RATIO)
        return grow_median(curator, "splits", n_trees, depth, shares, unlabelled_only=True)

    def _publish(
        self, X: NDArray[np.float64], y: NDArray[Any], domain: Domain, rng: np.random.Generator
    ) -> PublishedForest:
        from dpforest.papers.published import partitioning_ensemble

        return partitioning_ensemble(
            X[y >= 0],
            y[y >= 0],
            domain,
            rng,
            epsilon=float(self.epsilon),
            n_trees=self.n_estimators,
            max_depth=self.max_depth,
            unlabelled=X[y < 0],
            label_only=not self.feature_privacy,
        )


@parameters
@shared_parameters(
    """n_estimators : int, default=10
        Trees of the first ensemble, whose leaves hold private labels.
    n_second : int, default=10
        Trees of the second ensemble, whose leaves hold labels that the first predicts.
    """,
    _DEPTH,
    classifier=True,
)
class TransductivePartitioningEnsembleClassifier(_LabelPrivate):
    """A first ensemble labels the unlabelled rows, a second one learns from them too (PTE).

    Features are public. The first ensemble is SSPE-2: exact medians of all rows, noisy counts of the private
    labels. It predicts the unlabelled rows, and the second ensemble counts these predictions, without noise
    because they are public already. Both ensembles predict together, their counts added up.

    **Guarantee.** Epsilon-DP for changing one label to another declared one ((epsilon, delta)-DP by zCDP if
    delta > 0). Features are public, and so is which rows have a declared label; a missing or undeclared label
    is no label. `neighboring` is not used.

    **Differs from the paper** (Huang, Lei and Kaban 2022, Algorithm 4): its pseudo-code is of setting I,
    where its many trees on the same rows would cost many times epsilon; only label privacy makes sense, and
    ``as_published=True`` runs Algorithm 4 so too, with true medians. There the second ensemble needs no
    noise, and label counts have the constants of
    `SemiSupervisedPartitioningEnsembleClassifier`.

    Parameters
    ----------
    {parameters}
    transduction_ : ndarray
        Predicted labels of the rows without a declared label, in their order; which rows these are is public.

    Examples
    --------
    >>> import numpy as np
    >>> from dpforest import TransductivePartitioningEnsembleClassifier
    >>> X = np.random.default_rng(0).random((5000, 2))
    >>> truth = (X[:, 0] > 0.5).astype(int)
    >>> y = np.where(np.arange(5000) % 5 == 0, truth, -1)
    >>> model = TransductivePartitioningEnsembleClassifier(epsilon=2.0, bounds=(0, 1), classes=[0, 1])
    >>> model.fit(X, y).transduction_.shape
    (4000,)
    """

    n_second: int = field(default=10, kw_only=False)

    _published: ClassVar[str] = "transductive_ensemble"
    _is_transductive: ClassVar[bool] = True
    _rules: ClassVar = {**PrivateForest._rules, "n_second": whole(1, 65536)}

    def _relation(self) -> NeighboringRelation:
        return NeighboringRelation.LABEL_CHANGE

    def _shapes(self, schema: Schema) -> Iterator[Shape]:
        return median_shapes(schema, self.n_estimators + self.n_second, self.max_depth)

    def _pools(self) -> list[Pool]:
        return [Pool("leaves", Fraction(1), "noisy class counts of every leaf of the first ensemble")]

    def _grow(self, curator: Curator) -> FlatTrees:
        depth = self._public_depth(curator, self.n_estimators)
        trees = grow_public_median(curator, self.n_estimators + self.n_second, depth)
        curator.scatter_rows(self.n_estimators)
        return trees

    def _train(self, curator: Curator) -> Trained:
        trees = self._grow(curator)
        first, second = trees[: self.n_estimators], trees[self.n_estimators :]
        private, sd = curator.leaf_histograms("leaves", first)
        cells, is_labelled = curator.public_cells()
        unlabelled = cells[~is_labelled]
        predicted = sum_leaf_values(first, private.astype(np.float64), unlabelled).argmax(axis=1)
        labels = np.asarray(curator.schema.classes.labels)[predicted]
        counts = np.zeros((second.n_trees, second.n_leaves, private.shape[2]), np.int64)
        for tree, leaves in zip(counts, find_leaves(second, unlabelled), strict=True):
            np.add.at(tree, (leaves, predicted), 1)
        noises = (sd,) * first.n_trees + (0.0,) * second.n_trees
        return Trained(trees, np.concatenate([private, counts]), noises, transduction=labels)

    def _publish(
        self, X: NDArray[np.float64], y: NDArray[Any], domain: Domain, rng: np.random.Generator
    ) -> PublishedForest:
        from dpforest.papers.published import transductive_ensemble

        return transductive_ensemble(
            X[y >= 0],
            y[y >= 0],
            domain,
            rng,
            epsilon=float(self.epsilon),
            n_first=self.n_estimators,
            n_second=self.n_second,
            max_depth=self.max_depth,
            unlabelled=X[y < 0],
            label_only=True,
        )
