"""The default forests with delta: boosting on top of a linear part (see `dpforest._boosting`), as a model.

`guided` hands over to these functions where the plan counts zCDP. A boosted model is kept like any other: the
linear part as scores by cell (`Additive`), the rounds as trees whose leaf statistics are whole-number scores.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpforest._boosting import COUNTING, Boosted, boost
from dpforest._boosting.rounds import MOST_LEVELS
from dpforest._boosting.rounds import MOST_ROUNDS as MOST_ROUNDS_BY_FORMULA
from dpforest._boosting.scales import MOST_CODES, N_PAIRS
from dpforest._boosting.state import SCORE_ONE
from dpforest._curator import QUANTILE_PARTS, TARGET_SPAN, Curator, gradient_unit
from dpforest._curator.gradients import LARGEST_NOISE, MOST_CLASSES
from dpforest._structure import Additive
from dpforest._structure.additive import UNIT
from dpforest.forests.foresight import Ask, Shape, check_tables, choose
from dpforest.forests.release import Trained
from dpforest.privacy import BudgetPlan, Kind, Ledger, Pool
from dpforest.schema import Classes, Schema
from dpforest.schema.public_rows import PublicRows

MOST_ROUNDS = 100
_PARTS = {
    "counting rows": (Kind.CLASS_COUNTS, Kind.ROW_COUNT),
    "marginals of the features": (Kind.MARGINALS,),
    "where the target lies": (Kind.TARGET_MEAN, Kind.LOWER_BOUND, Kind.UPPER_BOUND, Kind.RESIDUALS),
    "the linear part": (Kind.PRODUCTS, Kind.GRADIENTS, Kind.STEP_LENGTH),
    "choosing cuts": (Kind.CUTS,),
    "values of the nodes": (Kind.LEAF_GRADIENTS,),
}


def pools() -> list[Pool]:
    """Divide the budget of a boosted model."""
    return [
        Pool("count", COUNTING, "a noisy count, from which everything else follows"),
        Pool(
            "model", 1 - COUNTING, "marginals, linear part, rounds of boosting with gradients of every leaf"
        ),
    ]


def largest_shape(n_rounds: int | None, depth: int | None) -> Shape:
    """State the largest forest that a fit may come to."""
    return Shape(n_rounds or MOST_ROUNDS_BY_FORMULA, MOST_LEVELS if depth is None else depth)


def check_room(owner: str, schema: Schema, shape: Shape) -> None:
    """Refuse more classes than gradients can be told for, and tables that have no room.

    Parameters
    ----------
    owner : str
        Name of the estimator, for the error message.
    schema : Schema
        Features and classes.
    shape : Shape
        The largest forest.
    """
    n_classes = schema.classes.n_classes if isinstance(schema.target, Classes) else 1
    if n_classes > MOST_CLASSES:
        raise ValueError(
            f"{owner}: with delta there may be up to {MOST_CLASSES} classes. Nothing was charged. "
            "Declare fewer, or set delta=0."
        )
    n_outputs = n_classes if n_classes > 2 else 1
    nodes = 2 ** max(shape.depth - 1, 0)  # that are cut at once
    tables = {
        "the scores of all cells: give features fewer bins": (
            schema.n_features * int(schema.n_cells[: schema.n_features].max()) * n_outputs
        ),
        "the cuts of all nodes: lower max_depth": nodes * (schema.n_features + N_PAIRS) * MOST_CODES,
        "the gradients of all nodes: lower max_depth": nodes * MOST_CODES * n_outputs,
    }
    check_tables(owner, tables)


def faintest_asks(plan: BudgetPlan, schema: Schema, shape: Shape) -> list[Ask]:
    """State the least part and the widest reach of every kind of question, as the formulas have them."""
    unit, along = gradient_unit(plan, schema.n_features), Fraction(5, 100)
    # squared length of gradients times features: in the coarsest units (1.8 per feature, halves), or in those
    # whose noise is the loudest that can be drawn
    coarsest = 8 * schema.n_features * unit**2
    loudest = math.floor(2 * plan.amount("model") * along * int(LARGEST_NOISE) ** 2)
    level = Fraction(15, 100) / max(2 * shape.n_trees * shape.depth, 1)
    quantile = min(Fraction(4, 1000), Fraction(1, 10) / (2 * shape.n_trees))
    return [
        Ask("count"),
        Ask("model", Fraction(3, 100), squared=schema.n_features),
        Ask("model", along, squared=max(coarsest, loudest)),
        Ask("model", Fraction(4, 1000), squared=unit**2),
        Ask("model", Fraction(1, 100), squared=2 * unit**2),
        Ask("model", level, squared=2 * unit**2),
        choose("model", level, 1, 2 * unit),
        choose("model", quantile, 1, 2 * QUANTILE_PARTS),
    ]


def train(
    curator: Curator, n_rounds: int | None, depth: int | None, public: PublicRows | None = None
) -> Trained:
    """Make a boosted model."""
    model = boost(curator, n_rounds, depth, public)
    target = curator.schema.target
    table = model.table.copy()
    table[0] += model.constant  # every row has one cell of the first feature
    scores, leaves = (_outputs(part, curator.schema) for part in (table, model.values))
    if not isinstance(target, Classes):
        scores = scores[..., :1]
    additive = Additive(scores, 1.0, np.empty((0, 2)), model.pairs, _whole_gains(model), model.clip)
    return Trained(model.trees, leaves, additive=additive)


def _outputs(scores: NDArray[np.int64], schema: Schema) -> NDArray[np.int64]:
    """Scores of every class, or levels of the target and nothing, in units of 1 / UNIT."""
    nothing = np.zeros_like(scores[..., :1])
    if isinstance(schema.target, Classes):
        whole = scores * (UNIT // SCORE_ONE)
        return np.concatenate([nothing, whole], axis=-1) if schema.target.n_classes == 2 else whole
    levels = np.rint(scores * (schema.range.levels * UNIT / TARGET_SPAN)).astype(np.int64)
    return np.concatenate([levels, nothing], axis=-1)


def _whole_gains(model: Boosted) -> NDArray[np.int64]:
    """Gains as parts of their sum."""
    total = float(model.gains.sum())
    return np.rint(model.gains / total * UNIT if total > 0 else model.gains).astype(np.int64)


def importances(additive: Additive) -> NDArray[np.float64]:
    """Return what each feature adds to the fit, beyond what noise would seem to add; sums to 1, or is 0."""
    assert additive.gains is not None
    return additive.gains / max(int(additive.gains.sum()), 1)


def explain(ledger: Ledger, n_rounds: int, depth: int, rounds_given: bool, depth_given: bool) -> str:
    """Say in words how the budget of a boosted model was spent."""
    plan = ledger.plan
    lines = [f"The whole budget is {plan.guarantee}, in zCDP {float(plan.total):.3g} for one row."]
    for part, kinds in _PARTS.items():
        spent = sum(event.cost for event in ledger if event.kind in kinds)
        if spent:
            lines.append(f"{float(100 * spent / plan.total):.3g} % went to {part}.")
    rounds = "as n_estimators says" if rounds_given else "by a formula of rho and a noisy count"
    levels = "as max_depth says" if depth_given else "so that nodes stand out of their noise"
    lines.append(f"There are {n_rounds} rounds, {rounds}; each adds a tree of {depth} levels, {levels}.")
    return "\n".join(lines)
