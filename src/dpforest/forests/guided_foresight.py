"""What the default forest for classes may come to ask, whichever way a fit goes; see `foresight`."""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import lru_cache

from dpforest._curator import MIXTURE_UNIT
from dpforest._linear import ordered_features, units
from dpforest._trees import guided_shares
from dpforest.forests.foresight import Ask, choose
from dpforest.forests.guided_config import ClassConfig
from dpforest.schema import Schema


@lru_cache(maxsize=32)
def least_shares(depth: int, config: ClassConfig) -> tuple[Fraction, Fraction, Fraction]:
    """Return the least parts of the model's budget for the splits of a level, its centres, and the leaves.

    With a linear part or without one, with all levels centred, to any depth up to `depth`.
    """
    splits, centres = [Fraction(1)], [Fraction(1)]
    leaves = [config.allocate(config.linear_alone).leaves]
    linear_parts = Fraction(0), *config.beside_a_tree, config.beside_many
    for wanted, linear in itertools.product(range(1, depth + 1), linear_parts):
        shares = config.allocate(linear)
        leaves += [shares.leaves, (shares.splits + shares.leaves) * (1 - config.splitting_named)]
        for_splits, for_centres = guided_shares(shares.splits, wanted, wanted - 1, True, config.level_ratio)
        splits += for_splits
        centres += for_centres
    return min(splits), min(centres), min(leaves)


def direction_asks(config: ClassConfig) -> list[Ask]:
    """State what is asked once a direction has won against two levels, which cost all splits at most."""
    weighing, leaf = config.directions.weighing, config.least_leaf
    most_rounds = max(len(steps) for _, steps in config.directions.rounds)
    return [
        choose("model", (1 - config.splitting_named - weighing - leaf) / most_rounds, 1, 1),
        choose("model", weighing, 1, MIXTURE_UNIT),
        Ask("model", leaf),
    ]


def discriminant_asks(schema: Schema, amount: float, share: Fraction, config: ClassConfig) -> list[Ask]:
    """State what `discriminant_scores` asks with a share of the model's amount."""
    features, alone = set(ordered_features(schema)), config.discriminant
    n_ordered, scaling = len(features), share * alone.scaling
    sums = (share - scaling) * (1 - alone.products) * Fraction(n_ordered, schema.n_features)
    categories = (share - scaling) * (1 - alone.products) - sums
    n_categories = sum(int(schema.n_cells[at]) for at in range(schema.n_features) if at not in features)
    asked = [  # part, times that it is divided, sums, blocks of sums
        (scaling, 2, n_ordered, n_ordered),
        (min(config.beside_a_tree) * config.linear.scaling, 2, n_ordered, n_ordered),  # of fitted scores
        (sums, 1, 1 + 2 * n_ordered, 1 + 2 * n_ordered),
        (categories, 1, n_categories, schema.n_features - n_ordered),
    ]
    return [
        Ask("model", part / times, reach=units(n_sums, amount * float(part)), blocks=n_blocks)
        for part, times, n_sums, n_blocks in asked
        if n_blocks
    ]
