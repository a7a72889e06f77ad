"""One more row moves the tables of boosting as far as was paid for and no further, over all small tables."""

from fractions import Fraction

import numpy as np
import pytest

from dpforest._curator import QUANTILE_PARTS, _gradients
from dpforest._curator.gradients import cut_weights
from dpforest._rows.gradients import (
    CellTotals,
    ColumnSums,
    FeatureProducts,
    GradientSums,
    NodeSums,
    ResidualCounts,
    StepSums,
    TargetSum,
)
from dpforest.mechanisms import Rate, exponential_log_pmf, quantile_range, quantile_utilities
from dpforest.privacy import Kind, PrivacyError, Query
from tests.counting import rows_of_cells
from tests.curator.conftest import TARGET
from tests.neighbours import neighbours, tables
from tests.rows.test_gradients import COLUMNS, grown, scores_of

UNIT = 64
CLASSES = [(cells, y) for cells in ((0, 0), (3, 2), (5, 4)) for y in (0, 1, 2)]
LEVELS = [(cells, y) for cells in ((0, 0), (3, 2), (5, 4)) for y in (0, 20, 64)]
VALUES = [np.arange(-5, 7).reshape(6, 2), np.arange(-4, 6).reshape(5, 2)]
NORMS = np.array([[(line**2).sum() for line in block] + [0] * (6 - len(block)) for block in VALUES])
LONGEST = 60
OF_COLUMNS = np.array([2**20, 3000, 7])  # released weights are the same for neighbours, however uneven
WEIGHTS = np.where(np.tri(4).T - np.tri(4, k=-1).T > 0, 5, 7)[np.triu_indices(4)]


def folded(scores, records, table):
    cells = np.array([cells for cells, _ in records], np.uint8).reshape(-1, 2)
    rows = rows_of_cells(cells, [y for _, y in records], (6, 5), scores.grid.n_codes)
    return rows.fold(table)


def scores_of_cuts(scores, records):
    table = folded(scores, records, ColumnSums(scores))
    out = np.zeros((table.shape[1], table.shape[0], table.shape[2]), np.int64)
    _gradients.cut_scores(table, COLUMNS.by_code, COLUMNS.n_codes, out)
    return out.reshape(len(out), -1)


def feature_sums(scores, records):
    table = folded(scores, records, GradientSums(scores, NORMS, LONGEST))
    return np.concatenate([block.T @ table[at, : len(block)] for at, block in enumerate(VALUES)])


def weighted_products(scores, records):
    spec = FeatureProducts(scores, np.arange(2), VALUES, LONGEST)
    return folded(scores, records, spec)[np.triu_indices(4)] * WEIGHTS


def step_of(scores):
    return np.random.default_rng(3).integers(-(2**17), 2**17, scores.shape).astype(np.int32)


# what is released, and by how much its squared length may move
MOVES = {
    "marginals": (lambda s, r: folded(s, r, CellTotals(s)), 2),
    "gradient sums": (feature_sums, UNIT**2 * LONGEST),
    "products": (weighted_products, 25 * LONGEST**2),
    "step length": (lambda s, r: folded(s, r, StepSums(s, step_of(s), 2e4, 44)), UNIT**2 + 44**2),
    "node sums": (lambda s, r: folded(s, r, NodeSums(s)), UNIT**2 + (UNIT // 2) ** 2),
}


@pytest.mark.parametrize("name", MOVES)
@pytest.mark.parametrize(("n_classes", "domain"), [(3, CLASSES), (None, LEVELS)], ids=["classes", "numbers"])
def test_one_row_moves_tables_of_gradients_within_their_norms(name, n_classes, domain):
    answer, bound = MOVES[name]
    scores = grown(scores_of(n_classes, UNIT))
    moved = [
        int(((answer(scores, larger) - answer(scores, smaller)) ** 2).sum())
        for smaller, larger in neighbours(domain, 2)
    ]
    assert max(moved) <= bound
    if name != "step length":  # whether its clips are reached depends on the step
        assert max(moved) > 0.4 * bound, "far below: the noise is louder than it needs to be"


def test_one_row_moves_the_sum_of_targets_by_a_unit():
    scores = scores_of(None, UNIT)
    for y in range(65):
        assert abs(folded(scores, [((0, 0), y)], TargetSum(scores, 2**18, 3 * 2**18))[0]) <= UNIT
    assert folded(scores, [((0, 0), 64)], TargetSum(scores, 2**18, 3 * 2**18)).tolist() == [UNIT]


@pytest.mark.parametrize(("n_classes", "domain"), [(3, CLASSES), (None, LEVELS)], ids=["classes", "numbers"])
def test_cuts_are_chosen_at_their_epsilon_over_all_small_tables(n_classes, domain):
    """Exact probabilities: no neighbour changes one by more than epsilon, and some come close."""
    scores = grown(scores_of(n_classes, UNIT))
    epsilon = Fraction(1)
    rate = Rate.floor(epsilon / (2 * UNIT))
    base = np.broadcast_to(
        cut_weights(COLUMNS, OF_COLUMNS).reshape(1, -1), (scores.n_nodes, COLUMNS.codes.shape[0] * 5 + 5)
    )
    log_pmf = {
        records: exponential_log_pmf(scores_of_cuts(scores, records), base, rate)
        for records in tables(domain, 3)
    }
    moves, losses = [], []
    for smaller, larger in neighbours(domain, 3):
        moves.append(scores_of_cuts(scores, larger) - scores_of_cuts(scores, smaller))
        with np.errstate(invalid="ignore"):
            losses.append(np.nanmax(np.abs(log_pmf[tuple(sorted(larger))] - log_pmf[smaller])))
    assert np.abs(moves).max() == UNIT
    assert 0.4 < max(losses) <= 1 + 1e-9


def test_clip_levels_with_released_weights_are_chosen_at_their_epsilon_over_all_small_tables():
    """Exact probabilities, with weights that draw to a level of before: they are the same for neighbours."""
    scores = scores_of(None, UNIT).plus_constant(np.array([2**19]))
    borders, base = np.array([2**16, 2**18, 2**19]), np.array([1, 50, 2000, 0])
    rate = Rate.floor(Fraction(1, quantile_range(680, QUANTILE_PARTS)))

    def log_pmf(records):
        counts = folded(scores, records, ResidualCounts(scores, borders))[None]
        found, allowed = quantile_utilities(counts, [0], [3], 680, QUANTILE_PARTS)
        return exponential_log_pmf(found, allowed * base, rate)[0, :3]

    losses = [np.abs(log_pmf(larger) - log_pmf(smaller)).max() for smaller, larger in neighbours(LEVELS, 3)]
    assert 0.4 < max(losses) <= 1 + 1e-9


def test_gradients_are_sold_under_zcdp_only(open_curator):
    with open_curator([(0.1, "a", 0)]) as curator, pytest.raises(PrivacyError, match="zCDP"):
        curator.score_rows()


def test_rows_without_a_target_add_nothing(open_curator):
    """They are left out of every table, counts and marginals too."""
    query = Query(Kind.OTHER, "rows")
    records = [(0.1, "a", 0.5), (0.6, "b", None), (0.9, "c", "?")]
    with open_curator(records, TARGET, delta=1e-6, noiseless=True) as curator:
        curator.score_rows()
        counts, _ = curator.marginals("everything", Fraction(1, 2), [np.arange(6), np.arange(5)], query)
    assert [count.sum() for count in counts] == [1, 1]
