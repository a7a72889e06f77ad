"""Public rows: what they say about features is not asked of the private ones, and nothing of them is kept."""

import pickle

import numpy as np
import pandas as pd
import pytest

from dpforest import PrivateForestClassifier, PrivateForestRegressor
from dpforest.audit import audit_replay
from dpforest.privacy import BudgetAccountant, Kind, PrivacyLeakWarning
from dpforest.schema import Classes, Nominal, Numeric, Range, Schema, SchemaError, Source

FEATURES = {"a": Numeric(-5, 5), "b": Numeric(-5, 5), "c": Nominal(["x", "y", "z"])}
ABOUT_FEATURES = {Kind.CENTRES, Kind.SPREADS, Kind.PRODUCTS, Kind.MARGINALS}
FORMS = [(kind, delta) for kind in (PrivateForestClassifier, PrivateForestRegressor) for delta in (0.0, 1e-6)]


def drawn(n, seed):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, 2))
    X = np.column_stack([z[:, 0], 0.6 * z[:, 0] + 0.8 * z[:, 1], rng.integers(0, 3, n)]).astype(object)
    X[:, 2] = np.array(["x", "y", "z"])[X[:, 2].astype(int)]
    return X, z[:, 0] - z[:, 1] + 0.3 * rng.normal(size=n)


X, TARGET = drawn(6000, 0)
PUBLIC, _ = drawn(500, 1)


def made(kind, delta, **more):
    if kind is PrivateForestRegressor:
        return kind(delta=delta, schema=Schema(FEATURES, Range(-6, 6)), **more), TARGET
    return kind(delta=delta, schema=Schema(FEATURES, Classes([0, 1])), **more), (TARGET > 0).astype(int)


@pytest.mark.parametrize(("kind", "delta"), FORMS)
def test_features_are_not_asked_about_and_all_of_the_budget_goes_elsewhere(kind, delta):
    model, y = made(kind, delta, epsilon=2.0)
    kinds = {event.kind for event in model.fit(X, y).ledger_}
    assert kinds & ABOUT_FEATURES, "without public rows they are asked about"
    assert "public rows" not in model.explain_plan()
    model.fit(X, y, X_public=PUBLIC)
    assert not {event.kind for event in model.ledger_} & ABOUT_FEATURES
    assert "public rows" in model.explain_plan()
    spent = sum(event.cost for event in model.ledger_)
    assert 0.99 * model.ledger_.plan.total <= spent <= model.ledger_.plan.total
    assert model.score(X, y) > 0.6


@pytest.mark.filterwarnings("ignore::dpforest.privacy.PrivacyLeakWarning")
def test_a_tree_alone_says_where_its_cuts_come_from():
    """With rows too few for a linear part nothing is asked about features; cuts follow the public rows."""
    model, y = made(PrivateForestClassifier, 0.0, epsilon=0.5, max_depth=4, random_state=0)
    model.fit(X[:300], y[:300], X_public=PUBLIC)
    assert {event.kind for event in model.ledger_} <= {
        Kind.CLASS_COUNTS, Kind.SPLITS, Kind.NODE_TARGETS, Kind.LEAF_COUNTS
    }  # fmt: skip
    assert "public rows" in model.explain_plan()
    model.fit(X[:300], y[:300])
    assert "public rows" not in model.explain_plan()


@pytest.mark.parametrize(("kind", "delta"), FORMS)
def test_nothing_of_them_stays(kind, delta):
    model, y = made(kind, delta)
    marked = PUBLIC.copy()
    marked[:, 0] = np.linspace(-4.5, 4.5, len(marked)) + np.pi / 1e7
    model.fit(X, y, X_public=marked)
    assert not any("public" in name for name in vars(model))
    assert np.float64(marked[7, 0]).tobytes() not in pickle.dumps(model)
    before = made(kind, delta)[0].fit(X, y)
    assert set(vars(before)) == set(vars(model))


class WithPublicRows(PrivateForestClassifier):
    def fit(self, X, y):
        return super().fit(X, y, X_public=np.random.default_rng(3).random((40, 2)))


class WithPublicRowsForNumbers(PrivateForestRegressor):
    def fit(self, X, y):
        return super().fit(X, y, X_public=np.random.default_rng(3).random((40, 2)))


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("kind", [WithPublicRows, WithPublicRowsForNumbers])
def test_neighbours_stay_neighbours(kind, delta):
    """Replay on a neighbour: every table moves by no more than was paid for."""
    rng = np.random.default_rng(5)
    rows, y = rng.random((3000, 2)), rng.integers(0, 2, 3000)
    domain = {"classes": [0, 1]} if kind is WithPublicRows else {"target_bounds": (0, 1)}
    model = kind(epsilon=4.0, delta=delta, bounds=(0, 1), **domain)
    result = audit_replay(model, rows, y, np.array([0.9, 0.1]), 1)
    assert not result.violation, str(result)


@pytest.mark.parametrize(
    ("table", "said"),
    [(PUBLIC[:5], "at least 20"), (PUBLIC[:, :2], "3 features|columns"), (X, "X itself")],
    ids=["few", "columns", "private"],
)
def test_what_is_wrong_with_them_is_said_before_anything_is_charged(table, said):
    accountant = BudgetAccountant(epsilon=1.0)
    model, y = made(PrivateForestClassifier, 0.0, accountant=accountant)
    with pytest.raises((ValueError, TypeError), match=said):
        model.fit(X, y, X_public=table)
    assert accountant.remaining()[0] == 1


def test_little_budget_is_enough_where_public_rows_tell_the_covariance():
    """20 features that each tell a little of three classes; noise is fixed, the mean of five fits."""
    rng = np.random.default_rng(8)
    y = rng.integers(0, 3, 9400)
    rows = 0.6 * rng.normal(size=(3, 20))[y] + rng.normal(size=(9400, 20))
    private, public, new = rows[:6000], rows[6000:7400], rows[7400:]
    with_them, without = [], []
    for seed in range(5):
        model = PrivateForestClassifier(epsilon=0.1, bounds=(-6, 6), classes=[0, 1, 2], random_state=seed)
        with pytest.warns(PrivacyLeakWarning, match="random_state"):
            without.append(model.fit(private, y[:6000]).score(new, y[7400:]))
        with pytest.warns(PrivacyLeakWarning, match="random_state"):
            with_them.append(model.fit(private, y[:6000], X_public=public).score(new, y[7400:]))
    assert np.mean(with_them) > np.mean(without) + 0.01


def test_the_files_of_the_private_rows_are_not_taken_for_public(tmp_path):
    """By whatever name; some of these files may be public, such as an older year."""
    for year in ("2019", "2020"):
        lines = [f"{a},{b},{c},{int(t > 0)}" for (a, b, c), t in zip(X[:200], TARGET, strict=False)]
        (tmp_path / f"{year}.csv").write_text("\n".join(["a,b,c,t", *lines]))
    model = made(PrivateForestClassifier, 0.0)[0]
    public = Source(tmp_path / ".." / tmp_path.name / "*.csv")
    for private in (tmp_path, str(tmp_path / "20*.csv"), Source(tmp_path), tmp_path / "2020.csv"):
        with pytest.raises(ValueError, match="X itself"):
            model.fit(private, "t", X_public=public)
    model.fit(tmp_path, "t", X_public=tmp_path / "2019.csv")


@pytest.mark.parametrize("table", [PUBLIC[:, :2], PUBLIC[:, 0], "data frame"], ids=["few", "flat", "frame"])
def test_a_refusal_says_that_it_is_about_the_public_rows(table):
    if isinstance(table, str):
        table = pd.DataFrame({"a": PUBLIC[:, 0], "d": PUBLIC[:, 1]})
    model, y = made(PrivateForestClassifier, 0.0)
    with pytest.raises(SchemaError, match="X_public cannot be used"):
        model.fit(X, y, X_public=table)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("at", [0, 2])
def test_a_column_that_public_rows_lack_is_used_all_the_same(at, delta):
    """All depends on one column. Noise is fixed; without the first one 71 % would be right."""
    y = X[:, at] > 0 if at == 0 else X[:, at] == "x"
    lacking = PUBLIC.copy()
    lacking[:, at] = None
    schema = Schema(FEATURES, Classes([False, True]))
    model = PrivateForestClassifier(epsilon=4.0, delta=delta, schema=schema, random_state=0)
    with pytest.warns(PrivacyLeakWarning, match="random_state"):
        model.fit(X, y, X_public=lacking)
    assert model.score(X, y) > 0.95
