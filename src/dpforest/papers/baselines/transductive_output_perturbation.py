"""Neighbours label the unlabelled rows, then a linear predictor with noise (Long and Sakuma 2017; TOP).

Not a forest, but it is asked and stored as one: a linear predictor is a sum over features of a function of
one feature's cell, so every feature has a tree of its own, a ladder of cuts, whose leaves hold that function.

Why it is private
-----------------
Only labels are private. Everything that follows from features is public: who is whose neighbour, and the
matrix that turns labels into weights, because the minimum of a regularised squared loss is linear in the
labels. Its entries are rounded to whole numbers before any label is looked at; so the weights before noise
are whole numbers too, a changed label moves them by one known column of the matrix, and the largest L1 norm
of a column, computed exactly, is the sensitivity. `Curator.label_sums` adds discrete noise to match.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import field
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dpforest._arrays import FloatArray, IntArray
from dpforest._curator import Curator
from dpforest._structure import FlatTrees
from dpforest._structure.flat import EVERYTHING_LEFT
from dpforest._trees import find_leaves, sum_leaf_values
from dpforest.forests.base import PrivateForest, PrivateForestClassifierBase
from dpforest.forests.docs import shared_parameters
from dpforest.forests.foresight import Ask, Shape, shapes_of
from dpforest.forests.parameters import MAX_DEPTH, MAX_TABLE_ENTRIES, choice, parameters, real, whole
from dpforest.forests.release import Trained
from dpforest.papers.published import Domain, PublishedForest, output_perturbation
from dpforest.privacy import BudgetPlan, Kind, NeighboringRelation, Pool, Query
from dpforest.schema import Schema

UNIT = 256  # standardised values of a feature are whole multiples of 1 / UNIT
# 0.01, 0.1, 0.3 and 1 were tried at epsilon 2 with a fifth of the rows labelled, on banknote, pendigits,
# mushroom, wall_robot_4, dry_bean, car and claves.
REGULARIZATION = 0.3
COLUMN_NORM = 2**14  # L1 norm to which the longest column of the matrix is scaled before rounding


@parameters
@shared_parameters(
    """n_estimators : 1, default=1
        There is one predictor.
    n_neighbors : int, default=5
        How many neighbours a row may have. A labelled and an unlabelled row are neighbours if each is among
        the nearest so many of the other.
    regularization : float, default=0.3
        Weight of the squared weights, relative to the mean squared error.
    """,
    "Every feature is rounded to 2**max_depth steps; None keeps all cells of its grid.",
    classifier=True,
)
class TransductiveOutputPerturbationClassifier(PrivateForestClassifierBase):
    """Labels from mutual neighbours, a regularised linear predictor, noise on its weights (TOP).

    An unlabelled row gets the mean of its neighbours' labels; rows without neighbours are left out. A linear
    predictor of every class is fitted to all labels by regularised least squares, and its weights are
    released with noise. Numbers are standardised, categories have a weight each. Unlabelled rows have -1,
    None or nothing as label.

    **Guarantee.** Pure epsilon-DP for changing one label to another declared one ((epsilon, delta)-DP by zCDP
    if delta > 0). Features are public, and so is which rows have a declared label; a missing or undeclared
    label is no label. `neighboring` is not used. The weights are a public whole-number matrix times the
    labels, so that the effect of one label is known exactly.

    **Departures from the paper.** The text was out of reach; this is a reconstruction from its abstract, from
    what Huang, Lei and Kaban (2022, Secs. 2 and 6.3) say (nearest neighbours label the unlabelled rows, a
    linear predictor is trained with them, features are not private), and from notes that its neighbours are
    mutual. (1) Squared loss, whose minimum is linear in the labels; a bound by strong convexity for other
    losses is many times larger, and holds for the exact minimum only. (2) An unlabelled row gets the mean of
    its neighbours' labels instead of the most common one: a label then counts for less. (3) Discrete noise,
    independent for each weight. (4) More than two classes are predicted together. (5) Missing and undeclared
    numbers count as the mean, categories have their own.

    Parameters
    ----------
    {parameters}
    transduction_ : ndarray
        Predicted labels of the rows without a declared label, in their order; which rows these are is public.

    Examples
    --------
    >>> import numpy as np
    >>> from dpforest.papers.baselines import TransductiveOutputPerturbationClassifier
    >>> X = np.random.default_rng(0).random((2000, 2))
    >>> truth = (X[:, 0] + X[:, 1] > 1).astype(int)
    >>> y = np.where(np.arange(2000) % 5 == 0, truth, -1)
    >>> model = TransductiveOutputPerturbationClassifier(epsilon=2.0, bounds=(0, 1), classes=[0, 1])
    >>> model.fit(X, y).score(X, truth) > 0.85
    True
    """

    n_estimators: Any = field(default=1, kw_only=False)
    n_neighbors: int = 5
    regularization: float = REGULARIZATION

    _published: ClassVar[str] = "output_perturbation"
    _not_published: ClassVar[frozenset[str]] = frozenset({"max_depth"})
    _is_transductive: ClassVar[bool] = True
    _unlabelled_code: ClassVar[int] = -1
    _rules: ClassVar = {
        **PrivateForest._rules,
        "n_estimators": choice(1),
        "n_neighbors": whole(1),
        "regularization": real(1e-6, 1e6, closed="both"),
    }

    def _relation(self) -> NeighboringRelation:
        return NeighboringRelation.LABEL_CHANGE

    def _pools(self) -> list[Pool]:
        return [Pool("weights", Fraction(1), "noisy weights, from which the scores of every leaf follow")]

    def _shapes(self, schema: Schema) -> Iterator[Shape]:
        return shapes_of(schema, schema.n_columns + 1, ladder_depth(schema, self.max_depth))

    def _asks(self, schema: Schema, shape: Shape) -> list[Ask]:
        moved = 1 if schema.classes.n_classes == 2 else 2
        longest = COLUMN_NORM + most_terms(schema)  # rounding adds less than 1 to each
        return [Ask("weights", Fraction(1), 1, moved * longest, squared=moved * longest**2)]

    def _foresee(self, plan: BudgetPlan, schema: Schema) -> None:
        super()._foresee(plan, schema)
        n_terms, n_leaves = most_terms(schema), 2**self._limits.depth
        if n_terms * max(n_terms, n_leaves) > MAX_TABLE_ENTRIES:
            raise ValueError(
                f"{type(self).__name__}: a fit has no room for {n_terms} weights: declare fewer categories. "
                "Nothing was charged."
            )

    def _train(self, curator: Curator) -> Trained:
        trees = ladders(curator.schema, self.max_depth, curator.subsets.left_sets)
        cells, is_labelled = curator.public_cells()
        terms = Terms.of(trees, cells, curator.schema)
        rows = terms.rows(find_leaves(trees, cells))
        matrix = whole_columns(
            least_squares(rows[is_labelled], rows[~is_labelled], self.n_neighbors, self.regularization)
        )
        query = Query(Kind.LABEL_SUMS, "for leaf scores")
        weights, _ = curator.label_sums("weights", matrix, query=query)
        scores = terms.leaf_scores(weights)
        unlabelled = sum_leaf_values(trees, scores.astype(np.float64), cells[~is_labelled])
        labels = np.asarray(curator.schema.classes.labels)[unlabelled.argmax(axis=1)]
        return Trained(trees, scores, transduction=labels)

    def _publish(
        self, X: FloatArray, y: NDArray[Any], domain: Domain, rng: np.random.Generator
    ) -> PublishedForest:
        return output_perturbation(
            X[y >= 0],
            y[y >= 0],
            domain,
            rng,
            epsilon=float(self.epsilon),
            unlabelled=X[y < 0],
            neighbours=partial(mutual_neighbours, n_neighbors=self.n_neighbors),
            n_neighbors=self.n_neighbors,
            regularization=self.regularization,
        )

    @property
    def feature_importances_(self) -> FloatArray:
        """How far the score of each feature reaches between its values, from released weights: free."""
        check_is_fitted(self)
        if self._is_published:
            raise AttributeError("feature_importances_ needs released leaf scores, which this model has not.")
        reach = np.ptp(self.leaf_votes_[:-1], axis=1).sum(axis=1)
        shares: FloatArray = reach / reach.sum() if reach.any() else reach
        return shares


def ladder_depth(schema: Schema, max_depth: int | None) -> int:
    """Levels that take every feature apart down to single cells, if so many are allowed."""
    needed = math.ceil(math.log2(schema.n_cells.max()))
    return min(needed, MAX_DEPTH if max_depth is None else max_depth)


def most_terms(schema: Schema) -> int:
    """Count what the predictor may be linear in: ordered features, categories, and a constant."""
    return int(np.where(schema.nominal, schema.n_cells, 1).sum()) + 1


def ladders(schema: Schema, max_depth: int | None, left_sets: NDArray[np.uint8]) -> FlatTrees:
    """One tree per feature, which halves the feature's cells down to single ones, and one without a split.

    Examples
    --------
    >>> from dpforest.schema import Numeric, Schema
    >>> trees = ladders(Schema({"x": Numeric(0, 1, bins=2)}), None, np.zeros((1, 1), np.uint8))
    >>> trees.depth, trees.threshold[0].tolist()  # cells 0 to 3
    (2, [1, 0, 2])
    """
    n_cells, depth = schema.n_cells.astype(np.int32), ladder_depth(schema, max_depth)
    trees = FlatTrees.unsplit(len(n_cells) + 1, depth, left_sets)
    trees.feature[:-1] = np.arange(len(n_cells), dtype=np.int32)[:, None]
    first, last = np.zeros((len(n_cells), 1), np.int32), n_cells[:, None] - 1
    for level in range(depth):
        middle = (first + last) // 2
        cut = np.where(first < last, middle, EVERYTHING_LEFT)
        trees.threshold[:-1, trees.level(level)] = cut
        first = np.stack([first, np.minimum(middle + 1, last)], axis=2).reshape(len(n_cells), -1)
        last = np.stack([np.minimum(middle, last), last], axis=2).reshape(len(n_cells), -1)
    return trees


class Terms(NamedTuple):
    """What the predictor is linear in: each ordered feature, each leaf of a nominal one, and a constant.

    Parameters
    ----------
    tree : ndarray of shape (n_terms,)
        Tree that each term belongs to.
    value : ndarray of shape (n_terms, n_leaves), int64
        The term in each leaf of its tree, in whole multiples of 1 / UNIT.
    """

    tree: IntArray
    value: IntArray

    @classmethod
    def of(cls, trees: FlatTrees, cells: NDArray[Any], schema: Schema) -> Terms:
        """Standardise by public rows; where a value is unknown the term is 0, its mean."""
        tree: list[int] = []
        value: list[IntArray] = []
        every = np.arange(schema.n_cells.max())
        leaf_of_cell = find_leaves(trees, np.repeat(every[:, None], schema.n_columns, axis=1))
        for j, feature in enumerate(schema.features.values()):
            if feature.is_nominal:
                used = np.unique(leaf_of_cell[j, : feature.n_cells])
                tree += [j] * len(used)
                value += list(UNIT * (used[:, None] == np.arange(trees.n_leaves)).astype(np.int64))
                continue
            column = cells[:, j][cells[:, j] < feature.n_known].astype(np.float64)
            centre, width = (column.mean(), column.std()) if len(column) else (0.0, 0.0)
            known = leaf_of_cell[j, : feature.n_known]
            middle = np.bincount(known, every[: feature.n_known], minlength=trees.n_leaves)
            rows = np.bincount(known, minlength=trees.n_leaves)
            standard = (middle / np.maximum(rows, 1) - centre) / (width or 1.0)
            tree.append(j)
            value.append(np.where(rows > 0, np.rint(UNIT * standard), 0).astype(np.int64))
        constant = np.full(trees.n_leaves, UNIT)
        return cls(np.array([*tree, trees.n_trees - 1]), np.stack([*value, constant]))

    def rows(self, leaves: IntArray) -> FloatArray:
        """Return the terms of rows that are given by their leaf in every tree, shape (n_rows, n_terms)."""
        return np.take_along_axis(self.value, leaves[self.tree], axis=1).T / UNIT

    def leaf_scores(self, weights: IntArray) -> IntArray:
        """Return what each leaf adds to the score of each class, shape (n_trees, n_leaves, n_classes)."""
        shape = (int(self.tree.max()) + 1, self.value.shape[1], weights.shape[1])
        scores = np.zeros(shape, np.int64)
        np.add.at(scores, self.tree, self.value[:, :, None] * weights[:, None, :])
        return scores


def mutual_neighbours(
    labelled: FloatArray, unlabelled: FloatArray, n_neighbors: int
) -> tuple[IntArray, IntArray]:
    """Pairs of an unlabelled and a labelled row each of which is among the nearest of the other.

    Returns
    -------
    unlabelled, labelled : ndarray
        Positions; a row is in at most `n_neighbors` pairs.

    Examples
    --------
    >>> mutual_neighbours(np.array([[0.0], [9.0]]), np.array([[1.0], [2.0]]), n_neighbors=1)
    (array([0]), array([0]))
    """
    from sklearn.neighbors import NearestNeighbors

    if not len(labelled) or not len(unlabelled):
        return np.empty(0, np.int64), np.empty(0, np.int64)

    def nearest(of: FloatArray, among: FloatArray) -> IntArray:
        search = NearestNeighbors(n_neighbors=min(n_neighbors, len(among))).fit(among)
        found: IntArray = search.kneighbors(of, return_distance=False)
        return found

    ours, theirs = nearest(unlabelled, labelled), nearest(labelled, unlabelled)
    from_unlabelled = np.repeat(np.arange(len(ours)), ours.shape[1]) * len(labelled) + ours.ravel()
    from_labelled = theirs.ravel() * len(labelled) + np.repeat(np.arange(len(theirs)), theirs.shape[1])
    both = np.intersect1d(from_unlabelled, from_labelled)
    return both // len(labelled), both % len(labelled)


def least_squares(
    labelled: FloatArray, unlabelled: FloatArray, n_neighbors: int, regularization: float
) -> FloatArray:
    """Return the matrix that turns labels into weights, shape (n_labelled, n_terms).

    With F the terms of all rows and K the mean of neighbours, the labels are L = K y and the weights that
    minimise |F w - L|^2 + n regularization |w|^2 are (F'F + n regularization)^-1 F'K y: linear in y.
    """
    other, one = mutual_neighbours(labelled, unlabelled, n_neighbors)
    of_other = np.bincount(other, minlength=len(unlabelled))
    spoken_for = unlabelled[of_other > 0]
    said = labelled.copy()  # F'K, one row per label: its own row, and its share in its neighbours
    np.add.at(said, one, unlabelled[other] / of_other[other][:, None])
    n_rows = max(len(labelled) + len(spoken_for), 1)
    gram = labelled.T @ labelled + spoken_for.T @ spoken_for
    gram += n_rows * regularization * np.eye(len(gram))
    return np.asarray(np.linalg.solve(gram, said.T).T, np.float64)


def whole_columns(matrix: FloatArray) -> NDArray[np.int32]:
    """Scale the rows of a matrix, one for each label, so that the longest has L1 norm COLUMN_NORM; round."""
    longest = np.abs(matrix).sum(axis=1).max(initial=0.0)
    return np.rint(matrix * (COLUMN_NORM / longest if longest > 0 else 0.0)).astype(np.int32)
