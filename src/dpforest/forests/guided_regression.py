"""The default forest for numbers: a few trees, each on what those before it leave of the target.

As in `guided`, everything that could be tuned is a formula of public quantities and of a noisy count.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpforest._curator import Curator, Utility
from dpforest._structure import Additive, FlatTrees
from dpforest._trees import grow_guided, guided_shares, shrunk_means
from dpforest.forests.base import PrivateForestRegressorBase
from dpforest.forests.docs import shared_parameters
from dpforest.forests.foresight import WHOLE, Ask, Shape, choose, count_leaves
from dpforest.forests.guided import GuidedTree, guided_depth
from dpforest.forests.guided_config import NumberConfig
from dpforest.forests.parameters import parameters
from dpforest.forests.release import PrivateRelease, Trained
from dpforest.mechanisms import quantile_range
from dpforest.privacy import Kind, Query
from dpforest.schema import Schema

DEFAULTS = NumberConfig()
OUT_OF = 10_000  # rows, of which a clip bound leaves out some

_N_TREES = """n_estimators : int or None, default=None
        Number of trees, up to 10; None takes three where rows times epsilon are enough, else one. With delta
        the number of rounds, up to 100; None follows from a noisy count.
    """


@parameters
@shared_parameters(
    _N_TREES, "None follows from a noisy count: about 300 / epsilon rows per leaf.", classifier=False
)
class PrivateForestRegressor(GuidedTree, PrivateForestRegressorBase):
    """The default private regressor: one to three trees guided by the target; boosting with delta.

    With ``delta > 0`` rounds of shallow trees are added to a linear part, each guided by the gradients that
    the model so far leaves (see `dpforest._boosting`): more accurate, under (epsilon, delta)-DP. The rest of
    this text is about ``delta=0``.

    First the target is clipped to private quantiles, so that noise is in proportion to where it lies, not to
    its public bounds. Then trees are grown as by `PrivateForestClassifier`, one, or three with more rows,
    each on what those before it leave of the target, clipped to private quantiles again. Leaves release the
    noisy sums of y and of its distance to the upper bound; their means are drawn towards their ancestors'.

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

    _most_trees: ClassVar[int] = 10
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
        tree = (1 - self._config.most_for_clipping) * (1 - self._config.residual_clipping) / shape.n_trees
        splits, centres = guided_shares(
            tree * self._config.splitting, shape.depth, max(shape.depth - 1, 0), is_class=False
        )
        return [
            count_leaves(schema, pool="count"),
            choose("model", min(splits, default=WHOLE), 1, Utility.CENTRED_TARGET.range_for(schema)),
            count_leaves(schema, pool="model", share=min(centres, default=WHOLE)),
            count_leaves(schema, pool="model", share=tree * (1 - self._config.splitting)),
        ]

    def _train_purely(self, curator: Curator) -> Trained:
        schema, levels = curator.schema, curator.schema.range.levels
        mean, rows = _mean_and_rows(curator)
        enough = rows * self._finite_epsilon
        least = _least_to_clip(enough, self._config)
        clipping = (
            max(self._config.clipping, least) if least <= self._config.most_for_clipping else Fraction(0)
        )
        if not _can_clip(curator, clipping):
            clipping = Fraction(0)
        low, high = _clip(curator, clipping, enough, (0.0, float(levels)), self._config)
        constant = min(max(mean, low), high)
        span = low - constant, high - constant
        curator.subtract(*span, constant=constant)
        share = 1 - clipping
        rounds = self._limits.n_trees if enough * float(share) >= self._config.enough_to_boost else 1
        n_trees = self.n_estimators or rounds
        weight = self._config.learning_rate if n_trees > 1 else 1.0
        depth = self.max_depth
        if depth is None:
            lowest = 1 if enough >= self._config.enough_to_split else 0
            depth = guided_depth(
                enough * float(share) / n_trees, self._config.rows_per_leaf, lowest, self._limits.depth
            )

        grown, sums, noises, spans = [], [], [], []
        for number in range(n_trees):
            tree_share = share / n_trees
            clipping = tree_share * self._config.residual_clipping
            if number and clipping >= least and _can_clip(curator, clipping):
                span = _clip(curator, clipping, enough, span, self._config, number)
                curator.subtract(*span)
                tree_share -= clipping
            splitting = tree_share * self._config.splitting * min(depth, 1)
            zero = np.array([-span[0] / (span[1] - span[0]) * levels])
            tree = grow_guided(curator, "model", splitting, depth, zero, number=number)
            query = Query(Kind.LEAF_SUMS, tree=number)
            (found,), sd = curator.leaf_soft_histograms("model", tree, tree_share - splitting, query)
            if number + 1 < n_trees:
                values = weight * _leaf_values(found, sd, levels, span, not number)
                curator.subtract(*span, tree=tree, leaves=values)
            grown.append(tree)
            sums.append(found)
            noises.append(sd)
            spans.append(span)
        table = np.zeros((schema.n_features, int(schema.n_cells[: schema.n_features].max()), 1))
        table[0] = constant
        feature, threshold = ([getattr(tree, name) for tree in grown] for name in ("feature", "threshold"))
        forest = FlatTrees(depth, np.concatenate(feature), np.concatenate(threshold), grown[0].left_sets)
        return Trained(forest, np.stack(sums), tuple(noises), Additive.of(table, weight, np.array(spans)))

    def _rows_released(self) -> float:
        return float(self.leaf_statistics_[0].sum()) / self.schema_.range.levels

    def _pure_votes(self, release: PrivateRelease) -> NDArray[np.float64]:
        """Turn sums into what each leaf adds to the target, in levels; the second output is not used."""
        statistics, additive = release.statistics, release.trained.additive
        if additive is None or len(additive.spans) != len(statistics):
            raise ValueError("every tree needs the span of its target.")
        levels = release.schema.range.levels
        values = [
            additive.tree_weight * _leaf_values(sums, sd, levels, tuple(span), not number)
            for number, (sums, sd, span) in enumerate(
                zip(statistics, release.trained.leaf_noises, additive.spans, strict=True)
            )
        ]
        return np.stack([np.stack(values), np.zeros(statistics.shape[:2])], axis=-1)

    def _sum_parts(self, cells: NDArray[Any], n_threads: int) -> NDArray[np.float64]:
        votes = super()._sum_parts(cells, n_threads)
        return votes if self.additive_ is None else votes + self.additive_.sum(cells)

    def _levels(self, votes: NDArray[np.float64]) -> NDArray[np.float64]:
        levels: NDArray[np.float64] = np.clip(votes[:, 0], 0, self.schema_.range.levels)
        return levels


def _mean_and_rows(curator: Curator) -> tuple[float, float]:
    """Noisy mean target, in levels, and number of rows."""
    levels = curator.schema.range.levels
    nothing = FlatTrees.unsplit(1, 0)
    released = curator.leaf_soft_histograms("count", nothing, query=Query(Kind.TARGET_TOTAL))
    first, second = released.values[0, 0].astype(np.float64)
    rows = (first + second) / levels
    return (min(max(first / rows, 0.0), levels) if rows >= 1 else levels / 2), max(rows, 1.0)


def _least_to_clip(enough: float, config: NumberConfig) -> Fraction:
    """Part of the model's budget with which private quantiles miss few rows."""
    return Fraction(math.ceil(20_000 * config.tail / (config.most_clipped * enough)), 10_000)


def _can_clip(curator: Curator, share: Fraction) -> bool:
    """Tell whether private quantiles with a share of the model's budget are not too faint to be drawn."""
    faintest = choose("model", share / 2, 1, quantile_range(OUT_OF - 1, OUT_OF))
    return faintest.can_be_paid(curator.ledger.plan)


def _clip(
    curator: Curator,
    share: Fraction,
    enough: float,
    span: tuple[float, float],
    config: NumberConfig,
    tree: int | None = None,
) -> tuple[float, float]:
    """Private quantiles within the present span of the target, or nothing if there is nothing to spend.

    They leave out, at either end, as many rows as the mechanism may miss them by.
    """
    if not share:
        return span
    few = max(math.ceil(config.tail / (enough * float(share / 2)) * OUT_OF), 1)
    width = (span[1] - span[0]) / curator.schema.range.levels
    low = curator.target_quantile("model", share / 2, Query(Kind.LOWER_BOUND, tree=tree), few, OUT_OF)
    high = curator.target_quantile(
        "model", share / 2, Query(Kind.UPPER_BOUND, tree=tree), OUT_OF - few, OUT_OF
    )
    if (high - low) * width < config.least_span * (span[1] - span[0]):
        return span
    return span[0] + low * width, span[0] + (high + 1) * width


def _leaf_values(
    sums: NDArray[np.int64], noise_sd: float, levels: int, span: tuple[float, float], is_first: bool
) -> NDArray[np.float64]:
    """Mean of what is left of the target in each leaf, drawn towards its ancestors' and in the end to 0."""
    width = (span[1] - span[0]) / levels
    zero = min(max(-span[0] / width, 0.0), levels)
    first, second = sums.sum(axis=0, dtype=np.float64)
    rows = (first + second) / levels
    if rows >= 1:
        away = min(max(first / rows, 0.0), levels) - zero
        noise = len(sums) * (noise_sd / rows) ** 2
        # the first tree knows the mean better than the noisy total did; what later ones add should be 0
        zero += away * (1.0 if is_first else max(0.0, 1 - noise / max(away**2, 1e-12)))
    return span[0] + shrunk_means(sums, noise_sd, levels, zero) * width
