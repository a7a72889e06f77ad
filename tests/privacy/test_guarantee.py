"""The promise printed on a model: readable, comparable, and never silently restored once void."""

import json
import math
import pickle

import pytest

from dpforest.privacy import NeighboringRelation, PrivacyGuarantee

ADD, REPLACE, LABEL = NeighboringRelation


def test_sentence_names_numbers_and_neighbours():
    assert str(PrivacyGuarantee(1.0, 0.0, ADD)) == (
        "epsilon = 1, delta = 0 for adding or removing one row (1 row per person)"
    )
    assert (
        str(PrivacyGuarantee(0.5, 1e-6, REPLACE, "at most 3 rows per person"))
        == "epsilon = 0.5, delta = 1e-06 for replacing the rows of one person (at most 3 rows per person)"
    )
    assert "changing one label" in str(PrivacyGuarantee(1.0, 0.0, LABEL))


def test_voiding_keeps_every_reason_once_and_the_original_untouched():
    promise = PrivacyGuarantee(1.0, 0.0, ADD)
    void = promise.voided("bounds from data").voided("fixed seed").voided("bounds from data")
    assert promise.is_proven
    assert not void.is_proven
    assert void.reason == "bounds from data; fixed seed"
    assert str(void).startswith("VOID: bounds from data; fixed seed")
    assert "fixed seed" in repr(void)


@pytest.mark.parametrize(
    "promise",
    [
        PrivacyGuarantee(1.0, 1e-6, REPLACE, "at most 3 rows per person"),
        PrivacyGuarantee(1.0, 0.0, ADD).voided("a reason"),
        PrivacyGuarantee(math.inf, 0.0, ADD, status="void", reason="fitted without privacy"),
    ],
)
def test_json_and_pickle_give_back_the_same_promise(promise):
    text = json.dumps(promise.to_dict(), allow_nan=False)
    assert PrivacyGuarantee.from_dict(json.loads(text)) == promise
    assert pickle.loads(pickle.dumps(promise)) == promise


def test_a_tampered_record_is_not_read_as_proven():
    record = PrivacyGuarantee(1.0, 0.0, ADD).voided("bounds from data").to_dict()
    with pytest.raises(ValueError, match="reason"):
        PrivacyGuarantee.from_dict({**record, "status": "proven"})
    with pytest.raises(ValueError, match="status"):
        PrivacyGuarantee.from_dict({**record, "status": "fine"})


@pytest.mark.parametrize(
    "arguments",
    [
        {"epsilon": math.inf},
        {"epsilon": 0.0},
        {"epsilon": -1.0, "status": "void", "reason": "x"},
        {"epsilon": math.nan, "status": "void", "reason": "x"},
        {"delta": 1.0},
        {"status": "void"},
        {"reason": "but why"},
        {"status": "maybe"},
    ],
)
def test_impossible_promises_cannot_be_made(arguments):
    with pytest.raises(ValueError, match=r".+"):
        PrivacyGuarantee(**{"epsilon": 1.0, "delta": 0.0, "relation": ADD, **arguments})


def test_relation_must_be_named():
    with pytest.raises(TypeError, match="NeighboringRelation"):
        PrivacyGuarantee(1.0, 0.0, "add_or_remove_one")


def test_html_escapes_reasons():
    assert "<script>" not in PrivacyGuarantee(1.0, 0.0, ADD).voided("<script>")._repr_html_()
