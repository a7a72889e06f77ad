"""What is stated about a fit is never less than what it spent, whatever kind of number was given."""

import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone

import dpforest
from dpforest.modelfile.document import read_document
from dpforest.privacy import BudgetAccountant
from dpforest.privacy.exact import read_number, short, short_rest
from tests.forests.conftest import MODELS, fit, patients_table

EPSILONS = {
    "half precision": np.float16(0.9),
    "single precision": np.float32(0.1),
    "extended precision": np.longdouble("0.3"),
    "a third": Fraction(1, 3),
    "a decimal": Decimal("0.7"),
    "many digits": Decimal("0.12345678901234567890123"),
    "a whole number": 2,
    "a whole number of numpy": np.int64(3),
    "a double": 0.7,
}


@pytest.fixture(scope="module")
def patients():
    return patients_table(200)


def stated(text, symbol):
    """Numbers that a text states for a symbol."""
    return [Fraction(number) for number in re.findall(rf"{symbol} = ([0-9](?:[0-9.e+-]*[0-9])?)", text)]


@pytest.mark.parametrize("epsilon", EPSILONS.values(), ids=EPSILONS)
@pytest.mark.parametrize("delta", [0.0, np.float32(1e-6), Fraction(1, 3 * 10**6), Decimal("7e-7")], ids=str)
def test_no_statement_is_below_what_was_spent(epsilon, delta, patients, tmp_path):
    accountant = BudgetAccountant(epsilon=10.0, delta=1e-3)
    changes = {"epsilon": epsilon, "delta": delta, "accountant": accountant, "max_depth": 2}
    model = fit(clone(MODELS["DiPriMe"]), patients, **changes)
    plan = model.ledger_.plan
    spent = {"epsilon": read_number(epsilon, "epsilon"), "delta": read_number(delta, "delta")}
    assert (plan.epsilon, plan.delta) == tuple(spent.values()), "nothing is rounded before it is spent"
    model.save(tmp_path / "model.json")
    body = read_document(tmp_path / "model.json").body
    loaded = dpforest.load(tmp_path / "model.json")
    for symbol, exact in spent.items():
        numbers = [
            getattr(model.guarantee_, symbol),
            getattr(loaded.guarantee_, symbol),
            getattr(loaded, symbol),
            model.guarantee_.to_dict()[symbol],
            body["guarantee"][symbol],
            body["parameters"][symbol],
            model.settings_[symbol],
        ]
        texts = [str(model.guarantee_), str(plan), plan._repr_html_(), model._repr_html_()]
        said = [read_number(number, symbol) for number in numbers]
        said += [number for text in texts for number in stated(text, symbol)]
        assert len(said) >= len(numbers) + len(texts)
        assert min(said) >= exact
        assert max(said) <= exact * Fraction(1_000_011, 1_000_000), "nor much above"
    pools = sum(read_number(pool[plan.symbol], "cost") for pool in plan.to_records())
    looks = sum(read_number(look[plan.symbol], "cost") for look in model.ledger_.to_records())
    assert pools >= plan.total
    assert looks >= model.ledger_.total() == plan.total
    assert accountant.history()[0].cost == plan.cost
    if not delta:
        assert read_number(accountant.total()[0], "epsilon") >= spent["epsilon"]


@pytest.mark.parametrize(
    "value", [Fraction(1, 3), Fraction(2, 3), Fraction(10**9 + 1, 10**9), Fraction(1, 10**400)]
)
def test_short_texts_bound_the_exact_value(value):
    assert Fraction(short_rest(value)) <= value <= Fraction(short(value))
    assert Fraction(short(value)) - Fraction(short_rest(value)) <= value / 10**5


def test_short_texts_of_short_numbers_are_exact():
    for number in (0.1, 1e-6, 2.0, 123456.0, 1e300):
        assert Fraction(short(number)) == Fraction(short_rest(number)) == Fraction(repr(number))
    assert short(float("inf")) == "inf"
