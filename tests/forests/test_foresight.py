"""What parameters and schema alone tell is found before anything is charged."""

import contextlib
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone

from dpforest import DiPriMeForestClassifier, PrivateForestClassifier, RandomDecisionTreesClassifier
from dpforest._curator import watched_by
from dpforest._curator.payment import (
    EXPONENTIAL,
    NAMED,
    NESTED,
    NESTED_OR_RIVAL,
    PERMUTE_AND_FLIP,
    Payments,
)
from dpforest._rows import LeafCounts, LeafSums, MemoryRows
from dpforest.audit.subjects import (
    DirectionForestClassifier,
    DiscriminantForestClassifier,
    LinearPartForestClassifier,
    NoTreeForestClassifier,
)
from dpforest.forests import foresight
from dpforest.privacy import BudgetAccountant, Kind, PrivacyError
from dpforest.schema import Classes, Nominal, Numeric, Range, Schema
from tests.forests.conftest import CLASSIFY, MODELS, REGRESS, fit, patients_table

TABLE = patients_table(40)
ALL = MODELS | {
    "with a linear part": LinearPartForestClassifier(schema=CLASSIFY),
    "with a discriminant": DiscriminantForestClassifier(schema=CLASSIFY),
    "with a direction": DirectionForestClassifier(schema=CLASSIFY),
    "with a direction, then a linear part": NoTreeForestClassifier(schema=CLASSIFY),
}


def attempt(model, table=TABLE, **changes):
    """Fit under an accountant; return whether it worked, after a look at what a failure was charged."""
    accountant = BudgetAccountant(epsilon=1e6, delta=0.9)
    model = clone(model).set_params(accountant=accountant)
    try:
        fit(model, table, **changes)
    except (ValueError, PrivacyError):
        assert len(accountant) == 0, "charged, though parameters alone told that it must fail"
        return False
    assert [spend.state for spend in accountant.history()] == ["spent"]
    assert model.guarantee_.is_proven
    return True


@pytest.mark.parametrize("name", ALL)
def test_budgets_too_small_to_draw_noise_for_cost_nothing(name):
    assert attempt(ALL[name], epsilon=5.0)
    for changes in (
        {"epsilon": 5.0, "max_rows_per_person": 10**11},
        {"epsilon": 5.0, "max_rows_per_person": 10**400},
        {"epsilon": 1e-12},
        {"epsilon": 5e-324},
        {"epsilon": 1e-10, "delta": 1e-300},
        {"epsilon": Fraction(1, 10**300), "delta": Fraction(1, 10**300)},
    ):
        assert not attempt(ALL[name], **changes)


LARGE = {
    "leaves": (DiPriMeForestClassifier(65_536, max_depth=15, schema=CLASSIFY), "n_estimators"),
    "one node": (
        DiPriMeForestClassifier(
            max_features=600,
            variant="exponential",
            schema=Schema({f"x{i}": Numeric(0, 1, bins=65_536) for i in range(600)}, Classes([0, 1])),
        ),
        "bins",
    ),
    "boxes": (
        DiPriMeForestClassifier(
            max_depth=15,
            variant="permute_and_flip",
            schema=Schema({"x": Nominal(range(30_000)), "z": Numeric(0, 1)}, Classes([0, 1])),
        ),
        "max_depth",
    ),
    "cuts": (
        MODELS["SPE"].__class__(schema=Schema({"x": Nominal(range(60_000))}, Classes([0, 1])), max_depth=1),
        "categories",
    ),
    "cells": (
        PrivateForestClassifier(
            delta=1e-6,
            schema=Schema({f"x{i}": Numeric(0, 1, bins=65_536) for i in range(10)}, Classes(range(100))),
        ),
        "bins",
    ),
    "cuts of nodes": (
        PrivateForestClassifier(
            delta=1e-6,
            max_depth=15,
            schema=Schema({f"x{i}": Numeric(0, 1, bins=64) for i in range(100)}, Classes([0, 1])),
        ),
        "max_depth",
    ),
    "gradients of nodes": (
        PrivateForestClassifier(
            1, delta=1e-6, max_depth=14, schema=Schema({"x": Numeric(0, 1)}, Classes(range(1000)))
        ),
        "max_depth",
    ),
    "weights": (
        MODELS["TOP"].__class__(schema=Schema({"x": Nominal(range(30_000))}, Classes([0, 1]))),
        "categories",
    ),
}


@pytest.mark.parametrize("what", LARGE)
def test_tables_without_room_are_refused_before_the_charge(what):
    model, advice = LARGE[what]
    accountant = BudgetAccountant(epsilon=10.0)
    rows = np.zeros((3, model.schema.n_features))
    with pytest.raises(ValueError, match=rf"no room for .*{advice}.*Nothing was charged"):
        clone(model).set_params(accountant=accountant).fit(rows, [0, 1, 1])
    assert len(accountant) == 0


def test_more_classes_than_boosting_takes_cost_nothing():
    accountant = BudgetAccountant(epsilon=10.0, delta=0.1)
    model = PrivateForestClassifier(bounds=(0, 1), classes=range(1001), accountant=accountant)
    with pytest.raises(ValueError, match="up to 1000 classes"):
        model.set_params(delta=1e-6).fit(np.zeros((3, 1)), [0, 1, 1])
    assert len(accountant) == 0
    model.set_params(delta=0).fit(np.zeros((3, 1)), [0, 1, 1])
    assert len(accountant) == 1


def test_a_fit_that_nobody_may_watch_costs_nothing():
    """Only void fits are watched, and no void fit is charged: refused, whatever comes first."""
    accountant = BudgetAccountant(epsilon=10.0)
    model = DiPriMeForestClassifier(bounds=(0, 1), classes=[0, 1], accountant=accountant)
    with watched_by(object()), pytest.raises(PrivacyError, match="watched"):
        model.fit(np.zeros((3, 1)), [0, 1, 1])
    assert len(accountant) == 0


def test_a_depth_that_follows_from_a_noisy_count_stops_where_there_is_room(monkeypatch):
    monkeypatch.setattr(foresight, "MAX_TABLE_ENTRIES", 2**10)
    X = np.random.default_rng(0).random((3000, 2))
    y = (X[:, 0] > 0.5).astype(int)
    declared = {"bounds": (0, 1), "classes": [0, 1], "epsilon": 100.0}
    assert RandomDecisionTreesClassifier(50, **declared).fit(X, y).trees_.depth == 3
    assert DiPriMeForestClassifier(8, **declared, expected_leaf_rows=1e-300).fit(X, y).trees_.depth == 6
    with pytest.raises(ValueError, match="no room"):
        RandomDecisionTreesClassifier(600, **declared).fit(X, y)


# Odd and extreme values of every parameter; any combination of them may come up.
NUMBERS = [1e-9, 1e-5, 1e-3, 0.1, 1, 3.5, 1e4, 1e9, 1e300, np.float16(0.9), np.float32(0.3), Fraction(1, 3)]
VALUES = {
    "n_estimators": [1, 2, 7, np.int64(3), 60, 65_536, "log", None],
    "epsilon": [*NUMBERS, 5e-324, Decimal("0.7"), 10**400, Decimal("nan")],
    "delta": [0, 0, 0, 1e-6, 0.5, 5e-324, 1e-300, np.float32(1e-9), Decimal("1e-7"), Fraction(1, 10**400)],
    "max_depth": [None, None, 0, 1, 2, 6, 15, np.int64(3)],
    "neighboring": ["add_or_remove_one", "replace_one"],
    "max_rows_per_person": [1, 1, 1, 2, 1000, 10**9],
    "variant": ["uniform", "exponential", "permute_and_flip"],
    "max_features": [1, 2, 5, 10**30, None],
    "split_share": [0.5, 1e-300, 1e-6, 0.999999, Fraction(1, 3), np.float16(0.1), Decimal("0.3")],
    "expected_leaf_rows": [*NUMBERS, Decimal(3), 1e-300],
    "disjoint": [True, False],
    "label_mechanism": ["exponential", "permute_and_flip"],
    "feature_privacy": [True, False],
    "persons_in_both": [True, False],
    "n_second": [1, 5, 65_536],
    "criterion": ["gini", "max_operator", "information_gain"],
    "pruning": [True, False],
    "bins": [2, 8, 65_536],
    "min_labels": [*NUMBERS, Decimal(3)],
    "n_neighbors": [1, 5, 10**9],
    "regularization": [*NUMBERS, Decimal(3)],
    "voting": ["majority", "threshold", "probabilistic"],
    "n_jobs": [None, 1, 2, -1, 0, 10**6],
    "schema": [None],  # the target is changed below
}
FEATURES = {"age": Numeric(0, 100), "ward": Nominal(["a", "b", "c"]), "crp": Numeric(0, 1, bins=2)}
SCHEMAS = {
    True: [
        CLASSIFY,
        Schema(FEATURES, Classes(["home"])),
        Schema({"ward": FEATURES["ward"]}, Classes(["died", "home", *map(str, range(30))])),
    ],
    False: [REGRESS, Schema(FEATURES, Range(0, 1, levels=1)), Schema(FEATURES, Range(0, 1, levels=65_536))],
}


def odd_parameters(model, rng):
    """Draw a value for some of the parameters."""
    names = [name for name in model.get_params(deep=False) if name in VALUES and rng.random() < 0.4]
    changes = {name: VALUES[name][rng.integers(len(VALUES[name]))] for name in names}
    schemas = SCHEMAS[hasattr(model, "classes")]
    return changes | {"schema": schemas[rng.integers(len(schemas))]}


@pytest.mark.parametrize("name", ALL)
def test_any_parameters_succeed_or_cost_nothing(name, monkeypatch):
    """Small limits, so that what fits is quick; then a failure must be found before the charge."""
    limit = 2**16
    monkeypatch.setattr(foresight, "MAX_TABLE_ENTRIES", limit)
    add_up = MemoryRows.fold

    def fold(self, table):
        assert not isinstance(table, LeafCounts | LeafSums) or np.prod(table.shape) <= limit
        return add_up(self, table)

    monkeypatch.setattr(MemoryRows, "fold", fold)
    rng = np.random.default_rng(sum(map(ord, name)))
    X, label, target = TABLE
    outcomes = []
    for _ in range(15):
        changes = odd_parameters(ALL[name], rng)
        table = X[list(changes["schema"].names)], label, target
        outcomes.append(attempt(ALL[name], table, **changes))
    assert any(outcomes)
    assert not all(outcomes)


# Asked only where the budget can pay for them, by a public condition; an additive part of numbers likewise.
BOUNDS = {Kind.PRODUCTS, Kind.LOWER_BOUND, Kind.UPPER_BOUND, Kind.FITTED_WEIGHTS}
ADDITIVE = {Kind.CENTRES, Kind.SPREADS}


def asked_if_possible(name):
    return BOUNDS | ADDITIVE if name == "guided regression" else BOUNDS


@contextlib.contextmanager
def payments_made(monkeypatch, if_possible):
    """List every payment: pool, kind, copies, and what one unit of reach gets of the pool."""
    made = []
    with monkeypatch.context() as patch:

        def watch(method, kind, reaches):
            pay = getattr(Payments, method)

            def paying(self, pool, share, query, *args, **named):
                values = dict(zip(reaches, args, strict=False)) | named
                if query is not foresight._ANY and query.kind not in if_possible:
                    made.append((pool, values.get("mechanism", kind), share, values))
                return pay(self, pool, share, query, *args, **named)

            patch.setattr(Payments, method, paying)

        watch("for_noise", "noise", ("copies", "l1", "l2_squared"))
        watch("for_choice", "", ("copies", "score_range", "mechanism"))
        watch("for_sums", "sums", ("blocks", "bound"))
        yield made


def is_foreseen(payment, ask):
    """Whether a question is no fainter than what was stated, in either currency."""
    pool, kind, share, values = payment
    if ask.pool != pool or (ask.mechanism or ("sums" if ask.blocks else "noise")) != kind:
        return False
    stated = Fraction(ask.share) / ask.copies
    if kind in (EXPONENTIAL, NAMED, NESTED, NESTED_OR_RIVAL, PERMUTE_AND_FLIP):
        return stated / ask.reach <= Fraction(share) / values["copies"] / values["score_range"]
    if kind == "sums":
        squared = len(values["blocks"]) * values["bound"] ** 2
        enough = stated / ask.reach <= Fraction(share) / values["bound"]
        return enough and stated / (ask.blocks * ask.reach**2) <= Fraction(share) / squared
    each = Fraction(share) / values["copies"]
    squared = ask.squared or ask.reach**2
    return stated / ask.reach <= each / values["l1"] and stated / squared <= each / values["l2_squared"]


LARGER = patients_table(3000)
WAYS = (
    {"epsilon": 0.5},
    {"epsilon": 20.0},
    {"epsilon": 1000.0},
    {"epsilon": 30.0, "max_depth": 6},
    {"epsilon": 30.0, "max_depth": 7, "delta": 1e-6},
)


@pytest.mark.parametrize("name", ALL)
def test_every_question_was_foreseen(name, monkeypatch):
    """Whatever is asked is stated before, at least as faint; and no forest is larger than stated."""
    model, if_possible = clone(ALL[name]), asked_if_possible(name)
    for changes in WAYS:
        with payments_made(monkeypatch, if_possible) as made:
            fit(model, LARGER, **changes)
        model._foresee(model.privacy_plan(), model.schema_)
        shape = model._limits
        asks = model._asks(model.schema_, shape)
        assert len(made) == len([look for look in model.ledger_ if look.query.kind not in if_possible])
        for payment in made:
            assert any(is_foreseen(payment, ask) for ask in asks), payment
        assert model.trees_.n_trees <= shape.n_trees
        assert model.trees_.depth <= shape.depth
