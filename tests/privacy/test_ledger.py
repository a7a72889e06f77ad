"""The ledger: every query is written down, none can be unwritten, and no pool gives more than it holds."""

import copy
import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.privacy import BudgetExceededError, BudgetPlan, Event, Kind, Ledger, Pool, PrivacyError, Query
from dpforest.privacy.exact import float_at_least

POOLS = [
    Pool("count", 0.1),
    Pool("splits", 0.6, rows="training"),
    Pool("leaves", 0.3, rows="training"),
    Pool("score", 0.8, rows="held out"),
]


def new_ledger(delta=0.0):
    return Ledger(BudgetPlan.divide(1.0, delta, POOLS))


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([pool.name for pool in POOLS]),
            st.fractions(min_value=Fraction(1, 100), max_value=Fraction(3, 2)),
        ),
        max_size=30,
    ),
    st.sampled_from([0.0, 1e-6]),
)
def test_no_sequence_of_charges_exceeds_the_plan(charges, delta):
    ledger = new_ledger(delta)
    plan = ledger.plan
    granted = dict.fromkeys([pool.name for pool in POOLS], Fraction(0))
    for pool, fraction in charges:
        before = ledger.events
        if granted[pool] + fraction > 1:
            with pytest.raises(BudgetExceededError):
                ledger.charge(pool, fraction, "m", "p")
            assert ledger.events == before
        else:
            assert ledger.charge(pool, fraction, "m", "p").cost == fraction * plan.amount(pool)
            granted[pool] += fraction
        assert ledger.spent(pool) == granted[pool] * plan.amount(pool) <= plan.amount(pool)
        assert ledger.total() <= plan.total
        # No row, whatever its part, saw more than the total.
        for part in ("training", "held out"):
            assert sum(look.cost for look in ledger if look.rows in ("all rows", part)) <= ledger.total()


def test_levels_of_a_tree_drain_a_pool_exactly():
    ledger = new_ledger()
    for level in range(7):
        ledger.charge("splits", Fraction(1, 7), "exponential mechanism", f"level {level}")
    assert ledger.remaining("splits") == 0
    with pytest.raises(
        BudgetExceededError, match=r"requested epsilon 6e-07, remaining 0 of 0.6: give the pool"
    ):
        ledger.charge("splits", 1e-6, "exponential mechanism", "one more look")


@pytest.mark.parametrize("fraction", [0, -1, -0.5])
def test_looks_are_neither_free_nor_refunds(fraction):
    with pytest.raises(ValueError, match="costs something"):
        new_ledger().charge("count", fraction, "m", "p")


def test_unknown_pools_are_named():
    with pytest.raises(KeyError, match="no pool 'splitz'"):
        new_ledger().charge("splitz", 1, "m", "p")
    with pytest.raises(KeyError, match="no pool 'splitz'"):
        new_ledger().spent("splitz")


def test_nothing_can_be_removed_or_replaced():
    ledger = new_ledger()
    event = ledger.charge("count", 1, "discrete Laplace", "rows", {"rate": "1/10", "levels": [1, 2]})
    for attribute in ("events", "plan", "is_frozen"):
        with pytest.raises(AttributeError):
            setattr(ledger, attribute, None)
    with pytest.raises(AttributeError):
        event.cost = Fraction(0)
    with pytest.raises(TypeError):
        event.parameters["rate"] = "0"
    with pytest.raises(TypeError):
        del ledger[0]
    assert event.parameters["levels"] == (1, 2)


def test_later_changes_to_the_callers_dictionary_do_not_reach_the_record():
    parameters = {"trees_per_row": 1}
    event = new_ledger().charge("count", 1, "m", "p", parameters)
    parameters["trees_per_row"] = 100
    assert event.parameters == {"trees_per_row": 1}


@pytest.mark.parametrize("value", [np.arange(3), {"nested": 1}, float("nan"), object()])
def test_arrays_and_other_objects_cannot_slip_into_the_record(value):
    with pytest.raises(TypeError, match="parameter 'x' of an event"):
        new_ledger().charge("count", 1, "m", "p", {"x": value})


def test_a_closed_ledger_takes_no_charge():
    ledger = new_ledger()
    ledger.freeze()
    assert ledger.is_frozen
    with pytest.raises(PrivacyError, match="closed"):
        ledger.charge("count", 1, "m", "p")


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_copy_is_an_equal_record_that_cannot_spend_again(duplicate):
    ledger = new_ledger()
    ledger.charge("count", 1, "discrete Laplace", "rows", {"rate": Fraction(1, 10), "trees": np.int64(3)})
    twin = duplicate(ledger)
    assert twin == ledger
    assert [look.parameters for look in twin] == [{"rate": "1/10", "trees": 3}]
    with pytest.raises(PrivacyError, match="closed"):
        twin.charge("splits", 1, "m", "p")
    ledger.charge("splits", 1, "m", "p")
    assert twin != ledger
    assert len(twin) == 1


def test_threads_share_one_pool():
    ledger = new_ledger()

    def draw(_):
        try:
            ledger.charge("splits", Fraction(1, 50), "m", "p")
        except BudgetExceededError:
            return 0
        return 1

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(draw, range(200))) == 50
    assert ledger.remaining("splits") == 0


def test_printed_ledger_lists_looks_and_total():
    ledger = new_ledger()
    ledger.charge("count", 1, "discrete Laplace", "number of rows")
    ledger.charge("score", 0.5, "discrete Laplace", "number <correct>")
    text = str(ledger)
    assert "count  discrete Laplace  number of rows    all rows      0.1" in text
    assert "spent epsilon = 0.5 of 1 per row" in text
    assert "&lt;correct&gt;" in ledger._repr_html_()
    assert repr(ledger) == "<Ledger of 2 queries: epsilon 0.5 of 1 per row>"


def test_ledger_as_data():
    ledger = new_ledger(1e-6)
    event = ledger.charge("count", Fraction(1, 3), "discrete Gaussian", "rows", {"levels": (1, 2)})
    [record] = json.loads(json.dumps(ledger.to_records()))
    assert Fraction(record["exact"]) == event.cost
    assert record["rho"] == float_at_least(event.cost)
    assert record["parameters"] == {"levels": [1, 2]}
    frame = ledger.to_frame()
    assert list(frame["mechanism"]) == ["discrete Gaussian"]
    assert list(new_ledger().to_frame().columns)[:4] == ["pool", "mechanism", "purpose", "rows"]


def test_events_compare_by_content():
    one = Event("a", "m", Query(Kind.ROW_COUNT), Fraction(1), "all rows", {"x": 1})
    assert one == Event("a", "m", Query(Kind.ROW_COUNT), Fraction(1), "all rows", {"x": 1})
    assert one != Event("a", "m", Query(Kind.ROW_COUNT), Fraction(1), "all rows", {"x": 2})
    assert len({one, Event("a", "m", Query(Kind.ROW_COUNT), Fraction(1), "all rows", {"x": 1})}) == 1


def test_queries_are_told_apart_by_fields_and_written_out_of_them():
    ledger = Ledger(BudgetPlan.divide(1, 0, {"all": 1}))
    for query in (Query(Kind.SPLITS, "by gini", level=2, tree=1), Query(Kind.LEAF_COUNTS), "anything else"):
        ledger.charge("all", Fraction(1, 4), "noise", query)
    assert [event.purpose for event in ledger] == [
        "splits by gini, tree 1, level 2",
        "leaf class counts",
        "anything else",
    ]
    assert [(event.kind, event.level, event.tree) for event in ledger] == [
        (Kind.SPLITS, 2, 1),
        (Kind.LEAF_COUNTS, None, None),
        (Kind.OTHER, None, None),
    ]
    record = json.loads(json.dumps(ledger.to_dict()))
    assert Ledger.from_dict(record) == ledger == pickle.loads(pickle.dumps(ledger))
    assert record["queries"][0]["kind"] == "splits"


@pytest.mark.parametrize("wrong", [{"level": -1}, {"tree": 1.0}, {"level": True}])
def test_levels_and_trees_are_whole_numbers(wrong):
    with pytest.raises(ValueError, match="whole numbers"):
        Query(Kind.SPLITS, **wrong)
