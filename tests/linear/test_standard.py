"""What released centres and spreads let expect of the cells of every column."""

from fractions import Fraction

import numpy as np
import pytest

from dpforest._curator import Curator, PrivateTable
from dpforest._linear import Standard, standards
from dpforest.mechanisms import RandomWords
from dpforest.privacy import BudgetPlan
from dpforest.schema import Classes, Combination, Nominal, Numeric, Schema

FEATURES = {
    "x": Numeric(-10, 10),
    "sex": Nominal(["f", "m"]),
    "town": Nominal(list("abc")),
    "z": Numeric(0, 1),
}
SUMS = Combination("x", "z", 1), Combination("x", "z", -1)
SCHEMA = Schema(FEATURES, Classes([0, 1]), SUMS)


def told(noise=0.0):
    return Standard([0, 1, 3], np.array([0.5, 0.0, -0.2]), np.array([0.1, 1.0, 0.3]), noise)


def places_of(law):
    return (2 * np.arange(len(law) - 2) + 1) / (len(law) - 2) - 1


def test_laws_have_the_centre_and_the_spread_that_were_released():
    laws = told().expected(SCHEMA)
    assert [law is None for law in laws] == [False, True, True, False, False, False]
    wanted = {
        0: (0.5, 0.1),
        3: (-0.2, 0.3),
        4: (0.15, np.hypot(0.1, 0.3) / 2),
        5: (0.35, np.hypot(0.1, 0.3) / 2),
    }
    for column, (centre, spread) in wanted.items():
        law = laws[column]
        assert law.sum() == pytest.approx(1)
        assert (law >= 0).all()
        assert not law[-2:].any()  # missing and other
        place = places_of(law)
        assert law[:-2] @ place == pytest.approx(centre, abs=0.02)
        assert law[:-2] @ np.abs(place - centre) == pytest.approx(spread, rel=0.15)


def test_loud_centres_widen_the_law():
    narrow, wide = (told(noise).expected(SCHEMA)[0] for noise in (0.0, 0.3))
    assert wide.max() < narrow.max() / 2
    assert wide.sum() == pytest.approx(1)


def test_nothing_is_expected_where_nothing_is_known():
    assert Standard.unknown().expected(SCHEMA) == [None] * 6
    assert Standard.unknown().scales(SCHEMA) == []


def test_released_laws_follow_the_rows():
    """Rows that fill a twentieth of the bounds: most of the law lies there."""
    rng = np.random.default_rng(0)
    schema = Schema({"x": Numeric(-100, 100), "z": Numeric(0, 1000)}, Classes([0, 1]))
    X = np.column_stack([rng.normal(20, 3, 4000), rng.normal(50, 10, 4000)])
    plan = BudgetPlan.divide(1, 0, {"all": 1})
    with Curator(PrivateTable(X, rng.integers(0, 2, 4000), schema), plan, RandomWords.seeded(0)) as curator:
        standard = standards(curator, "all", Fraction(1), 4000.0)
    for law, (low, high) in zip(standard.expected(schema), [(0.1, 0.3), (-1.0, -0.8)], strict=True):
        inside = (places_of(law) >= low) & (places_of(law) <= high)
        assert law[:-2][inside].sum() > 0.8
