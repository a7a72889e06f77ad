"""Every constant of the default forests without delta, each with where it comes from.

"Study" is the measurement on public tables of docs/explanation/default-forest.md: a constant was moved up and
down, the others held, and stayed where the mean over all tables was best. A change of less than half a point
was not followed. Amounts are parts of a budget; "rows times epsilon" (noisy rows, the whole epsilon) says how
far a count of all rows stands out of its noise, and is what all sizes are measured in.

`dataclasses.replace` makes a forest with one part taken out: see tools/ablations.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

from dpforest._linear import AdditiveConfig, DirectionConfig, DiscriminantConfig, LinearConfig
from dpforest._trees import PruningConfig
from dpforest.forests.pools import COUNTING

NEVER = float("inf")

Weights = tuple[tuple[float, float], ...]  # of the tree and of the linear part

_FEW_WEIGHTS = (1.0, 0.0), (1.0, 0.3), (0.7, 0.7), (0.3, 1.0), (0.0, 1.0), (0.0, 2.0)
_MANY_WEIGHTS = tuple(
    (tree, linear)
    for tree in (0.0, 0.2, 0.4, 0.7, 1.0)
    for linear in (0.0, 0.3, 0.5, 0.7, 1.0, 1.5, 2.5)
    if tree + linear > 0
)


class ClassShares(NamedTuple):
    """Where the model's budget goes: parts that add up to 1."""

    linear: Fraction
    choosing: Fraction
    splits: Fraction
    leaves: Fraction


@dataclass(frozen=True)
class ClassConfig:
    """Constants of `PrivateForestClassifier`."""

    counting: Fraction = COUNTING  # of the whole budget, for noisy totals

    # --- parts of the model's budget
    choosing: Fraction = Fraction(5, 100)  # weights of the two parts; study: 3 to 10 % are alike
    splitting: Fraction = Fraction(60, 100)  # of the tree's, the rest is for leaves; study: 50 to 70 %
    # The same where the classes of leaves are chosen with the last two levels, so that counts need only tell
    # how sure they are; study: 70 to 85 % are alike.
    splitting_named: Fraction = Fraction(80, 100)
    level_ratio: Fraction = Fraction(
        1414, 1000
    )  # of a level to the one above; study: +0.5 points over equal ones
    beside_a_tree: tuple[Fraction, Fraction, Fraction] = (  # linear part: study, by rows per sum (below)
        Fraction(30, 100),
        Fraction(40, 100),
        Fraction(50, 100),
    )
    linear_alone: Fraction = Fraction(
        93, 100
    )  # linear part without splits beside it: all but choosing and a leaf
    least_leaf: Fraction = Fraction(2, 100)  # of the one leaf beside a direction
    least_for_splits: Fraction = Fraction(1, 10)  # with less a tree is one leaf

    # --- when a linear part is asked for; rows times epsilon, per class
    enough_for_both: float = 500  # with fewer a tree alone is better (study) ...
    least_per_sum: float = 4  # ... as with fewer of them per feature: sums would drown in noise
    # from so many on, as common as shares let them count, a starved tree cannot tell them apart: linear part
    many_classes: float = 7.5  # alone ...
    least_per_sum_alone: float = 2  # ... from so many per feature on ...
    enough_beside_many: float = 1000  # ... and up to here beside a small tree, where sums are still loud ...
    beside_many: Fraction = Fraction(80, 100)  # ... with this part; study: 65 and 80 % are alike
    loud_sums: float = 35  # (below so many per feature), and means by class are surer than a fit; study
    with_public: float = 3  # with public rows, so many times fewer are enough to ask for it at all
    some_per_sum: float = 150  # from here on, 40 %
    many_per_sum: float = 2000  # from here on, 30 %
    linear: LinearConfig = field(default_factory=LinearConfig)
    discriminant: DiscriminantConfig = field(default_factory=DiscriminantConfig)

    # --- directions, which the first two levels of the tree are compared with, for two classes: from so many
    # rows times epsilon on (with fewer, chance decides: study) where there is no linear part, and in its
    # place up to so many ...
    least_for_directions: float = 250
    enough_beyond_directions: float = 2500
    # Up to here a line that wins, through so many features, says that they add up: a linear part without a
    # tree (study: +0.3 points). Beyond, two levels are too few to speak for a tree.
    enough_for_trees: float = 8000
    fewest_features_to_add_up: int = 7
    least_share_for_directions: float = 0.3  # where a rarer class has a linear part, which ranks it, none
    fewest_rows_for_directions: float = 200  # however large epsilon is: the best of many fits fewer by chance
    scaling_if_compared: Fraction = Fraction(10, 100)  # of the model's budget, for scales, if lines may win
    odds_of_directions: float = 0.15  # against the tree, before any row is seen
    directions: DirectionConfig = field(default_factory=DirectionConfig)

    # --- the tree
    most_levels: int = 10  # deeper ones gain nothing up to epsilon 10 (study), and cost room
    rows_per_leaf: float = 60  # times 1 / epsilon; study: 40 to 100 are alike
    enough_for_centres: float = (
        100  # rows times epsilon per class in a node: with fewer the max-operator is better
    )
    most_for_centres: int = 1000  # classes: with more, shares in units of 1 / 4096 would be rounded away
    # Two levels chosen together where there is room, in a single tree (study). Of several
    # trees, noise hardly matters, and to have fewer cuts cost 0.6 points.
    in_pairs: bool = True
    name_leaves: bool = True  # classes of leaves are chosen with the last two levels, if these are a pair
    # Rows that a leaf must have for it, on average: with fewer, which large budgets make, chance would name
    # it, and counts know better (study: at epsilon 10 -0.25 points, at 2 and below +0.1 to +0.8).
    fewest_to_name: float = 25
    divide_classes: bool = True  # first splits count half of a child's classes
    combinations: int = 6  # columns made of two features, per ordered feature; study: 3 to 6, +0.7 points
    max_combinations: int = 40  # each costs as much time as a feature
    prunings: PruningConfig = field(default_factory=PruningConfig)
    # With hardly any noise one tree fits its splits to its rows. Study, at epsilon 10, 30 and 100: two
    # trees instead of one -0.5 and +0.2 points, five of them +1.2 (log loss .31 instead of .39), ten +0.7.
    epsilon_per_tree: float = 15
    columns_of_several: float = 0.5  # that a node of several trees chooses among; study: 0.3 to 1 are alike
    mix_prunings: bool = True  # False: class shares of leaves as they were released

    # --- weights of tree and linear part
    enough_to_choose: float = 3000  # rows times epsilon: fewer can only tell coarse choices apart
    most_to_choose: float = 200_000  # rows times epsilon beyond which a sample will do ...
    rows_to_choose: float = 100_000  # ... of at least so many rows: sampling moves 0.1 % of them (2 sd)
    likely_weights: tuple[float, float] = (0.5, 0.7)  # of tree and linear part, before any row is seen ...
    sure_of_weights: float = 2.0  # ... others less, by exp of this times the squared distance; study
    few_weights: Weights = _FEW_WEIGHTS
    many_weights: Weights = _MANY_WEIGHTS

    def allocate(self, linear: Fraction) -> ClassShares:
        """Divide the model's budget.

        Parameters
        ----------
        linear : Fraction
            Part of the linear part, 0 if there is none.

        Examples
        --------
        >>> shares = ClassConfig().allocate(Fraction(3, 10))
        >>> sum(shares), str(shares.linear), str(shares.splits)
        (Fraction(1, 1), '3/10', '39/100')
        """
        choosing = self.choosing if linear else Fraction(0)
        tree = 1 - linear - choosing
        splits = tree * self.splitting if tree >= self.least_for_splits else Fraction(0)
        return ClassShares(linear, choosing, splits, tree - splits)


@dataclass(frozen=True)
class NumberConfig:
    """Constants of `PrivateForestRegressor`."""

    counting: Fraction = Fraction(3, 100)  # of the whole budget: rows times epsilon are known to about 50

    # --- where the target lies; parts of the model's budget are `wanted` / (rows times epsilon)
    median_wanted: float = 60  # the exponent of a level beyond all rows is half of it, if rows are known well
    most_for_median: Fraction = Fraction(40, 100)
    distance_wanted: float = 80  # to the median, of 3/4 of the rows; beyond all rows: a sixth of it, e^-13
    most_for_distance: Fraction = Fraction(25, 100)
    mean_wanted: float = 50  # between the bounds: its noise is 3 % of what they span
    most_for_mean: Fraction = Fraction(5, 100)
    least_for_each: Fraction = Fraction(2, 1000)
    median_alone: float = 60  # rows times epsilon: with fewer, nearly everything is needed for the median
    for_median_alone: Fraction = Fraction(9, 10)
    stretch: float = 3.0  # times the distance, where quantiles are not affordable: 3.5 sd of a normal target
    enough_to_clip: float = 2000  # rows times epsilon from which quantiles at the ends are better; study
    surest_mean: float = 0.02  # noise of the mean of all rows, by what the bounds span, that will do

    # --- clip bounds
    clipping: Fraction = Fraction(3, 100)  # of the model's budget ...
    residual_clipping: Fraction = Fraction(
        5, 100
    )  # ... and of what is left, later; study: 3 to 10 % are alike
    most_for_clipping: Fraction = Fraction(20, 100)  # where that is not enough
    most_clipped: float = 0.05  # of the rows, at either end; more would bias the mean too much
    tail: float = 8.0  # rows times epsilon that a bound may miss by: probability e^-4 at half its budget
    least_span: float = 0.02  # of the span before, or it is kept
    near_centre: int = 4  # levels a priori: a distance is log-uniform beyond so many
    residual_scale: float = 1 / 16  # of the span: what is left is a priori no more likely to lie farther out

    # --- the additive part
    additive: AdditiveConfig = field(default_factory=AdditiveConfig)
    most_additive: Fraction = Fraction(70, 100)  # of what is left; less from so many rows times epsilon ...
    full_per_feature: float = 80  # ... per feature; it falls with the power ...
    additive_power: float = 0.4  # ... of the rows: weights need less, trees can use all
    quiet: float = 0.0015  # noise of the sum, in squared widths of the target, below which less is spent
    least_width: float = 1 / 32  # of the span: distance from which a row's pull is held

    # --- trees
    splitting: Fraction = Fraction(60, 100)  # of the rest of a tree's
    enough_to_split: float = 200  # rows times epsilon; fewer are best predicted by their mean (study)
    enough_to_boost: float = (
        60_000  # rows times epsilon from which several trees are better than one (study) ...
    )
    enough_to_boost_rest: float = 40_000  # ... on what an additive part left: it is smoother (study)
    rounds: int = 3  # trees then
    learning_rate: float = 0.8  # of each tree, if there are several
    rows_per_leaf: float = 300  # times 1 / epsilon, for each tree; study
    boosted_levels: int = 6  # that trees must be able to have if there are to be several
    most_levels: int = 9  # unless max_depth says otherwise

    def additive_share(self, per_feature: float) -> Fraction:
        """Most of what is left of the budget for the additive part, by rows times epsilon per feature.

        Examples
        --------
        >>> config = NumberConfig()
        >>> [str(config.additive_share(per_feature)) for per_feature in (30, 1e3, 1e6)]
        ['7/10', '637/2500', '161/10000']
        """
        falling = min(1.0, self.full_per_feature / per_feature) ** self.additive_power
        return self.most_additive * Fraction(round(1000 * falling), 1000)
