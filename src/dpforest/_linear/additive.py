"""A sum over features that follows a numeric target, fitted to the rows in one question.

Its weights minimise a Huber loss, quadratic up to a width and linear beyond, with a random linear term
(`Curator.fitted_weights`). A row pulls at them by at most 1 however far out its target is: the width, not the
bounds of the target, is what noise is in proportion to.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from dpforest import mechanisms
from dpforest._arrays import FloatArray
from dpforest._curator import Block, Curator, Wanted
from dpforest._curator.fits import Loss, _Fit
from dpforest._linear.basis import TWO_VALUES, additive_blocks, scores_of
from dpforest._linear.standard import ordered_features, standard_scales
from dpforest.privacy import BudgetPlan, Kind, Query
from dpforest.schema import Schema
from dpforest.schema.public_rows import PublicRows


@dataclass(frozen=True)
class AdditiveConfig:
    """Constants of the additive part; see `dpforest.forests.guided_config` for what "study" means.

    `Basis.noise` says what the loudest of each may be.
    """

    scaling: Fraction = Fraction(15, 100)  # of the budget of this part, for centres and spreads; study
    loudest_lines: float = 1.5
    loudest_categories: float = 0.1  # beside lines, with all narrower ones
    loudest_squares: float = 0.05
    loudest_curves: float = 0.05
    fewest_knots: int = 6
    most_knots: int = 16
    kpow: float = 2


class Centre(NamedTuple):
    """From where and in which unit targets are measured, in levels of the target; released."""

    zero: int
    reach: int


class Basis(NamedTuple):
    """What is fitted: which nominal features, and what follows the scales of the ordered ones."""

    ordered: list[int]
    nominal: list[int]
    shape: str
    n_knots: int

    def blocks(self, schema: Schema, scales: list[FloatArray]) -> list[Block]:
        """Make the functions of the features, by the scales of the ordered ones."""
        by_feature = dict(zip(self.ordered, scales, strict=True))
        return additive_blocks(schema, by_feature, self.shape, self.n_knots, self.nominal)

    def noise(self, schema: Schema, enough: float) -> float:
        """Mean square of the noise in the fitted sum, in units of the wanted width squared; roughly.

        The linear term moves a weight of a line by up to all weights / epsilon, against about a fifth of the
        rows that bend there; standard scales have a mean square of 0.3. Categories are moved by as much: less
        by how many they are, against as many times fewer rows. So every feature adds (2 n_weights / enough)^2.

        Parameters
        ----------
        schema : Schema
            What is public about the features.
        enough : float
            Rows times epsilon that weights are bought for.
        """
        scaled = sum(int(schema.n_cells[at]) > TWO_VALUES for at in self.ordered)
        pairs = scaled if self.shape == "square" else 0
        n_weights = 1 + len(self.ordered) + pairs + sum(int(schema.n_cells[at]) for at in self.nominal)
        if self.shape == "curve":
            n_weights += scaled * (self.n_knots - 1)
        n_blocks = 1 + len(self.ordered) + pairs + len(self.nominal)
        return n_blocks * (2 * n_weights / enough) ** 2


def affordable_basis(schema: Schema, enough: float, config: AdditiveConfig) -> Basis | None:
    """Choose what to fit by public quantities and a noisy count; nothing where weights would drown in noise.

    Nominal features with the most categories are left to the trees first.

    Parameters
    ----------
    schema : Schema
        What is public about the features.
    enough : float
        Rows times epsilon that weights can be bought for, at most.
    config : AdditiveConfig
        Constants.
    """
    ordered = ordered_features(schema)
    nominal = [at for at in range(schema.n_features) if at not in ordered]
    nominal.sort(key=lambda at: int(schema.n_cells[at]))
    basis = Basis(ordered, [], "line", 0)
    if basis.noise(schema, enough) > config.loudest_lines:
        return None
    squares = basis._replace(shape="square")
    if ordered and squares.noise(schema, enough) <= config.loudest_squares:
        basis = squares
    for n_knots in range(config.fewest_knots, config.most_knots + 1 if ordered else 0):
        curves = basis._replace(shape="curve", n_knots=n_knots)
        if curves.noise(schema, enough) <= config.loudest_curves * (config.fewest_knots / n_knots) ** config.kpow:
            basis = curves
    for at in nominal:
        wider = basis._replace(nominal=[*basis.nominal, at])
        if wider.noise(schema, enough) <= config.loudest_categories:
            basis = wider
    return basis if basis.ordered or basis.nominal else None


def can_be_fitted(schema: Schema, plan: BudgetPlan, pool: str, share: Fraction, basis: Basis) -> bool:
    """Tell whether the weights of a basis are not too faint a question, whatever the scales will be."""
    longest = [np.ones(int(schema.n_cells[at])) for at in basis.ordered]
    try:
        mechanisms.terms(
            _Fit(Loss.NUMBERS, basis.blocks(schema, longest), schema).problem, plan.amount(pool) * share
        )
    except ValueError:
        return False
    return True


def fit_additive(
    curator: Curator,
    pool: str,
    share: Fraction,
    rows: float,
    wanted: Wanted,
    basis: Basis,
    config: AdditiveConfig,
    public: PublicRows | None = None,
) -> FloatArray:
    """Fit a sum over features, of shape (n_features, n_cells), in units of the wanted width.

    Parameters
    ----------
    curator : Curator
        Owner of the rows.
    pool : str
        Pool of the budget plan to spend.
    share : Fraction
        Part of it.
    rows : float
        Released number of rows.
    wanted : Wanted
        What the sum is to be, in levels of the target.
    basis : Basis
        What is fitted.
    config : AdditiveConfig
        Constants.
    public : PublicRows, optional
        Rows that tell scales, of which nothing is asked then.
    """
    schema = curator.schema
    scaling = scaling_share(share, basis, config, public)
    ordered = basis.ordered
    scales = standard_scales(curator, pool, scaling, ordered, rows, public) if ordered else []
    blocks = basis.blocks(schema, scales)
    query = Query(Kind.FITTED_WEIGHTS)
    weights = curator.fitted_weights(pool, share - scaling, query, blocks, rows, wanted)
    return scores_of(blocks, weights, (schema.n_features, int(schema.n_cells.max())))[..., 0]


def scaling_share(
    share: Fraction, basis: Basis, config: AdditiveConfig, public: PublicRows | None
) -> Fraction:
    """Part of the budget for centres and spreads of the ordered features."""
    return share * config.scaling if basis.ordered and public is None else Fraction(0)
