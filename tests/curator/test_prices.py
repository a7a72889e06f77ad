"""Every query runs its mechanism at what was paid for: no louder than it must, and not a bit more quietly.

How far a row (or a changed label) moves each table is written here once more, by hand, as are the prices; the
ranges of scores themselves are tested in `test_utilities` and `test_queries`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest

from dpforest import mechanisms
from dpforest._boosting.numbers import BORDERS
from dpforest._curator import (
    EXPONENTIAL,
    PERMUTE_AND_FLIP,
    Block,
    Columns,
    Curator,
    Directions,
    Feature,
    PairColumns,
    PrivateTable,
    Utility,
)
from dpforest._curator import (
    TARGET as THE_TARGET,
)
from dpforest._structure import FlatTrees, Pairs
from dpforest.mechanisms import RandomWords
from dpforest.privacy import BudgetPlan, Kind, NeighboringRelation, Query, rho_to_epsilon
from dpforest.schema import Classes, Schema
from tests.curator.conftest import CLASSES, FEATURES, TARGET, rows_of
from tests.curator.test_utilities import CENTRES

ADD, LABEL = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.LABEL_CHANGE
TWO = Schema(FEATURES, Classes([0, 1]))
RECORDS = [(0.1, "a", 0), (0.6, "b", 1), (0.9, "c", 1)]
N_TREES = 3
WHOLE = Fraction(1)
WEIGHTS = np.array([[3, -1], [0, 2], [-2, -2]])  # L1 norms 4, 2, 4, squared L2 norms 10, 4, 8
BLOCKS = [
    Block(0, np.full((6, 1), 5)),
    Block(0, np.arange(-3, 3)[:, None]),
    Block(1, 5 * np.eye(5, dtype=int)),
]
LINES = [Block(0, np.full((6, 1), 5)), Block(1, np.full((5, 1), -4))]
# cells of two columns and codes of the target, some of them together and one left out
CELL_GROUPS = {0: np.array([0, 0, 1, 2, 2, -1]), 1: np.arange(5), THE_TARGET: np.arange(3)}
# the last step of the summed logarithms: 1024 (65537 ln 65537 - 65536 ln 65536), rounded down
ENTROPY_STEP = 12_380


class Case(NamedTuple):
    """A query, and how far it moves: L1 norm or range of scores (pure), squared L2 norm or range (zCDP)."""

    schema: Schema
    ask: object
    pure: int | Fraction
    zcdp: int | Fraction
    copies: int = 1
    relation: NeighboringRelation = ADD


def roots(curator):
    return FlatTrees.unsplit(N_TREES, 1, curator.subsets.left_sets)


def asked(n_slots):
    features = np.zeros((N_TREES, 1, n_slots), np.int32)
    features[..., 1:] = 1
    return features


def leaves(query, **options):
    return lambda curator: getattr(curator, query)("all", FlatTrees.unsplit(N_TREES, 1), **options)


def splits(utility):
    def ask(curator):
        centres = CENTRES.get(utility)
        if centres is not None:
            centres = type(centres)(np.repeat(centres.centre, N_TREES, 0), np.repeat(centres.span, N_TREES))
        return curator.splits("all", roots(curator), 0, asked(2), utility, WHOLE, centres)

    return ask


def medians(curator):
    return curator.medians("all", roots(curator), 0, asked(1)[..., 0], WHOLE)


def features(curator):
    return curator.features_by_median("all", roots(curator), 0, asked(2), WHOLE)


def paired(curator):
    tree, slots = (
        FlatTrees.unsplit(1, 2, curator.subsets.left_sets),
        PairColumns(np.arange(2), np.array([3, 5])),
    )
    return curator.paired_splits("all", tree, 0, slots, WHOLE)


def named(curator):
    tree = FlatTrees.unsplit(1, 2, curator.subsets.left_sets)
    return curator.named_splits("all", tree, 0, PairColumns(np.arange(2), np.array([3, 5])), WHOLE)


def directions(both_ways):
    scores = np.arange(2 * 2 * 6, dtype=np.int16).reshape(2, 2, 6)
    return Directions(scores, np.zeros(2, np.int64), np.ones(2, np.int64), both_ways)


def paired_or_direction(curator):
    tree, slots = (
        FlatTrees.unsplit(1, 2, curator.subsets.left_sets),
        PairColumns(np.arange(2), np.array([3, 5])),
    )
    return curator.paired_splits_or_direction("all", tree, slots, WHOLE, directions(both_ways=True), 1.0)


def mixture(curator):
    tables, weights, first = np.zeros((1, 2, 6, 3)), np.ones((4, 2)), np.zeros(4, np.int64)
    tree = FlatTrees.unsplit(1, 0)
    scores = np.zeros(3), np.zeros((1, 1, 3)), tables
    return curator.best_mixture("all", WHOLE, tree, *scores, weights, first, np.ones(4, np.int64))


def first_cell(cells, target):
    return cells[:, 0].astype(np.int64)


CASES = {
    "row_count": Case(CLASSES, lambda c: c.row_count("all"), 1, 1),
    "class_counts": Case(CLASSES, lambda c: c.class_counts("all"), 1, 1),
    "class_counts, labels": Case(CLASSES, lambda c: c.class_counts("all"), 2, 2, relation=LABEL),
    "leaf_histograms": Case(CLASSES, leaves("leaf_histograms"), 1, 1, N_TREES),
    "leaf_histograms, labels": Case(CLASSES, leaves("leaf_histograms"), 2, 2, N_TREES, LABEL),
    "leaf_histograms, two labels": Case(TWO, leaves("leaf_histograms"), 1, 1, N_TREES, LABEL),
    "leaf_soft_histograms": Case(TARGET, leaves("leaf_soft_histograms"), 8, 64, N_TREES),
    "leaf_labels": Case(CLASSES, leaves("leaf_labels", mechanism=PERMUTE_AND_FLIP), 1, 1, N_TREES),
    "leaf_labels, exponential": Case(CLASSES, leaves("leaf_labels", mechanism=EXPONENTIAL), 1, 1, N_TREES),
    "medians": Case(CLASSES, medians, 2, 2, N_TREES),
    "features_by_median": Case(CLASSES, features, 6 * 1024, 6 * 1024, N_TREES),
    "features_by_median, numbers": Case(TARGET, features, 3 * 31**2, 3 * 31**2, N_TREES),
    "max_operator": Case(CLASSES, splits(Utility.MAX_OPERATOR), 1, 1, N_TREES),
    "gini": Case(CLASSES, splits(Utility.GINI), 2048, 2048, N_TREES),
    "squared_error": Case(TARGET, splits(Utility.SQUARED_ERROR), 64, 64, N_TREES),
    "information_gain": Case(CLASSES, splits(Utility.INFORMATION_GAIN), ENTROPY_STEP, ENTROPY_STEP, N_TREES),
    "centred": Case(CLASSES, splits(Utility.CENTRED), 4097, 4097, N_TREES),
    "centred_target": Case(TARGET, splits(Utility.CENTRED_TARGET), 4097, 4097, N_TREES),
    # one row in one leaf, and four parts in 4096 for the rounding of logarithms
    "paired_splits": Case(CLASSES, paired, Fraction(4100, 4096), Fraction(4100, 4096)),
    # the same, and twice 16 more for the logarithms of sums over classes
    "named_splits": Case(CLASSES, named, Fraction(4132, 4096), Fraction(4132, 4096)),
    "paired_splits_or_direction": Case(TWO, paired_or_direction, Fraction(4100, 4096), Fraction(4100, 4096)),
    "best_direction": Case(TWO, lambda c: c.best_direction("all", WHOLE, directions(both_ways=False)), 1, 1),
    "target_quantile": Case(TARGET, lambda c: c.target_quantile("all", WHOLE, "q", 1, 10), 18, 18),
    "target_quantile, distances": Case(
        TARGET, lambda c: c.target_quantile("all", WHOLE, "q", 3, 4, around=2), 6, 6
    ),
    "lookup_sums": Case(CLASSES, lambda c: c.lookup_sums("all", WHOLE, "s", BLOCKS, 5, True), 5, 3 * 5**2),
    "product_sums": Case(CLASSES, lambda c: c.product_sums("all", WHOLE, "p", LINES, 5), 25, 3 * 25**2),
    "group_counts": Case(CLASSES, lambda c: c.group_counts("all", WHOLE, "g", CELL_GROUPS), 3, 3),
    "scored_counts": Case(CLASSES, lambda c: c.scored_counts("all", WHOLE, "s", first_cell, 6), 1, 1),
    "scored_sums": Case(CLASSES, lambda c: c.scored_sums("all", WHOLE, "s", first_cell, 5), 5, 25),
    "best_mixture": Case(CLASSES, mixture, 1024, 1024),
    "label_sums": Case(CLASSES, lambda c: c.label_sums("all", WEIGHTS), 8, 20, relation=LABEL),
    "label_sums, two labels": Case(TWO, lambda c: c.label_sums("all", WEIGHTS), 4, 10, relation=LABEL),
}

# Questions about gradients, sold under zCDP only. At this budget a gradient is at most 4096 units long; the
# squared length of the features below is at most 2 (in units of 1/64: 8192).
U, QUERY = 4096, Query(Kind.OTHER, "gradients")
LONGEST = 2 * 64**2
GRADIENT_FEATURES = [
    Feature(0, np.linspace(-1, 1, 6)[:, None]),
    Feature(1, np.eye(5)),
]
COLUMNS = Columns(
    np.array([[0, 0, 1, 1, 2, 2], [0, 1, 2, 3, 4, 0]], np.uint8), np.array([3, 5]), np.array([False, True]),
    Pairs(np.zeros((2, 6), np.int32), np.zeros((0, 4), np.int32), np.zeros(0, np.int32)),
)  # fmt: skip


def scored(ask):
    def asked_of_scored_rows(curator):
        curator.score_rows()
        return ask(curator)

    return asked_of_scored_rows


def in_tree(ask):
    def asked_of_nodes(curator):
        curator.score_rows()
        curator.begin_tree(COLUMNS)
        return ask(curator)

    return asked_of_nodes


GROUPS = [np.arange(6), np.arange(5)]
STEP = np.ones((2, 6, 3), np.int32)
BASE, OF_COLUMNS = np.ones(4, np.int64), np.full(2, 2**20)
GRADIENT_CASES = {
    "known_targets": Case(TARGET, scored(lambda c: c.known_targets("all")), 0, 1),
    "marginals": Case(CLASSES, scored(lambda c: c.marginals("all", WHOLE, GROUPS, QUERY)), 0, 2),
    "target_total": Case(TARGET, scored(lambda c: c.target_total("all", WHOLE, 0, 2**20, QUERY)), 0, U**2),
    "target_place": Case(
        TARGET, scored(lambda c: c.target_place("all", WHOLE, 4, 10, BASE, QUERY)), 0, 2 * 990
    ),
    "residual_quantile": Case(
        TARGET,
        scored(lambda c: c.residual_quantile("all", WHOLE, 680, BORDERS, np.ones_like(BORDERS), QUERY)),
        0,
        2 * 680,
    ),
    "gradient_sums": Case(
        CLASSES,
        scored(lambda c: c.gradient_sums("all", WHOLE, GRADIENT_FEATURES, 2.0, QUERY)),
        0,
        U**2 * LONGEST,
    ),
    "feature_products": Case(
        CLASSES,
        scored(lambda c: c.feature_products("all", WHOLE, GRADIENT_FEATURES, 2.0, QUERY)),
        0,
        25 * LONGEST**2,
    ),
    "step_length": Case(
        CLASSES, scored(lambda c: c.step_length("all", WHOLE, STEP, 100.0, QUERY)), 0, U**2 + 2867**2
    ),
    "best_cuts": Case(CLASSES, in_tree(lambda c: c.best_cuts("all", WHOLE, OF_COLUMNS, QUERY)), 0, 2 * U),
    "node_sums": Case(CLASSES, in_tree(lambda c: c.node_sums("all", WHOLE, QUERY)), 0, U**2 + 2048**2),
}

# where each mechanism takes its strength
STRENGTH = {
    "discrete_laplace": 1,
    "discrete_gaussian": 1,
    "permute_and_flip": 1,
    "exponential": 2,
    "nested_exponential": 3,
    "nested_or_rival": 3,
    "named_exponential": 3,
    "block_norm": 2,
}


@contextmanager
def metered() -> Iterator[list[tuple[str, object]]]:
    """List every mechanism that runs, with its strength."""
    found: list[tuple[str, object]] = []
    with pytest.MonkeyPatch.context() as patch:
        for name in STRENGTH:
            patch.setattr(mechanisms, name, _watched(name, getattr(mechanisms, name), found))
        yield found


def _watched(name, mechanism, found):
    def run(*args):
        found.append((name, args[STRENGTH[name]]))
        return mechanism(*args)

    return run


def price(mechanism, strength, moves, pure):
    """Epsilon, or rho, of one mechanism for one step."""
    if mechanism == "discrete_gaussian":  # Bun and Steinke 2016; Canonne, Kamath and Steinke 2020
        return Fraction(moves) / (2 * mechanisms.discrete_gaussian_parameter(strength))
    epsilon = strength.value * moves
    if pure:
        return epsilon
    # bounded range (Cesar and Rogers 2021) for exponential mechanisms only
    bounded = ("exponential", "nested_exponential", "nested_or_rival", "named_exponential")
    return epsilon**2 / (8 if mechanism in bounded else 2)


def assert_priced(name, delta=0):
    """The mechanisms of a query cost, together for all copies, what the ledger was charged; hardly less."""
    case = (CASES | GRADIENT_CASES)[name]
    plan = BudgetPlan.divide(2, delta, {"all": 1}, relation=case.relation)
    table = PrivateTable(*rows_of(RECORDS), case.schema)
    with Curator(table, plan, RandomWords.seeded(0)) as curator, metered() as found:
        case.ask(curator)
        charged = curator.ledger.total()
    assert charged == plan.total
    assert found
    moves = case.zcdp if delta else case.pure
    costs = [case.copies * price(kind, strength, moves, not delta) for kind, strength in found]
    assert charged * Fraction(9999, 10_000) <= max(costs) <= charged


@pytest.mark.parametrize("delta", [0, Fraction(1, 10**6)], ids=["pure", "zcdp"])
@pytest.mark.parametrize("name", CASES)
def test_mechanisms_run_at_what_was_paid(name, delta):
    assert_priced(name, delta)


@pytest.mark.parametrize("name", GRADIENT_CASES)
def test_questions_about_gradients_run_at_what_was_paid(name):
    assert_priced(name, Fraction(1, 10**6))


def test_every_question_that_costs_has_a_price_here():
    free = {"scatter_rows", "subtract", "public_medians", "public_cells"}
    free |= {"score_rows", "add_constant", "add_table", "set_clip"}
    free |= {"begin_tree", "split_nodes", "add_values"}
    questions = {name for name in dir(Curator) if hasattr(getattr(Curator, name), "__wrapped__")}
    priced = {name.split(",")[0] for name in CASES} - {u.name.lower() for u in Utility}
    priced |= {"fitted_weights"}  # tests/curator/test_fits.py: it runs two mechanisms, each for a part
    priced |= {"common_values"}  # test_mechanisms_of_names_run_at_what_was_paid: it needs a loose delta
    assert questions - free == priced | {"splits"} | set(GRADIENT_CASES)


def assert_group_privacy(delta=0):
    """What a person's rows cost together, by the definition: k steps cost k epsilon, or k**2 rho."""
    for relation, steps in ((ADD, 1), (NeighboringRelation.REPLACE_ONE, 2), (LABEL, 1)):
        for rows in (1, 3):
            plan = BudgetPlan.divide(2, delta, {"all": 1}, relation=relation, max_rows_per_person=rows)
            if delta:
                epsilon = rho_to_epsilon(plan.total * (rows * steps) ** 2, delta)
            else:
                epsilon = plan.total * rows * steps
            assert 2 * 0.9999 <= epsilon <= 2


@pytest.mark.parametrize("delta", [0, Fraction(1, 10**6)], ids=["pure", "zcdp"])
def test_several_rows_of_a_person_cost_what_was_promised(delta):
    assert_group_privacy(delta)
