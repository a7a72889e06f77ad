"""Estimated bounds: where they are, what a row can change, what is charged and what is said."""

import pickle
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpforest import PrivateForestClassifier, estimate_schema
from dpforest._curator import TARGET, Curator, PrivateTable, watched_by
from dpforest.audit.replay.watching import Recorder, Replayer
from dpforest.estimates.magnitudes import BORDERS, N_OCTAVES, Magnitudes, TargetMagnitudes, octave_of_cell
from dpforest.estimates.schemas import POOLS, find_ranges
from dpforest.mechanisms import RandomWords
from dpforest.privacy import BudgetAccountant, BudgetExceededError, BudgetPlan, Kind, Query
from dpforest.schema import Classes, Nominal, Numeric, Range, Schema
from dpforest.schema.files import open_files
from tests.neighbours import neighbours

LABELS = Classes([0, 1])
WIDE = Schema({"x": Magnitudes(), "ward": Nominal(["a", "b"]), "z": Magnitudes()}, TargetMagnitudes())
ASKED = [0, 2, TARGET]


def curator_of(records, epsilon=1, seed=0, noiseless=False):
    X = np.empty((len(records), 3), object)
    for place, record in enumerate(records):
        X[place] = record[:3]
    table = PrivateTable(X, [record[3] for record in records], WIDE)
    return Curator(table, BudgetPlan.divide(epsilon, 0, POOLS), RandomWords.seeded(seed), noiseless=noiseless)


def columns(n=20_000, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "pressure": rng.normal(1013, 5, n),
            "income": np.where(rng.random(n) < 0.6, 0, rng.lognormal(10, 1, n)),
            "charge": rng.normal(0, 3, n),
            "year": rng.integers(2001, 2014, n),
            "ratio": rng.random(n) / 1000,
        }
    )


def test_bounds_hold_nearly_all_rows_and_waste_little_of_the_grid():
    """At this epsilon noise is zero but with probability 1e-9: rates are 30 and 25 for 700 counts."""
    X = columns()
    found = estimate_schema(X, X["pressure"] > 1013, epsilon=200.0, target=Classes([False, True]))
    for name, feature in found.features.items():
        inside = X[name].between(feature.low, feature.high)
        assert inside.mean() > 0.999, name
        cells = Schema({name: feature}).encode_features(X[[name]])[:, 0]
        assert len(np.unique(cells)) >= 13, name  # 13 years, and no fewer of the others
    assert set(found.estimated) == set(X.columns)


def test_a_numeric_target_gets_a_range():
    y = np.random.default_rng(0).normal(500, 20, 20_000)
    found = estimate_schema(np.zeros((20_000, 1)), y, epsilon=1.0)
    assert isinstance(found.target, Range)
    assert 256 <= found.target.low < 460
    assert 540 < found.target.high <= 1024
    assert set(found.estimated) == {"x0"}
    assert found.estimated_target.low == found.target.low


def test_columns_of_text_and_empty_tables_end_in_some_range():
    for n in (0, 300):
        X = pd.DataFrame({"ward": ["a"] * n, "nothing": [None] * n})
        found = estimate_schema(X, [0] * n, epsilon=0.5, target=LABELS)
        assert all(feature.low < feature.high for feature in found.features.values())


values = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.integers(-(2**70), 2**70),
    st.sampled_from([0.0, -0.0, 2.0**-20, -(2.0**-20), 2.0**42, -(2.0**43), None, "12", "old", True]),
    st.integers(0, len(BORDERS) - 1).map(lambda place: float(BORDERS[place])),
)


@given(st.lists(values, min_size=1, max_size=8))
def test_every_value_has_the_cell_between_its_borders_in_every_carrier(column):
    grid = Magnitudes()
    schema = Schema({"x": grid})
    wanted = [grid.cell_of(value) for value in column]
    for value, cell in zip(column, wanted, strict=True):
        if cell < grid.n_known and not isinstance(value, str):
            assert cell == 0 or BORDERS[cell] <= float(value)
            assert cell == grid.n_known - 1 or float(value) < BORDERS[cell + 1]
    assert schema.encode_features([[value] for value in column])[:, 0].tolist() == wanted
    numbers = [value for value in column if isinstance(value, float)]
    if numbers:
        matrix = schema.encode_features(np.array(numbers)[:, None])[:, 0]
        assert matrix.tolist() == [grid.cell_of(value) for value in numbers]
        codes = TargetMagnitudes().encode(np.array(numbers))
        known = [grid.cell_of(value) for value in numbers]
        assert codes.tolist() == [-1 if cell == grid.missing_cell else cell for cell in known]


RECORDS = [
    (x, ward, z, y)
    for x, ward, z, y in [
        (0, "a", -3.5, 10),
        (1000, "b", None, 1e30),
        (-1e-30, "zzz", 4, -7),
        ("text", None, float("nan"), None),
    ]
]


def test_one_row_changes_the_counts_by_one_in_every_column_and_costs_epsilon():
    """Exact: all tables of up to three of four records; the loss is rate times movement, at most epsilon."""
    octave = octave_of_cell()
    groups = {column: octave[:-2] if column == TARGET else octave for column in ASKED}
    asked = ("magnitudes", Fraction(1), Query(Kind.MAGNITUDES), groups)

    def counts(records):
        with curator_of(records, noiseless=True) as curator:
            return curator.group_counts(*asked).values

    amount = BudgetPlan.divide(1, 0, POOLS).amount("magnitudes")
    worst = Fraction(0)
    for smaller, larger in neighbours(RECORDS, 3):
        moved = np.abs(counts(larger) - counts(smaller))
        assert moved.sum(axis=1).max() <= 1
        worst = max(worst, Fraction(int(moved.sum())) * amount / len(ASKED))
    assert worst == amount


@pytest.mark.parametrize("place", [0, 150, 300])
@pytest.mark.parametrize("extra", RECORDS, ids=str)
def test_the_same_questions_are_asked_of_a_neighbour(place, extra):
    """A fit's answers, frozen, on a table with one more row: same questions, groups, amounts, ranges."""
    rng = np.random.default_rng(0)
    records = [(1000 + 5 * rng.normal(), "a", rng.normal(), 700 + rng.normal()) for _ in range(300)]
    recorder = Recorder()
    with watched_by(recorder), curator_of(records, epsilon=20) as curator:
        before = find_ranges(curator, ASKED)
    assert [event.kind for event in curator.ledger] == [Kind.MAGNITUDES, Kind.RANGES]
    told = []
    kept = np.insert(np.arange(300), place, -1)
    replayer = Replayer(recorder.entries, kept, lambda *what: told.append(what))
    larger = [*records[:place], extra, *records[place:]]
    with watched_by(replayer), curator_of(larger, epsilon=20) as again:
        after = find_ranges(again, ASKED)
    replayer.end()
    assert not told
    assert after == before
    assert [event.cost for event in again.ledger] == [event.cost for event in curator.ledger]


def test_it_is_charged_before_the_look_and_refused_beyond_the_budget():
    accountant = BudgetAccountant(epsilon=0.5)
    found = estimate_schema(columns(500), [0] * 500, epsilon=0.3, target=LABELS, accountant=accountant)
    assert accountant.total() == (0.3, 0.0)
    assert found.receipt is not None
    assert found.ledger.total() <= Fraction(3, 10)
    with pytest.raises(BudgetExceededError):
        estimate_schema(columns(500), [0] * 500, epsilon=0.3, target=LABELS, accountant=accountant)
    with accountant:
        estimate_schema(columns(500), [0] * 500, epsilon=0.2, target=LABELS)
    assert accountant.total() == (0.5, 0.0)
    assert [spend.label for spend in accountant.history()] == ["estimate_schema"] * 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"epsilon": 1e-30}, "Nothing was charged"),
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": 1, "bins": 100}, "power of two"),
        ({"epsilon": 1, "declared": {"a": Numeric(0, 1)}}, "columns that X has not"),
        (
            {"epsilon": 1, "declared": {f"x{i}": Numeric(0, 1) for i in range(2)}},
            "nothing is to be estimated",
        ),
    ],
)
def test_what_cannot_work_costs_nothing(arguments, words):
    accountant = BudgetAccountant(epsilon=1.0)
    with pytest.raises(ValueError, match=words):
        estimate_schema(np.zeros((9, 2)), [0] * 9, target=LABELS, accountant=accountant, **arguments)
    assert accountant.total() == (0.0, 0.0)


@pytest.mark.parametrize("name", ["rows.parquet", "rows.feather"])
def test_words_that_a_file_stores_as_such_are_no_numbers(tmp_path, name):
    frame = pd.DataFrame({"age": [30.0, 40.0], "town": ["north", "south"], "outcome": ["no", "yes"]})
    path, accountant = tmp_path / name, BudgetAccountant(epsilon=1.0)
    frame.to_parquet(path) if name.endswith("parquet") else frame.to_feather(path)
    rows = open_files(path)
    ask = partial(estimate_schema, epsilon=0.5, accountant=accountant)
    with pytest.raises(ValueError, match=r"'town': stored as text.*--categories.*Nothing was charged"):
        ask(rows.select(["age", "town"]), rows.column("outcome"), target=Classes(["no", "yes"]))
    with pytest.raises(ValueError, match=r"target 'outcome' is stored as text.*--classes"):
        ask(rows.select(["age"]), rows.column("outcome"))
    assert len(accountant) == 0
    ask(rows.select(["age"]), rows.column("outcome"), target=Classes(["no", "yes"]))
    assert len(accountant) == 1


def test_persons_with_several_rows_get_more_noise():
    one, three = (
        estimate_schema(np.zeros((9, 1)), [0] * 9, epsilon=1, target=LABELS, max_rows_per_person=rows)
        for rows in (1, 3)
    )
    noise = [found.ledger.events[0].parameters["noise_sd"] for found in (one, three)]
    assert noise[1] == pytest.approx(3 * noise[0], rel=0.1)
    assert "3 rows per person" in str(three.guarantee)


def test_it_is_a_schema_like_any_other():
    X = columns(2000)
    declared = {"year": Numeric(2001, 2013, integer=True)}
    found = estimate_schema(X, [0, 1] * 1000, epsilon=1, target=LABELS, declared=declared)
    plain = Schema(found.features, found.target)
    assert found == plain == Schema.from_json(found.to_json())
    assert found.features["year"] == declared["year"]
    assert "year" not in found.estimated
    again = pickle.loads(pickle.dumps(found))
    assert (again, again.estimated, again.ledger) == (found, found.estimated, found.ledger)
    assert "epsilon = 1" in repr(found)
    model = PrivateForestClassifier(epsilon=1, schema=found).fit(X, [0, 1] * 1000)
    assert model.guarantee_.is_proven
    assert model.predict(X[:5]).shape == (5,)


def test_lists_of_rows_are_refused_because_their_width_is_private():
    with pytest.raises(ValueError, match="declares no number of features"):
        estimate_schema([[1.0], [2.0]], [0, 1], epsilon=1, target=LABELS)


def test_far_octaves_of_empty_columns_stay_out():
    """60 columns of 0..100 at 2,000 rows: no false octave far out (false-alarm rate 0.005 a run, 4 runs)."""
    X = np.random.default_rng(0).uniform(0, 100, (2000, 60))
    wide = 0
    for _ in range(4):
        found = estimate_schema(X, [0] * 2000, epsilon=60, target=LABELS)
        wide += sum(feature.high - feature.low > 2**12 for feature in found.features.values())
    assert wide <= 2  # three false alarms in 4 runs have probability below 5e-7
    assert N_OCTAVES == 128
