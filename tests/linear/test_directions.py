"""Directions through all features: public, equally long, and better from round to round."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dpforest._curator import N_BINS, Curator, Parted, PrivateTable
from dpforest._linear.directions import (
    DirectionConfig,
    Space,
    affordable_directions,
    directions_around,
    log_odds_along,
    random_directions,
    refined,
    weighings,
)
from dpforest._structure import FlatTrees
from dpforest.mechanisms import RandomWords
from dpforest.privacy import BudgetPlan
from dpforest.schema import Classes, Nominal, Numeric, Schema
from dpforest.schema.public_rows import PublicRows
from tests.forests.test_directions import TWENTY, normals

MIXED = Schema(
    {"x": Numeric(0, 1), "few": Numeric(0, 1, bins=4), "ward": Nominal(list("abc")), "yes": Nominal([0, 1])},
    Classes([0, 1]),
)


def spread(scores, schema):
    """Standard deviation of a row's place, if its cells were uniform."""
    return math.sqrt(sum(scores[at, : n - 2].var() for at, n in enumerate(schema.n_cells)))


def test_directions_are_equally_long_and_lie_inside_their_bins():
    found = random_directions(Space(MIXED), 40, RandomWords.seeded(0).take)
    for scores in found.scores.astype(float):
        if np.abs(scores).max() < 2**15 - 1:  # not cut
            assert spread(scores, MIXED) == pytest.approx(2048, rel=0.01)
        for at, n in enumerate(MIXED.n_cells):
            assert abs(scores[at, : n - 2].mean()) <= 1
            assert not scores[at, n:].any()
    reach = (found.width[0] * N_BINS) // 2
    assert reach == pytest.approx(3 * 2048, rel=0.01)
    assert (found.low == -reach).all()


def test_half_of_them_are_of_all_features_and_a_quarter_have_squares_and_few():
    found = random_directions(Space(TWENTY), 400, RandomWords.seeded(1).take)
    used = np.abs(found.scores).max(axis=2) > 0
    assert (used[::2].sum(axis=1) >= 19).all()  # a weight may round to nothing
    n_used = used[1::2].sum(axis=1)
    assert n_used.min() >= 1
    assert n_used.max() <= 12
    bend = np.abs(np.diff(found.scores[:, :, :-2].astype(int), 2, axis=2)).max(axis=(1, 2))
    assert (bend[np.arange(400) % 4 < 2] <= 2).all()  # lines, but for rounding
    assert len(np.unique(found.scores, axis=0)) == 400


def test_the_first_of_those_around_is_the_released_one_itself():
    at = random_directions(Space(MIXED), 4, RandomWords.seeded(0).take)
    released = at.parted_by(300)
    near = directions_around(released, 0.5, Space(MIXED), 200, RandomWords.seeded(1).take)
    assert np.abs(near.scores[0] - released.scores).max() <= 2
    assert not near.both_ways

    def along(one, other):
        parts = [(one[f, : n - 2], other[f, : n - 2]) for f, n in enumerate(MIXED.n_cells)]
        return sum((a * b).mean() for a, b in parts)

    here = released.scores.astype(float)
    cosines = [along(here, other) / along(here, here) for other in near.scores.astype(float)]
    assert cosines[0] == pytest.approx(1, abs=0.01)
    assert np.mean(cosines) == pytest.approx(1 / math.sqrt(1 + 0.5**2), abs=0.05)


def test_how_many_there_are_depends_on_what_is_public_or_released():
    assert affordable_directions(TWENTY, 5000.0) == 1000
    assert affordable_directions(TWENTY, 1e6) == 0  # too long a time
    assert affordable_directions(Schema({"x": Numeric(0, 1)}, Classes([0, 1])), 100.0) == 0
    wide = Schema({f"x{i}": Nominal(range(3000)) for i in range(20)}, Classes([0, 1]))
    assert affordable_directions(wide, 100.0) == 0  # too much room


def test_rounds_come_closer_and_spend_their_share():
    X, y = normals(4000)
    plan = BudgetPlan.divide(4, 0, {"all": 1})
    with Curator(PrivateTable(X, y, TWENTY), plan, RandomWords.seeded(0)) as curator:
        drawn = random_directions(Space(TWENTY), 400, curator.coins.take)
        first = curator.best_direction("all", Fraction(1, 8), drawn)
        last = refined(curator, "all", Fraction(6, 8), first, Space(TWENTY), 4000.0, 400)
        ways = weighings(last, np.log([0.5, 0.5]))
        no_tree = FlatTrees.unsplit(1, 0), np.log([0.5, 0.5]), np.zeros((1, 1, 2))
        best = curator.best_mixture("all", Fraction(1, 8), *no_tree, *ways)
        assert curator.ledger.total() == plan.total
    scores = ways.scores(best, np.log([0.5, 0.5]))
    cells = TWENTY.encode_features(X)

    def correct(found):
        place = sum(found.scores[at, cells[:, at]] for at in range(20))
        return ((place >= found.threshold) == y).mean()

    assert max(correct(first), 1 - correct(first)) < correct(last) - 0.02
    assert correct(last) > 0.93
    odds = sum(scores[at, cells[:, at]] for at in range(20))
    assert ((odds[:, 1] > odds[:, 0]) == y).mean() == pytest.approx(correct(last), abs=0.02)


def test_odds_change_their_sign_at_the_threshold():
    found = Parted(np.array([[10, 30], [-5, 2]]), 12)
    odds = log_odds_along(found)
    for one, other in np.ndindex(2, 2):
        place = found.scores[0, one] + found.scores[1, other]
        assert (odds[0, one] + odds[1, other] >= 0) == (place >= 12)


def test_ways_to_weigh_lead_from_class_shares_to_sure_scores():
    shares, found = np.log([0.8, 0.2]), Parted(np.array([[0, 4096], [0, 2048]]), 4096)
    ways = weighings(found, shares)
    assert len(ways.weights) == len(ways.table_of) == len(ways.likely)
    nothing = ways.scores(len(ways.likely) - 1, shares)
    np.testing.assert_allclose(nothing[0], np.tile(shares, (2, 1)))
    assert not nothing[1].any()
    first = ways.scores(0, shares).sum(axis=0) @ [-1, 1]  # cells 0 and 0, then 1 and 1
    np.testing.assert_allclose(first, DirectionConfig().slopes[0] * np.array([-2.0, 1.0]))


def test_public_rows_say_where_rows_lie():
    """Bounds ten times too wide: without public rows places would be close together."""
    wide = Schema({f"x{i}": Numeric(-60, 60) for i in range(20)}, Classes([0, 1]))
    X, _ = normals(2000)
    space = Space(wide, PublicRows.read(X, wide, "a test"))
    found = random_directions(space, 50, RandomWords.seeded(0).take)
    cells = wide.encode_features(X)
    place = sum(found.scores[:, at, cells[:, at]].astype(float) for at in range(20))
    assert np.median(place.std(axis=1)) == pytest.approx(2048, rel=0.3)
