"""What released centres and spreads let expect of the cells of every column."""

from fractions import Fraction

import numpy as np
import pytest

from dpforest._curator import Curator, PrivateTable
from dpforest._linear import Space, Standard, standards
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
    laws = told().expected(SCHEMA).shares
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
    narrow, wide = (told(noise).expected(SCHEMA).shares[0] for noise in (0.0, 0.3))
    assert wide.max() < narrow.max() / 2
    assert wide.sum() == pytest.approx(1)


def test_nothing_is_expected_where_nothing_is_known():
    assert Standard.unknown().expected(SCHEMA) == ((None,) * 6, "")
    assert Standard.unknown().scales(SCHEMA) == []


def test_released_laws_follow_the_rows():
    """Rows that fill a twentieth of the bounds: most of the law lies there."""
    rng = np.random.default_rng(0)
    schema = Schema({"x": Numeric(-100, 100), "z": Numeric(0, 1000)}, Classes([0, 1]))
    X = np.column_stack([rng.normal(20, 3, 4000), rng.normal(50, 10, 4000)])
    plan = BudgetPlan.divide(1, 0, {"all": 1})
    with Curator(PrivateTable(X, rng.integers(0, 2, 4000), schema), plan, RandomWords.seeded(0)) as curator:
        standard = standards(curator, "all", Fraction(1), 4000.0)
    for law, (low, high) in zip(standard.expected(schema).shares, [(0.1, 0.3), (-1.0, -0.8)], strict=True):
        inside = (places_of(law) >= low) & (places_of(law) <= high)
        assert law[:-2][inside].sum() > 0.8


def test_known_shares_are_expected_as_they_are():
    shares = [np.full(int(n), 1 / n) for n in SCHEMA.n_cells[:4]]
    found, origin = told()._replace(shares=shares).expected(SCHEMA)
    assert [own is law for own, law in zip(shares, found[:4], strict=True)] == [True, False, False, True]
    assert [law is None for law in found] == [False, True, True, False, False, False]
    assert "public rows" in origin
    assert not told().expected(SCHEMA).origin


def test_directions_lie_along_released_scales():
    space = Space(SCHEMA, standard=told())
    for at, scale in zip(told().features, told().scales(SCHEMA), strict=True):
        np.testing.assert_allclose(space.scales[at], scale, rtol=1e-6)
    np.testing.assert_allclose(space.shares[0], told().expected(SCHEMA).shares[0][:-2], rtol=1e-6)
    assert space.shares[2].tolist() == pytest.approx([1 / 3] * 3)  # of categories nothing is known
