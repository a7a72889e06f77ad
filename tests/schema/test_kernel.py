"""The compiled kernel against plain numpy, bit for bit."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dpforest.schema import Nominal, Numeric, Ordinal, Schema
from dpforest.schema.encoding import cell_type

AWKWARD = [
    0.0,
    -0.0,
    -1e-17,
    1e308,
    -1e308,
    5e-324,
    2.0**31,
    2.0**63,
    -(2.0**63),
    1e19,
    math.inf,
    -math.inf,
    math.nan,
]


def oracle(feature, x):
    """Cells of doubles by searching the list of borders or of numbers."""
    x = np.asarray(x, dtype=np.float64)
    if isinstance(feature, Numeric):
        width = (feature.high - feature.low + feature.integer) / feature.bins
        borders = feature.low - feature.integer / 2 + np.arange(1, feature.bins) * width
        cells = np.searchsorted(borders, x, side="right")
    else:
        cells = np.full(x.shape, feature.n_known + 1)
        for cell, number in enumerate(feature.levels if isinstance(feature, Ordinal) else feature.categories):
            cells[x == float(number)] = cell
    return np.where(np.isnan(x), feature.n_known, cells)


numeric = st.builds(
    lambda low, width, power: Numeric(low, low + width, bins=2**power),
    st.floats(-1e9, 1e9),
    st.floats(1, 1e9),
    st.integers(1, 16),
)
symmetric = st.builds(lambda width: Numeric(-width, width, bins=16), st.floats(1e-3, 1e9))
whole = st.builds(
    lambda low, width, power: Numeric(low, low + width, integer=True, bins=2**power),
    st.integers(-1000, 1000),
    st.integers(1, 10_000),
    st.integers(1, 10),
)
coded = st.lists(st.integers(-20, 20), min_size=1, max_size=12, unique=True)
features = st.one_of(
    numeric, symmetric, whole, coded.map(Nominal), coded.map(lambda levels: Ordinal(list(map(str, levels))))
)


@st.composite
def tables(draw):
    chosen = draw(st.lists(features, min_size=1, max_size=4))
    x = draw(hnp.arrays(np.float64, (draw(st.integers(0, 12)), len(chosen)), elements=st.floats(width=64)))
    for j, feature in enumerate(chosen):  # values at and next to borders are where rounding bites
        if isinstance(feature, Numeric) and len(x):
            at = feature.threshold_value(draw(st.integers(0, feature.bins - 2)))
            near = [
                at,
                np.nextafter(at, -math.inf),
                np.nextafter(at, math.inf),
                feature.low,
                feature.high,
                *AWKWARD,
            ]
            for i in range(0, len(x), 2):
                x[i, j] = draw(st.sampled_from(near))
        elif len(x):
            x[::2, j] = draw(st.integers(-20, 20))
    return Schema({f"x{j}": feature for j, feature in enumerate(chosen)}), x


@settings(max_examples=300, deadline=None)
@given(tables(), st.sampled_from(["C", "F", "strided", "float32", "read only", "swapped bytes"]))
def test_cells_are_those_of_the_oracle_whatever_the_layout(table, layout):
    schema, x = table
    if layout == "float32":
        with np.errstate(over="ignore"):
            x = x.astype(np.float32)
    elif layout == "swapped bytes":
        x = x.astype(">f8")
    elif layout == "strided":
        x = np.repeat(x, 2, axis=1)[:, ::2]
    x = np.asarray(x, order="F" if layout == "F" else None)
    x.flags.writeable = layout != "read only"
    cells = schema.encode_features(x)
    expected = [oracle(feature, x[:, j]) for j, feature in enumerate(schema.features.values())]
    np.testing.assert_array_equal(cells, np.reshape(expected, (schema.n_features, len(x))).T)
    assert cells.flags.c_contiguous
    assert cells.dtype == schema.cell_type


@pytest.mark.parametrize("x", [-1e-17, -5e-324, -0.0, 0.0, 1e-17])
def test_numbers_next_to_a_border_at_zero_stay_on_their_side(x):
    """Here the difference to the low end rounds to the border itself, so the guess is one cell too high."""
    assert Schema({"a": Numeric(-1, 1)}).encode_features(np.array([[x]])) == (127 if x < 0 else 128)


@pytest.mark.parametrize("low", [1e9 + 0.1, -1e9 - 0.1, 1 / 3, -1e-200])
def test_the_finest_grid_that_is_allowed_is_right_for_every_double_in_it(low):
    """At 16 units of rounding per cell the guess is off most often; here are all doubles of such a grid."""
    high = low + 256 * 16.3 * math.ulp(low)
    feature = Numeric(low, high)
    x = low + np.arange(-20, 256 * 17) * math.ulp(low)
    np.testing.assert_array_equal(
        Schema({"a": feature}).encode_features(x[:, None])[:, 0], oracle(feature, x)
    )


@settings(max_examples=100, deadline=None)
@given(tables())
def test_the_kernel_agrees_with_the_law_of_a_single_value(table):
    schema, x = table
    expected = [
        [f.cell_of(v) for f, v in zip(schema.features.values(), row, strict=True)] for row in x.tolist()
    ]
    assert schema.encode_features(x).tolist() == expected


@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "i8", "u8", "f2", "f4", "?"])
def test_every_real_type_is_read(dtype):
    x = np.array([[0], [1], [3], [100]]).astype(dtype)
    schema = Schema({"a": Numeric(0, 8, bins=8)})
    assert schema.encode_features(x)[:, 0].tolist() == [min(int(value), 7) for value in x[:, 0]]


@pytest.mark.parametrize("bins", [128, 256, 65_536])
def test_cells_have_the_smallest_type_that_holds_them(bins):
    schema = Schema({"a": Numeric(0, 1, bins=bins)})
    cells = schema.encode_features(np.array([[0.0], [1.0], [math.nan]]))
    assert cells.dtype == {128: np.uint8, 256: np.uint16, 65_536: np.uint32}[bins] == cell_type(bins + 2)
    assert cells[:, 0].tolist() == [0, bins - 1, bins]


@pytest.mark.parametrize("n_threads", [2, 3, 7])
def test_threads_change_nothing(n_threads):
    rng = np.random.default_rng(0)
    schema = Schema({"a": Numeric(0, 1), "b": Ordinal([0, 1, 2]), "c": Numeric(-1, 1, bins=16)})
    x = np.column_stack([rng.random(70_001), rng.integers(0, 4, 70_001), rng.normal(size=70_001)])
    for n_rows in (0, 1, 5, 70_001):  # fewer rows than threads, and more than are fetched at a time
        alone = schema.encode_features(x[:n_rows])
        np.testing.assert_array_equal(schema.encode_features(x[:n_rows], n_threads=n_threads), alone)
        by_column = np.asfortranarray(x[:n_rows])
        np.testing.assert_array_equal(schema.encode_features(by_column, n_threads=n_threads), alone)
