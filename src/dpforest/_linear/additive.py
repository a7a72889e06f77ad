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

from dpforest._arrays import FloatArray
from dpforest._curator import Block, Curator, Wanted
from dpforest._linear.basis import TWO_VALUES, additive_blocks, scores_of
from dpforest._linear.standard import Standard, ordered_features, told_epsilon
from dpforest.privacy import BudgetPlan, Kind, Query
from dpforest.schema import Schema

HELD = 24  # the ridge holds weights down as if there were so many more rows times epsilon, per function
MEAN_SQUARE = 0.3  # of a standard scale


@dataclass(frozen=True)
class AdditiveConfig:
    """Constants of the additive part; see `dpforest.forests.guided_config` for what "study" means.

    What is called loud is measured by `Basis.noise`.
    """

    scaling: Fraction = Fraction(15, 100)  # of the budget of this part, for centres and spreads
    least_per_line: float = 15  # rows times epsilon per line, or nothing is asked; study
    most_lines: int = 200  # with more, scales are louder than the noise of weights that is foreseen ...
    least_per_line_if_wide: float = 1000  # ... unless there are so many rows
    loudest_squares: float = 0.03  # noise up to which there are squares, ...
    loudest_curves: float = 0.01  # ... curves of the fewest knots (less with more, by the square), ...
    loudest_categories: float = 0.03  # ... and categories, from narrow features to wide ones; study
    fewest_knots: int = 6
    most_knots: int = 16
    surely: float = 1.7  # times its noise that a kind of function is kept from, ...
    by_chance: float = 3.0  # ... and more by this over the root of how many there are: about 2 sd of noise
    most_lifted: float = 1.25  # by what weights are at most multiplied because the ridge held them; study


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

        The linear term moves a line's weight by up to n_weights / epsilon, against about a fifth of the rows;
        that of a category by as many times less as there are categories, against as many times fewer rows.
        Either way a function adds about (2 n_weights / enough)^2 to the sum, less by what the ridge holds.

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
        return n_blocks * (2 * n_weights / (enough + HELD * n_blocks)) ** 2


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
    wide = len(ordered) > config.most_lines
    if enough < (config.least_per_line_if_wide if wide else config.least_per_line) * (len(ordered) + 1):
        return None
    squares = basis._replace(shape="square")
    if ordered and squares.noise(schema, enough) <= config.loudest_squares:
        basis = squares
    for n_knots in range(config.fewest_knots, config.most_knots + 1 if ordered else 0):
        curves = basis._replace(shape="curve", n_knots=n_knots)
        loudest = config.loudest_curves * (config.fewest_knots / n_knots) ** 2
        if curves.noise(schema, enough) <= loudest:
            basis = curves
    for at in nominal:
        wider = basis._replace(nominal=[*basis.nominal, at])
        if wider.noise(schema, enough) <= config.loudest_categories:
            basis = wider
    return basis if basis.ordered or basis.nominal else None


def number_can_be_fitted(schema: Schema, plan: BudgetPlan, pool: str, share: Fraction, basis: Basis) -> bool:
    """Tell whether the weights of a basis are not too faint a question, whatever the scales will be."""
    longest = [np.ones(int(schema.n_cells[at])) for at in basis.ordered]
    return Curator.can_fit(schema, plan.amount(pool) * share, basis.blocks(schema, longest))


def fit_additive(
    curator: Curator,
    pool: str,
    share: Fraction,
    rows: float,
    wanted: Wanted,
    basis: Basis,
    standard: Standard,
    config: AdditiveConfig,
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
    standard : Standard
        Released centres and spreads of the ordered features.
    config : AdditiveConfig
        Constants.
    """
    schema = curator.schema
    blocks = basis.blocks(schema, standard.scales(schema))
    query = Query(Kind.FITTED_WEIGHTS)
    weights = curator.fitted_weights(pool, share, query, blocks, rows, wanted)
    enough = rows * told_epsilon(curator, pool, share)
    n_blocks = len(blocks)
    kept = _kept(blocks, weights[:, 0], basis.noise(schema, enough) / n_blocks, config)
    held = min(config.most_lifted, 1 + HELD * n_blocks / enough)
    weights = weights * (held * kept)[:, None]
    return scores_of(blocks, weights, (schema.n_features, int(schema.n_cells.max())))[..., 0]


def _kept(blocks: list[Block], weights: FloatArray, noise: float, config: AdditiveConfig) -> FloatArray:
    """How much to keep of every weight: what stands out of the noise, by kind of function (James and Stein).

    Parameters
    ----------
    blocks : list of Block
        Functions of the features, the constant first.
    weights : ndarray of shape (n_weights,)
        What was released for them.
    noise : float
        Mean square of the noise that a block adds to the sum.
    config : AdditiveConfig
        Constants.
    """
    kinds, squares, seen = [""], [0.0], set[int]()
    ends = np.cumsum([block.values.shape[1] for block in blocks])
    for block, end in zip(blocks[1:], ends[1:], strict=True):
        width = block.values.shape[1]
        own = weights[end - width : end]
        if width == 1:
            kinds.append("square" if block.feature in seen else "line")
            squares.append(MEAN_SQUARE * float(own[0] ** 2))
        else:
            is_nominal = width == len(block.values)
            kinds.append("category" if is_nominal else "curve")
            # cells without rows, and the knots at the ends, say nothing of the rows
            squares.append(float(np.var(own[:-2] if is_nominal else own[1:-1])))
        seen.add(block.feature)
    kept = np.zeros(len(blocks))
    for kind in set(kinds[1:]):
        some = np.array([each == kind for each in kinds])
        found, expected = float(np.array(squares)[some].mean()), noise
        if found > (config.surely + config.by_chance / np.sqrt(some.sum())) * expected:
            kept[some] = 1 - expected / found
    kept[0] = kept.max()
    found_kept: FloatArray = np.repeat(kept, [block.values.shape[1] for block in blocks])
    return found_kept


def scaling_share(share: Fraction, basis: Basis, config: AdditiveConfig, known: bool) -> Fraction:
    """Part of the budget for centres and spreads of the ordered features; none if they are known."""
    return share * config.scaling if basis.ordered and not known else Fraction(0)
