"""The default forest for numbers: a few trees, each on what those before it leave of the target.

As in `guided`, everything that could be tuned is a formula of public quantities and of a noisy count.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dpforest._curator import Curator, Utility
from dpforest._linear import (
    Basis,
    affordable_basis,
    fit_additive,
    number_can_be_fitted,
    scaling_share,
    standards,
    units,
)
from dpforest._shrinkage import shrunk_means
from dpforest._structure import Additive, FlatTrees
from dpforest._structure.additive import UNIT
from dpforest._trees import as_shares, explained_squares, grow_guided, guided_shares
from dpforest.forests.base import PrivateForestRegressorBase
from dpforest.forests.depths import depth_by_evidence
from dpforest.forests.docs import shared_parameters
from dpforest.forests.foresight import WHOLE, Ask, Shape, choose, count_leaves
from dpforest.forests.guided import GuidedTree
from dpforest.forests.guided_config import NumberConfig
from dpforest.forests.parameters import parameters
from dpforest.forests.release import PrivateRelease, Trained
from dpforest.forests.residual_target import ResidualTarget
from dpforest.mechanisms import quantile_range
from dpforest.privacy import BudgetPlan, Kind, Query
from dpforest.schema import Schema

DEFAULTS = NumberConfig()
_LOUD, _UNSURE = 0.05, 16.0  # noise of a mean by the span, and what must then stand out of it: 4 sd


class _Forest(NamedTuple):
    """Trees, their statistics, the noise in these, the spans of their targets, and what they count for."""

    trees: FlatTrees
    statistics: NDArray[np.int64]
    noises: tuple[float, ...]
    spans: NDArray[np.float64]
    weight: float


_N_TREES = """n_estimators : int or None, default=None
        Number of trees, up to 10; None takes three where rows times epsilon are enough, else one. With delta
        the number of rounds, up to 100; None follows from a noisy count.
    """


@parameters
@shared_parameters(
    _N_TREES, "None follows from a noisy count: about 300 / epsilon rows per leaf.", classifier=False
)
class PrivateForestRegressor(GuidedTree, PrivateForestRegressorBase):
    """The default private regressor: an additive part and guided trees behind it; boosting with delta.

    With ``delta > 0`` rounds of shallow trees are added to a linear part, each guided by the gradients that
    the model so far leaves (see `dpforest._boosting`): more accurate, under (epsilon, delta)-DP. The rest of
    this text is about ``delta=0``.

    First the target is clipped to where it lies: around its median, by a distance to it or by private
    quantiles. So noise is in proportion to the target, not to its public bounds. Where there are rows
    enough, a sum over features is fitted to the rows in one question (see `dpforest._linear`), and kept as
    far as it stands out of its noise. Then trees are grown as by `PrivateForestClassifier` on what is left,
    one, or three with more rows, each on what those before it leave, clipped to private quantiles again.
    Leaves release the noisy sums of y and of its distance to the upper bound; their means are drawn towards
    their ancestors'.

    **Guarantee.** Pure epsilon-DP for adding or removing one row ((epsilon, delta)-DP by zCDP if delta > 0):
    all questions add up, and what a part leaves of a row's target follows from that row and released values.

    Parameters
    ----------
    {parameters}

    Examples
    --------
    >>> import numpy as np
    >>> from dpforest import PrivateForestRegressor
    >>> X = np.random.default_rng(0).random((5000, 3))
    >>> model = PrivateForestRegressor(epsilon=2.0, bounds=(0, 1), target_bounds=(0, 1)).fit(X, X[:, 0])
    >>> model.score(X, X[:, 0]) > 0.6
    True
    """

    _config: ClassVar[NumberConfig] = DEFAULTS

    def _pure_shapes(self, schema: Schema) -> Iterator[Shape]:
        if self.n_estimators is not None:
            yield from self._guided_shapes(schema, self.n_estimators, self._config.most_levels)
            return
        several = self._guided_shapes(schema, self._config.rounds, self._config.most_levels)
        yield from (
            shape
            for shape in several
            if shape.depth >= self._config.boosted_levels or self.max_depth is not None
        )
        yield from self._guided_shapes(schema, 1, self._config.most_levels)

    def _pure_asks(self, schema: Schema, shape: Shape) -> list[Ask]:
        tree = self._least_left() * (1 - self._config.residual_clipping) / shape.n_trees
        splits, centres = guided_shares(
            tree * self._config.splitting, shape.depth, max(shape.depth - 1, 0), is_class=False
        )
        config = self._config
        return [
            count_leaves(schema, pool="count"),
            choose("model", config.least_for_each, 1, quantile_range(3, 4)),  # a median needs less
            choose("model", min(splits, default=WHOLE), 1, Utility.CENTRED_TARGET.range_for(schema)),
            count_leaves(schema, pool="model", share=min(centres, default=WHOLE)),
            count_leaves(schema, pool="model", share=tree * (1 - self._config.splitting)),
        ]

    def _least_left(self) -> Fraction:
        """Part of the model's budget that is left for trees after everything else was asked."""
        config = self._config
        few = 1 - max(config.most_for_median + config.most_for_distance, config.for_median_alone)
        wanted = config.median_wanted + config.distance_wanted + config.mean_wanted
        asked = Fraction(math.ceil(wanted / config.enough_to_clip * 10_000) + 3, 10_000)
        clipped = 1 - config.most_for_clipping
        many = (clipped - asked) * (1 - config.most_additive) * clipped
        return min(few, many)

    def _train_purely(self, curator: Curator) -> Trained:
        """Clip the target, follow it by a sum over features, grow trees on what is left.

        `target.left` is the part of the pool "model" that nothing was asked for yet: every step takes its
        share off it, and the trees divide all of the rest, so each way through adds up to the whole. A row's
        target at each step is a function of that row and released values (`Curator.subtract`), so neighbours
        stay neighbours and questions compose as usual.
        """
        mean, mean_sd, rows = _mean_and_rows(curator)
        target = ResidualTarget(curator, self._config, rows, self._finite_epsilon)
        constant = target.centre_on(mean, mean_sd)
        table = self._follow(target)
        forest, sums, noises, spans, weight = self._trees(target, followed=bool(table.any()))
        table[0] += round(constant * UNIT)  # every row has one cell of the first feature
        return Trained(forest, sums, noises, Additive(table[..., None], weight, spans))

    def _follow(self, target: ResidualTarget) -> NDArray[np.int64]:
        """Follow the target by a sum over features and subtract it, where that explains something.

        Returns what was subtracted by (feature, cell), in levels / UNIT; 0 if there was not enough to ask, or
        if what was found does not stand out of its noise.
        """
        curator, config = target.curator, self._config
        nothing = np.zeros((curator.schema.n_features, int(curator.schema.n_cells.max())), np.int64)
        asked = self._sum_to_fit(target)
        if asked is None:
            return nothing
        basis, share = asked
        wanted, rows = target.wanted, target.rows
        scaling = scaling_share(share, basis, config.additive, self._public is not None)
        standard = standards(curator, "model", scaling, rows, self._public)
        found = fit_additive(
            curator, "model", share - scaling, rows, wanted, basis, standard, config.additive
        )
        target.left -= share
        table: NDArray[np.int64] = np.rint(found * (wanted.width * target.width * UNIT)).astype(np.int64)
        if not table.any():
            return table
        target.subtract(table=table)
        target.clip_again("after the sum over features")
        return table

    def _sum_to_fit(self, target: ResidualTarget) -> tuple[Basis, Fraction] | None:
        """Choose a sum over features that can be fitted, and its part of the budget, if there is one."""
        schema, plan, config = target.curator.schema, target.curator.ledger.plan, self._config
        known = self._public is not None
        most = target.left * config.additive_share(target.enough / schema.n_features)
        enough = target.enough * float(most * (1 if known else 1 - config.additive.scaling))
        basis = affordable_basis(schema, enough, config.additive)
        if basis is None:
            return None
        quieter = math.sqrt(basis.noise(schema, enough) / config.quiet)
        share = most * Fraction(math.ceil(1000 * min(quieter, 1.0)), 1000)
        if target.curator.is_noiseless:  # there the ridge alone would hold weights down
            share = target.left * config.most_additive
        return (basis, share) if _can_follow(schema, plan, share, basis, known, config) else None

    def _trees(self, target: ResidualTarget, followed: bool) -> _Forest:
        """Grow trees on what is left of the target, each on what those before it leave."""
        config, curator, levels = self._config, target.curator, target.levels
        enough = target.enough * float(target.left)
        to_boost = config.enough_to_boost_rest if followed else config.enough_to_boost
        n_trees = self.n_estimators or (self._limits.n_trees if enough >= to_boost else 1)
        weight = config.learning_rate if n_trees > 1 else 1.0
        depth = self.max_depth
        if depth is None:
            lowest = 1 if enough >= config.enough_to_split else 0
            depth = depth_by_evidence(enough / n_trees, config.rows_per_leaf, lowest, self._limits.depth)
        share = target.left / n_trees
        grown, sums, noises, spans = [], [], [], []
        for number in range(n_trees):
            tree_share = share - (target.clip_for_tree(share, number) if number else 0)
            splitting = tree_share * config.splitting * min(depth, 1)
            zero = np.array([-target.span[0] / target.width])
            tree = grow_guided(curator, "model", splitting, depth, zero, number=number)
            query = Query(Kind.LEAF_SUMS, tree=number)
            (found,), sd = curator.leaf_soft_histograms("model", tree, tree_share - splitting, query)
            if number + 1 < n_trees:
                values = weight * _leaf_values(found, sd, levels, target.span)
                target.subtract(tree=tree, leaves=values)
            grown.append(tree)
            sums.append(found)
            noises.append(sd)
            spans.append(target.span)
        return _Forest(FlatTrees.of(grown), np.stack(sums), tuple(noises), np.array(spans), weight)

    def _rows_released(self) -> float:
        return float(self.leaf_statistics_[0].sum()) / self.schema_.range.levels

    def _pure_votes(self, release: PrivateRelease) -> NDArray[np.float64]:
        """Turn sums into what each leaf adds to the target, in levels; the second output is not used."""
        statistics, additive = release.statistics, release.trained.additive
        if additive is None or len(additive.spans) != len(statistics):
            raise ValueError("every tree needs the span of its target.")
        levels = release.schema.range.levels
        values = [
            additive.tree_weight * _leaf_values(sums, sd, levels, tuple(span))
            for sums, sd, span in zip(statistics, release.trained.leaf_noises, additive.spans, strict=True)
        ]
        return np.stack([np.stack(values), np.zeros(statistics.shape[:2])], axis=-1)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """How much each feature makes predictions differ, by the additive part and by splits.

        From released values out of which noise was drawn; mean squares, which sum to 1.
        """
        check_is_fitted(self)
        additive = self.additive_
        if additive is None or additive.pairs is not None:
            return super().feature_importances_
        schema, rows = self.schema_, self.leaf_statistics_.sum(axis=2) / self.schema_.range.levels
        found = explained_squares(self.trees_, self.leaf_votes_[..., 0], rows, schema.n_columns)
        return as_shares(schema.share_out(found) + additive.spreads(schema.n_cells[: schema.n_features]) ** 2)

    def _sum_parts(self, cells: NDArray[Any], n_threads: int) -> NDArray[np.float64]:
        votes = super()._sum_parts(cells, n_threads)
        return votes if self.additive_ is None else votes + self.additive_.sum(cells)

    def _levels(self, votes: NDArray[np.float64]) -> NDArray[np.float64]:
        levels: NDArray[np.float64] = np.clip(votes[:, 0], 0, self.schema_.range.levels)
        return levels


def _mean_and_rows(curator: Curator) -> tuple[float, float, float]:
    """Noisy mean target and the standard deviation of its noise, in levels, and number of rows."""
    levels = curator.schema.range.levels
    nothing = FlatTrees.unsplit(1, 0)
    values, sd = curator.leaf_soft_histograms("count", nothing, query=Query(Kind.TARGET_TOTAL))
    first, second = values[0, 0].astype(np.float64)
    rows = max((first + second) / levels, 1.0)
    return min(max(first / rows, 0.0), levels), sd / rows, rows


def _can_follow(
    schema: Schema, plan: BudgetPlan, share: Fraction, basis: Basis, known: bool, config: NumberConfig
) -> bool:
    """Tell whether the questions of an additive part are not too faint to be drawn."""
    scaling = scaling_share(share, basis, config.additive, known)
    one = units(len(basis.ordered), float(plan.amount("model") * scaling))
    of_scales = Ask("model", scaling / 2, reach=one, blocks=len(basis.ordered))
    return of_scales.can_be_paid(plan) and number_can_be_fitted(schema, plan, "model", share - scaling, basis)


def _leaf_values(
    sums: NDArray[np.int64], noise_sd: float, levels: int, span: tuple[float, float]
) -> NDArray[np.float64]:
    """Mean of what is left of the target in each leaf, drawn towards its ancestors' and in the end to 0."""
    width = (span[1] - span[0]) / levels
    zero = min(max(-span[0] / width, 0.0), levels)
    first, second = sums.sum(axis=0, dtype=np.float64)
    rows = (first + second) / levels
    if rows >= 1:
        away = min(max(first / rows, 0.0), levels) - zero
        noise = len(sums) * (noise_sd / rows) ** 2
        # noise that is large even against the span would not be seen through by its mean square alone
        noise *= _UNSURE if noise > (_LOUD * levels) ** 2 else 1.0
        zero += away * max(0.0, 1 - noise / max(away**2, 1e-12))
    return span[0] + shrunk_means(sums, noise_sd, levels, zero) * width
