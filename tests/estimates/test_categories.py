"""Categories that were found: who is named, what a row can change, what is charged and what is said."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpforest import PrivateForestClassifier, estimate_schema
from dpforest._curator import TARGET, Curator, PrivateTable, PrivateValues, watched_by
from dpforest.audit.replay.watching import Recorder, Replayer
from dpforest.estimates.categories import NOTHING_FOUND, find_names
from dpforest.estimates.magnitudes import Magnitudes
from dpforest.estimates.schemas import EstimatedSchema
from dpforest.mechanisms import RandomWords, Rate, discrete_laplace_log_pmf, naming_threshold
from dpforest.privacy import BudgetAccountant, BudgetExceededError, BudgetPlan
from dpforest.schema import Classes, Nominal, Numeric, Range, Schema
from dpforest.schema.columns import ArrayColumn, Coded, ListColumn
from dpforest.schema.names import count_names, name_of

LABELS = Classes([0, 1])
SURE = 1e5  # the noise of counts is zero but with probability e**-1000
WIDE = Schema({"ward": Magnitudes(), "x": Magnitudes()}, LABELS)


def wards(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"ward": rng.choice(["A", "B", "C"], n, p=[0.6, 0.3, 0.1]), "x": rng.random(n)})
    X.loc[5, "ward"] = "the only one"
    X.loc[::7, "ward"] = None
    return X, rng.integers(0, 2, n)


@given(
    st.integers(1, 2**21 - 1), st.integers(0, 24), st.integers(1, 60), st.integers(1, 9), st.integers(1, 9)
)
def test_the_threshold_keeps_delta_and_one_less_would_not(num, shift, log_delta, columns, rows):
    """Against the pmf: one person's values are named with probability at most delta, and hardly less."""
    rate, delta = Rate.floor(Fraction(num, 2**shift)), Fraction(1, 2**log_delta)
    a, least = float(rate), naming_threshold(rate, delta, rows * columns, rows)

    def log_tail(t):  # sum of the pmf from t >= 1 on, a geometric series
        return float(discrete_laplace_log_pmf(t, rate)) - math.log(-math.expm1(-a))

    assert least > rows
    assert math.log(rows * columns) + log_tail(least - rows) <= math.log(delta) + 1e-9
    if least - 1 > rows:
        assert math.log(rows * columns) + log_tail(least - 1 - rows) > math.log(delta) - 1e-9


def curator_of(ward, delta=Fraction(1, 100), epsilon=1, seed=0, noiseless=False):
    X = pd.DataFrame({"ward": pd.Series(ward, dtype=object), "x": np.zeros(len(ward))})
    y = np.zeros(len(ward))
    plan = BudgetPlan.divide(epsilon, delta, {"names": 1}, loose_delta=delta)
    values = PrivateValues(X, y, WIDE, [0])
    return Curator(
        PrivateTable(X, y, WIDE), plan, RandomWords.seeded(seed), noiseless=noiseless, values=values
    )


def naming_pmf(count, rate, threshold):
    """Probability that a value with this count is not named, and the log probability of every named count."""
    said = np.arange(threshold, threshold + 200)
    logs = discrete_laplace_log_pmf(said - count, rate)
    return 1 - np.exp(logs).sum(), logs


def test_one_row_changes_what_is_named_by_epsilon_and_delta():
    """Exact, by the pmf of each value: within epsilon where both tables hold it, within delta where one."""
    epsilon, delta = Fraction(1, 2), Fraction(1, 50)
    rate = Rate.floor(epsilon)
    threshold = naming_threshold(rate, delta, 1, 1)
    for count in (1, 2, 10, 40):
        (silent, said), (less_silent, more_said) = (
            naming_pmf(n, rate, threshold) for n in (count, count + 1)
        )
        worst = max(np.abs(said - more_said).max(), abs(math.log(silent / less_silent)))
        assert worst <= float(epsilon) + 1e-9
    silent, _ = naming_pmf(1, rate, threshold)
    assert float(delta) * 0.6 < 1 - silent <= float(delta), "a value of one row alone"


@pytest.mark.parametrize("place", [0, 40, 80])
def test_the_same_is_asked_of_a_neighbour_whose_new_row_has_a_known_value(place):
    rows = ["a"] * 50 + ["b"] * 30
    recorder, told = Recorder(), []
    with watched_by(recorder), curator_of(rows) as curator:
        before = find_names(curator, [0], Fraction(1, 100))
    kept = np.insert(np.arange(80), place, -1)
    replayer = Replayer(recorder.entries, kept, lambda *what: told.append(what))
    with watched_by(replayer), curator_of([*rows[:place], "b", *rows[place:]]) as again:
        after = find_names(again, [0], Fraction(1, 100))
    replayer.end()
    assert not told
    assert after == before
    (movement,) = replayer.movements
    assert (movement.total, movement.look.moves) == (1, 1)
    assert movement.look.strength <= 1
    assert before[0].categories == ("a", "b")


def test_mechanisms_of_names_run_at_what_was_paid():
    """Two columns, three rows a person: rate epsilon / (3 * 2), threshold for six values of three rows."""
    X, y = wards(300)
    found = estimate_schema(
        X, y, epsilon=6, delta=1e-3, categories=["ward", "x"], target=LABELS, max_rows_per_person=3
    )
    event = found.ledger.events[0]
    rate = Rate.floor(Fraction(1))
    assert event.parameters["threshold"] == naming_threshold(rate, Fraction(1, 1000), 6, 3)
    assert event.parameters["noise_sd"] == pytest.approx(1.357, abs=0.001)
    assert event.parameters["loose_delta"] == "1/1000"
    assert found.guarantee.delta == 1e-3


def test_common_values_are_named_and_a_lonely_one_is_not():
    X, y = wards()
    found = estimate_schema(
        X, y, epsilon=SURE, delta=1e-6, declared={"x": Numeric(0, 1)}, categories=["ward"], target=LABELS
    )
    assert found.features["ward"] == Nominal(["A", "B", "C"])
    counted = found.estimated["ward"]
    assert counted.counts == tuple(int((X["ward"] == ward).sum()) for ward in "ABC")
    assert isinstance(found, EstimatedSchema)
    model = PrivateForestClassifier(epsilon=1, schema=found).fit(X, y)
    assert model.predict(X[:4]).shape == (4,)
    nothing = estimate_schema(X[:2], y[:2], epsilon=1, delta=1e-6, categories=["ward", "x"], target=LABELS)
    assert nothing.features["x"] == Nominal([NOTHING_FOUND])


@pytest.mark.parametrize(
    ("y", "labels"),
    [
        ([0, 1] * 200, (0, 1)),
        (["no", "yes"] * 200, ("no", "yes")),
        ([0.5, 2.0] * 200, (0.5, 2)),
        (["1", "inf"] * 200, ("1", "inf")),  # reads as a number, but no class can be infinite
    ],
)
def test_classes_are_found_as_what_they_are(y, labels):
    X = np.zeros((400, 1))
    found = estimate_schema(X, y, epsilon=SURE, delta=1e-6, declared={"x0": Numeric(0, 1)}, target="classes")
    assert found.target == Classes(labels)
    assert found.estimated == {}
    assert found.estimated_target.counts == (200, 200)
    with pytest.raises(ValueError, match="No class was held by enough rows"):
        estimate_schema(X[:3], y[:3], epsilon=1, delta=1e-6, categories=["x0"], target="classes")


def test_a_column_called_target_is_not_the_target():
    X = pd.DataFrame({"target": [1000.0] * 500})
    found = estimate_schema(X, [1.0] * 500, epsilon=SURE)
    assert found.estimated["target"].high > 500
    assert found.estimated_target.high <= 2
    assert isinstance(found.target, Range)
    assert "the target" in repr(found)


def test_a_public_list_that_is_too_long_is_cut_without_delta():
    X, y = wards()
    listed = [*"ZYXCBA", *range(500)]
    found = estimate_schema(
        X, y, epsilon=SURE, declared={"x": Numeric(0, 1)}, categories={"ward": listed}, target=LABELS
    )
    assert found.features["ward"] == Nominal(["C", "B", "A"])
    assert found.guarantee.delta == 0
    assert found.estimated["ward"].noise_sd < 1


values = st.one_of(
    st.text(max_size=3),
    st.integers(-3, 3),
    st.floats(),
    st.booleans(),
    st.none(),
    st.sampled_from(["nan", "1"]),
)


@given(st.lists(values, max_size=12))
def test_a_name_follows_from_its_value_alone_in_every_carrier(column):
    names = [name for name in map(name_of, column) if name is not None]
    wanted = {name: names.count(name) for name in names}
    assert dict(count_names(ListColumn(column).read(0, len(column)))) == wanted
    codes = np.append(np.arange(len(column)), -1)
    assert dict(count_names(Coded(codes, column))) == wanted
    numbers = np.array([value for value in column if isinstance(value, float)])
    alone = [name_of(float(number)) for number in numbers]
    assert count_names(ArrayColumn(numbers).read(0, len(numbers))) == {
        name: alone.count(name) for name in alone if name is not None
    }
    for name in wanted:
        known = Nominal([name])
        assert all(known.cell_of(value) == 0 for value in column if name_of(value) == name)


def test_the_loose_delta_is_charged_and_refused_beyond_what_was_set_aside():
    X, y = wards(200)
    arguments = {"epsilon": 0.1, "declared": {"x": Numeric(0, 1)}, "categories": ["ward"], "target": LABELS}
    accountant = BudgetAccountant(epsilon=1.0, delta=1e-5, loose_delta=1e-6)
    estimate_schema(X, y, delta=1e-6, accountant=accountant, **arguments)
    assert accountant.total() == (0.1, 1e-6)
    with pytest.raises(BudgetExceededError, match="loose delta"):
        estimate_schema(X, y, delta=1e-6, accountant=accountant, **arguments)
    with pytest.raises(BudgetExceededError, match="set aside"):
        estimate_schema(X, y, delta=1e-6, accountant=BudgetAccountant(epsilon=1.0, delta=1e-5), **arguments)
    PrivateForestClassifier(
        epsilon=0.3, delta=9e-6, bounds=(0, 1), classes=[0, 1], accountant=accountant
    ).fit(X[["x"]], y)
    assert len(accountant) == 2


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"delta": 0}, "delta must be positive"),
        ({"categories": [], "declared": {}}, "and 0 if not"),
        ({"categories": ["wards"]}, "columns that X has not"),
        ({"declared": {"ward": Nominal(["A"])}}, "either declared or looked for"),
        ({"target": "class"}, "target must be"),
        ({"epsilon": 1e-30}, "Nothing was charged"),
        ({"delta": 1}, "delta"),
    ],
)
def test_what_cannot_work_costs_nothing(changes, words):
    X, y = wards(20)
    accountant = BudgetAccountant(epsilon=1.0, delta=1e-3, loose_delta=1e-3)
    given = {
        "epsilon": 0.4,
        "delta": 1e-6,
        "categories": ["ward"],
        "target": LABELS,
        "accountant": accountant,
    }
    with pytest.raises(ValueError, match=words):
        estimate_schema(X, y, **given | changes)
    assert len(accountant) == 0


def test_values_cannot_be_read_but_by_a_curator_and_are_gone_afterwards():
    X, y = wards(20)
    held = PrivateValues(X, y, WIDE, [0, TARGET])
    with pytest.raises(TypeError, match="cannot be read"):
        list(held)
    assert "A" not in repr(held)
    with curator_of(["a"] * 9) as curator:
        assert curator._values
    assert not curator._values
