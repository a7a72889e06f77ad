"""The default forest for classes: one tree guided by the labels, beside a linear part where that pays.

What is shared with numbers is in `guided`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted

from dpforest._curator import (
    MIXTURE_UNIT,
    NAMED,
    NESTED,
    NESTED_OR_RIVAL,
    NOTHING_EXPECTED,
    Curator,
    Parted,
    Utility,
)
from dpforest._linear import (
    Space,
    Standard,
    affordable_directions,
    class_scores,
    classes_can_be_fitted,
    discriminant_scores,
    ordered_features,
    random_directions,
    refined,
    standards,
    weighings,
)
from dpforest._shrinkage import shrunk_counts
from dpforest._structure import Additive, FlatTrees
from dpforest._structure.link import probabilities
from dpforest._trees import (
    CENTRED,
    LEAST_FOR_PAIRS,
    Rivals,
    as_shares,
    grow_guided_or_part,
    levels_in_pairs,
)
from dpforest.forests.base import PrivateForestClassifierBase
from dpforest.forests.depths import depth_by_evidence, even_depth_by_evidence
from dpforest.forests.docs import shared_parameters
from dpforest.forests.foresight import Ask, Shape, choose
from dpforest.forests.guided import GuidedTree
from dpforest.forests.guided_config import ClassConfig, ClassShares
from dpforest.forests.guided_foresight import direction_asks, discriminant_asks, least_shares
from dpforest.forests.guided_leaves import Leaves, read_leaves, spread_of
from dpforest.forests.parameters import MAX_TABLE_ENTRIES, parameters
from dpforest.forests.release import PrivateRelease, Trained
from dpforest.mechanisms import RandomWords
from dpforest.privacy import Kind, Ledger, Query
from dpforest.schema import Combination, Schema

DEFAULTS = ClassConfig()
# Of scores, that a linear part has at most: fitted, and of a discriminant (four covariances, with squares or
# without them).
FITTED_TABLES, DISCRIMINANT_TABLES = 4, 8
# Without splits a weight leaves the order of the classes nearly as it is, but discriminants, which take
# features to be more normal than they are, say too much: log loss 1.18 instead of 1.32 on six tables (study).
LINEAR_WEIGHTS = tuple((0.0, weight) for weight in (0.3, 0.5, 0.7, 1.0, 1.5, 2.5))

_TREES = """n_estimators : int or None, default=None
        Number of trees, up to 10; None takes one below epsilon 30, then one for every 15 of it. With delta
        the number of rounds, up to 100; None follows from a noisy count.
    """


def common_classes(shares: NDArray[np.float64]) -> float:
    """Return as how many classes unequal ones count: exp of the entropy of their shares.

    Examples
    --------
    >>> import numpy as np
    >>> common_classes(np.array([0.25] * 4)), round(common_classes(np.array([0.9, 0.05, 0.05])), 1)
    (4.0, 1.5)
    """
    positive = shares[shares > 0]
    return math.exp(-float(positive @ np.log(positive)))


def classes_to_count(
    depth: int, shares: NDArray[np.float64], enough_per_class: float, config: ClassConfig = DEFAULTS
) -> list[int]:
    """For every level, how many classes of a child the max-operator counts, or CENTRED.

    The first splits shall divide the classes, not single one out: each child is to keep half of those that
    its node has, and where only one is left, a class. Centred scores, which see every class but are noisier,
    are better while a node has rows enough.

    Parameters
    ----------
    depth : int
        Levels of splits.
    shares : ndarray of shape (n_classes,)
        Released class shares; unequal ones count as fewer classes (exp of the entropy).
    enough_per_class : float
        Rows of all nodes times epsilon, per class.
    config : ClassConfig
        Constants.

    Examples
    --------
    >>> import numpy as np
    >>> classes_to_count(6, np.full(16, 1 / 16), 100.0)
    [8, 4, 2, 1, 1, 1]
    >>> classes_to_count(6, np.array([0.5, 0.5]), 900.0)
    [0, 0, 0, 1, 1, 1]
    """
    n_classes = len(shares)
    effective = common_classes(shares) if config.divide_classes else 1.0
    counted = [max(1, math.floor(effective / 2 ** (level + 1) + 0.5)) for level in range(depth)]
    if 2 <= n_classes <= config.most_for_centres:
        n_centred = round(math.log2(max(enough_per_class / config.enough_for_centres, 1.0)))
        counted = [CENTRED if m == 1 and level < n_centred else m for level, m in enumerate(counted)]
    return counted


def _left(curator: Curator) -> Fraction:
    """Part of the model's budget that nothing was asked for yet."""
    ledger = curator.ledger
    spent = sum((event.cost for event in ledger if event.pool == "model"), Fraction(0))
    return 1 - spent / ledger.plan.amount("model")


class _Filled(NamedTuple):
    """Trees, noisy class counts of their leaves, the deviation of that noise, and classes of the leaves.

    The last only of a single tree, if they were chosen with its cuts.
    """

    trees: FlatTrees
    counts: NDArray[np.int64]
    sd: float
    classes: NDArray[np.int64] | None = None


def _one_leaf(curator: Curator, config: ClassConfig) -> _Filled:
    """Fill the one leaf of a tree without splits, in place of a tree that lost against a direction."""
    tree = FlatTrees.unsplit(1, 0)
    return _Filled(tree, *curator.leaf_histograms("model", tree, config.least_leaf))


class LinearPart(NamedTuple):
    """Part of the model's budget for sums over features, and whether they are means by class or fitted."""

    share: Fraction
    is_discriminant: bool = False


@parameters
@shared_parameters(
    _TREES, "None follows from a noisy count: about 60 / epsilon rows per leaf.", classifier=True
)
class PrivateForestClassifier(GuidedTree, PrivateForestClassifierBase):
    """The default private classifier: a tree guided by the labels, beside a linear part; boosting with delta.

    With ``delta > 0`` rounds of shallow trees are added to a linear part, each guided by the gradients that
    the model so far leaves (see `dpforest._boosting`): more accurate, under (epsilon, delta)-DP. The rest of
    this text is about ``delta=0``.

    The linear part is a logistic model with a line or curve for every ordered feature and a weight for every
    category, fitted in one question by objective perturbation; with many classes and few rows, a discriminant
    on noisy class means (see `dpforest._linear`). It is asked for where there are rows enough for it; how
    much it and the tree weigh is then chosen privately, by how many rows each mixture names correctly and how
    close its probabilities come.

    The tree is grown two levels at a time: one exponential mechanism chooses the cut of a node and those of
    both its children together, among cuts of all features and of random sums and differences of two, for the
    price of one level. Where two levels have no room for their tables, as with very many rows, features or
    classes, they are chosen one by one. With many classes the first levels count the rows of the most common
    half of each child's classes, then those of the most common class; levels that are chosen alone compare
    the children's labels with the node's own noisy class shares, if there are rows enough. Leaves release
    noisy class counts, which are drawn towards their ancestors as far as noise explains the difference, so
    that `predict_proba` can be used.

    The classes of the leaves are chosen with the last two levels, in the same choice and for nothing, where
    these are chosen together and leaves have rows enough: most of the budget is for splits then, and counts
    only say how sure the classes are.

    Two classes and few rows: the choice of the first two levels is also one among random directions through
    all features. If one of these names more rows correctly, better ones are looked for around it in a few
    more choices, and the model is a sum over features without a tree (see `dpforest._linear.directions`).
    With more rows, a direction that wins says that features add up: all of the rest goes to the linear part.
    Give `max_depth` to have a tree in any case.

    `feature_importances_` speaks of the tree, or of the linear part if there are no splits.

    **Guarantee.** Pure epsilon-DP for adding or removing one row ((epsilon, delta)-DP by zCDP if delta > 0):
    all questions add up, nodes of a level and classes hold disjoint rows. Which questions are asked follows
    from released answers, and whatever is asked stays within the plan.

    Parameters
    ----------
    {parameters}

    Examples
    --------
    >>> import numpy as np
    >>> from dpforest import PrivateForestClassifier
    >>> X = np.random.default_rng(0).random((5000, 3))
    >>> y = (X[:, 0] + X[:, 1] > 1).astype(int)
    >>> model = PrivateForestClassifier(epsilon=1.0, bounds=(0, 1), classes=[0, 1]).fit(X, y)
    >>> model.score(X, y) > 0.75
    True
    """

    _config: ClassVar[ClassConfig] = DEFAULTS

    @property
    def _counts_classes(self) -> bool:
        return not self.delta  # boosted leaves have gradients

    def _pure_columns(self, schema: Schema, words: RandomWords) -> Schema:
        """Add sums and differences of random pairs of ordered features, so that cuts can be oblique."""
        ordered = [name for name, feature in schema.features.items() if not feature.is_nominal]
        if len(ordered) < 2:
            return schema
        n_more = min(self._config.combinations * len(ordered), self._config.max_combinations)
        coins = words.fork("columns").take(3 * n_more).astype(object).reshape(n_more, 3)
        drawn: dict[Combination, None] = {}  # keeps the order, drops repetitions
        for one, other, sign in coins:
            first, second = one % len(ordered), other % (len(ordered) - 1)
            second += second >= first
            names = ordered[min(first, second)], ordered[max(first, second)]
            drawn[Combination(*names, 1 if sign % 2 else -1)] = None
        return Schema(schema.features, schema.target, tuple(drawn))

    def _pure_shapes(self, schema: Schema) -> Iterator[Shape]:
        return self._guided_shapes(schema, n_trees=self._n_trees(), most=self._config.most_levels)

    def _pure_asks(self, schema: Schema, shape: Shape) -> list[Ask]:
        config = self._config
        splits, centres, leaves = least_shares(shape.depth, config)
        amount = float(self.privacy_plan().amount("model"))
        return [
            Ask("count"),
            choose("model", splits / shape.n_trees, 1, Utility.CENTRED.range_for(schema)),
            *self._pairs_of_levels(schema, splits / shape.n_trees),
            Ask("model", centres / shape.n_trees),
            Ask("model", leaves / shape.n_trees),
            choose("model", config.choosing, 1, MIXTURE_UNIT),
            *direction_asks(config),
            *discriminant_asks(schema, amount, config.beside_many, config),
            *discriminant_asks(schema, amount, config.linear_alone, config),
        ]

    def _pairs_of_levels(self, schema: Schema, share: Fraction) -> list[Ask]:
        """State the faintest choice of two levels; with less for a level they are chosen one by one."""
        amount = self.privacy_plan().amount("model")
        if amount < LEAST_FOR_PAIRS:
            return []
        faintest = max(share, LEAST_FOR_PAIRS / amount), 1, Utility.MAX_OPERATOR.range_for(schema)
        return [choose("model", *faintest, mechanism) for mechanism in (NESTED, NESTED_OR_RIVAL, NAMED)]

    def _train_purely(self, curator: Curator) -> Trained:
        """Count, grow the tree, learn the linear part, weigh the two; or part two classes along a direction.

        A direction that wins against the tree is the model where rows are few; where they are not, it says
        that features add up, and there is a linear part alone.

        What is asked next follows from what was released before, never from rows. Whichever way a fit goes,
        its parts of the pool "model" add up to 1: those of `allocate`, or, once a direction has won, what was
        asked until then and all that is `_left`. So all ways cost the same.
        """
        config = self._config
        released, sd = curator.class_counts("count")
        counts = released.astype(np.float64)
        rows = shrunk_counts(counts, sd)
        enough = float(rows.sum()) * self._finite_epsilon
        part = self._for_sums(lambda many: self._linear_part(many, rows / rows.sum(), curator.schema), enough)
        n_directions = self._n_directions(curator, rows, enough, part.share)
        if n_directions and enough < config.enough_beyond_directions:
            part = LinearPart(Fraction(0))  # a direction or a tree in its place
        linear, is_discriminant = part
        is_fitted = linear > 0 and not is_discriminant
        scaling = Fraction(0)
        if is_fitted and self._public is None and ordered_features(curator.schema):
            scaling = linear * config.linear.scaling
            if n_directions:  # a line that wins leaves far more to the linear part
                scaling = max(scaling, config.scaling_if_compared)
        least = min(linear, (linear - scaling) / (1 - config.linear.scaling))  # what weights may come to have
        amount = curator.ledger.plan.amount("model") * least
        if is_fitted and not classes_can_be_fitted(curator.schema, amount, config.linear):
            linear, is_fitted, scaling = (
                Fraction(0),
                False,
                Fraction(0),
            )  # too little to draw noise for, or a single class
        shares = config.allocate(linear)
        tables, standard = np.empty(0), None
        if is_discriminant:
            found = discriminant_scores(
                curator, "model", linear, counts, sd, config.discriminant, self._public
            )
            rows, tables, standard = found.counts, found.tables, found.standard
        elif is_fitted or self._public is not None:  # the tree's cuts follow the scales, too
            standard = standards(curator, "model", scaling, float(rows.sum()), self._public)
            linear -= scaling
        for_tree = float(shares.splits + shares.leaves)
        grown = self._trees(curator, shares, rows, enough * for_tree, n_directions, standard)
        if isinstance(grown, Parted):
            if not linear:
                return self._along(curator, grown, n_directions, rows)
            grown = _one_leaf(curator, config)  # features add up: all that is left is for the linear part
            linear = _left(curator) - config.choosing
        trees, leaves, sd, classes = grown
        if not linear:
            return Trained(trees, leaves, (sd,) * trees.n_trees, leaf_classes=classes)
        if is_fitted:
            assert standard is not None
            tables = class_scores(curator, "model", linear, float(rows.sum()), standard, config.linear)[None]
            tables[:, 0] -= np.log(rows / rows.sum())  # every row has one cell of the first feature
        first = trees[:1]  # several trees are alike enough to be weighed by one
        read = read_leaves(first, leaves[0], sd, curator.ledger, config, classes)
        mixture = self._mixture(curator, rows, tables, first, read, enough)
        return Trained(trees, leaves, (sd,) * trees.n_trees, mixture, leaf_classes=classes)

    def _for_sums(self, part_at: Callable[[float], LinearPart], enough: float) -> LinearPart:
        """Part of the budget for sums over features, by a rule that takes rows times epsilon.

        Where the rule says none, public rows help: they tell scales and products, so that fewer sums are left
        to ask for, as if there were more rows.
        """
        part = part_at(enough)
        return part if part.share or self._public is None else part_at(enough * self._config.with_public)

    def _linear_part(
        self, rows_times_epsilon: float, of_class: NDArray[np.float64], schema: Schema
    ) -> LinearPart:
        """Part of the model's budget for the linear part; none where its sums would drown in noise.

        A tree that cannot afford a leaf per class leaves all to a discriminant, and one that only just can,
        while sums over many features are loud, most. With many rows the linear part needs less.
        """
        config, n_classes = self._config, len(of_class)
        little, some, much = config.beside_a_tree
        n_cells = int(schema.n_cells[: schema.n_features].max())
        room = MAX_TABLE_ENTRIES // (schema.n_features * n_cells * n_classes)
        if room < FITTED_TABLES:
            return LinearPart(Fraction(0))
        per_class = rows_times_epsilon / n_classes
        per_sum = per_class / schema.n_features
        are_many = common_classes(of_class) >= config.many_classes and room >= DISCRIMINANT_TABLES
        are_many = are_many and per_sum >= config.least_per_sum_alone
        if per_class < config.enough_for_both or per_sum < config.least_per_sum:
            return LinearPart(config.linear_alone if are_many else Fraction(0), are_many)
        if are_many and per_class < config.enough_beside_many and per_sum < config.loud_sums:
            return LinearPart(config.beside_many, True)
        if per_sum < config.some_per_sum:
            return LinearPart(much)
        return LinearPart(some if per_sum < config.many_per_sum else little)

    def _depth(self, enough: float) -> int:
        most = self._limits.depth
        return (
            most
            if self.max_depth is not None
            else depth_by_evidence(enough, self._config.rows_per_leaf, 2, most)
        )

    def _n_trees(self) -> int:
        """Return the number of trees, from public quantities only."""
        if self.n_estimators is not None:
            return int(self.n_estimators)
        affordable = int(self._finite_epsilon / self._config.epsilon_per_tree)
        return min(max(affordable, 1), self._most_trees)

    def _n_directions(
        self, curator: Curator, rows: NDArray[np.float64], enough: float, linear: Fraction
    ) -> int:
        """How many directions are compared with a tree: none unless classes are two and rows few."""
        config, n_rows = self._config, float(rows.sum())
        alone = enough < config.enough_beyond_directions
        may_add_up = linear > 0 and curator.schema.n_features >= config.fewest_features_to_add_up
        if linear and rows.min() < config.least_share_for_directions * n_rows:
            return 0
        if (
            len(rows) != 2
            or not config.in_pairs
            or self.max_depth is not None
            or self._n_trees() > 1
            or n_rows < config.fewest_rows_for_directions
            or enough < config.least_for_directions
            or not (alone or (may_add_up and enough < config.enough_for_trees))
        ):
            return 0
        shares = config.allocate(Fraction(0) if alone else linear)
        depth = self._depth(enough * float(shares.splits + shares.leaves))
        if 0 not in levels_in_pairs(curator, "model", shares.splits, depth, 2, n_rows, config.level_ratio):
            return 0  # nothing to compare them with
        return affordable_directions(curator.schema, n_rows, config.directions)

    def _space(self, curator: Curator, standard: Standard | None = None) -> Space:
        """Return what directions are drawn in."""
        return Space(curator.schema, self._public, standard)

    def _along(
        self, curator: Curator, found: Parted, n_directions: int, rows: NDArray[np.float64]
    ) -> Trained:
        """Spend what is left on directions around one that won against the tree, and on how sure it is."""
        config = self._config
        weighing = config.directions.weighing
        trees, leaves, sd, _ = _one_leaf(curator, config)
        around = found, self._space(curator), float(rows.sum()), n_directions, config.directions
        found = refined(curator, "model", _left(curator) - weighing, *around)
        log_shares = np.log(rows / rows.sum())
        ways = weighings(found, log_shares, config.directions)
        best = curator.best_mixture("model", weighing, trees, log_shares, np.zeros((1, 1, 2)), *ways)
        scores = ways.scores(best, log_shares)
        return Trained(trees, leaves, (sd,), Additive.of(scores, 0.0))

    def _trees(
        self,
        curator: Curator,
        shares: ClassShares,
        rows: NDArray[np.float64],
        enough: float,
        n_directions: int = 0,
        standard: Standard | None = None,
    ) -> Parted | _Filled:
        """Grow and fill the trees; depth and scores follow from released class counts.

        Every row is in all trees, which divide the budget. Nodes of several trees choose among columns that
        public coins draw; otherwise the trees would be alike.

        Returns
        -------
        _Filled or Parted
            The latter is a direction that is better than the first two levels, if directions are compared
            with them.
        """
        config, of_class = self._config, rows / rows.sum()
        n_trees = self._n_trees() if shares.splits else 1
        of_tree = (shares.splits + shares.leaves) / n_trees
        depth = self._named_depth(curator, of_tree, rows, enough, n_directions) if shares.splits else 0
        name_leaves = depth > 0
        if not name_leaves and shares.splits:
            depth = self._depth(enough / n_trees)
        splitting = of_tree * (config.splitting_named if name_leaves else config.splitting) * min(depth, 1)
        filling = of_tree - splitting
        counted = classes_to_count(depth, of_class, enough / (n_trees * len(rows)), config)
        in_pairs = config.in_pairs and n_trees == 1
        part = config.columns_of_several if n_trees > 1 else 1
        n_columns = math.ceil(curator.schema.n_columns * part)
        rivals = None
        if n_directions:
            # where there is a linear part, too, a box shall not be taken for a sum of squares
            of_lines = shares.linear > 0
            drawn = random_directions(
                self._space(curator, standard), n_directions, curator.coins.take, of_lines
            )
            rivals = Rivals(drawn, config.odds_of_directions)
        grown, leaves, sd = [], [], 0.0
        for number in range(n_trees) if n_trees > 1 else [None]:
            tree = grow_guided_or_part(
                curator, "model", splitting, depth, of_class, counted, number, config.level_ratio, n_columns,
                float(rows.sum()) if in_pairs else None, rivals, name_leaves,
                standard.expected(curator.schema) if standard is not None else NOTHING_EXPECTED,
            )  # fmt: skip
            if isinstance(tree, Parted):
                return tree
            query = Query(Kind.LEAF_COUNTS, tree=number)
            found, sd = curator.leaf_histograms("model", tree.trees, filling, query)
            grown.append(tree)
            leaves.append(found)
        return _Filled(
            FlatTrees.of([each.trees for each in grown]), np.concatenate(leaves), sd, grown[0].classes
        )

    def _named_depth(
        self,
        curator: Curator,
        share: Fraction,
        rows: NDArray[np.float64],
        enough: float,
        n_directions: int,
    ) -> int:
        """Levels of a tree whose leaves are named with its last two levels; 0 if they cannot be.

        There must be room to choose these two together, and nothing that they are compared with.
        """
        config, most = self._config, self._limits.depth
        if not config.name_leaves or not config.in_pairs or self._n_trees() > 1 or len(rows) < 2 or most < 2:
            return 0
        depth = even_depth_by_evidence(enough, config.rows_per_leaf, 2, most)
        if self.max_depth is not None:
            depth = most
        n_rows = float(rows.sum())
        if depth % 2 or (n_directions and depth == 2) or n_rows < config.fewest_to_name * 2**depth:
            return 0
        given = share * config.splitting_named, depth, len(rows), n_rows, config.level_ratio
        return depth if depth - 2 in levels_in_pairs(curator, "model", *given) else 0

    def _mixture(
        self,
        curator: Curator,
        rows: NDArray[np.float64],
        tables: NDArray[np.float64],
        trees: FlatTrees,
        leaves: Leaves,
        enough: float,
    ) -> Additive:
        """Choose, by how well they predict the rows, how much the tree and the linear part weigh.

        Scores of both, the tables' too, are measured from the log shares of all rows: weights below 1 make
        them less sure and leave a rare class rare.
        """
        config, prior = self._config, np.log(rows / rows.sum())
        alone = np.zeros_like(tables[:1])
        alone[0, 0] = np.log(leaves.prior) - prior  # what the scores of a tree alone are measured from
        tables = np.concatenate([alone, tables])
        to_choose = config.few_weights if enough < config.enough_to_choose else config.many_weights
        candidates = [
            (tree, linear or 1.0, table)
            for tree, linear in (to_choose if trees.depth else LINEAR_WEIGHTS)
            for table in (range(1, len(tables)) if linear else [0])
        ]
        weights, table_of = np.array(candidates)[:, :2], np.array([table for *_, table in candidates])
        distance = (weights - config.likely_weights) ** 2
        likely = np.ceil(2**20 * np.exp(-config.sure_of_weights * distance.sum(axis=1))).astype(np.int64)
        one_in = int(max(min(enough / config.most_to_choose, rows.sum() / config.rows_to_choose), 1))
        judged = leaves.for_judging(), tables, weights, table_of, likely, one_in
        best = curator.best_mixture("model", config.choosing, trees, prior, *judged)
        tree, linear, table = candidates[best]
        summed = linear * tables[table]
        summed[0] += prior
        return Additive.of(summed, tree)

    def _pure_votes(self, release: PrivateRelease) -> NDArray[np.float64]:
        trained = release.trained
        leaves = self._leaves(
            trained.trees, trained.statistics, trained.leaf_noises, release.ledger, trained.leaf_classes
        )
        is_alone = release.trained.additive is None
        found = np.stack([of_tree.shares if is_alone else of_tree.scores for of_tree in leaves])
        return found / len(leaves)

    def _leaves(
        self,
        trees: FlatTrees,
        counts: NDArray[np.int64],
        noises: tuple[float, ...],
        ledger: Ledger,
        classes: NDArray[np.int64] | None = None,
    ) -> list[Leaves]:
        """Read the leaves of every tree."""
        return [
            read_leaves(trees[at : at + 1], counts[at], sd, ledger, self._config, classes)
            for at, sd in enumerate(noises)
        ]

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """How much each feature's splits and its linear scores say, from released values.

        The decrease of impurity by a split counts as far as the split is likely to be real. A linear part
        counts by how much its scores differ between the cells of a feature, a tree by how much those of its
        leaves do.
        """
        check_is_fitted(self)
        additive = self.additive_
        if additive is not None and additive.pairs is not None:
            return super().feature_importances_
        leaves = self._leaves(
            self.trees_, self.leaf_statistics_, self.leaf_noises_, self.ledger_, self.leaf_classes_
        )
        n_columns, n_trees = self.schema_.n_columns, len(leaves)
        of_trees = [
            each.prunings.importances(self.trees_[at : at + 1], n_columns) for at, each in enumerate(leaves)
        ]
        # a tree whose splits say nothing has none: the others share what it would have had
        of_tree = self.schema_.share_out(np.sum(of_trees, axis=0) / max(float(np.sum(of_trees)), 1.0))
        if additive is None:
            return of_tree
        found = additive.spreads(self.schema_.n_cells[: self.schema_.n_features])
        spread = sum(spread_of(each) for each in leaves) / n_trees
        return as_shares(found + additive.tree_weight * spread * of_tree)

    def _sum_parts(self, cells: NDArray[Any], n_threads: int) -> NDArray[np.float64]:
        votes = super()._sum_parts(cells, n_threads)
        if self.additive_ is None:
            return votes
        scores = self.additive_.sum(cells) + self.additive_.tree_weight * votes
        if self.additive_.clip is not None:
            return probabilities(scores, self.additive_.clip)
        return np.asarray(softmax(scores, axis=1))
