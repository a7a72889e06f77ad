"""What a whole fit costs one person, added up from the noise that was used and not from the charges."""

from fractions import Fraction

import pytest
from sklearn.base import clone

from dpforest.privacy import epsilon_to_rho, rho_to_epsilon
from dpforest.privacy.exact import read_number
from tests.forests.conftest import MODELS, fit, patients_table


@pytest.fixture(scope="module")
def patients():
    return patients_table(400)


def rows_that_move(look, model, rows):
    """How many of a person's rows a question can see, if they have `rows` in each set (or in the table)."""
    if not getattr(model, "persons_in_both", False):
        return rows
    return 2 * rows if look.purpose == "number of rows" else rows


def rho_of_person(model, rows):
    """Add up rho: k rows move a table k times as far as one, which costs k squared times as much."""
    total = Fraction(0)
    for look in model.ledger_:
        moved = rows_that_move(look, model, rows)
        copies = look.parameters["trees_per_row"]
        if "noise_sd" in look.parameters:  # class counts and numbers of rows: one row adds 1 to one of them
            variance = Fraction(look.parameters["noise_sd"]) ** 2
            total += copies * moved**2 / (2 * variance)
        else:  # an exponential mechanism: epsilon squared / 8
            total += copies * (moved * Fraction(look.parameters["epsilon"])) ** 2 / 8
    return total


def epsilon_of_person(model, rows):
    """Add up epsilon in the pure currency."""
    return sum(rows_that_move(look, model, rows) * look.cost for look in model.ledger_)


# option, how many of a person's rows (in each set) are added or removed
CASES = {
    "one row": ({}, 1),
    "three rows": ({"max_rows_per_person": 3}, 3),
    "one row for another": ({"neighboring": "replace_one"}, 2),
    "two rows for two others": ({"neighboring": "replace_one", "max_rows_per_person": 2}, 4),
}


@pytest.mark.parametrize("name", ["SPE", "SSPE-1, persons in both", "DiPriMe", "JPW"])
@pytest.mark.parametrize("case", CASES)
def test_a_person_never_costs_more_than_promised(name, case, patients):
    changes, rows = CASES[case]
    model = fit(clone(MODELS[name]), patients, epsilon=1.0, delta=1e-6, **changes)
    rho = rho_of_person(model, rows)
    promised = epsilon_to_rho(1.0, 1e-6)
    # standard deviations are stated in doubles, each off by at most 2**-53 of itself
    rounding = 1 + Fraction(1, 2**50)
    assert rho <= promised * rounding
    assert read_number(rho_to_epsilon(rho, 1e-6), "epsilon") <= Fraction(1) * rounding
    assert rho >= promised * Fraction(99, 100), "nothing is wasted either"
    fit(model, patients, delta=0.0)
    assert Fraction(99, 100) <= epsilon_of_person(model, rows) <= 1


def test_the_sum_finds_a_count_that_is_paid_like_two_rows_apart(patients, monkeypatch):
    """Twice the rho of one row is too little for two rows that move one count together."""
    both = clone(MODELS["SSPE-1, persons in both"])
    monkeypatch.setattr(type(both), "_counted", lambda self: 2 if self.persons_in_both else 1)
    model = fit(both, patients, epsilon=1.0, delta=1e-6)
    assert rho_to_epsilon(rho_of_person(model, 1), 1e-6) > 1.02
