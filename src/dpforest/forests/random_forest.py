"""Random decision forest with private leaf labels (Fletcher and Islam 2017, with the addendum of 2021).

The trees are drawn without a look at the data; the whole budget goes to the one thing that is asked of it,
the most common label of every leaf.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpforest._curator import EXPONENTIAL, PERMUTE_AND_FLIP, Curator, Noisy
from dpforest._structure import FlatTrees
from dpforest._trees import grow_multiway, label_votes
from dpforest.forests.base import PrivateForest, PrivateForestClassifierBase
from dpforest.forests.depths import binary_depth, depth_that_tests_half
from dpforest.forests.docs import shared_parameters
from dpforest.forests.foresight import Ask, Shape, choose, shapes_of
from dpforest.forests.parameters import ANY_DEPTH, choice, parameters
from dpforest.forests.release import PrivateRelease
from dpforest.privacy import Pool
from dpforest.schema import Schema

if TYPE_CHECKING:
    pass

_OWN_PARAMETERS = """n_estimators : int, default=100
        Number of trees.
    label_mechanism : {{"permute_and_flip", "exponential"}}, default="permute_and_flip"
        How a leaf's label is chosen; the second is the addendum's. Not for
        ``as_published=True``, which chooses by smooth sensitivity.
    disjoint : bool, default=True
        True puts each row in one secret random tree; False puts every row in every tree at epsilon divided by
        the number of trees.
    """


@parameters
@shared_parameters(
    _OWN_PARAMETERS,
    "Features that a path may draw; None takes the depth of Theorem 2, from the numbers of features.",
    classifier=True,
)
class RandomDecisionForestClassifier(PrivateForestClassifierBase):
    """Random trees on disjoint rows whose leaves vote with a privately chosen label.

    A node draws a feature with public coins. An ordered one is cut at a random place of its current domain;
    a nominal one is taken apart into its categories, and so is used once per path. Each leaf releases its
    most common label, and every tree has one vote.

    **Guarantee.** Pure epsilon-DP for adding or removing one row ((epsilon, delta)-DP by zCDP if delta > 0):
    a row is counted in one leaf of one tree, and its label is chosen with W = 1.

    **Differs from the paper** in five ways. (1) Labels are chosen by permute-and-flip on the counts. The
    paper's exponential mechanism with smooth sensitivity loses privacy without bound as the majority grows;
    the addendum's replacement is available, and is not the "report one-sided noisy arg-max" that it is said
    to be: that is permute-and-flip, which is better. (2) Rows are assigned to trees independently, not in
    equal groups. (3) Empty leaves draw their label by the same mechanism. (4) A split into m categories takes
    about log2(m) of the binary levels of a tree with at most 2**15 leaves (fewer with many trees and
    classes), so paths through many nominal features end earlier than the paper's; every leaf must exist,
    because which leaves are empty is private. (5) Missing and undeclared values have cells of their own.

    Parameters
    ----------
    {parameters}

    Examples
    --------
    >>> import numpy as np
    >>> from dpforest import RandomDecisionForestClassifier
    >>> X = np.random.default_rng(0).random((20000, 3))
    >>> y = (X[:, 0] > 0.5).astype(int)
    >>> model = RandomDecisionForestClassifier(epsilon=1.0, bounds=(0, 1), classes=[0, 1]).fit(X, y)
    >>> model.score(X, y) > 0.8
    True
    """

    n_estimators: Any = field(default=100, kw_only=False)
    label_mechanism: str = "permute_and_flip"
    disjoint: bool = True

    _published: ClassVar[str] = "smooth_sensitivity_forest"
    _published_depth: ClassVar[int] = ANY_DEPTH
    _not_published: ClassVar[frozenset[str]] = frozenset({"label_mechanism"})
    _leaves_are_labels: ClassVar[bool] = True
    _rules: ClassVar = {
        **PrivateForest._rules,
        "label_mechanism": choice("permute_and_flip", "exponential"),
        "disjoint": choice(True, False),
    }

    def _pools(self) -> list[Pool]:
        return [Pool("leaves", Fraction(1), "label of every leaf")]

    def _paper_depth(self, schema: Schema) -> int:
        """Features that a path may draw."""
        if self.max_depth is not None:
            return self.max_depth
        return depth_that_tests_half(int((~schema.nominal).sum()), int(schema.nominal.sum()))

    def _mechanism(self) -> str:
        return PERMUTE_AND_FLIP if self.label_mechanism == "permute_and_flip" else EXPONENTIAL

    def _shapes(self, schema: Schema) -> Iterator[Shape]:
        depth = binary_depth(schema, self._paper_depth(schema), self.n_estimators)
        return shapes_of(schema, self.n_estimators, depth)

    def _asks(self, schema: Schema, shape: Shape) -> list[Ask]:
        copies = 1 if self.disjoint else shape.n_trees
        return [choose("leaves", Fraction(1), copies, 1, self._mechanism())]

    def _grow(self, curator: Curator) -> FlatTrees:
        if self.disjoint:
            curator.scatter_rows(self.n_estimators)
        paper_depth = self._paper_depth(curator.schema)
        return grow_multiway(curator, self.n_estimators, self._limits.depth, paper_depth)

    def _fill(self, curator: Curator, trees: FlatTrees) -> Noisy:
        return Noisy(curator.leaf_labels("leaves", trees, mechanism=self._mechanism()), 0.0)

    def _votes(self, release: PrivateRelease) -> NDArray[np.float64]:
        return label_votes(release.statistics, release.schema.classes.n_classes)

    def _paper_options(self) -> dict[str, Any]:
        return {**super()._paper_options(), "disjoint": self.disjoint}
